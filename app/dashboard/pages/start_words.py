"""The words of the Start page: the answer in one sentence, the verdict and its reason, numbers as people say them."""

from __future__ import annotations

import math

from app.dashboard.widgets.strip import percent
from designer.further.outlook import Outlook


def badge(expected: Outlook, growth: float, laplace: float | None) -> tuple[str, str, str]:
    """The verdict: its colour, its name, and the reason."""
    reason = f"{expected.reason[0].upper()}{expected.reason[1:]}."
    if laplace is None:
        more = "Need you sample at all? `austerity laplace` tells, from one pass over the data."
    else:
        more = f"The Laplace approximation of this posterior is off by less than {laplace:.2g} sds in every mean and sd"
        if laplace <= growth:
            return (
                "open",
                "need not sample",
                f"{more}: no chain is needed. If you run one: {reason[0].lower()}{reason[1:]}",
            )
        more += ", which is more than you allow."
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
    return f"{rows}, {cost}; posterior sds grow by less than {upper(limit)}."


def errors(expected: Outlook, pairs: int) -> str:
    low, high = percent(expected.share.low), percent(expected.share.high)
    share = f"Data use from {pairs:,} pairs" + (
        f": {low} to {high} (95%)" if low != high else f": {low}, the same for all"
    )
    if math.isfinite(expected.bound):
        share += f". Acceptance probabilities are off by at most {expected.bound:.1g} on average, whatever the data"
    if expected.growth is None:
        return f"{share}."
    return f"{share}. Growth of the sds, with a margin for the error of the prediction: below {upper(expected.growth)}."


def times(gain: float) -> str:
    return f"{rounded(gain):,}×" if gain >= 10.0 else f"{gain:.2g}×"


def rounded(value: float) -> int:
    """An integer with three digits."""
    return int(float(f"{value:.3g}"))


def upper(share: float) -> str:
    """A share that is not larger than what is said: one digit, rounded up."""
    if share <= 1e-3:
        return "0.1%"
    unit = 10.0 ** math.floor(math.log10(share) - 0.999)
    return f"{100 * math.ceil(share / unit - 1e-9) * unit:.2g}%"
