"""The table in docs/limits.md: every limit is that of the code."""

from __future__ import annotations

from pathlib import Path

import annotated_types
import pytest

from app.cli.main import main
from app.dashboard.jobs import jobs
from app.dashboard.jobs import runs as page_runs
from app.dashboard.pages import posterior_upload
from app.dashboard.serve import limits as server_limits
from app.dashboard.serve import server, token
from app.dashboard.state.loaded import MOST_REMEMBERED
from app.dashboard.state.pins import MOST_PINS
from app.dashboard.state.source import LIMITS
from designer.core import text_table, work
from designer.core import toml_json as parsing
from designer.engine import look_grid
from designer.pairs import limits, refusals
from designer.rule import boundary
from designer.rule import looks as schedule
from designer.search import upper_limit
from samplers.chains import draws
from samplers.config.schema import RedesignTable, RunTable
from samplers.data import csv_table, memory
from samplers.data import load as datasets
from samplers.data.formula import allowed, scan
from samplers.data.formula import design as formula_design
from samplers.data.formula import response as formula_response
from samplers.data.sources import download, files
from samplers.runs import checksummed_file, store, watch
from samplers.study.other_tools import posterior_pairs as interop

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LINES = (Path(__file__).parents[1] / "docs" / "limits.md").read_text(encoding="utf-8").splitlines()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES if line.startswith("|")][2:]
HALF, BY = "half of the memory", "by the archive's directory"


def power(number: float) -> str:
    """10¹⁵ for a power of ten."""
    exponent = round(float(f"{number:e}".split("e")[1]))
    assert float(f"1e{exponent}") == number
    return f"10{str(exponent).translate(RAISED)}"


def gib(size: int, unit: int = 2**30) -> int:
    assert size % unit == 0
    return size // unit


def bound(table, field: str, kind: type) -> int:
    """What a field of a config may be at most, or at least."""
    (found,) = [rule for rule in table.model_fields[field].metadata if isinstance(rule, kind)]
    return found.le if kind is annotated_types.Le else found.ge


SERVER = server_limits.Limits()
MEMORY = f"{gib(memory.MAX_BYTES)} GiB"
MADE_UP = f"{LIMITS['pairs'][1]:,}"
MOST, LEAST = annotated_types.Le, annotated_types.Ge
LIMITS = {
    "runs that the Monitor page starts": f"{page_runs.MOST_RUNNING} at once, {page_runs.MOST_CHAINS} chains and "
    f"{page_runs.MOST_STEPS:,} steps each, {page_runs.LONGEST / 3600:g} hours; {page_runs.MOST_RUNS} in the folder",
    "draws that the Monitor page reads": f"the newest {watch.MOST_DRAWS:,} of each chain",
    "number of data N": f"2 … {power(schedule.MAX_N_DATA)}",
    "ε": f"{power(boundary.LEAST_EPSILON)} … 0.5",
    "growth of the looks": f"1, or {schedule.MIN_GROWTH:g} … {power(schedule.MAX_GROWTH)}",
    "looks written out one by one": f"{schedule.MAX_LISTED:,}",
    "looks with uneven distances or bounds": f"{look_grid.ROUGH_LOOKS:,}",
    "work of one call": f"2 · {power(work.MOST_WORK / 2)} operations",
    "nodes at one look": f"{work.MOST_AT_ONCE:,.0f}",
    "**trial run**: file": f"{gib(limits.MAX_BYTES, 2**20)} MiB (upload: {server.MOST_MEGABYTES} MB)",
    "pairs of a trial run": f"{limits.MAX_PAIRS:,}",
    "pairs of a design with confidence": (
        f"{upper_limit.FEWEST_PAIRS} (worth {upper_limit.FEWEST_INDEPENDENT} independent ones), "
        f"{upper_limit.pairs_for_quantile(0.95, upper_limit.USUAL_CONFIDENCE)} for the 0.95 quantile"
    ),
    "A of a pair": f"log({refusals.RARE:g} · pairs)",
    "κ in half of the pairs": f"{refusals.MOST_KAPPA:g}",
    "confidence": f"0.5 … {upper_limit.MOST_CONFIDENCE:g}",
    "characters in a line; columns": f"{limits.MAX_LINE:,}; {limits.MAX_COLUMNS:,}",
    "an entry": f"at most {power(limits.LARGEST)} in size; sigma at least {power(1.0 / limits.LARGEST)}",
    "an array of an `.npz`, unpacked": f"{8 * limits.MAX_PAIRS // 10**6} MB and a header, {BY}",
    "**posterior** (netCDF): log-likelihoods, unpacked": (
        f"{gib(interop.MAX_BYTES)} GiB (upload: {gib(posterior_upload.UNPACKED, 2**20)} MiB)"
    ),
    "draws of all its chains": power(interop.MOST_DRAWS),
    "a chunk of it, unpacked": f"{gib(interop.MOST_CHUNK, 2**20)} MiB",
    "pairs made of it; nearest ones": f"{interop.MOST_COUNT:,}; {interop.NEIGHBOURS:,}",
    "**design, config** (TOML, JSON): characters": f"{parsing.MAX_TEXT:,}",
    "draws (and warm-up) of a run; chains": f"{power(draws.MAX_DRAWS)}; {bound(RunTable, 'chains', MOST):,}",
    "`redesign.pairs`": f"{bound(RedesignTable, 'pairs', LEAST)} … {bound(RedesignTable, 'pairs', MOST):,}",
    "**data**: file": f"{MEMORY}, `.npy` (mapped) any",
    "in memory: unpacked, converted or copied, with what it is made of": (
        f"{MEMORY} or {HALF} of the machine or container, if that is less"
    ),
    "characters in a line of text": f"{csv_table.MAX_LINE:,}",
    "columns of data": f"{datasets.MAX_COLUMNS:,}",
    "different values of a label that are looked at": f"{text_table.MOST_TEXTS:,}",
    "**formula**: characters; parentheses within each other": f"{allowed.MOST_CHARACTERS:,}; {allowed.DEEPEST}",
    "terms; columns of the design matrix": f"{formula_design.MOST_TERMS:,}; {formula_design.MOST_COLUMNS:,}",
    "degree or df of a polynomial or spline; a power": f"{allowed.MOST_PARTS}; {allowed.LARGEST_POWER}",
    "levels of a column; classes of a softmax": f"{scan.MOST_LEVELS:,}; {formula_response.MOST_CLASSES:,}",
    "**the papers' data sets** (`data.source`): file, and unpacked": f"{gib(files.MAX_BYTES)} GiB each",
    "a download of them": f"{gib(download.MAX_DOWNLOAD, 2**20)} MiB",
    "**a run's directory**: one file": f"{gib(checksummed_file.MAX_BYTES)} GiB, with a checksum",
    "steps; chains": f"{power(store.MAX_STEPS)}; {store.MAX_CHAINS:,}",
    "**results** (netCDF): file": MEMORY,
    "results, unpacked": f"{MEMORY} or {HALF}, if that is less",
    "**dashboard**: request": f"{server.MOST_MEGABYTES} MB",
    "pairs at stationarity": MADE_UP,
    "pairs of an uploaded trial run": MADE_UP,
    "jobs that wait or run": (
        f"{jobs.MOST_IN_SESSION} a session; {jobs.MOST_OF_ADDRESS} of one address; {jobs.MOST_IN_ALL} in all"
    ),
    "live experiments at once": f"{jobs.PROCESSES}; others wait",
    "connections": (
        f"{SERVER.connections:,}, or half of the files that the process may open, if that is less; "
        f"{SERVER.connections_of_one} of one address, or a quarter of the files"
    ),
    "sessions": f"{SERVER.sessions}; {SERVER.sessions_of_one} of one address",
    "files that the process may open": f"at least {server_limits.FEWEST_FILES}",
    "a slow request: its head; all of it": f"{SERVER.head_seconds:g} s; {SERVER.body_seconds:g} s",
    "a client that does not read": f"{gib(SERVER.taking_bytes, 2**10)} KiB in {SERVER.taking_seconds:g} s",
    "`--token`": f"at least {token.FEWEST_CHARACTERS} characters",
    "pinned designs; remembered trial runs": f"{MOST_PINS}; {MOST_REMEMBERED} a session",
}
TRIAL = "trial e4 --output t.csv"
COMMANDS = {  # options without a constant, and what they may be
    "`trial --pairs`, `--every`": [
        (f"{TRIAL} --pairs", 10**6),
        (f"{TRIAL} --every", 10**6),
    ],
    "`audit --steps`; `--every`, `--passes`": [
        ("audit CONFIG --steps", 10**9),
        ("audit CONFIG --every", 10**6),
        ("audit CONFIG --passes", 10**6),
    ],
}
WITHOUT_NUMBERS = {  # or with those of a definition, or of other people's parsers
    "batch m",
    "α",
    "objects (pickles) in `.npz`, `.npy`",
    "parts of a dotted key; depth of nesting",
}


