"""Trial pairs from posteriors of other tools: both layouts of ArviZ, in memory and in files; refusals in one line."""

import io
import json
import math
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray

from designer import TrialRun
from designer.pairs.stationary import acceptance_at
from samplers.study.other_tools import posterior_pairs as interop
from samplers.study.other_tools.posterior_pairs import rescaled, trial_from_posterior

CHAINS, DRAWS, N, D = 2, 120, 700, 4
X = np.random.default_rng(1).normal(size=(N, D))
Y = np.random.default_rng(2).normal(size=N)


def draws(seed=3):
    """Exact draws of the posterior of a linear regression with unit noise and a flat prior."""
    rng, information = np.random.default_rng(seed), X.T @ X
    z = rng.normal(size=(CHAINS, DRAWS, D))
    return np.linalg.solve(information, X.T @ Y) + z @ np.linalg.inv(np.linalg.cholesky(information))


def log_likelihood(theta):
    return -0.5 * (Y - theta @ X.T) ** 2


def log_prior(theta):
    return -0.5 * theta**2 / 0.09


def groups(theta):
    """The same posterior as ArviZ has it: two observed variables, one of them with two dimensions."""
    values, first = log_likelihood(theta), 300
    likelihood = xarray.Dataset(
        {
            "a": (("chain", "draw", "obs_a"), values[:, :, :first]),
            "b": (("chain", "draw", "row", "column"), values[:, :, first:].reshape(CHAINS, DRAWS, 4, 100)),
        },
        coords={"chain": range(CHAINS), "draw": range(DRAWS)},
    )
    prior = xarray.Dataset({"beta": (("chain", "draw", "k"), log_prior(theta))})
    posterior = xarray.Dataset({"beta": (("chain", "draw", "k"), theta)})
    return {"posterior": posterior, "log_likelihood": likelihood, "log_prior": prior}


@pytest.fixture(scope="module")
def theta():
    return draws()


@pytest.fixture(scope="module")
def tree(theta):
    return xarray.DataTree.from_dict(groups(theta))


def old_file(path, given):
    """As ArviZ 0.x writes InferenceData: an empty root, then group by group."""
    xarray.Dataset(attrs={"created_by": "test"}).to_netcdf(path, engine="h5netcdf")
    for name, group in given.items():
        packed = {variable: {"zlib": True} for variable in group.data_vars}
        group.to_netcdf(path, mode="a", group=name, engine="h5netcdf", encoding=packed)
    return path


def expected(theta, first, second):
    """The trial run, literally."""
    flat = theta.reshape(-1, D)
    terms = log_likelihood(flat[second]) - log_likelihood(flat[first])
    away = terms - terms.mean(axis=1, keepdims=True)
    c = log_prior(flat[first]).sum(axis=1) - log_prior(flat[second]).sum(axis=1)
    return terms.mean(axis=1), terms.std(axis=1), c, (away**3).mean(axis=1) / terms.std(axis=1) ** 3


def same(trial, wanted, rtol=1e-9):
    for name, values in zip(("mu", "sigma", "log_ratio", "skew"), wanted, strict=True):
        np.testing.assert_allclose(getattr(trial, name), values, rtol=rtol, atol=1e-12)


class InferenceData:
    """What of ArviZ 0.x's class matters: groups by name."""

    def __init__(self, given):
        self.given = given

    def __contains__(self, name):
        return name in self.given

    def __getitem__(self, name):
        return self.given[name]


@pytest.mark.parametrize("layout", ["DataTree", "InferenceData", "new file", "old file", "file object"])
def test_every_layout_gives_the_same_pairs(layout, theta, tree, tmp_path, monkeypatch):
    monkeypatch.setattr(interop, "BLOCK_VALUES", 600)  # many blocks, cut along both dimensions of `b`
    path = tmp_path / "posterior.nc"
    if layout in ("new file", "file object"):
        tree.to_netcdf(path, engine="h5netcdf")
    source = {
        "DataTree": lambda: tree,
        "InferenceData": lambda: InferenceData(groups(theta)),
        "new file": lambda: path,
        "old file": lambda: str(old_file(path, groups(theta))),
        "file object": lambda: io.BytesIO(path.read_bytes()),
    }[layout]()
    found = trial_from_posterior(np.random.default_rng(0), source, count=2 * (DRAWS - 1))
    first = np.arange(CHAINS * DRAWS).reshape(CHAINS, DRAWS)[:, :-1].ravel()
    assert found.trial.n_data == N and found.scale == 1.0
    same(found.trial, expected(theta, first, first + 1))


