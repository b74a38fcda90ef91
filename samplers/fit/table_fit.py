"""The result of a fit to a table: coefficients with names, what was read, why it stopped, all of it in words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from designer.core.arrays import Floats
from designer.core.files import csv_text, write_whole
from samplers.fit.precision import Precision
from samplers.fit.rivals import JUDGED, Rival
from samplers.fit.trace import Look, Reason, Trace

LossName: TypeAlias = Literal["lad", "quantile", "lp", "logistic", "poisson"]
NO_ERRORS = {  # why a loss has no standard errors
    "lad": "those of a median depend on the density of the residuals at zero, which is not estimated",
    "quantile": "those of a quantile depend on the density of the residuals at zero, which is not estimated",
    "lp": "for p below 2 the curvature at a residual of zero is infinite",
}
SHOWN = 30  # coefficients in a text
EARLY = 0.5  # standard errors that a coefficient may be off before the text warns


class Coefficient(NamedTuple):
    """One line of the table; `se` and `off` are None where they are not known.

    Examples
    --------
    >>> Coefficient("age", 1.0, None, None).name
    'age'
    """

    name: str
    estimate: float
    se: float | None
    off: float | None


class TableFit(NamedTuple):
    """The coefficients of a fit to a table, and how they were reached.

    Attributes
    ----------
    formula, loss, shape
        What was fitted; `shape` is the quantile or the power, if the loss has one.
    names, coefficients
        Of the columns that the formula makes.
    errors
        Standard errors, and limits of how far each coefficient is from the one that all rows give; None if they are
        not known: see `why_no_errors`.
    n_rows
        Of the table, without those left out.
    read
        Rows that the fit read, with repetition; to load the table, all rows are read once more.
    reason
        "converged", "iterations", "budget" or "cancelled"; `why` says it in words.
    trace, looks
        The iterations, and the looks of the test at each.
    epsilon, tolerance
        As asked for.
    seconds, seconds_to_load
        Of the fit, and before it for the table.
    remarks
        What a reader should know about the table.
    rivals
        The same fit by other methods, our own first; empty if there was no comparison.

    Examples
    --------
    >>> from samplers.fit.of_table import fit_table
    >>> table = {"y": np.arange(100.0) % 7, "x": np.arange(100.0) % 11}
    >>> fit = fit_table("y ~ x", table)
    >>> fit.table[1].name, fit.errors is None
    ('x', True)
    """

    formula: str
    loss: LossName
    shape: float | None
    names: tuple[str, ...]
    coefficients: Floats
    errors: Precision | None
    n_rows: int
    read: int
    reason: Reason
    trace: Trace
    looks: tuple[Look, ...]
    epsilon: float
    tolerance: float
    seconds: float
    seconds_to_load: float
    remarks: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()

    @property
    def table(self) -> list[Coefficient]:
        """One line per coefficient."""
        known = self.errors
        return [
            Coefficient(
                name,
                float(self.coefficients[k]),
                None if known is None or math.isinf(known.se[k]) else float(known.se[k]),
                None if known is None else float(known.off[k]),
            )
            for k, name in enumerate(self.names)
        ]

    @property
    def passes(self) -> float:
        """Rows read, as a multiple of the rows of the table."""
        return self.read / self.n_rows

    @property
    def in_part(self) -> bool:
        """Whether the last iteration read only part of the rows."""
        return bool(self.trace.n[-1] < self.n_rows)

    @property
    def what(self) -> str:
        """The loss in words."""
        shape = "" if self.shape is None else f"{self.shape:g}"
        return {
            "lad": "least absolute deviations (the median)",
            "quantile": f"the quantile {shape}",
            "lp": f"|residual|^{shape}",
            "logistic": "logistic regression",
            "poisson": "Poisson regression",
        }[self.loss]

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        ended = {
            "converged": "has converged",
            "iterations": "has not converged",
            "budget": "has not converged",
            "cancelled": "was cancelled",
        }[self.reason]
        n = self.trace.n
        times = "iteration" if n.size == 1 else "iterations"
        share = f"{self.passes:.3g} times the table" if self.passes >= 1.0 else f"{100 * self.passes:.3g}% of the table"
        return (
            f"The fit {ended}: it read {self.read:,} rows, {share}, in {n.size} {times}, whose batches grew from "
            f"{int(n[0]):,} to {int(n.max()):,} rows."
        )

    @property
    def why(self) -> str:
        """Why it stopped."""
        small = f"an update on all rows gains less than {self.tolerance:g} of the mean loss"
        if self.reason == "converged":
            sure = f"two samples in a row say so, wrong with probability at most {self.epsilon:g}"
            return f"{small}; {sure if self.in_part else 'the last iteration read all rows'}"
        endless = "; or a coefficient runs to infinity: where all rows of a kind have the same response, none is best"
        endless = endless if self.loss in ("logistic", "poisson") else ""
        return {
            "iterations": f"the limit of {self.trace.n.size:,} iterations was reached; raise max_iterations{endless}",
            "budget": "the limit of rows to read was reached; raise max_read",
            "cancelled": "it was cancelled; the coefficients are those so far",
        }[self.reason]

    @property
    def why_no_errors(self) -> str:
        """Why there are no standard errors; empty if there are."""
        if self.errors is not None:
            return ""
        if self.loss in NO_ERRORS and not (self.loss == "lp" and (self.shape or 0.0) >= 2.0):
            return f"No standard errors: {NO_ERRORS[self.loss]}"
        if self.reason != "converged":
            return "No standard errors: the fit has not converged"
        return "No standard errors: the rows that were read do not determine all coefficients"

    @property
    def about_errors(self) -> str:
        """What the standard errors are, and are not."""
        if self.errors is None:
            return self.why_no_errors
        alone = " (–: one row alone decides it)" if np.any(np.isinf(self.errors.se)) else ""
        said = (
            f"Standard error (se){alone}: that of the coefficient which all rows give, by the sandwich formula (HC3); "
            "assuming independent rows. Off: how far this coefficient is from that one, at most (confidence "
            "0.99 each)"
        )
        worst = self.most_off
        if worst > EARLY:
            early = (
                f"up to {worst:.3g} se off, so intervals from se alone are too short; lower the tolerance. If that "
                "does not help, the rows do not determine the coefficient: is there a level with equal responses only?"
            )
            return f"{said}. WARNING: {early}"
        return said

    @property
    def most_off(self) -> float:
        """The largest of `off / se` over the coefficients; nan if unknown."""
        if self.errors is None:
            return math.nan
        known = (self.errors.se > 0.0) & np.isfinite(self.errors.se)
        return float(np.max(self.errors.off[known] / self.errors.se[known], initial=0.0))

    def report(self, path: str | Path | None = None) -> str:
        """All of it as text; with a path also as a file: one HTML page if it ends in .html, or else the text."""
        from samplers.fit.report import html_report, text_report

        text = text_report(self)
        if path is not None:
            html = str(path).lower().endswith((".html", ".htm"))
            write_whole(path, html_report(self) if html else f"{text}\n")
        return text

    def to_csv(self) -> str:
        """The coefficients as the text of a CSV file, with all digits."""
        cells = ((row.name, repr(row.estimate), *(_cell(x) for x in row[2:])) for row in self.table)
        return csv_text(Coefficient._fields, cells)

    def facts(self) -> dict[str, Any]:
        """For programs: what JSON can hold."""
        n = self.trace.n
        return {
            "formula": self.formula,
            "loss": self.loss,
            **({} if self.shape is None else {"quantile" if self.loss == "quantile" else "p": self.shape}),
            "coefficients": [row._asdict() for row in self.table],
            "about_errors": self.about_errors,
            "n_rows": self.n_rows,
            "read": self.read,
            "passes": self.passes,
            "iterations": int(n.size),
            "batches": n.tolist(),
            "looks": self.trace.looks.tolist(),
            "mean_loss": float(self.trace.objective[-1]),
            "mean_loss_se": float(self.trace.objective_se[-1]),
            "reason": self.reason,
            "why": self.why,
            "sentence": self.sentence,
            "remarks": list(self.remarks),
            "seconds": self.seconds,
            "against": [rival_facts(rival) for rival in self.rivals],
        }

    @property
    def against(self) -> str:
        """The comparison in one sentence; empty if there was none."""
        if not self.rivals:
            return ""
        parts = [
            f"{one.title} {'did not get there' if one.arrived is None else f'{one.arrived / self.n_rows:.3g}'}"
            for one in self.rivals
        ]
        tuned = [one.tuning_read / self.n_rows for one in self.rivals if one.tuning_read]
        extra = f" The steps of SGD were tuned before, with {tuned[0]:.3g} passes." if tuned else ""
        extra += f" Losses are those of {JUDGED:,} rows chosen at random." if self.n_rows > JUDGED else ""
        return (
            "Passes over the table until 99.9% of the way from the start to the least mean loss was covered: "
            f"{', '.join(parts)}.{extra}"
        )


def rival_facts(rival: Rival) -> dict[str, Any]:
    """One method of a comparison, for programs."""
    last = float(rival.losses[-1])
    return {
        "method": rival.name,
        "coefficients": [x if math.isfinite(x) else None for x in rival.coefficients.tolist()],
        "read": rival.read,
        "tuning_read": rival.tuning_read,
        "arrived": rival.arrived,
        "mean_loss": last if math.isfinite(last) else None,
        "reason": rival.reason,
        "seconds": rival.seconds,
    }


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)
