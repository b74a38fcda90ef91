"""Results for ArviZ: dimensions and values, netCDF files that are whole or refused, diagnostics with known answers."""

import math
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

from samplers.data import memory
from samplers.runs import results as results_module
from samplers.runs.results import (
    ParameterSummary,
    PosteriorSummary,
    collect,
    collect_run,
    from_netcdf,
    summary,
    to_netcdf,
)

DESIGN = '[test]\nkind = "sequential"\nn_data = 12214\n'


def chain(seed, draws=200, shift=0.0):
    rng = np.random.default_rng(seed)
    return {
        "theta": rng.normal(shift, 1.0, size=(draws, 3)),
        "w": rng.normal(size=(draws, 2, 2)),
        "k": rng.integers(0, 9, size=draws),
        "n_used": rng.integers(1, 500, size=draws),
        "n_looks": np.ones(draws, np.int32),
        "accepted": rng.random(draws) < 0.3,
    }


@pytest.fixture
def tree():
    return collect([chain(1), chain(2)], {"digest": "abc", "version": "0.1.0", "design": DESIGN})


# --- the tree ---------------------------------------------------------------------------------------------------------


def test_groups_dimensions_and_values(tree):
    chains = [chain(1), chain(2)]
    assert {*tree.children} == {"posterior", "sample_stats"}
    assert {*tree["posterior"].data_vars} == {"theta", "w", "k"}
    assert {*tree["sample_stats"].data_vars} == {"n_used", "n_looks", "accepted"}
    assert tree["posterior/theta"].dims == ("chain", "draw", "theta_dim_0")
    assert tree["posterior/w"].dims == ("chain", "draw", "w_dim_0", "w_dim_1")
    for name in chains[0]:
        group = "sample_stats" if name in tree["sample_stats"] else "posterior"
        values = tree[f"{group}/{name}"].values
        assert values.dtype == chains[0][name].dtype
        assert values.tobytes() == np.stack([c[name] for c in chains]).tobytes()
    assert tree.attrs == {"digest": "abc", "version": "0.1.0", "design": DESIGN}


def test_chains_of_different_lengths_are_cut_and_it_is_said():
    tree = collect([chain(1, 200), chain(2, 150), chain(3, 160)])
    assert tree["posterior"].sizes["draw"] == 150
    assert tree["posterior/k"].values[0].tolist() == chain(1, 200)["k"][:150].tolist()
    assert tree.attrs["note"] == "chains of 150 to 200 draws, cut to 150"
    assert summary(tree).text().endswith("3 chains of 150 draws; chains of 150 to 200 draws, cut to 150")
    assert "note" not in collect([chain(1), chain(2)]).attrs


def test_any_statistic_can_be_named():
    chains = [{"x": np.zeros(5), "wrong": np.ones(5, bool)}]
    assert {*collect(chains)["posterior"].data_vars} == {"x", "wrong"}
    tree = collect(chains, statistics=("wrong",))
    assert ({*tree["posterior"].data_vars}, {*tree["sample_stats"].data_vars}) == ({"x"}, {"wrong"})


def test_what_does_not_fit_together_is_refused(refuses):
    x = np.zeros((5, 2))
    refuses(lambda: collect([]), "no draws")
    refuses(lambda: collect([{"x": x}, {"x": x[:0]}]), "chain 1", "no draws")
    refuses(lambda: collect([{"x": x, "y": x[:4]}]), "chain 0", "numbers of draws")
    refuses(lambda: collect([{"x": np.array(1.0)}]), "chain 0", "numbers of draws")
    refuses(lambda: collect([{"x": x}, {"y": x}]), "chain 1", "'y'", "'x'")
    refuses(lambda: collect([{"x": x}, {"x": x, "y": x}]), "chain 1", "'y'")
    refuses(lambda: collect([{"x": x}, {"x": np.zeros((5, 3))}]), "chain 1", "x has shape (5, 3)", "(5, 2)")


