"""A design as one HTML file: figures, table of looks, assumptions, provenance. It opens anywhere, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from app.dashboard.export import exports, languages
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.question import Question, SearchAnswer
from app.dashboard.state.source import Source
from app.dashboard.widgets import plotting
from app.figures import design as figures
from app.figures import trial_run as trial_figures
from app.figures.design import Marked
from app.figures.style import OFFLINE, PRIVATE
from designer import Acceptance, predict, stopping
from designer.core.html_page import page_template
from designer.pairs.diagnostics import histograms_of, worst_tail_check
from designer.pairs.trial_run import TrialRun
from designer.plotdata import look_table, some_of, summary
from designer.rule.design import Design
from designer.rule.plan import as_plan
from designer.search.criteria import Cost, measure_of
from designer.search.remarks import beside_exact
from designer.search.search import SEARCH_ACCURACY

MOST_LOOKS = 12
NEARLY_ALL = 0.99  # of the hardest decisions: later looks hardly matter
TEMPLATE = "report.html.jinja"
ASSUMPTIONS = (
    "The mean of the terms (log-likelihood differences) is taken to be normal at every look. Skewed terms and small "
    "mini-batches break this; the check below says by how much at the first look.",
    "The pairs of the trial run stand for all proposals of the chain; elsewhere in its space the error may differ.",
    "Data are drawn without replacement in random order. The last look has all of them, so its decision is exact.",
    "The tolerance is on the acceptance probability. Theorem 1 of the paper derives from it a loose bound on "
    "the error of the stationary distribution.",
)
REFERENCES = (
    "A. Korattikara, Y. Chen, M. Welling: Austerity in MCMC Land: Cutting the Metropolis–Hastings Budget, ICML 2014.",
    "A. Korattikara, Y. Chen, M. Welling: Sequential Tests for Large-Scale Learning, Neural Computation, 2016.",
)
LOOK_COLUMNS = (
    "look",
    "data",
    "share",
    "bound G",
    "p-value",
    "stops here",
    "wrong here",
    "stopped by then",
    "wrong by then",
)


class ReportFigure(NamedTuple):
    """A figure as HTML, and what it shows in words."""

    html: Markup
    caption: str


class ReportLooks(NamedTuple):
    """The table of looks, as text."""

    note: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


def html(design: Design, answer: SearchAnswer, run: Loaded, source: Source, now: datetime | None = None) -> str:
    """The report of the design in view, and of the search that found it or that it is compared with."""
    question, trial, best = answer.question, run.trial, answer.result.best
    step = predict(design, trial, question.rule).step
    searched = best is not None and design.without_notes == best.without_notes
    marks = [_marked("this design", design, answer, trial, "in view")]
    if best is not None and not searched:
        marks.append(_marked("found by the search", best, answer, trial, "found"))
    return page_template("app.dashboard", "export", TEMPLATE).render(
        run=run,
        design=design,
        step=step,
        usage=in_percent(step.mean_usage),
        evaluations=_evaluations(step, trial),
        question=question,
        numbers=_numbers(design, step, answer, marks[0], trial),
        figures=_figures(step, answer, trial, marks),
        histograms=[
            _figure(trial_figures.bars(name, counts), trial_figures.caption(name, counts))
            for name, counts in histograms_of(trial, question.rule).items()
        ],
        looks=_looks(design),
        assumptions=ASSUMPTIONS,
        normality=_normality(design, trial),
        reproduce=_reproduce(design, answer, run, source, searched=searched),
        provenance=_provenance(design, answer, run, now or datetime.now(UTC)),
        references=REFERENCES,
        offline=OFFLINE,
        plotly=Markup((plotting.FOLDER / plotting.LIBRARY).read_text(encoding="utf-8")),  # nosec B704: a script of ours
    )


def _evaluations(step: Acceptance, trial: TrialRun) -> str:
    """What a step costs beside one of an exact chain."""
    beside = beside_exact(Cost(), trial.n_data, step.mean_usage, 1.0, trial.n_heavy)
    if beside.exact >= beside.test:
        return f"{beside.exact / beside.test:.3g} times fewer likelihood evaluations than an exact chain"
    return f"{beside.test / beside.exact:.3g} times the likelihood evaluations of an exact chain"


def _marked(name: str, design: Design, answer: SearchAnswer, trial: TrialRun, kind: str) -> Marked:
    """A design as the criterion of the question judges it."""
    question = answer.question
    measure = measure_of(
        question.criterion, trial, question.rule, question.quantile, skew=None, confidence=question.confidence
    )
    judged = measure(as_plan(design), SEARCH_ACCURACY)
    return Marked(name, design, judged.error, judged.usage, kind, judged.limit)


def _numbers(
    design: Design, step: Acceptance, answer: SearchAnswer, mark: Marked, trial: TrialRun
) -> list[tuple[str, str]]:
    question, worst = answer.question, summary(design)
    looks = measure_of("average", trial, question.rule, question.quantile, skew=None)(
        as_plan(design), SEARCH_ACCURACY
    ).looks
    beside = beside_exact(Cost(*question.cost), design.n_data, step.mean_usage, looks, trial.n_heavy)
    limit = f"its upper limit over all pairs of the chain, confidence {question.confidence:g}"
    limited = mark.limit is not None and mark.limit > mark.error
    return [
        (f"what the criterion {question.criterion} judges: {figures.ERRORS[question.criterion]}", f"{mark.error:.3g}"),
        *([(limit, f"{mark.limit:.3g}")] if limited else []),
        ("beside an exact chain", beside.sentence),
        ("mean |Δ| over the pairs", f"{step.mean_abs_delta:.3g}"),
        ("largest |Δ| of any pair", f"{step.max_abs_delta:.3g}"),
        ("mean data use per step", in_percent(step.mean_usage)),
        ("source of these numbers", step.source),
        ("looks per step, mean over the pairs", f"{looks:.3g}"),
        ("most looks per step", f"{worst.looks:,}"),
        ("error of the hardest decision (μ_std = 0)", f"{worst.worst_error:.3g}"),
        ("data use of the hardest decision", in_percent(worst.worst_usage)),
        ("numerical error of these numbers, at most", f"{max(step.estimate, worst.estimate):.0e}"),
        ("designs evaluated", f"{len(answer.result.evaluated):,}"),
    ]


def _figures(step: Acceptance, answer: SearchAnswer, trial: TrialRun, marks: Sequence[Marked]) -> list[ReportFigure]:
    """Error against data use, and pair by pair."""
    result, question = answer.result, answer.question
    legend = "the star is this one" + (", the hexagon the one that the search found" if len(marks) > 1 else "")
    return [
        _figure(
            figures.trade_off(result.evaluated, question.tolerance, question.criterion, marks),
            f"Error against data use of the {len(result.evaluated):,} designs evaluated; {legend}.",
        ),
        _figure(
            figures.pair_by_pair(step, trial),
            "Acceptance error Δ (above) and data use (below) of every pair.",
        ),
    ]


def _looks(design: Design) -> ReportLooks:
    where = stopping(design, 0.0)
    table = look_table(where, design, 0.0)
    matter = int(np.searchsorted(table.stopped, NEARLY_ALL)) + 1
    index = np.unique(np.append(some_of(table.n[:matter], MOST_LOOKS - 1), table.n.size - 1))
    shown = table.rows(index)
    rows = [
        (f"{look:,}", f"{n:,}", in_percent(share), _or_dash(bound), _or_dash(tail), *(f"{p:.3g}" for p in rest))
        for look, n, share, bound, tail, *rest in zip(*shown, strict=True)
    ]
    names: tuple[str, ...] = LOOK_COLUMNS
    if design.explicit:
        names = ("reject below", *names)
        rows = [(_or_dash(low), *row) for low, row in zip(where.lower[index], rows, strict=True)]
    note = "For the hardest decision, μ_std = 0; easier ones stop earlier."
    if len(shown.n) < len(table.n):
        note += f" {len(shown.n):,} of {len(table.n):,} looks are shown: those by which {NEARLY_ALL:.0%} have stopped, "
        note += "and the last one, which has all the data."
    return ReportLooks(note, names, rows)


def _normality(design: Design, trial: TrialRun) -> str:
    check = worst_tail_check(trial, design.m, design.epsilon)
    if check is None:
        return "The trial run records no skewness, so the normal approximation was not checked."
    return f"Normal approximation at the most skewed pair, with constant bounds: {check.sentence}."


def _reproduce(
    design: Design, answer: SearchAnswer, run: Loaded, source: Source, *, searched: bool
) -> list[tuple[str, str]]:
    if searched:
        command = exports.command_line(answer.question, source, run.trial)
        script = exports.python_lines(answer.question, source, run.trial, answer.result.best)
    else:
        command, script = exports.given_lines(design, answer.question, source, run.trial)
    config = exports.sampler_config(design, run.config)
    return [
        ("Command line", command),
        ("Python", script),
        (f"The test in R (reads {exports.DESIGN_FILE})", languages.r_lines(design)),
        (f"The test in Julia (reads {exports.DESIGN_FILE})", languages.julia_lines(design)),
        (f"{exports.DESIGN_FILE}, for a sampler", config),
    ]


def _provenance(design: Design, answer: SearchAnswer, run: Loaded, now: datetime) -> list[tuple[str, str]]:
    rows = [
        ("trial run", run.name),
        ("SHA-256 of the trial run", run.trial.digest),
        ("pairs, N", f"{len(run.trial):,}, {run.trial.n_data:,}"),
        ("question", asked_in_words(answer.question)),
        ("austerity", version("austerity")),
        ("made", now.strftime("%Y-%m-%d %H:%M UTC")),
    ]
    if design.provenance is not None and design.provenance.trial not in (None, run.trial.digest):
        rows.append(("SHA-256 of the trial run that the design was made for", str(design.provenance.trial)))
    return rows


def _figure(figure: go.Figure, caption: str) -> ReportFigure:
    figure.update_layout(
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font_family="system-ui, sans-serif"
    )
    config = PRIVATE | {"displayModeBar": False, "responsive": True}
    figure.update_layout(dragmode=False, template=None)
    drawn = figure.to_html(full_html=False, include_plotlyjs=False, config=config)
    return ReportFigure(Markup(drawn), caption)  # nosec B704: Plotly escapes what its text contains


def _or_dash(value: float) -> str:
    """A number, or a dash where there is none (the last look has no bound)."""
    return f"{value:.3g}" if value == value else "–"


def in_percent(share: float) -> str:
    """A share with three digits: 0.512%, 63.1%."""
    return f"{float(f'{100.0 * share:.3g}'):g}%"


def asked_in_words(question: Question) -> str:
    """What was asked: the tolerance, the criterion, and the knobs that are not at their defaults."""
    words = [f"tolerance {question.tolerance:g}", f"criterion {question.criterion}"]
    if question.criterion == "quantile":
        words.append(f"quantile {question.quantile:g}")
    if question.criterion == "fixed-m":
        words.append(f"m = {question.fixed_m:,}")
    if question.criterion != "worst-case":
        words.append(f"confidence {question.confidence:g}")
    usual = Question()
    if question.rule != usual.rule:
        words.append(f"rule {question.rule}")
    for name, value in (("m from", question.m_low), ("m to", question.m_high)):
        words += [] if value is None else [f"{name} {value:,}"]
    for name, ends, default in (("α", question.alpha, usual.alpha), ("ε", question.epsilon, usual.epsilon)):
        words += [] if ends == default else [f"{name} from {ends[0]:g} to {ends[1]:g}"]
    if question.growth != usual.growth:
        words.append("growth " + " or ".join(f"{growth:g}" for growth in question.growth))
    if question.cost != usual.cost:
        fixed, datum, look = question.cost
        words.append(f"cost of a step {fixed:g} + {datum:g} per datum + {look:g} per look")
    return ", ".join(words)
