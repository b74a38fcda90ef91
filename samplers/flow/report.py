"""The report of a result, as text and as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.html_page import page_template

if TYPE_CHECKING:
    from samplers.flow.result import SampleResult

SHOWN = 20  # parameters in the table of a text report
DRAWN = 60  # parameters in the figure
TEMPLATE = "report.html.jinja"
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
STEPS = {  # as the report calls them
    "mode": "mode",
    "laplace": "need I sample?",
    "proposal": "proposal",
    "trial": "trial run",
    "test": "test and design",
    "audit": "audit",
    "certificate": "certificate",
}


class Bar(NamedTuple):
    """One line of the figure: where the quantiles of a parameter lie, in percent of the width."""

    name: str
    ends: tuple[float, ...]
    text: str


def text_report(result: SampleResult) -> str:
    """Warnings first."""
    lines = [f"WARNING: {line}" for line in result.warnings]
    lines += [""] if lines else []
    lines += [result.headline, f"posterior error: {result.claim.status}: {result.claim.sentence}", monte_carlo(result)]
    lines += [f"table: {table}" for table in [result.posterior.attrs.get("table")] if table]
    lines += ["", result.summary().worst(SHOWN).text(), ""]
    lines += [cost(result), ""] if cost(result) else []
    lines += ["decisions:", *(f"- {decision}" for decision in result.decisions)]
    if result.output is not None:
        lines += ["", f"files: {result.output}"]
    return "\n".join(lines)


def html_report(result: SampleResult) -> str:
    """One page; text is escaped, and there are no scripts."""
    table = result.summary()
    design = result.design
    return page_template("samplers", "flow", TEMPLATE).render(
        result=result,
        monte_carlo=monte_carlo(result),
        rows=[
            [row.name, *(f"{x:.4g}" for x in row[1:4]), *(f"{x:,.0f}" for x in row[4:6]), f"{row.r_hat:.3f}"]
            for row in table.rows
        ],
        columns=table.rows[0]._fields,
        bars=bars(result),
        cost=cost(result),
        audit=[] if result.audit is None else [result.audit.sentence, result.audit.details],
        certificate="" if result.certificate is None else result.certificate.sentence,
        design="" if design is None else design.to_toml(),
        seconds=[(STEPS[name], f"{value:.2g}") for name, value in (result.seconds or {}).items() if name in STEPS],
        version=version("austerity"),
    )


def monte_carlo(result: SampleResult) -> str:
    """What the number of draws leaves open."""
    rows = [row for row in result.summary().rows if row.sd > 0.0]
    share = max((row.mcse / row.sd for row in rows), default=math.nan)
    least = min((row.ess_bulk for row in rows), default=math.nan)
    return (
        f"Monte Carlo error: the standard error of a mean is at most {share:.2g} sd ({least:,.0f} effective draws); "
        "more draws make it smaller"
    )


def cost(result: SampleResult) -> str:
    """What a step reads, if there were steps."""
    if "sample_stats" not in result.posterior:
        return ""
    stats = result.posterior["sample_stats"]
    rows, accepted = float(stats["n_used"].mean()), float(stats["accepted"].mean())
    return f"acceptance {accepted:.3f}, {rows:,.3g} of {result.n_data:,} rows per step ({rows / result.n_data:.3%})"


def bars(result: SampleResult) -> list[Bar]:
    """The 5%, 25%, 50%, 75% and 95% quantiles of each parameter, on a common scale of sds around the means."""
    found: list[tuple[str, Floats]] = []
    for name, values in result.posterior["posterior"].data_vars.items():
        x = np.asarray(values.values, dtype=np.float64)
        flat = x.reshape(x.shape[0] * x.shape[1], -1)
        for j in range(flat.shape[1]):
            if len(found) == DRAWN:
                return _placed(found)
            label = str(name) if flat.shape[1] == 1 else f"{name}[{_label(values, j)}]"
            found.append((label, np.quantile(flat[:, j], LEVELS)))
    return _placed(found)


def _label(values: object, j: int) -> str:
    labels = [getattr(values, "coords", {}).get(name) for name in getattr(values, "dims", ())[2:]]
    if len(labels) == 1 and labels[0] is not None:
        return str(labels[0].values[j])
    return str(j)


def _placed(found: list[tuple[str, Floats]]) -> list[Bar]:
    low = min((float(ends[0]) for _, ends in found), default=0.0)
    high = max((float(ends[-1]) for _, ends in found), default=1.0)
    low, high = min(low, 0.0), max(high, 0.0)
    width = max(high - low, 1e-300)
    return [
        Bar(
            name,
            tuple(round(100.0 * (float(end) - low) / width, 3) for end in [*ends, 0.0]),
            f"{name}: median {ends[2]:.4g}, 90% interval {ends[0]:.4g} to {ends[-1]:.4g}",
        )
        for name, ends in found
    ]
