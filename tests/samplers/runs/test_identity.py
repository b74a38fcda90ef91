"""What tells one run from another: every datum, the prior's support, what a proposal does; but not rounding."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from designer import BadInput
from samplers import Chain, ExactTest, Proposed, RandomWalk, run
from samplers.chains.spec import ChainSpec
from samplers.runs.identity import MARKS, agree, behaviour, fingerprint, identified

WALK = RandomWalk.isotropic(0.1, 2)
LARGE = 300_000


class Regression:
    """Normal errors; the numbers can be altered."""

    def __init__(self, n=2000, heavy=False):
        rng = np.random.default_rng(0)
        self.n_data, self.x = n, rng.standard_normal((n, 2))
        self.y = self.x @ [1.0, 2.0] + rng.standard_normal(n)
        if heavy:
            self.x[0] *= 1e4
            self.y[0] *= 1e4

    def log_prior(self, theta):
        return 0.0

    def terms(self, theta, theta_new, indices):
        x, y = self.x[indices], self.y[indices]
        return 0.5 * (y - x @ theta) ** 2 - 0.5 * (y - x @ theta_new) ** 2


class Positive(Regression):
    """All parameters are positive: a start at zero is at the bound."""

    def log_prior(self, theta):
        return -float(theta.sum()) if np.all(theta >= 0.0) else -np.inf

    def terms(self, theta, theta_new, indices):
        return super().terms(np.sqrt(theta), np.sqrt(theta_new), indices)  # NaN outside


def of(model, start=(0.0, 0.0)):
    with np.errstate(invalid="ignore"):
        return fingerprint(Chain(model, WALK, ExactTest(), start, np.random.default_rng(1)))


@pytest.mark.parametrize("row", [0, 1, 7, 123_457, LARGE - 2, LARGE - 1])
def test_every_row_of_large_data_is_read(row):
    changed = Regression(LARGE)
    changed.y[row] += 0.5
    assert not agree(of(Regression(LARGE)), of(changed))


def test_a_heavy_row_does_not_hide_the_others():
    for row in (0, 1, 1999):
        changed = Regression(heavy=True)
        changed.y[row] *= 1.01
        assert not agree(of(Regression(heavy=True)), of(changed)), row


def test_other_rounding_is_the_same_model():
    class Rounded(Regression):
        def terms(self, theta, theta_new, indices):
            return super().terms(theta, theta_new, indices) * (1.0 + 1e-12) + 1e-14

    one, other = of(Regression()), of(Rounded())
    assert one != other
    assert agree(one, other)


def test_rounding_does_not_change_the_digest_of_a_run():
    class Rounded(Regression):
        def terms(self, theta, theta_new, indices):
            return super().terms(theta, theta_new, indices) + 1e-12

    Rounded.__qualname__ = Regression.__qualname__

    def identity(model, known=None):
        return identified(ChainSpec(model, WALK, ExactTest(), np.zeros(2)), 0, 1, known)

    first = identity(Regression())
    known = {MARKS: first.notes[MARKS]}
    assert identity(Rounded()).digest != first.digest
    assert identity(Rounded(), known).digest == first.digest
    assert identity(Regression(1999), known).digest != first.digest


def test_data_are_read_from_a_start_at_the_bound():
    changed = Positive()
    changed.y += 1.0
    assert agree(of(Positive()), of(Positive()))
    assert not agree(of(Positive()), of(changed))
    assert not agree(of(Positive(), (1.0, 1.0)), of(changed, (1.0, 1.0)))


def test_a_start_where_nothing_is_finite_is_refused(tmp_path):
    class Nowhere(Regression):
        def terms(self, theta, theta_new, indices):
            return np.full(indices.size, np.nan)

    with pytest.raises(BadInput, match="no lᵢ near it is finite"):
        run(Nowhere(), WALK, ExactTest(), start=[0.0, 0.0], draws=5, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Slots:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale

    def propose(self, rng, theta):
        return Proposed(theta + self.scale * rng.standard_normal(theta.size), 0.0)


class Called(Slots):
    def __call__(self):
        """Whatever this is for."""


def closure(scale):
    class Walk:
        def propose(self, rng, theta):
            return Proposed(theta + scale * rng.standard_normal(theta.size), 0.0)

    return Walk()


class Locked(Slots):
    __slots__ = ("lock",)

    def __init__(self, scale):
        super().__init__(scale)
        self.lock = threading.Lock()  # cannot be copied


@pytest.mark.parametrize("make", [Slots, Called, closure, Locked])
def test_a_proposal_is_known_by_what_it_proposes(make):
    start = np.zeros(2)
    assert agree(behaviour(make(0.05), start), behaviour(make(0.05), start))
    assert not agree(behaviour(make(0.05), start), behaviour(make(0.051), start))


def test_the_data_that_a_proposal_holds_are_not_copied():
    class Data(np.ndarray):
        def __deepcopy__(self, memo):
            raise MemoryError

    class Holds(Slots):
        def __init__(self, model):
            super().__init__(0.05)
            self.model, self.x, self.calls = model, model.x, []

        def propose(self, rng, theta):
            self.calls.append(theta)
            return super().propose(rng, theta)

    model = Regression()
    model.x = model.x.view(Data)
    walk = Holds(model)
    behaviour(walk, np.zeros(2), model)
    assert walk.calls == []


def test_log_q_belongs_to_a_proposal():
    class Skewed(Slots):
        def propose(self, rng, theta):
            return super().propose(rng, theta)._replace(log_q=0.1)

    assert not agree(behaviour(Skewed(0.05), np.zeros(2)), behaviour(Slots(0.05), np.zeros(2)))


def test_a_proposal_that_counts_its_calls_is_resumed(tmp_path):
    class Counting:
        calls = 0

        def propose(self, rng, theta):
            self.calls += 1
            return Proposed(theta + 0.05 * rng.standard_normal(theta.size), 0.0)

    walk = Counting()
    options = {"start": [0.0, 0.0], "chains": 1, "output": tmp_path, "resume": True}
    run(Regression(), walk, ExactTest(), draws=20, **options)
    assert walk.calls == 20
    assert run(Regression(), walk, ExactTest(), draws=30, **options)[0].theta.shape == (30, 2)
