"""Every kind of model, proposal and test that a config can name: built, run for real, resumed, and refused."""

from __future__ import annotations

import json
import mmap

import numpy as np
import pytest

from designer import BadInput, Design
from designer.core.errors import NumericalFailure
from samplers.config.config import SamplerConfig
from samplers.config.starts import best_single, lasso_mode
from samplers.decide import BarkerTest, ConcentrationTest, ExactMinibatchTest, ExactTest, SequentialTest
from samplers.models.control import Controlled
from samplers.models.lasso import Lasso, draw_line
from samplers.models.mixture import draw_mixture
from samplers.models.tempered import Tempered, TemperedLinear
from samplers.proposals import Langevin, RandomWalk, StiefelWalk
from samplers.runs.results import from_netcdf, steps, summary, to_netcdf
from samplers.runs.run import audit_config, build, collect_pairs, run_config
from samplers.runs.store import Store
from tests.commands import killed_after_a_checkpoint

N = 2000
EXACT = '[test]\nkind = "exact"\n'
SEQUENTIAL = f'[test]\nkind = "sequential"\nn_data = {N}\nm = 200\nepsilon = 0.05\n'
RUN = "[run]\ndraws = 300\nchains = 2\nseed = 3\ncheckpoint_seconds = 0.0\n"