def test_the_log_ratio_is_minus_the_usual_one(theta, tree):
    """A of a pair is the log ratio of the posterior densities."""
    found = trial_from_posterior(np.random.default_rng(0), tree, count=7)
    flat = theta.reshape(-1, D)
    density = log_likelihood(flat).sum(axis=1) + log_prior(flat).sum(axis=1)
    starts = np.arange(CHAINS * DRAWS).reshape(CHAINS, DRAWS)[:, :-1].ravel()
    first = starts[np.linspace(0, starts.size - 1, 7).round().astype(int)]
    np.testing.assert_allclose(found.trial.log_acceptance, density[first + 1] - density[first], atol=1e-9)


def test_without_a_prior_it_is_said(theta):
    found = trial_from_posterior(np.random.default_rng(0), groups(theta)["log_likelihood"])
    assert not found.trial.log_ratio.any()
    assert "no group log_prior" in found.remarks[0]


def test_some_variables_only(tree, refuses):
    found = trial_from_posterior(np.random.default_rng(0), tree, count=5, variables=["b"])
    assert found.trial.n_data == 400
    assert trial_from_posterior(np.random.default_rng(0), tree, count=5, variables=["b", "b"]).trial == found.trial
    refuses(lambda: trial_from_posterior(np.random.default_rng(0), tree, variables=["z"]), "no variable 'z'", "a, b")


def test_random_pairs_follow_the_generator_and_the_theory(tree):
    """For a normal posterior of a model that fits, mean kappa² = 2 D and var A = D; A is as often above 0 as below."""
    likelihood = tree["log_likelihood"].to_dataset()
    make = lambda seed: trial_from_posterior(np.random.default_rng(seed), likelihood, "random", 2000)  # noqa: E731
    found = make(5)
    assert found.trial == make(5).trial != make(6).trial
    squares, a = found.trial.kappa**2, found.trial.log_acceptance
    # pairs share the 240 draws: their number counts
    assert squares.mean() == pytest.approx(2 * D, abs=4 * squares.std() / math.sqrt(CHAINS * DRAWS / 2) + 0.1 * 2 * D)
    assert a.var() == pytest.approx(D, rel=0.4)
    assert abs(a.mean()) < 4 * math.sqrt(D / (CHAINS * DRAWS / 2))
    assert any("draws are not proposals" in remark for remark in found.remarks)


def test_nearest_is_nearest(theta):
    found = trial_from_posterior(np.random.default_rng(0), groups(theta)["log_likelihood"], "nearest", CHAINS * DRAWS)
    values = log_likelihood(theta.reshape(-1, D))
    kappa = np.array([np.std(values - row, axis=1) for row in values]) * N / math.sqrt(N - 1)
    np.fill_diagonal(kappa, np.inf)
    np.testing.assert_allclose(found.trial.kappa, kappa.min(axis=1), rtol=1e-6)


def test_nearest_ones_are_sought_among_so_many_draws_on_so_many_data(theta, monkeypatch):
    """However many are asked for, and however the file is cut."""
    monkeypatch.setattr(interop, "NEIGHBOURS", 50)
    monkeypatch.setattr(interop, "LOOKED_AT", 100)
    likelihood, found = groups(theta)["log_likelihood"], []
    for values in (10**6, 600):
        monkeypatch.setattr(interop, "BLOCK_VALUES", values)
        found.append(trial_from_posterior(np.random.default_rng(0), likelihood[["a"]], "nearest", 10**5).trial)
    assert len(found[0]) == 50
    np.testing.assert_allclose(found[0].kappa, found[1].kappa, rtol=1e-9)


