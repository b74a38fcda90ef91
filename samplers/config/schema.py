"""The tables of a config: the entries of each test, model and proposal, and which of them go together."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, model_validator

from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from designer.rule.design import Design
from designer.rule.looks import MAX_N_DATA, check_growth
from designer.search.space import Space
from designer.search.upper_limit import MOST_CONFIDENCE
from samplers.chains.draws import MAX_DRAWS
from samplers.chains.parallel import MAX_CHAINS, MAX_SEED
from samplers.decide.correction import HIGHEST, LOWEST

MOST_PHASES = 100  # of a schedule
LARGEST = 1e300  # largest number that models and proposals compute with
Labels: TypeAlias = Literal["binary", "numbers"] | None  # the kind of labels that a model needs


def _number(value: Any) -> Any:
    if isinstance(value, (bool, str)):
        raise ValueError("must be a number")
    return value


def _precision(value: Any) -> Any:
    """Check a precision for all coefficients, a list of them, or a table by column."""
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
    for entry in entries:
        if isinstance(entry, (bool, str)) or not isinstance(entry, (int, float)) or not 0.0 <= entry <= LARGEST:
            raise ValueError("must be a number from 0 on, a list of them, or a table of them by the columns' names")
    if not isinstance(value, (int, float)) and not value:
        raise ValueError("must not be empty")
    return value


def _heavy(value: Any) -> Any:
    if value != "auto" and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_N_DATA):
        raise ValueError('must be a number of rows or "auto"')
    return value


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


Whole = Annotated[int, BeforeValidator(_number)]
Real = Annotated[float, BeforeValidator(_number)]
Positive = Annotated[Real, Field(gt=0.0, le=LARGEST)]
NotNegative = Annotated[Real, Field(ge=0.0, le=LARGEST)]
YesNo = Annotated[bool, Strict()]
Precision = Annotated[float | tuple[float, ...] | dict[str, float], BeforeValidator(_precision)]
Text = Annotated[str, AfterValidator(_not_empty)]


class ConfigTable(BaseModel):
    """One table of a config. Unknown entries and infinite numbers are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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


class ConcentrationTable(ConfigTable):
    """The concentration test; `samplers.decide.ConcentrationTest` explains the entries."""

    kind: Literal["concentration"] = "concentration"
    m: Whole = Field(default=100, ge=2, le=MAX_N_DATA)
    delta: Real = Field(default=0.01, gt=0.0, lt=1.0)
    p: Real = Field(default=2.0, gt=1.0, le=1e3)
    growth: Annotated[Real, BeforeValidator(check_growth)] = 1.5
    replace: YesNo = False


TestTable: TypeAlias = Annotated[
    SequentialTable | ExactTable | BarkerTable | ConcentrationTable, Field(discriminator="kind")
]


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
    control: Annotated[Literal[0, 1, 2], BeforeValidator(_number)] = 2
    recentre: YesNo = False
    heavy: Annotated[int | Literal["auto"], BeforeValidator(_heavy)] = "auto"

    @property
    def chooses_heavy(self) -> bool:
        """Whether the number of heavy rows depends on the data."""
        return self.heavy == "auto" and self.control == 2


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


ModelTable: TypeAlias = Annotated[
    LogisticTable | IcaTable | MixtureTable | LassoTable | RJTable, Field(discriminator="kind")
]


# --- [proposal] -------------------------------------------------------------------------------------------------------


class ProxyTable(ConfigTable):
    """Proposals from the quadratic proxy of the log posterior, with step `beta` (1: independent proposals)."""

    kind: Literal["proxy"] = "proxy"
    beta: Real = Field(default=1.0, gt=0.0, le=1.0)


class WalkTable(ConfigTable):
    """A random walk. For logistic regression `scale` is in posterior standard deviations (default 2.38 / √D).

    For other models the steps have standard deviation `scale` in every parameter.
    """

    kind: Literal["random-walk"] = "random-walk"
    scale: Positive | None = None


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

    For logistic regression `width` is in posterior standard deviations (default 3), for other models in the units of
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


