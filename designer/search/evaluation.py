"""Evaluating designs for one search: on all cores or elsewhere, counted, and every result kept."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Any

from designer.core.errors import integer
from designer.core.progress import Cancelled
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import epsilon_of
from designer.search.criteria import UNKNOWN, Cost, Criterion, measure_of
from designer.search.result import Options
from designer.search.space import Shape, Space
from designer.search.table import Evaluated, EvaluatedDesign, tabulated
from designer.search.upper_limit import USUAL_CONFIDENCE, check_confidence

SCAN_ACCURACY = 4e-4  # of the first scan; merges neighbouring looks
HOPELESS = 1.5  # times the least cost known
SEARCH_ACCURACY = 3e-7  # of everything that decides whether a design is feasible


class Evaluator:
    """What is asked of one search, and every design that has been evaluated for it."""

    def __init__(
        self, trial: TrialRun | None, n_data: int, criterion: Criterion, space: Space, options: Options
    ) -> None:
        self.trial, self.n_data, self.criterion, self.space = trial, n_data, criterion, space
        self.rule = options.get("rule", "metropolis")
        self.skew = options.get("skew") if trial is not None else False
        self.confidence = check_confidence(options.get("confidence", USUAL_CONFIDENCE))
        if criterion == "worst-case":
            self.confidence = None  # its error does not depend on the pairs
        self.measure = measure_of(
            criterion, trial, self.rule, options.get("quantile", 0.95), skew=self.skew, confidence=self.confidence
        )
        self.small = self.measure.small()
        self.cost = (options.get("cost") or Cost()).checked()
        workers = options.get("workers")
        self.workers = integer("workers", os.cpu_count() or 1 if workers is None else workers, 1, 1000)
        self.mapper = options.get("mapper")
        self.progress = options.get("progress") or _ignore
        self.cancelled = options.get("cancelled") or _never
        self.done = self.total = 0
        self.lock = threading.Lock()
        self.rows: list[EvaluatedDesign] = []
        self.cheapest = math.inf

    def evaluate(self, shape: Shape, bound: float, accuracy: float, epsilon: float | None = None) -> EvaluatedDesign:
        """Score one design: roughly, on some of the pairs, or to full accuracy; `epsilon` is that of the bound."""
        if self.cancelled():
            raise Cancelled
        measure = self.small if accuracy > SEARCH_ACCURACY else self.measure
        score = measure(shape.plan(bound), accuracy)
        row = EvaluatedDesign(shape, epsilon_of(bound) if epsilon is None else epsilon, score, accuracy)
        self.rows.append(row)
        return row

    def each(self, function: Callable[..., Any], items: Sequence[Any], *more: Any) -> Iterator[Any]:
        """function(self, item, *more) of every item, in order: on all cores, or wherever the mapper takes it."""
        if self.mapper is not None:
            for result, rows in self.mapper(_Remote(self.blank(), function, more), items):
                self.rows += rows
                yield result
            return
        with ThreadPoolExecutor(self.workers) as pool:
            yield from pool.map(lambda item: function(self, item, *more), items)

    def blank(self) -> Evaluator:
        """The same question with nothing evaluated, for another process; it reports no progress."""
        other = copy(self)
        other.mapper, other.progress, other.cancelled, other.rows = None, _ignore, _never, []
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=threading.Lock())

    def step(self) -> None:
        """Report that one more part of the work is done."""
        with self.lock:
            self.done += 1
            self.progress(self.done, max(self.done, self.total))

    def finish(self) -> None:
        """Report the end of work whose steps were made in other processes, which report none."""
        if self.mapper is not None:
            self.progress(self.total, self.total)

    def cost_of(self, row: EvaluatedDesign) -> float:
        """What a step costs with this design."""
        return self.cost.of(self.n_data, row.score.usage, row.score.looks)

    def found(self, rows: Iterable[EvaluatedDesign]) -> None:
        """Remember the least cost of designs that meet every target."""
        self.cheapest = min([self.cheapest, *map(self.cost_of, rows)])

    @property
    def resamples(self) -> bool:
        """Whether pairs may be resampled, which is slow."""
        return self.trial is not None and self.trial.residuals is not None and self.skew is None

    def hopeless(self, row: EvaluatedDesign) -> bool:
        """Whether resampling need not go on from this design to larger bounds: they read too much, or cost too much."""
        return self.resamples and (row.score == UNKNOWN or self.cost_of(row) > HOPELESS * self.cheapest)

    def table(self, target: float, *more: EvaluatedDesign) -> Evaluated:
        """All evaluations of the search, and `more`."""
        return tabulated([*self.rows, *more], target, self.cost_of)


@dataclass(frozen=True)
class _Remote:
    """A function of an evaluator, called in another process: its result, and every design that it evaluated."""

    evaluator: Evaluator
    function: Callable[..., Any]
    more: tuple[Any, ...]

    def __call__(self, item: Any) -> tuple[Any, list[EvaluatedDesign]]:
        own = self.evaluator.blank()  # concurrent calls share the question, not the results
        return self.function(own, item, *self.more), own.rows


def _ignore(done: int, total: int) -> None:
    pass


def _never() -> bool:
    return False
