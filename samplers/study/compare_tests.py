"""Which test to use: the cost and the error of each acceptance test on the pairs of a trial run.

`predict` needs the moments of the pairs alone; `measure` runs the real tests on populations with those moments.
Data are counted as data read, and as likelihood evaluations: a test on a subsample evaluates both θ and θ' at
each datum it reads; an exact chain that keeps log p(xᵢ; θ) evaluates each datum once. The value of a step
depends on the rule; `docs/which_test.md` derives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.core.progress import Cancelled
from designer.engine.step_error import Rule, acceptance, exact_probability
from designer.pairs.diagnostics import skewed_population
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.looks import Schedule
from samplers.decide.barker import BarkerTest
from samplers.decide.comparison import AcceptTest, Comparison
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.correction import correction
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest

__all__ = ["Candidates", "Measurement", "Prediction", "cheapest", "measure", "predict", "with_control_variates"]

MOST_DATA = 2_000_000  # largest population to simulate
CACHED, MINIBATCH = "exact, cached", "exact minibatch"
NORMAL_BOUND = 14.8 * math.sqrt(2.0 / math.pi)  # S17 Eqn 18 times √b for normal lᵢ: E|X|³ = 2 E|X| = 2 √(2/π)
MINIBATCH_ROWS = "minibatch_rows"  # the note of a trial run by which the exact mini-batch test is known
PLAIN, CONTROLLED = "these pairs", "with control variates"  # what the tests are compared on
# Steps of a rule that are worth one of Metropolis', at most. Barker's chain accepts each move at least half as often,
# so that its asymptotic variance is at most 2 v + Var f where Metropolis' is v (Peskun 1973, Latuszynski and Roberts
# 2013): twice as much when v is much larger than the variance of independent draws.
WORTH: dict[Rule, float] = {"metropolis": 1.0, "barker": 2.0}
Report = Callable[[int, int], None]


class Prediction(NamedTuple):
    """What one test does per step, on average over the pairs.

    Attributes
    ----------
    test, rule
        Its name, and the acceptance rule that it follows.
    data, evaluations
        Data read, and likelihoods evaluated.
    acceptance
        Acceptance rate by the test's own rule; Barker's is lower than Metropolis'.
    error
        Mean |Δ| against that rule.
    per_move
        Likelihood evaluations per right move. A move is right if its rule accepts it, too, as in mean(min(P, P + Δ))
        of all steps; moves accepted by error are no progress. For small steps in many dimensions a right move
        is worth the same under either rule. Moves of the Barker and the concentration test are all counted as right.
    per_metropolis_step
        An upper bound on the evaluations for as many effective draws as one step of a slowly mixing Metropolis chain
        (`WORTH`), whatever the chain. Errors are ignored, so it is a bound only for tests without error.
    note
        A remark on the test.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(100_000, 0.5, 100, np.random.default_rng(1))
    >>> exact = predict(trial, Candidates(Design(100_000, 500, 0.05)))[0]
    >>> round(exact.data), exact.error
    (100000, 0.0)
    """

    test: str
    rule: Rule
    data: float
    evaluations: float
    acceptance: float
    error: float
    per_move: float
    per_metropolis_step: float
    note: str


class Measurement(NamedTuple):
    """Data and acceptance of the real test on some of the pairs.

    Attributes
    ----------
    test
        Its name.
    data, data_se, acceptance, acceptance_se
        As observed, with standard errors.
    predicted_data, predicted_acceptance
        The prediction for the same pairs; the means over all pairs of the trial run differ.

    Examples
    --------
    >>> Measurement("exact", 1000.0, 0.0, 0.5, 0.05, 1000.0, 0.51).predicted_acceptance
    0.51
    """

    test: str
    data: float
    data_se: float
    acceptance: float
    acceptance_se: float
    predicted_data: float
    predicted_acceptance: float


class Candidates(NamedTuple):
    """The tests to compare with each other and with the exact test.

    Parameters
    ----------
    sequential
        Design of the sequential test.
    barker, concentration
        The other tests.
    range_in_sd
        Bounds |lᵢ - mean| in standard deviations of lᵢ, which the concentration test needs.

    Examples
    --------
    >>> Candidates(Design(100_000, 500, 0.05)).knobs("sequential")
    {'m': 500, 'epsilon': 0.05, 'alpha': 0.5}
    """

    sequential: Design
    barker: BarkerTest = BarkerTest()
    concentration: ConcentrationTest = ConcentrationTest()
    range_in_sd: float = 6.0

    def knobs(self, test: str) -> dict[str, float]:
        """The settings of a test, by its name in the predictions."""
        sequential, barker, concentration, spread = self
        found: dict[str, dict[str, float]] = {
            "sequential": {"m": sequential.m, "epsilon": sequential.epsilon, "alpha": sequential.alpha},
            "Barker minibatch": {"m": barker.m, "sigma": barker.sigma}
            | ({} if barker.delta is None else {"delta": barker.delta}),
            "concentration": {"m": concentration.m, "delta": concentration.delta, "range_in_sd": spread},
        }
        return found.get(test, {})


def predict(trial: TrialRun, candidates: Candidates) -> list[Prediction]:
    """Data, acceptance and error of the exact, sequential, Barker mini-batch and concentration tests.

    And of the exact mini-batch test, if the trial run was made from a model with bounds, and so notes what to expect.

    Parameters
    ----------
    trial
        The pairs.
    candidates
        The tests.

    Returns
    -------
    list of Prediction
        One per test.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(100_000, 0.5, 100, np.random.default_rng(1))
    >>> [round(p.data) for p in predict(trial, Candidates(Design(100_000, 500, 0.05)))][:2]
    [100000, 100000]
    """
    n_data, metropolis = trial.n_data, exact_probability(trial.log_acceptance, barker=False)
    always = float(trial.n_heavy)
    real("range_in_sd", candidates.range_in_sd, 1.0, 1e12)
    step = acceptance(candidates.sequential, trial)
    barker = barker_data(candidates.barker, trial)
    careful = concentration_data(candidates.concentration, trial, candidates.range_in_sd)
    delta = candidates.concentration.delta
    table = correction(candidates.barker.sigma).error
    right = np.zeros(len(trial))
    lines: list[tuple[str, Rule, float, float, Floats, Floats, float, str]] = [
        ("exact, without cache", "metropolis", float(n_data), 2.0, metropolis, right, 0.0, "every decision is right"),
        (CACHED, "metropolis", float(n_data), 1.0, metropolis, right, 0.0, "keeps log p(xᵢ; θ) of all data"),
        (
            "sequential",
            "metropolis",
            n_data * step.mean_usage,
            2.0,
            step.probability,
            step.delta,
            step.mean_abs_delta,
            "mean |Δ| by the normal theory",
        ),
        (
            "Barker minibatch",
            "barker",
            float(barker.mean()),
            2.0,
            exact_probability(trial.log_acceptance, barker=True),
            right,
            table,
            "its error is that of the correction table alone: the sample mean is treated as normal",
        ),
        (
            "concentration",
            "metropolis",
            float(careful.mean()),
            2.0,
            metropolis,
            right,
            delta,
            f"at most {delta:g} by its guarantee, if |lᵢ| stays within {candidates.range_in_sd:g} sd",
        ),
    ]
    rows = [_prediction(*line, always) for line in lines]
    return rows if MINIBATCH_ROWS not in trial.notes else [*rows, _exact_minibatch(trial, float(metropolis.mean()))]


def _exact_minibatch(trial: TrialRun, exact: float) -> Prediction:
    """By the bounds of the model that the pairs are from, as its trial run has noted it.

    It accepts less often than exact decisions: as a step of that chain count as many as accept as often.
    """
    rows, rate = float(trial.notes[MINIBATCH_ROWS]), max(float(trial.notes["minibatch_acceptance"]), 1e-300)
    heavy = float(trial.notes.get("minibatch_heavy", 0))
    evaluations = 2.0 * rows + heavy
    step = trial.notes.get("minibatch_step")
    note = "exact, with random decisions" + (f"; effective draws cost least with {step}" if step else "")
    costs = evaluations, rate, 0.0, evaluations / rate, evaluations * max(1.0, exact / rate)
    return Prediction(MINIBATCH, "metropolis", rows + heavy, *costs, note)


def cheapest(rows: Sequence[Prediction], tolerance: float) -> Prediction:
    """The test with the fewest likelihood evaluations per right move among those whose error is within the tolerance.

    Of tests that cost the same, the one with the smallest error.

    Parameters
    ----------
    rows
        As `predict` returns them.
    tolerance
        Largest error.

    Returns
    -------
    Prediction
        There always is one, because exact decisions have no error.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(100_000, 0.5, 100, np.random.default_rng(1))
    >>> cheapest(predict(trial, Candidates(Design(100_000, 500, 0.05))), tolerance=1e-9).error
    0.0
    """
    return min((row for row in rows if row.error <= tolerance), key=lambda row: (row.per_move, row.error))


def with_control_variates(trial: TrialRun, factor: float) -> TrialRun:
    """The same pairs with smaller κ, as control variates make them; their skewness is unknown.

    Parameters
    ----------
    trial
        The pairs.
    factor
        Divides κ; at least 1.

    Returns
    -------
    TrialRun
        Without skewness.

    Examples
    --------
    >>> trial = TrialRun(1000, [0.0], [0.1])
    >>> float((trial.kappa / with_control_variates(trial, 10.0).kappa)[0].round(6))
    10.0
    """
    smaller = trial.sigma / real("factor", factor, 1.0, 1e9)
    return TrialRun(trial.n_data, trial.mu, smaller, trial.log_ratio, notes=trial.notes)


def first_batch(test: BarkerTest | ConcentrationTest, trial: TrialRun) -> int:
    """m, or all the data if there are fewer."""
    return min(test.m, trial.n_data)


def barker_data(test: BarkerTest, trial: TrialRun) -> Floats:
    """Data of S17's test for each pair: batches until N² σ² / b (1 - b / N) < σ₀², and as its δ asks of normal lᵢ."""
    n_data, m = trial.n_data, first_batch(test, trial)
    variance = (n_data * trial.sigma) ** 2
    enough = variance / (test.sigma**2 + variance / n_data)
    if test.delta is not None:
        enough = np.maximum(enough, (NORMAL_BOUND / test.delta) ** 2)
    data: Floats = np.minimum(np.ceil(np.maximum(enough / m, 1.0)) * m, float(n_data))
    return data