def test_repeated_draws_are_left_out(theta):
    stuck = theta.copy()
    stuck[0, 1:61] = stuck[0, 0]
    found = trial_from_posterior(np.random.default_rng(0), groups(stuck)["log_likelihood"], count=10**4)
    assert len(found.trial) == 2 * (DRAWS - 1) - 60
    assert "60 pairs of equal draws (rejected steps) left out" in found.remarks
    near = trial_from_posterior(np.random.default_rng(0), groups(stuck)["log_likelihood"], "nearest", 200)
    assert near.trial.kappa.min() > 0.01


def test_rescaling_keeps_skewness_and_follows_stationarity(tree):
    plain = trial_from_posterior(np.random.default_rng(0), tree, "random", 2000).trial
    found = trial_from_posterior(np.random.default_rng(0), tree, "random", 2000, acceptance=0.3)
    assert float(acceptance_at(found.trial.kappa).mean()) == pytest.approx(0.3, rel=1e-9)
    np.testing.assert_allclose(found.trial.kappa, found.scale * plain.kappa)
    assert np.array_equal(found.trial.skew, plain.skew)
    z = (found.trial.log_acceptance + found.trial.kappa**2 / 2) / found.trial.kappa
    assert abs(z.mean()) < 4 / math.sqrt(2000) and z.std() == pytest.approx(1.0, abs=4 / math.sqrt(4000))
    half = rescaled(np.random.default_rng(1), plain, 0.5)
    np.testing.assert_allclose(half.kappa, plain.kappa / 2)


def test_rescaled_draws_are_like_the_pairs_of_a_random_walk():
    """theta' = theta + s xi with the posterior's covariance, theta drawn from it: the same kappa and acceptance."""
    rng, information = np.random.default_rng(7), X.T @ X
    root = np.linalg.inv(np.linalg.cholesky(information))
    mode, s, count = np.linalg.solve(information, X.T @ Y), 2.38 / math.sqrt(D), 4000
    now = mode + rng.normal(size=(count, D)) @ root
    terms = log_likelihood(now + s * rng.normal(size=(count, D)) @ root) - log_likelihood(now)
    walk = TrialRun(N, terms.mean(axis=1), terms.std(axis=1))
    accepted = np.exp(np.minimum(walk.log_acceptance, 0.0))
    likelihood = groups(draws(9))["log_likelihood"]
    found = trial_from_posterior(rng, likelihood, "random", 2000, acceptance=float(accepted.mean()))
    assert found.scale == pytest.approx(
        s / math.sqrt(2.0), rel=0.08
    )  # two draws differ by sqrt(2) times the covariance
    assert found.trial.kappa.mean() == pytest.approx(walk.kappa.mean(), rel=0.06)
    assert np.log(found.trial.kappa).std() == pytest.approx(np.log(walk.kappa).std(), rel=0.15)
    assert found.trial.log_acceptance.mean() == pytest.approx(walk.log_acceptance.mean(), rel=0.15)


