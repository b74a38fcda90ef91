"""The parts of a chain in the form that the compiled block takes, if they are built in."""

from __future__ import annotations

import math
import threading
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from designer.engine.step_error import Rule
from samplers.compiled import parts
from samplers.compiled.build_glm import LINEAR, controlled_glm, controlled_multi, fused_glm, fused_multi, multi_parts
from samplers.compiled.build_groups import arrow_whitening, controlled_groups, fused_arrow_step
from samplers.compiled.logistic import ROOM
from samplers.data.memory import too_large
from samplers.decide.barker import BarkerTest
from samplers.decide.comparison import AcceptTest
from samplers.decide.correction import correction
from samplers.decide.exact import ExactTest
from samplers.decide.exact_minibatch import ExactMinibatchTest
from samplers.decide.sequential import SequentialTest
from samplers.models import Model
from samplers.models.arrays import frozen
from samplers.models.control import Controlled
from samplers.models.control.residual_bounds import ResidualBounds
from samplers.models.glm import GLM
from samplers.models.groups import Grouped
from samplers.models.groups.bounds import GroupedBounds
from samplers.models.ica import ICA
from samplers.models.lasso import Lasso
from samplers.models.logistic import Logistic
from samplers.models.mixture import Mixture
from samplers.models.multi_glm import MultiGLM
from samplers.models.tempered import Tempered, TemperedLinear, TemperedSmooth
from samplers.proposals import ArrowStep, Langevin, Profile, Proposal, ProxyStep, RandomWalk, StiefelWalk

FIRST_LOOKS = 4096  # looks whose bounds are computed before any decision needs more

_packed: WeakKeyDictionary[Controlled, parts.LogisticResiduals] = WeakKeyDictionary()  # chains share one copy
_packing = threading.Lock()  # chains may be made in several threads at once


def fused_parts(
    model: Model, proposal: Proposal, test: AcceptTest, rule: Rule = "metropolis"
) -> tuple[Any, Any, Any] | None:
    """Model, proposal and test for `run_block`, or None if one of them is not built in."""
    # exact types only: a subclass may have another prior or likelihood
    data, move, decision = fused_model(model), fused_proposal(proposal, model), fused_test(test, model, rule)
    return None if data is None or move is None or decision is None else (data, move, decision)


def fused_model(model: Model) -> Any:
    if type(model) is Logistic:
        rows, labels = frozen(model.rows), _labels(model)
        return parts.LogisticRows(rows, labels, model.precisions, too_large(rows, labels))
    if type(model) is Controlled:
        return _residuals(model)
    if type(model) in LINEAR:
        return fused_glm(cast(GLM, model))
    if type(model) is MultiGLM:
        return fused_multi(model)
    if type(model) is ICA:
        return parts.ICARows(frozen(model.rows), too_large(model.rows))
    if type(model) is Mixture:
        rest = model.variance, 1.0 / model.temperature, *model.prior_variances, too_large(model.x)
        return parts.MixtureData(frozen(model.x), *rest)
    if type(model) is Lasso:
        return parts.LassoRows(frozen(model.rows), model.precision, model.penalty, too_large(model.rows))
    if isinstance(model, Tempered) and type(model) in (Tempered, TemperedLinear, TemperedSmooth):
        inner = fused_model(model.model)
        return None if inner is None else parts.Hot(inner, model.scale)
    return None


