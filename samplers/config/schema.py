"""The tables of a config: what each kind of test, model, proposal and data can be told, and what goes with what."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, model_validator

from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from designer.rule.design import Design
from designer.rule.looks import MAX_N_DATA, check_growth
from designer.search.space import Space
from samplers.chains.draws import MAX_DRAWS
from samplers.decide.correction import HIGHEST, LOWEST

LARGEST = 1e300  # of a number that models and proposals compute with
Labels: TypeAlias = Literal["binary", "numbers"] | None  # what the data must have besides the columns of the model


def _number(value: Any) -> Any:
    if isinstance(value, (bool, str)):
        raise ValueError("must be a number")
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
    """The Barker minibatch test: `samplers.decide.BarkerTest` says what the entries mean."""

    kind: Literal["barker"] = "barker"
    m: Whole = Field(default=100, ge=2, le=MAX_N_DATA)
    sigma: Real = Field(default=1.0, ge=LOWEST, le=HIGHEST)
    skew_corrected: YesNo = False


class ConcentrationTable(ConfigTable):
    """The concentration test: `samplers.decide.ConcentrationTest` says what the entries mean."""

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

    They are centred at the posterior mode. With `recentre` they follow the chain in warmup, should it live elsewhere.
    """

    proposals: ClassVar = ("proxy", "random-walk", "adaptive", "langevin", "slice")  # the first one if nothing is said
    labels: ClassVar[Labels] = "binary"

    kind: Literal["logistic"] = "logistic"
    prior_precision: NotNegative = 0.0
    control: Annotated[Literal[0, 1, 2], BeforeValidator(_number)] = 2
    recentre: YesNo = False


class IcaTable(ConfigTable):
    """Independent component analysis; the data are made white first unless they are so already."""

    proposals: ClassVar = ("stiefel",)
    labels: ClassVar[Labels] = None

    kind: Literal["ica"] = "ica"
    whiten: YesNo = True


class MixtureTable(ConfigTable):
    """A mixture of two Gaussians of known variance in one column of data."""

    proposals: ClassVar = ("random-walk", "adaptive", "slice")
    labels: ClassVar[Labels] = None

    kind: Literal["mixture"] = "mixture"
    variance: Positive = 2.0
    prior_variances: tuple[Positive, Positive] = (10.0, 1.0)


class LassoTable(ConfigTable):
    """Linear regression with a Laplace prior; precision of the noise and penalty as K14 has them."""

    proposals: ClassVar = ("random-walk", "adaptive", "langevin", "slice")
    labels: ClassVar[Labels] = "numbers"

    kind: Literal["lasso"] = "lasso"
    precision: Positive = 3.0
    penalty: NotNegative = 4950.0


class RJTable(ConfigTable):
    """Logistic regression with variable selection by reversible jump: the prior's rate and its floor under |beta|_1."""

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
    """From the quadratic proxy of the log posterior, a step of `beta` (1: independent proposals)."""

    kind: Literal["proxy"] = "proxy"
    beta: Real = Field(default=1.0, gt=0.0, le=1.0)


class WalkTable(ConfigTable):
    """A random walk. For logistic regression `scale` is in posterior standard deviations (2.38 / sqrt(D) if absent).

    Other models have steps of standard deviation `scale` in every parameter.
    """

    kind: Literal["random-walk"] = "random-walk"
    scale: Positive | None = None


class AdaptiveTable(ConfigTable):
    """A random walk that starts with steps of `scale`, as above, and learns better ones in warmup."""

    kind: Literal["adaptive"] = "adaptive"
    scale: Positive | None = None


class StiefelTable(ConfigTable):
    """Rotations by typical angles of `scale` radians in each coordinate plane."""

    kind: Literal["stiefel"] = "stiefel"
    scale: Real = Field(gt=0.0, le=10.0)


class LangevinTable(ConfigTable):
    """Along the gradient of a mini-batch of `batch` data, with variance `step`."""

    kind: Literal["langevin"] = "langevin"
    step: Positive
    batch: Whole = Field(ge=1, le=MAX_N_DATA)


