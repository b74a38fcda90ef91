"""From a config to a `ChainSpec`: load the data; make and check model, proposal, test and start before sampling."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure, prefix_errors
from designer.rule.design import Design
from samplers.chains.jump_chain import state_of
from samplers.chains.slice_chain import WIDTH, Slice
from samplers.chains.spec import ChainSpec
from samplers.config.config import SamplerConfig
from samplers.config.field import field_of
from samplers.config.priors import prior_precision
from samplers.config.schema import (
    AdaptiveTable,
    AlwaysTable,
    BarkerTable,
    ConcentrationTable,
    ExactMinibatchTable,
    FieldTable,
    GlmTable,
    IcaTable,
    JumpsTable,
    LangevinTable,
    LassoTable,
    LogisticTable,
    MixtureTable,
    ProxyTable,
    RJTable,
    SliceTable,
    StiefelTable,
    WalkTable,
    WithProxies,
)
from samplers.config.starts import best_single, lasso_mode, mixture_moments
from samplers.data import memory
from samplers.data.formula.frame import ModelFrame, model_frame
from samplers.data.formula.model import model_of
from samplers.data.load import Dataset, load
from samplers.data.size import sized
from samplers.decide.always import AlwaysAccept
from samplers.decide.barker import BarkerTest
from samplers.decide.comparison import AcceptTest
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.exact import ExactTest
from samplers.decide.exact_minibatch import ExactMinibatchTest
from samplers.decide.sequential import SequentialTest, check_designed_for
from samplers.models.control import Controlled, find_mode
from samplers.models.groups import Grouped
from samplers.models.ica import ICA, whiten
from samplers.models.lasso import Lasso
from samplers.models.logistic import Logistic
from samplers.models.mixture import Mixture
from samplers.models.rj_logistic import RJLogistic
from samplers.models.tempered import tempered
from samplers.proposals import ArrowStep, Langevin, Proposal, ProposalChoice, RandomWalk, StiefelWalk, choose_proposal

CONTENTS = "contents of the data"  # an entry of a run's description
UNCORRECTED = (
    "no test: every proposal is accepted, so the draws have the error of the step size, which nothing corrects; "
    "`austerity certify` measures it"
)


class ModelParts(NamedTuple):
    """Model, proposal and start that the tables `[model]` and `[proposal]` describe, and the parameters' names."""

    model: Any
    proposal: Proposal | Slice | None
    start: Floats
    names: tuple[str, ...] | None
    choice: ProposalChoice | None = None  # of a proxy proposal
    remarks: tuple[str, ...] = ()  # what a reader of the results should know about the data


def build(config: SamplerConfig) -> ChainSpec:
    """Load the data and make model, proposal and test; the chains start at the posterior mode, or near it."""
    if isinstance(config.model, FieldTable):
        return _field_spec(config, config.model)
    data = _data(config)
    n_rows, heavy = data.x.shape[0], _heavy_asked(config)
    if heavy is not None:  # it is known already how many data can be sampled
        _test(config, n_rows, heavy)
    if isinstance(config.proposal, LangevinTable) and config.proposal.batch > n_rows:
        raise BadInput(f"proposal.batch = {config.proposal.batch:,}: the data have {n_rows:,} rows")
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused, with its name
        parts = _parts(config, data)
    split = getattr(parts.model, "split", None)
    n_heavy = 0 if split is None else split.heavy.size
    test = _test(config, n_rows, n_heavy)
    notes: dict[str, Any] = {} if data.standardised is None else {"standardised": json.dumps(data.standardised)}
    notes |= {} if data.origin is None else {"data": data.origin}
    notes |= {"table": "; ".join(parts.remarks)} if parts.remarks else {}
    notes |= {"heavy": split.sentence} if split is not None and n_heavy else {}
    digest = data.digest
    known = digest + (f"{n_heavy} heavy" if heavy is None and n_heavy else "")
    notes |= _contents(config, data.contents)
    notes |= {"gradient_batch": config.proposal.batch} if isinstance(config.proposal, LangevinTable) else {}
    notes |= {"uncorrected": UNCORRECTED} if isinstance(config.test, AlwaysTable) else {}
    chosen: dict[str, str] = {}  # enters the digest, unless it is the proposal that earlier versions made
    if parts.choice is not None:
        notes |= {"proposal": parts.choice.sentence} if parts.choice.notable else {}
        chosen = {} if parts.choice.proposal.plain else {"proposal chosen": parts.choice.kind}
    spec = ChainSpec(
        model=parts.model,
        proposal=parts.proposal,
        test=test,
        start=_start(config, parts),
        rule=config.rule,
        temperature=config.run.temperature,
        adaptive=config.proposal.kind == "adaptive",
        recentre=isinstance(config.model, WithProxies) and config.model.recentre,
        design=config.test if isinstance(config.test, Design) else None,
        names=parts.names,
        kind=config.model.kind,
        notes=notes | {"source": {"config": config.portable().to_toml()}},  # for a certificate of the saved run
        digest=hashlib.sha256((config.digest + known + "".join(chosen.values())).encode()).hexdigest(),
        entries=config.entries | {CONTENTS: digest[:8]} | chosen,
    )
    with prefix_errors("run."):
        spec.chain(np.random.default_rng())  # refuse now what no chain can start with
    return spec


