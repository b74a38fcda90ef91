"""E10: data per step of four acceptance tests on a Gaussian mixture at a temperature.

S17 print the covariance diag(0.15, 0.15) of the proposal. Their averages result if 0.15 is its standard deviation; both
readings are run. Full has the paper's million data. It has 100 and 10 times the paper's 5000 samples of the Barker and
the sequential test: with the narrow proposal, 5000 samples are worth fewer than 30 independent ones, too few to see
whether they follow the posterior. The concentration test has 5000, and the exact one, which the paper does not have,
1000. Quick has fewer samples of the tests that read much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer import Design, TrialRun, acceptance
from designer.core.arrays import Floats
from designer.engine.step_error import Rule
from samplers.chains.chain import Chain
from samplers.chains.driver import Stopwatch, advance_to
from samplers.decide import AcceptTest, BarkerTest, ConcentrationTest, ExactTest, SequentialTest
from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import evenly, shares
from samplers.experiments.problems.tempered import Binned, Posterior, Quadrature
from samplers.models.mixture import Mixture, draw_mixture
from samplers.proposals import RandomWalk
from samplers.study.risk import block_error, effective_size

TRUTH = (0.0, 1.0)
BARKER, SEQUENTIAL, CONCENTRATION, EXACT = "barker", "sequential", "concentration", "exact"
TESTS = BARKER, SEQUENTIAL, CONCENTRATION, EXACT
SD, VARIANCE = "sd", "variance"
SPOKEN = {SD: "standard deviation", VARIANCE: "variance"}
ARXIV = {BARKER: 210.0, SEQUENTIAL: 15_562.0, CONCENTRATION: 16_857.0}
UAI = {BARKER: 182.0, SEQUENTIAL: 13_540.0, CONCENTRATION: 65_759.0}
SCORES = {BARKER: (-1430.0, 3313.9), SEQUENTIAL: (-1578.9, 3647.7), CONCENTRATION: (-1232.7, 2444.1)}  # S17 Table 2
PAPER_SIZE, PAPER_SAMPLES = 10**6, 5000
ENOUGH = 100.0  # effective draws with which a chain is compared with the posterior
SURE = 4.0  # standard errors
EXPECTED = 8.0  # about the count of a group of bins in a test by chi-squared
RARE = 0.001  # probability with which that test, and the one of means, may fail
BLOCK = 25  # steps between checks for cancellation
SHOWN_DRAWS = 400


class Settings(NamedTuple):
    """Data, temperature, the proposal's 0.15, samples of each test (in the order of TESTS), and the tests' settings."""

    n_data: int
    temperature: float
    samples: tuple[int, int, int, int]
    scale: float = 0.15
    m: int = 100
    epsilon: float = 0.005
    delta: float = 0.01
    p: float = 2.0
    growth: float = 1.5
    bins: int = 20
    fine: int = 6
    pairs: int = 1000
    references: int = 200
    seed: int = 1

    def deviation(self, reading: str) -> float:
        """Standard deviation of the proposal."""
        return self.scale if reading == SD else math.sqrt(self.scale)

    @property
    def design(self) -> Design:
        """The sequential test."""
        return Design(self.n_data, self.m, self.epsilon)


def parts(settings: Settings) -> list[str]:
    """A chain for each test and reading of the proposal; and the posterior by quadrature."""
    return ["posterior", *(f"{test}-{reading}" for reading in (SD, VARIANCE) for test in TESTS)]


def work(settings: Settings, name: str, work: Work) -> Values:
    """Run and time one chain, or compute the true posterior and the calculator's predictions for it."""
    x = draw_mixture(generator(settings.seed, "e10", "data"), settings.n_data, TRUTH)
    rng = generator(settings.seed, "e10", name)
    if name == "posterior":
        return _posterior(rng, settings, x, work)
    test, reading = name.split("-")
    model = Mixture.from_data(x, settings.temperature)
    walk = RandomWalk.isotropic(settings.deviation(reading), 2)
    rule: Rule = "barker" if test == BARKER else "metropolis"

    def make(own: np.random.Generator) -> Chain:
        return Chain(model, walk, _test(settings, test), TRUTH, own, rule)

    make(np.random.default_rng(0)).advance(2)  # compiles the code before time is measured
    chain, total = make(rng), settings.samples[TESTS.index(test)]
    watch = Stopwatch(chain)
    draws = advance_to(chain, total, size=BLOCK, advance=watch, stop=lambda: work.step(chain.steps / total))
    return {"theta": draws.theta, "n_used": draws.n_used, "accepted": draws.accepted, "seconds": watch.seconds}


