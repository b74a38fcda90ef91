"""A reversible-jump chain. It follows the chain protocol, so runs, checkpoints, trial runs and audits can use it.

Its state is the vector of coefficients; those that are exactly 0 are inactive. (An update that ends on 0 has
probability 0.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from designer.core.arrays import Floats
from designer.engine.step_error import Rule
from samplers.chains.stepping import SteppedChain, decide
from samplers.decide.comparison import AcceptTest, Comparison, Decision
from samplers.decide.sequential import check_designed_for
from samplers.models.rj_logistic import RJLogistic, RJState

PROBES = 8  # comparisons that tell a model from another


class JumpChain(SteppedChain):
    """One chain of births, deaths and updates; it follows the chain protocol (`samplers.chains.protocol`).

    Its state is the vector of coefficients; those that are exactly 0 are inactive.

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
        self.theta = model.checked(state_of(theta)).beta.copy()
        check_designed_for(test, self.n_data)

    def propose(self, rng: np.random.Generator, theta: Floats) -> tuple[Floats, Comparison]:
        """A birth, a death or an update, and the question whether to accept it."""
        state = state_of(theta)
        jump = self.model.propose(rng, state)
        question = self.model.comparison(state, jump, self.rule)
        return jump.state.beta, question if self.temperature == 1.0 else question.at_temperature(self.temperature)

    def probes(self, rng: np.random.Generator) -> Iterator[Comparison]:
        """A few moves from the state."""
        for _ in range(PROBES):
            yield self.propose(rng, self.theta)[1]

    def step(self, rng: np.random.Generator, theta: Floats) -> tuple[Floats, Decision]:
        """Propose a move, ask the test, move or stay."""
        proposed, question = self.propose(rng, theta)
        decision = decide(rng, self.test, question, proposed)
        return (proposed if decision.accept else theta), decision


def state_of(theta: Floats) -> RJState:
    """Which coefficients are active, and their values."""
    return RJState(theta != 0.0, theta)
