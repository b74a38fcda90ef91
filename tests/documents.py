"""Run the code blocks of a Markdown page as the page shows them. CONTRIBUTING.md describes the convention.

python -m tests.documents docs/tutorial.md      runs a page and replaces the output it shows with today's
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.cli.main import build_parser, main
from samplers.config.config import SamplerConfig
from samplers.config.fit_config import FitConfig

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+?) -->\n+)?```(?P<language>[^\n]*)\n(?P<body>.*?)^```$", re.S | re.M
)
FILE_NAME = re.compile(r"# ([\w.-]+\.toml)$")  # as the first line of a config: the file it is written to
ANYTHING = "…"  # in shown output: any text within a line; on a line of its own, any lines
MACHINES = (  # what depends on the machine and is not compared: rounding errors and times
    r"(?<=numerical error )([^\n]*?)\S+e-\d\d",
    r"()\S+(?= \(allowed )",
    r"(?<=steps in )()[\d.]+(?= s\b)",
)
PROGRAMS = {"austerity", "python", "cat", "head"}  # what a page may call
OURS = {"austerity", "designer", "samplers", "app"}
MISSING = {"test": '[test]\nkind = "exact"', "data": '[data]\npath = "data.npz"'}  # turns a fragment into a config


class Block(NamedTuple):
    """A fenced block: its language, text, first line in the page, and the reason if it is not run."""

    language: str
    body: str
    line: int
    start: int  # of the body, in characters of the page
    reason: str | None


class WrongPage(AssertionError):
    """A page shows something that does not happen."""


def pages() -> list[Path]:
    """All Markdown files that people read."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page.

    Examples
    --------
    >>> found = blocks("<!-- not run: long -->\\n```sh\\nmake\\n```\\n")
    >>> [(block.language, block.body, block.reason) for block in found]
    [('sh', 'make\\n', 'long')]
    """
    return [
        Block(m["language"].strip(), m["body"], text.count("\n", 0, m.start("body")), m.start("body"), m["reason"])
        for m in BLOCK.finditer(text)
    ]


class Page:
    """A page whose blocks run in order, in one namespace and one folder with a copy of `examples`."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.text = path.read_text(encoding="utf-8")
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.changes: list[tuple[int, str, str]] = []  # place, shown output, real output
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))

    def run(self) -> None:
        """Run every block without a marker, and compare what it prints with what the page shows."""
        before = None
        with contextlib.chdir(self.folder):
            for block in blocks(self.text):
                if block.reason is not None:
                    check_unrun(block)
                elif block.language == "text":
                    self._printed(block, before)
                else:
                    self._run(block)
                before = block

    def _run(self, block: Block) -> None:
        match block.language:
            case "python":
                self.output = self._python(block)
            case "console":
                self._console(block)
            case "toml":
                check_toml(block.body)
                if named := FILE_NAME.match(block.body.partition("\n")[0]):
                    Path(named[1]).write_text(block.body, encoding="utf-8")
            case "bibtex":
                pass
            case language:
                raise WrongPage(f"{self.path.name}:{block.line}: {language!r} is neither run nor marked as not run")

    def _python(self, block: Block) -> str:
        code = compile("\n" * block.line + block.body, self.path.name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, self.names)
        return out.getvalue()

    def _printed(self, block: Block, before: Block | None) -> None:
        """A `text` block right after Python shows what that prints; elsewhere it is only text."""
        if before is not None and before.language == "python" and before.reason is None:
            between = self.text[before.start + len(before.body) : block.start]
            if between.split() == ["```", "```text"]:
                self._compare(block.start, block.body, self.output, f"line {before.line}")

    def _console(self, block: Block) -> None:
        for start, command, shown in commands(block.body):
            real = run_command(command, refused=shown.startswith("austerity: "))
            self._compare(block.start + start, shown, real, command)

    def _compare(self, place: int, shown: str, real: str, what: str) -> None:
        if shown and not same(shown, real):
            self.changes.append((place, shown, _tidy(real)))

    def verify(self) -> None:
        """Run every block, and raise if the page shows something else."""
        self.run()
        differences = [f"shown:\n{shown}really:\n{real}" for _, shown, real in self.changes]
        if differences:
            raise WrongPage(
                f"{self.path.name} does not show what is printed (python -m tests.documents repairs it)\n"
                + "\n".join(differences)
            )

    def repaired(self) -> str:
        """The page with the output of this run."""
        text = self.text
        for place, shown, real in reversed(self.changes):
            text = text[:place] + real + text[place + len(shown) :]
        return text


