"""Is a model of your own fit for these chains? Shapes, rows, derivatives, speed, and what control variates do for it.

Everything is tried near the model's start, or near its mode if it has one; a few passes over the data at most.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, NumericalFailure
from samplers.chains.chain import compare
from samplers.models import LinearModel, SmoothModel
from samplers.models.control import Controlled, find_mode
from samplers.models.control.expansion import derivatives
from samplers.models.control.scale_mode import prior_only
from samplers.models.moments import moments
from samplers.proposals import ConditionalStep, ProxyStep

ROWS = 200  # of a batch, for most checks
PAIRS = 4  # moves of an independence chain, of which κ is measured
STEP = 1e-4  # of finite differences, relative to 1 + |θ|
SAME = 1e-8  # relative difference of what should be equal
CLOSE = 1e-3  # of derivatives and finite differences
SLOW = 20.0  # microseconds per row of a batch, above which a chain is slow
HELPS = 3.0  # times that control variates should shrink κ

Verdict = Literal["good", "note", "problem"]


class Finding(NamedTuple):
    """One thing that was checked.

    Attributes
    ----------
    verdict
        "good", "note" (it works, but could be better) or "problem" (a chain would fail or be wrong).
    sentence
        What was found.

    Examples
    --------
    >>> Finding("good", "log_prior is finite at the start").verdict
    'good'
    """

    verdict: Verdict
    sentence: str


class ModelCheck(NamedTuple):
    """What `check_model` found.

    Attributes
    ----------
    findings
        In the order of the checks.
    microseconds_per_row
        Of a batch of 200 rows; NaN if they cannot be evaluated.
    kappa, controlled_kappa
        Mean κ of a few independent moves near the mode, without and with control variates of order 2; NaN without
        derivatives.

    Examples
    --------
    >>> ModelCheck((Finding("problem", "terms has the wrong shape"),), 1.0, math.nan, math.nan).ok
    False
    """

    findings: tuple[Finding, ...]
    microseconds_per_row: float
    kappa: float
    controlled_kappa: float

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return all(finding.verdict != "problem" for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(f"{finding.verdict}: {finding.sentence}" for finding in self.findings)


def check_model(model: Any, start: Floats | None = None, seed: int = 0) -> ModelCheck:
    """Check a model before it is sampled: what is wrong with it, and how fast it will be.

    Parameters
    ----------
    model
        A `Model`, a `LinearModel` or a `SmoothModel`, built in, your own, or from JAX, NumPyro or PyMC.
    start
        A possible θ; by default the model's own start, or zeros.
    seed
        Of the rows and directions that are tried.

    Returns
    -------
    ModelCheck
        A list of findings in plain sentences; print it.

    Examples
    --------
    >>> from samplers import Logistic
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((5000, 3))
    >>> found = check_model(Logistic.from_data(x, rng.random(5000) < 0.4, prior_precision=1.0))
    >>> found.ok, found.controlled_kappa < 0.1 * found.kappa
    (True, True)
    """
    rng, numbers = np.random.default_rng(seed), {"speed": math.nan, "kappa": math.nan, "controlled": math.nan}
    findings: list[Finding] = []
    for check in (_shapes, _rows, _derivatives, _speed, _control):
        try:
            with np.errstate(all="ignore"):
                findings.extend(check(_Case(model, _start(model, start), rng, numbers)))
        except (BadInput, NumericalFailure) as error:
            findings.append(Finding("problem", str(error)))
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0]
            findings.append(Finding("problem", f"the model fails: {type(error).__name__}: {first}"))
        if findings and findings[-1].verdict == "problem" and check is _shapes:
            break
    return ModelCheck(tuple(findings), numbers["speed"], numbers["kappa"], numbers["controlled"])


class _Case(NamedTuple):
    model: Any
    start: Floats
    rng: np.random.Generator
    numbers: dict[str, float]

    @property
    def sample(self) -> Ints:
        n = int(self.model.n_data)
        return self.rng.choice(n, min(ROWS, n), replace=False)

    def near(self, scale: float = 0.01) -> Floats:
        moved: Floats = self.start + scale * (1.0 + np.abs(self.start)) * self.rng.standard_normal(self.start.size)
        return moved


def _start(model: Any, start: Floats | None) -> Floats:
    given = getattr(model, "start", None) if start is None else start
    if given is None or callable(given):
        dimension = getattr(model, "dimension", None)
        if dimension is None:
            raise BadInput("start: missing, and the model has no `dimension` and no `start`")
        given = np.zeros(int(dimension))
    return np.array(given, dtype=np.float64)


def _shapes(case: _Case) -> Iterator[Finding]:
    """What every model needs."""
    model = case.model
    if missing := [name for name in ("n_data", "log_prior", "terms") if not hasattr(model, name)]:
        raise BadInput(f"the model has no {' and no '.join(missing)}; see samplers.models.Model")
    if int(model.n_data) < 2:
        raise BadInput(f"n_data = {model.n_data}: must be 2 or more")
    prior = np.asarray(model.log_prior(case.start))
    if prior.shape != () or not np.isfinite(prior):
        raise BadInput(f"log_prior: {prior} at the start; must be one finite number there")
    rows, new = case.sample, case.near()
    terms = np.asarray(model.terms(case.start, new, rows))
    if terms.shape != rows.shape:
        raise BadInput(f"terms: shape {terms.shape} for {rows.size} rows; must be ({rows.size},)")
    if not np.all(np.isfinite(terms)):
        bad = int(rows[np.argmin(np.isfinite(terms))])
        raise BadInput(f"terms: {terms[np.argmin(np.isfinite(terms))]} for row {bad} near the start; must be finite")
    yield Finding("good", f"{int(model.n_data):,} rows, {case.start.size:,} parameters; log prior and terms are finite")
    if np.all(terms == 0.0):
        yield Finding("problem", "terms are all 0 near the start: the likelihood does not depend on θ there")


def _rows(case: _Case) -> Iterator[Finding]:
    """A row's term must not depend on the rows around it, and must be a difference of log-likelihoods."""
    model, rows, new = case.model, case.sample, case.near()
    together = np.asarray(model.terms(case.start, new, rows))
    alone = np.concatenate([np.asarray(model.terms(case.start, new, rows[k : k + 1])) for k in range(5)])
    turned = np.asarray(model.terms(case.start, new, rows[::-1]))[::-1]
    back = -np.asarray(model.terms(new, case.start, rows))
    if not (_same(together[: alone.size], alone) and _same(together, turned)):
        yield Finding("problem", "terms: a row's term depends on the other rows that are asked for")
    elif not _same(together, back):
        yield Finding("problem", "terms: from θ to θ' and back they do not cancel")
    else:
        yield Finding("good", "a row's term does not depend on the other rows that are asked for")
    if not hasattr(model, "log_likelihood"):
        yield Finding("note", "no log_likelihood(theta, indices): exact chains evaluate each row twice per step")
        return
    values = [np.asarray(model.log_likelihood(theta, rows)) for theta in (case.start, new)]
    if not _same(values[1] - values[0], together, 1.0 + np.abs(values[0]).max()):
        yield Finding("problem", "log_likelihood: its differences are not the terms")
    else:
        yield Finding("good", "terms are differences of log-likelihoods")


