"""The tables of a config: the entries of each test, model and proposal. `fits` says which of them go together."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, model_validator

from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from designer.rule.boundary import check_epsilon
from designer.rule.looks import MAX_N_DATA, check_growth
from designer.search.space import Space
from designer.search.upper_limit import MOST_CONFIDENCE
from samplers.chains.draws import MAX_DRAWS
from samplers.chains.parallel import MAX_CHAINS, MAX_SEED
from samplers.config.entries import (
    ConfigTable,
    NotNegative,
    Positive,
    Precision,
    Real,
    Text,
    Whole,
    YesNo,
    heavy_value,
    label_value,
    number_value,
    prior_tails_value,
    prior_value,
    profile_value,
    tails_value,
)
from samplers.decide.correction import HIGHEST, LOWEST
from samplers.decide.exact_minibatch import MOST_CHI, MOST_ROWS

MOST_PHASES = 100  # of a schedule
MOST_VARIABLES, MOST_VALUES = 300, 100  # of a random field
Labels: TypeAlias = Literal["binary", "numbers"] | None  # the kind of labels that a model needs
Family: TypeAlias = Literal[
    "bernoulli", "probit", "cloglog", "binomial", "poisson", "negative-binomial", "gaussian", "student-t", "gamma",
    "softmax",
]  # fmt: skip


# --- [test] -----------------------------------------------------------------------------------------------------------


class SequentialTable(ConfigTable):
    """A sequential test. `designer.Design` reads its other entries and takes the place of this table."""

    model_config = ConfigDict(extra="ignore")

    kind: Literal["sequential"] = "sequential"


class ExactTable(ConfigTable):
    """The full-data test, which has no parameters; a config has None in the place of this table."""

    kind: Literal["exact"] = "exact"


class BarkerTable(ConfigTable):
    """The Barker mini-batch test; `samplers.decide.BarkerTest` explains the entries."""

    kind: Literal["barker"] = "barker"
    m: Whole = Field(default=100, ge=2, le=MAX_N_DATA)
    sigma: Real = Field(default=1.0, ge=LOWEST, le=HIGHEST)
    skew_corrected: YesNo = False
    delta: Annotated[Real, Field(gt=0.0, le=1.0)] | None = None


class ConcentrationTable(ConfigTable):
    """The concentration test; `samplers.decide.ConcentrationTest` explains the entries."""

    kind: Literal["concentration"] = "concentration"
    m: Whole = Field(default=100, ge=2, le=MAX_N_DATA)
    delta: Real = Field(default=0.01, gt=0.0, lt=1.0)
    p: Real = Field(default=2.0, gt=1.0, le=1e3)
    growth: Annotated[Real, BeforeValidator(check_growth)] = 1.5
    replace: YesNo = False


class ExactMinibatchTable(ConfigTable):
    """The exact mini-batch test; `samplers.decide.ExactMinibatchTest` explains the entries."""

    kind: Literal["exact-minibatch"] = "exact-minibatch"
    chi: Real = Field(default=0.0, ge=0.0, le=MOST_CHI)
    most: Annotated[Real, Field(ge=0.0, le=MOST_ROWS)] | None = None


class AlwaysTable(ConfigTable):
    """No test: every proposal is accepted, as in uncorrected Langevin dynamics (SGLD)."""

    kind: Literal["always"] = "always"


OtherTable: TypeAlias = BarkerTable | ConcentrationTable | ExactMinibatchTable | AlwaysTable  # with their own tables
TestTable: TypeAlias = Annotated[SequentialTable | ExactTable | OtherTable, Field(discriminator="kind")]


# --- [model] ----------------------------------------------------------------------------------------------------------


class LogisticTable(ConfigTable):
    """Logistic regression; `control` is the order of the control variates (0: none).

    They are centred at the posterior mode. With `recentre`, the centre follows the chain during the warm-up.
    """

    proposals: ClassVar = ("proxy", "random-walk", "adaptive", "langevin", "slice")  # the first is the default
    labels: ClassVar[Labels] = "binary"

    kind: Literal["logistic"] = "logistic"
    prior_precision: Precision = 0.0
    prior_intercept: YesNo = True
    control: Annotated[Literal[0, 1, 2], BeforeValidator(number_value)] = 2
    recentre: YesNo = False
    heavy: Annotated[int | Literal["auto"], BeforeValidator(heavy_value)] = "auto"

    @property
    def chooses_heavy(self) -> bool:
        """Whether the number of heavy rows depends on the data."""
        return self.heavy == "auto" and self.control == 2


class GlmTable(ConfigTable):
    """A generalised linear model from a formula; `samplers.data.formula` explains the entries about the table.

    `shape` fixes shape parameters of the family by name (`sigma`, `dispersion`, …), which are sampled otherwise.
    `prior` is "flat", or the standard deviation of a coefficient's prior per standard deviation of its column, or a
    table of them by column; `prior_tails` are "normal", "laplace", or degrees of freedom of Student's t.
    """

    proposals: ClassVar = ("proxy", "random-walk", "adaptive", "langevin", "slice")
    labels: ClassVar[Labels] = None  # the formula says which column is the response

    kind: Literal["glm"] = "glm"
    formula: Text
    family: Family = "bernoulli"
    shape: Annotated[dict[str, Positive], Field(min_length=1)] | None = None
    positive: Annotated[Any, PlainValidator(label_value)] = None
    weights: Text | None = None
    missing: Literal["refuse", "drop"] = "refuse"
    prior: Annotated[Any, PlainValidator(prior_value)] = "flat"
    prior_tails: Annotated[Any, PlainValidator(prior_tails_value)] = "normal"
    control: Annotated[Literal[0, 1, 2], BeforeValidator(number_value)] = 2
    recentre: YesNo = False
    heavy: Annotated[int | Literal["auto"], BeforeValidator(heavy_value)] = "auto"

    @property
    def chooses_heavy(self) -> bool:
        """Whether the number of heavy rows depends on the data."""
        return self.heavy == "auto" and self.control == 2


WithProxies: TypeAlias = LogisticTable | GlmTable  # models that have control variates and a known curvature


class IcaTable(ConfigTable):
    """Independent component analysis; `whiten` whitens the data first."""

    proposals: ClassVar = ("stiefel",)
    labels: ClassVar[Labels] = None

    kind: Literal["ica"] = "ica"
    whiten: YesNo = True


class MixtureTable(ConfigTable):
    """A mixture of two Gaussians with known variance, for one column of data."""

    proposals: ClassVar = ("random-walk", "adaptive", "slice")
    labels: ClassVar[Labels] = None

    kind: Literal["mixture"] = "mixture"
    variance: Positive = 2.0
    prior_variances: tuple[Positive, Positive] = (10.0, 1.0)


class LassoTable(ConfigTable):
    """Linear regression with a Laplace prior; precision of the noise and penalty as in K14."""

    proposals: ClassVar = ("random-walk", "adaptive", "langevin", "slice")
    labels: ClassVar[Labels] = "numbers"

    kind: Literal["lasso"] = "lasso"
    precision: Positive = 3.0
    penalty: NotNegative = 4950.0


class RJTable(ConfigTable):
    """Logistic regression with variable selection by reversible jumps; rate of the prior, and its floor under |β|₁."""

    proposals: ClassVar = ("jumps",)
    labels: ClassVar[Labels] = "binary"

    kind: Literal["rj-logistic"] = "rj-logistic"
    rate: Positive = 1e-10
    floor: NotNegative = 0.0


class FieldTable(ConfigTable):
    """A dense Markov random field, for Gibbs sampling: a potential for every three variables (K14 supplement F).

    The potentials are in the file of `[data]`, or, without `[data]`, drawn: `dimension` variables of `n_values` values,
    log-potentials N(0, `sd`²), by `field_seed`. `field_sd` adds a preference for each value to every potential.
    """

    proposals: ClassVar = ("gibbs",)
    labels: ClassVar[Labels] = None

    kind: Literal["mrf"] = "mrf"
    dimension: Annotated[Whole, Field(ge=3, le=MOST_VARIABLES)] | None = None
    n_values: Annotated[Whole, Field(ge=2, le=MOST_VALUES)] | None = None
    sd: NotNegative | None = None
    field_sd: NotNegative | None = None
    field_seed: Annotated[Whole, Field(ge=0, le=MAX_SEED)] | None = None

    @property
    def drawn(self) -> dict[str, float]:
        """The entries that only a random field has, where given."""
        return {name: value for name, value in self.model_dump(exclude={"kind"}).items() if value is not None}


ModelTable: TypeAlias = Annotated[
    LogisticTable | GlmTable | IcaTable | MixtureTable | LassoTable | RJTable | FieldTable, Field(discriminator="kind")
]


# --- [proposal] -------------------------------------------------------------------------------------------------------


class ProxyTable(ConfigTable):
    """Proposals from the quadratic proxy of the log posterior, with step `beta` (1: independent proposals).

    `tails` are "normal" or degrees of freedom of Student's t; `profile` says whether skewed directions are bent to
    their shape. "auto" takes what promises the most effective draws, and the plain proposal if that is about as good.
    """

    kind: Literal["proxy"] = "proxy"
    beta: Real = Field(default=1.0, gt=0.0, le=1.0)
    tails: Annotated[Any, PlainValidator(tails_value)] = "auto"
    profile: Annotated[Any, PlainValidator(profile_value)] = "auto"

    @property
    def plain(self) -> bool:
        """Whether the plain proposal is asked for: normal, and nothing is bent."""
        return bool(self.tails == "normal" and self.profile is False)


class WalkTable(ConfigTable):
    """A random walk. For `logistic` and `glm`, `scale` is in posterior standard deviations (default 2.38 / √D).

    For other models, and if `isotropic`, the steps have standard deviation `scale` in every parameter.
    """

    kind: Literal["random-walk"] = "random-walk"
    scale: Positive | None = None
    isotropic: YesNo = False


class AdaptiveTable(ConfigTable):
    """A random walk that starts with steps of `scale`, as above, and adapts them during the warm-up."""

    kind: Literal["adaptive"] = "adaptive"
    scale: Positive | None = None


class StiefelTable(ConfigTable):
    """Random rotations, by angles of typically `scale` radians in each coordinate plane."""

    kind: Literal["stiefel"] = "stiefel"
    scale: Real = Field(gt=0.0, le=10.0)


class LangevinTable(ConfigTable):
    """Langevin proposals along the gradient of a mini-batch of `batch` data, with variance `step`."""

    kind: Literal["langevin"] = "langevin"
    step: Positive
    batch: Whole = Field(ge=1, le=MAX_N_DATA)


class SliceTable(ConfigTable):
    """Slice updates along random lines; `samplers.chains.slice_chain.Slice` explains the entries.

    For `logistic` and `glm`, `width` is in posterior standard deviations (default 3), for other models in the units of
    the parameters.
    """

    kind: Literal["slice"] = "slice"
    width: Positive | None = None
    most_out: Whole = Field(default=8, ge=1, le=10_000)


class JumpsTable(ConfigTable):
    """Births, deaths and updates of coefficients: standard deviations and probabilities."""

    kind: Literal["jumps"] = "jumps"
    sd_update: Positive = 0.01
    sd_birth: Positive = 0.1
    p_birth: Real = Field(default=1.0 / 3.0, gt=0.0, lt=1.0)
    p_death: Real = Field(default=1.0 / 3.0, gt=0.0, lt=1.0)

    @model_validator(mode="after")
    def _leaves_updates(self) -> JumpsTable:
        if self.p_birth + self.p_death >= 1.0:
            raise BadInput("p_birth + p_death must be below 1, to leave room for updates")
        return self


class GibbsTable(ConfigTable):
    """Gibbs sweeps: a step updates every variable once, in order, each decided by the test."""

    kind: Literal["gibbs"] = "gibbs"


ProposalTable: TypeAlias = Annotated[
    ProxyTable | WalkTable | AdaptiveTable | StiefelTable | LangevinTable | SliceTable | JumpsTable | GibbsTable,
    Field(discriminator="kind"),
]


# --- [data] and [run] -------------------------------------------------------------------------------------------------


class DataTable(ConfigTable):
    """Where the data are, and how they are prepared.

    A table (.csv, .parquet) has named columns: `label` (default "y") is the response, `columns` are the covariates
    (default: all others). An .npz file has arrays x and `label`, and optionally an array `columns` of names. A .npy
    file, with `labels` in a second file, is mapped into memory and not copied (except to whiten it, or for reversible
    jumps); for the lasso, its last column may be the label. `intercept` adds a column of ones.

    Instead of a path, `source` names one of the papers' data sets (`samplers.data.sources.NAMES`). It is read from
    `folder`; if its files are not there, a synthetic twin replaces it. `rows` limits its size.
    """

    path: Text | None = None
    source: Text | None = None
    folder: Text | None = None
    rows: Annotated[Whole, Field(ge=1, le=MAX_N_DATA)] | None = None
    label: Text | None = None
    labels: Text | None = None
    columns: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    intercept: YesNo = False
    standardise: YesNo = False

    @property
    def mapped(self) -> bool:
        """Whether the data are a .npy file, which is mapped and not copied."""
        return self.path is not None and self.path.lower().endswith(".npy")

    @property
    def location(self) -> str:
        """Where the data are, for messages."""
        return f"data.path: {self.path}" if self.source is None else f"data.source = {self.source!r}"


class RunTable(ConfigTable):
    """Numbers of draws and chains, warm-up, seed, start, and seconds between checkpoints.

    `rule` is the acceptance function of Metropolis or Barker (default: that of the test). The likelihood, but not the
    prior, is raised to the power 1 / `temperature`. Both change the chain's target or dynamics, not how a test decides.
    """

    draws: Whole = Field(default=1000, ge=1, le=MAX_DRAWS)
    warmup: Whole = Field(default=0, ge=0, le=MAX_DRAWS)
    chains: Whole = Field(default=4, ge=1, le=MAX_CHAINS)
    seed: Whole = Field(default=0, ge=0, le=MAX_SEED)
    checkpoint_seconds: Real = Field(default=5.0, ge=0.0)
    rule: Rule | None = None
    temperature: Positive = 1.0
    start: tuple[Real, ...] | None = None


class RedesignTable(ConfigTable):
    """Redesign during the run: every `every` steps, search for a design for `tolerance` on the latest `pairs` pairs.

    Recording pairs takes at most `share` of all data read (except for the first 20). It ends at step `until` (default:
    the end of the warm-up). A new design must save `gain` of the data, unless the current one exceeds the tolerance.
    The tolerance holds at the upper end of a band of this `confidence` over the pairs (default: 0.95; 0.5: only for the
    pairs at hand).
    `m_low` and `m_high` limit the mini-batches.
    """

    tolerance: Real = Field(ge=1e-6, le=1.0)
    every: Whole = Field(default=1000, ge=16, le=MAX_DRAWS)
    pairs: Whole = Field(default=100, ge=20, le=10**5)
    until: Annotated[Whole, Field(ge=16, le=MAX_DRAWS)] | None = None
    share: Real = Field(default=0.1, gt=0.0, lt=1.0)
    gain: Real = Field(default=0.02, ge=0.0, lt=1.0)
    confidence: Annotated[Real, Field(ge=0.5, le=MOST_CONFIDENCE)] | None = None
    m_low: Annotated[Whole, Field(ge=2, le=MAX_N_DATA)] | None = None
    m_high: Annotated[Whole, Field(ge=2, le=MAX_N_DATA)] | None = None

    @property
    def space(self) -> Space:
        """The search space of designs."""
        return Space(self.m_low, self.m_high)


class ScheduleTable(ConfigTable):
    """Phases before `[test]`: for this many steps each, a sequential test of batch `m` and this `epsilon` (0: exact).

    Warm-up uses the first test, and its steps are not counted. `weights`, if given, are the weights of the phases'
    means in an estimate; the last one is that of `[test]`.
    """

    steps: tuple[Annotated[Whole, Field(ge=1, le=MAX_DRAWS)], ...] = Field(min_length=1, max_length=MOST_PHASES)
    epsilon: tuple[Annotated[Real, Field(ge=0.0, le=0.5)], ...]
    m: tuple[Annotated[Whole, Field(ge=2, le=MAX_N_DATA)], ...]
    weights: tuple[NotNegative, ...] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> ScheduleTable:
        for epsilon in filter(None, self.epsilon):
            check_epsilon(epsilon)
        for name in ("epsilon", "m"):
            if len(getattr(self, name)) != len(self.steps):
                raise BadInput(f"{name} has {len(getattr(self, name))} entries, steps has {len(self.steps)}")
        if self.weights is not None and len(self.weights) != len(self.steps) + 1:
            raise BadInput(
                f"weights has {len(self.weights)} entries; must be {len(self.steps) + 1}, the last of [test]"
            )
        if self.weights is not None and sum(self.weights) <= 0.0:
            raise BadInput("weights: one of them must be positive")
        return self

    def check_fits(self, n_data: int) -> None:
        """Refuse mini-batches larger than the data."""
        if unfit := [m for m in self.m if m > n_data]:
            raise BadInput(f"schedule.m = {unfit[0]:,}: the data have {n_data:,} rows")