def commands(body: str) -> Iterator[tuple[int, str, str]]:
    """Every command of a console block: where its output begins, the command, the output shown.

    Examples
    --------
    >>> list(commands("$ a \\\\\\n  b\\n1\\n2\\n$ c\\n"))
    [(10, 'a b', '1\\n2\\n'), (18, 'c', '')]
    """
    for found in re.finditer(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", body, re.M):
        yield found.start("shown"), re.sub(r"\s*\\\n\s*", " ", found["command"]), found["shown"]


def run_command(command: str, refused: bool = False) -> str:
    """Return what a command prints. It must succeed, or fail if the page shows a refusal."""
    words = shlex.split(command, comments=True)
    if words[0] not in PROGRAMS:
        raise WrongPage(f"{command}: pages call {', '.join(sorted(PROGRAMS))} only")
    if words[0] != "austerity":
        words[0] = sys.executable if words[0] == "python" else words[0]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        with contextlib.redirect_stdout(io.StringIO()) as stdout, contextlib.redirect_stderr(io.StringIO()) as stderr:
            code = main(words[1:])
        out, err = stdout.getvalue(), stderr.getvalue()
    if code != (2 if refused else 0):
        raise WrongPage(f"{command}: exit code {code}\n{out}{err}")
    return err if refused else out


def same(shown: str, real: str) -> bool:
    """Whether shown and real output agree, up to what `…` stands for and what depends on the machine.

    Examples
    --------
    >>> same("numerical error below 5e-11\\n", "numerical error below 6e-12\\n"), same("5e-11\\n", "6e-12\\n")
    (True, False)
    >>> same("a … c\\n", "a 1 b c\\n"), same("a\\n…\\nd\\n", "a\\nb\\nc\\nd\\n"), same("a … c\\n", "a b\\nc\\n")
    (True, True, False)
    """
    for pattern in MACHINES:
        shown, real = (re.sub(pattern, r"\1#", text) for text in (shown, real))
    parts = []
    for line in _tidy(shown).splitlines():
        pieces = r"[^\n]*".join(map(re.escape, line.split(ANYTHING)))
        parts.append(r"(?:[^\n]*\n)*" if line.strip() == ANYTHING else pieces + r"\n")
    return re.fullmatch("".join(parts), _tidy(real)) is not None


def _tidy(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def check_toml(text: str) -> SamplerConfig | FitConfig:
    """Read a config, or the part of one that a page is about."""
    given = tomllib.loads(text)
    if "fit" in given:
        return FitConfig.from_toml(text)
    complete = {*given, *(["data"] if given.get("model", {}).get("kind") == "mrf" else [])}  # a field may be drawn
    return SamplerConfig.from_toml("\n".join([text, *(part for name, part in MISSING.items() if name not in complete)]))


def check_unrun(block: Block) -> None:
    """Check a block that is not run: it compiles, our names exist, our commands have these options."""
    if block.language == "python":
        for module, name in imported(block.body):
            assert hasattr(importlib.import_module(module), name), f"{module} has no {name}"
    for line in re.sub(r"\s*\\\n\s*", " ", block.body).splitlines():
        words = (
            shlex.split(line.removeprefix("$ "), comments=True) if block.language in {"console", "sh", "bash"} else []
        )
        if words and words[0] == "austerity":
            build_parser().parse_args(words[1:])
        elif words and words[0] == "make":
            assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), line


def imported(code: str) -> Iterator[tuple[str, str]]:
    """What a piece of code takes from our packages: module and name, by an import or as `au.name`.

    Examples
    --------
    >>> list(imported("import austerity as au\\nfrom designer import Design\\nau.search(1)"))
    [('designer', 'Design'), ('austerity', 'search')]
    """
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "au":
            yield "austerity", node.attr


def repair(names: Sequence[str]) -> None:
    """Replace the output that these pages show with today's."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            page = Page(Path(name).resolve(), Path(folder))
            page.run()
        page.path.write_text(page.repaired(), encoding="utf-8")
        print(f"{name}: {len(page.changes)} changes")


if __name__ == "__main__":
    repair(sys.argv[1:])