def test_a_model_that_does_not_fit_is_told(theta):
    """Likelihoods raised to a power: kappa² is that many times too large for the spread of the log posterior."""
    likelihood = groups(theta)["log_likelihood"]
    found = trial_from_posterior(np.random.default_rng(0), likelihood, "random", 500)
    assert not any("does not fit" in remark for remark in found.remarks)
    away = np.random.default_rng(1).normal(size=N) * np.random.default_rng(2).normal(size=(CHAINS, DRAWS, 1))
    noisy = xarray.Dataset(
        {"y": (("chain", "draw", "i"), log_likelihood(theta) + 0.5 * (away - away.mean(-1)[..., None]))}
    )
    found = trial_from_posterior(np.random.default_rng(0), noisy, "random", 500)
    assert any("does not fit" in remark for remark in found.remarks)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_used_is_refused_in_a_line(theta, tree, tmp_path, refuses):
    rng, values = np.random.default_rng(0), log_likelihood(theta)

    def of(source, *args, **options):
        return lambda: trial_from_posterior(rng, source, *args, **options)

    def dataset(dims, array):
        return xarray.Dataset({"y": (dims, array)})

    refuses(of(tree, "all"), "pairs = 'all'", "nearest")
    refuses(of(tree, count=0), "count = 0")
    refuses(of(tree, acceptance=0.3, scale=2.0), "not both")
    refuses(of(tree, acceptance=1.5), "acceptance = 1.5")
    refuses(of(tree, scale=0.0), "scale = 0.0")
    refuses(of(tree, most_bytes=1000), "more than the limit of 1,000")
    refuses(of(xarray.DataTree.from_dict({"posterior": groups(theta)["posterior"]})), "no group log_likelihood", "PyMC")
    refuses(of(3.0), "float holds no posterior")
    refuses(of(xarray.Dataset()), "holds no variable")
    refuses(of(dataset(("sample", "i"), values[0])), "dimensions", "chain, draw")
    refuses(of(dataset(("chain", "draw"), values.sum(-1))), "one value per draw")
    refuses(of(dataset(("chain", "draw", "i"), values > 0)), "bool")
    refuses(of(dataset(("chain", "draw", "i"), values[:1, :1])), "no two to compare")
    refuses(of(dataset(("chain", "draw", "i"), np.zeros((1, 5, 9)))), "equal")
    refuses(of(dataset(("chain", "draw", "i"), np.where(values < -5, -np.inf, values))), "not finite")
    other = {
        "log_likelihood": groups(theta)["log_likelihood"],
        "log_prior": dataset(("chain", "draw"), np.zeros((2, 9))),
    }
    refuses(of(InferenceData(other)), "log_prior", "other chains and draws")
    refuses(of(tmp_path / "none.nc"), "none.nc", "no such file")
    (tmp_path / "text.nc").write_text("not a netCDF file")
    refuses(of(tmp_path / "text.nc"), "text.nc", "is not a netCDF file")
    groups(theta)["posterior"].to_netcdf(tmp_path / "bare.nc", engine="h5netcdf")
    refuses(of(tmp_path / "bare.nc"), "bare.nc", "no group log_likelihood")


def posterior_of_nothing(path, group, sizes, chunks, *, grows=False):
    """Declares very much and stores nothing."""
    import h5netcdf

    with h5netcdf.File(path, "a") as file:
        place = file.create_group(group)
        last = [*sizes][-1]
        place.dimensions = sizes | ({last: None} if grows else {})
        if grows:
            place.resize_dimension(last, sizes[last])
        place.create_variable("y", tuple(sizes), float, chunks=chunks, compression="gzip")
    return path


def test_small_files_that_unpack_to_very_much_are_refused(theta, tmp_path, refuses):
    prior = old_file(tmp_path / "prior.nc", {"log_likelihood": groups(theta)["log_likelihood"]})
    posterior_of_nothing(prior, "log_prior", {"chain": 2, "draw": DRAWS, "k": 10**9}, (2, DRAWS, 1000))
    few = {"chain": 1, "draw": 50, "i": 20}
    chunk = posterior_of_nothing(tmp_path / "chunk.nc", "log_likelihood", few, (1, 50, 10**6), grows=True)
    many = {"chain": 1, "draw": 10**9, "i": 8}
    draws = posterior_of_nothing(tmp_path / "draws.nc", "log_likelihood", many, (1, 10**5, 8))
    data = posterior_of_nothing(
        tmp_path / "data.nc", "log_likelihood", {"chain": 1, "draw": 10, "i": 10**10}, (1, 10, 10**4)
    )
    says = {
        prior: "log_prior: 1,920",
        chunk: "in chunks of more",
        draws: "1,000,000,000 draws",
        data: "800,000,000,000",
    }
    for path, what in says.items():
        assert path.stat().st_size < 3 * 10**6
        refuses(lambda path=path: trial_from_posterior(np.random.default_rng(0), path), path.name, what)


