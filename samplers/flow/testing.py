"""Which test the chains use, with its trial run and its design if it needs them."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.pairs.notes import Note
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from samplers.chains.chain import Chain
from samplers.chains.draws import Draws
from samplers.chains.driver import in_blocks
from samplers.decide.exact import ExactTest
from samplers.decide.exact_minibatch import ExactMinibatchTest
from samplers.flow.steps import DRAWS, INDEPENDENT_WARMUP, Flow
from samplers.flow.tolerances import Designed, designed
from samplers.flow.which_test import (
    WORDS,
    ChosenTest,
    Cost,
    exact_cost,
    minibatch_cost,
    needs_no_trial,
    sequential_cost,
)
from samplers.models.control import Controlled
from samplers.models.control.heavy import RowSplit
from samplers.models.control.term_bounds import BoundedModel
from samplers.models.groups import Grouped
from samplers.proposals import ArrowStep, ConditionalStep, ProxyStep, RandomWalk
from samplers.study.independent_pairs import independent_pairs
from samplers.study.observe import Observed, Pair, independent, observing, spacing
from samplers.study.predict_minibatch import predict_minibatch

ARROW_SPACING = 3  # steps from one pair to the next: coefficients and effects are new in each, scales are not
CHEAPER = 0.5  # data use at which a test evaluates as much as exact decisions with a cache


def chosen_test(flow: Flow, proxied: Controlled | None, proposal: Any, start: Floats) -> ChosenTest:
    """Which test the chains use."""
    found = flow.step("test", lambda: _plan(flow, proxied, proposal, start), lambda _: _trial_file(flow))
    if found.design is not None and (design := found.loaded) is not None:
        design.save(flow.place.path("design.toml"))
    return found


def _plan(flow: Flow, proxied: Controlled | None, proposal: Any, start: Floats) -> ChosenTest:
    wished, whole = flow.wishes.test, flow.controlled(proxied)
    if not isinstance(wished, str):
        split = _split(flow, whole, for_bounds=isinstance(wished, ExactMinibatchTest))
        flow.decide("test", f"{type(wished).__name__}, as given")
        return ChosenTest("given", split)
    if wished == "exact":
        flow.decide("test", WORDS["exact"], "it was asked for", 'test="auto"')
        return ChosenTest("exact", rows=float(flow.problem.model.n_data))
    costs: list[Cost] = []
    plans: dict[str, ChosenTest] = {}
    bounded = isinstance(whole, Controlled) and has_bounds(whole.model)
    if wished == "exact-minibatch" and not bounded and not hasattr(whole, "bounds"):
        raise BadInput(f'test = "exact-minibatch": {type(flow.problem.model).__name__} has no bounds on its terms')
    if wished in ("auto", "exact-minibatch") and bounded and isinstance(proposal, (ProxyStep, ArrowStep, RandomWalk)):
        split = _split(flow, whole, for_bounds=True)
        model = whole if split is None else whole.with_heavy(split)
        with flow.narrator.bar("predicting the exact mini-batch test"):
            predicted = predict_minibatch(flow.rng(3), model, proposal, rule=flow.problem.rule)
        costs.append(minibatch_cost(predicted, model.n_heavy))
        plans["exact-minibatch"] = ChosenTest("exact-minibatch", split, rows=costs[0].rows)
    if wished == "exact-minibatch":
        flow.decide("test", WORDS[wished], "it was asked for", 'test="auto"')
        return plans.get(wished, ChosenTest("exact-minibatch"))
    steps = flow.wishes.chains * (flow.warmup(proposal) + (flow.wishes.draws or DRAWS))
    n_rows, pairs = flow.problem.model.n_data, flow.pairs(proposal)
    if wished == "auto" and costs and needs_no_trial(costs[0], steps, n_rows, pairs):
        _say_heavy(flow, plans["exact-minibatch"].split)
        flow.decide(
            "test",
            WORDS["exact-minibatch"],
            f"it makes no error and reads about {costs[0].rows:,.3g} rows per step (acceptance "
            f"{costs[0].acceptance:.2f}): all {steps:,} steps together cost less than the trial run of {pairs:,} "
            "pairs that a sequential design needs",
            'test="sequential"',
        )
        return plans["exact-minibatch"]
    return _with_design(flow, whole, proposal, start, costs, plans)


def has_bounds(model: Any) -> bool:
    """Whether the residuals of a model's control variates have bounds."""
    return isinstance(model.model if isinstance(model, Grouped) else model, BoundedModel)


