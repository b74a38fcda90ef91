"""`fit_table`: a regression of a user's table by sequential direction tests, from a formula to coefficients."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, shown
from designer.core.progress import Cancelled, ShareProgress
from samplers.data.formula.frame import INTERCEPT, ModelFrame, model_frame
from samplers.data.formula.scan import Missing
from samplers.fit.loop import irls
from samplers.fit.losses import LAD, Logistic, Loss, Lp, Poisson, Quantile
from samplers.fit.precision import precision
from samplers.fit.rivals import Rival, RivalName, with_rivals
from samplers.fit.table_fit import LossName, TableFit
from samplers.fit.trace import Fit, Look, Watch
from samplers.fit.update import Rule

FAMILIES: dict[str, str] = {"logistic": "bernoulli", "poisson": "poisson"}  # which responses a loss takes
GROWTH = 1.1  # of the looks of an iteration
ROWS_PER_PARAMETER = 2  # least increment between looks: fewer rows are less work than the look itself
FIRST_PART = 0.5  # of the progress is the fit, if there are rivals


def fit_table(
    formula: str,
    table: Any,
    loss: LossName = "lad",
    *,
    quantile: float | None = None,
    p: float | None = None,
    positive: object = None,
    missing: Missing = "refuse",
    epsilon: float = 0.01,
    tolerance: float = 1e-6,
    rule: Rule = "descent",
    first: int | None = None,
    increment: int | None = None,
    growth: float = GROWTH,
    max_iterations: int = 200,
    max_read: int | None = None,
    against: Sequence[RivalName] = (),
    seed: int = 0,
    watch: Watch | None = None,
    tell: ShareProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> TableFit:
    """Fit a regression to a table, reading in each iteration as much data as its direction needs (K16 section 2).

    Parameters
    ----------
    formula, table, positive, missing
        As for `glm`; group terms and trials do not apply.
    loss
        "lad" (the median), "quantile", "lp" (|residual|^p), "logistic" or "poisson" (log link).
    quantile, p
        Which quantile, for the loss "quantile"; the power, from 1 to 4, for the loss "lp".
    epsilon, tolerance, rule, first, increment, max_iterations, max_read
        As for `irls`. `tolerance` decides how much is read: 1e-6 gives what all rows give, up to rounding for
        people, and in the end reads all of them; 1e-3 stops on part of them where there are enough.
    growth
        Each look of an iteration has at least this many times the rows of the one before.
    against
        Methods to compare with: "batch" (IRLS on all rows in every iteration) and "sgd" (stochastic gradients with
        tuned step sizes).
    seed
        Of the random numbers, for the order in which rows are read.
    watch, tell, cancelled
        `watch` is called with a `samplers.fit.Look` after each look, `tell` with the share done and a note; once
        `cancelled` says so, the estimate so far is returned.

    Returns
    -------
    TableFit
        Coefficients with names, what was read, why it stopped; `report()` is all of that in words.

    Raises
    ------
    BadInput
        If formula, table and loss do not go together, or if columns are collinear.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> age = rng.uniform(20.0, 70.0, 20_000)
    >>> wage = 500.0 + 30.0 * age + 100.0 * rng.standard_t(2, 20_000)
    >>> fit = fit_table("wage ~ age", {"wage": wage, "age": age}, tolerance=1e-3)
    >>> fit.reason, fit.names, fit.read < 20_000, bool(abs(fit.coefficients[1] - 30.0) < 1.0)
    ('converged', ('intercept', 'age'), True, True)
    """
    chosen = made_loss(loss, quantile, p)
    for name in against:
        if name not in get_args(RivalName):
            raise BadInput(f"against = {shown(name)}: must be {' or '.join(map(repr, get_args(RivalName)))}")
    begin = time.perf_counter()
    frame = _frame(formula, table, loss, positive, missing)
    loaded = time.perf_counter() - begin
    options: dict[str, Any] = {"epsilon": epsilon, "tolerance": tolerance, "rule": rule, "first": first}
    n, d = frame.rows.shape
    usual = min(max(-(-n // 1000), ROWS_PER_PARAMETER * d), n)
    options["increment"] = usual if increment is None else increment
    looks: list[Look] = []
    rng, begin = np.random.default_rng(seed), time.perf_counter()
    with np.errstate(over="ignore", invalid="ignore"), _plain_refusals():
        found = irls(
            rng,
            frame.rows,
            frame.y,
            chosen,
            **options,
            growth=growth,
            offset=frame.offset,
            start=_start(frame, loss),
            max_iterations=max_iterations,
            max_read=max_read,
            watch=_watching(looks, watch, tell, tolerance, FIRST_PART if against else 1.0),
            cancelled=cancelled,
        )
    if found.reason == "cancelled" and not found.trace.n.size:
        raise Cancelled
    seconds = time.perf_counter() - begin
    made = TableFit(
        formula=formula,
        loss=loss,
        shape=quantile if loss == "quantile" else p if loss == "lp" else None,
        names=frame.names,
        coefficients=found.theta,
        errors=_errors(rng, frame, chosen, found),
        n_rows=frame.y.size,
        read=found.read,
        reason=found.reason,
        trace=found.trace,
        looks=tuple(looks),
        epsilon=epsilon,
        tolerance=tolerance,
        seconds=seconds,
        seconds_to_load=loaded,
        remarks=frame.remarks,
    )
    if not against or found.reason == "cancelled":
        return made
    return _compared(made, frame, chosen, found, against, max_iterations, tell, cancelled)


def _compared(
    made: TableFit,
    frame: ModelFrame,
    loss: Loss,
    found: Fit,
    against: Sequence[RivalName],
    max_iterations: int,
    tell: ShareProgress | None,
    cancelled: Callable[[], bool] | None,
) -> TableFit:
    def note(share: float, what: str) -> None:
        if tell is not None:
            tell(FIRST_PART + (1.0 - FIRST_PART) * share, what)

    start = _start(frame, made.loss)
    path = found.trace.read, found.trace.theta
    ours = Rival("sequential", found.theta, found.read, 0, found.reason, made.seconds, *path)
    rivals = with_rivals(
        np.random.default_rng(1),
        (frame.rows, frame.y, frame.offset),
        loss,
        ours,
        against,
        start=start,
        tolerance=made.tolerance,
        max_iterations=max_iterations,
        tell=note,
        cancelled=cancelled,
    )
    return made._replace(rivals=rivals)


def made_loss(loss: str, quantile: float | None = None, p: float | None = None) -> Loss:
    """The loss of this name.

    Examples
    --------
    >>> made_loss("quantile", 0.9)
    Quantile(tau=0.9, floor=0.01)
    """
    if loss not in get_args(LossName):
        raise BadInput(f"loss = {shown(loss)}: must be one of {', '.join(get_args(LossName))}")
    for name, value, owner in (("quantile", quantile, "quantile"), ("p", p, "lp")):
        if value is None and loss == owner:
            raise BadInput(f"{name}: missing; the loss {owner!r} needs it")
        if value is not None and loss != owner:
            raise BadInput(f"{name} = {value}: is for the loss {owner!r}, not {loss!r}")
    if loss == "quantile":
        assert quantile is not None
        if not 0.0 < quantile < 1.0:
            raise BadInput(f"quantile = {quantile}: must be above 0 and below 1")
        return Quantile(quantile)
    if loss == "lp":
        assert p is not None
        return Lp(p)
    others: dict[str, Loss] = {"lad": LAD(), "logistic": Logistic(), "poisson": Poisson()}
    return others[loss]


def columns_formula(response: str, columns: Sequence[str]) -> str:
    """The formula of a response and plain columns, whatever their names.

    Examples
    --------
    >>> columns_formula("wage", ["age", "years of school"])
    'wage ~ age + `years of school`'
    """
    if not columns:
        raise BadInput("columns: at least one is needed")
    quoted = [name if name.isidentifier() else f"`{name}`" for name in (response, *columns)]
    return f"{quoted[0]} ~ {' + '.join(quoted[1:])}"


def _frame(formula: str, table: Any, loss: str, positive: object, missing: Missing) -> ModelFrame:
    """What the formula makes of the table, if a fit can use it."""
    family = FAMILIES.get(loss, "gaussian")
    try:
        frame = model_frame(formula, table, family, positive=positive, missing=missing)
    except BadInput as problem:
        raise BadInput(str(problem).replace(f"family {family}", f"the loss {loss}")) from None
    if frame.groups:
        group = frame.groups[0].name
        raise BadInput(f"formula: (… | {group}): a fit has no group terms; C({group}) has a coefficient for each level")
    if loss in FAMILIES and np.all(frame.y == frame.y[0]) and (loss == "logistic" or frame.y[0] == 0.0):
        raise BadInput(f"response: is {frame.y[0]:g} in all rows; a coefficient would run to infinity")
    for sentence in frame.redundant:
        raise BadInput(f"{sentence}: their coefficients are not determined; leave one out")
    n, d = frame.rows.shape
    if n <= d:
        raise BadInput(f"formula: {d:,} coefficients, but the table has {n:,} rows; it must have more rows")
    return frame


def _start(frame: ModelFrame, loss: str) -> Floats | None:
    """Where to begin: at the constant that fits best, if there is an intercept; it costs a pass over the response."""
    if INTERCEPT not in frame.names or loss == "logistic":
        return None
    start, place = np.zeros(len(frame.names)), frame.names.index(INTERCEPT)
    shift = np.zeros(frame.y.size) if frame.offset is None else frame.offset
    if loss == "poisson":
        with np.errstate(over="ignore"):
            exposure = float(np.sum(np.exp(shift)))
        start[place] = math.log(max(float(frame.y.sum()), 0.5) / exposure) if 0.0 < exposure < math.inf else 0.0
    else:
        start[place] = float(np.median(frame.y - shift))
    return start


@contextmanager
def _plain_refusals() -> Iterator[None]:
    """Say what to do about columns that IRLS cannot tell apart."""
    try:
        yield
    except BadInput as problem:
        if not str(problem).startswith("x: a column is zero"):
            raise
        advice = "scale(…) in the formula may help, or leave one out"
        raise BadInput(f"formula: a column depends on the others, or hardly varies beside its mean; {advice}") from None


def _errors(rng: np.random.Generator, frame: ModelFrame, loss: Loss, found: Fit) -> Any:
    """Standard errors, if the fit converged and the loss has them."""
    if found.reason != "converged":
        return None
    n = int(found.trace.n[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        return precision(rng, frame.rows, frame.y, loss, found.theta, n=n, offset=frame.offset)


def _watching(
    looks: list[Look], watch: Watch | None, tell: ShareProgress | None, tolerance: float, whole: float
) -> Watch:
    """Keeps the looks, and tells how far it has got: by logarithms, from the gain left at first to the tolerance."""
    furthest = 0.0

    def each(look: Look) -> None:
        nonlocal furthest
        looks.append(look)
        if watch is not None:
            watch(look)
        if tell is None:
            return
        way = _log(looks[0].left) - _log(tolerance)
        share = (_log(looks[0].left) - _log(look.left)) / way if way > 0.0 else 0.0
        furthest = max(furthest, min(max(share, 0.0), 0.99))
        tell(whole * furthest, f"iteration {look.iteration}: batch of {look.n:,} rows, {look.read:,} read so far")

    return each


def _log(value: float) -> float:
    return math.log(max(value, 1e-16))