MODELS = {
    "logistic": '[data]\npath = "table.csv"\nintercept = true\n[model]\nprior_precision = 1.0\n',
    "ica": '[data]\npath = "sound.csv"\n[model]\nkind = "ica"\n[proposal]\nkind = "stiefel"\nscale = 0.03\n',
    "mixture": '[data]\npath = "mix.csv"\n[model]\nkind = "mixture"\n[proposal]\nscale = 0.1\n',
    "lasso": '[data]\npath = "line.csv"\n[model]\nkind = "lasso"\npenalty = 100.0\n[proposal]\nscale = 0.02\n',
    "rj-logistic": '[data]\npath = "table.csv"\nintercept = true\n[model]\nkind = "rj-logistic"\nrate = 0.1\n'
    "[proposal]\nsd_update = 0.1\nsd_birth = 0.5\n",
}
NAMES = {
    "logistic": ["intercept", "age", "dose", "noise"],
    "ica": ["w[0, left]", "w[0, right]", "w[1, left]", "w[1, right]"],
    "mixture": ["theta1", "theta2"],
    "lasso": ["x"],
    "rj-logistic": ["intercept", "age", "dose", "noise"],
}
TESTS = {
    "exact": (EXACT, ExactTest),
    "sequential": (SEQUENTIAL, SequentialTest),
    "barker": ('[test]\nkind = "barker"\nm = 100\nsigma = 0.9\ndelta = 0.5\n', BarkerTest),
    "concentration": ('[test]\nkind = "concentration"\nm = 100\ndelta = 0.1\n', ConcentrationTest),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data for every model, small."""
    where, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(3)
    x = rng.standard_normal((N, 3))
    y = rng.logistic(size=N) < 0.3 + x @ [1.0, -1.0, 0.0]
    _table(where / "table.csv", "age,dose,noise,y", np.column_stack([x, y]))
    _table(where / "sound.csv", "left,right", rng.laplace(size=(N, 2)) @ [[1.0, 0.5], [0.2, 1.0]])
    _table(where / "mix.csv", "x", draw_mixture(rng, N, (0.0, 3.0))[:, None])
    _table(where / "line.csv", "x,y", np.column_stack(draw_line(rng, N)))
    np.save(where / "x.npy", x.astype(np.float32))
    np.save(where / "y.npy", y)
    np.save(where / "line.npy", np.column_stack(draw_line(np.random.default_rng(4), N)))
    return where


def _table(path, header, values):
    np.savetxt(path, values, delimiter=",", header=header, comments="", fmt="%.17g")


def in_a_file(array) -> bool:
    """Whether an array is a view of a memory-mapped file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def load(folder, text, **run) -> SamplerConfig:
    path = folder / "config.toml"
    path.write_text(text)
    return SamplerConfig.load(path, **run)


@pytest.mark.parametrize("kind", MODELS)
def test_a_real_run_of_every_model_with_names_in_the_results(folder, tmp_path, kind):
    config = load(folder, SEQUENTIAL + MODELS[kind] + RUN)
    results = run_config(config, tmp_path / "out")
    theta = results["posterior/theta"]
    assert theta.shape == (2, 300, len(NAMES[kind]))
    assert theta.dims == ("chain", "draw", "parameter")
    assert 0.02 < float(results["sample_stats/accepted"].mean()) < 0.99
    assert results["sample_stats/n_used"].values.min() >= 200
    to_netcdf(results, tmp_path / "r.nc")
    again = from_netcdf(tmp_path / "r.nc")
    assert again["posterior/theta"]["parameter"].values.tolist() == NAMES[kind]
    assert [row.name for row in summary(again).rows][: len(NAMES[kind])] == [f"theta[{n}]" for n in NAMES[kind]]
    assert theta.sel(parameter=NAMES[kind][0]).shape == (2, 300)


@pytest.mark.parametrize("kind", MODELS)
def test_stopped_and_resumed_runs_of_every_model_are_bit_identical(folder, tmp_path, kind):
    config = load(folder, SEQUENTIAL + MODELS[kind] + RUN, draws=600, chains=1)
    whole = run_config(config, tmp_path / "whole")["posterior/theta"].values
    seen = []
    stop = {"progress": seen.append, "cancelled": lambda: bool(seen) and seen[-1].done >= 256}
    run_config(config, tmp_path / "parts", **stop)
    assert 256 <= Store(tmp_path / "parts").chain(0).latest().step < 600
    resumed = run_config(config, tmp_path / "parts", resume=True)["posterior/theta"].values
    np.testing.assert_array_equal(resumed, whole)


def test_a_killed_run_of_ica_resumes_bit_for_bit(folder, tmp_path):
    config = load(folder, SEQUENTIAL + MODELS["ica"] + RUN, draws=20_000, chains=1)
    killed_after_a_checkpoint(tmp_path / "out", folder / "config.toml", "--draws", 20_000, "--chains", 1)
    step = Store(tmp_path / "out").chain(0).latest().step
    assert 0 < step < 20_000
    shorter = config.model_copy(update={"run": config.run.model_copy(update={"draws": step + 300})})
    resumed = run_config(shorter, tmp_path / "out", resume=True)["posterior/theta"].values
    np.testing.assert_array_equal(resumed, run_config(shorter, tmp_path / "whole")["posterior/theta"].values)


@pytest.mark.parametrize("kind", TESTS)
def test_every_test_runs_and_finds_the_same_posterior(folder, tmp_path, kind):
    text, expected = TESTS[kind]
    config = load(folder, text + MODELS["mixture"] + RUN, draws=1000)
    assert type(build(config).test) is expected
    found = summary(run_config(config, tmp_path / "out")).rows
    exact = summary(run_config(load(folder, EXACT + MODELS["mixture"] + RUN, draws=1000, seed=9), tmp_path / "e")).rows
    for row, other in zip(found, exact, strict=True):
        assert abs(row.mean - other.mean) < 4 * np.hypot(row.mcse, other.mcse) + 0.1 * other.sd
    assert min(row.ess_bulk for row in found) > 30


def test_the_exact_minibatch_test_runs_resumes_and_has_nothing_to_audit(folder, tmp_path):
    text = '[test]\nkind = "exact-minibatch"\n' + MODELS["logistic"] + RUN
    config = load(folder, text, draws=600, chains=1)
    assert type(build(config).test) is ExactMinibatchTest
    whole = run_config(config, tmp_path / "whole")
    used = whole["sample_stats/n_used"].values
    assert 0 < used.mean() < 0.1 * N
    seen = []
    run_config(config, tmp_path / "parts", progress=seen.append, cancelled=lambda: bool(seen) and seen[-1].done >= 256)
    resumed = run_config(config, tmp_path / "parts", resume=True)["posterior/theta"].values
    np.testing.assert_array_equal(resumed, whole["posterior/theta"].values)
    with pytest.raises(BadInput, match=r"test\.kind = 'exact-minibatch': has no error to audit"):
        audit_config(config, 10, 2)
    notes = collect_pairs(config, 10, 2).notes
    assert notes["minibatch_rows"] == pytest.approx(used.mean(), rel=0.2, abs=0.3)
    assert "beta = " in notes["minibatch_step"]


def test_the_concentration_test_knows_the_range_of_logistic_regression(folder, tmp_path):
    text = MODELS["logistic"].replace("prior_precision", "control = 0\nprior_precision")
    config = load(folder, TESTS["concentration"][0] + text + RUN, draws=50, chains=1)
    assert run_config(config, tmp_path / "out")["sample_stats/n_used"].values.max() <= N
    rng, model = np.random.default_rng(1), build(config).model
    for _ in range(20):
        old, new = rng.standard_normal((2, 4))
        assert np.abs(model.terms(old, new, np.arange(N))).max() <= model.range_bound(old, new)


def test_variable_selection_tells_which_are_active(folder, tmp_path):
    config = load(folder, EXACT + MODELS["rj-logistic"] + RUN, draws=3000, warmup=500)
    results = run_config(config, tmp_path / "out")
    active = results["posterior/active"]
    assert active.dtype == bool
    np.testing.assert_array_equal(active.values, results["posterior/theta"].values != 0)
    share = dict(zip(NAMES["rj-logistic"], active.values.mean(axis=(0, 1)), strict=True))
    assert share["age"] == share["dose"] == 1.0
    assert share["noise"] < 0.5
    assert "active[noise]" in [row.name for row in summary(results).rows]


@pytest.mark.parametrize("kind", ["logistic", "lasso", "mixture"])
def test_a_temperature_widens_the_posterior(folder, tmp_path, kind):
    """With a weak prior, variances are proportional to the temperature."""
    text = EXACT + MODELS[kind].replace("prior_precision = 1.0", "prior_precision = 0.01").replace("100.0", "1.0")
    text = text.replace('path = "mix.csv"\n[model]', 'path = "mix.csv"\n[model]\nprior_variances = [100.0, 100.0]')
    sd = {}
    for heat in (1.0, 4.0):
        config = load(folder, text + RUN, draws=2000, temperature=heat)
        rows = summary(run_config(config, tmp_path / f"{heat}")).rows
        assert min(row.ess_bulk for row in rows) > 60
        sd[heat] = np.array([row.sd for row in rows])
    assert sd[4.0] / sd[1.0] == pytest.approx(2.0, rel=0.25)


def test_tempered_models_and_rules_reach_the_chain(folder):
    parts = build(load(folder, EXACT + MODELS["logistic"] + RUN, temperature=3.0, rule="barker"))
    assert isinstance(parts.model, Controlled)
    assert isinstance(parts.model.model, TemperedLinear)
    assert parts.chain(np.random.default_rng(1)).rule == "barker"
    parts = build(load(folder, EXACT + MODELS["ica"] + RUN, temperature=3.0))
    assert isinstance(parts.model, Tempered)
    assert parts.model.scale == pytest.approx(1 / 3)
    assert build(load(folder, EXACT + MODELS["mixture"] + RUN, temperature=3.0)).model.temperature == 3.0
    chain = build(load(folder, EXACT + MODELS["rj-logistic"] + RUN, temperature=3.0)).chain(np.random.default_rng(1))
    plain = build(load(folder, EXACT + MODELS["rj-logistic"] + RUN)).chain(np.random.default_rng(1))
    _, hot = chain.propose(np.random.default_rng(2), chain.theta)
    _, cold = plain.propose(np.random.default_rng(2), chain.theta)
    some = np.arange(10)
    np.testing.assert_allclose(hot.terms(some), cold.terms(some) / 3.0)
    assert hot.log_ratio == cold.log_ratio


@pytest.mark.parametrize("model", ["logistic", "lasso"])
@pytest.mark.parametrize("kind", ["langevin", "adaptive"])
def test_langevin_and_adaptive_proposals(folder, tmp_path, model, kind):
    options = {"langevin": "step = 1e-3\nbatch = 200\n", "adaptive": "scale = 0.02\n"}[kind]
    text = MODELS[model].split("[proposal]")[0] + f'[proposal]\nkind = "{kind}"\n{options}'
    config = load(folder, SEQUENTIAL + text + RUN, warmup=300)
    assert isinstance(build(config).proposal, {"langevin": Langevin, "adaptive": RandomWalk}[kind])
    results = run_config(config, tmp_path / "out")
    assert 0.05 < float(results["sample_stats/accepted"].mean()) <= 1.0
    start = build(config).start
    sd = results["posterior/theta"].values.std(axis=(0, 1))
    assert np.all(np.abs(results["posterior/theta"].values.mean(axis=(0, 1)) - start) < 3 * sd)


def test_mapped_files_are_sampled_where_they_are(folder, tmp_path):
    text = '[data]\npath = "x.npy"\nlabels = "y.npy"\n[model]\nprior_precision = 1.0\n'
    config = load(folder, SEQUENTIAL + text + RUN)
    rows = build(config).model.model.rows
    assert rows.dtype == np.float32
    assert in_a_file(rows)
    mapped = run_config(config, tmp_path / "a")["posterior/theta"].values
    copied = run_config(
        load(folder, SEQUENTIAL + MODELS["logistic"].replace("intercept = true\n", "") + RUN), tmp_path / "b"
    )
    assert mapped.mean(axis=(0, 1)) == pytest.approx(copied["posterior/theta"].values.mean(axis=(0, 1)), abs=0.05)
    lasso = MODELS["lasso"].replace("line.csv", "line.npy")
    model = build(load(folder, EXACT + lasso + RUN)).model
    assert in_a_file(model.rows)
    assert model.dimension == 1


def test_starts(folder):
    model = build(load(folder, EXACT + MODELS["lasso"] + RUN)).model
    mode = lasso_mode(model)
    grid = mode[0] + np.linspace(-1e-3, 1e-3, 201)
    assert grid[np.argmax(model.density(grid))] == pytest.approx(mode[0], abs=1e-5)
    both = Lasso.from_data(np.column_stack([model.rows[:, 0], np.arange(N) / N]), model.rows[:, 1], 3.0, 100.0)
    at, some = lasso_mode(both), np.arange(N)
    slope = both.gradient(at, some)
    assert np.all(np.abs(slope) <= 100.0 + 1e-3)
    np.testing.assert_allclose(slope[at != 0], 100.0 * np.sign(at[at != 0]), atol=1e-3)
    jumps = build(load(folder, EXACT + MODELS["rj-logistic"] + RUN))
    assert np.flatnonzero(jumps.start).tolist() in ([1], [2])  # age or dose
    np.testing.assert_array_equal(jumps.start, best_single(jumps.model))
    given = build(load(folder, EXACT + MODELS["mixture"] + RUN, start=[0.5, 0.25]))
    assert given.chain(np.random.default_rng(1)).theta.tolist() == [0.5, 0.25]
    assert isinstance(build(load(folder, EXACT + MODELS["ica"] + RUN)).proposal, StiefelWalk)


def test_trials_and_audits_of_other_models(folder):
    for kind in ("ica", "mixture", "rj-logistic"):
        config = load(folder, SEQUENTIAL + MODELS[kind] + RUN, warmup=100)
        assert len(collect_pairs(config, 10, 5)) == 10
        assert audit_config(config, 20, 2).pairs <= 10
    config = load(folder, TESTS["barker"][0] + MODELS["mixture"] + RUN)
    assert audit_config(config, 10, 2).source == "assumed"
    with pytest.raises(BadInput, match=r"test\.kind = 'exact': has no error to audit"):
        audit_config(load(folder, EXACT + MODELS["mixture"] + RUN), 10, 2)


def test_the_standardisation_is_kept_with_the_results(folder, tmp_path):
    text = MODELS["logistic"].replace("intercept = true", "standardise = true\ncolumns = ['dose', 'age']")
    results = run_config(load(folder, SEQUENTIAL + text + RUN, draws=10), tmp_path / "out")
    kept = json.loads(results.attrs["standardised"])
    assert list(kept) == results["posterior/theta"]["parameter"].values.tolist() == ["dose", "age"]
    assert kept["age"] == pytest.approx([0.0, 1.0], abs=0.1)
    assert Design.from_toml(results.attrs["design"]).m == 200


def test_separable_data_ask_for_a_prior(folder):
    _table(folder / "split.csv", "a,y", [[-2.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [3.0, 1.0]])
    with pytest.raises(NumericalFailure, match=r"^model\.prior_precision = 0: no mode: the data are separable"):
        build(load(folder, EXACT + '[data]\npath = "split.csv"\n'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SEQUENTIAL.replace(f"{N}", "999") + MODELS["ica"],
            "test.n_data: the test was designed for n_data = 999, the data have 2,000 rows",
        ),
        ('[test]\nkind = "barker"\nm = 3000\n' + MODELS["mixture"], "test.m = 3,000: the data have 2,000 rows"),
        ('[test]\nkind = "concentration"\nm = 3000\n' + MODELS["lasso"], "test.m = 3,000: the data have 2,000 rows"),
        (
            EXACT + MODELS["lasso"].replace("scale = 0.02", 'kind = "langevin"\nstep = 1.0\nbatch = 3000'),
            "proposal.batch = 3,000: the data have 2,000 rows",
        ),
        (
            EXACT + MODELS["mixture"].replace("mix.csv", "sound.csv"),
            "model.kind = 'mixture' is about one column; there are 2",
        ),
        (
            EXACT + MODELS["mixture"].replace("mix.csv", "huge.csv"),
            "huge.csv: no finite start was found; the numbers are too large",
        ),
        (EXACT + MODELS["ica"].replace("sound.csv", "mix.csv"), "data.path"),
        (EXACT + MODELS["ica"].replace('kind = "ica"', 'kind = "ica"\nwhiten = false'), "must be white"),
        (EXACT + MODELS["mixture"] + "[run]\nstart = [1.0]\n", "run.start: has 1 numbers, the model has 2 parameters"),
        (EXACT + MODELS["ica"] + "[run]\nstart = [1.0, 0.0, 1.0, 0.0]\n", "run.start: the prior is 0 there"),
        (EXACT + MODELS["rj-logistic"] + "[run]\nstart = [0.0, 0.0, 0.0, 0.0]\n", "run.start: at least one active"),
    ],
)
def test_what_does_not_fit_the_data_is_told_before_sampling(folder, tmp_path, text, message):
    _table(folder / "huge.csv", "x", np.array([[-1e300], [1e300], [1.5e300]]))
    with pytest.raises(BadInput) as problem:
        run_config(load(folder, text), tmp_path / "out")
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        ("mixture", ("scale = 0.1", "scale = 1e301"), "proposal.scale = 1e+301: must be less than or equal to 1e+300"),
        ("mixture", ("[proposal]", "variance = 1e301\n[proposal]"), "model.variance = 1e+301: must be"),
        ("logistic", ("precision = 1.0", "precision = 1e301"), "model.prior_precision = 1e+301: must be"),
        ("lasso", ("penalty = 100.0", "penalty = 1e301"), "model.penalty = 1e+301: must be"),
        ("lasso", ("scale = 0.02", 'kind = "langevin"\nbatch = 9\nstep = 1e301'), "proposal.step = 1e+301: must be"),
        ("rj-logistic", ("sd_update = 0.1", "sd_update = 1e301"), "proposal.sd_update = 1e+301: must be"),
        ("mixture", ("[proposal]", "[run]\ntemperature = 1e301\n[proposal]"), "run.temperature = 1e+301: must be"),
        ("logistic", ("prior_precision = 1.0", "control = true"), "model.control = True: must be a number"),
        ("ica", ('path = "sound.csv"', 'path = ""'), "data.path = '': must not be empty"),
        ("ica", ('path = "sound.csv"', 'source = "audio"\nfolder = "nowhere"'), "nowhere: no such directory"),
    ],
)
def test_numbers_out_of_bounds_are_told_with_their_own_entry(folder, model, change, message):
    assert change[0] in MODELS[model]
    with pytest.raises(BadInput) as problem:
        build(load(folder, EXACT + MODELS[model].replace(*change)))
    assert message in str(problem.value)
    assert str(problem.value).startswith(message.partition(".")[0] if "." in message else "data.folder: ")


