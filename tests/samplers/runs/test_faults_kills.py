"""Killed, interrupted, damaged: what was saved is used, and the run goes on as if nothing had happened."""

from __future__ import annotations

import csv
import os
import signal
import subprocess

import numpy as np
import pytest

from app.cli.main import main
from benchmarks.reliability.faults import CASES, disturb, make_data
from samplers import ConcentrationTest, Logistic, RandomWalk, run
from samplers.adapt.redesign import logs_in
from samplers.chains.draws import ChainStopped
from samplers.config.config import SamplerConfig
from samplers.experiments.framework import running
from samplers.runs.checksummed_file import Damaged, read
from samplers.runs.results import to_netcdf
from samplers.runs.run import audit_config, build, collect_pairs, run_config
from samplers.runs.store import DamagedFile, Store
from tests.commands import austerity, finished, wait_for
from tests.signals import heed_interrupts


@pytest.fixture
def folder(tmp_path):
    make_data(tmp_path)
    for name, text in CASES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


def test_kills_leave_no_trace(tmp_path):
    """The real command, killed as it starts, saves, and writes results; `benchmarks.reliability.faults` does more."""
    found = disturb(tmp_path, 3, 1, ["fused"], ["begin", "checkpoint", "results"])
    assert sum(found.kills.values()) == 3
    assert found.resumes >= 2
    assert (found.refused, found.damaged, found.different) == (0, 0, 0)
    assert len(found.kills) > 1, found  # at different stages


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("left", [[], ["lock"], ["lock", ".run.bin.0a1b2c3d.tmp"], ["cluster.marker.0a1b2c3d"]])
def test_a_run_killed_before_its_first_file_can_be_started_again(folder, capsys, left, resume):
    (folder / "out").mkdir()
    for name in left:
        (folder / "out" / name).touch()
    command = ["run", str(folder / "fused.toml"), "--draws", "20", "--chains", "1", "--output", str(folder / "out")]
    assert main([*command, *["--resume"] * resume]) == 0, capsys.readouterr().err
    assert (folder / "out" / "results.nc").exists()
    assert list((folder / "out").glob(".*.tmp")) == []


def test_half_written_results_of_a_killed_run_are_removed_and_nothing_else(folder):
    config = SamplerConfig.load(folder / "fused.toml", draws=20)
    run_config(config, folder / "out")
    (folder / "out" / ".results.nc.0a1b2c3d.tmp").write_bytes(b"half")
    (folder / "out" / "mine.tmp").write_bytes(b"whole")
    run_config(config, folder / "out", resume=True)
    assert [path.name for path in (folder / "out").glob("*.tmp")] == ["mine.tmp"]


def test_a_description_that_was_removed_as_advised_is_made_again(folder, capsys):
    config = SamplerConfig.load(folder / "fused.toml", draws=50)
    whole = run_config(config, folder / "out")["posterior/theta"].values
    (folder / "out" / "run.bin").write_bytes(b"damaged")
    command = ["run", str(folder / "fused.toml"), "--draws", "50", "--output", str(folder / "out"), "--resume"]
    assert main(command) == 2
    assert "run.bin: damaged; if you are sure of the settings, remove it and resume" in capsys.readouterr().err
    (folder / "out" / "run.bin").unlink()
    assert main(command) == 0
    np.testing.assert_array_equal(run_config(config, folder / "out", resume=True)["posterior/theta"].values, whole)
    (folder / "out" / "run.bin").unlink()
    assert main([*command, "--seed", "6"]) == 2  # the checkpoints are not of this run
    assert "holds another run (its checkpoints are of " in capsys.readouterr().err
    assert not (folder / "out" / "run.bin").exists()


# --- signals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "the terminal was closed"),
    ],
)
def test_a_signal_stops_and_saves_and_the_run_goes_on(folder, number, code, words):
    output = folder / "out"
    command = austerity("run", folder / "fused.toml", "--draws", 10**8, "--output", output, "--quiet")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts)
    wait_for(lambda: len(list(output.glob("chain-*/state-*.bin"))) >= 3, process)
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert process.returncode == code
    assert said == f"austerity: {words}. Progress is saved; continue with --resume.\n"
    steps = [Store(output).chain(number).latest().step for number in Store(output).chains()]
    config = SamplerConfig.load(folder / "fused.toml", draws=max(steps) + 300)
    resumed = run_config(config, output, resume=True)["posterior/theta"].values
    np.testing.assert_array_equal(resumed, run_config(config, folder / "whole")["posterior/theta"].values)


# --- damage -----------------------------------------------------------------------------------------------------------