def _test(settings: Settings, name: str) -> AcceptTest:
    tests: dict[str, AcceptTest] = {
        BARKER: BarkerTest(settings.m),
        SEQUENTIAL: SequentialTest.from_design(settings.design),
        CONCENTRATION: ConcentrationTest(settings.m, settings.delta, settings.p, settings.growth),
        EXACT: ExactTest(),
    }
    return tests[name]


def _posterior(rng: np.random.Generator, settings: Settings, x: Floats, work: Work) -> Values:
    """Probabilities of the bins, and the data that the tests should read for proposals from the posterior."""
    binned = Binned.of(x, settings.temperature)
    fine = Quadrature.of(binned, settings.bins * settings.fine, lambda share: work.step(0.8 * share))
    predicted = {}
    for reading in (SD, VARIANCE):
        trial = _pairs(rng, settings, binned, fine, settings.deviation(reading))
        needed = settings.n_data * trial.kappa**2 / (1.0 + trial.kappa**2)  # until the variance of Δ* is below 1
        batches = settings.m * np.ceil(needed / settings.m)
        usage = settings.n_data * acceptance(settings.design, trial).usage
        predicted[f"predicted_{reading}"] = np.array([batches.mean(), usage.mean()])
        predicted[f"predicted_se_{reading}"] = np.array([batches.std(), usage.std()]) / math.sqrt(settings.pairs)
    return {**fine.pooled(settings.bins)._asdict(), **predicted, "mean": fine.mean()}


def _pairs(
    rng: np.random.Generator, settings: Settings, binned: Binned, posterior: Quadrature, deviation: float
) -> TrialRun:
    """Proposals from the posterior, with the moments of their lᵢ."""
    rows = []
    for theta in posterior.draw(rng, settings.pairs):
        proposed = theta + deviation * rng.standard_normal(2)
        log_ratio = binned.model.log_prior(theta) - binned.model.log_prior(proposed)
        rows.append([*binned.moments(theta, proposed), log_ratio])
    mu, sigma, log_ratios = np.array(rows).T
    return TrialRun(settings.n_data, mu, sigma, log_ratios)


class MixtureResult(NamedTuple):
    """The results of one test with one reading of the proposal."""

    reading: str
    test: str
    samples: int
    data: float
    data_se: float
    predicted: float | None
    largest: int
    acceptance: float
    score: float
    chi_squared: float
    ideal_score: float
    ideal_chi_squared: float
    seconds: float
    evaluations: float
    effective: float
    predicted_se: float
    away: float  # the largest distance of a mean from the posterior's, in standard errors
    thinned: int
    fit: float  # chi-squared of the thinned draws
    limit: float  # what it stays below, with probability 1 - RARE

    @property
    def judged(self) -> bool:
        """Whether there are enough effective draws for a comparison with the posterior."""
        return self.effective >= ENOUGH

    @property
    def follows(self) -> bool:
        """Whether means and thinned draws agree with the posterior."""
        return self.away <= SURE and self.fit <= self.limit

    @property
    def per_move(self) -> float:
        """Likelihood evaluations for an accepted proposal."""
        return self.evaluations / max(self.acceptance, 1e-9)


