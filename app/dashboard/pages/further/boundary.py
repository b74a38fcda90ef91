"""Topic: the best possible stopping boundary."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from app.dashboard.export import exports
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.further.parts import Topic, answered, batch_warning, below
from app.dashboard.state import share
from app.dashboard.state.chosen import choose_design
from app.dashboard.state.current import current_design
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.knobs import TOLERANCE, Knob, knob
from app.dashboard.widgets.strip import tell, verdict_of
from app.figures import boundary as figures
from designer.further.optimal_boundary.boundary import MOST_LOOKS, bounds_of, optimal_boundary, smallest_batch
from designer.further.optimal_boundary.result import OptimalBoundary
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import as_plan

ASYMMETRIC = "bndasym"
FILE = "boundary.toml"
LOOKS = 50  # that the default mini-batch size gives
METHOD = r"""
Let $U_i$ be the share of the data read for pair $i$. For signs $|s_i| \le 1$ and a price $\lambda \ge 0$, every test
with mean $|\Delta| \le \Delta^*$ reads at least

$$\min_{\text{all tests}} \Big\{ \overline{U_i} + \lambda\,\overline{s_i \Delta_i} \Big\} - \lambda \Delta^*,$$

because $|\Delta_i| \ge s_i \Delta_i$. Finding the minimum is a Bayes problem over the drifts of your pairs, solved by
dynamic programming from the last look back. The page shows the largest of these lower bounds; the test that solves its
Bayes problem has the best boundary. The error and data use of that boundary are computed independently, by the same
engine as everywhere else. The lower bound holds under the normal theory, for these pairs and looks, up to a numerical
error of about $10^{-8}$.
"""

BATCH = Knob(
    "bndm",
    "Mini-batch size m",
    "Data read before the first look, and before each further one if looks do not grow. At most 400 looks. A smaller m "
    "gives more looks, which never cost data, but below a few hundred do not trust the normal theory.",
    2,
    10**15,
    500,
    [100, 200, 300, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000],
)
GROWTH = Knob(
    "bndgrowth",
    "Growth of the looks",
    "1: equal mini-batches. 1.05 or more: each look has this many times the data of the one before.",
    1.0,
    100.0,
    1.0,
    [1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0],
    "%.4g",
)

FORMATS = {
    **{name: st.column_config.NumberColumn(format="percent") for name in ("data per step", "above the bound")},
    **{name: st.column_config.NumberColumn(format="%.3g") for name in ("ε", "α", "mean |Δ|", "largest |Δ|")},
}


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write(
        "Pocock, O'Brien–Fleming and Wang–Tsiatis bounds have one or two parameters. How much could *any* boundary "
        "save at the same looks and tolerance?"
    )
    topic = _topic(run.trial.n_data, current_design(run.trial))
    _, batch, looks_grow = topic.knobs
    first = answer_place()
    left, right = st.columns(2)
    with left:
        most, m = knob(TOLERANCE), int(knob(batch, most=run.trial.n_data - 1))
    with right:
        growth = knob(looks_grow)
        asymmetric = st.toggle(
            "Let the two bounds differ",
            key=ASYMMETRIC,
            bind="query-params",
            persist_state="session",
            help="A chain rejects more often than it accepts, so quick rejections may save more than quick "
            "acceptances. The error is then concentrated on fewer pairs: check the largest |Δ|.",
        )
    key = f"{run.trial.digest}-{most!r}-{m}-{growth!r}-{asymmetric}"
    work = partial(_work, run.trial, most, m, growth, not asymmetric)
    with first:
        result: OptimalBoundary | None = answered(topic, key, "Searching among all boundaries", work)
    batch_warning(run.trial, m)
    if result is not None:
        with first:
            _tell(result, run.trial)
        _figures(result)
    with below(topic, {TOLERANCE.key: most, BATCH.key: m, GROWTH.key: growth, ASYMMETRIC: asymmetric}):
        if result is not None:
            _saves(result, run.config)


def _topic(n_data: int, design: Design | None = None) -> Topic:
    """The topic; its looks are by default those of the design in use, or else some 50."""
    m, growth = smallest_batch(n_data, looks=LOOKS), 1.0
    if design is not None and 1 < as_plan(design).schedule.size <= MOST_LOOKS:
        m, growth = design.m, design.growth
    knobs = (TOLERANCE, BATCH._replace(default=m), GROWTH._replace(default=growth))
    return Topic("boundary", knobs, {ASYMMETRIC: False}, METHOD, "optimal_boundaries.md")


def _work(trial: TrialRun, most: float, m: int, growth: float, symmetric: bool, job: Job) -> OptimalBoundary:
    return optimal_boundary(trial, most, m, growth, symmetric=symmetric, progress=job.progress, cancelled=job.cancelled)


def _tell(result: OptimalBoundary, trial: TrialRun) -> None:
    kind = "symmetric boundary" if result.symmetric else "boundary"
    tell(
        f"**No {kind} reads less than {result.lower_bound:.2%} of the data** at these looks with mean |Δ| within "
        f"{result.tolerance:g}. The one found reads {result.usage:.2%}, with mean |Δ| {result.error:.3g}.",
        verdict_of(result.usage, trial),
    )
    if not result.interval:
        st.warning(
            "Here the best test is not a boundary: it also stops between its bounds. The page shows the boundary "
            "around it.",
            icon=":material/info:",
        )


def _figures(result: OptimalBoundary) -> None:
    captioned(
        figures.bounds(result),
        "boundary-bounds",
        "Bounds of z against the share of the data read. A test accepts above its upper line and rejects below its "
        "lower one. Thick: the best boundary. Thin: the best of each family at the same looks and tolerance. Bounds "
        "beyond the frame are drawn at its edge.",
    )
    captioned(
        figures.distances(result),
        "boundary-distances",
        "Data use of each boundary. No "
        + ("symmetric boundary" if result.symmetric else "boundary")
        + " can be to the left of the dashed line.",
    )
    st.dataframe(
        _rows(result),
        hide_index=True,
        key="boundary-table",
        column_config=FORMATS,
        placeholder="—",
        alt="Per boundary: its threshold and shape, error, data per step, distance from the lower bound, largest error",
    )


def _saves(result: OptimalBoundary, config: str | None) -> None:
    st.download_button(
        "Sampler config (TOML)" if config else "Boundary (TOML)",
        exports.sampler_config(result.design, config),
        FILE,
        "application/toml",
        key=f"download-{FILE}",
        icon=":material/download:",
        on_click="ignore",
        help="For `austerity run --design`. You can load it on the Design page.",
    )
    share.download_csv("Bounds as CSV", "bounds.csv", lambda: _columns(result))
    st.button(
        "Show it on the Design page",
        icon=":material/open_in_new:",
        on_click=choose_design,
        args=(result.design,),
        help="The Design page shows the error and data use of this boundary for every pair, and its table of looks.",
    )


def _rows(result: OptimalBoundary) -> list[dict[str, Any]]:
    """The best boundary, and the best of each family."""
    best = {"boundary": "best boundary", "ε": None, "α": None, "mean |Δ|": result.error, "data per step": result.usage}
    more = {"above the bound": result.best_excess, "largest |Δ|": result.largest}
    rows: list[dict[str, Any]] = [best | more]
    for rival in result.rivals:
        design = rival.design
        rows.append(
            {
                "boundary": rival.name,
                "ε": None if design is None else design.epsilon,
                "α": None if design is None else design.alpha,
                "mean |Δ|": rival.error,
                "data per step": rival.usage,
                "above the bound": result.excess(rival),
                "largest |Δ|": rival.largest,
            }
        )
    return rows


def _columns(result: OptimalBoundary) -> dict[str, Any]:
    pi, lower, upper = bounds_of(result.design)
    return {"share": pi, "lower": lower, "upper": upper}
