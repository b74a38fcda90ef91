"""What a test saves if it remembers the log-likelihoods of rows it has read (`Remembering`), and what that costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from samplers.chains.chain import Chain
from samplers.chains.remembering import Remembering
from samplers.experiments.framework.report import Cell, ResultTable
from samplers.experiments.framework.running import Values, Work

MEMORY = "memory"
Make = Callable[[Any, np.random.Generator], Chain]


def memory_names(tests: Sequence[str]) -> list[str]:
    """Names of parts."""
    return [f"{MEMORY} {name}" for name in tests]


def memory_work(model: Any, make: Make, rng: np.random.Generator, steps: int, work: Work) -> Values:
    """Evaluations for each datum read by a chain that remembers, and its speed beside the compiled one without.

    `make` makes the chain of a model, with its random numbers. Both chains make the same decisions.
    """
    seed = int(rng.integers(2**63))
    seconds, per_datum = [], 2.0
    for share, kind in ((0.0, Remembering), (0.7, _itself)):
        work.step(share)
        make(kind(model), np.random.default_rng(0)).advance(2)  # compiles
        chain = make(kind(model), np.random.default_rng(seed))
        begin = time.process_time()
        chain.advance(steps)
        seconds.append(time.process_time() - begin)
        per_datum = min(per_datum, chain.evaluations_per_datum)
    return {"per_datum": per_datum, "slower": seconds[0] / max(seconds[1], 1e-9)}


def _itself(model: Any) -> Any:
    return model


def memory_of(values: Mapping[str, Values], tests: Sequence[str]) -> dict[str, float]:
    """Evaluations per datum of each test."""
    return {name: float(values[f"{MEMORY} {name}"]["per_datum"]) for name in tests}


def memory_table(values: Mapping[str, Values], tests: Sequence[str]) -> ResultTable:
    """What remembering saves and costs."""
    columns = ["test", "evaluations per datum read", "without memory", "time of a step, with over without"]
    rows: list[list[Cell]] = [
        [name, float(part["per_datum"]), 2.0, float(part["slower"])]
        for name, part in ((name, values[f"{MEMORY} {name}"]) for name in tests)
    ]
    return ResultTable("Tests that remember the rows they have read", columns, rows)


def memory_sentence(values: Mapping[str, Values], tests: Sequence[str]) -> str:
    """In words."""
    parts = [values[f"{MEMORY} {name}"] for name in tests]
    per, slower = (", ".join(f"{float(part[key]):.2f}" for part in parts) for key in ("per_datum", "slower"))
    return (
        f"Tests that remember the rows they have read need {per} evaluations per datum instead of 2, and take "
        f"{slower} times as long, because compiled steps evaluate both states at one access to a row. So times are "
        f"those without memory, and evaluations those with it."
    )