def _split(flow: Flow, whole: Any, *, for_bounds: bool = False) -> RowSplit | None:
    """The heavy rows, as asked for or chosen; None without control variates."""
    if not isinstance(whole, Controlled):
        if not isinstance(flow.wishes.heavy, (str, int)) or flow.wishes.heavy not in ("auto", 0):
            raise BadInput("heavy: needs control variates, which this model does not have")
        return None
    wish = flow.wishes.heavy
    if isinstance(whole.model, Grouped) and isinstance(wish, str) and wish == "auto":
        return None
    if isinstance(wish, str) and wish == "auto" and for_bounds and isinstance(whole.model, BoundedModel):
        wish = "bounds"
    return whole.with_heavy(wish).split


def _say_heavy(flow: Flow, split: RowSplit | None) -> None:
    if split is None or not split.heavy.size:
        return
    _, _, why = split.sentence.partition(": ")
    flow.decide("heavy rows", f"{split.heavy.size:,} of {split.n_rows:,}", why or "they were asked for", "heavy=0")


def _with_design(
    flow: Flow, whole: Any, proposal: Any, start: Floats, costs: list[Cost], plans: dict[str, ChosenTest]
) -> ChosenTest:
    """A sequential design, if it is the cheapest or asked for."""
    split, wished = _split(flow, whole), flow.wishes.test
    model = whole if split is None or not split.heavy.size else whole.with_heavy(split)
    n_heavy = 0 if split is None else split.heavy.size
    if flow.wishes.design is not None:
        return _given_design(flow, flow.wishes.design, model, split)
    _say_heavy(flow, split)
    trial = trial_run(flow, model, proposal, start)
    acceptance = float(np.minimum(1.0, np.exp(np.minimum(trial.log_acceptance, 0.0))).mean())
    n_rows, found, reason = flow.problem.model.n_data, None, ""
    try:
        with flow.narrator.bar("searching a design") as show:
            found = _designed(flow, model, proposal, trial, start.size, show)
    except BadInput as refusal:
        if wished == "sequential":
            raise
        reason = f"no design can be made ({refusal})"
    if found is not None and found.result.best is None:
        reason = f"no design: {found.result.reason}"
        if wished == "sequential":
            raise BadInput(f"{reason} (tolerance {found.tolerance:.2g})")
    if found is not None and (best := found.result.best) is not None:
        costs.append(sequential_cost(best, n_heavy))
        numbers = found.tolerance, found.basis, found.upper, costs[-1].rows
        plans["sequential"] = ChosenTest("sequential", split, best.to_toml(), *numbers)
    costs.append(exact_cost(n_rows, acceptance))
    plans["exact"] = ChosenTest("exact", rows=float(n_rows))
    chosen = costs[-2] if wished == "sequential" else min(costs, key=lambda cost: cost.per_move)
    plan = plans[chosen.kind]
    if chosen.kind == "exact-minibatch":
        _say_heavy(flow, plan.split)
    compared = "; ".join(cost.words for cost in sorted(costs, key=lambda cost: cost.per_move))
    why = "it was asked for; " if wished == "sequential" else ""
    why += f"likelihood evaluations per accepted move: {compared}" + (f"; {reason}" if reason else "")
    other = "exact" if chosen.kind == "sequential" else "sequential"
    flow.decide("test", WORDS[chosen.kind], why, f'test="{other}"')
    if chosen.kind == "sequential" and found is not None:
        _say_design(flow, found)
    return plan


def _designed(flow: Flow, model: Any, proposal: Any, trial: TrialRun, dimension: int, show: Any) -> Designed:
    wishes, second = flow.wishes, isinstance(model, Controlled) and model.order == 2
    return designed(
        trial,
        wishes.posterior_error,
        wishes.tolerance,
        rule=flow.problem.rule,
        dimension=dimension,
        pairs=(lambda: independent_pairs(model, proposal, flow.rng(5)))
        if second and independent(proposal) and isinstance(proposal, ProxyStep)
        else None,
        walk=isinstance(proposal, RandomWalk) and not isinstance(model, Controlled),
        most_usage=1.0 if wishes.test == "sequential" else CHEAPER,
        progress=show,
    )


