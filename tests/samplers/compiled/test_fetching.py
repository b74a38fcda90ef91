"""A Langevin step asks for the rows of its whole mini-batch together, and goes where it would have gone."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from numba import njit

from designer import Design
from samplers.chains.chain import Chain
from samplers.compiled.build import fused_model, fused_proposal
from samplers.compiled.moves import propose
from samplers.data import memory
from samplers.decide import SequentialTest
from samplers.decide._permutation import fresh
from samplers.models.lasso import Lasso
from samplers.models.tempered import tempered
from samplers.proposals import Langevin, RandomWalk

N_DATA = 5000


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(1)
    np.save(tmp_path / "rows.npy", rng.standard_normal((N_DATA, 2)))
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


@pytest.mark.parametrize("batch", [1, 300, N_DATA])  # more than are drawn at once, too
@pytest.mark.parametrize("hot", [False, True])
def test_a_langevin_chain_on_a_file_larger_than_memory_makes_the_same_draws(rows, monkeypatch, batch, hot):
    lasso = Lasso.mapped(rows, penalty=3.0)
    model = tempered(lasso, 2.0) if hot else lasso
    proposal, test = Langevin(model, step=2e-4, batch=batch), SequentialTest.from_design(Design(N_DATA, 100, 0.05))
    found = []
    for bytes_allowed in (10**12, 1000):
        monkeypatch.setattr(memory, "allowed", lambda known=bytes_allowed: known)
        data = fused_model(model)
        assert (data.model if hot else data).on_disk is (bytes_allowed == 1000)
        found.append(Chain(model, proposal, test, np.array([0.3]), np.random.default_rng(5)).advance(100))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0].accepted.any()


@pytest.mark.skipif(not hasattr(mmap, "MADV_WILLNEED"), reason="this system cannot be asked for pages")
def test_only_a_step_that_reads_data_asks_for_them(rows):
    """As compiled: `madvise` is called within the proposal itself, not just within the test that follows."""
    model = Lasso.mapped(rows, penalty=3.0)
    assert asks_for_pages(Langevin(model, step=2e-4, batch=300), model)
    assert not asks_for_pages(RandomWalk.isotropic(0.1, 1), model)


def asks_for_pages(proposal, model) -> bool:
    @njit
    def move(rng, proposal, data, permutation, theta, xi, out):
        return propose(rng, proposal, data, permutation, theta, xi, out)

    theta, xi, out = np.zeros(1), np.empty(1), np.empty(1)
    rng = np.random.default_rng(1)
    move(rng, fused_proposal(proposal, model), fused_model(model), fresh(N_DATA), theta, xi, out)
    (code,) = move.inspect_llvm().values()
    return "@madvise" in code
