"""The driver: blocks end at fixed steps, whatever a chain starts from; errors carry the draws so far."""

from __future__ import annotations

import numpy as np
import pytest

from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.driver import BLOCK, PIECE_SECONDS, Paced, Stopwatch, advance_to, in_blocks
from samplers.chains.stepping import SteppedChain
from samplers.decide.comparison import Decision


class Counter(SteppedChain):
    """Its state is the number of its steps; step number `bad` cannot be made."""

    def __init__(self, bad=None):
        self.rng, self.theta, self.bad = np.random.default_rng(1), np.zeros(1), bad

    def step(self, rng, theta):
        rng.random()
        if self.steps == self.bad:
            raise ChainStopped.at(theta, 7)
        return theta + 1.0, Decision(True, 10, 1)


def ends(chain, goal, **options):
    return [(chain.steps, part.accepted.size) for part in in_blocks(chain, goal, **options)]


def test_blocks_end_at_multiples_of_the_block_and_at_breaks():
    assert ends(Counter(), 600, breaks=[100, 700]) == [(100, 100), (256, 156), (512, 256), (600, 88)]
    assert BLOCK == 256  # checkpoints of older versions end there


@pytest.mark.parametrize("begin", [1, 99, 100, 255, 256, 300, 599])
def test_a_chain_that_was_interrupted_has_the_same_ends_from_there_on(begin):
    chain = Counter()
    chain.advance(begin)
    expected = [end for end in (100, 256, 512, 600) if end > begin]
    assert [end for end, _ in ends(chain, 600, breaks=[100])] == expected


def test_blocks_can_be_counted_from_another_step_or_not_at_all():
    chain = Counter()
    chain.advance(7)
    assert [end for end, _ in ends(chain, 30, size=10, first=7)] == [17, 27, 30]
    assert [end for end, _ in ends(chain, 50, size=None, breaks=[20, 41])] == [41, 50]
    assert ends(chain, 50) == []


def test_an_advance_that_makes_fewer_steps_is_called_again():
    chain, asked = Counter(), []

    def at_most_three(steps):
        asked.append(steps)
        return chain.advance(min(steps, 3))

    draws = advance_to(chain, 8, size=None, advance=at_most_three)
    assert draws.theta[:, 0].tolist() == list(range(1, 9))
    assert asked == [8, 5, 2]


def test_stop_is_asked_before_each_block():
    chain, told = Counter(), []
    draws = advance_to(chain, 1000, size=100, stop=lambda: told.append(chain.steps) or chain.steps >= 300)
    assert told == [0, 100, 200, 300]
    assert draws.accepted.size == chain.steps == 300


def test_a_stopped_chain_hands_over_the_draws_of_all_blocks():
    chain = Counter(bad=130)
    with pytest.raises(ChainStopped, match="step 130: the log-likelihood of datum 7") as stopped:
        advance_to(chain, 1000, size=50)
    assert stopped.value.draws.theta[:, 0].tolist() == list(range(1, 131))
    assert chain.steps == 130
    twin = Counter()
    twin.advance(130)
    assert chain.rng.bit_generator.state == twin.rng.bit_generator.state  # as after the last good step


def test_no_steps_are_no_draws():
    draws = advance_to(Counter(), 0)
    assert isinstance(draws, Draws)
    assert draws.theta.shape == (0, 1)


def test_a_stopwatch_times_each_block():
    watch = Stopwatch(Counter())
    advance_to(watch.chain, 25, size=10, advance=watch)
    assert len(watch.laps) == 3
    assert watch.seconds == pytest.approx(sum(watch.laps))
    assert min(watch.laps) > 0.0


class Clock:
    """A chain whose steps take a given time, by its own clock."""

    def __init__(self, seconds):
        self.chain, self.seconds, self.now, self.pieces = Counter(), seconds, 0.0, []

    def advance(self, steps):
        self.now += steps * self.seconds
        self.pieces.append(steps)
        return self.chain.advance(steps)

    def run(self, goal, **options):
        return advance_to(self.chain, goal, advance=Paced(self.advance, lambda: self.now), **options)


def test_fast_steps_are_soon_made_in_whole_blocks():
    clock = Clock(1e-6)
    clock.run(2048)
    assert clock.pieces == [1, 8, 64, 183, *[BLOCK] * 7]


def test_slow_steps_are_made_in_pieces_that_do_not_keep_anybody_waiting():
    clock = Clock(0.4 * PIECE_SECONDS)
    assert clock.run(9).theta[:, 0].tolist() == list(range(1, 10))
    assert clock.pieces == [1, 2, 2, 2, 2]
    clock = Clock(100.0)
    clock.run(3)
    assert clock.pieces == [1, 1, 1]


def test_pieces_shrink_when_steps_become_slow_and_respect_breaks():
    clock = Clock(0.0)
    clock.run(100, breaks=[20])
    assert clock.pieces == [1, 8, 11, 80]
    clock = Clock(0.0)
    paced = Paced(clock.advance, lambda: clock.now)
    paced(256), paced(256), paced(256)
    clock.seconds = PIECE_SECONDS
    paced(256), paced(256)
    assert clock.pieces == [1, 8, 64, 256, 1]
