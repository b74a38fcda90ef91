"""How seeds are damaged, and one target fed with that for a while, where there is no atheris.

`python -m tests.fuzz.damage TARGET CORPUS -max_total_time=60 -timeout=20 -rss_limit_mb=2048 -artifact_prefix=PREFIX`,
and `-seed=7` for the inputs of an earlier run.
"""

from __future__ import annotations

import faulthandler
import hashlib
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.bounds import TooLong, TooMuch, bounded, limit_address_space

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


class Limits(NamedTuple):
    """Of a campaign, named as the options of libFuzzer that say the same."""

    max_total_time: float
    timeout: float  # seconds for one input
    rss_limit_mb: float
    artifact_prefix: str
    seed: int = 0  # 0: any

    @classmethod
    def of(cls, options: list[str]) -> Limits:
        """As in `-max_total_time=60`; others are for libFuzzer alone."""
        given = dict(option.lstrip("-").split("=", 1) for option in options)
        prefix = given.pop("artifact_prefix")
        numbers = {name: float(given[name]) for name in ("max_total_time", "timeout", "rss_limit_mb")}
        return cls(**numbers, artifact_prefix=prefix, seed=int(given.get("seed", 0)))


def fuzz(name: str, target: Callable[[bytes], object], seeds: list[bytes], limits: Limits) -> int:
    """Feed one target until the time is over; returns how many inputs that were. The first bad one is kept and raised.

    The input at work is in a file as well, for what ends the process at once: a crash of foreign code, or a loop in it
    that no alarm reaches, which is ended after twice the time.
    """
    seed = limits.seed or random.SystemRandom().randrange(1, 2**32)
    print(f"{name}: --seed {seed}", flush=True)
    rng, tried, running = random.Random(seed), 0, Path(limits.artifact_prefix + "running")
    for data in seeds:  # loads and compiles what takes memory once
        target(data)
    limit_address_space(2 * limits.rss_limit_mb)
    until, watched = time.monotonic() + limits.max_total_time, 0.0
    while (now := time.monotonic()) < until:
        if now - watched > 1.0:
            faulthandler.dump_traceback_later(2.0 * limits.timeout + 1.0, exit=True)
            watched = now
        data = damaged(rng, seeds)
        tried += 1
        running.write_bytes(data)
        try:
            with bounded(limits.timeout, limits.rss_limit_mb):
                target(data)
        except BaseException as problem:
            running.rename(f"{limits.artifact_prefix}{_kind(problem)}-{hashlib.sha256(data).hexdigest()[:16]}")
            raise
    faulthandler.cancel_dump_traceback_later()
    running.unlink(missing_ok=True)
    return tried


def _kind(problem: BaseException) -> str:
    """As libFuzzer names what it keeps."""
    return "timeout" if isinstance(problem, TooLong) else "oom" if isinstance(problem, TooMuch) else "crash"


def main() -> None:
    from tests.fuzz.every import TARGETS

    name, folder, *options = sys.argv[1:]
    seeds = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    print(f"{name}: {fuzz(name, TARGETS[name], seeds, Limits.of(options)):,} inputs")


if __name__ == "__main__":
    main()
