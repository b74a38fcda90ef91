"""One target under atheris: `python -m tests.fuzz.coverage TARGET CORPUS [options of libFuzzer]`."""

from __future__ import annotations

import sys

import atheris

OURS = ["app", "designer", "samplers", "tomllib", "zipfile", "csv", "json"]


def main() -> None:
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=OURS):
        from tests.fuzz.every import TARGETS
    target = TARGETS[name]

    def once(data: bytes) -> None:
        target(data)

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