def _say_design(flow: Flow, found: Designed) -> None:
    best, result = found.result.best, found.result
    assert best is not None and best.predicted is not None
    flow.decide("tolerance", f"mean |Δ| at most {found.tolerance:.3g}", found.words, "tolerance=")
    limit = "" if result.limit is None else f", at most {result.limit:.2g} with confidence {result.confidence or 0:g}"
    flow.decide(
        "design",
        f"m = {best.m:,}, ε = {best.epsilon:.3g}, α = {best.alpha:.3g}",
        f"the cheapest of {len(result.evaluated):,}: mean |Δ| {result.error or 0.0:.2g}{limit}, data use "
        f"{best.predicted.mean_usage or 0.0:.2%}, by {best.predicted.source}",
        "design=",
    )


def _given_design(flow: Flow, design: Design, model: Any, split: RowSplit | None) -> ChosenTest:
    if design.n_data != model.n_data:
        heavy = f" ({model.n_heavy:,} rows are read in every step)" if getattr(model, "n_heavy", 0) else ""
        raise BadInput(f"design: is for n_data = {design.n_data:,}, a test here samples {model.n_data:,}{heavy}")
    _say_heavy(flow, split)
    flow.decide("test", WORDS["sequential"], "a design was given", 'test="auto"')
    notes = design.provenance
    tolerance = flow.wishes.tolerance or (notes.tolerance if notes is not None else None) or math.nan
    return ChosenTest("sequential", split, design.to_toml(), tolerance)


def trial_run(flow: Flow, model: Any, proposal: Any, start: Floats) -> TrialRun:
    """Pairs of an exact chain."""
    flow.step("trial", lambda: _trial(flow, model, proposal, start), lambda _: _trial_file(flow))
    return TrialRun.load(flow.trial_path)


def _trial_file(flow: Flow) -> dict[str, str]:
    """What the file of the trial run holds: if it is not what was written, the trial run is made again."""
    path = flow.trial_path
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:8] if path.exists() else "missing"}


def _trial(flow: Flow, model: Any, proposal: Any, start: Floats) -> dict[str, Any]:
    pairs, every = (
        flow.pairs(proposal),
        ARROW_SPACING if isinstance(proposal, (ArrowStep, ConditionalStep)) else spacing(proposal),
    )
    warmup = min(flow.warmup(proposal), INDEPENDENT_WARMUP) if independent(proposal) else flow.warmup(proposal)
    chain = Chain(model, proposal, ExactTest(), start, flow.rng(4), flow.problem.rule)
    recorded: list[Pair] = []
    accepted, steps = 0, warmup + pairs * every
    with flow.narrator.bar("trial run") as show:
        for _ in in_blocks(chain, warmup, size=16):
            if show is not None:
                show(chain.steps, steps)
        for part in observing(chain, steps, every, recorded):
            accepted += int(np.count_nonzero(part.accepted))
            if show is not None:
                show(chain.steps, steps)
    notes: dict[str, Note] = {"chain_acceptance": accepted / (pairs * every)}
    if isinstance(proposal, (ArrowStep, ConditionalStep, ProxyStep, RandomWalk)):
        notes["proposal"] = "random-walk" if isinstance(proposal, RandomWalk) else "proxy"
    if heavy := getattr(model, "n_heavy", 0):
        notes |= {"n_heavy": heavy, "heavy": model.split.sentence}
    trial = Observed(Draws.empty(0, start.size), recorded, flow.problem.rule).trial(chain.n_data, notes)
    trial.save(flow.trial_path)
    flow.decide(
        "trial run",
        f"{len(trial):,} pairs of an exact chain, {'at every step' if every == 1 else f'one in {every} steps'}",
        f"mean κ {float(trial.kappa.mean()):.3g}, acceptance {accepted / (pairs * every):.3f}",
        "pairs=",
    )
    return {"digest": trial.digest}