def _residuals(model: Controlled) -> Any:
    linear: Any = model.model
    if type(linear) is Grouped:
        return controlled_groups(model, linear)
    scale = 1.0
    if type(linear) is TemperedLinear:
        linear, scale = linear.model, linear.scale
    if type(linear) in LINEAR:
        return controlled_glm(model, linear, scale)
    multi = multi_parts(model)
    if multi is not None:
        return controlled_multi(model, *multi)
    if type(linear) is not Logistic:
        return None
    sums, split = (model.centre, model.gradient, model.hessian), model.split
    if model.anchor is None or linear.labels is not None:
        rows, labels = frozen(linear.rows), _labels(linear)
        rest = scale, linear.precisions, float(model.order - 1), *sums
        swaps = frozen(split.holes), frozen(split.fillers), frozen(split.buckets), split.shift
        return parts.LogisticExpanded(rows, labels, *rest, _heavy(model, linear), *swaps, too_large(rows, labels))
    with _packing:
        if model not in _packed:
            rows = np.hstack([linear.rows, model.anchor])  # one row of memory per datum
            rows[split.holes] = rows[split.fillers]
            parts_of = rows[: split.n_rest], scale, linear.precisions, *sums, _heavy(model, linear)
            _packed[model] = parts.LogisticResiduals(*parts_of)
        return _packed[model]


def _heavy(model: Controlled, linear: Logistic) -> Any:
    """The heavy rows, signed, one after the other."""
    return frozen(linear.signed(model.heavy_rows, model.heavy))


def _labels(model: Logistic) -> Any:
    return frozen(np.empty(0, dtype=np.int8) if model.labels is None else model.labels)


def fused_proposal(proposal: Proposal, model: Model) -> Any:
    if type(proposal) is RandomWalk:
        return parts.Walk(proposal.factor)
    if type(proposal) is ProxyStep:
        keep = math.sqrt(1.0 - proposal.beta**2)
        normal = proposal.centre, proposal.factor, proposal.precision, keep, proposal.beta
        if proposal.plain:
            return parts.Step(*normal)
        profile = Profile.none(proposal.centre.size) if proposal.profile is None else proposal.profile
        # contiguous: kernels see one type of array, whoever made the profile
        return parts.ShapedStep(*normal, proposal.degrees, Profile(*map(np.ascontiguousarray, profile)))
    if type(proposal) is ArrowStep:
        return fused_arrow_step(proposal)
    if type(proposal) is StiefelWalk:
        return parts.Rotation(proposal.scale, proposal.size)
    if type(proposal) is Langevin and _same(proposal.model, model) and type(_cold(model)) is Lasso:
        room = np.empty(proposal.batch, dtype=np.int64)
        return parts.Drift(proposal.step, model.n_data / proposal.batch, room)
    return None


def _same(one: object, other: object) -> bool:
    return one is other


def _cold(model: Model) -> object:
    """The model inside a tempered one, or the model itself."""
    return model.model if type(model) is Tempered else model


def fused_test(test: AcceptTest, model: Model, rule: Rule, looks: int | None = None) -> Any:
    """A test for `run_block`; `looks` is how many a sequential test should know, FIRST_LOOKS by default."""
    n_data, barker = model.n_data, rule == "barker"
    if type(test) is SequentialTest:
        return parts.Sequential(n_data, barker, *test.bounds(min(looks or FIRST_LOOKS, test.n_looks)))
    if type(test) is ExactTest:
        return parts.Exact(n_data, barker, np.empty(2))
    if type(test) is ExactMinibatchTest and type(model) is Controlled:
        return _exact_minibatch(test, model.residual_bounds, n_data, barker)
    if type(test) is BarkerTest and barker and not test.skew_corrected and test.m <= n_data:
        table = correction(test.sigma) if test.table is None else test.table
        delta = math.inf if test.delta is None else test.delta
        return parts.Barker(n_data, test.m, test.sigma, delta, table.x, table.cdf, table.mass, table.width)
    return None


def _exact_minibatch(
    test: ExactMinibatchTest, bounds: ResidualBounds | GroupedBounds, n_data: int, barker: bool
) -> Any:
    most = float(n_data if test.most is None else test.most)
    whitening = bounds.whitening if isinstance(bounds, ResidualBounds) else arrow_whitening(bounds.factor)
    rest = bounds.centre, whitening, bounds.radius, bounds.order, bounds.rounding
    room = np.zeros((3, bounds.whitened(bounds.centre).size)), np.empty(ROOM, dtype=np.int64)
    return parts.ExactMinibatch(
        n_data, barker, test.chi, most, bounds.weights.table, bounds.weights.total, *rest, *room
    )