def _field_spec(config: SamplerConfig, table: FieldTable) -> ChainSpec:
    """The spec of Gibbs chains: the data are the potentials, and an update reads one term per pair of others."""
    found = field_of(table, config.data)
    values = getattr(found.field, "n_values", 2)
    if values > 2 and not (config.test is None or isinstance(config.test, Design)):
        takes = "takes 'sequential' or 'exact', to which a threshold can be given"
        raise BadInput(f"test.kind = {config.test.kind!r}: a field of {values} values {takes}")
    start = np.zeros(found.field.dimension) if config.run.start is None else np.array(config.run.start)
    spec = ChainSpec(
        model=found.field,
        proposal=None,
        test=_test(config, found.field.n_data, 0),
        start=start,
        rule="barker",
        design=config.test if isinstance(config.test, Design) else None,
        names=tuple(f"x{k}" for k in range(found.field.dimension)),
        kind=config.model.kind,
        notes={
            "field": found.sentence,
            "source": {"config": config.portable().to_toml()},
            **_contents(config, {"potentials": sized(found.field.log_psi)}),
        },
        digest=hashlib.sha256((config.digest + found.digest).encode()).hexdigest(),
        entries=config.entries | {CONTENTS: found.digest[:8]},
    )
    with prefix_errors("run.start: "):
        spec.chain(np.random.default_rng())
    return spec


def _contents(config: SamplerConfig, parts: dict[str, str]) -> dict[str, Any]:
    """What the data are, part by part, and the file of each: for a run that is not resumed, because they changed."""
    data = config.portable().data
    places = {part: (data.labels if part == "labels" else None) or data.path or data.source for part in parts}
    return {"parts": {CONTENTS: parts}, "files": {part: place for part, place in places.items() if place}}


def _data(config: SamplerConfig) -> Dataset | ModelFrame:
    """The data of a config: arrays as they are, or what a formula makes of a table."""
    table = config.model
    if not isinstance(table, GlmTable):
        return load(config.data, table.labels)
    try:
        return model_frame(
            table.formula,
            config.data.path,
            table.family,
            positive=table.positive,
            missing=table.missing,
            weights=table.weights,
        )
    except BadInput as error:  # name the entry of the config; what is about the table itself names its file
        said = str(error).removeprefix("table: ")
        entry = re.match(r"(\w+)(:| = )", said)
        raise BadInput(f"model.{said}" if entry and entry[1] in type(table).model_fields else said) from None


def _heavy_asked(config: SamplerConfig) -> int | None:
    """How many rows every step reads, as far as the config says; None: it depends on the data."""
    table = config.model
    if not isinstance(table, WithProxies) or not table.control:
        return 0
    return None if table.chooses_heavy else 0 if table.heavy == "auto" else table.heavy


def _test(config: SamplerConfig, n_rows: int, n_heavy: int) -> AcceptTest:
    """The test, if it fits the rows that are not heavy."""
    n_data = n_rows - n_heavy
    if n_data < 2:
        raise BadInput(f"model.heavy = {n_heavy:,}: the data have {n_rows:,} rows; two must be left to sample")
    if config.redesign is not None:
        with prefix_errors("redesign."):
            config.redesign.space.checked(n_data)
    if config.schedule is not None:
        config.schedule.check_fits(n_data)
    table = config.test
    if table is None:
        return ExactTest()
    if isinstance(table, Design):
        test = SequentialTest.from_design(table)
        with prefix_errors("test.n_data: "):
            check_designed_for(test, n_data, "the data have", " rows", n_heavy)
        return test
    if isinstance(table, AlwaysTable):
        return AlwaysAccept()
    options = table.model_dump(exclude={"kind"})
    if isinstance(table, ExactMinibatchTable):
        return ExactMinibatchTest(**options)
    if table.m > n_data:
        raise BadInput(f"test.m = {table.m:,}: the data have {n_data:,} rows")
    if isinstance(table, ConcentrationTable):
        return ConcentrationTest(**options)
    assert isinstance(table, BarkerTable)
    return BarkerTest(**options)