def test_every_truncation_and_every_flipped_bit_of_a_checkpoint_is_seen(folder):
    """Of a real run; the checkpoint before is used."""
    config = SamplerConfig.load(folder / "fused.toml", draws=300, chains=1, checkpoint_seconds=0.0)
    run_config(config, folder / "out")
    chain = Store(folder / "out").chain(0)
    *_, before, last = sorted(chain.directory.glob("state-*.bin"))
    data, step = last.read_bytes(), int(before.name[6:-4])

    def refused(number: int) -> None:
        with pytest.raises(Damaged):
            read(last)
        if number % 997 == 0:
            with pytest.warns(DamagedFile, match=last.name):
                assert chain.latest().step == step

    with last.open("r+b", buffering=0) as file:
        for place in range(8 * len(data)):
            byte, bit = divmod(place, 8)
            os.pwrite(file.fileno(), bytes([data[byte] ^ 1 << bit]), byte)
            refused(place)
            os.pwrite(file.fileno(), data[byte : byte + 1], byte)
        assert chain.latest().step > step
        for length in reversed(range(len(data))):
            file.truncate(length)
            refused(length)


def test_the_command_goes_on_from_the_checkpoint_before_the_damaged_one(folder):
    """With a line for each file that it refused, and the results of a run that nothing happened to."""
    output, draws = folder / "out", ["--draws", 300, "--chains", 2, "--quiet"]
    config = SamplerConfig.load(folder / "fused.toml", draws=300, chains=2, checkpoint_seconds=0.0)
    to_netcdf(run_config(config, output), folder / "whole.nc")
    last = max((output / "chain-0000").glob("state-*.bin"))
    last.write_bytes(last.read_bytes()[:-1])
    ended = finished(austerity("run", folder / "fused.toml", "--output", output, "--resume", *draws))
    assert ended.returncode == 0
    assert ended.stderr == f"austerity: {last}: is truncated or altered; not used\n"
    assert (output / "results.nc").read_bytes() == (folder / "whole.nc").read_bytes()


def test_a_damaged_part_of_an_experiment_is_computed_again_or_is_the_same(tmp_path):
    """Bits flipped all over the file: those that matter are seen, and none of them is an error."""
    values = {"curve": np.arange(50.0), "note": "text", "seconds": 1.5}
    data, path = running._packed(values, "settings and code"), tmp_path / "part.npz"
    path.write_bytes(data)
    refused = 0
    with path.open("r+b", buffering=0) as file:
        for place in range(0, 8 * len(data), 5):
            byte, bit = divmod(place, 8)
            os.pwrite(file.fileno(), bytes([data[byte] ^ 1 << bit]), byte)
            found = running._read(path, "settings and code")
            refused += found is None
            if found is not None:
                assert np.array_equal(found.pop("curve"), values["curve"])
                assert found == {"note": "text", "seconds": 1.5}
            os.pwrite(file.fileno(), data[byte : byte + 1], byte)
    assert running._read(path, "settings and code")["note"] == "text"
    assert refused > len(data) // 2


# --- what is said -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seed = 5", "seed = 6", "run.seed was 5, is 6)"),
        ("epsilon = 0.02", "epsilon = 0.3\nalpha = 1.0", "test.alpha was 0.5, is 1.0, test.epsilon was 0.02, is 0.3)"),
        ("[data]", "[schedule]\nsteps = [5]\nepsilon = [0.1]\nm = [50]\n[data]", "schedule.m was not given, is [50]"),
    ],
)
def test_a_refused_resume_says_which_entries_differ(folder, refuses, old, new, told):
    text = CASES["fused"]
    run_config(SamplerConfig.load(folder / "fused.toml", draws=20), folder / "out")
    assert old in text
    (folder / "fused.toml").write_text(text.replace(old, new))
    other = SamplerConfig.load(folder / "fused.toml", draws=20)
    refuses(lambda: run_config(other, folder / "out", resume=True), "another run (", told)


def test_a_refused_resume_says_which_part_of_the_data_is_another(folder, refuses):
    config = SamplerConfig.load(folder / "fused.toml", draws=20)
    run_config(config, folder / "out")
    path = folder / "data.npz"
    with np.load(path) as data:
        x, y = data["x"], data["y"]

    def told(*words: str) -> None:
        refuses(lambda: run_config(config, folder / "out", resume=True), "another run (", *words)

    np.savez(path, x=x, y=~y)
    told(f"(labels of {path} was 2,000 (digest ", "), is 2,000 (digest ")
    x[7, 1] += 1e-9
    np.savez(path, x=x, y=y)
    told(f"(rows of {path} was 2,000 × 3 (digest ", "), is 2,000 × 3 (digest ")
    (folder / "fused.toml").write_text(CASES["fused"].replace("n_data = 2000", "n_data = 1999"))
    config = SamplerConfig.load(folder / "fused.toml", draws=20)
    np.savez(path, x=x[1:], y=y[1:])
    told(
        f"labels of {path} was 2,000 (",
        "is 1,999 (",
        f"rows of {path} was 2,000 × 3 (",
        "test.n_data was 2000, is 1999",
    )
    np.savez(path, x=x, y=y)