def test_chains_of_a_run_keep_their_numbers_and_what_describes_it():
    found = {0: chain(0, 50), 2: chain(2, 40)}
    tree = collect_run(found, {"digest": "abc", "design": DESIGN, "config": {"not": "an attribute"}})
    np.testing.assert_array_equal(tree["posterior/theta"].sel(chain=2).values, found[2]["theta"])
    np.testing.assert_array_equal(tree["posterior/theta"].sel(chain=0).values, found[0]["theta"][:40])
    assert tree.attrs == {"digest": "abc", "design": DESIGN, "note": "chains of 40 to 50 draws, cut to 40"}


def test_importing_is_light():
    code = "import sys, samplers.runs.results; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "samplers.runs.results" in run.stdout.split()
    assert {*run.stdout.split()} & {"xarray", "arviz_base", "arviz_stats", "h5netcdf", "h5py", "pandas"} == set()


# --- netCDF -----------------------------------------------------------------------------------------------------------


def test_netcdf_round_trip(tree, tmp_path):
    to_netcdf(tree, tmp_path / "a.nc")
    found = from_netcdf(tmp_path / "a.nc")
    assert found.identical(tree)
    assert found["sample_stats/accepted"].dtype == bool
    assert found["posterior/theta"].values.tobytes() == tree["posterior/theta"].values.tobytes()
    assert found.attrs["design"] == DESIGN
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


def test_the_same_results_make_the_same_file(tmp_path):
    for name in ("a.nc", "b.nc"):
        to_netcdf(collect([chain(1)], {"digest": "abc"}), tmp_path / name)
        time.sleep(1.1)  # a time in the file would be another one
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_other_tools_read_it_and_theirs_is_read(tree, tmp_path):
    import h5py
    import xarray

    to_netcdf(tree, tmp_path / "a.nc")
    with h5py.File(tmp_path / "a.nc") as file:
        assert file["posterior/theta"][1, 2, 0] == chain(2)["theta"][2, 0]
    with xarray.open_datatree(tmp_path / "a.nc", engine="h5netcdf") as theirs:
        assert theirs.identical(tree)
    tree.to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    assert from_netcdf(tmp_path / "b.nc").identical(tree)


