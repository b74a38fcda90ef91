"""Trial runs: what they take, what they refuse and in which words, and pairs as at stationarity."""

import copy
import hashlib
import math
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest

from designer.core.errors import BadInput
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Provenance
from designer.rule.looks import MAX_N_DATA


def message(call, *args, **kwargs):
    """The one line with which `call` refuses."""
    with pytest.raises(BadInput) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text.isprintable()
    return text


def test_derived_quantities_are_the_definitions():
    trial = TrialRun(10_001, [1e-4, -2e-4], [0.01, 0.02], [0.5, -0.25])
    assert trial.log_acceptance == pytest.approx([10_001 * 1e-4 - 0.5, -10_001 * 2e-4 + 0.25], rel=1e-15)
    assert trial.kappa == pytest.approx([10_001 * 0.01 / 100, 10_001 * 0.02 / 100], rel=1e-15)
    assert len(trial) == 2
    assert trial.skew is None


def test_arrays_are_own_read_only_doubles():
    mu = np.array([1, 2, 3], dtype=np.int32)
    trial = TrialRun(10, mu, np.ones(3, dtype=np.float32), -0.0, (1, 2, 3))
    mu[0] = 7
    assert trial.mu.tolist() == [1.0, 2.0, 3.0]
    assert [math.copysign(1.0, c) for c in trial.log_ratio] == [1.0, 1.0, 1.0]
    for column in trial.columns.values():
        assert column.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1.0
    for twin in (pickle.loads(pickle.dumps(trial)), copy.deepcopy(trial)):
        assert twin == trial
        assert not twin.skew.flags.writeable
    with pytest.raises(AttributeError):
        trial.n_data = 5


def test_equality_and_digest_are_by_value():
    trial = TrialRun(10, [1.0, 2.0], [1.0, 1.0])
    assert trial == TrialRun(10, np.array([1, 2]), [1, 1], [0, -0.0])
    assert hash(trial) == hash(TrialRun(10, [1, 2], [1, 1]))
    others = [
        TrialRun(11, [1, 2], [1, 1]),
        TrialRun(10, [2, 1], [1, 1]),
        TrialRun(10, [1, 2], [1, 2]),
        TrialRun(10, [1, 2], [1, 1], 1),
        TrialRun(10, [1, 2], [1, 1], 0, [0, 0]),
        TrialRun(10, [1], [1]),
    ]
    assert len({trial, *others}) == 7
    assert trial != "trial"


def test_digest_is_that_of_little_endian_doubles():
    trial = TrialRun(10, [0.5, -0.25], [1.0, 3.0], [0.0, 2.0])
    expected = b"trial run 1, n_data 10, pairs 2"
    for name, pair in (("mu", (0.5, -0.25)), ("sigma", (1.0, 3.0)), ("log_ratio", (0.0, 2.0))):
        expected += f", {name} ".encode() + struct.pack("<2d", *pair)
    assert trial.digest == hashlib.sha256(expected).hexdigest()
    assert Provenance(trial=trial.digest).trial == trial.digest
    assert repr(trial) == f"TrialRun(n_data=10, pairs=2, digest={trial.digest[:12]}…)"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((1, [1], [1]), "n_data = 1: must be a whole number from 2 to 1,000,000,000,000,000"),
        ((np.True_, [1], [1]), "n_data = True: must be a whole number from 2 to 1,000,000,000,000,000"),
        ((10, [], []), "number of pairs = 0: must be a whole number from 1 to 5,000,000"),
        ((10, [1, 2], [1]), "sigma has 1 values, mu has 2"),
        ((10, [1, 2], [1, 1], [0, 0, 0]), "log_ratio has 3 values, mu has 2"),
        ((10, [1, 2], [1, 1], 0, [1]), "skew has 1 values, mu has 2"),
        ((10, [[1, 2]], [1, 1]), "mu: must be a list of numbers, not int64 of shape (1, 2)"),
        ((10, ["1", "2"], [1, 1]), "mu: must be a list of numbers, not <U1 of shape (2,)"),
        ((10, [True, False], [1, 1]), "mu: must be a list of numbers, not bool of shape (2,)"),
        ((10, [[1], [1, 2]], [1, 1]), "mu: setting an array element with a sequence."),
        ((10, [1, math.nan], [1, 1]), "mu[1] = nan: must be finite"),
        ((10, [1, 2], [1, 0]), "sigma[1] = 0.0: must be greater than 0"),
        ((10, [1, 2], [1, 1e-200]), "sigma[1] = 1e-200: must be at least 1e-100"),
        ((10, [1, 2], [1, 1], math.inf), "log_ratio[0] = inf: must be finite; log_ratio[1] = inf: must be finite"),
        (
            (10, [1, -1e101], [-1, 1]),
            "sigma[0] = -1.0: must be greater than 0; mu[1] = -1e+101: must not exceed 1e+100",
        ),
        ((10, [1, 2], [1, 1], 0, [0, -math.inf]), "skew[1] = -inf: must be finite"),
    ],
)
def test_refusals_name_the_entries(args, text):
    assert message(TrialRun, *args).startswith(text)


