"""Which proposal, and where chains start."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.flow.steps import Flow
from samplers.flow.without_control import tuned
from samplers.models.control import Controlled
from samplers.models.control.scale_mode import prior_only
from samplers.models.groups import Grouped
from samplers.proposals import ArrowStep, ConditionalStep, RandomWalk, choose_proposal

TUNING = 500  # steps of a round in which a random walk learns, at least; and 50 for each parameter
WALK_EFFICIENCY = 0.3  # effective draws per step of a good random walk, times D


def proposed(flow: Flow, proxied: Controlled | None, mode: Floats) -> tuple[Any, Floats]:
    """The proposal, and where chains start."""
    given = flow.wishes.proposal
    if not isinstance(given, str):
        flow.step("proposal", lambda: flow.decide("proposal", f"{type(given).__name__}, as given"))
        return given, mode
    if proxied is not None and isinstance(proxied.model, Grouped):
        beta, scale_steps = flow.step("proposal", lambda: _of_groups(flow, proxied))
        return ArrowStep(proxied, beta, np.asarray(scale_steps)), mode
    if proxied is not None and prior_only(proxied.model).size:
        flow.step("proposal", lambda: _given_scales(flow))
        return ConditionalStep.of(proxied, flow.problem.beta), mode
    found = flow.step("proposal", lambda: _proposal(flow, proxied, mode))
    return found["proposal"], found["start"]


def _of_groups(flow: Flow, proxied: Controlled) -> tuple[float, list[float]]:
    _check_no_walk(flow)
    proposal = choose_proposal(proxied, flow.problem.beta).proposal
    assert isinstance(proposal, ArrowStep)
    kind, _, why = proposal.words.partition("; ")
    flow.decide("proposal", f"proxy proposals for group effects: {kind}", why, "proposal=")
    return proposal.beta, proposal.scale_steps.tolist()


def _given_scales(flow: Flow) -> None:
    _check_no_walk(flow)
    why = "given the scales, coefficients and effects are nearly normal; scales move along in half of the steps"
    flow.decide("proposal", "proxy proposals for group effects", why, "proposal=")


def _check_no_walk(flow: Flow) -> None:
    if flow.wishes.proposal == "random-walk":
        raise BadInput('proposal = "random-walk": with group effects, "proxy" is the proposal that follows the scales')


def _proposal(flow: Flow, proxied: Controlled | None, mode: Floats) -> dict[str, Any]:
    wished, problem = flow.wishes.proposal, flow.problem
    if proxied is None:
        if wished == "proxy":
            raise BadInput(f'proposal = "proxy": {type(problem.model).__name__} has no derivatives')
        steps = max(flow.wishes.warmup or TUNING, 50 * mode.size)
        with flow.narrator.bar("learning the steps") as show:
            found = tuned(problem.model, mode, flow.rng(2), steps, show)
        flow.decide(
            "proposal",
            "random walk with a learned covariance",
            f"the model has no derivatives; {found.steps:,} exact steps, acceptance {found.acceptance:.2f} in the last",
            "proposal=",
        )
        return {"proposal": found.walk, "start": found.theta}
    walk = RandomWalk.with_covariance(np.linalg.inv(proxied.posterior_precision()))
    if wished == "random-walk":
        flow.decide("proposal", "random walk with the covariance at the mode", "it was asked for", 'proposal="proxy"')
        return {"proposal": walk, "start": mode}
    with flow.narrator.bar("comparing proposals"):
        choice = choose_proposal(proxied, problem.beta, problem.tails, problem.profile)
    effective = max((one.effective for one in choice.candidates), default=1.0)
    worth = WALK_EFFICIENCY / proxied.dimension
    if wished == "auto" and effective < worth:
        flow.decide(
            "proposal",
            "random walk with the covariance at the mode",
            f"independent proposals promise {effective:.2g} effective draws per step, a random walk about {worth:.2g}",
            'proposal="proxy"',
        )
        return {"proposal": walk, "start": mode}
    kind, _, why = choice.sentence.partition("; ")
    flow.decide("proposal", kind, why, 'proposal="random-walk"')
    return {"proposal": choice.proposal, "start": mode}