class SliceTable(ConfigTable):
    """Slice updates along random lines: `samplers.chains.slice_chain.Slice` says what the entries mean.

    For logistic regression `width` is in posterior standard deviations (3 if absent), for other models in the units of
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
            raise BadInput("p_birth + p_death must be below 1, for updates")
        return self


ProposalTable: TypeAlias = Annotated[
    ProxyTable | WalkTable | AdaptiveTable | StiefelTable | LangevinTable | SliceTable | JumpsTable,
    Field(discriminator="kind"),
]


# --- [data] and [run] -------------------------------------------------------------------------------------------------


class DataTable(ConfigTable):
    """Where the data are, and what is made of them.

    A table (.csv, .parquet) has columns by name: `label` ("y" if absent) is what the model explains, `columns` are used
    (all others if absent). .npz has arrays x and `label`, and perhaps one of names, `columns`. A .npy file, with
    `labels` in another one, is mapped into memory and used where it is (but copied to be made white, or for reversible
    jump); for the lasso, the last column may be the label. `intercept` adds a column of ones.

    Instead of a path, `source` names one of the papers' data sets (`samplers.data.sources.NAMES`), read from `folder`
    or, if its files are not there, replaced by a synthetic twin; `rows` limits it.
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
        """A .npy file, which is used as it is."""
        return self.path is not None and self.path.lower().endswith(".npy")

    @property
    def location(self) -> str:
        """Where the data are, for messages."""
        return f"data.path: {self.path}" if self.source is None else f"data.source = {self.source!r}"


class RunTable(ConfigTable):
    """How long, how many, from which seed and state; every `checkpoint_seconds` the chains are saved.

    `rule` is Metropolis' or Barker's acceptance function (if absent that of the test), and the likelihood, not the
    prior, is taken to the power 1 / `temperature`: both change what the chain is, not how a test decides.
    """

    draws: Whole = Field(default=1000, ge=1, le=MAX_DRAWS)
    warmup: Whole = Field(default=0, ge=0, le=MAX_DRAWS)
    chains: Whole = Field(default=4, ge=1, le=1000)
    seed: Whole = Field(default=0, ge=0, le=2**128)
    checkpoint_seconds: Real = Field(default=5.0, ge=0.0)
    rule: Rule | None = None
    temperature: Positive = 1.0
    start: tuple[Real, ...] | None = None


class RedesignTable(ConfigTable):
    """Design from the running chain: every `every` steps a search for `tolerance` on the latest `pairs` pairs.

    Pairs are recorded on the way, at most `share` of all data read (but for the first 20). It ends at step `until`,
    that of the warmup if absent; a new design must save `gain` of the data, unless the one in use breaks the
    tolerance. `m_low` and `m_high` limit the batches.
    """

    tolerance: Real = Field(ge=1e-6, le=1.0)
    every: Whole = Field(default=1000, ge=16, le=MAX_DRAWS)
    pairs: Whole = Field(default=100, ge=20, le=10**5)
    until: Annotated[Whole, Field(ge=16, le=MAX_DRAWS)] | None = None
    share: Real = Field(default=0.1, gt=0.0, lt=1.0)
    gain: Real = Field(default=0.02, ge=0.0, lt=1.0)
    m_low: Annotated[Whole, Field(ge=2, le=MAX_N_DATA)] | None = None
    m_high: Annotated[Whole, Field(ge=2, le=MAX_N_DATA)] | None = None

    @property
    def space(self) -> Space:
        """Where designs are searched."""
        return Space(self.m_low, self.m_high)


# --- what goes with what ----------------------------------------------------------------------------------------------


