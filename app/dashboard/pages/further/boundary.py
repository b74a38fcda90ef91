"""Topic: the best possible stopping boundary."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from app.dashboard.export import exports
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.further.parts import Topic, answered, below, tolerance
from app.dashboard.state import share
from app.dashboard.state.chosen import choose_design
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.knobs import Knob, knob
from app.figures import boundary as figures
from designer.further.optimal_boundary.boundary import bounds_of, optimal_boundary, smallest_batch
from designer.further.optimal_boundary.result import OptimalBoundary
from designer.pairs.trial_run import TrialRun

ASYMMETRIC = "bndasym"
FILE = "boundary.toml"
LOOKS = 50  # that the batch stands at first
METHOD = r"""
Let $U_i$ be the share of the data read for pair $i$. For signs $|s_i| \le 1$ and a price $\lambda \ge 0$, every test
with mean $|\Delta| \le \Delta^*$ reads at least

$$\min_{\text{all tests}} \Big\{ \overline{U_i} + \lambda\,\overline{s_i \Delta_i} \Big\} - \lambda \Delta^*,$$

because $|\Delta_i| \ge s_i \Delta_i$. The minimum is a Bayes problem over the drifts that your pairs meet, solved look
by look from the last one back. The largest of these lower bounds is shown; the test that solves its Bayes problem
has the best boundary. What is said of the boundary comes from the usual engine, which knows nothing of that. The lower
bound holds in the normal theory, for these pairs and looks, up to a numerical error of about $10^{-8}$.
"""

TOLERANCE = tolerance(
    "bndtol",
    "Largest mean |Δ|",
    "The error in the acceptance probability that you tolerate, on average over the pairs.",
)
BATCH = Knob(
    "bndm",
    "Batch size m",
    "Data read before the first look, and at every further one if looks do not grow. At most 400 looks. Lowering it "
    "gives more looks, which never cost data, but below a few hundred the normal theory is not to be trusted.",
    2,
    10**15,
    500,
    [100, 200, 300, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000],
)
GROWTH = Knob(
    "bndgrowth",
    "Growth of the looks",
    "1: equal batches. From 1.05 on: each look has so many times the data of the one before.",
    1.0,
    100.0,
    1.0,
    [1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0],
    "%.4g",
)

FORMATS = {
    **{name: st.column_config.NumberColumn(format="percent") for name in ("data per step", "above the bound")},
    **{name: st.column_config.NumberColumn(format="%.4g") for name in ("ε", "α", "mean |Δ|", "largest |Δ|")},
}


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write(
        "Pocock, O'Brien–Fleming and Wang–Tsiatis bounds have one or two knobs. How much could *any* boundary save "
        "at the same looks and the same tolerance?"
    )
    topic = _topic(run.trial.n_data)
    _, batch, _ = topic.knobs
    left, right = st.columns(2)
    with left:
        most, m = knob(TOLERANCE), int(knob(batch, most=run.trial.n_data - 1))
    with right:
        growth = knob(GROWTH)
        asymmetric = st.toggle(
            "Let the two bounds differ",
            key=ASYMMETRIC,
            bind="query-params",
            persist_state="session",
            help="A chain rejects more often than it accepts, so that quick rejections may pay more than quick "
            "acceptances. The error then falls on fewer pairs: look at the largest |Δ|.",
        )
    key = f"{run.trial.digest}-{most!r}-{m}-{growth!r}-{asymmetric}"
    work = partial(_work, run.trial, most, m, growth, not asymmetric)
    found: OptimalBoundary | None = answered(topic, key, "Searching among all boundaries", work)
    if found is not None:
        _tell(found)
    with below(topic, {TOLERANCE.key: most, BATCH.key: m, GROWTH.key: growth, ASYMMETRIC: asymmetric}):
        if found is not None:
            _saves(found, run.config)


def _topic(n_data: int) -> Topic:
    """The topic, with a batch that gives some 50 looks at first."""
    batch = BATCH._replace(default=smallest_batch(n_data, looks=LOOKS))
    return Topic("boundary", (TOLERANCE, batch, GROWTH), {ASYMMETRIC: False}, METHOD, "optimal_boundaries.md")


def _work(trial: TrialRun, most: float, m: int, growth: float, symmetric: bool, job: Job) -> OptimalBoundary:
    return optimal_boundary(trial, most, m, growth, symmetric=symmetric, progress=job.progress, cancelled=job.cancelled)


def _tell(found: OptimalBoundary) -> None:
    kind = "symmetric boundary" if found.symmetric else "boundary"
    st.success(
        f"**No {kind} reads less than {found.lower_bound:.2%} of the data** at these looks with mean |Δ| within "
        f"{found.tolerance:g}. The one found reads {found.usage:.2%}, with mean |Δ| {found.error:.4g}.",
        icon=":material/check_circle:",
    )
    if not found.interval:
        st.warning(
            "The best test of all is no boundary here: it also stops in between. Shown is the boundary around it.",
            icon=":material/info:",
        )
    captioned(
        figures.bounds(found),
        "boundary-bounds",
        "Bounds of z against the share of the data read: a test accepts above its upper line and rejects below its "
        "lower one. Thick: the best boundary. Thin: the best of each family at the same looks and tolerance.",
    )
    captioned(
        figures.distances(found),
        "boundary-distances",
        "Data read per step by each boundary. The dashed line is what no boundary can go below"
        + (" that is the same on both sides." if found.symmetric else "."),
    )
    st.dataframe(
        _rows(found),
        hide_index=True,
        key="boundary-table",
        column_config=FORMATS,
        placeholder="—",
        alt="Per boundary: its threshold and shape, error, data per step, distance from the lower bound, largest error",
    )


def _saves(found: OptimalBoundary, config: str | None) -> None:
    st.download_button(
        "Sampler config (TOML)" if config else "Boundary (TOML)",
        exports.sampler_config(found.design, config),
        FILE,
        "application/toml",
        key=f"download-{FILE}",
        icon=":material/download:",
        on_click="ignore",
        help="What `austerity run --design` reads. It can be loaded back on the page Design.",
    )
    share.download_csv("Bounds as CSV", "bounds.csv", lambda: _columns(found))
    st.button(
        "Show it on the page Design",
        icon=":material/open_in_new:",
        on_click=choose_design,
        args=(found.design,),
        help="The page Design then shows what this boundary does to every pair, and its table of looks.",
    )


def _rows(found: OptimalBoundary) -> list[dict[str, Any]]:
    """The best boundary and its rivals."""
    best = {"": "best boundary", "ε": None, "α": None, "mean |Δ|": found.error, "data per step": found.usage}
    more = {"above the bound": found.best_excess, "largest |Δ|": found.largest}
    rows: list[dict[str, Any]] = [best | more]
    for rival in found.rivals:
        design = rival.design
        rows.append(
            {
                "": rival.name,
                "ε": None if design is None else design.epsilon,
                "α": None if design is None else design.alpha,
                "mean |Δ|": rival.error,
                "data per step": rival.usage,
                "above the bound": found.excess(rival),
                "largest |Δ|": rival.largest,
            }
        )
    return rows


def _columns(found: OptimalBoundary) -> dict[str, Any]:
    pi, lower, upper = bounds_of(found.design)
    return {"share": pi, "lower": lower, "upper": upper}