def test_damaged_files_are_refused_before_hdf5_sees_them(tree, tmp_path, refuses, monkeypatch):
    path = tmp_path / "a.nc"
    to_netcdf(tree, path)
    data = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("xarray.open_datatree", lambda *_, **__: pytest.fail("HDF5 was asked"))
        body = len(data) - len(results_module._SEAL) - 65
        for place in [0, body - 1, len(data) - 1, *np.random.default_rng(3).integers(body, size=60)]:
            path.write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
            refuses(lambda: from_netcdf(path), "a.nc", "checksum")
    for length in (0, 100, body // 2, body - 1):  # the checksum is cut off; HDF5 knows how long its file is
        path.write_bytes(data[:length])
        refuses(lambda: from_netcdf(path), "a.nc", "not a netCDF file")
    path.write_bytes(data)
    assert from_netcdf(path).identical(tree)


def test_limits_and_missing_files(tree, tmp_path, refuses, monkeypatch):
    path = tmp_path / "a.nc"
    with pytest.raises(FileNotFoundError, match=r"a\.nc"):
        from_netcdf(path)
    to_netcdf(tree, path)
    monkeypatch.setattr(memory, "MAX_BYTES", path.stat().st_size - 1)
    refuses(lambda: from_netcdf(path), "a.nc", "limit")
    big = collect([{"x": np.zeros(10**5)}])
    big.to_netcdf(path, engine="h5netcdf", encoding={"/posterior": {"x": {"zlib": True}, "draw": {"zlib": True}}})
    monkeypatch.setattr(memory, "MAX_BYTES", 10**6)
    assert path.stat().st_size < 10**6
    refuses(lambda: from_netcdf(path), "unpacks to 1,600,008 bytes", "limit")
    monkeypatch.setattr(memory, "MAX_BYTES", 10**7)
    monkeypatch.setattr(memory, "allowed", lambda: 2 * 10**6)
    refuses(lambda: from_netcdf(path), "a.nc: unpacks to 1,600,008 bytes, more than 1,000,000, half the memory here")


def test_a_small_array_in_a_huge_chunk_is_not_read(tmp_path, refuses, monkeypatch):
    path, size = tmp_path / "a.nc", 10**7
    with h5py.File(path, "w") as file:
        group = file.create_group("posterior")
        group.create_dataset("x", data=[1.0], maxshape=(None,), chunks=(size // 8,), compression="gzip")
    assert path.stat().st_size < 30_000
    monkeypatch.setattr(memory, "allowed", lambda: size)
    refuses(lambda: from_netcdf(path), "a.nc: a chunk of posterior/x unpacks to 10,000,000 bytes, more than 5,000,000")


def test_a_failed_write_leaves_the_old_file(tree, tmp_path, monkeypatch):
    path = tmp_path / "a.nc"
    to_netcdf(tree, path)
    before = path.read_bytes()
    for error in (RuntimeError("Can't write data (no space left on device)"), OSError(28, "No space left on device")):

        def full(self, *_, error=error, **__):
            raise error

        monkeypatch.setattr(type(tree), "to_netcdf", full)
        with pytest.raises(OSError, match=r"(?i)no space left on device.*a\.nc"):
            to_netcdf(tree, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.nc"]


# --- summary ----------------------------------------------------------------------------------------------------------


def test_white_noise_has_as_many_effective_draws_as_draws():
    draws = np.random.default_rng(4).normal(2.0, 3.0, size=(4, 2000))
    found = summary(collect([{"x": x} for x in draws]))
    assert (found.chains, found.draws, len(found.rows)) == (4, 2000, 1)
    row = found.rows[0]
    assert row.name == "x"
    assert row.mean == pytest.approx(draws.mean())
    assert row.sd == pytest.approx(draws.std(ddof=1))
    assert row.ess_bulk == pytest.approx(8000, rel=0.1)
    assert row.ess_tail == pytest.approx(8000, rel=0.1)
    assert row.mcse == pytest.approx(3.0 / math.sqrt(8000), rel=0.1)
    assert row.r_hat == pytest.approx(1.0, abs=0.005)


def test_an_autoregression_has_the_effective_size_of_theory():
    rng, rho = np.random.default_rng(5), 0.8
    noise = rng.normal(size=(4, 20_000)) * math.sqrt(1 - rho**2)
    x = np.empty_like(noise)
    x[:, 0] = rng.normal(size=4)
    for i in range(1, x.shape[1]):
        x[:, i] = rho * x[:, i - 1] + noise[:, i]
    row = summary(collect([{"x": chain} for chain in x])).rows[0]
    assert row.ess_bulk == pytest.approx(80_000 * (1 - rho) / (1 + rho), rel=0.15)
    assert row.mcse == pytest.approx(math.sqrt((1 + rho) / (1 - rho) / 80_000), rel=0.1)


def test_chains_apart_have_a_large_r_hat():
    rows = summary(collect([chain(seed, shift=5.0 * (seed == 2)) for seed in range(4)])).rows
    r_hat = {row.name: row.r_hat for row in rows}
    assert min(r_hat[f"theta[{i}]"] for i in range(3)) > 1.5
    assert r_hat["w[0, 1]"] == pytest.approx(1.0, abs=0.05)


def test_rows_are_named_by_their_place(tree):
    rows = summary(tree).rows
    assert [row.name for row in rows] == [
        "theta[0]", "theta[1]", "theta[2]", "w[0, 0]", "w[0, 1]", "w[1, 0]", "w[1, 1]", "k",
    ]  # fmt: skip
    assert rows[5].mean == pytest.approx(np.mean([chain(1)["w"][:, 1, 0], chain(2)["w"][:, 1, 0]]))


@pytest.mark.parametrize("values", [np.ones((2, 50)), np.zeros((2, 50), bool), np.ones((1, 1)), np.ones((3, 2))])
def test_a_parameter_that_never_moves_is_no_error(values):
    row = summary(collect([{"x": x} for x in values])).rows[0]
    assert row.mean == values.mean()
    assert row.sd == 0.0 or (values.size == 1 and math.isnan(row.sd))
    assert math.isnan(row.r_hat)


def test_one_chain_and_draws_that_are_not_finite():
    x = np.random.default_rng(1).normal(size=(100, 2))
    x[3, 1] = np.nan
    good, bad = summary(collect([{"x": x}])).rows
    assert good.ess_bulk > 50
    assert [math.isnan(value) for value in bad[1:]] == [True] * 6


def test_the_table():
    rows = (
        ParameterSummary("theta[10]", 1.23456, 0.5, 0.0123456, 812.4, 77.6, 1.01),
        ParameterSummary("k", -2e-7, 1.0, 0.0, 4000, 4000, math.nan),
    )
    assert PosteriorSummary(rows, 1, 5000, "cut").text().splitlines() == [
        "name         mean   sd     mcse  ess_bulk  ess_tail  r_hat",
        "theta[10]   1.235  0.5  0.01235       812        78  1.010",
        "k          -2e-07    1        0      4000      4000    nan",
        "1 chain of 5,000 draws; cut",
    ]


# --- names ------------------------------------------------------------------------------------------------------------


def test_names_are_coordinates_of_what_they_are_about(tmp_path):
    tree = collect([chain(1), chain(2)], names=["a", "b é", "c"])
    assert tree["posterior/theta"].dims == ("chain", "draw", "parameter")
    assert tree["posterior/w"].dims == ("chain", "draw", "w_dim_0", "w_dim_1")
    np.testing.assert_array_equal(tree["posterior/theta"].sel(parameter="c").values[1], chain(2)["theta"][:, 2])
    to_netcdf(tree, tmp_path / "r.nc")
    names = [row.name for row in summary(from_netcdf(tmp_path / "r.nc")).rows]
    assert names == ["theta[a]", "theta[b é]", "theta[c]", "w[0, 0]", "w[0, 1]", "w[1, 0]", "w[1, 1]", "k"]


def test_a_run_s_names_and_active_coefficients_come_from_its_description():
    theta = np.array([[0.0, 1.5], [2.0, 1.5]])
    tree = collect_run({0: {"theta": theta}}, {"digest": "abc", "names": ["a", "b"], "model": "rj-logistic"})
    assert tree["posterior/active"].sel(parameter="a").values.tolist() == [[False, True]]
    assert tree["posterior/active"].sel(parameter="b").values.tolist() == [[True, True]]
    assert "names" not in tree.attrs


def test_the_worst_parameters_are_those_with_the_fewest_effective_draws():
    rows = tuple(
        ParameterSummary(name, 0.0, 1.0, 0.1, ess, ess, 1.0)
        for name, ess in zip("abcd", (50, math.nan, 10, 30), strict=True)
    )
    whole = PosteriorSummary(rows, 2, 100, "cut")
    assert [row.name for row in whole.worst(3).rows] == ["c", "d", "a"]
    assert (
        whole.worst(3)
        .text()
        .endswith("2 chains of 100 draws; the 3 parameters of 4 with the fewest effective draws; cut")
    )
    assert whole.worst(4) == whole


def test_chains_that_do_not_agree_are_told():
    rng = np.random.default_rng(1)
    apart = [draws_at(rng.normal(k, 1.0, (500, 1))) for k in range(2)]
    found = summary(collect(apart))
    assert found.remarks[0] == "r_hat above 1.01 for 1 of 1 parameters: run longer"
    together = [draws_at(rng.normal(0.0, 1.0, (500, 1))) for _ in range(2)]
    assert summary(collect(together)).remarks == []


def draws_at(theta):
    """Draws of a chain at these states."""
    steps = theta.shape[0]
    return {
        "theta": theta,
        "accepted": np.ones(steps, dtype=bool),
        "n_used": np.full(steps, 10),
        "n_looks": np.ones(steps, dtype=np.int64),
    }
