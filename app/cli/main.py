"""The `austerity` command: its parser, its exit codes, and how errors are reported."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version

from app.cli.commands import (
    app,
    boundary,
    budget,
    compare,
    delta,
    demo,
    design,
    evaluate,
    experiment,
    fit,
    frontier,
    laplace,
    pairs,
    posterior,
    selfcheck,
    steps,
    summary,
    trial,
)
from app.cli.commands.sampling import audit, certify, run, sample
from app.cli.errors import describe, expected_errors
from app.cli.options import Parser
from app.cli.signals import Stopped, stopped_by_signals
from app.cli.terminal import CommandOutput, say

DESCRIPTION = """\
Design and check sequential accept/reject tests for MCMC on tall data, and run
the samplers that use them."""
GROUPS = {
    "calculator": (evaluate, delta, design, frontier, boundary, steps, posterior, budget, selfcheck, demo),
    "trial runs": (laplace, trial, pairs, summary, compare),
    "sampling": (sample, run, audit, certify),
    "fitting": (fit,),
    "experiments": (experiment,),
    "dashboard": (app,),
}
EPILOG = "`austerity COMMAND --help` describes a command and shows an example."
SAVED = ". Progress is saved; continue with --resume."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0: done. 1: the engine fails its self-check. 2: an error, reported in a line. 129, 130, 141, 143: stopped by a
    closed terminal, by Ctrl-C, by a reader that closed the pipe (`| head`), by SIGTERM.
    """
    try:
        try:
            return _execute(arguments)
        finally:  # also after --help, which leaves by an exception
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:  # of the output; others are reported by now
        _discard_output()
        if isinstance(error, BrokenPipeError):
            return 128 + signal.SIGPIPE
        print(f"austerity: the output cannot be written: {error.strerror}", file=sys.stderr)
        return 2


def build_parser() -> Parser:
    """The parser with all commands."""
    parser = Parser(prog="austerity", usage="austerity COMMAND [options]", epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"austerity {version('austerity')}")
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", parser_class=Parser, prog="austerity", help=argparse.SUPPRESS
    )
    sections = [DESCRIPTION]
    for title, modules in GROUPS.items():
        names = [module.__name__.rpartition(".")[2] for module in modules]
        lines = [f"  {name:<10}  {module.SUMMARY}" for name, module in zip(names, modules, strict=True)]
        sections.append("\n".join([f"{title}:", *lines]))
        for module in modules:
            module.add(commands)
    parser.description = "\n\n".join(sections)
    return parser


def _execute(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if arguments is None:  # a process of our own: nobody else shows warnings
        warnings.formatwarning = _warning_line
    options = argparse.Namespace()
    try:
        with stopped_by_signals():
            build_parser().parse_args(words, options)
            output: CommandOutput = options.run(options)
    except (SystemExit, BrokenPipeError):  # of --help and --version, and of a reader that has closed the pipe
        raise
    except KeyboardInterrupt as stop:
        with suppress(OSError):  # of a terminal that is closed
            saved = SAVED if run.can_resume(options) else ""
            print(f"austerity: {str(stop) or 'interrupted'}{saved}", file=sys.stderr)
        return stop.code if isinstance(stop, Stopped) else 130
    except expected_errors() as error:
        message = describe(error)
        if isinstance(error, MemoryError) and run.can_resume(options):
            message += SAVED
        for line in message.splitlines():
            print(f"austerity: {line}", file=sys.stderr)
        if "--json" in words:
            print(json.dumps({"error": message}))
        return 2
    say(_text(options, output))
    return output.code


def _text(options: argparse.Namespace, output: CommandOutput) -> str:
    """What a command prints; app/cli/schemas describes the objects of `--json`."""
    return json.dumps(output.data, allow_nan=False) if options.json else "\n".join(output.lines)


def _discard_output() -> None:
    """Stop Python from trying at exit to write the rest, and complaining."""
    with suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:  # standard output may not be a file
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _warning_line(message: Warning | str, *_: object, **__: object) -> str:
    return f"austerity: {message}\n"
