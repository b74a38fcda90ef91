"""`python -m benchmarks.league`: measure missing cells, then write docs/league.md and the README's rows."""

from __future__ import annotations

import argparse
import sys
import time

from app.league.cells import load
from benchmarks.league import page
from benchmarks.league.methods import METHODS
from benchmarks.league.posteriors import POSTERIORS
from benchmarks.league.run import run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.league", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of draws in each cell (default: %(default)g)")
    parser.add_argument("--lanes", type=int, default=2, help="cells at a time, one core each (default: %(default)s)")
    parser.add_argument("--posterior", action="append", help="only this one; may be given more than once")
    parser.add_argument("--method", action="append", help="only this one; may be given more than once")
    parser.add_argument("--size", type=int, action="append", help="only this N; may be given more than once")
    parser.add_argument("--again", action="store_true", help="measure cells again that are done")
    parser.add_argument("--page", action="store_true", help="only write page and README again")
    given = parser.parse_args()
    wanted = [] if given.page else wanted_cells(given)
    start = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start:,.0f} s] {line}", flush=True)

    say(f"{load().when} Cells that are done are kept, whatever the version; --again measures them anew.")
    run(wanted, given.seconds, given.lanes, say)
    league = load()
    page.PAGE.write_text(page.written(league), encoding="utf-8")
    page.README.write_text(page.readme(page.README.read_text(encoding="utf-8"), league), encoding="utf-8")


def wanted_cells(given: argparse.Namespace) -> list[tuple[str, int, str]]:
    """The cells that are asked for and, unless they are wanted again, missing."""
    for name, known in (("posterior", POSTERIORS), ("method", METHODS)):
        unknown = set(getattr(given, name) or ()) - {one.name for one in known}
        if unknown:
            sys.exit(f"unknown {name} {unknown.pop()!r}: choose from {', '.join(one.name for one in known)}")
    done = {} if given.again else load().cells
    return [
        (posterior.name, n, method.name)
        for posterior in POSTERIORS
        for n in posterior.sizes
        for method in METHODS
        if (given.posterior is None or posterior.name in given.posterior)
        and (given.size is None or n in given.size)
        and (given.method is None or method.name in given.method)
        and (posterior.name, n, method.name) not in done
    ]


if __name__ == "__main__":
    main()
