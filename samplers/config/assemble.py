"""A config made real: its data loaded, its model, proposal, test and start made, everything checked before sampling."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure
from designer.engine.step_error import Rule
from designer.rule.design import Design
from samplers.chains.chain import Chain
from samplers.chains.jump_chain import JumpChain, state_of
from samplers.chains.slice_chain import WIDTH, Slice, SliceChain
from samplers.config.config import SamplerConfig
from samplers.config.schema import (
    AdaptiveTable,
    BarkerTable,
    ConcentrationTable,
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
)
from samplers.config.starts import best_single, lasso_mode, mixture_moments
from samplers.data import memory
from samplers.data.load import Dataset, load
from samplers.decide.barker import BarkerTest
from samplers.decide.comparison import AcceptTest
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.ica import ICA, whiten
from samplers.models.lasso import Lasso
from samplers.models.logistic import Logistic
from samplers.models.mixture import Mixture
from samplers.models.rj_logistic import RJLogistic
from samplers.models.tempered import tempered
from samplers.proposals import Langevin, Proposal, ProxyStep, RandomWalk, StiefelWalk

AnyChain = Chain | JumpChain | SliceChain


class Parts(NamedTuple):
    """A config made real. `names` are the parameters', if they have any; `notes` are for the results."""

    model: Any  # a Model, or RJLogistic, which is not about one vector of fixed meaning
    proposal: Proposal | Slice | None  # None for reversible jump, whose moves are the model's own
    test: AcceptTest
    start: Floats
    data_digest: str
    rule: Rule
    temperature: float
    names: tuple[str, ...] | None
    notes: dict[str, str | int]

    def chain(self, rng: np.random.Generator) -> AnyChain:
        """A chain at its start."""
        if isinstance(self.model, RJLogistic):
            return JumpChain(self.model, self.test, self.start, rng, self.rule, self.temperature)
        if isinstance(self.proposal, Slice):
            assert isinstance(self.test, (ExactTest, SequentialTest))  # the config has seen to it
            return SliceChain(self.model, self.proposal, self.test, self.start, rng)
        assert self.proposal is not None
        return Chain(self.model, self.proposal, self.test, self.start, rng, self.rule)


class _Made(NamedTuple):
    model: Any
    proposal: Proposal | Slice | None
    start: Floats
    names: tuple[str, ...] | None


def build(config: SamplerConfig) -> Parts:
    """Load the data and make model, proposal and test; the chains start at the posterior mode, or near it."""
    data = load(config.data, config.model.labels)
    test = _test(config, data.x.shape[0])
    if config.redesign is not None:
        with _told_of("redesign."):
            config.redesign.space.checked(data.x.shape[0])
    if config.schedule is not None:
        config.schedule.tests(data.x.shape[0])  # batches that the data do not have are refused now
    if isinstance(config.proposal, LangevinTable) and config.proposal.batch > data.x.shape[0]:
        raise BadInput(f"proposal.batch = {config.proposal.batch:,}: the data have {data.x.shape[0]:,} rows")
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused, with its name
        made = _parts(config, data)
    start = _start(config, made)
    notes: dict[str, str | int] = {} if data.standardised is None else {"standardised": json.dumps(data.standardised)}
    notes |= {} if data.origin is None else {"data": data.origin}
    notes |= {"gradient_batch": config.proposal.batch} if isinstance(config.proposal, LangevinTable) else {}
    heat = config.run.temperature
    parts = Parts(made.model, made.proposal, test, start, data.digest, config.rule, heat, made.names, notes)
    with _told_of("run."):
        parts.chain(np.random.default_rng())  # what no chain can begin with is refused now
    return parts


def _test(config: SamplerConfig, n_data: int) -> AcceptTest:
    table = config.test
    if table is None:
        return ExactTest()
    if isinstance(table, Design):
        if table.n_data != n_data:
            raise BadInput(f"test.n_data = {table.n_data:,}: the data have {n_data:,} rows")
        return SequentialTest.from_design(table)
    if table.m > n_data:
        raise BadInput(f"test.m = {table.m:,}: the data have {n_data:,} rows")
    options = table.model_dump(exclude={"kind"})
    if isinstance(table, ConcentrationTable):
        return ConcentrationTest(**options)
    assert isinstance(table, BarkerTable)
    return BarkerTest(**options)


def _parts(config: SamplerConfig, data: Dataset) -> _Made:
    """Model, proposal, start and the parameters' names; the data are what the model wants, as `load` sees to."""
    match config.model:
        case LogisticTable():
            return _logistic(config.model, config, data)
        case IcaTable():
            return _ica(config.model, config, data)
        case MixtureTable():
            return _mixture(config.model, config, data)
        case LassoTable():
            return _lasso(config.model, config, data)
        case RJTable():
            return _jumps(config.model, config, data)


def _logistic(table: LogisticTable, config: SamplerConfig, data: Dataset) -> _Made:
    assert data.y is not None
    make = Logistic.mapped if isinstance(data.x, np.memmap) else Logistic.from_data
    asked = config.proposal
    with _told_of(f"{config.data.location}: "):
        base: Any = tempered(make(data.x, data.y, table.prior_precision), config.run.temperature)
        try:
            mode = find_mode(base)
        except NumericalFailure as failure:
            raise NumericalFailure(f"model.prior_precision = {table.prior_precision:g}: {failure}") from None
        controls = {order: Controlled.around(base, mode, order) for order in _orders(table, asked)}
    model = controls[table.control] if table.control else base
    if isinstance(asked, LangevinTable):
        return _Made(model, Langevin(base, asked.step, asked.batch), mode, data.names)
    if isinstance(asked, ProxyTable):
        return _Made(model, ProxyStep.of(controls[2], asked.beta), mode, data.names)
    covariance = np.linalg.inv(controls[2].posterior_precision())
    if isinstance(asked, SliceTable):
        return _Made(model, Slice.with_covariance(covariance, asked.width or WIDTH, asked.most_out), mode, data.names)
    assert isinstance(asked, (WalkTable, AdaptiveTable))
    return _Made(model, RandomWalk.with_covariance(covariance, asked.scale), mode, data.names)


