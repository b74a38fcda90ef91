"""Residuals of a trial run: what is kept stands for all data, with the pair's exact moments; files carry it."""

import io
import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from designer.core.errors import BadInput
from designer.pairs import limits
from designer.pairs.columns import BadFile
from designer.pairs.residuals import BINS, FARTHEST, Keeper, Residuals, Weighted
from designer.pairs.trial_run import TrialRun

N = 200_000
RNG = np.random.default_rng(7)
POPULATIONS = {
    "normal": RNG.standard_normal(N),
    "exponential": -RNG.exponential(size=N),
    "Cauchy": RNG.standard_cauchy(N),
    "three rows": np.where(np.arange(N) < 3, 1.0, 1e-4 * RNG.standard_normal(N)),
    "two points": np.where(np.arange(N) % 10_000 == 0, 1.0, 0.0),
    "two equal points": np.where(np.arange(N) % 2 == 0, 1.0, -1.0),
    "far from 0": 50.0 + 1e-3 * RNG.standard_normal(N),
    "sorted": np.sort(RNG.standard_normal(N)),
    "tiny": 1e-60 * RNG.standard_t(3, N),
    "few": RNG.standard_t(2, 300),
}


def moments(values, weights=None):
    weights = np.ones(values.size) if weights is None else weights.astype(float)
    mean = np.average(values, weights=weights)
    away = values - mean
    sigma = np.sqrt(np.average(away**2, weights=weights))
    return mean, sigma, *(np.average((away / sigma) ** k, weights=weights) for k in (3, 4))