def _row(
    settings: Settings, values: Mapping[str, Values], posterior: Posterior, reading: str, test: str
) -> MixtureResult:
    part = values[f"{test}-{reading}"]
    n_used, samples = part["n_used"], part["n_used"].size
    predicted = dict(zip((BARKER, SEQUENTIAL), values["posterior"][f"predicted_{reading}"].tolist(), strict=True))
    errors = dict(zip((BARKER, SEQUENTIAL), values["posterior"][f"predicted_se_{reading}"].tolist(), strict=True))
    predicted[EXACT] = float(settings.n_data)
    first = part["theta"][:PAPER_SAMPLES]  # Eqn 23 and chi-squared depend on how many there are
    rng = generator(settings.seed, "e10", "ideal", str(len(first)))
    ideal = np.array(
        [posterior.scores(rng.multinomial(len(first), posterior.cells)) for _ in range(settings.references)]
    )
    scores = posterior.scores(posterior.counts(first))
    mean, se = float(n_used.mean()), block_error(n_used)
    known = mean, se, predicted.get(test), int(n_used.max()), float(part["accepted"].mean())
    evaluated = (1.0 if test == EXACT else 2.0) * mean  # the exact test caches the log-likelihoods of its state
    effective = effective_size(part["theta"])
    spent = float(part["seconds"]), evaluated, effective, errors.get(test, 0.0)
    score, chi_squared = ideal.mean(axis=0).tolist()
    away, thinned, fit, limit = _distances(part["theta"], posterior, values["posterior"]["mean"], effective)
    found = reading, test, samples, *known, *scores, score, chi_squared, *spent, away, thinned, fit, limit
    return MixtureResult(*found)


def _distances(theta: Floats, posterior: Posterior, mean: Floats, effective: float) -> tuple[float, int, float, float]:
    """How far the means of θ₁, θ₂ and θ₁ + θ₂/2 are from the posterior's, and how well thinned draws fit its bins.

    Every k-th draw is taken, with k so large that half as many remain as there are effective draws.
    """
    from scipy.special import chdtri

    functions = np.column_stack([theta, theta[:, 0] + 0.5 * theta[:, 1]])
    truth = np.append(mean, mean[0] + 0.5 * mean[1])
    away = max(
        abs(float(column.mean()) - value) / block_error(column)
        for column, value in zip(functions.T, truth.tolist(), strict=True)
    )
    some = theta[:: max(1, math.ceil(2.0 * len(theta) / effective))]
    fit, free = posterior.chi_squared(posterior.counts(some), EXPECTED)
    return away, len(some), fit, float(chdtri(max(free, 1), RARE))


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """The table beside both published versions, and the histograms."""
    bins = values["posterior"]
    posterior = Posterior(bins["probability"], bins["first"], bins["second"])
    rows = {
        (reading, test): _row(settings, values, posterior, reading, test)
        for reading in (SD, VARIANCE)
        for test in TESTS
    }
    narrow, wide = rows[SD, BARKER], rows[VARIANCE, BARKER]
    checks = {
        "with variance 0.15, the Barker test reads more than three times as much as with standard deviation 0.15": (
            wide.data > 3.0 * narrow.data
        ),
        "the Barker test reads least, then the sequential, then the concentration test": all(
            rows[reading, a].data < rows[reading, b].data
            for reading in (SD, VARIANCE)
            for a, b in ((BARKER, SEQUENTIAL), (SEQUENTIAL, CONCENTRATION))
        ),
        "the Barker and the sequential test need fewer likelihood evaluations per move than the exact test": all(
            rows[reading, test].per_move < rows[reading, EXACT].per_move
            for reading in (SD, VARIANCE)
            for test in (BARKER, SEQUENTIAL)
        ),
        "the sequential test reads what the calculator predicts, within 4 standard errors": all(
            _as_predicted(rows[reading, SEQUENTIAL]) for reading in (SD, VARIANCE)
        ),
        "the Barker test reads what κ²/(1+κ²) predicts, within 4 standard errors and half a batch": all(
            _as_predicted(rows[reading, BARKER], 0.5 * settings.m) for reading in (SD, VARIANCE)
        ),
    }
    if judged := [row for row in rows.values() if row.judged]:
        checks[
            f"every chain with over {ENOUGH:.0f} effective draws follows the posterior: means within 4 standard "
            "errors, thinned draws by chi-squared (99.9%)"
        ] = all(row.follows for row in judged)
    if settings.n_data == PAPER_SIZE:
        for test in (BARKER, SEQUENTIAL):
            checks[
                f"with standard deviation 0.15, the {test.replace('barker', 'Barker')} test reads as much as S17 print "
                f"({ARXIV[test]:,.0f}), within 4 standard errors of 5000 samples"
            ] = _as_printed(rows[SD, test], ARXIV[test])
            checks[
                f"with variance 0.15, as printed, the {test.replace('barker', 'Barker')} test does not"
            ] = not _as_printed(rows[VARIANCE, test], ARXIV[test])
    tables = [_data_table(rows), _fit_table(rows), _cost_table(rows), _score_table(rows)]
    panels = [_histogram(settings, values, reading) for reading in (SD, VARIANCE)]
    panels += [_scatter(values), _marginal(values, posterior)]
    notice = f"Data: {settings.n_data:,} draws of the mixture itself, at temperature {settings.temperature:g}."
    return Report(_finding(settings, rows), checks, tables, panels, [notice])