def test_many_bad_entries_are_counted():
    text = message(TrialRun, 10, np.zeros(1000), np.where(np.arange(1000) % 2, -1.0, 1.0))
    assert text.split("; ")[0] == "sigma[1] = -1.0: must be greater than 0"
    assert text.split("; ")[4:] == ["sigma[9] = -1.0: must be greater than 0", "and 495 more"]


def test_largest_entries_do_not_overflow():
    trial = TrialRun(MAX_N_DATA, [1e100, -1e100], [1e-100, 1e100], [-1e100, 1e100])
    assert np.isfinite(trial.log_acceptance / trial.kappa).all()


def test_subset():
    trial = TrialRun(10, [1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12])
    assert trial.subset([2, 0, 2]) == TrialRun(10, [3, 1, 3], [6, 4, 6], [9, 7, 9], [12, 10, 12])
    assert trial.subset(np.array([False, True, False])) == TrialRun(10, [2], [5], [8], [11])
    assert trial.subset(-1) == TrialRun(10, [3], [6], [9], [12])
    assert trial.subset([0]).skew.tolist() == [10.0]
    assert message(trial.subset, [3]) == "indices: index 3 is out of bounds for axis 0 with size 3"
    assert message(trial.subset, np.zeros(3, dtype=bool)).startswith("number of pairs = 0")


@pytest.mark.parametrize("acceptance", [0.05, 0.234, 0.6, 0.95])
def test_stationary_pairs_have_the_wanted_acceptance(acceptance):
    pairs = 200_000
    trial = TrialRun.at_stationarity(50_000, acceptance, pairs, np.random.default_rng(3))
    k = trial.kappa[0]
    assert np.ptp(trial.kappa) == 0.0
    assert math.erfc(k / 2 / math.sqrt(2)) == pytest.approx(acceptance, rel=1e-12)  # 2 Phi(-k/2)
    probability = np.exp(np.minimum(trial.log_acceptance, 0.0))
    assert abs(probability.mean() - acceptance) < 4 * probability.std() / math.sqrt(pairs)
    assert abs(trial.log_acceptance.mean() + k**2 / 2) < 4 * k / math.sqrt(pairs)
    assert trial.log_acceptance.std() == pytest.approx(k, rel=4 / math.sqrt(2 * pairs))
    assert not trial.log_ratio.any()


def test_stationary_pairs_follow_the_generator():
    make = TrialRun.at_stationarity
    assert make(100, 0.3, 7, np.random.default_rng(1)) == make(100, 0.3, 7, np.random.default_rng(1))
    assert make(100, 0.3, 7, np.random.default_rng(1)) != make(100, 0.3, 7, np.random.default_rng(2))


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((100, 1.0, 5), "acceptance = 1.0: must lie in [1e-06, 0.999999]"),
        ((100, math.nan, 5), "acceptance = nan: must lie in [1e-06, 0.999999]"),
        ((100, 0.5, 0), "pairs = 0: must be a whole number from 1 to 5,000,000"),
        ((1, 0.5, 5), "n_data = 1: must be a whole number from 2 to"),
    ],
)
def test_refusals_of_stationary_pairs(args, text):
    assert message(TrialRun.at_stationarity, *args, np.random.default_rng(0)).startswith(text)


def test_import_leaves_slow_libraries_alone():
    code = "import sys, designer.rule.design, designer.pairs.trial_run; print(*{'pyarrow', 'pandas'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