@pytest.mark.parametrize("name", POPULATIONS)
def test_what_is_kept_has_the_moments_and_the_farthest_values(name):
    values = POPULATIONS[name]
    keeper = Keeper()
    for block in np.array_split(values, 7):
        keeper.add(block)
    mean, sigma, skew, kurtosis = moments(values)
    kept = keeper.kept(mean, sigma, skew)
    assert kept.weights.sum() == values.size
    assert kept.values.size <= FARTHEST + BINS + 2
    again = moments(*kept)
    assert again[0] == pytest.approx(mean, abs=1e-9 * sigma)
    assert again[1] == pytest.approx(sigma, rel=1e-9)
    assert again[2] == pytest.approx(skew, rel=1e-6, abs=1e-6)
    assert again[3] == pytest.approx(kurtosis, rel=5e-3)  # not matched: narrow bins give it
    far = np.sort(np.abs(values - np.median(values[: -(-values.size // 7)])))[-100:]
    alone = np.sort(np.abs(kept.values[kept.weights == 1] - keeper.centre))[-100:]
    assert alone == pytest.approx(far, rel=1e-9)


@pytest.mark.parametrize("name", ["exponential", "Cauchy", "three rows"])
def test_what_is_kept_has_the_distribution_of_all(name):
    values = POPULATIONS[name]
    kept = Residuals.of([values]).pair(0)
    order = np.argsort(kept.values)
    below = np.cumsum(kept.weights[order]) / N
    points = kept.values[order][:-1] + 0.5 * np.diff(kept.values[order])
    largest_bin = kept.weights.max() / N
    assert np.abs(below[:-1] - np.searchsorted(np.sort(values), points) / N).max() <= 0.6 * largest_bin + 1e-9


def trial(names=("Cauchy", "exponential", "three rows"), notes=None):
    chosen = [POPULATIONS[name] for name in names]
    mean, sigma, skew, _ = np.array([moments(values) for values in chosen]).T
    return TrialRun(N, mean, sigma, 0.1, skew, Residuals.of(chosen), notes)


@pytest.mark.parametrize("rows", [700, 5000])
def test_a_level_with_more_rows_than_are_kept_one_by_one(rows):
    """What is left of it, and all else near 0, are two points: no quadratic map moves their skewness, nor need it."""
    rng = np.random.default_rng(3)
    values = np.where(np.arange(N) < rows, 1.0 + 0.1 * rng.random(N), 1e-6 * rng.standard_normal(N))
    keeper = Keeper()
    keeper.add(rng.permutation(values))
    mean, sigma, skew, _ = moments(values)
    again = moments(*keeper.kept(mean, sigma, skew))
    assert again[:2] == pytest.approx((mean, sigma), rel=1e-9)
    assert again[2] == pytest.approx(skew, rel=5e-4)
    assert len(TrialRun(N, [mean], [sigma], skew=[skew], residuals=Residuals.of([values]))) == 1


def test_a_pair_that_bins_cannot_represent_keeps_nothing():
    values = np.concatenate([np.zeros(60_000), 1e6 + RNG.standard_normal(140_000)])  # the median of the first block: 0
    keeper = Keeper()
    for block in np.array_split(values, 10):
        keeper.add(block)
    lone = values[60_000:]
    assert keeper.kept(lone.mean(), lone.std(), 0.0) is None
    assert Residuals.joined([None, Weighted(np.ones(2), np.array([1, 2]))]).sizes.tolist() == [0, 2]


def test_subsets_pickles_equality_and_digest():
    whole = trial(notes={"proposal": "proxy", "chain_acceptance": 0.5, "n_heavy": 3})
    part = whole.subset([2, 0, 0])
    assert np.array_equal(part.residuals.pair(0).values, whole.residuals.pair(2).values)
    assert np.array_equal(part.residuals.pair(2).weights, whole.residuals.pair(0).weights)
    assert part.proposal == "proxy"
    assert whole.subset([True, False, True]) == whole.subset([0, 2])
    twin = pickle.loads(pickle.dumps(whole))
    assert twin == whole
    assert twin.notes == whole.notes
    assert not twin.residuals.values.flags.writeable
    bare = TrialRun(N, whole.mu, whole.sigma, whole.log_ratio, whole.skew)
    assert bare != whole  # predictions may differ
    assert bare.digest == TrialRun(N, whole.mu, whole.sigma, whole.log_ratio, whole.skew, notes=whole.notes).digest


@pytest.mark.parametrize("kind", ["parquet", "npz"])
@pytest.mark.parametrize("kept", [True, False])
def test_binary_files_carry_everything(kind, kept):
    whole = trial(notes={"proposal": "random-walk", "chain_acceptance": 0.25})
    if not kept:
        whole = TrialRun(N, whole.mu, whole.sigma, notes=whole.notes)
    sink = io.BytesIO()
    getattr(whole, f"to_{kind}")(sink)
    again = getattr(TrialRun, f"from_{kind}")(sink.getvalue())
    assert again == whole
    assert again.notes == whole.notes
    assert (again.residuals is not None) == kept


def test_csv_carries_the_notes_and_no_residuals():
    whole, sink = trial(notes={"proposal": "proxy", "n_heavy": 200}), io.StringIO()
    whole.to_csv(sink)
    assert sink.getvalue().startswith(f"# n_data: {N}\n# proposal: proxy\n# n_heavy: 200\nmu,")
    again = TrialRun.from_csv(io.StringIO(sink.getvalue()))
    assert again.notes == whole.notes
    assert again.residuals is None
    odd = sink.getvalue().replace("200", "many", 1).replace("n_data: many000", f"n_data: {N}")
    assert "n_heavy" not in TrialRun.from_csv(io.StringIO(odd.replace("# n_heavy: 200", "# n_heavy: many"))).notes


def test_refusals():
    whole = trial()
    kept = whole.residuals
    for change, text in [
        ((kept.values[:-1], kept.weights, kept.starts), "values, "),
        ((kept.values, kept.weights, kept.starts[::-1]), "starts must rise"),
        ((np.append(kept.values[:-1], np.nan), kept.weights, kept.starts), "must be finite"),
        ((kept.values, 0 * kept.weights, kept.starts), "weights must be at least 1"),
        ((kept.values, kept.weights + 0.5, kept.starts), "weights must be a list of numbers, not float64"),
    ]:
        with pytest.raises(BadInput, match=text):
            Residuals(*change)
    columns = whole.mu, whole.sigma, 0.0, whole.skew
    for wrong, text in [
        (Residuals(kept.values, kept.weights + (kept.weights > 1), kept.starts), "number of data"),
        (Residuals(kept.values + 1e-3 * whole.sigma[0], kept.weights, kept.starts), "mean"),
        (kept.take([0, 1]), "2 pairs"),
        (kept.take([0, 1, 1]), "pair 2"),
    ]:
        with pytest.raises(BadInput, match=text):
            TrialRun(N, *columns, wrong)
    with pytest.raises(BadInput, match="skewness"):
        TrialRun(N, *columns[:3], whole.skew + 0.1 * np.maximum(1.0, np.abs(whole.skew)), kept)
    with pytest.raises(BadInput, match="'colour' is not one of"):
        TrialRun(N, *columns, notes={"colour": "red"})


@pytest.mark.parametrize("kind", ["parquet", "npz"])
def test_files_with_too_many_residuals_or_another_version_are_refused(kind, monkeypatch):
    sink = io.BytesIO()
    getattr(trial(), f"to_{kind}")(sink)
    read = getattr(TrialRun, f"from_{kind}")
    monkeypatch.setattr("designer.pairs.residual_files.FORMAT", "2")
    with pytest.raises(BadFile, match="residuals of version 1: this release reads version 2"):
        read(sink.getvalue())
    monkeypatch.undo()
    monkeypatch.setattr(limits, "MAX_RESIDUALS", 1000)
    monkeypatch.setattr(limits, "MAX_LINE", 0)
    with pytest.raises(BadFile, match=r"limit of 1,000|unpacks to"):
        read(sink.getvalue())


def test_parquet_lists_of_the_wrong_kind_are_refused():
    whole, sink = trial(), io.BytesIO()
    whole.to_parquet(sink)
    table = parquet.read_table(pa.BufferReader(sink.getvalue()))
    place = table.schema.get_field_index("residual_weights")
    for column, text in [
        (pa.array([[1], [2], [3]]), "more values than weights"),
        (pa.array([[1.5]] * 3), "lists of int64"),
        (pa.array([[1], None, [3]]), "missing values"),
        (pa.array([1, 2, 3]), "lists of int64"),
    ]:
        bad = io.BytesIO()
        parquet.write_table(table.set_column(place, "residual_weights", column), bad)
        with pytest.raises(BadFile, match=text):
            TrialRun.from_parquet(bad.getvalue())