def concentration_data(test: ConcentrationTest, trial: TrialRun, range_in_sd: float) -> Floats:
    """Expected data of the concentration test for each pair: the first look whose bound is below the distance.

    The sample mean is replaced by its expectation, because its noise is small compared with the bound.
    """
    n_data = trial.n_data
    looks = Schedule.geometric(n_data, first_batch(test, trial), test.growth).n
    widths = [test.half_width(k, int(n), n_data, 1.0, range_in_sd) for k, n in enumerate(looks[:-1], start=1)]
    # open after look k: |A - log u| within the smallest bound so far, for u between e^(A - h) and e^(A + h)
    h = n_data * trial.sigma[:, None] * np.minimum.accumulate(np.array(widths))
    a = trial.log_acceptance[:, None]
    still_open = np.exp(np.minimum(a + h, 0.0)) - np.exp(np.minimum(a - h, 0.0))
    mean: Floats = looks[0] + still_open @ np.diff(looks).astype(np.float64)
    return mean


def measure(
    rng: np.random.Generator,
    trial: TrialRun,
    candidates: Candidates,
    *,
    pairs: int = 20,
    repeats: int = 50,
    progress: Report | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[Measurement]:
    """Run the real tests on populations with the moments of some pairs, and compare with their predictions.

    The pairs are spread evenly over the trial run. Populations are normal, or of gamma type if skewness is recorded.

    Parameters
    ----------
    rng
        Random numbers.
    trial
        The pairs.
    candidates
        The tests.
    pairs, repeats
        Number of pairs, and of decisions of each test for each pair.
    progress, cancelled
        `progress` is called with (done, total). `cancelled` is called between pairs; if it returns True, `Cancelled` is
        raised.

    Returns
    -------
    list of Measurement
        One per test.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(2000, 0.5, 100, np.random.default_rng(1))
    >>> seen = measure(np.random.default_rng(2), trial, Candidates(Design(2000, 100, 0.05)), pairs=2, repeats=5)
    >>> seen[0].data
    2000.0
    """
    if trial.n_data > MOST_DATA:
        raise BadInput(f"n_data = {trial.n_data:,}: too many to simulate; must be at most {MOST_DATA:,}")
    count = min(integer("pairs", pairs, 1, 10**4), len(trial))
    repeats = integer("repeats", repeats, 2, 10**6)
    chosen = np.linspace(0, len(trial) - 1, count).astype(np.int64)
    tests: dict[str, tuple[AcceptTest, Rule]] = {
        CACHED: (ExactTest(), "metropolis"),
        "sequential": (SequentialTest.from_design(candidates.sequential), "metropolis"),
        "Barker minibatch": (replace(candidates.barker, m=first_batch(candidates.barker, trial)), "barker"),
        "concentration": (
            replace(candidates.concentration, m=first_batch(candidates.concentration, trial)),
            "metropolis",
        ),
    }
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in tests}
    for done, index in enumerate(chosen):
        if cancelled is not None and cancelled():
            raise Cancelled
        comparison = _comparison(trial, int(index), candidates.range_in_sd)
        for name, (test, rule) in tests.items():
            decisions = [test.decide(rng, replace(comparison, rule=rule)) for _ in range(repeats)]
            seen[name] += [(float(d.n_used), float(d.accept)) for d in decisions]
        if progress is not None:
            progress(done + 1, count)
    predicted = {row.test: row for row in predict(trial.subset(chosen), candidates)}
    return [_measured(predicted[name], np.array(rows), count) for name, rows in seen.items()]


