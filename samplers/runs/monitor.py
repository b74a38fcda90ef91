"""Does a run do what its design predicts? Acceptance rate and data use beside `[predicted]`, as the chains go.

A run differs when an interval of its mean lies beyond the band that the trial run allows, by more than a margin. The
interval is made from batch means, so autocorrelation widens it. It is looked at whenever the number of decisions has
grown by half, and look k spends α / (k (k + 1)) of the error probability: however often a run is looked at, chance
alone is reported with probability α at most. Nothing here changes a draw.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.rule.design import Design
from samplers.chains.draws import Draws
from samplers.chains.slice_chain import Slice

ALPHA = 0.002  # error probability of all looks; the end of a run is one more look
FIRST_LOOK = 1_000  # decisions
GROWTH = 1.5  # of their number, from one look to the next
FEWEST_BATCHES = 10.0  # effective number, for a look
SHORTEST_BATCH = 32  # decisions
PIECE = 64  # steps that are counted together
MOST_BATCHES = 64  # of a chain; then neighbours are joined
ACCEPTANCE_MARGIN = 0.01  # differences that are not worth a word
USAGE_MARGIN = (0.10, 0.25)  # relative to the band, below and above: trial runs may miss rare pairs that need much data
PROXY = "Proxy"  # in the names of proposals from the proxy posterior
DIFFERS = "differs"  # attribute of the results that says how a run differs


class NotAsPredicted(UserWarning):
    """A run differs from what its design predicts, beyond chance."""


class Counts(NamedTuple):
    """Decisions that read data, how many of them accepted, and how much they read."""

    decided: int
    accepted: int
    used: int

    @classmethod
    def of(cls, accepted: Any, n_used: Any, n_always: int = 0) -> Counts:
        """Of these steps; steps that the prior or the proposal decides alone read nothing and do not count."""
        reads = n_used > n_always
        return cls(int(reads.sum()), int(accepted[reads].sum()), int((n_used[reads] - n_always).sum()))

    def plus(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: Counts) -> Counts:
        """What is new since the other."""
        return Counts(*(a - b for a, b in zip(self, other, strict=True)))


class Expected(NamedTuple):
    """What a design predicts for a run: acceptance rate and mean data use, each with the band of its trial run.

    Attributes
    ----------
    n_data, n_always
        Data that the test samples from, and data that every step reads besides.
    acceptance, usage
        The predictions.
    acceptance_band, usage_band
        Where they are, as far as the pairs of the trial run can tell.
    proxy
        Whether states are proposed from the proxy posterior, for the advice.

    Examples
    --------
    >>> Expected(10_000, 0, 0.3, 0.1, (0.28, 0.32), (0.09, 0.11)).usage
    0.1
    """

    n_data: int
    n_always: int
    acceptance: float
    usage: float
    acceptance_band: tuple[float, float]
    usage_band: tuple[float, float]
    proxy: bool = False

    @classmethod
    def of(cls, design: Design | None, n_always: int = 0, *, proxy: bool = False) -> Expected | None:
        """Of a design that was made for a trial run; None if it predicts nothing."""
        notes = None if design is None else design.predicted
        if design is None or notes is None or notes.acceptance_band is None or notes.usage_band is None:
            return None
        if notes.acceptance is None or notes.mean_usage is None:
            return None
        numbers = notes.acceptance, notes.mean_usage, notes.acceptance_band, notes.usage_band
        return cls(design.n_data, n_always, *numbers, proxy)

    @classmethod
    def of_run(cls, meta: Mapping[str, Any]) -> Expected | None:
        """Of a saved run, from what its directory says about it."""
        n_always = int(meta.get("n_always", 0))
        one = int(meta.get("n_data", 0)) + n_always  # what one decision can read
        proposal = str(meta.get("proposal_class"))
        many = meta.get("data_per_step", one) != one or proposal == Slice.__name__  # decisions in one step
        if many or not isinstance(text := meta.get("design"), str):
            return None
        try:
            design = Design.from_toml(text)
        except BadInput:  # of a newer version
            return None
        return cls.of(design, n_always, proxy=PROXY in proposal)

    def differs(self, batches: Iterable[list[Counts]]) -> str | None:
        """In words how the chains differ from this, beyond chance; None if they do not, or are too short to tell."""
        found = measured(batches, self.n_data)
        if found is None or found.quantile is None:
            return None
        accepts, reads = self.beyond(found)
        if not accepts and not reads:
            return None
        (rate, rate_se), (use, use_se) = found.acceptance, found.usage
        findings = [
            f"acceptance {rate:.3g} ± {rate_se:.1g} (predicted {self.acceptance:.3g})" if accepts else "",
            f"data use {use:.3%} ± {use_se:.1%} (predicted {self.usage:.3%})" if reads else "",
        ]
        words = " and ".join(filter(None, findings))
        return f"not as the design predicts after {found.decided:,} decisions: {words}; {self._advice()}"

    def beyond(self, found: Measured) -> tuple[int, int]:
        """Whether acceptance and data use are above (1) or below (-1) what was predicted, beyond chance; else 0."""
        if found.quantile is None:
            return 0, 0
        (rate, rate_se), (use, use_se) = found.acceptance, found.usage
        low, high = self.acceptance_band
        accepts = _beyond(rate, found.quantile * rate_se, low - ACCEPTANCE_MARGIN, high + ACCEPTANCE_MARGIN)
        low, high = self.usage_band
        reads = _beyond(use, found.quantile * use_se, low * (1.0 - USAGE_MARGIN[0]), high * (1.0 + USAGE_MARGIN[1]))
        return accepts, reads

    def _advice(self) -> str:
        why = "its trial run was of another chain (data, model, proposal) or of its warm-up, or this run is not settled"
        if self.proxy:
            why = f"{why}, or few rows decide that its mini-batches miss"
        return f"{why}; make a trial run of this config and a new design, and do not use these draws before an audit"


class Measured(NamedTuple):
    """What chains did: decisions that read data, acceptance rate and data use of these, each with its standard error.

    `quantile` times a standard error is half the width of an interval; None if the chains are too short for one.
    """

    decided: int
    acceptance: tuple[float, float]
    usage: tuple[float, float]
    quantile: float | None


def measured(batches: Iterable[list[Counts]], n_data: int) -> Measured | None:
    """What the batches of some chains say; None if there are fewer than two."""
    chains = [chain for chain in batches if chain]
    counts = np.array([count for chain in chains for count in chain], dtype=np.float64).reshape(-1, 3)
    if counts.shape[0] < 2:
        return None
    decided, ends = counts[:, 0], np.cumsum([len(chain) for chain in chains])[:-1]
    weights = decided / decided.sum()
    effective = 1.0 / float(weights @ weights)
    quantile = None
    if effective >= FEWEST_BATCHES:
        tail = _error_probability(decided.sum()) / 4.0  # two quantities, two sides
        quantile = -float(stdtrit(effective - 1.0, tail))
    rate = _mean(counts[:, 1] / decided, weights, ends)
    use = _mean(counts[:, 2] / decided / n_data, weights, ends)
    return Measured(int(decided.sum()), rate, use, quantile)


def _error_probability(decided: float) -> float:
    """What the look at this many decisions may spend: α / (k (k + 1)), which sum to α over all looks k."""
    look = 1 + max(0, math.floor(math.log(decided / FIRST_LOOK) / math.log(GROWTH)))
    return ALPHA / (look * (look + 1))


def _mean(values: Floats, weights: Floats, ends: Any) -> tuple[float, float]:
    """The weighted mean of batch means and its standard error, wider if neighbours in a chain are alike."""
    mean = float(weights @ values)
    errors = weights * (values - mean)
    squares = float(errors @ errors)
    if squares <= 0.0:
        return mean, 0.0
    products = sum(float(chain[1:] @ chain[:-1]) for chain in np.split(errors, ends))
    alike = min(max(products / squares, 0.0), 0.9)
    return mean, math.sqrt(squares / (1.0 - float(weights @ weights)) * (1.0 + alike) / (1.0 - alike))


def _beyond(value: float, half_width: float, low: float, high: float) -> int:
    """1 if the interval lies above, -1 if below, 0 if it meets the band."""
    return 1 if value - half_width > high else -1 if value + half_width < low else 0


def in_batches(batches: list[Counts], new: Counts) -> list[Counts]:
    """With the new decisions: in the last batch while that is short, and neighbours joined when there are too many."""
    shortest = max(SHORTEST_BATCH, sum(batch.decided for batch in batches) // MOST_BATCHES)
    if batches and batches[-1].decided < shortest:
        batches = [*batches[:-1], batches[-1].plus(new)]
    elif new.decided:
        batches = [*batches, new]
    if len(batches) < MOST_BATCHES:
        return batches
    joined = [first.plus(second) for first, second in zip(batches[::2], batches[1::2], strict=False)]
    return [*joined, *batches[len(joined) * 2 :]]


class Monitor:
    """Follows the chains of a run, from any number of threads.

    Parameters
    ----------
    expected
        What the design predicts; None: nothing is compared.
    warmup
        Steps of each chain that are not compared.

    Examples
    --------
    >>> monitor = Monitor(Expected(1_000, 0, 0.3, 0.1, (0.28, 0.32), (0.09, 0.11)))
    >>> rng, part = np.random.default_rng(1), Draws.empty(50, 1)
    >>> for _ in range(40):
    ...     monitor.add(0, part._replace(accepted=rng.random(50) < 0.6, n_used=np.full(50, 100)))
    >>> monitor.finding[:62]
    'not as the design predicts after 1,000 decisions: acceptance 0'
    """

    def __init__(self, expected: Expected | None, warmup: int = 0) -> None:
        self.expected, self.warmup, self.finding = expected, warmup, ""
        self.batches: dict[int, list[Counts]] = {}
        self.steps: dict[int, int] = {}
        self.next_look = float(FIRST_LOOK)
        self.lock = threading.Lock()

    def begin(self, chain: int, step: int) -> None:
        """A chain goes on from this step: what it did before is forgotten, for it may do it again."""
        with self.lock:
            self.steps[chain], self.batches[chain] = step, []

    def add(self, chain: int, part: Draws) -> None:
        """Steps that a chain made just now."""
        first = self.steps.get(chain, 0)
        self.steps[chain] = first + part.accepted.size
        if self.expected is None or self.finding:
            return
        for start in range(max(self.warmup - first, 0), part.accepted.size, PIECE):
            piece = slice(start, start + PIECE)
            self.count(chain, Counts.of(part.accepted[piece], part.n_used[piece], self.expected.n_always))

    def count(self, chain: int, new: Counts) -> None:
        """Decisions after warm-up."""
        if self.expected is None or self.finding:
            return
        with self.lock:
            self.batches[chain] = in_batches(self.batches.get(chain, []), new)
            if sum(batch.decided for batches in self.batches.values() for batch in batches) >= self.next_look:
                self.next_look *= GROWTH
                self.finding = self.expected.differs(self.batches.values()) or ""


def judged(expected: Expected | None, chains: Iterable[Mapping[str, Any]]) -> str:
    """How finished chains differ from what was expected, given their arrays `accepted` and `n_used`; empty if not."""
    if expected is None:
        return ""
    return expected.differs(batched(chains, expected.n_always)) or ""


def batched(chains: Iterable[Mapping[str, Any]], n_always: int) -> list[list[Counts]]:
    """The decisions of each chain in batches, given their arrays `accepted` and `n_used`."""
    batches = []
    for draws in chains:
        size = max(SHORTEST_BATCH, math.ceil(draws["accepted"].size / MOST_BATCHES))
        cuts = range(size, draws["accepted"].size, size)
        pieces = zip(np.split(draws["accepted"], cuts), np.split(draws["n_used"], cuts), strict=True)
        counts = [Counts.of(*piece, n_always) for piece in pieces]
        batches.append([count for count in counts if count.decided])
    return batches
