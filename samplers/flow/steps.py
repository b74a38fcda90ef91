"""The steps of `sample`, in their order: each is made once, decides, says what it decided, and is kept."""

from __future__ import annotations

import json
import time
from ast import literal_eval
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.chains.chain import Chain
from samplers.chains.spec import ChainSpec
from samplers.decide.barker import BarkerTest
from samplers.decide.exact import ExactTest
from samplers.decide.exact_minibatch import ExactMinibatchTest
from samplers.decide.sequential import SequentialTest
from samplers.flow.decisions import Decision
from samplers.flow.narrator import Narrator
from samplers.flow.place import Finished, Place
from samplers.flow.problem import Problem
from samplers.flow.which_test import ChosenTest
from samplers.flow.wishes import Wishes
from samplers.models.control import Controlled, find_mode
from samplers.models.control.heavy import RowSplit
from samplers.proposals import RandomWalk
from samplers.runs.differences import MOST_NAMED, changed
from samplers.runs.identity import agree, fingerprint
from samplers.study.observe import independent

DRAWS = 1000  # of each chain, to begin with
INDEPENDENT_WARMUP, WALK_WARMUP = 100, 500  # steps
INDEPENDENT_PAIRS, WALK_PAIRS = 200, 100  # of a trial run
ENOUGH = 400  # effective draws

_T = TypeVar("_T")