def _finding(settings: Settings, rows: Mapping[tuple[str, str], MixtureResult]) -> str:
    def line(reading: str) -> str:
        return ", ".join(f"{test} {rows[reading, test].data:,.0f}" for test in TESTS[:3])

    barker, sequential = rows[SD, BARKER], rows[SD, SEQUENTIAL]
    moved = barker.data / barker.acceptance, sequential.data / sequential.acceptance
    return (
        f"Data per step at N = {settings.n_data:,} and temperature {settings.temperature:g}, when 0.15 is the standard "
        f"deviation of the proposal: {line(SD)}; S17 print 210, 15,562 and 16,857 (in the camera-ready version 182, "
        f"13,540 and 65,759). When 0.15 is its variance, as printed: {line(VARIANCE)}. {_reading(settings, rows)}"
        f"The concentration test, whose bound is the empirical Bernstein-Serfling inequality for draws without "
        f"replacement (Bardenet and Maillard 2015) with an analytic bound on |lᵢ|, reads "
        f"{_compared(settings, rows[SD, CONCENTRATION])}. The calculator, given proposals from the posterior, predicts "
        f"{sequential.predicted or 0.0:,.0f} for the sequential test, and κ²/(1+κ²) predicts "
        f"{barker.predicted or 0.0:,.0f} for the Barker test. The Barker test uses Barker's rule: its acceptance is "
        f"{barker.acceptance:.2f} against {sequential.acceptance:.2f} for the sequential test, so that a move costs "
        f"{moved[0]:,.0f} data against {moved[1]:,.0f}. {_costs(rows)}{_draws(settings, rows)}"
    )


def _costs(rows: Mapping[tuple[str, str], MixtureResult]) -> str:
    """Time per step and evaluations per move, in words."""
    each = ", ".join(
        f"{test} {1e3 * rows[SD, test].seconds / rows[SD, test].samples:.3g} ms and {rows[SD, test].per_move:,.0f}"
        for test in TESTS
    )
    return f"Time per step and likelihood evaluations per move (standard deviation): {each}."