def test_a_refused_resume_of_python_objects_says_which_field_is_another(tmp_path, refuses):
    x = np.random.default_rng(0).standard_normal((300, 2))
    y = x[:, 0] > 0

    def go(y=y, scale=0.2, m=50, **more) -> None:
        model, walk = Logistic.from_data(x, y, 1.0), RandomWalk.isotropic(scale, 2)
        test = ConcentrationTest(m)
        run(model, walk, test, start=np.zeros(2), draws=9, chains=1, output=tmp_path / "out", **more)

    go()
    refuses(lambda: go(m=60, resume=True), "holds another run (test.m was 50, is 60)")
    refuses(lambda: go(scale=0.3, seed=4, resume=True), "(proposal.", ", seed was 0, is 4)")
    refuses(lambda: go(y=~y, resume=True), "(model.", "was 300", "(digest ")


def test_a_broken_config_is_named(folder, capsys):
    (folder / "fused.toml").write_text("[test\n")
    assert main(["run", str(folder / "fused.toml"), "--output", str(folder / "out")]) == 2
    assert capsys.readouterr().err.startswith(f"austerity: {folder / 'fused.toml'}: broken TOML: ")


@pytest.mark.filterwarnings("ignore::samplers.runs.store.DamagedFile")
def test_logs_of_designs_keep_the_numbers_of_their_chains(folder):
    """Chain 0 has lost all it had; the others are still 1 and 2, in the log and in the results."""
    config = SamplerConfig.load(folder / "redesign.toml", draws=100, warmup=420)
    whole = logs_in(run_config(config, folder / "out").attrs)
    for path in (folder / "out" / "chain-0000").glob("*.bin"):
        path.write_bytes(b"")
    results = run_config(config, folder / "out", resume=True, cancelled=lambda: True)
    assert results["posterior"].chain.values.tolist() == [1, 2]
    assert logs_in(results.attrs) == whole[1:]
    to_netcdf(results, folder / "results.nc")
    with (folder / "out" / "redesign.csv").open() as file:
        assert {row["chain"] for row in csv.DictReader(file)} == {"1", "2"}


# --- terms that are not finite ----------------------------------------------------------------------------------------


class Cliff:
    """A model with one datum whose log-likelihood is lost beyond a point; a batch seldom has it, a full pass always."""

    def __init__(self, model, edge: float) -> None:
        self.model, self.edge = model, edge

    def __getattr__(self, name):
        return getattr(self.model, name)

    def terms(self, theta, theta_new, indices):
        values = np.array(self.model.terms(theta, theta_new, indices))
        values[(indices == 7) & (theta_new[0] > self.edge)] = np.nan
        return values

    def log_likelihood(self, theta, indices):
        values = np.array(self.model.log_likelihood(theta, indices))
        values[(np.arange(self.model.n_data)[indices] == 7) & (theta[0] > self.edge)] = np.nan
        return values


@pytest.fixture
def cliff(folder, monkeypatch):
    """A config whose chain comes to the cliff after some hundred steps, in the midst of a block."""
    text = CASES["redesign"].replace("m = 1000\nepsilon = 1e-6", "m = 20\nepsilon = 0.45").replace("0.05", "0.9")
    (folder / "redesign.toml").write_text(text)
    config = SamplerConfig.load(folder / "redesign.toml", chains=1, checkpoint_seconds=1000.0)
    good = build(config)
    sd = 1.0 / np.sqrt(good.model.n_data / 5.0)
    broken = good._replace(model=Cliff(good.model, good.start[0] + 2.0 * sd))
    monkeypatch.setattr("samplers.runs.run.build", lambda config: broken)
    return config


def test_a_pass_for_a_re_design_that_meets_such_a_term_loses_no_step(folder, cliff):
    with pytest.raises(ChainStopped, match="log-likelihood of datum 7 is not finite") as stopped:
        run_config(cliff, folder / "out")
    step = stopped.value.step
    assert step % 16 == 0, "a batch has met it, and no pass: choose another seed"
    assert step % 256 > 0
    saved = Store(folder / "out").chain(0)
    assert saved.latest().step == step
    assert saved.latest().state["redesign"]["read"] == saved.draws()["n_used"].sum()
    with pytest.raises(ChainStopped) as again:
        run_config(cliff, folder / "out", resume=True)
    assert again.value.step == step


def test_an_audit_that_meets_such_a_term_tells_what_it_saw_before(cliff):
    run = cliff.run.model_copy(update={"warmup": 0})
    config = cliff.model_copy(update={"redesign": None, "run": run})
    with pytest.raises(ChainStopped, match="datum 7 is not finite") as stopped:
        audit_config(config, 5000, 4)
    assert stopped.value.__notes__[0].startswith("before that, ")
    assert "audited steps: mean |Δ|" in stopped.value.__notes__[0]


def test_a_trial_run_that_meets_such_a_term_tells_how_many_pairs_there_are(cliff):
    run = cliff.run.model_copy(update={"warmup": 0})
    config = cliff.model_copy(update={"redesign": None, "run": run})
    with pytest.raises(ChainStopped, match="datum 7 is not finite") as stopped:
        collect_pairs(config, 1000, 2)
    pairs = int(stopped.value.__notes__[0].split()[0].replace(",", ""))
    assert len(collect_pairs(config, pairs, 2)) == pairs > 0
