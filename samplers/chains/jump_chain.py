"""A reversible-jump chain with the manners of `Chain`, so that runs, checkpoints, trials and audits can use it.

Its state is the vector of coefficients: those that are exactly 0 are the inactive ones. (An update that ends on 0 has
probability 0.)
"""

from __future__ import annotations

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from samplers.chains.chain import ChainStopped, Draws, all_steps_or_none
from samplers.decide.comparison import AcceptTest, Comparison, Decision, NonFiniteTerm
from samplers.decide.sequential import SequentialTest
from samplers.models.rj_logistic import Jump, RJLogistic, RJState


class JumpChain:
    """One chain of births, deaths and updates, with the manners of `Chain`.

    Its state is the vector of coefficients: those that are exactly 0 are the inactive ones.

    Parameters
    ----------
    model
        An `RJLogistic`, which also proposes.
    test
        An `AcceptTest`.
    theta
        The start, D numbers, not all 0.
    rng
        Random numbers.
    rule
        "metropolis" or "barker".
    temperature
        The likelihood is taken to the power 1 / temperature.

    Examples
    --------
    >>> from samplers.decide.exact import ExactTest
    >>> from samplers.models.rj_logistic import RJLogistic
    >>> x = np.random.default_rng(0).standard_normal((500, 3))
    >>> model = RJLogistic.from_data(x, x[:, 0] > 0)
    >>> chain = JumpChain(model, ExactTest(), np.array([1.0, 0.0, 0.0]), np.random.default_rng(1))
    >>> chain.advance(100).theta.shape
    (100, 3)
    """

    def __init__(
        self,
        model: RJLogistic,
        test: AcceptTest,
        theta: Floats,
        rng: np.random.Generator,
        rule: Rule = "metropolis",
        temperature: float = 1.0,
    ) -> None:
        self.model, self.test, self.rng, self.rule, self.temperature = model, test, rng, rule, temperature
        self.theta, self.steps = model.checked(state_of(theta)).beta.copy(), 0
        if isinstance(test, SequentialTest) and test.plan.schedule.n_data != model.n_data:
            made_for = test.plan.schedule.n_data
            raise BadInput(f"the test was designed for n_data = {made_for:,}, the model has {model.n_data:,}")

    def use_test(self, test: AcceptTest) -> None:
        """Go on with another acceptance test, for as many data."""
        self.test = test

    def propose(self, rng: np.random.Generator, theta: Floats) -> tuple[Jump, Comparison]:
        """A move, and the question whether to accept it."""
        state = state_of(theta)
        jump = self.model.propose(rng, state)
        question = self.model.comparison(state, jump, self.rule)
        return jump, question if self.temperature == 1.0 else question.at_temperature(self.temperature)

    def advance(self, steps: int) -> Draws:
        """Make so many steps. If stopped, theta, steps and random numbers are as after the last good one.

        After any other error they are as before the first.
        """
        with all_steps_or_none(self):
            return self._advance(steps)

    def _advance(self, steps: int) -> Draws:
        draws = Draws.empty(steps, self.theta.size)
        for s in range(steps):
            before = self.rng.bit_generator.state
            jump, question = self.propose(self.rng, self.theta)
            try:
                decision: Decision = self.test.decide(self.rng, question)
            except NonFiniteTerm as bad:
                self.rng.bit_generator.state = before
                raise ChainStopped(self.steps, jump.state.beta, bad.index, draws.first(s)) from None
            if decision.accept:
                self.theta = jump.state.beta
            draws.theta[s] = self.theta
            draws.accepted[s], draws.n_used[s], draws.n_looks[s] = decision
            self.steps += 1
        return draws


def state_of(theta: Floats) -> RJState:
    """Which coefficients are active, and their values."""
    return RJState(theta != 0.0, theta)
