"""One call on every permanent case: right within the wish, refused or warned, and never silently wrong.

`sample` with its defaults, with chains where it would have taken Laplace, with a sequential test, and with random
walks; the draws against exact posteriors that the samplers had no part in (`tests/cases`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.samplers.trust import CHANCE, WISH, compared
from designer.core.errors import BadInput, NumericalFailure
from samplers import Logistic, sample
from tests.cases import CASES

WAYS: dict[str, Mapping[str, Any]] = {
    "as it is": {},
    "chains": {"laplace": "never"},
    "sequential": {"test": "sequential"},
    "random walk, sequential": {"test": "sequential", "proposal": "random-walk"},
}
RIGHT, WARNED, RIGHT_WARNED, REFUSED, SILENT = (
    "right",
    "wrong, warned",
    "right, warned",
    "refused",
    "SILENTLY WRONG",
)
SHOWN = 200  # characters of what was said


class Outcome(NamedTuple):
    """What became of a call."""

    verdict: str
    said: str
    method: str = ""
    claim: str = ""
    mean_error: float | None = None
    sd_error: float | None = None
    seconds: float = 0.0

    @property
    def fine(self) -> bool:
        """Whether the promise was kept, or withdrawn aloud."""
        return self.verdict != SILENT


def outcome(name: str, **options: Any) -> Outcome:
    """One call on one case."""
    case = CASES[name]
    x, y, precision = case.data()
    begin = time.monotonic()
    try:
        result = sample(Logistic.from_data(x, y, precision), posterior_error=WISH, progress=False, **options)
    except (BadInput, NumericalFailure) as refusal:
        return Outcome(REFUSED, str(refusal), seconds=time.monotonic() - begin)
    seconds = time.monotonic() - begin
    errors, beyond = compared(result.posterior, case.reference())
    said = "; ".join(result.warnings)
    verdict = (WARNED if said else SILENT) if beyond else RIGHT_WARNED if said else RIGHT
    return Outcome(verdict, said, result.method, result.claim.status, errors[0], errors[1], seconds)


def _row(*parts: str) -> str:
    return f"| {' | '.join(parts)} |"


def _cells(name: str, way: str, found: Outcome) -> str:
    errors = ["" if value is None else f"{value:.3f}" for value in (found.mean_error, found.sd_error)]
    said = found.said.replace("|", "\\|")
    said = said if len(said) <= SHOWN else f"{said[:SHOWN].rsplit(' ', 1)[0]} …"
    return _row(name, way, found.method, found.verdict, found.claim, *errors, f"{found.seconds:.1f}", said)


def report() -> list[str]:
    """The section of RESULTS.md."""
    found = {
        (name, way): outcome(name, **options)
        for name, case in CASES.items()
        for way, options in WAYS.items()
        if case.proper or way == "as it is"
    }
    wrong = sum(not one.fine for one in found.values())
    return [
        "## One call on the permanent cases",
        "",
        f"`au.sample(model, posterior_error={WISH:g})` on each case, with its defaults and in three other ways.",
        f"*Right*: as in the section on trust (means and sds within {WISH:g}, extreme quantiles within 0.25 sd, or",
        f"{CHANCE:g} standard errors). *Claim*: what the result says about its posterior error. Errors contain the",
        "Monte Carlo error.",
        "",
        _row("case", "way", "method", "outcome", "claim", "mean off, sd", "sd off", "seconds", "warnings"),
        _row(*["---"] * 9),
        *(_cells(name, way, one) for (name, way), one in found.items()),
        "",
        f"Silently wrong: {wrong} of {len(found)}.",
        "",
    ]