def test_the_page_for_operators_says_the_same():
    text = (Path(__file__).parents[1] / "docs" / "operation.md").read_text(encoding="utf-8")
    for limit in (
        f"{SERVER.connections:,} at most; {SERVER.connections_of_one} of one address",
        LIMITS["sessions"],
        LIMITS["a slow request: its head; all of it"],
        LIMITS["a client that does not read"],
        f"{jobs.MOST_IN_SESSION} of a session, {jobs.MOST_OF_ADDRESS} of one address, {jobs.MOST_IN_ALL} in all; "
        f"{jobs.WORKERS} at a time, and {jobs.PROCESSES} experiments",
        f"{page_runs.MOST_RUNNING} at a time",
        f"needs {server_limits.FEWEST_FILES}",
        LIMITS["`--token`"],
    ):
        assert limit in text.replace("`--token` takes a text of at least", "at least"), limit


def test_every_row_of_the_table_is_checked_here():
    named = [row[0] for row in ROWS]
    assert len({*named}) == len(named)
    assert {*named} == {*LIMITS, *COMMANDS, *WITHOUT_NUMBERS}


@pytest.mark.parametrize("what", LIMITS)
def test_the_table_of_limits_is_that_of_the_code(what):
    (limit,) = [row[1] for row in ROWS if row[0] == what]
    assert limit == LIMITS[what]


@pytest.mark.parametrize("what", COMMANDS)
def test_the_limits_of_options_are_those_of_the_table(what, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{k}.5" for k in range(20))
    Path("rows.csv").write_text(f"a\n{rows}\n")
    Path("config.toml").write_text(
        '[test]\nkind = "sequential"\nn_data = 20\nm = 10\nepsilon = 0.05\n'
        '[model]\nkind = "mixture"\n[data]\npath = "rows.csv"\n[proposal]\nscale = 1.0\n'
    )
    (limit,) = [row[1] for row in ROWS if row[0] == what]
    assert {*limit.split("; ")} == {f"{most:,}" for _, most in COMMANDS[what]}
    for command, most in COMMANDS[what]:
        assert main([*command.replace("CONFIG", "config.toml").split(), str(most + 1)]) == 2
        assert f"= {most + 1}: must be a whole number from 1 to {most:,}" in capsys.readouterr().err