class Flow:
    """The steps, and what they share: the problem, the wishes, the directory, and the decisions so far."""

    def __init__(self, problem: Problem, wishes: Wishes, place: Place, narrator: Narrator) -> None:
        self.problem, self.wishes, self.place, self.narrator = problem, wishes, place, narrator
        self.decisions: list[Decision] = []
        self.seconds: dict[str, float] = {}

    def step(self, name: str, make: Callable[[], _T], of: Callable[[_T], dict[str, Any]] = lambda _: {}) -> _T:
        """What a step found: from its file if it is finished, else made now and kept.

        `of` says which wishes that rests on, apart from those that cannot change: if they are others now, it is made
        again.
        """
        known = self.place.load(name)
        if known is not None and (changed := changes(known.of, of(known.value))):
            self.narrator.say(f"{name}: made again, since {changed}")
            known = None
        if known is None:
            first, begin = len(self.decisions), time.monotonic()
            value = make()
            known = Finished(value, tuple(self.decisions[first:]), time.monotonic() - begin, of(value))
            self.place.save(name, known)
            self.place.write_json("decisions.json", self.decisions)
        else:
            self.decisions += known.decisions
            for decision in known.decisions:
                self.narrator.say(f"{decision} (from before)")
        self.seconds[name] = known.seconds
        found: _T = known.value
        return found

    def decide(self, step: str, choice: str, reason: str = "", override: str = "") -> None:
        """Note a decision, and say it."""
        decision = Decision(step, choice, reason, override)
        self.decisions.append(decision)
        self.narrator.say(str(decision))

    def rng(self, number: int) -> np.random.Generator:
        """Random numbers of a step, which no other uses."""
        return np.random.default_rng([self.wishes.seed, number, 17])

    # --- what is sampled ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Refuse to go on with other wishes than those that the directory was begun with."""
        entries = self.wishes.entries()
        known = self.step("wishes", lambda: entries)
        if changed := changes(known, entries):
            raise BadInput(
                f"{self.place.directory}: was begun with other arguments: {changed}; resume with the same ones, or "
                "choose another directory"
            )

    def mode(self) -> Floats:
        """The posterior mode, or the start of a model that has no derivatives; the model is the one begun with."""
        found = self.step("mode", self._mode)
        theta: Floats = found["theta"]
        if not agree(found["marks"].tolist(), marks_of(self.problem.model, theta).tolist()):
            contents = changed(found.get("contents", {}), self.problem.contents, self.problem.files)
            which = f" ({', '.join(islice(contents, MOST_NAMED))})" if found.get("contents") else ""
            raise BadInput(
                f"{self.place.directory}: was begun with another model or other data{which}; choose another directory"
            )
        return theta

    def _mode(self) -> dict[str, Any]:
        problem = self.problem
        if not problem.differentiable:
            if problem.start is None:
                kind = type(problem.model).__name__
                raise BadInput(f"start: needed for a {kind}, which has no derivatives: a state near the mode")
            theta, how = problem.start, "the start, for a model without derivatives"
        elif problem.mode is not None:
            theta, how = problem.mode, "found by Newton's method"
        else:
            theta, how = find_mode(problem.model, problem.start, names=problem.names), "found by Newton's method"
        data, size = f"{problem.model.n_data:,} data", f"{theta.size:,} parameter{'s' if theta.size > 1 else ''}"
        self.decide("mode", how, f"the model has {size} and {data}" if problem.differentiable else "", "start=")
        return {"theta": theta, "marks": marks_of(problem.model, theta), "contents": dict(problem.contents)}

    def proxied(self, mode: Floats) -> Controlled | None:
        """The model with control variates of order 2 at the mode, for proposals and for Laplace."""
        if not self.problem.differentiable:
            asked = {"order": self.wishes.order, "laplace": self.wishes.laplace}
            for name, value in asked.items():
                if value and value not in ("auto", "never"):
                    raise BadInput(f"{name} = {value!r}: {type(self.problem.model).__name__} has no derivatives")
            return None
        return Controlled.around(self.problem.model, mode)

    @property
    def order(self) -> int:
        """Of the control variates of the test."""
        return 2 if self.wishes.order is None else self.wishes.order

    def controlled(self, proxied: Controlled | None, split: RowSplit | None = None) -> Any:
        """What the chains see: the model with its control variates and heavy rows, or as it is."""
        if proxied is None or self.order == 0:
            return self.problem.model
        whole = proxied if self.order == 2 else Controlled.around(self.problem.model, proxied.centre, self.order)
        return whole if split is None or not split.heavy.size else whole.with_heavy(split)

    def pairs(self, proposal: Any) -> int:
        """Of a trial run."""
        return self.wishes.pairs or (INDEPENDENT_PAIRS if independent(proposal) else WALK_PAIRS)

    def warmup(self, proposal: Any) -> int:
        """Steps of each chain before the first draw."""
        usual = INDEPENDENT_WARMUP if independent(proposal) else WALK_WARMUP
        return usual if self.wishes.warmup is None else self.wishes.warmup

    @property
    def trial_path(self) -> Any:
        """The file of the trial run."""
        return self.place.path("trial.parquet")

    def spec(self, proxied: Controlled | None, proposal: Any, start: Floats, plan: ChosenTest) -> ChainSpec:
        """The parts of the chains."""
        model = self.controlled(proxied, plan.split)
        test: Any = {"exact": ExactTest(), "exact-minibatch": ExactMinibatchTest(), "given": self.wishes.test}.get(
            plan.kind
        )
        design = plan.loaded
        if design is not None:
            test = SequentialTest.from_design(design)
        rule = "barker" if isinstance(test, BarkerTest) else self.problem.rule
        return ChainSpec(model, proposal, test, start, rule, design=design, names=self.problem.names)


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Entry by entry what was and what is; empty if nothing changed.

    Examples
    --------
    >>> changes({"draws": 100, "audit": 9}, {"draws": 200, "audit": 9})
    'draws was 100 and is 200'
    """
    pairs = {name: (before.get(name, "not kept"), now[name]) for name in now if before.get(name, ...) != now[name]}
    return ", ".join(
        f"{part} was {was} and is {new}" for name, pair in pairs.items() for part, was, new in _finer(name, *pair)
    )


def _finer(name: str, was: Any, now: Any) -> list[tuple[str, Any, Any]]:
    """The entries of a design that differ; any other wish as it is."""
    try:
        old, new = (json.loads(literal_eval(text))["test"] for text in (was, now))
    except (ValueError, TypeError, KeyError, SyntaxError):
        return [(name, was, now)]
    return [(f"{name}.{key}", old.get(key), new.get(key)) for key in {**old, **new} if old.get(key) != new.get(key)]


def marks_of(model: Any, theta: Floats) -> Floats:
    """What tells this model and its data from others, at a state."""
    walk = RandomWalk.isotropic(1.0, theta.size)
    return np.array(fingerprint(Chain(model, walk, ExactTest(), theta, np.random.default_rng(0))))
