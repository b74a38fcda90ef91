"""A design as one HTML file: figures, table of looks, assumptions, provenance. Opens anywhere, asks no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from app.dashboard.export import exports
from app.dashboard.state.question import Answer
from app.dashboard.state.session import Loaded, Source
from app.figures import design as figures
from app.figures import trial_run as trial_figures
from app.figures.design import Marked
from designer import Acceptance, acceptance, stopping
from designer.pairs.diagnostics import histograms_of, worst_tail_check
from designer.pairs.trial_run import TrialRun
from designer.plotdata import look_table, some_of, summary
from designer.rule.design import Design
from designer.rule.plan import as_plan
from designer.search.criteria import measure_of
from designer.search.search import ACCURACY

MOST_LOOKS = 40
PAGE = Path(__file__).with_name("report.html")
ASSUMPTIONS = (
    "The means of the log-likelihood differences are taken as normal at every look. Skewed differences at small m "
    "break this; the check below says how much at the first look.",
    "The pairs of the trial run stand for all proposals of the chain; elsewhere in its space the error may differ.",
    "Data are drawn without replacement in random order, and the last look has all of them: its decision is exact.",
    "The tolerance is on the acceptance probability. Theorem 1 of the paper bounds the error of the stationary "
    "distribution by it, loosely.",
)
REFERENCES = (
    "A. Korattikara, Y. Chen, M. Welling: Austerity in MCMC Land: Cutting the Metropolis–Hastings Budget, ICML 2014.",
    "A. Korattikara, Y. Chen, M. Welling: Sequential Tests for Large-Scale Learning, Neural Computation, 2016.",
)


def html(design: Design, found: Answer, run: Loaded, source: Source, now: datetime | None = None) -> str:
    """The report of a design in view, and of the search it comes from or is compared with."""
    asked, trial = found.question, run.trial
    step = acceptance(design, trial, asked.rule)
    marks, best = [_marked("this design", design, found, trial, "in view")], found.found.best
    searched = best is not None and design.without_notes == best.without_notes
    legend = "the star is this one"
    if best is not None and not searched:
        marks.append(_marked("found by the search", best, found, trial, "found"))
        legend += ", the hexagon the one that the search found"
    parts = [
        _heading(design, step, found, run),
        _numbers(design, step, found, marks[0].error, trial),
        _figure(
            figures.trade_off(found.found.evaluated, asked.tolerance, asked.criterion, marks),
            f"Error against data use of the {len(found.found.evaluated):,} designs evaluated; {legend}.",
        ),
        _figure(
            figures.pair_by_pair(step, trial),
            "Error in the acceptance probability (above) and data read (below) of every pair.",
        ),
        "<h2>The trial run</h2>",
        f"<p>{escape(run.line)}; {escape(run.origin.rstrip('.'))}.</p>",
        '<div class="pair">',
        *(
            _figure(trial_figures.bars(name, counts), trial_figures.caption(name, counts))
            for name, counts in histograms_of(trial, asked.rule).items()
        ),
        "</div>",
        _looks(design),
        _assumptions(design, run),
        _reproduce(design, found, run, source, searched=searched),
        _provenance(design, found, run, now or datetime.now(UTC)),
    ]
    page = PAGE.read_text(encoding="utf-8")
    title = f"Design for {run.name}"
    # the script last: its text may contain anything
    return page.replace("TITLE", escape(title)).replace("BODY", "\n".join(parts)).replace("PLOTLY", get_plotlyjs(), 1)


def _marked(name: str, design: Design, found: Answer, trial: TrialRun, kind: str) -> Marked:
    """A design as the criterion of the question judges it."""
    asked = found.question
    judged = measure_of(asked.criterion, trial, asked.rule, asked.quantile)(as_plan(design), ACCURACY)
    return Marked(name, design, judged.error, judged.usage, kind)


def _heading(design: Design, step: Acceptance, found: Answer, run: Loaded) -> str:
    asked, bounds = found.question, f"ε = {design.epsilon!r}, α = {design.alpha!r}"
    if design.explicit:
        bounds = "bounds of its own at every look"
    return (
        f"<h1>A sequential test for {escape(run.name)}</h1>"
        f'<p class="answer">m = {design.m:,}, {bounds}, '
        f"growth = {design.growth!r}: the acceptance probability is off by <b>{step.mean_abs_delta:.4g}</b> on average "
        f"(tolerance {asked.tolerance!r}, criterion {asked.criterion}) and a step reads <b>{step.mean_usage:.2%}</b> "
        f"of the N = {design.n_data:,} data.</p>"
    )


def _numbers(design: Design, step: Acceptance, found: Answer, error: float, trial: TrialRun) -> str:
    asked, worst = found.question, summary(design)
    looks = measure_of("average", trial, asked.rule, asked.quantile)(as_plan(design), ACCURACY).looks
    rows = [
        (f"what the criterion {asked.criterion} judges: {figures.ERRORS[asked.criterion]}", f"{error!r}"),
        ("mean |Δ| over the pairs", f"{step.mean_abs_delta!r}"),
        ("largest |Δ| of any pair", f"{step.max_abs_delta!r}"),
        ("mean share of the data per step", f"{step.mean_usage!r}"),
        ("looks per step, mean over the pairs", f"{looks:.4g}"),
        ("looks at most", f"{worst.looks:,}"),
        ("error of the hardest decision (μ_std = 0)", f"{worst.worst_error!r}"),
        ("its share of the data", f"{worst.worst_usage!r}"),
        ("numerical error of these numbers, at most", f"{max(step.estimate, worst.estimate):.1e}"),
        ("designs evaluated", f"{len(found.found.evaluated):,}"),
    ]
    return "<h2>The numbers</h2>" + _table(("", ""), rows)


def _looks(design: Design) -> str:
    where = stopping(design, 0.0)
    table = look_table(where, design, 0.0)
    index = some_of(table.n, MOST_LOOKS)
    shown = table.rows(index)
    rows = [
        (f"{look:,}", f"{n:,}", f"{share:.2%}", _or_none(bound), _or_none(tail), *(f"{p:.4g}" for p in rest))
        for look, n, share, bound, tail, *rest in zip(*shown, strict=True)
    ]
    names: tuple[str, ...] = (
        "look",
        "data",
        "share",
        "bound G",
        "p-value",
        "stops here",
        "wrong here",
        "stopped by now",
        "wrong by now",
    )
    if design.explicit:
        names = ("reject below", *names)
        rows = [(_or_none(low), *row) for low, row in zip(where.lower[index], rows, strict=True)]
    note = "For the hardest decision, μ_std = 0; easier ones stop earlier."
    if len(shown.n) < len(table.n):
        note += f" {len(shown.n):,} of {len(table.n):,} looks."
    return f"<h2>Table of looks</h2><p>{note}</p>" + _table(names, rows, "looks")


def _assumptions(design: Design, run: Loaded) -> str:
    lines = [f"<li>{escape(line)}</li>" for line in ASSUMPTIONS]
    check = worst_tail_check(run.trial, design.m, design.epsilon)
    words = "The trial run records no skewness, so the normal approximation was not checked."
    if check is not None:
        words = f"Normal approximation at the most skewed pair, constant bounds: {check.sentence}."
    return f"<h2>Assumptions</h2><ul>{''.join(lines)}</ul><p>{escape(words)}</p>"


def _reproduce(design: Design, found: Answer, run: Loaded, source: Source, *, searched: bool) -> str:
    if searched:
        command = exports.command_line(found.question, source, run.trial)
        script = exports.python_lines(found.question, source, run.trial, found.found.best)
    else:
        command, script = exports.given_lines(design, found.question, source, run.trial)
    config = exports.sampler_config(design, run.config)
    blocks = (("Command line", command), ("Python", script), ("Sampler config", config))
    return "<h2>Reproduce it</h2>" + "".join(f"<h3>{name}</h3><pre>{escape(text)}</pre>" for name, text in blocks)


def _provenance(design: Design, found: Answer, run: Loaded, now: datetime) -> str:
    rows = [
        ("trial run", run.name),
        ("SHA-256 of the trial run", run.trial.digest),
        ("pairs, N", f"{len(run.trial):,}, {run.trial.n_data:,}"),
        ("question", repr(found.question)),
        ("austerity", version("austerity")),
        ("made", now.strftime("%Y-%m-%d %H:%M UTC")),
    ]
    if design.provenance is not None and design.provenance.trial not in (None, run.trial.digest):
        rows.append(("the design was made for the trial run", str(design.provenance.trial)))
    works = "".join(f"<li>{escape(work)}</li>" for work in REFERENCES)
    return "<h2>Provenance</h2>" + _table(("", ""), rows) + f"<h2>References</h2><ul>{works}</ul>"


def _figure(figure: go.Figure, caption: str) -> str:
    figure.update_layout(
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font_family="system-ui, sans-serif"
    )
    drawn = figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False, "responsive": True})
    return (
        f'<figure role="img" aria-label="{escape(caption)}">{drawn}<figcaption>{escape(caption)}</figcaption></figure>'
    )


def _table(names: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "facts") -> str:
    head = f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in names)}</tr>" if any(names) else ""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}">{head}{body}</table></div>'


def _or_none(value: float) -> str:
    """A number, or a dash where there is none (the last look has no bound)."""
    return f"{value:.4g}" if value == value else "–"