def _parts(config: SamplerConfig, data: Dataset | ModelFrame) -> ModelParts:
    """Model, proposal, start and the parameters' names; `load` has checked that the data suit the model."""
    if isinstance(data, ModelFrame):
        assert isinstance(config.model, GlmTable)
        return _glm(config.model, config, data)
    match config.model:
        case LogisticTable():
            return _logistic(config.model, config, data)
        case GlmTable():
            raise AssertionError("a formula makes a frame")
        case IcaTable():
            return _ica(config.model, config, data)
        case MixtureTable():
            return _mixture(config.model, config, data)
        case LassoTable():
            return _lasso(config.model, config, data)
        case RJTable():
            return _jumps(config.model, config, data)
        case FieldTable():
            raise AssertionError("a field has a spec of its own")


def _logistic(table: LogisticTable, config: SamplerConfig, data: Dataset) -> ModelParts:
    assert data.y is not None
    make = Logistic.mapped if isinstance(data.x, np.memmap) else Logistic.from_data
    with prefix_errors(f"{config.data.location}: "):
        precision = prior_precision(table, data.names, data.x.shape[1])
        base: Any = tempered(make(data.x, data.y, precision), config.run.temperature)
        given = f" = {precision:g}" if isinstance(precision, float) else ""
        return _with_proxies(table, config, base, data.names, f"model.prior_precision{given}")


def _glm(table: GlmTable, config: SamplerConfig, frame: ModelFrame) -> ModelParts:
    shapes: dict[str, float | None] = dict(table.shape or {})
    with prefix_errors(f"{config.data.location}: "):
        model, remarks = model_of(frame, table.prior, table.prior_tails, shapes, config.run.temperature)
        parts = _with_proxies(table, config, model, model.names, "model.prior")
        return parts._replace(remarks=tuple(remarks))


def _with_proxies(
    table: WithProxies, config: SamplerConfig, base: Any, names: tuple[str, ...] | None, prior: str
) -> ModelParts:
    """A model with its control variates and a proposal that knows its curvature, at the mode."""
    asked = config.proposal
    isotropic = isinstance(asked, WalkTable) and asked.isotropic and not isinstance(base, Grouped)
    if isotropic and config.run.start is not None and not table.control:  # needs no mode, so there may be none
        return ModelParts(base, _walk(config, base.dimension), np.zeros(base.dimension), names)
    try:
        mode = find_mode(base, names=names)
    except NumericalFailure as failure:
        raise NumericalFailure(f"{prior}: {failure}") from None
    controls = {order: Controlled.around(base, mode, order) for order in _orders(table, asked)}
    if table.control and (table.chooses_heavy or table.heavy != "auto"):
        by_bounds = table.chooses_heavy and isinstance(config.test, ExactMinibatchTable)
        controls[table.control] = controls[table.control].with_heavy("bounds" if by_bounds else table.heavy)
    model = controls[table.control] if table.control else base
    if isinstance(base, Grouped):
        return ModelParts(model, _grouped_step(asked, controls), mode, names)
    if isinstance(asked, LangevinTable):
        return ModelParts(model, Langevin(base, asked.step, asked.batch), mode, names)
    if isinstance(asked, ProxyTable):
        choice = choose_proposal(controls[2], asked.beta, asked.tails, asked.profile)
        return ModelParts(model, choice.proposal, mode, names, choice)
    if isotropic:
        return ModelParts(model, _walk(config, mode.size), mode, names)
    covariance = np.linalg.inv(controls[2].posterior_precision())
    if isinstance(asked, SliceTable):
        return ModelParts(model, Slice.with_covariance(covariance, asked.width or WIDTH, asked.most_out), mode, names)
    assert isinstance(asked, (WalkTable, AdaptiveTable))
    return ModelParts(model, RandomWalk.with_covariance(covariance, asked.scale), mode, names)


def _grouped_step(asked: Any, controls: dict[int, Controlled]) -> Proposal:
    """The proposal of a model with group terms."""
    if not isinstance(asked, ProxyTable):
        raise BadInput(f"proposal.kind = {asked.kind!r}: a model with group terms takes 'proxy'")
    if asked.tails not in ("auto", "normal") or asked.profile is True:
        raise BadInput("proposal.tails and profile: a model with group terms takes normal proposals, not bent")
    return ArrowStep.of(controls[2], asked.beta)


