"""Files that are altered, truncated or deleted; two runs in one directory; clocks that go backwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks.reliability.damage import damage_all, run_results, subjects_in
from benchmarks.reliability.faults import CASES, make_data
from benchmarks.reliability.preloaded import here
from samplers.config.config import SamplerConfig
from samplers.runs.run import run_config
from samplers.runs.store import Store
from tests.commands import austerity, finished, listing, wait_for

ENDLESS = 10**8  # draws: such a run goes on until it is stopped


@pytest.fixture
def folder(tmp_path):
    make_data(tmp_path)
    (tmp_path / "fused.toml").write_text(CASES["fused"])
    return tmp_path


def test_a_damaged_file_changes_no_draw(folder):
    """A few of what `python -m benchmarks faults` does 200 times; `damage_all` prints what goes wrong."""
    found = damage_all(folder, subjects_in(folder, ["fused"], flow=False), 16, seed=0, command=here)
    assert found.trials == 16 and len(found.damages) == 3
    assert (found.different, found.unclear) == (0, 0)
    assert len({kind for kind, _ in found.outcomes}) >= 5, found.outcomes
    assert {outcome for _, outcome in found.outcomes} == {"noticed", "made again or not needed", "refused"}


# --- two runs in one directory ----------------------------------------------------------------------------------------


def test_a_second_run_is_refused_in_a_line_and_the_first_goes_on(folder):
    """Killed, it leaves its lock behind, which is in nobody's way."""
    output = folder / "out"
    command = ["run", folder / "fused.toml", "--output", output, "--quiet", "--draws", ENDLESS]
    first = subprocess.Popen(austerity(*command), stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: list(output.glob("chain-*/state-*.bin")), first)
        second = finished(austerity(*command, "--resume"))
        assert second.returncode == 2
        assert second.stderr.startswith(
            f"austerity: {output}: is being written by another run (process {first.pid} on "
        )
        assert second.stderr.count("\n") == 1
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()
    assert (output / "run.lock").read_text().startswith(f"process {first.pid} ")
    saved = [Store(output).chain(number).latest() for number in Store(output).chains()]
    config = SamplerConfig.load(folder / "fused.toml", draws=max(one.step for one in saved if one) + 300)
    resumed = run_config(config, output, resume=True)["posterior/theta"].values
    np.testing.assert_array_equal(resumed, run_config(config, folder / "whole")["posterior/theta"].values)
    assert list(output.rglob("*.tmp")) == [] == list(output.rglob(".*.tmp"))


def test_a_second_run_does_not_take_a_chain_that_the_first_has_not_begun(folder, refuses):
    """It would find the lock of that chain free, and the first would be refused there."""
    config, asked = SamplerConfig.load(folder / "fused.toml", draws=50), []

    def intrude(_) -> None:
        if not asked:
            asked.append(True)
            fewer = listing(folder / "out")
            refuses(
                lambda: run_config(config, folder / "out", resume=True), "is being written by another run (process "
            )
            assert listing(folder / "out") == fewer

    first = run_config(config, folder / "out", workers=1, progress=intrude)
    assert asked and first["posterior"].sizes["chain"] == 3


# --- clocks -----------------------------------------------------------------------------------------------------------

BACKWARDS = """
import sys, time
usual, begin = time.time, time.time()
time.time = lambda: begin - 1000.0 * (usual() - begin)  # every second, a quarter of an hour back
import app.cli.main
sys.exit(app.cli.main.main())
"""


def test_a_clock_that_goes_backwards_changes_nothing(folder):
    """Which checkpoint is the newest is a matter of its step. Files of the future and of 1970 are used as they are."""
    output, whole = folder / "out", folder / "whole"
    config = SamplerConfig.load(folder / "fused.toml", draws=300, chains=1, checkpoint_seconds=0.0)
    run_config(config, whole)
    run_config(SamplerConfig.load(folder / "fused.toml", draws=150, chains=1, checkpoint_seconds=0.0), output)
    paths = sorted(path for path in output.rglob("*") if path.is_file())
    newest = max((output / "chain-0000").glob("state-*.bin"))
    for number, path in enumerate(paths):  # the older a file is, the newer it says it is
        moment = 0 if path == newest else time.time() + 86_400.0 * (1 + len(paths) - number)
        os.utime(path, (moment, moment))
    step = Store(output).chain(0).latest().step
    assert newest.name == f"state-{step:012d}.bin"
    arguments = ["run", folder / "fused.toml", "--draws", 300, "--chains", 1, "--quiet", "--output", output, "--resume"]
    ended = finished([sys.executable, "-P", "-c", BACKWARDS, *map(str, arguments)])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert run_results(output) == run_results(whole)
