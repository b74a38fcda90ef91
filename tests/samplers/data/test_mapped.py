"""Data that stay in a file: the same numbers as in memory, read-only, without copies of their size."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from designer import BadInput, Design
from samplers.chains.chain import Chain
from samplers.decide import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.ica import ICA, whiten
from samplers.models.lasso import Lasso, draw_line
from samplers.models.logistic import Logistic
from samplers.models.mixture import Mixture, draw_mixture
from samplers.proposals import ProxyStep

N_DATA, DIMENSION = 200_000, 8


def in_a_file(path, values: np.ndarray) -> np.memmap:
    values.tofile(path)
    return np.memmap(path, values.dtype, "r", shape=values.shape)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("mapped")
    x = rng.standard_normal((N_DATA, DIMENSION)).astype(np.float32)
    y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ rng.normal(0.0, 0.3, DIMENSION)))
    return in_a_file(folder / "x", x), in_a_file(folder / "y", y)


def test_a_mapped_regression_is_the_one_in_memory(files):
    x, y = files
    mapped, memory = Logistic.mapped(x, y, 1.0), Logistic.from_data(x, y, 1.0)
    assert np.shares_memory(mapped.rows, x) and np.shares_memory(mapped.labels, y)
    assert not mapped.rows.flags.writeable
    rng, some = np.random.default_rng(2), np.random.default_rng(3).integers(N_DATA, size=500)
    theta, new = rng.normal(0.0, 0.3, (2, DIMENSION))
    np.testing.assert_allclose(mapped.terms(theta, new, some), memory.terms(theta, new, some), atol=1e-13)
    np.testing.assert_allclose(mapped.log_likelihood(theta, some), memory.log_likelihood(theta, some), atol=1e-13)
    np.testing.assert_allclose(find_mode(mapped), find_mode(memory), atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_expansions_stored_or_not_give_the_same_residuals(files, order):
    x, y = files
    mapped, memory = Logistic.mapped(x, y, 1.0), Logistic.from_data(x, y, 1.0)
    centre = find_mode(memory)
    models = [Controlled.around(mapped, centre, order), Controlled.around(mapped, centre, order, stored=True)]
    models += [Controlled.around(memory, centre, order, stored=stored) for stored in (True, False)]
    assert [model.anchor is None for model in models] == [True, False, False, True]
    rng, some = np.random.default_rng(4), np.random.default_rng(5).integers(N_DATA, size=500)
    theta, new = centre + rng.normal(0.0, 0.05, (2, DIMENSION))
    for model in models[1:]:
        np.testing.assert_allclose(model.terms(theta, new, some), models[0].terms(theta, new, some), atol=1e-13)
        values = model.log_likelihood(theta, some), models[0].log_likelihood(theta, some)
        np.testing.assert_allclose(*values, atol=1e-13)
        assert model.log_prior(new) - model.log_prior(theta) == pytest.approx(
            models[0].log_prior(new) - models[0].log_prior(theta), abs=1e-8
        )
    test, draws = SequentialTest.from_design(Design(N_DATA, 500, 0.05)), []
    proposal = ProxyStep.of(Controlled.around(memory, centre))
    for model in models:
        draws.append(Chain(model, proposal, test, centre, np.random.default_rng(6)).advance(100))
        np.testing.assert_array_equal(draws[-1].n_used, draws[0].n_used)
        np.testing.assert_allclose(draws[-1].theta, draws[0].theta, atol=1e-9)


def test_memory_is_that_of_blocks_and_samples(files):
    """6.4 MB of rows in the file, 12.8 MB as floats, 4.8 MB of expansions: nothing of that size is allocated."""
    x, y = files
    model = Logistic.mapped(x, y, 1.0)
    tracemalloc.start()
    blockwise = Controlled.around(Logistic.mapped(x, y, 1.0), find_mode(model))
    building = tracemalloc.get_traced_memory()
    chain = Chain(
        blockwise, ProxyStep.of(blockwise), SequentialTest.from_design(Design(N_DATA, 500, 0.05)), blockwise.centre,
        np.random.default_rng(1),
    )  # fmt: skip
    tracemalloc.stop()
    assert building[0] < 10**5  # kept
    assert building[1] < 3.5 * 65_536 * DIMENSION * 8  # at the worst moment: a block and what is made of it
    assert chain._fused[0].rows.base is not None and np.shares_memory(chain._fused[0].rows, x)


def test_labels_of_any_kind(files):
    x, y = files
    few, ones = x[:100], np.array(y[:100])
    some, theta, new = np.arange(100), np.zeros(DIMENSION), np.full(DIMENSION, 0.1)
    wanted = Logistic.from_data(few, ones).terms(theta, new, some)
    for labels in (ones, ones.astype(np.int8), ones.astype(float), 2 * ones.astype(np.int64) - 1, ones.tolist()):
        np.testing.assert_allclose(Logistic.mapped(few, labels).terms(theta, new, some), wanted, atol=1e-14)


def test_the_other_models_may_stay_in_files_too(tmp_path):
    rng = np.random.default_rng(7)
    some = rng.integers(1000, size=50)
    rows = in_a_file(tmp_path / "ica", whiten(rng.laplace(size=(1000, 2))).rows)
    turned = np.array([0.6, 0.8, -0.8, 0.6])
    pairs = [(ICA.mapped(rows), ICA.from_data(rows), np.eye(2).ravel(), turned)]
    x = in_a_file(tmp_path / "mixture", draw_mixture(rng, 1000))
    pairs.append((Mixture.mapped(x, 3.0), Mixture.from_data(x, 3.0), np.array([0.0, 1.0]), np.array([0.2, 0.8])))
    line = in_a_file(tmp_path / "lasso", np.column_stack(draw_line(rng, 1000)))
    pairs.append((Lasso.mapped(line), Lasso.from_data(line[:, 0], line[:, 1]), np.array([0.1]), np.array([0.2])))
    for mapped, memory, theta, new in pairs:
        np.testing.assert_array_equal(mapped.terms(theta, new, some), memory.terms(theta, new, some))
        np.testing.assert_array_equal(mapped.log_likelihood(theta, some), memory.log_likelihood(theta, some))
        assert mapped.range_bound(theta, new) == pytest.approx(memory.range_bound(theta, new))


def test_bad_input():
    x = np.ones((10, 2), dtype=np.float32)
    with pytest.raises(BadInput, match="rows: must be an array of float32 or float64"):
        Logistic.mapped(x.astype(np.int64), np.ones(10))
    with pytest.raises(BadInput, match="C-contiguous"):
        Logistic.mapped(np.asfortranarray(x), np.ones(10))
    with pytest.raises(BadInput, match=r"y has shape \(9,\): must be \(10,\)"):
        Logistic.mapped(x, np.ones(9))
    with pytest.raises(BadInput, match=r"y\[3\] = 2: must be 0 or 1"):
        Logistic.mapped(x, np.array([0, 1, 1, 2, 0, 0, 0, 0, 0, 0]))
    with pytest.raises(BadInput, match="y has both -1 and 0"):
        Logistic.mapped(x, np.array([0, 1, 1, -1, 0, 0, 0, 0, 0, 0], dtype=np.int8))
    x[7, 1] = np.nan
    with pytest.raises(BadInput, match="not finite in or after row 0"):
        Logistic.mapped(x, np.ones(10))
    with pytest.raises(BadInput, match="must be white"):
        ICA.mapped(np.random.default_rng(1).standard_normal((100, 2)) * 3.0)
    with pytest.raises(BadInput, match=r"must be \(N, D \+ 1\)"):
        Lasso.mapped(np.ones((5, 1)))
