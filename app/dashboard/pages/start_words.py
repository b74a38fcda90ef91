"""The words of the Start page: the answer in one sentence, the verdict and its reason, numbers as people say them."""

from __future__ import annotations

import math

from app.dashboard.widgets.strip import percent
from designer.further.outlook import Outlook

WHY = """
**What is counted.** An exact chain that remembers the log-likelihood of every row evaluates each row once per step, at
the proposal. A test evaluates each row that it reads twice, at the current state and at the proposal. The sentence
compares the two.

**Where the numbers come from.** The pairs of the trial run say how hard the chain's decisions are. The error and the
data use of a test on them are computed, not simulated, to ten digits; the interval is a bootstrap over the pairs. What
the test does to the posterior is the temperature at which a random walk with these errors samples a Gaussian posterior
(*Go further*). Real chains were at most 1.4 times further off than that (`docs/posterior.md`); the sentence above
allows for 1.5 times.

**What they assume.** A random walk, pairs like those of the run to come, mini-batch means that are close to normal
(*Trial run* checks this), and a Gaussian posterior. `austerity audit` measures the decisions of a real chain, and
`austerity certify` its posterior.
"""


def badge(expected: Outlook, growth: float, laplace: float | None) -> tuple[str, str, str]:
    """The verdict: its colour, its name, and the reason."""
    reason = f"{expected.reason[0].upper()}{expected.reason[1:]}."
    if laplace is None:
        more = (
            "Do you need to sample at all? For a regression, `austerity laplace` tells you from one pass over the data."
        )
    else:
        more = (
            "The Laplace approximation of this posterior is off by less than "
            f"{laplace:.2g} posterior standard deviations in every mean and standard deviation"
        )
        if laplace <= growth:
            return (
                "open",
                "no need to sample",
                f"{more}: no chain is needed. If you run one: {reason[0].lower()}{reason[1:]}",
            )
        more += ", which may be more than you allow."
    return ("good", "worth it", f"{reason} {more}") if expected.worth else ("bad", "not worth it", f"{reason} {more}")


def headline(expected: Outlook, n_data: int, growth: float) -> str:
    """The answer in one sentence, without symbols."""
    share = percent(expected.share.value)
    rows = f"Reads {rounded(expected.rows.value):,} of {n_data:,} rows per step: {share} of the data"
    if expected.gain >= 1.0:
        cost = f"about {times(expected.gain)} fewer evaluations than an exact chain"
    else:
        cost = f"{1.0 / expected.gain:.2g} times the evaluations of an exact chain"
    if expected.growth is None:
        return f"{rows}, {cost}."
    limit = growth if expected.growth <= growth else expected.growth
    return f"{rows}, {cost}; posterior standard deviations grow by less than {upper(limit)}."


def errors(expected: Outlook, pairs: int) -> str:
    """How sure the numbers of the sentence are."""
    low, high = percent(expected.share.low), percent(expected.share.high)
    between = f"between {low} and {high} of the data (95%)" if low != high else f"{low} of the data, always the same"
    said = [f"From {pairs:,} pairs: a step reads {between}."]
    if math.isfinite(expected.bound):
        said.append(
            f"On average, acceptance probabilities are off by at most {decimal(expected.bound)}, however the data are "
            "distributed."
        )
    if expected.growth is not None:
        said.append(
            f"Standard deviations grow by less than {upper(expected.growth)}: this includes a margin for the error of "
            "the prediction."
        )
    return " ".join(said)


def times(gain: float) -> str:
    return f"{rounded(gain):,}×" if gain >= 10.0 else f"{gain:.2g}×"


def rounded(value: float) -> int:
    """An integer with three digits."""
    return int(float(f"{value:.3g}"))


def decimal(value: float) -> str:
    """A small number with one digit, rounded up, and without an exponent: 0.000003."""
    if not 0.0 < value < 1.0:
        return f"{value:.2g}"
    places = -math.floor(math.log10(value))
    return f"{math.ceil(value * 10**places - 1e-9) / 10**places:.{places}f}"


def upper(share: float) -> str:
    """A share that is not larger than what is said: one digit, rounded up."""
    if share <= 1e-3:
        return "0.1%"
    unit = 10.0 ** math.floor(math.log10(share) - 0.999)
    return f"{100 * math.ceil(share / unit - 1e-9) * unit:.2g}%"