def _same(one: Floats, other: Floats, scale: float = 0.0) -> bool:
    size = max(scale, float(np.abs(one).max(initial=0.0)))
    return one.shape == other.shape and bool(np.all(np.abs(one - other) <= SAME * size + 1e-12))


def _derivatives(case: _Case) -> Iterator[Finding]:
    """Gradients and Hessians against finite differences, along a few directions."""
    model: Any = case.model
    if not isinstance(model, (LinearModel, SmoothModel)):
        yield Finding(
            "note", "no derivatives: control variates are not available; write the model in JAX (`from_jax`) for them"
        )
        return
    rows, theta = case.sample, case.near()

    def likelihood(at: Floats) -> float:
        return float(np.sum(np.asarray(model.terms(theta, at, rows))))

    for name, value, slope in (
        ("log-likelihood", likelihood, lambda at, order: derivatives(model, at, rows, order)),
        ("log prior", model.log_prior, lambda at, order: (model.prior_gradient(at), model.prior_curvature(at))),
    ):
        wrong = list(_off(case, theta, value, slope))
        if wrong:
            yield Finding("problem", f"{name}: its {wrong[0]}")
        else:
            yield Finding("good", f"gradient and Hessian of the {name} agree with finite differences")


def _off(
    case: _Case, theta: Floats, value: Callable[[Floats], float], slope: Callable[[Floats, int], Any]
) -> Iterator[str]:
    size = 1.0 + np.abs(theta)
    for _ in range(3):
        d = case.rng.standard_normal(theta.size) * size / math.sqrt(theta.size)
        up, down = theta + STEP * d, theta - STEP * d
        gradient, hessian = slope(theta, 2)
        measured = (value(up) - value(down)) / (2.0 * STEP)
        unit = float(np.abs(gradient) @ np.abs(d)) + 1e-6
        if not abs(float(gradient @ d) - measured) <= CLOSE * unit:
            yield f"gradient is {float(gradient @ d):.6g} along a direction where finite differences say {measured:.6g}"
        change = (slope(up, 1)[0] - slope(down, 1)[0]) / (2.0 * STEP)
        curved = np.asarray(hessian) @ d
        if not np.all(np.abs(curved - change) <= CLOSE * (np.abs(np.asarray(hessian)) @ np.abs(d)).max() + 1e-6):
            yield "Hessian does not agree with finite differences of the gradient"


