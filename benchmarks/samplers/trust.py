"""When can I trust it? The documented flow on every permanent case: right within the wish, or refused, or warned.

trial → design → run → audit (→ certify), as commands, and the draws against an exact posterior that the samplers had no
part in (`tests/cases`). What is neither right nor refused nor warned is *silently wrong*: there must be none.

Each use is done once and kept in the folder WORK; `python -m benchmarks trust` goes on where it stopped. With
`--size 1000000` only the cases of BIG are tried, with so many data.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from app.cli.main import main
from samplers import from_netcdf, summary
from tests.cases import CASES, Data
from tests.cases.case import Reference
from tests.cases.reference import exact_posterior

WORK = Path("trust-work")
TOLERANCE = 0.01
WISH = 0.05  # largest error of a mean in posterior sds, and of an sd, relative
TAIL_WISH = 0.25  # largest error of a 0.5% or 99.5% quantile, in posterior sds
CHANCE = 3.5  # standard errors
LARGE = 50_000
EVALUATIONS = 4e8  # rows times draws of a reference that is not stored
BIG = ("rare-levels", "rare-positives", "student")  # tried at any size
BIG_DRAWS = 2_000  # of their references
ERRORS = ("mean", "sd", "quantile", "data use")
SHOWN = 240  # characters of what was said

Changes = Mapping[str, Mapping[str, Any]]
NONE: Changes = MappingProxyType({})


class Use(NamedTuple):
    """One way to use the product on one case; `run_changes` are made to the config after the design was made."""

    name: str
    case: str
    changes: Changes = NONE
    run_changes: Changes = NONE
    sequential: bool = True  # or the exact mini-batch test, which needs no design
    n: int | None = None  # None: the small size of the case

    @property
    def about(self) -> str:
        """What is special."""
        return WRONG.get(self.name, CASES[self.case].special)


class Outcome(NamedTuple):
    """What became of a use: a verdict, what was said, and the largest errors of the draws (None without draws)."""

    verdict: str
    said: str
    mean_error: float | None = None
    sd_error: float | None = None
    tail_error: float | None = None
    usage: float | None = None
    certified: str = ""
    reference_error: float | None = None  # largest standard error of a mean of the reference, in sds

    @property
    def fine(self) -> bool:
        """Whether the promise was kept, or withdrawn aloud."""
        return self.verdict not in (SILENT, CERTIFIED)


RIGHT, RIGHT_WARNED, REFUSED, WARNED, SILENT = "right", "right, warned", "refused", "warned", "**silently wrong**"
CERTIFIED = "**wrongly certified**"
WRONG = {
    "burn-in": "The trial run is taken on the way to the mode.",
    "other proposal": "The design was made for independent proxy proposals; the chain is a random walk.",
    "no heavy rows": "Dummies of 20 rows, and no row is always read.",
    "flat prior": "A level of 40 ones under a flat prior: no posterior.",
    "collinear": "A column that is the sum of two others, flat prior: no posterior.",
}
AWAY = {"run": {"start": [3.0, -3.0, 3.0, -3.0], "warmup": 0}}
WALK = {"proposal": {"kind": "random-walk"}}
WRONG_USES = [
    Use(
        "burn-in",
        "plain",
        {"model": {"control": 0}, "proposal": {"kind": "random-walk", "scale": 0.3}, **AWAY},
        n=20_000,
    ),
    Use("other proposal", "rare-levels", {}, WALK),
    Use("no heavy rows", "rare-dummies", {"model": {"heavy": 0}}),
    Use("flat prior", "separated-flat"),
    Use("collinear", "collinear-flat"),
]
RIGHT_USES = [Use(name, name) for name, case in CASES.items() if case.proper]


def exact_minibatch(use: Use) -> Use:
    """The same case with the exact mini-batch test."""
    return use._replace(name=f"{use.name}, exact mini-batch", sequential=False)


# --- commands ---------------------------------------------------------------------------------------------------------


class Refusal(Exception):
    """A command refused, in its words."""


def command(*words: object) -> dict[str, Any]:
    """What a command prints with `--json`."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*map(str, words), "--json"])
    if code != 0:
        raise Refusal(f"{words[0]}: {err.getvalue().strip().removeprefix('austerity: ')}")
    return dict(json.loads(out.getvalue()))


