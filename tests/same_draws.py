"""Small computations with fixed seeds: `test_same_draws.py` compares what they give with what they gave.

Only names that `designer` and `samplers` export are used, those of the table `ELSEWHERE`, and the command line.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import designer as d
import samplers as s
from app.cli.main import main
from tests.digests import Case, Found, leaves

ELSEWHERE = {  # names that no package exports, and where they are
    "gibbs": "samplers.chains.gibbs:run",
    "gibbs_values": "samplers.chains.gibbs_values:run_values",
    "audit_slice": "samplers.study.slice_audit:audit_slice",
    "trials_at": "samplers.study.step_trials:trials_at",
    "irls": "samplers.fit:irls",
    "LAD": "samplers.fit:LAD",
    "LogisticLoss": "samplers.fit:Logistic",
}
OLD = Path(__file__).parent / "data" / "before_0_2"
RUNS = tuple(sorted(path.stem for path in (OLD / "runs").glob("*.toml")))
N_DATA, STEPS = 1000, 200


def elsewhere(name: str) -> Any:
    """What `ELSEWHERE` says."""
    module, attribute = ELSEWHERE[name].split(":")
    return getattr(import_module(module), attribute)


# --- chains -----------------------------------------------------------------------------------------------------------


def draws(found: Any, name: str = "") -> Found:
    """The decisions and states of a chain."""
    return {f"{name}{field}": getattr(found, field) for field in ("theta", "accepted", "n_used", "n_looks")}


def labelled(size: int = N_DATA) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((size, 3))
    return x, rng.random(size) < 1.0 / (1.0 + np.exp(-x @ [0.8, -0.5, 0.0]))


def logistic() -> tuple[Any, Any, Any]:
    return s.Logistic.from_data(*labelled(), prior_precision=1.0), s.RandomWalk.isotropic(0.1, 3), np.zeros(3)


def lasso() -> tuple[Any, Any, Any]:
    x, _ = labelled()
    y = x @ [0.5, 0.0, -0.2] + np.random.default_rng(2).normal(0.0, 0.6, N_DATA)
    return s.Lasso.from_data(x, y, precision=3.0, penalty=50.0), s.RandomWalk.isotropic(0.02, 3), np.zeros(3)


def mixture() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    x = rng.normal(np.where(rng.random(N_DATA) < 0.5, 0.0, 1.0), np.sqrt(2.0))
    return s.Mixture.from_data(x, temperature=10.0), s.RandomWalk.isotropic(0.3, 2), np.array([0.0, 1.0])


def ica() -> tuple[Any, Any, Any]:
    x = np.random.default_rng(4).laplace(size=(N_DATA, 3))
    white = np.linalg.qr(x - x.mean(axis=0))[0] * np.sqrt(N_DATA)
    return s.ICA.from_data(white), s.StiefelWalk(0.05, 3), np.eye(3).ravel()


def langevin() -> tuple[Any, Any, Any]:
    model, _, start = lasso()
    return model, s.Langevin(model, step=3e-4, batch=100), start


def controlled(order: int, temperature: float = 1.0) -> tuple[Any, Any, Any]:
    plain = s.tempered(logistic()[0], temperature)
    model = s.Controlled.around(plain, s.find_mode(plain), order)
    proposal = s.ProxyStep.of(model, 0.7) if order == 2 else s.RandomWalk.isotropic(0.1, 3)
    return model, proposal, model.centre


def jumps() -> Any:
    x, y = labelled()
    return s.RJLogistic.from_data(x, y, rate=0.1, sd_update=0.1, sd_birth=0.3)


class Mean:
    """A model of one's own: normal data with an unknown mean."""

    n_data = N_DATA
    x = np.random.default_rng(5).normal(0.3, 1.0, N_DATA)

    def log_prior(self, theta: np.ndarray) -> float:
        return float(-0.5 * theta @ theta)

    def terms(self, theta: np.ndarray, theta_new: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return (theta_new - theta) * (self.x[indices] - 0.5 * (theta_new + theta))


def own() -> tuple[Any, Any, Any]:
    return Mean(), s.RandomWalk.isotropic(0.06, 1), np.array([0.3])


def design(**options: float) -> Any:
    return d.Design(**{"n_data": N_DATA, "m": 100, "epsilon": 0.05} | options)


def sequential(**options: float) -> Any:
    return s.SequentialTest.from_design(design(**options))


def bounded() -> Any:
    """The sequential test of a plan: looks and bounds one by one, not symmetric."""
    schedule, bounds = d.Schedule.explicit(N_DATA, [100, 250, 600, N_DATA]), ([-2.0, -1.5, -1.2], [2.1, 1.6, 1.3])
    return s.SequentialTest.from_plan(d.Plan(schedule, d.Boundary.explicit(*bounds)))


def chain(parts: tuple[Any, Any, Any], test: Any, rule: str = "metropolis", *, fuse: bool = True, seed: int = 7) -> Any:
    model, proposal, start = parts
    return s.Chain(model, proposal, test, start, np.random.default_rng(seed), rule, fuse=fuse)


def both_ways(parts: Callable[[], tuple[Any, Any, Any]], test: Any, rule: str = "metropolis") -> Case:
    """By compiled blocks, where there are such, and by the protocols."""

    def case() -> Found:
        made = parts()
        fast, slow = (chain(made, test, rule, fuse=fuse).advance(STEPS) for fuse in (True, False))
        return {**draws(fast, "fused "), **draws(slow, "protocol ")}

    return case


def several_chains() -> Found:
    model, proposal, start = controlled(2)
    found = s.run(model, proposal, sequential(), start=start, draws=STEPS, warmup=70, chains=3, seed=11)
    return {name: value for k, one in enumerate(found) for name, value in draws(one, f"chain {k} ").items()}


def another_test_and_proposal_on_the_way() -> Found:
    model, proposal, start = controlled(2)
    moving = s.Chain(model, proposal, sequential(), start, np.random.default_rng(12))
    first = moving.advance(90)
    moving.use_test(s.ExactTest())
    second = moving.advance(70)
    moving.use(s.RandomWalk.isotropic(0.1, 3))
    third = moving.advance(70)
    return {**draws(first, "first "), **draws(second, "second "), **draws(third, "third ")}


def slices() -> Found:
    def one(test: Any) -> Any:
        lines = s.Slice.isotropic(0.2, 3, 1.5, 8)
        return s.SliceChain(logistic()[0], lines, test, np.zeros(3), np.random.default_rng(8)).advance(60)

    return {**draws(one(sequential()), "sequential "), **draws(one(s.ExactTest()), "exact ")}


def reversible_jumps() -> Found:
    start = np.array([0.5, 0.0, 0.0])

    def one(test: Any, rule: str, temperature: float) -> Any:
        return s.JumpChain(jumps(), test, start, np.random.default_rng(9), rule, temperature).advance(STEPS)

    return {
        **draws(one(sequential(), "metropolis", 1.0), "sequential "),
        **draws(one(s.ExactTest(), "barker", 2.0), "exact, hot "),
    }


def gibbs() -> Found:
    field = s.DenseMRF.random(np.random.default_rng(1), dimension=30, sd=0.05)
    found: dict[str, Any] = {}
    for name, test in {"sequential": sequential(n_data=field.n_data, m=50), "exact": s.ExactTest()}.items():
        for fuse in (True, False):
            start, rng = np.zeros(30), np.random.default_rng(2)
            kept = elsewhere("gibbs")(rng, field, test, start=start, draws=5, thin=2, fuse=fuse)
            for part in ("x", "n_used", "n_looks"):
                found[f"{name} {'fused' if fuse else 'protocol'} {part}"] = getattr(kept, part)
    return found


def gibbs_values() -> Found:
    field = s.ValuedMRF.random(np.random.default_rng(1), dimension=20, n_values=3)
    found: dict[str, Any] = {}
    for name, test in {"sequential": sequential(n_data=field.n_data, m=20), "exact": s.ExactTest()}.items():
        kept = elsewhere("gibbs_values")(np.random.default_rng(2), field, test, start=np.zeros(20), sweeps=5)
        found |= {f"{name} {part}": getattr(kept, part) for part in ("x", "n_used", "n_looks")}
    return found


def irls() -> Found:
    x, y = labelled(20_000)
    line = x @ [1.0, 2.0, 3.0] + np.random.default_rng(6).normal(size=len(x))
    fits = {
        "lad": (line, elsewhere("LAD")(), {"tolerance": 1e-3}),
        "logistic": (y, elsewhere("LogisticLoss")(), {"growth": 1.5}),
    }
    found: dict[str, Any] = {}
    for name, (response, loss, options) in fits.items():
        fit = elsewhere("irls")(np.random.default_rng(10), x, response, loss, **options)
        found |= {f"{name} theta": fit.theta, f"{name} read": fit.read, f"{name} reason": fit.reason}
        found |= {f"{name} {part}": getattr(fit.trace, part) for part in ("n", "looks", "objective")}
    return found


def seen_in_full(moving: Any, steps: int = 120, every: int = 3) -> Found:
    seen = s.observe(moving, steps, every)
    pairs = {name: [getattr(pair, name) for pair in seen.pairs] for name in seen.pairs[0]._fields[:8]}
    return {**draws(seen.draws), **{f"pair {name}": values for name, values in pairs.items()}}


def observed() -> Found:
    start = np.array([0.5, 0.0, 0.0])
    jumping = s.JumpChain(jumps(), sequential(), start, np.random.default_rng(9))
    found = {"walk": seen_in_full(chain(logistic(), sequential())), "jumps": seen_in_full(jumping)}
    found |= {"proxies": seen_in_full(chain(controlled(2), s.ExactTest(), "barker"))}
    return {f"{name}: {part}": value for name, parts in found.items() for part, value in parts.items()}


def audited() -> Found:
    seen = s.observe(chain(logistic(), sequential(epsilon=0.2)), 300, 2)
    found = s.audit(design(epsilon=0.2), seen, N_DATA)
    change = np.array([float(pair.accepted) - float(pair.exact) for pair in seen.pairs])  # single decisions, as then
    used = np.array([pair.n_used / N_DATA for pair in seen.pairs])
    values = {"wrong": np.abs(change).mean(), "delta": change.mean(), "usage": used.mean()}
    parts = {f"{name} value": float(value) for name, value in values.items()}
    return {"pairs": found.pairs, **parts, **{f"{name} predicted": getattr(found, name).predicted for name in values}}


def audited_slices() -> Found:
    lines, rng = s.Slice.isotropic(0.2, 3, 1.5, 8), np.random.default_rng(8)
    found = elsewhere("audit_slice")(rng, logistic()[0], lines, sequential(epsilon=0.2), np.zeros(3), 40)
    return {"tests": found.tests, "wrong": list(found.wrong), "usage": list(found.usage), "agrees": found.agrees}


def pairs_of_other_steps() -> Found:
    runs = elsewhere("trials_at")(chain(logistic(), s.ExactTest()), [0.5, 2.0], pairs=10, every=3)
    return {name: values for scale, run in runs.items() for name, values in columns(run, f"{scale} ").items()}


def pairs_of_a_posterior() -> Found:
    import xarray

    values = np.random.default_rng(0).normal(size=(2, 40, 300))
    group = xarray.Dataset({"y": (("chain", "draw", "obs"), values)})
    found = s.trial_from_posterior(np.random.default_rng(1), group, count=10).trial
    near = s.trial_from_posterior(np.random.default_rng(1), group, "nearest", 10, acceptance=0.4).trial
    return {**columns(found, "successive "), **columns(near, "nearest ")}


# --- configs ----------------------------------------------------------------------------------------------------------


def config(name: str) -> Any:
    return s.SamplerConfig.load(OLD / "runs" / f"{name}.toml")


def results(tree: Any) -> Found:
    """What a run gives, and the digest by which `--resume` knows it again."""
    stats = {name: tree[f"sample_stats/{name}"].values for name in ("accepted", "n_used", "n_looks")}
    found = {"theta": tree["posterior/theta"].values, **stats, "digest": tree.attrs["digest"]}
    return found | (leaves(json.loads(tree.attrs["redesign"]), "redesign") if "redesign" in tree.attrs else {})


def summary_of_results() -> Found:
    rows = s.summary(s.from_netcdf(OLD / "results.nc")).rows
    parts = ("mean", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat")
    return {"names": [row.name for row in rows], **{part: [getattr(row, part) for row in rows] for part in parts}}


def trial_and_audit_of_a_config() -> Found:
    trial = s.collect_pairs(config("control_proxy"), pairs=20, every=3)
    found = s.audit_config(config("walk_sequential"), steps=100, every=4)
    return {**columns(trial), "pairs": found.pairs, "predicted": found.wrong.predicted}


# --- the calculator ---------------------------------------------------------------------------------------------------


def columns(trial: Any, name: str = "") -> Found:
    return {f"{name}n_data": trial.n_data, **{f"{name}{key}": values for key, values in trial.columns.items()}}


def trial(skew: bool = True) -> Any:
    made = d.TrialRun.at_stationarity(20_000, 0.4, 40, np.random.default_rng(1), spread=0.3)
    rng = np.random.default_rng(2)
    return d.TrialRun(20_000, made.mu, made.sigma, rng.normal(0.0, 0.1, 40), rng.normal(0.0, 0.5, 40) if skew else None)


def knobs(found: Any, name: str = "") -> Found:
    """A design, or None."""
    fields = ("n_data", "m", "epsilon", "alpha", "growth")
    return {f"{name}{field}": None if found is None else getattr(found, field) for field in fields}


def one_test() -> Found:
    tests = {
        "constant": d.Design(20_000, 500, 0.05),
        "growing": d.Design(20_000, 200, 0.01, 0.8, 1.5),
        "explicit": d.Design.with_bounds(20_000, 5000, [-2.5, -2.0, -1.6], [2.2, 1.8, 1.5]),
        "plan": d.Plan(d.Schedule.geometric(20_000, 500, 1.3), d.Boundary.obrien_fleming(0.02)),
    }
    found: dict[str, Any] = {}
    for name, test in tests.items():
        curve, look, worst = d.characteristics(test, [0.0, 0.5, 2.0, 8.0]), d.stopping(test, 1.0), d.worst_case(test)
        found |= {f"{name} error": curve.error, f"{name} usage": curve.usage, f"{name} worst": worst.error}
        found |= {f"{name} {part}": getattr(look, part) for part in ("n", "lower", "upper", "accept", "reject")}
    return found


def one_step() -> Found:
    found: dict[str, Any] = {}
    for name, options in {"plain": {}, "barker": {"rule": "barker"}, "skew": {"skew": True}}.items():
        step = d.acceptance(d.Design(20_000, 500, 0.05, 0.6), trial(), **options)
        found |= {f"{name} {part}": getattr(step, part) for part in ("probability", "delta", "usage")}
        found |= {f"{name} mean": step.mean_abs_delta, f"{name} data": step.mean_usage}
    return found | {"theorem 1": d.stationary_bound(0.01, 0.5), "sweeps": d.sweep_bound(0.01, 0.5, 10)}


def searched() -> Found:
    asked: dict[str, tuple[Any, float, str, dict[str, Any]]] = {
        "average": (trial(), 0.01, "average", {"skew": False}),
        "growing": (trial(), 0.02, "average", {"space": d.Space(growth=(1.0, 1.5)), "skew": False}),
        "cost": (trial(), 0.02, "average", {"cost": d.Cost(10.0, 1.0, 50.0), "rule": "barker", "skew": False}),
        "quantile": (trial(), 0.05, "quantile", {"quantile": 0.9, "skew": False}),
        "fixed m": (trial(), 0.02, "fixed-m", {"skew": True}),
        "worst case": (None, 0.1, "worst-case", {"n_data": 20_000}),
        "infeasible": (None, 1e-3, "worst-case", {"n_data": 10_000, "space": d.Space(500, 600, epsilon=(0.01, 0.5))}),
    }
    found: dict[str, Any] = {}
    for name, (pairs, tolerance, criterion, options) in asked.items():
        best = d.search(pairs, tolerance, criterion, confidence=None, **options)
        found |= knobs(best.best, f"{name} ")
        found |= {f"{name} {part}": getattr(best, part) for part in ("error", "usage", "looks", "nearest_tolerance")}
    return found


def judged() -> Found:
    test, rng = d.Design(20_000, 500, 0.05), np.random.default_rng(3)
    band = d.bootstrap(rng, test, trial(), repeats=50, skew=False)
    folds = d.cross_validate(rng, trial(), 0.05, "fixed-m", folds=2, confidence=None, skew=False)
    criteria = ["fixed-m", "worst-case"]
    summary, points = d.summarise(trial()), d.frontier(trial(), [0.05], criteria=criteria, confidence=None, skew=False)
    found: dict[str, Any] = {"error": list(band.error), "usage": list(band.usage), "folds": folds.test_error}
    found |= {"usual": summary.usage, "kappa": [summary.kappa.mean, summary.kappa.sd]}
    found |= {
        f"{point.criterion} {part}": getattr(point, part) for point in points for part in ("train_error", "train_usage")
    }
    return found


def simulated() -> Found:
    rng, test = np.random.default_rng(4), d.Design(N_DATA, 100, 0.05, 0.7)
    many = d.simulate(rng, test, [0.0, 1.0, 4.0], repeats=500)
    one = d.simulate_step(rng, test, rng.normal(-1e-3, 0.05, N_DATA), 0.1, "barker", repeats=500)
    return {"error": many.error, "usage": many.usage, **{name: getattr(one, name) for name in one._fields}}


def best_boundary() -> Found:
    found = d.optimal_boundary(trial(), 0.03, m=4000)
    sides = d.optimal_boundary(trial(), 0.03, m=5000, symmetric=False)
    given = {"error": found.error, "usage": found.usage, "lower_bound": found.lower_bound, "price": found.price}
    bounds = {"lower": found.design.lower, "upper": found.design.upper, "free lower": sides.design.lower}
    return given | bounds | {"free upper": sides.design.upper, "free usage": sides.usage}


def best_step() -> Found:
    found = d.best_step(trial(False), 0.05, [0.5, 1.0], refine=False, confidence=None)
    parts = ("scale", "kappa", "error", "usage", "acceptance", "jump", "cost", "exact_jump")
    rows = {f"{row.scale} {part}": getattr(row, part) for row in found.rows for part in parts}
    return {**rows, **knobs(found.best.design, "best ")}


def posterior() -> Found:
    test, found = d.Design(20_000, 500, 0.05), {}
    for name, options in {"many": {}, "five": {"dimension": 5, "skewness": 0.3}, "one": {"dimension": 1}}.items():
        error = d.posterior_error(test, trial(False), **options)
        found |= {f"{name} {part}": getattr(error, part) for part in error._fields if part != "estimate"}
    return found | {"tolerance": d.tolerance_for(trial(False), 0.05).tolerance}


def time_budget() -> Found:
    cost, mean = d.Cost(fixed=1e-6, per_datum=1e-8), d.Quantity(autocorrelation=500.0, sensitivity=0.3)
    known = d.time_options(trial(False), cost, mean, m=[500], epsilons=[0.01, 0.1])
    parts = ("bias", "spread", "seconds", "temperature", "usage")
    found = {f"{option.epsilon} {part}": getattr(option, part) for option in known for part in parts}
    plan, anytime = d.time_schedule(known, 5.0), d.anytime_schedule(known, 5.0)
    return {**found, "risk": plan.risk, "weights": plan.weights, "any risk": anytime.risk, "any": anytime.weights}


# --- the command line -------------------------------------------------------------------------------------------------


def command(*arguments: object) -> Case:
    """The JSON that a command prints."""

    def case() -> Found:
        with redirect_stdout(StringIO()) as printed:
            assert main([*map(str, arguments), "--json"]) == 0, printed.getvalue()
        return leaves(json.loads(printed.getvalue()))

    return case


def trial_command() -> Found:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trial.csv"
        options = ("--pairs", 10, "--every", 3, "--quiet", "--output", path)
        found = command("trial", OLD / "runs" / "control_proxy.toml", *options)()
        return {**found, **columns(d.TrialRun.load(path))}


def audit_command() -> Found:
    """Its measurements integrate u out now; the predictions are for the same pairs as then."""
    found = command("audit", OLD / "runs" / "walk_sequential.toml", "--steps", 100, "--every", 4)()
    return {name: value for name, value in found.items() if name == ".pairs" or name in AUDIT_PREDICTIONS}


AUDIT_PREDICTIONS = (".wrong.predicted", ".delta.predicted", ".usage.predicted")
TEST = ("--m", 500, "--epsilon", 0.05, "--alpha", 0.6)
COST = ("--cost", "1e-6,1e-8,1e-7", "--autocorrelation", 500, "--sensitivity", 0.3)
COMMANDS: dict[str, Case] = {
    "evaluate": command("evaluate", "--n-data", 20_000, *TEST, "--mu-std", "0,1,5"),
    "delta": command("delta", OLD / "trial.csv", *TEST, "--normal"),
    "design": command("design", OLD / "trial.parquet", "--tolerance", 0.02, "--confidence", 0.5, "--normal", "--quiet"),
    "summary": command("summary", OLD / "trial.npz"),
    "compare": command("compare", OLD / "trial.csv", "--tolerance", 0.05, "--quiet"),
    "budget": command("budget", OLD / "trial.csv", "--seconds", 5, *COST, "--quiet"),
    "audit": audit_command,
    "trial": trial_command,
}
WALK, BARKER = sequential(), s.BarkerTest(m=100)
CASES: dict[str, Case] = {
    "logistic, sequential": both_ways(logistic, WALK),
    "logistic, sequential, growth and alpha": both_ways(logistic, sequential(m=50, growth=1.5, alpha=0.8)),
    "logistic, sequential, explicit bounds": both_ways(logistic, bounded()),
    "logistic, sequential, Barker's rule": both_ways(logistic, WALK, "barker"),
    "logistic, exact": both_ways(logistic, s.ExactTest()),
    "logistic, exact, Barker's rule": both_ways(logistic, s.ExactTest(), "barker"),
    "logistic, Barker minibatch": both_ways(logistic, BARKER, "barker"),
    "logistic, Barker minibatch, skewness": both_ways(logistic, s.BarkerTest(m=100, skew_corrected=True), "barker"),
    "logistic, concentration": both_ways(logistic, s.ConcentrationTest(m=50, delta=0.1)),
    "logistic, concentration with replacement": both_ways(logistic, s.ConcentrationTest(m=50, delta=0.1, replace=True)),
    "control variates of order 1": both_ways(lambda: controlled(1), WALK),
    "control variates of order 2, proxy steps": both_ways(lambda: controlled(2), WALK),
    "control variates, tempered": both_ways(lambda: controlled(2, 4.0), s.ExactTest()),
    "lasso": both_ways(lasso, WALK),
    "lasso, Langevin": both_ways(langevin, WALK),
    "mixture": both_ways(mixture, WALK),
    "mixture, Barker minibatch": both_ways(mixture, BARKER, "barker"),
    "ica": both_ways(ica, WALK),
    "a model of one's own": both_ways(own, WALK),
    "several chains": several_chains,
    "another test and proposal on the way": another_test_and_proposal_on_the_way,
    "slice": slices,
    "reversible jump": reversible_jumps,
    "gibbs": gibbs,
    "gibbs, many values": gibbs_values,
    "irls": irls,
    "observe": observed,
    "audit": audited,
    "audit of slice updates": audited_slices,
    "summary of results": summary_of_results,
    "trial runs of other steps": pairs_of_other_steps,
    "trial run from a posterior": pairs_of_a_posterior,
    "trial run and audit of a config": trial_and_audit_of_a_config,
    "one test": one_test,
    "one step": one_step,
    "search": searched,
    "bootstrap, folds, summary, frontier": judged,
    "simulate": simulated,
    "optimal boundary": best_boundary,
    "best step": best_step,
    "posterior error": posterior,
    "time budget": time_budget,
    **{f"austerity {name}": case for name, case in COMMANDS.items()},
}
