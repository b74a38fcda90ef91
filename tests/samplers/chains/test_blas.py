"""The number of BLAS threads is the caller's to say, and no run depends on it."""

from __future__ import annotations

import threading

import numpy as np
from threadpoolctl import threadpool_limits

from samplers.chains.blas import blas_threads, default_threads
from samplers.config.config import SamplerConfig
from samplers.runs.run import run_config

CONFIG = """
[test]
kind = "exact"
[data]
path = "data.npz"
[proposal]
kind = "random-walk"
[run]
draws = 20
warmup = 0
chains = 1
"""


def test_the_number_holds_in_the_block_only():
    with threadpool_limits(2, user_api="blas"):
        with blas_threads(1):
            assert default_threads() == 1
            with blas_threads(2):  # the outermost decides
                assert default_threads() == 1
            assert default_threads() == 1
        assert default_threads() == 2
        with blas_threads(None), blas_threads(1):
            assert default_threads() == 2


def test_the_number_holds_whichever_thread_asks():
    """threadpoolctl 3.8 ignores every thread but the first that set a limit."""
    seen: list[int] = []

    def other() -> None:
        with blas_threads(1):
            seen.append(default_threads())
        seen.append(default_threads())

    with threadpool_limits(2, user_api="blas"):
        with blas_threads(1):
            pass
        working = threading.Thread(target=other)
        working.start()
        working.join()
        assert seen == [1, 2]
        assert default_threads() == 2


def test_the_last_thread_to_leave_restores_the_number():
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with blas_threads(1):
            inside.set()
            leave.wait(60)

    with threadpool_limits(2, user_api="blas"):
        working = threading.Thread(target=other)
        with blas_threads(1):
            working.start()
            assert inside.wait(60)
        assert default_threads() == 1  # the other thread is still in its block
        leave.set()
        working.join()
        assert default_threads() == 2


def test_another_number_waits_for_its_turn():
    seen: list[int] = []

    def other() -> None:
        with blas_threads(2):
            seen.append(default_threads())

    with blas_threads(1):
        waiting = threading.Thread(target=other)
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive() and not seen and default_threads() == 1
    waiting.join()
    with threadpool_limits(2, user_api="blas"):  # a library told OPENBLAS_NUM_THREADS=1 has no second thread
        assert seen == [default_threads()]


def test_draws_do_not_depend_on_it(tmp_path):
    """Of this size OpenBLAS finds another mode, in its last bits, with two threads."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((12_000, 50))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(12_000) < 1.0 / (1.0 + np.exp(-0.2 * x.sum(axis=1))))
    (tmp_path / "config.toml").write_text(CONFIG)
    config, found = SamplerConfig.load(tmp_path / "config.toml"), []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(run_config(config, tmp_path / str(threads))["posterior/theta"].values)
    assert found[0].tobytes() == found[1].tobytes()