def write_config(folder: Path, data: Data, use: Use, draws: int, changes: Changes) -> Path:
    """A config as a user would write it, and its data."""
    np.savez(folder / "data.npz", x=data.x, y=data.y)
    tables: dict[str, dict[str, Any]] = {
        "data": {"path": "data.npz"},
        "model": {"kind": "logistic", "prior_precision": data.prior_precision},
        "run": {"draws": draws, "warmup": 500, "chains": 4},
    }
    if not use.sequential:
        tables["test"] = {"kind": "exact-minibatch"}
    for name, entries in changes.items():
        tables[name] = tables.get(name, {}) | dict(entries)
    text = "".join(f"[{name}]\n{''.join(_entry(*item) for item in table.items())}\n" for name, table in tables.items())
    path = folder / "config.toml"
    path.write_text(text)
    return path


def _entry(name: str, value: Any) -> str:
    return f"{name} = {json.dumps(value)}\n"


# --- a use ------------------------------------------------------------------------------------------------------------


def flow(use: Use, folder: Path, *, draws: int = 5_000, pairs: int = 100, certify: bool = True) -> Outcome:
    """Do what the documentation says, and compare with the exact posterior; `certify` asks for a certificate, too."""
    case = CASES[use.case]
    data = case.data(use.n)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        results, warnings, usage = _run(use, folder, data, draws, pairs)
    except Refusal as refusal:
        return Outcome(REFUSED, str(refusal))
    certified = _certified(folder) if use.sequential and certify and data.y.size <= LARGE else ""
    stored = use.n in (None, case.small)
    many = BIG_DRAWS if data.y.size > LARGE else int(EVALUATIONS / data.y.size)
    reference = case.reference() if stored else _posterior(use.case, use.n, many)
    errors, beyond = compared(results, reference)
    verdict = (WARNED if warnings else SILENT) if beyond else RIGHT_WARNED if warnings else RIGHT
    if beyond and certified == "certified":
        verdict = CERTIFIED
    known_to = float((reference.mean_se / reference.sd).max())
    return Outcome(verdict, "; ".join(warnings), *errors, usage, certified, known_to)


@cache
def _posterior(case: str, n: int | None, draws: int) -> Reference:
    return exact_posterior(CASES[case].data(n), draws)


def _run(use: Use, folder: Path, data: Data, draws: int, pairs: int) -> tuple[Any, list[str], float | None]:
    """The results of the flow, what it warned of, and the data use."""
    config, design = write_config(folder, data, use, draws, use.changes), folder / "design.toml"
    given: tuple[object, ...] = ()
    if use.sequential:
        trial = folder / "trial.npz"
        command("trial", config, "--pairs", pairs, "--output", trial)
        found = command("design", trial, "--tolerance", TOLERANCE, "--output", design)
        if not found["feasible"]:
            raise Refusal(f"design: {found['reason']}")
        given = "--design", design
        config = write_config(folder, data, use, draws, {**use.changes, **use.run_changes})
    ran = command("run", config, *given, "--output", folder / "out")
    warnings = [f"run: {remark}" for remark in ran["remarks"]]
    if use.sequential:
        audit = command("audit", config, *given)
        warnings += [] if audit["agrees"] else [f"audit: {audit['sentence']}"]
    return from_netcdf(folder / "out" / "results.nc"), warnings, ran["usage"]


def _certified(folder: Path) -> str:
    """What the certificate says."""
    try:
        found = command("certify", folder / "out")
    except Refusal as refusal:
        return f"refused ({refusal})"
    return str(found["outcome"])


def compared(results: Any, reference: Reference) -> tuple[tuple[float, float, float], bool]:
    """Largest errors of means, sds and quantiles, and whether any is beyond the wish and chance."""
    theta = results["posterior/theta"].values.reshape(-1, reference.mean.size)
    ess = np.array([max(min(row.ess_bulk, row.ess_tail), 4.0) for row in summary(results).rows[: reference.mean.size]])
    sd = reference.sd
    off = np.abs(theta.mean(axis=0) - reference.mean) / sd
    off_sd = np.abs(theta.std(axis=0) / sd - 1.0)
    tails = np.abs(np.quantile(theta, [0.005, 0.995], axis=0) - [reference.low, reference.high]) / sd
    spread = np.abs(np.quantile(theta, [0.0025, 0.0075, 0.9925, 0.9975], axis=0)).T
    density = 0.005 / np.maximum(np.abs(spread[:, [1, 3]] - spread[:, [0, 2]]) / sd[:, None], 1e-9)
    tail_se = np.hypot((np.sqrt(0.005 / ess)[:, None] / density).T, [reference.low_se / sd, reference.high_se / sd])
    beyond = (
        np.any(off > WISH + CHANCE * np.hypot(1.0 / np.sqrt(ess), reference.mean_se / sd))
        or np.any(off_sd > WISH + CHANCE * np.hypot(1.0 / np.sqrt(ess), reference.sd_se / sd))
        or np.any(tails > TAIL_WISH + CHANCE * tail_se)
    )
    return (float(off.max()), float(off_sd.max()), float(tails.max())), bool(beyond)