def _draws(settings: Settings, rows: Mapping[tuple[str, str], MixtureResult]) -> str:
    """What the chains are worth, in words."""
    if settings.n_data != PAPER_SIZE:
        return ""
    each = {test: row.effective / row.samples * PAPER_SAMPLES for (reading, test), row in rows.items() if reading == SD}
    shown = ", ".join(f"{test} {value:.2g}" for test, value in each.items())
    return (
        f" With the narrow proposal a chain seldom changes its mode: of {PAPER_SAMPLES:,} samples, as many as the "
        f"paper has, the effective draws are {shown}. No table of fits to the posterior can mean much with so few."
    )


def _reading(settings: Settings, rows: Mapping[tuple[str, str], MixtureResult]) -> str:
    """Which reading of 0.15 gives the printed averages of the Barker and the sequential test, if any."""
    if settings.n_data != PAPER_SIZE:
        return ""
    near = [
        reading
        for reading in (SD, VARIANCE)
        if all(_as_printed(rows[reading, test], ARXIV[test]) for test in (BARKER, SEQUENTIAL))
    ]
    if len(near) != 1:
        return f"S17's averages agree with {'both readings' if near else 'neither reading'}. "
    shown = ", ".join(f"{rows[near[0], test].data / ARXIV[test]:.2f}" for test in (BARKER, SEQUENTIAL))
    return f"So S17's averages belong to the {SPOKEN[near[0]]} (ours are {shown} times the printed ones). "


def _as_predicted(row: MixtureResult, slack: float = 0.0) -> bool:
    """Within the errors of the chain and of the prediction."""
    return abs(row.data - (row.predicted or 0.0)) <= SURE * math.hypot(row.data_se, row.predicted_se) + slack


def _as_printed(row: MixtureResult, printed: float) -> bool:
    """Within our error and that of the paper's own samples, which were as correlated as ours."""
    theirs = row.data_se * math.sqrt(row.samples / PAPER_SAMPLES)
    return abs(row.data - printed) <= SURE * math.hypot(row.data_se, theirs)


def _compared(settings: Settings, row: MixtureResult) -> str:
    """Our figure beside the two printed ones."""
    if settings.n_data != PAPER_SIZE:
        return f"{row.data:,.0f}, to which the papers' figures for a million data do not apply"
    near = [name for name, paper in (("arXiv", ARXIV), ("camera-ready", UAI)) if _within(row, paper[CONCENTRATION])]
    verdict = {0: "close to neither printed figure", 2: "with too few samples to distinguish the two printed figures"}
    return f"{row.data:,.0f} ± {row.data_se:,.0f}, {verdict.get(len(near)) or f'close to the {near[0]} figure only'}"


def _within(row: MixtureResult, printed: float) -> bool:
    return abs(row.data - printed) <= 4.0 * row.data_se + 0.1 * printed


def _data_table(rows: Mapping[tuple[str, str], MixtureResult]) -> ResultTable:
    columns = ["0.15 is the", "test", "samples", "data per step", "± s.e.", "predicted", "largest", "acceptance"]
    columns += ["data per move", "paper (S17 arXiv)", "paper (S17 UAI)"]
    cells: list[list[Cell]] = [
        [*row[:8], row.data / max(row.acceptance, 1e-9), ARXIV.get(row.test), UAI.get(row.test)]
        for row in rows.values()
    ]
    return ResultTable("Data per step (S17 §6.1)", columns, cells)


def _cost_table(rows: Mapping[tuple[str, str], MixtureResult]) -> ResultTable:
    columns = ["0.15 is the", "test", "samples", "seconds", "milliseconds/step", "likelihood evaluations/step"]
    columns += ["evaluations per move", "effective draws", "effective draws/s", "evaluations per effective draw"]
    cells: list[list[Cell]] = []
    for row in rows.values():
        spent = row.seconds, 1e3 * row.seconds / row.samples, row.evaluations, row.per_move
        each = row.evaluations * row.samples / row.effective
        cells.append([*row[:3], *spent, row.effective, row.effective / row.seconds, each])
    return ResultTable("Wall time and likelihood evaluations", columns, cells)


