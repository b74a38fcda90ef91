"""One file of a run altered, truncated or deleted: `austerity run --resume` and `sample --resume` notice and go on.

A directory is copied, one file of it is damaged, and the real command resumes. It must end with the results of an
undisturbed run, or refuse in one line; then the line's advice must lead there.
"""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.reliability.preloaded import Ended, ended, here

DRAWS = 400  # of each chain
DAMAGES = ("a bit flipped", "truncated", "deleted")
ADVICE = re.compile(r"austerity: (.*/run\.bin): damaged; if you are sure of the settings, remove it and resume")


class Subject(NamedTuple):
    """What is damaged: a directory, the command that resumes it, and the results that must come out."""

    name: str
    directory: Path
    arguments: Sequence[str]  # without --output DIR --resume
    results: dict[str, bytes]


@dataclass
class DamageResult:
    """Outcomes by (kind of file, outcome), and counts of what must not happen."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    damages: Counter[str] = field(default_factory=Counter)
    different: int = 0
    unclear: int = 0  # more than one line, a traceback, or advice that does not help

    @property
    def trials(self) -> int:
        return sum(self.damages.values())

    def table(self) -> list[str]:
        """By kind of file: how often it was damaged, and what came of it."""
        outcomes = ("made again or not needed", "noticed", "refused")
        rows = ["| file | damaged | made again or not needed | noticed, and not used | refused in one line |"]
        rows += ["|---|---|---|---|---|"]
        for kind in sorted({kind for kind, _ in self.outcomes}):
            counts = [self.outcomes[kind, outcome] for outcome in outcomes]
            rows.append(f"| {kind} | {sum(counts):,} | " + " | ".join(f"{count:,}" for count in counts) + " |")
        return rows


def subjects_in(folder: Path, cases: Sequence[str], *, flow: bool = True) -> list[Subject]:
    """Of each config FOLDER/CASE.toml a run that is done and one that is half-way, and the flow of a config."""
    subjects = []
    for case in cases:
        command = ["run", str(folder / f"{case}.toml"), "--chains", "2", "--quiet"]
        subjects += [
            _subject(case, folder, command, ["--draws", str(DRAWS)], ["--draws", str(before)])
            for before in (DRAWS, DRAWS // 2)
        ]
    if flow:
        command = ["sample", str(folder / "sample.toml"), "--quiet", "--tolerance", "0.05", "--test", "sequential"]
        (folder / "sample.toml").write_text('[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n')
        options = [*("--pairs", "30", "--chains", "2", "--audit", "40")]
        subjects.append(_subject("sample", folder, [*command, *options], ["--draws", "200"], ["--draws", "200"]))
    return subjects


def _subject(name: str, folder: Path, command: Sequence[str], draws: Sequence[str], before: Sequence[str]) -> Subject:
    place, whole = (folder / f"{name}-{kind}{before[1]}" for kind in ("subject", "undisturbed"))
    for directory, options in ((place, before), (whole, draws)):
        made = here([*command, *options, "--output", str(directory)])
        if made.code:
            raise RuntimeError(f"{name}: {made}")
    return Subject(name, place, [*command, *draws], run_results(whole))


def run_results(directory: Path) -> dict[str, bytes]:
    """The files that a run, or a flow, leaves for its user: those whose bytes are always the same."""
    names = ("results.nc", "redesign.csv", "run/results.nc", "trial.parquet", "design.toml", "audit.json")
    found = {name: directory / name for name in names}
    return {name: path.read_bytes() for name, path in found.items() if path.exists()}


def damage_all(
    folder: Path,
    subjects: Sequence[Subject],
    trials: int,
    seed: int,
    progress: Callable[[str], None] = lambda line: None,
    command: Callable[[Sequence[str]], Ended] = ended,
) -> DamageResult:
    """Damage a random file of each subject in turn, `trials` times in total; `command` runs `austerity`."""
    result = DamageResult()
    for number in range(trials):
        chance = random.Random(f"{seed}, {number}")  # of its own: how many files there are depends on the machine
        subject = subjects[number % len(subjects)]
        copy = folder / "damaged"
        shutil.copytree(subject.directory, copy)
        how, path = chance.choice(DAMAGES), _victim(copy, chance)
        harm(path, how, chance)
        _try(subject, copy, path, how, result, command)
        shutil.rmtree(copy)
        if (number + 1) % 10 == 0:
            progress(f"damage {number + 1:,} of {trials:,}")
    return result


def harm(path: Path, how: str, chance: random.Random) -> None:
    """Damage a file. An empty one can only be deleted."""
    data = bytearray(path.read_bytes())
    if how == "deleted" or not data:
        path.unlink()
    elif how == "truncated":
        path.write_bytes(data[: chance.randrange(len(data))])
    else:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)


def _victim(directory: Path, chance: random.Random) -> Path:
    """A random file; each kind is as likely as any other, so that rare ones have their turn."""
    kinds: dict[str, list[Path]] = {}
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        kinds.setdefault(_kind(path), []).append(path)
    return chance.choice(kinds[chance.choice(sorted(kinds))])


def _kind(path: Path) -> str:
    if path.parent.name == "steps":
        return "steps/*.bin of sample"
    name = re.sub(r"-[\d-]+\.bin", "-*.bin", path.name)
    return f"chain-*/{name}" if path.parent.name.startswith("chain-") else name


def _try(
    subject: Subject,
    copy: Path,
    path: Path,
    how: str,
    result: DamageResult,
    command: Callable[[Sequence[str]], Ended],
) -> None:
    arguments = [*subject.arguments, "--output", str(copy), "--resume"]
    kind, found = _kind(path), command(arguments)
    result.damages[how] += 1
    outcome = "noticed" if found.said else "made again or not needed"
    if found.code == 2 and (advice := ADVICE.fullmatch(found.said.strip())):
        outcome = "refused"
        Path(advice[1]).unlink()
        found = command(arguments)
    result.outcomes[kind, outcome] += 1
    clear = found.code == 0 and all(line.startswith("austerity: ") for line in found.said.splitlines())
    same = run_results(copy) == subject.results
    result.unclear += not clear
    result.different += clear and not same
    if not clear or not same:
        print(
            f"{subject.name}: {path.relative_to(copy)} {how}: code {found.code}, same {same}: {found.said}", flush=True
        )
