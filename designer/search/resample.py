"""Whether a design holds on fresh pairs: bootstrap bands, cross-validation, and how many pairs would be enough."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.core.work import one_call
from designer.engine.predict import step_of
from designer.engine.skew import skew_of
from designer.engine.step_error import Acceptance, Rule
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan
from designer.search.criteria import Criterion, WorstCase, check_criterion
from designer.search.search import SEARCH_ACCURACY, Options, search

GOOD_ENOUGH = 0.25  # half-width of the band, relative to the tolerance, beyond which there are too few pairs
FEW_PAIRS = 10
MOST_DRAWS = 2 * 10**8  # pairs drawn in one bootstrap


class Band(NamedTuple):
    """A value with its bootstrap interval."""

    value: float
    low: float
    high: float


class Bootstrap(NamedTuple):
    """Mean |Δ| and mean data use of one design, with bootstrap bands over the pairs.

    Attributes
    ----------
    error, usage
        Each a `Band`: value, lower and upper end.
    level
        Probability of the bands.
    pairs
        Number of pairs.

    Examples
    --------
    >>> Bootstrap(Band(0.010, 0.004, 0.016), Band(0.5, 0.4, 0.6), 0.95, 50).warning(tolerance=0.01)
    '50 pairs are too few for a tolerance of 0.01: mean |Δ| is known only to ±0.006; about 288 pairs would be enough'
    """

    error: Band
    usage: Band
    level: float
    pairs: int

    def warning(self, tolerance: float) -> str | None:
        """A warning if there are too few pairs for this tolerance, else None."""
        if self.pairs < FEW_PAIRS:
            return f"{self.pairs} pairs are too few for any design: use at least {FEW_PAIRS}, preferably 100"
        half_width = 0.5 * (self.error.high - self.error.low)
        if half_width <= GOOD_ENOUGH * tolerance:
            return None
        enough = math.ceil(self.pairs * (half_width / (GOOD_ENOUGH * tolerance)) ** 2)
        return (
            f"{self.pairs:,} pairs are too few for a tolerance of {tolerance:g}: mean |Δ| is known only to "
            f"±{half_width:.2g}; about {enough:,} pairs would be enough"
        )


class Fold(NamedTuple):
    """A design made without one part of the pairs, evaluated on both parts; None where no design was feasible.

    The errors are the criterion's, the data use is the mean over the pairs.
    """

    design: Design | None
    train_error: float | None
    train_usage: float | None
    test_error: float | None
    test_usage: float | None


class CrossValidation(NamedTuple):
    """All folds, and the error on pairs the designs had not seen, with its standard error.

    The error is the criterion's: mean |Δ|, or its quantile, or the error of the hardest decision. The last is the
    same for all pairs that are not corrected for skewness, so it is the largest of the folds, with no standard error.
    Pairs are treated as independent; those of a slowly mixing chain are not, and carry less information than their
    number suggests.

    Attributes
    ----------
    folds
        A `Fold` for each part: its design, with error and data use on both sides.
    tolerance
        As asked for.
    test_error, test_error_se
        On all unseen pairs together; None where no design was feasible.

    Examples
    --------
    >>> CrossValidation([], 0.01, test_error=0.012, test_error_se=0.002).holds
    True
    """

    folds: list[Fold]
    tolerance: float
    test_error: float | None
    test_error_se: float | None

    @property
    def holds(self) -> bool:
        """Whether the error on unseen pairs is within the tolerance, up to two standard errors."""
        if self.test_error is None or self.test_error_se is None:
            return False
        return self.test_error <= self.tolerance + 2.0 * self.test_error_se


@one_call
def bootstrap(
    rng: np.random.Generator,
    design: Design | Plan,
    trial: TrialRun,
    *,
    rule: Rule = "metropolis",
    repeats: int = 1000,
    level: float = 0.95,
    skew: bool | None = None,
) -> Bootstrap:
    """Bands for mean |Δ| and mean data use of a design, by resampling the pairs.

    Parameters
    ----------
    rng
        Random numbers.
    design
        The test.
    trial
        The pairs.
    rule, skew
        As for a search.
    repeats
        Bootstrap samples; fewer if there are very many pairs.
    level
        Probability of the bands.

    Returns
    -------
    Bootstrap
        Both bands; its `warning` says when there are too few pairs for a tolerance.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 40, np.random.default_rng(1))
    >>> band = bootstrap(np.random.default_rng(2), Design(20_000, 500, 0.05), trial).error
    >>> band.low < band.value < band.high
    True
    """
    level = real("level", level, 0.0, 1.0, open_low=True, open_high=True)
    repeats = min(integer("repeats", repeats, 10, 10**6), max(50, MOST_DRAWS // len(trial)))
    step = step_of(design, trial, rule, skew=skew)
    values = np.stack([np.abs(step.delta), step.usage])
    means = np.array([values[:, rng.integers(len(trial), size=len(trial))].mean(axis=1) for _ in range(repeats)])
    low, high = np.quantile(means, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
    error, usage = (Band(float(v), float(a), float(b)) for v, a, b in zip(values.mean(axis=1), low, high, strict=True))
    return Bootstrap(error, usage, level, len(trial))


def halves(rng: np.random.Generator, trial: TrialRun) -> tuple[TrialRun, TrialRun]:
    """Split the pairs at random into two halves, one to design on and one to evaluate on; the first may have one more.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 41, np.random.default_rng(1))
    >>> [len(half) for half in halves(np.random.default_rng(2), trial)]
    [21, 20]
    """
    if len(trial) < 2:
        raise BadInput("1 pair cannot be split: at least 2 are needed")
    train, test = np.array_split(rng.permutation(len(trial)), 2)
    return trial.subset(np.sort(train)), trial.subset(np.sort(test))


def cross_validate(
    rng: np.random.Generator,
    trial: TrialRun,
    tolerance: float,
    criterion: Criterion = "average",
    *,
    folds: int = 5,
    **options: Unpack[Options],
) -> CrossValidation:
    """Whether designs meet the tolerance on other pairs: each is made on all folds but one, and evaluated on that one.

    Parameters
    ----------
    rng
        Random numbers, for the split.
    trial
        The pairs, at least two for each fold.
    tolerance, criterion
        As for `search`.
    folds
        Number of folds.
    **options
        As for `search`; `progress` counts the folds.

    Returns
    -------
    CrossValidation
        Every fold, and the error on unseen pairs.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 100, np.random.default_rng(1))
    >>> result = cross_validate(np.random.default_rng(2), trial, 0.05, "fixed-m", folds=2)
    >>> len(result.folds), result.holds
    (2, True)
    """
    folds, criterion = integer("folds", folds, 2, 100), check_criterion(criterion)
    if len(trial) < 2 * folds:
        raise BadInput(f"{len(trial)} pairs are too few for {folds} folds: at least {2 * folds} are needed")
    rule, report = options.get("rule", "metropolis"), options.pop("progress", None) or (lambda done, total: None)
    level = options.get("quantile", 0.95)
    parts = np.array_split(rng.permutation(len(trial)), folds)
    done: list[Fold] = []
    unseen: list[Floats] = []
    for number, part in enumerate(parts):
        test = trial.subset(np.sort(part))
        train = trial.subset(np.sort(np.concatenate([other for other in parts if other is not part])))
        result = search(train, tolerance, criterion, **options)
        if result.best is None:
            done.append(Fold(None, None, None, None, None))
        else:
            skew = options.get("skew")
            seen, fresh = (step_of(result.best, pairs, rule, skew=skew) for pairs in (train, test))
            known, unknown = (
                _errors(criterion, result.best, pairs, step, skew) for pairs, step in ((train, seen), (test, fresh))
            )
            unseen.append(unknown)
            before, after = (_judged(criterion, errors, level) for errors in (known, unknown))
            done.append(Fold(result.best, before, seen.mean_usage, after, fresh.mean_usage))
        report(number + 1, folds)
    errors = np.concatenate(unseen) if unseen else np.full(1, np.nan)
    if not np.isfinite(errors).all():  # or unseen pairs are too skewed for the correction
        return CrossValidation(done, tolerance, None, None)
    return CrossValidation(done, tolerance, _judged(criterion, errors, level), _noise(rng, criterion, errors, level))


def _errors(criterion: Criterion, design: Design, pairs: TrialRun, step: Acceptance, skew: bool | None) -> Floats:
    """The errors that the criterion judges: |Δ| of every pair, or the one error of the hardest decision."""
    if criterion != "worst-case":
        return np.abs(step.delta)
    return np.array([WorstCase(skew_of(pairs) if skew else None)(as_plan(design), SEARCH_ACCURACY).error])


def _judged(criterion: Criterion, errors: Floats, level: float) -> float:
    """The criterion's error, given those of `_errors`."""
    if criterion == "worst-case":
        return float(errors.max())
    return float(np.quantile(errors, level) if criterion == "quantile" else errors.mean())


def _noise(rng: np.random.Generator, criterion: Criterion, errors: Floats, level: float) -> float:
    """The standard error of `_judged`."""
    if criterion == "worst-case":
        return 0.0
    if criterion != "quantile":
        return float(errors.std() / math.sqrt(errors.size))
    again = np.quantile(errors[rng.integers(errors.size, size=(500, errors.size))], level, axis=1)
    return float(again.std())
