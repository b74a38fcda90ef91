"""Drawing without replacement: both ways to hold the permutation, their memory, chains on a thousand million data."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from designer import Design
from samplers.chains.chain import Chain
from samplers.decide import BarkerTest, Comparison, ExactTest, SequentialTest, _permutation
from samplers.decide.reading import reading
from samplers.decide.subsample import Subsampler
from samplers.models.mixture import Mixture, draw_mixture
from samplers.proposals import RandomWalk

HUGE = 10**9


def streams_of(
    n: int, samples: list[list[int]], monkeypatch: pytest.MonkeyPatch, *, most_dense: int
) -> list[np.ndarray]:
    """The indices of growing samples, one after the other, and the generator's next number."""
    monkeypatch.setattr(_permutation, "MOST_DENSE", most_dense)
    sample, rng, found = Subsampler(n), np.random.default_rng(7), []
    assert isinstance(sample._permutation, _permutation.Dense if n <= most_dense else _permutation.Sparse)
    for sizes in samples:
        found += [sample.extend(rng, size) for size in sizes]
        sample.reset()
    return [*found, np.array([rng.random()])]


@pytest.mark.parametrize("n", [5, 1000, 60_000])
def test_the_table_draws_what_the_array_draws(n, monkeypatch):
    rng = np.random.default_rng(3)
    samples = [sorted(rng.integers(1, n, 4).tolist()) for _ in range(20)] + [[n // 2, n], [n], [n - 1, n], [2, 3]]
    dense = streams_of(n, samples, monkeypatch, most_dense=n)
    sparse = streams_of(n, samples, monkeypatch, most_dense=n - 1)
    for one, other in zip(dense, sparse, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("most_dense", [100, 1])
@pytest.mark.parametrize(("sizes", "n"), [((3,), 6), ((1, 4), 6), ((2, 3, 5), 6), ((5,), 6), ((2, 6), 6), ((2,), 70)])
def test_all_ordered_samples_are_equally_likely(sizes, n, most_dense, monkeypatch):
    """Chi-square over all of them, of many samples from one permutation; the rest of all data comes in order."""
    monkeypatch.setattr(_permutation, "MOST_DENSE", most_dense)
    drawn = [size for size in sizes if size < n][-1]
    every = math.perm(n, drawn)
    repeats, sample, rng, counts = 10 * every, Subsampler(n), np.random.default_rng(11), Counter()
    for _ in range(repeats):
        items = [item for size in sizes for item in sample.extend(rng, size).tolist()]
        counts[tuple(items[:drawn])] += 1
        if sizes[-1] == n:
            assert items[drawn:] == sorted(set(range(n)) - set(items[:drawn]))
        sample.reset()
    assert all(len(set(items)) == drawn for items in counts)
    chi2 = sum((count - 10) ** 2 for count in counts.values()) / 10 + 10 * (every - len(counts))
    assert abs(chi2 - (every - 1)) < 4.0 * math.sqrt(2.0 * (every - 1))


def test_samples_are_subsets_and_complete_at_the_end():
    sample, rng = Subsampler(_permutation.MOST_DENSE + 1), np.random.default_rng(1)
    first = sample.extend(rng, 50_000)
    assert np.unique(first).size == 50_000
    rest = list(sample.chunks(rng, sample.n, 2**20))
    assert max(part.size for part in rest) == 2**20
    seen = np.zeros(sample.n, dtype=np.int8)
    for part in (first, *rest):
        seen[part] += 1
    assert np.all(seen == 1)


def test_after_very_many_samples_the_old_ones_are_forgotten(monkeypatch):
    """Numbers of samples begin again at 1 now and then; nothing of the samples long ago may come back."""
    n, count = 50, 2 * _permutation.MOST_SAMPLES + 10
    draws = []
    for most_dense in (n, 1):
        monkeypatch.setattr(_permutation, "MOST_DENSE", most_dense)
        sample, rng = Subsampler(n), np.random.default_rng(2)
        kept = []
        for _ in range(count):
            kept.append(sample.extend(rng, 3))
            sample.reset()
        draws.append(np.array(kept))
    np.testing.assert_array_equal(*draws)


def test_every_item_is_equally_likely_in_a_huge_sample():
    sample, rng = Subsampler(HUGE), np.random.default_rng(4)
    drawn = sample.extend(rng, 200_000)
    assert np.unique(drawn).size == drawn.size
    counts = np.bincount(drawn // (HUGE // 20), minlength=20)
    assert np.abs(counts - 10_000).max() < 4.5 * np.sqrt(10_000)


def test_memory_depends_on_the_sample_and_not_on_the_data():
    rng, sample = np.random.default_rng(5), Subsampler(HUGE)
    for size in (100, 100_000, 1_000_000, 50):
        sample.extend(rng, size)
        held = sum(part.nbytes for part in sample._permutation[3:])
        assert held <= 2**18 + (128 * size if size > 50 else 16 * _permutation.MOST_SLOTS)
        sample.reset()
    assert sample._permutation.keys.size <= _permutation.MOST_SLOTS


class Far:
    """lᵢ = a (1 + sin i) from N data that nobody holds."""

    n_data = HUGE

    def log_prior(self, theta):
        return -0.5 * float(theta @ theta)

    def terms(self, theta, theta_new, indices):
        return 1e-9 * float((theta_new - theta).sum()) * (1.0 + np.sin(indices))


@pytest.mark.parametrize(("test", "rule"), [
    (SequentialTest.from_design(Design(HUGE, 500, 0.05)), "metropolis"),
    (BarkerTest(m=100), "barker"),
])  # fmt: skip
def test_chains_on_a_thousand_million_data(test, rule):
    chain = Chain(Far(), RandomWalk.isotropic(1.0, 2), test, np.zeros(2), np.random.default_rng(6), rule)
    draws = chain.advance(100)
    assert 0 < draws.accepted.sum() < 100
    assert draws.n_used.max() < 10**6


@pytest.mark.parametrize("test", [SequentialTest.from_design(Design(8000, 100, 0.05)), ExactTest(), BarkerTest(m=100)])
def test_fused_chains_with_a_table_are_those_with_an_array(test, monkeypatch):
    rule = "barker" if isinstance(test, BarkerTest) else "metropolis"
    model = Mixture.from_data(draw_mixture(np.random.default_rng(1), 8000), temperature=10.0)
    draws = []
    for most_dense in (8000, 10):
        monkeypatch.setattr(_permutation, "MOST_DENSE", most_dense)
        chain = Chain(model, RandomWalk.isotropic(0.1, 2), test, [0.0, 1.0], np.random.default_rng(2), rule)
        draws.append(chain.advance(300))
    for one, other in zip(*draws, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_batch_larger_than_a_block_is_read_in_blocks():
    """m = 10^5 of 10^6 data: same decision as with all terms at once, never more than a block asked for."""
    values, sizes = np.random.default_rng(8).normal(3e-6, 1e-4, 10**6), []

    def terms(indices):
        sizes.append(indices.size)
        return values[indices]

    decision = SequentialTest.from_design(Design(10**6, 10**5, 0.05)).decide(
        np.random.default_rng(1), Comparison(10**6, terms)
    )
    assert max(sizes) <= 2**16
    assert sum(sizes) == decision.n_used


def test_looks_beyond_those_known_at_first_are_computed_when_needed(monkeypatch):
    from samplers.compiled import build

    model = Mixture.from_data(draw_mixture(np.random.default_rng(1), 8000), temperature=10.0)
    test = SequentialTest.from_design(Design(8000, 50, 0.01))
    draws = []
    for first in (4096, 2):
        monkeypatch.setattr(build, "FIRST_LOOKS", first)
        chain = Chain(model, RandomWalk.isotropic(0.1, 2), test, [0.0, 1.0], np.random.default_rng(2))
        draws.append(chain.advance(200))
    assert draws[0].n_looks.max() > 100
    for one, other in zip(*draws, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_interrupted_draw_leaves_nothing_behind():
    """Items taken before an interrupt, but not counted yet, would never be drawn again in this thread."""

    def interrupted(rng, permutation, *where):
        extend(rng, permutation, *where)
        raise KeyboardInterrupt

    comparison, extend = Comparison(77, np.arange(77.0).take), _permutation.extend

    def read_all(seed):
        with reading(np.random.default_rng(seed), comparison) as read:
            return np.concatenate([*read(70)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_permutation, "extend", interrupted)
        with pytest.raises(KeyboardInterrupt):
            read_all(1)
    np.testing.assert_array_equal(read_all(2), Subsampler(77).extend(np.random.default_rng(2), 70))