ProposalTable: TypeAlias = Annotated[
    ProxyTable | WalkTable | AdaptiveTable | StiefelTable | LangevinTable | SliceTable | JumpsTable,
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


# --- what fits together -----------------------------------------------------------------------------------------------


def check_proposal(model: ModelTable, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse a proposal that the model cannot use."""
    if proposal.kind not in model.proposals:
        known = ", ".join(map(repr, model.proposals))
        raise BadInput(
            f"proposal.kind = {proposal.kind!r}: cannot be used with model.kind = {model.kind!r}, which takes {known}"
        )
    if isinstance(proposal, (WalkTable, AdaptiveTable)) and proposal.scale is None and model.kind != "logistic":
        raise BadInput(f"proposal.scale: missing; model.kind = {model.kind!r} needs the size of the steps")
    if isinstance(model, LogisticTable) and model.heavy not in ("auto", 0) and not model.control:
        raise BadInput(f"model.heavy = {model.heavy:,}: heavy rows need control variates; model.control = 0 has none")
    if isinstance(model, LogisticTable) and model.recentre and not (run.warmup and model.control):
        raise BadInput("model.recentre = true: needs control variates and a warm-up")
    if isinstance(proposal, SliceTable):
        _check_slice(model, proposal, run)
    if proposal.kind == "adaptive" and not run.warmup:
        raise BadInput("run.warmup = 0: the adaptive proposal needs warm-up steps to adapt")


def _check_slice(model: ModelTable, proposal: SliceTable, run: RunTable) -> None:
    """Refuse options that slice updates cannot use."""
    if proposal.width is None and model.kind != "logistic":
        raise BadInput(f"proposal.width: missing; model.kind = {model.kind!r} needs the width of the first interval")
    if run.rule == "barker":
        raise BadInput("run.rule = 'barker': a slice update has no acceptance rule")
    if isinstance(model, LogisticTable) and model.recentre:
        raise BadInput("model.recentre = true: cannot be used with proposal.kind = 'slice'")


def check_redesign(redesign: RedesignTable | None, test: object, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse a redesign of anything but a sequential test of pairs, or without steps for it."""
    if redesign is None:
        return
    if isinstance(proposal, SliceTable):
        raise BadInput("redesign: cannot be used with proposal.kind = 'slice', which has no pairs")
    if not isinstance(test, Design):
        raise BadInput('redesign: needs [test] with kind = "sequential", the first design')
    if redesign.until is None and not run.warmup:
        raise BadInput("redesign.until: missing; it is needed if there is no warm-up")
    if (end := redesign.until or run.warmup) < redesign.every:
        raise BadInput(f"redesign.every = {redesign.every:,}: the redesign has only {end:,} steps")


def check_schedule(table: ScheduleTable | None, redesign: RedesignTable | None, proposal: ProposalTable) -> None:
    """Refuse a schedule together with a redesign, or for a proposal whose test cannot change."""
    if table is not None and redesign is not None:
        raise BadInput("schedule: cannot be given together with redesign")
    if table is not None and isinstance(proposal, SliceTable):
        raise BadInput("schedule: not for proposal.kind = 'slice'")


def check_data(model: ModelTable, data: DataTable) -> None:
    """Refuse entries that the model or the kind of file cannot use."""
    _check_place(data)
    if isinstance(model, LogisticTable) and not model.prior_intercept and not data.intercept:
        advice = "name the column in model.prior_precision, with precision 0"
        raise BadInput(f"model.prior_intercept = false: needs data.intercept = true; otherwise {advice}")
    given = [name for name in ("label", "labels", "columns") if getattr(data, name) is not None]
    given += [name for name in ("intercept", "standardise") if getattr(data, name)]
    idle = [] if model.labels else ["label", "labels", "intercept", "standardise"]
    if unfit := [name for name in given if name in idle]:
        raise BadInput(f"data.{unfit[0]}: does not apply to model.kind = {model.kind!r}")
    if not data.mapped:
        if "labels" in given:
            raise BadInput("data.labels: only for a path that ends in .npy; other files contain their labels")
        return
    if unfit := [name for name in given if name != "labels"]:
        raise BadInput(f"data.{unfit[0]}: does not apply to a .npy file, which is mapped and not changed")
    if model.labels == "binary" and data.labels is None:
        raise BadInput("data.labels: missing; a .npy file needs a second file with its labels")


def _check_place(data: DataTable) -> None:
    """Refuse data that have neither a path nor a source, or both."""
    if data.path is None and data.source is None:
        raise BadInput("data.path: missing")
    if data.path is not None and data.source is not None:
        raise BadInput("data.source: cannot be given together with data.path")
    idle = ("folder", "rows") if data.source is None else ("label", "labels", "columns")
    if unfit := [name for name in idle if getattr(data, name) is not None]:
        raise BadInput(f"data.{unfit[0]}: does not apply with data.{'path' if data.source is None else 'source'}")


def check_test(test: object, model: ModelTable, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse a test that does not go with the proposal, the rule or the control variates."""
    if isinstance(proposal, SliceTable) and isinstance(test, (BarkerTable, ConcentrationTable)):
        raise BadInput(f"test.kind = {test.kind!r}: proposal.kind = 'slice' takes 'sequential' or 'exact'")
    if isinstance(test, BarkerTable) and run.rule == "metropolis":
        raise BadInput("run.rule = 'metropolis': test.kind = 'barker' needs Barker's rule")
    if isinstance(test, ConcentrationTable) and isinstance(model, LogisticTable) and model.control:
        why = "test.kind = 'concentration' needs a bound that control variates do not have; must be 0"
        raise BadInput(f"model.control = {model.control}: {why}")