# --- the table --------------------------------------------------------------------------------------------------------


def pairs_of_uses() -> list[tuple[Use, Use]]:
    """Each case at its small size and at a large one, where the few rows are fewer still, with both tests."""
    sized = [use._replace(n=n) for n in (None, LARGE) for use in RIGHT_USES]
    return [(use, exact_minibatch(use)) for use in sized]


def kept(use: Use) -> Outcome:
    """The outcome of an earlier run, or a new one."""
    folder = WORK / f"{use.name}-{use.n or 'small'}".replace(" ", "_").replace(",", "")
    stored = folder / "outcome.json"
    if stored.exists():
        return Outcome(**json.loads(stored.read_text()))
    shutil.rmtree(folder, ignore_errors=True)  # of a use that was interrupted
    outcome = flow(use, folder)
    stored.write_text(json.dumps(outcome._asdict()))
    print(f"{folder.name}: {outcome}", file=sys.stderr, flush=True)
    return outcome


def cells(outcome: Outcome) -> list[str]:
    """Verdict, errors and data use, for a table."""
    errors = [_number(value) for value in (outcome.mean_error, outcome.sd_error, outcome.tail_error)]
    return [outcome.verdict, *errors, "" if outcome.usage is None else f"{outcome.usage:.2%}"]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".lstrip("0")


def _row(*parts: str) -> str:
    return f"| {' | '.join(parts)} |"


def report(size: int | None = None) -> list[str]:
    """The section of RESULTS.md; docs/trust.md shows the same tables. With a size, only the table for that."""
    if size is not None:
        return _sized(size)
    wrong = [(use, kept(use)) for use in WRONG_USES]
    right = [(use, kept(use), kept(exact)) for use, exact in pairs_of_uses()]
    outcomes = [outcome for _, *both in right for outcome in both] + [outcome for _, outcome in wrong]
    silent = sum(not outcome.fine for outcome in outcomes)
    return [
        "## When can I trust it? The documented flow on the permanent cases",
        "",
        f"trial (100 pairs) → design (tolerance {TOLERANCE:g}) → run (4 chains of 5,000 draws) → audit → certify, with",
        "default settings, and the exact mini-batch test without a design. References by importance sampling on all",
        f"data. *Right*: every mean within {WISH:g} sd, every sd within {WISH:.0%}, and every 0.5% and 99.5% quantile",
        f"within {TAIL_WISH:g} sd, or beyond by no more than {CHANCE:g} standard errors. Errors are the largest of all",
        "coefficients.",
        "",
        _row("case", "N", "sequential", *ERRORS, "certificate", "exact mini-batch", *ERRORS),
        _row(*["---"] * (5 + 2 * len(ERRORS))),
        *(
            _row(use.name, f"{use.n or CASES[use.case].small:,}", *cells(one), one.certified, *cells(other))
            for use, one, other in right
        ),
        "",
        _row("wrong use", "outcome", "what was said"),
        _row(*["---"] * 3),
        *(_row(f"{use.name}: {use.about}", outcome.verdict, _said(outcome)) for use, outcome in wrong),
        "",
        f"Silently wrong: {silent} of {len(outcomes)}.",
        "",
    ]


def _sized(size: int) -> list[str]:
    """A few cases with many data."""
    uses = [Use(name, name, n=size) for name in BIG]
    done = [(use, kept(use), kept(exact_minibatch(use))) for use in uses]
    silent = sum(not outcome.fine for _, *both in done for outcome in both)
    return [
        f"## When can I trust it? N = {size:,}",
        "",
        "As above, without certificates: 1,000 passes over so many data take long.",
        "",
        _row("case", "N", "sequential", *ERRORS, "exact mini-batch", *ERRORS, "reference known to"),
        _row(*["---"] * (5 + 2 * len(ERRORS))),
        *(
            _row(use.name, f"{size:,}", *cells(one), *cells(other), _number(one.reference_error))
            for use, one, other in done
        ),
        "",
        *(f"{use.name}: {outcome.said}" for use, *both in done for outcome in both if outcome.said),
        f"Silently wrong: {silent} of {2 * len(done)}.",
        "",
    ]


def _said(outcome: Outcome) -> str:
    """Short, for a table."""
    text = outcome.said.replace("|", "\\|") or f"nothing; it read {outcome.usage or 0.0:.0%} of the data"
    return text if len(text) <= SHOWN else f"{text[:SHOWN].rsplit(' ', 1)[0]} …"