def _prediction(
    test: str,
    rule: Rule,
    data: float,
    evaluations_per_datum: float,
    probability: Floats,
    delta: Floats,
    error: float,
    note: str,
    always: float,
) -> Prediction:
    """Means over the pairs, each accepted with probability P + Δ, of which min(P, P + Δ) is right.

    `always` rows are heavy: every step reads them besides, and evaluates them once.
    """
    accept, evaluations = probability + delta, data * evaluations_per_datum + always
    data += always
    rate, per_move = float(accept.mean()), evaluations / max(float(np.minimum(probability, accept).mean()), 1e-300)
    return Prediction(test, rule, data, evaluations, rate, error, per_move, WORTH[rule] * evaluations, note)


def _comparison(trial: TrialRun, index: int, range_in_sd: float) -> Comparison:
    """A population with exactly the moments μ and σ of one pair, and about its skewness."""
    skew = 0.0 if trial.skew is None else float(trial.skew[index])
    terms = trial.mu[index] + trial.sigma[index] * skewed_population(trial.n_data, skew)
    bound = abs(float(trial.mu[index])) + range_in_sd * float(trial.sigma[index])
    whole = float(terms.sum())
    return Comparison(trial.n_data, terms.take, float(trial.log_ratio[index]), "metropolis", bound, lambda: whole)


def _measured(predicted: Prediction, rows: Floats, pairs: int) -> Measurement:
    """Means over all decisions, with the prediction for these pairs; standard errors are those within the pairs."""
    grouped = rows.reshape(pairs, -1, 2)
    within = grouped.var(axis=1, ddof=1).mean(axis=0)
    se = np.sqrt(within / rows.shape[0])
    data, accept = rows.mean(axis=0)
    seen = float(data), float(se[0]), float(accept), float(se[1])
    return Measurement(predicted.test, *seen, predicted.data, predicted.acceptance)