def _orders(table: LogisticTable, proposal: object) -> set[int]:
    """Of the control variates that are needed: the model's, and the second for proposals that use the curvature."""
    return {table.control, 0 if isinstance(proposal, LangevinTable) else 2} - {0}


def _ica(table: IcaTable, config: SamplerConfig, data: Dataset) -> _Made:
    assert isinstance(config.proposal, StiefelTable)
    size = data.x.shape[1]
    make = ICA.mapped if isinstance(data.x, np.memmap) and not table.whiten else ICA.from_data
    with _told_of(f"{config.data.location}: "):
        model = make(whiten(_copied(data.x, "model.whiten = true")).rows if table.whiten else data.x)
    columns = data.names or tuple(map(str, range(size)))
    names = tuple(f"w[{j}, {name}]" for j in range(size) for name in columns)
    walk = StiefelWalk(config.proposal.scale, size)
    return _Made(tempered(model, config.run.temperature), walk, np.eye(size).ravel(), names)


def _mixture(table: MixtureTable, config: SamplerConfig, data: Dataset) -> _Made:
    if data.x.shape[1] != 1:
        there = f"model.kind = 'mixture' is about one column; there are {data.x.shape[1]}"
        can_choose = data.names is not None and config.data.source is None
        advice = "; data.columns says which one to use" if can_choose else ""
        raise BadInput(f"{config.data.location}: {there}{advice}")
    make = Mixture.mapped if isinstance(data.x, np.memmap) else Mixture.from_data
    with _told_of(f"{config.data.location}: "):
        plain = make(data.x[:, 0], 1.0, table.variance, table.prior_variances)
    model = tempered(plain, config.run.temperature)
    return _Made(model, _walk(config, 2), mixture_moments(plain), ("theta1", "theta2"))


def _lasso(table: LassoTable, config: SamplerConfig, data: Dataset) -> _Made:
    heat, options = config.run.temperature, (table.precision, table.penalty)
    with _told_of(f"{config.data.location}: "):
        if data.y is None and isinstance(data.x, np.memmap):
            plain = Lasso.mapped(data.x, *options)
        else:
            x, y = (data.x[:, :-1], data.x[:, -1]) if data.y is None else (data.x, data.y)
            plain = Lasso.from_data(_copied(x, "model.kind = 'lasso' with labels of their own"), y, *options)
    model: Any = tempered(plain, heat)
    asked, proposal = config.proposal, None
    if isinstance(asked, LangevinTable):
        proposal = Langevin(model, asked.step, asked.batch)
    return _Made(model, proposal or _walk(config, plain.dimension), lasso_mode(plain, heat), data.names)


def _jumps(table: RJTable, config: SamplerConfig, data: Dataset) -> _Made:
    assert data.y is not None and isinstance(config.proposal, JumpsTable)
    options = table.model_dump(exclude={"kind"}) | config.proposal.model_dump(exclude={"kind"})
    with _told_of(f"{config.data.location}: "):
        model = RJLogistic.from_data(_copied(data.x, "model.kind = 'rj-logistic'"), data.y, **options)
    return _Made(model, None, best_single(model), data.names)


def _copied(rows: Floats, why: str) -> Floats:
    """Rows that will be copied into memory, also those of a mapped file, if they may be so many."""
    memory.refuse(f"{why} copies the rows, which takes", 8 * rows.size)
    return rows


def _walk(config: SamplerConfig, dimension: int) -> RandomWalk | Slice:
    """The same steps, or slices, in every parameter; adaptation starts with them, too."""
    asked = config.proposal
    if isinstance(asked, SliceTable):
        assert asked.width is not None
        return Slice.isotropic(1.0, dimension, asked.width, asked.most_out)
    assert isinstance(asked, (WalkTable, AdaptiveTable)) and asked.scale is not None
    return RandomWalk.isotropic(asked.scale, dimension)


def _start(config: SamplerConfig, made: _Made) -> Floats:
    """`run.start`, if the model can be there, or else the one that was found."""
    if config.run.start is None:
        if not np.all(np.isfinite(made.start)):
            raise BadInput(
                f"{config.data.location}: no finite state to start from was found; the numbers are too large"
            )
        return made.start
    theta = np.array(config.run.start, dtype=np.float64)
    if theta.size != made.start.size:
        raise BadInput(f"run.start: has {theta.size:,} numbers, the model has {made.start.size:,} parameters")
    if isinstance(made.model, RJLogistic):
        with _told_of("run."):
            made.model.checked(state_of(theta))
    elif not np.isfinite(made.model.log_prior(theta)):
        raise BadInput("run.start: the prior vanishes there")
    return theta


@contextmanager
def _told_of(place: str) -> Iterator[None]:
    """Problems in the block begin with a place in the config."""
    try:
        yield
    except BadInput as problem:
        raise BadInput(f"{place}{problem}") from None
