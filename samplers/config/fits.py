"""Which tests, models, proposals and data of a config go together; the tables are in `schema`."""

from __future__ import annotations

from designer.core.errors import BadInput
from designer.rule.design import Design
from samplers.config.schema import (
    AdaptiveTable,
    AlwaysTable,
    BarkerTable,
    ConcentrationTable,
    DataTable,
    ExactMinibatchTable,
    FieldTable,
    GibbsTable,
    GlmTable,
    LangevinTable,
    LogisticTable,
    ModelTable,
    ProposalTable,
    RedesignTable,
    RunTable,
    ScheduleTable,
    SliceTable,
    WalkTable,
    WithProxies,
)

TABLES = (".csv", ".tsv", ".txt", ".parquet")  # files with named columns
FIELDS = (".npy", ".npz")  # files with the potentials of a field


def check_proposal(model: ModelTable, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse a proposal that the model cannot use."""
    if proposal.kind not in model.proposals:
        known = ", ".join(map(repr, model.proposals))
        raise BadInput(
            f"proposal.kind = {proposal.kind!r}: cannot be used with model.kind = {model.kind!r}, which takes {known}"
        )
    if (
        isinstance(proposal, (WalkTable, AdaptiveTable))
        and proposal.scale is None
        and not isinstance(model, WithProxies)
    ):
        raise BadInput(f"proposal.scale: missing; model.kind = {model.kind!r} needs the size of the steps")
    if isinstance(proposal, WalkTable) and proposal.isotropic and proposal.scale is None:
        raise BadInput("proposal.scale: missing; isotropic steps need their size")
    if isinstance(model, WithProxies) and model.heavy not in ("auto", 0) and not model.control:
        raise BadInput(f"model.heavy = {model.heavy:,}: heavy rows need control variates; model.control = 0 has none")
    if isinstance(model, WithProxies) and model.recentre and not (run.warmup and model.control):
        raise BadInput("model.recentre = true: needs control variates and a warm-up")
    if isinstance(proposal, SliceTable):
        _check_slice(model, proposal, run)
    if isinstance(model, FieldTable):
        _check_gibbs(run)
    if proposal.kind == "adaptive" and not run.warmup:
        raise BadInput("run.warmup = 0: the adaptive proposal needs warm-up steps to adapt")


def _check_slice(model: ModelTable, proposal: SliceTable, run: RunTable) -> None:
    """Refuse options that slice updates cannot use."""
    if proposal.width is None and not isinstance(model, WithProxies):
        raise BadInput(f"proposal.width: missing; model.kind = {model.kind!r} needs the width of the first interval")
    if run.rule == "barker":
        raise BadInput("run.rule = 'barker': a slice update has no acceptance rule")
    if isinstance(model, WithProxies) and model.recentre:
        raise BadInput("model.recentre = true: cannot be used with proposal.kind = 'slice'")


def _check_gibbs(run: RunTable) -> None:
    """Refuse options that Gibbs updates cannot use."""
    if run.rule == "metropolis":
        raise BadInput("run.rule = 'metropolis': a Gibbs update has Barker's rule")
    if run.temperature != 1.0:
        raise BadInput(f"run.temperature = {run.temperature:g}: scale the potentials of the field instead")


def check_redesign(redesign: RedesignTable | None, test: object, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse a redesign of anything but a sequential test of pairs, or without steps for it."""
    if redesign is None:
        return
    if isinstance(proposal, (SliceTable, GibbsTable)):
        raise BadInput(f"redesign: cannot be used with proposal.kind = {proposal.kind!r}, which has no pairs")
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
    if isinstance(model, FieldTable):
        _check_field_data(model, data)
        return
    _check_place(data)
    if isinstance(model, LogisticTable) and not model.prior_intercept and not data.intercept:
        advice = "name the column in model.prior_precision, with precision 0"
        raise BadInput(f"model.prior_intercept = false: needs data.intercept = true; otherwise {advice}")
    given = [name for name in ("label", "labels", "columns") if getattr(data, name) is not None]
    given += [name for name in ("intercept", "standardise") if getattr(data, name)]
    if isinstance(model, GlmTable):
        _check_formula_data(data, given)
        return
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


def _check_field_data(model: FieldTable, data: DataTable) -> None:
    """Refuse a field that is neither in a file nor drawn, or both."""
    given = [name for name, value in data.model_dump().items() if value not in (None, False)]
    if unfit := [name for name in given if name != "path"]:
        raise BadInput(f"data.{unfit[0]}: does not apply to model.kind = 'mrf'")
    if data.path is None:
        if model.dimension is None:
            raise BadInput("data.path: missing; or give model.dimension to draw a random field")
        if model.n_values in (None, 2) and model.field_sd is not None:
            raise BadInput("model.field_sd: is for fields of three or more values, see model.n_values")
        return
    if not data.path.lower().endswith(FIELDS):
        raise BadInput(
            f"data.path: {data.path}: the potentials of a field are in a file that ends in {', '.join(FIELDS)}"
        )
    if model.drawn:
        raise BadInput(f"model.{next(iter(model.drawn))}: is for a random field; data.path has the potentials already")


def _check_formula_data(data: DataTable, given: list[str]) -> None:
    """Refuse what the formula says already, and files without named columns."""
    if data.source is not None:
        raise BadInput("data.source: does not apply to model.kind = 'glm'; give the path of a table")
    if given:
        raise BadInput(f"data.{given[0]}: does not apply to model.kind = 'glm'; the formula says it")
    assert data.path is not None
    if not data.path.lower().endswith(TABLES):
        raise BadInput(f"data.path: {data.path}: a formula needs a table that ends in {', '.join(TABLES)}")


def _check_place(data: DataTable) -> None:
    """Refuse data that have neither a path nor a source, or both."""
    if data.path is None and data.source is None:
        raise BadInput("data.path: missing")
    if data.path is not None and data.source is not None:
        raise BadInput("data.source: cannot be given together with data.path")
    idle = ("folder", "rows") if data.source is None else ("label", "labels", "columns")
    if unfit := [name for name in idle if getattr(data, name) is not None]:
        raise BadInput(f"data.{unfit[0]}: does not apply with data.{'path' if data.source is None else 'source'}")


def _check_has_bounds(model: ModelTable) -> None:
    """Refuse the exact mini-batch test for terms without bounds."""
    why = "test.kind = 'exact-minibatch' needs bounds on the terms"
    if not isinstance(model, WithProxies):
        raise BadInput(f"model.kind = {model.kind!r}: {why}, which control variates have: see 'logistic' and 'glm'")
    if not model.control:
        raise BadInput(f"model.control = 0: {why}, which control variates have; must be 1 or 2")


def check_test(test: object, model: ModelTable, proposal: ProposalTable, run: RunTable) -> None:
    """Refuse a test that does not go with the proposal, the rule or the control variates."""
    if isinstance(proposal, SliceTable) and isinstance(test, (BarkerTable, ConcentrationTable, ExactMinibatchTable)):
        raise BadInput(f"test.kind = {test.kind!r}: proposal.kind = 'slice' takes 'sequential' or 'exact'")
    if isinstance(test, AlwaysTable) and not isinstance(proposal, LangevinTable):
        why = (
            "accepts everything, which leaves the posterior to the proposal alone; it needs proposal.kind = 'langevin'"
        )
        raise BadInput(f"test.kind = 'always': {why}")
    if isinstance(test, BarkerTable) and run.rule == "metropolis":
        raise BadInput("run.rule = 'metropolis': test.kind = 'barker' needs Barker's rule")
    if isinstance(test, ExactMinibatchTable):
        _check_has_bounds(model)
    if isinstance(test, ConcentrationTable) and isinstance(model, WithProxies) and model.control:
        why = "test.kind = 'concentration' needs a bound that control variates do not have; must be 0"
        raise BadInput(f"model.control = {model.control}: {why}")