def test_odd_files_are_refused_in_a_line(theta, tmp_path, refuses):
    with h5py.File(tmp_path / "array.nc", "w") as file:
        file["log_likelihood"] = np.zeros(5)
    with h5py.File(tmp_path / "plain.nc", "w") as file:
        file.create_group("log_likelihood")["y"] = np.zeros((2, 5, 8))
    values = log_likelihood(theta)
    values[0, :2, 0] = 1e300, -1e300
    large = xarray.Dataset({"y": (("chain", "draw", "i"), values)})
    large.to_netcdf(tmp_path / "large.nc", group="log_likelihood", engine="h5netcdf")
    (tmp_path / "folder.nc").mkdir()
    says = {"array": "is not a group", "plain": "not chain, draw", "large": "too large", "folder": "Is a directory"}
    for name, what in says.items():
        path = tmp_path / f"{name}.nc"
        refuses(lambda path=path: trial_from_posterior(np.random.default_rng(0), path), path.name, what)
    refuses(lambda: trial_from_posterior(np.random.default_rng(0), {"log_likelihood": 3}), "int is not a group")


def test_a_truncated_file_is_refused(tree, tmp_path, refuses):
    tree.to_netcdf(tmp_path / "whole.nc", engine="h5netcdf")
    (tmp_path / "part.nc").write_bytes((tmp_path / "whole.nc").read_bytes()[:5000])
    refuses(lambda: trial_from_posterior(np.random.default_rng(0), tmp_path / "part.nc"), "part.nc", "netCDF")


def test_other_files_of_the_machine_are_not_read(tree, tmp_path, refuses):
    """HDF5 would follow links and external storage to any file: a posterior that came over the web must not."""
    tree.to_netcdf(tmp_path / "secret.nc", engine="h5netcdf")
    (tmp_path / "bytes").write_bytes(bytes(2 * 5 * 8))
    with h5py.File(tmp_path / "link.nc", "w") as file:
        file["log_likelihood"] = h5py.ExternalLink(str(tmp_path / "secret.nc"), "/log_likelihood")
    with h5py.File(tmp_path / "storage.nc", "w") as file:
        outside = [(str(tmp_path / "bytes"), 0, h5py.h5f.UNLIMITED)]
        file.create_group("log_likelihood").create_dataset("y", (2, 5, 8), dtype="u1", external=outside)
    for name in ("link.nc", "storage.nc"):
        refuses(lambda name=name: trial_from_posterior(np.random.default_rng(0), tmp_path / name), name, "other files")


# --- with ArviZ -------------------------------------------------------------------------------------------------------


def test_results_open_in_arviz_and_come_back(tmp_path):
    """Our results.nc is a posterior for ArviZ, and what ArviZ makes is one for us."""
    import arviz_base

    from samplers.runs.results import collect, to_netcdf

    rng = np.random.default_rng(0)
    chains = [{"theta": rng.normal(size=(50, 2)), "n_used": np.full(50, 500), "accepted": rng.random(50) < 0.3}] * 2
    to_netcdf(collect(chains, names=["slope", "noise"]), tmp_path / "results.nc")
    opened = xarray.open_datatree(tmp_path / "results.nc", engine="h5netcdf")
    assert arviz_base.extract(opened).sizes["sample"] == 100
    assert opened["posterior/theta"].dims == ("chain", "draw", "parameter")
    assert opened["posterior/parameter"].values.tolist() == ["slope", "noise"]
    assert np.array_equal(opened["posterior/theta"].values[1], chains[1]["theta"])
    opened.close()
    made = arviz_base.from_dict(
        {"posterior": {"x": rng.normal(size=(2, 30))}, "log_likelihood": {"y": rng.normal(size=(2, 30, 40))}}
    )
    assert len(trial_from_posterior(rng, made, count=12).trial) == 12


def test_importing_is_light():
    code = "import sys, json, samplers.study.other_tools.posterior_pairs; print(json.dumps([*sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*json.loads(run.stdout)} & {"xarray", "arviz_base", "h5netcdf", "h5py", "pandas"} == set()
