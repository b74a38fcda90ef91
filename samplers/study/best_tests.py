"""Each acceptance test at its best for a tolerance, so that tests are compared fairly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from designer.core.errors import BadInput, real
from designer.pairs.trial_run import TrialRun
from designer.search.search import LEAST_TOLERANCE, search
from designer.search.space import Space
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.correction import correction
from samplers.study.compare_tests import Candidates, barker_data, concentration_data

__all__ = ["best_candidates"]

SIGMAS = (1.2, 1.0, 0.9, 0.8)  # of the Barker test; the first reads the fewest data
BATCHES = 30  # number of batch sizes to try
MOST_DELTA = 0.5


def best_candidates(
    trial: TrialRun,
    tolerance: float,
    range_in_sd: float = 6.0,
    *,
    least_batch: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Candidates:
    """Every test with the settings that read the fewest data while its error stays within the tolerance.

    The sequential design is that of `search`. The Barker test's sample is fixed by its variance, N² σ² / b
    (1 - b / N) < σ₀²: the choice is σ₀, the largest whose correction is accurate enough, and a batch size
    that overshoots little. The concentration test gets delta = tolerance, which it guarantees.

    Parameters
    ----------
    trial
        The pairs.
    tolerance
        Largest mean |Δ|.
    range_in_sd
        As in `Candidates`.
    least_batch
        The smallest batch of any test; by default that of a search: 500, less for small N.
    progress, cancelled
        As for `search`.

    Returns
    -------
    Candidates
        For `predict` and `measure`.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 30, np.random.default_rng(1))
    >>> best = best_candidates(trial, 0.05)
    >>> best.sequential.m, best.barker.m, best.barker.sigma, best.concentration.delta
    (521, 5605, 1.2, 0.05)
    """
    tolerance = real("tolerance", tolerance, LEAST_TOLERANCE, 1.0)
    low = Space(least_batch).checked(trial.n_data).m_range[0]
    space = Space(low, max(low, trial.n_data // 2))
    # by the normal theory, by which all tests are compared
    result = search(trial, tolerance, space=space, skew=False, progress=progress, cancelled=cancelled)
    if result.best is None:
        raise BadInput(f"no sequential test meets the tolerance: {result.reason}")
    batches = np.unique(np.geomspace(low, trial.n_data, BATCHES).round().astype(np.int64)).tolist()
    barker = min(_barker(batches, tolerance), key=lambda test: float(barker_data(test, trial).mean()))
    careful = [ConcentrationTest(m=m, delta=min(tolerance, MOST_DELTA)) for m in batches]
    concentration = min(careful, key=lambda test: float(concentration_data(test, trial, range_in_sd).mean()))
    return Candidates(result.best.without_notes, barker, concentration, range_in_sd)


def _barker(batches: Sequence[int], tolerance: float) -> list[BarkerTest]:
    """One test per batch, with the largest σ₀ whose table is accurate enough."""
    fine = [sigma for sigma in SIGMAS if correction(sigma).error <= tolerance]
    return [BarkerTest(m=m, sigma=fine[0] if fine else SIGMAS[-1]) for m in batches]