def _score_table(rows: Mapping[tuple[str, str], MixtureResult]) -> ResultTable:
    columns = ["0.15 is the", "test", "samples", "Eqn 23", "Eqn 23, independent draws", "Eqn 23, paper"]
    columns += ["chi-squared", "chi-squared, independent draws", "chi-squared, paper"]
    cells: list[list[Cell]] = []
    for row in rows.values():
        score, chi = SCORES.get(row.test, (None, None))
        given = row.score, row.ideal_score, score, row.chi_squared, row.ideal_chi_squared, chi
        cells.append([row.reading, row.test, min(row.samples, PAPER_SAMPLES), *given])
    return ResultTable(
        "The first samples in bins of the posterior (S17 Table 2, which does not give its bins)", columns, cells
    )


def _fit_table(rows: Mapping[tuple[str, str], MixtureResult]) -> ResultTable:
    columns = ["0.15 is the", "test", "effective draws", "largest error of a mean (s.e.)", "thinned draws"]
    columns += ["their chi-squared", "99.9% limit", "follows the posterior"]
    cells: list[list[Cell]] = []
    for row in rows.values():
        verdict = "too few draws to tell" if not row.judged else "yes" if row.follows else "no"
        cells.append([row.reading, row.test, row.effective, row.away, row.thinned, row.fit, row.limit, verdict])
    return ResultTable("Do the samples follow the posterior?", columns, cells)


def _histogram(settings: Settings, values: Mapping[str, Values], reading: str) -> Panel:
    edges = np.geomspace(settings.m, max(settings.n_data, 2 * settings.m) * 1.001, 31)
    counted = {test: values[f"{test}-{reading}"]["n_used"] for test in TESTS[:3]}
    largest = ", ".join(f"{test} {used.max():,}" for test, used in counted.items())
    return Panel(
        f"Batch sizes when 0.15 is the {SPOKEN[reading]} (S17 Fig. 2)",
        "data read in a step",
        "fraction of steps",
        shares(counted, edges),
        log_x=True,
        log_y=True,
        note=f"Largest batch in this run: {largest}.",
    )


def _scatter(values: Mapping[str, Values]) -> Panel:
    series = []
    for test in TESTS:
        some = evenly(values[f"{test}-{SD}"]["theta"], SHOWN_DRAWS)
        series.append(Series(test, some[:, 0].tolist(), some[:, 1].tolist(), style="points"))
    note = "Two modes: the pairs of means (0, 1) and (1, 0) have the same likelihood."
    return Panel("Samples (S17 Fig. 1)", "θ1", "θ2", series, note=note)


def _marginal(values: Mapping[str, Values], posterior: Posterior) -> Panel:
    edges = posterior.second
    middle, width = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    series = [Series("posterior", middle.tolist(), (posterior.probability.sum(axis=0) / width).tolist())]
    for test in TESTS:
        theta = values[f"{test}-{SD}"]["theta"]
        density = np.histogram(theta[:, 1], edges)[0] / (len(theta) * width)
        series.append(Series(test, middle.tolist(), density.tolist(), style="steps"))
    note = "Correlated chains need not visit both modes equally often."
    return Panel("Marginal of θ2", "θ2", "density", series, note=note)


EXPERIMENT = Experiment(
    name="e10",
    title="Gaussian mixture: data per step of four tests",
    source="S17 §6.1, Figs 1 and 2, Table 2",
    question="How many data does each acceptance test read per step on the same problem?",
    sizes={
        "tiny": Settings(10_000, 100.0, (600, 200, 60, 60), bins=8, fine=8, pairs=300, references=50),
        "quick": Settings(PAPER_SIZE, 10_000.0, (4000, 1500, 300, 50)),
        "full": Settings(PAPER_SIZE, 10_000.0, (500_000, 50_000, PAPER_SAMPLES, 1000), pairs=10_000),
    },
    parts=parts,
    work=work,
    report=report,
)