def check_proposal(model: ModelTable, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse a proposal that the model cannot use."""
    if proposal.kind not in model.proposals:
        known = ", ".join(map(repr, model.proposals))
        raise BadInput(f"proposal.kind = {proposal.kind!r}: not for model.kind = {model.kind!r}, which takes {known}")
    if isinstance(proposal, (WalkTable, AdaptiveTable)) and proposal.scale is None and model.kind != "logistic":
        raise BadInput(f"proposal.scale: missing; the steps in every parameter, for model.kind = {model.kind!r}")
    if isinstance(model, LogisticTable) and model.recentre and not (run.warmup and model.control):
        raise BadInput("model.recentre = true: needs control variates and a warmup to follow the chain in")
    if isinstance(proposal, SliceTable):
        _check_slice(model, proposal, run)
    if proposal.kind == "adaptive" and not run.warmup:
        raise BadInput("run.warmup = 0: the adaptive proposal learns in warmup; give it some steps")


def _check_slice(model: ModelTable, proposal: SliceTable, run: RunTable) -> None:
    """Refuse what slice updates cannot do."""
    if proposal.width is None and model.kind != "logistic":
        raise BadInput(f"proposal.width: missing; the first interval, for model.kind = {model.kind!r}")
    if run.rule == "barker":
        raise BadInput("run.rule = 'barker': a slice update has no acceptance rule")
    if isinstance(model, LogisticTable) and model.recentre:
        raise BadInput("model.recentre = true: is not for proposal.kind = 'slice'")


def check_redesign(redesign: RedesignTable | None, test: object, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse to re-design what is no sequential test of pairs, or when there is no time for it."""
    if redesign is None:
        return
    if isinstance(proposal, SliceTable):
        raise BadInput("redesign: proposal.kind = 'slice' decides about no pairs to design for")
    if not isinstance(test, Design):
        raise BadInput('redesign: needs [test] with kind = "sequential", the design to begin with')
    if redesign.until is None and not run.warmup:
        raise BadInput("redesign.until: missing; without a warmup the designs need another end")
    if (end := redesign.until or run.warmup) < redesign.every:
        raise BadInput(f"redesign.every = {redesign.every:,}: there are only {end:,} steps to re-design in")


def check_data(model: ModelTable, data: DataTable) -> None:
    """Refuse what the model, or the kind of file, cannot use."""
    _check_place(data)
    given = [name for name in ("label", "labels", "columns") if getattr(data, name) is not None]
    given += [name for name in ("intercept", "standardise") if getattr(data, name)]
    idle = [] if model.labels else ["label", "labels", "intercept", "standardise"]
    if unfit := [name for name in given if name in idle]:
        raise BadInput(f"data.{unfit[0]}: has no meaning for model.kind = {model.kind!r}")
    if not data.mapped:
        if "labels" in given:
            raise BadInput("data.labels: is for a path that ends in .npy; other files hold their labels themselves")
        return
    if unfit := [name for name in given if name != "labels"]:
        raise BadInput(f"data.{unfit[0]}: a .npy file is mapped into memory and used as it is; change the file")
    if model.labels == "binary" and data.labels is None:
        raise BadInput("data.labels: missing; a .npy file has its labels in another one")


def _check_place(data: DataTable) -> None:
    """Data lie in a file or are one of the built-in sets."""
    if data.path is None and data.source is None:
        raise BadInput("data.path: missing")
    if data.path is not None and data.source is not None:
        raise BadInput("data.source: cannot be given together with data.path")
    idle = ("folder", "rows") if data.source is None else ("label", "labels", "columns")
    if unfit := [name for name in idle if getattr(data, name) is not None]:
        raise BadInput(f"data.{unfit[0]}: has no meaning with data.{'path' if data.source is None else 'source'}")


def check_test(test: object, model: ModelTable, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse a rule or a threshold that the test cannot follow, and differences whose range it cannot know."""
    if isinstance(proposal, SliceTable) and isinstance(test, (BarkerTable, ConcentrationTable)):
        raise BadInput(f"test.kind = {test.kind!r}: proposal.kind = 'slice' takes 'sequential' or 'exact'")
    if isinstance(test, BarkerTable) and run.rule == "metropolis":
        raise BadInput("run.rule = 'metropolis': test.kind = 'barker' follows Barker's rule only")
    if isinstance(test, ConcentrationTable) and isinstance(model, LogisticTable) and model.control:
        why = "test.kind = 'concentration' needs a bound that control variates do not have; must be 0"
        raise BadInput(f"model.control = {model.control}: {why}")
