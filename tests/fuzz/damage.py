"""How seeds are damaged, and one target fed with that for a while, where there is no atheris.

`python -m tests.fuzz.damage TARGET CORPUS -max_total_time=60 -artifact_prefix=PREFIX`
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

TOKENS = [
    *(b"nan inf -inf 1e999 -1 0 1e-400 9223372036854775808 0x1 1_0 true null".split()),
    *(b", ; \t \n \r\n \" ' # [ ] [[ { } = . .. \\ \x00 \xff \xef\xbb\xbf \xff\xfe".split(b" ")),
    b"9" * 5000,
    b"[" * 2000,
    "μ²٣\u2028\ufeff".encode(),
]


def damaged(rng: random.Random, seeds: list[bytes]) -> bytes:
    """A seed after one to eight accidents: bits flipped, pieces cut out, doubled or from elsewhere, words put in."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 8)):
        rng.choice(_ACCIDENTS)(rng, data, seeds)
    return bytes(data)


def _flip(rng: random.Random, data: bytearray, seeds: list[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set(rng: random.Random, data: bytearray, seeds: list[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))


def _cut(rng: random.Random, data: bytearray, seeds: list[bytes]) -> None:
    start, stop = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    del data[start : min(stop, start + rng.choice((1, 8, 10**6)))]


def _double(rng: random.Random, data: bytearray, seeds: list[bytes]) -> None:
    start, stop = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    data[start:start] = data[start:stop]


def _splice(rng: random.Random, data: bytearray, seeds: list[bytes]) -> None:
    other = rng.choice(seeds)
    data[rng.randint(0, len(data)) :] = other[rng.randint(0, len(other)) :]


def _token(rng: random.Random, data: bytearray, seeds: list[bytes]) -> None:
    start = rng.randint(0, len(data))
    data[start : start + rng.choice((0, 0, 1, 4))] = rng.choice(TOKENS)


_ACCIDENTS: list[Callable[[random.Random, bytearray, list[bytes]], None]] = [
    _flip,
    _set,
    _cut,
    _double,
    _splice,
    _token,
]


def main() -> None:
    from tests.fuzz.targets import TARGETS

    name, folder, *given = sys.argv[1:]
    options = dict(option.lstrip("-").split("=", 1) for option in given)
    seeds = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    rng, until, tried = random.Random(name), time.monotonic() + float(options["max_total_time"]), 0
    while time.monotonic() < until:
        data = damaged(rng, seeds)
        tried += 1
        try:
            TARGETS[name](data)
        except BaseException:
            Path(options["artifact_prefix"] + f"crash-{tried}").write_bytes(data)
            raise
    print(f"{name}: {tried:,} inputs")


if __name__ == "__main__":
    main()