def test_more_rows_than_a_source_has_are_no_problem(folder):
    text = MODELS["logistic"].replace('path = "table.csv"', 'source = "mnist79"\nrows = 1_000_000_000')
    assert build(load(folder, EXACT + text)).model.n_rows == 12_214


def test_a_choice_of_columns_is_advised_only_where_there_is_one(folder):
    np.save(folder / "two.npy", np.ones((5, 2)))
    advised = {}
    for name in ("sound.csv", "two.npy"):
        with pytest.raises(BadInput, match=rf"^data\.path: .*{name}: .* there are 2") as problem:
            build(load(folder, EXACT + MODELS["mixture"].replace("mix.csv", name)))
        advised[name] = "data.columns" in str(problem.value)
    assert advised == {"sound.csv": True, "two.npy": False}
    source = MODELS["mixture"].replace('path = "mix.csv"', 'source = "mnist79"\nrows = 20')
    with pytest.raises(BadInput, match=r"^data\.source = 'mnist79': .* there are 50$"):
        build(load(folder, EXACT + source))


def test_the_data_of_langevins_gradient_are_reported(folder, tmp_path):
    text = MODELS["lasso"].replace("scale = 0.02", 'kind = "langevin"\nstep = 1e-4\nbatch = 150')
    results = run_config(load(folder, SEQUENTIAL + text + RUN, draws=10), tmp_path / "out")
    assert steps(results).gradient_data == results.attrs["gradient_batch"] == 150
    plain = run_config(load(folder, SEQUENTIAL + MODELS["lasso"] + RUN, draws=10), tmp_path / "walk")
    assert steps(plain).gradient_data == 0


@pytest.mark.parametrize("kind", ["ica", "rj-logistic", "lasso"])
def test_models_that_copy_a_mapped_file_say_so_before(folder, monkeypatch, kind):
    monkeypatch.setattr("samplers.data.memory.allowed", lambda: 80_000)
    path = {"ica": "sound.csv", "lasso": "line.csv", "rj-logistic": "table.csv"}[kind]
    other = 'path = "x.npy"' + ("" if kind == "ica" else '\nlabels = "y.npy"')
    text = MODELS[kind].replace(f'path = "{path}"', other).replace("intercept = true\n", "")
    with pytest.raises(BadInput, match=r"^data\.path: .*x\.npy: model\..* copies the rows, which takes 48,000 bytes"):
        build(load(folder, EXACT + text))
    mapped = '[data]\npath = "x.npy"\nlabels = "y.npy"\n[model]\nprior_precision = 1.0\n'
    assert build(load(folder, EXACT + mapped)).model.n_data == N