def _speed(case: _Case) -> Iterator[Finding]:
    rows, new = case.sample, case.near()
    best = math.inf
    for _ in range(20):
        begin = time.perf_counter()
        case.model.terms(case.start, new, rows)
        best = min(best, time.perf_counter() - begin)
    each = case.numbers["speed"] = 1e6 * best / rows.size
    where = f"{1e6 * best:.3g} µs for {rows.size} rows, {each:.2g} µs per row"
    yield Finding("note" if each > SLOW else "good", f"terms take {where}" + (": slow" if each > SLOW else ""))


def _control(case: _Case) -> Iterator[Finding]:
    """The mode, and κ of a few independent moves, without and with control variates."""
    model = case.model
    if not isinstance(model, (LinearModel, SmoothModel)):
        return
    mode = find_mode(model, case.start)
    yield Finding("good", "the posterior has a mode")
    controlled = Controlled.around(model, mode)
    alone = prior_only(model)
    step: Any = ConditionalStep.of(controlled) if alone.size else ProxyStep.of(controlled)
    if alone.size:
        names = getattr(model, "names", None)
        called = ", ".join(names[k] for k in alone[:3]) if names else f"{alone.size} parameters"
        yield Finding("good", f"{called}: in the prior alone, updated between decisions without data")
    plain: list[float] = []
    proxied: list[float] = []
    theta = mode
    for _ in range(PAIRS):
        new = step.propose(case.rng, theta).theta
        for which, found in ((model, plain), (controlled, proxied)):
            sigma = moments(compare(which, theta, new))[1]
            found.append(model.n_data * sigma / math.sqrt(model.n_data - 1.0))
        theta = new
    before, after = float(np.mean(plain)), float(np.mean(proxied))
    case.numbers["kappa"], case.numbers["controlled"] = before, after
    times = before / after if after > 0.0 else math.inf
    sentence = f"control variates shrink κ from {before:.3g} to {after:.3g}, {times:,.3g} times"
    if times < HELPS:
        yield Finding("note", f"{sentence}: the posterior is far from normal, or the rows are few")
    else:
        yield Finding("good", sentence)