def _orders(table: WithProxies, proposal: object) -> set[int]:
    """Orders of the control variates needed: the model's own, and 2 for proposals that use the curvature."""
    return {table.control, 0 if isinstance(proposal, LangevinTable) else 2} - {0}


def _ica(table: IcaTable, config: SamplerConfig, data: Dataset) -> ModelParts:
    assert isinstance(config.proposal, StiefelTable)
    size = data.x.shape[1]
    make = ICA.mapped if isinstance(data.x, np.memmap) and not table.whiten else ICA.from_data
    with prefix_errors(f"{config.data.location}: "):
        model = make(whiten(_copied(data.x, "model.whiten = true")).rows if table.whiten else data.x)
    columns = data.names or tuple(map(str, range(size)))
    names = tuple(f"w[{j}, {name}]" for j in range(size) for name in columns)
    walk = StiefelWalk(config.proposal.scale, size)
    return ModelParts(tempered(model, config.run.temperature), walk, np.eye(size).ravel(), names)


def _mixture(table: MixtureTable, config: SamplerConfig, data: Dataset) -> ModelParts:
    if data.x.shape[1] != 1:
        there = f"model.kind = 'mixture' is about one column; there are {data.x.shape[1]}"
        can_choose = data.names is not None and config.data.source is None
        advice = "; data.columns says which one to use" if can_choose else ""
        raise BadInput(f"{config.data.location}: {there}{advice}")
    make = Mixture.mapped if isinstance(data.x, np.memmap) else Mixture.from_data
    with prefix_errors(f"{config.data.location}: "):
        plain = make(data.x[:, 0], 1.0, table.variance, table.prior_variances)
    model = tempered(plain, config.run.temperature)
    return ModelParts(model, _walk(config, 2), mixture_moments(plain), ("theta1", "theta2"))


def _lasso(table: LassoTable, config: SamplerConfig, data: Dataset) -> ModelParts:
    heat, options = config.run.temperature, (table.precision, table.penalty)
    with prefix_errors(f"{config.data.location}: "):
        if data.y is None and isinstance(data.x, np.memmap):
            plain = Lasso.mapped(data.x, *options)
        else:
            x, y = (data.x[:, :-1], data.x[:, -1]) if data.y is None else (data.x, data.y)
            plain = Lasso.from_data(_copied(x, "model.kind = 'lasso' with labels of their own"), y, *options)
    model: Any = tempered(plain, heat)
    asked, proposal = config.proposal, None
    if isinstance(asked, LangevinTable):
        proposal = Langevin(model, asked.step, asked.batch)
    return ModelParts(model, proposal or _walk(config, plain.dimension), lasso_mode(plain, heat), data.names)


def _jumps(table: RJTable, config: SamplerConfig, data: Dataset) -> ModelParts:
    assert data.y is not None and isinstance(config.proposal, JumpsTable)
    options = table.model_dump(exclude={"kind"}) | config.proposal.model_dump(exclude={"kind"})
    with prefix_errors(f"{config.data.location}: "):
        model = RJLogistic.from_data(_copied(data.x, "model.kind = 'rj-logistic'"), data.y, **options)
    return ModelParts(model, None, best_single(model), data.names)


def _copied(rows: Floats, why: str) -> Floats:
    """The rows, if a copy of them fits into memory; BadInput if not."""
    memory.refuse(f"{why} copies the rows, which takes", 8 * rows.size)
    return rows


def _walk(config: SamplerConfig, dimension: int) -> RandomWalk | Slice:
    """The same step size, or slice width, for every parameter; adaptation starts with it too."""
    asked = config.proposal
    if isinstance(asked, SliceTable):
        assert asked.width is not None
        return Slice.isotropic(1.0, dimension, asked.width, asked.most_out)
    assert isinstance(asked, (WalkTable, AdaptiveTable)) and asked.scale is not None
    return RandomWalk.isotropic(asked.scale, dimension)


def _start(config: SamplerConfig, parts: ModelParts) -> Floats:
    """`run.start` if given and possible, or else the start that was found."""
    if config.run.start is None:
        if not np.all(np.isfinite(parts.start)):
            raise BadInput(f"{config.data.location}: no finite start was found; the numbers are too large")
        return parts.start
    theta = np.array(config.run.start, dtype=np.float64)
    if theta.size != parts.start.size:
        raise BadInput(f"run.start: has {theta.size:,} numbers, the model has {parts.start.size:,} parameters")
    if isinstance(parts.model, RJLogistic):
        with prefix_errors("run."):
            parts.model.checked(state_of(theta))
    elif not np.isfinite(parts.model.log_prior(theta)):
        raise BadInput("run.start: the prior is 0 there")
    return theta
