"""Page: Explore. Error and data use of one test, how it runs, and pinned designs to compare."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.dashboard import cached
from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages import step_error
from app.dashboard.state import share
from app.dashboard.state.in_use import loaded_run
from app.dashboard.state.pins import MOST_PINS, pin, pinned_designs, unpin
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.knobs import Knob, knob, knob_values, test_knobs, turn_to
from app.dashboard.widgets.strip import MOST_PAIRS, percent, verdict_of
from app.dashboard.widgets.use_design import use_button
from app.figures import explore as figures
from designer import plotdata
from designer.check.simulate import Simulation
from designer.engine.look_grid import EXACT_LOOKS
from designer.engine.walk import Stopping
from designer.rule.design import Design

PATHS = 12  # drawn at once
ROWS = 60  # of the table on the page; the file has all rows
MOST_SETS = 10**6  # of random numbers for them
SIMULATION = "explore-simulation"

MU_STD = Knob(
    "mu",
    "Standardised mean μ_std",
    "How far the mean of the data lies from the threshold, in units of its sampling noise: "
    "$(\\mu-\\mu_0)\\sqrt{N-1}/\\sigma$. At 0 the decision is a toss-up, and the test is slow and often wrong; far "
    "from 0 the first look decides. If it is positive, the right decision is to accept.",
    -1e9,
    1e9,
    1.0,
    [-100, -50, -20, -10, -5, -3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 20, 50, 100, 200, 500, 1000],
    "%.6g",
)
REPEATS = Knob(
    "reps",
    "Repeats of the simulation",
    "How often the real test runs at each point. Four times as many repeats halve the error bars.",
    plotdata.FEWEST_REPEATS,
    100_000,
    2_000,
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000],
)
FORMULAS = r"""The statistic at look $j$, after $n_j$ data, is a random walk in the information $t_j$:

$$z_j\sqrt{t_j} = \mu_{\rm std}\,t_j + W(t_j),\quad t_j = \frac{\pi_j}{1-\pi_j},\quad \pi_j = n_j/N$$

The test stops at the first look with $|z_j| > G_j$. At the last look it has read all data, and its decision is exact.

$$G_j = \Phi^{-1}(1-\varepsilon)\;\pi_j^{\,0.5-\alpha}$$

Error and data use (K14 Eqns 18 and 19), with $j'$ the look at which the test stops:

$$\mathcal{E}(\mu_{\rm std}) = P(j' < J,\ \text{wrong side}),\qquad \bar\pi(\mu_{\rm std}) = E[\pi_{j'}]$$
"""


def show() -> None:
    """Draw the page."""
    st.title("Explore one test")
    st.caption(
        "To accept or reject a move, Metropolis–Hastings asks whether a mean over all N data lies above a threshold. "
        "The sequential test reads m data at a time and decides as soon as it is sure enough."
    )
    answer = answer_place()
    left, right = st.columns([2, 3], gap="large")
    with left:
        design = test_knobs()
        use_button(design)
        st.divider()
        simulated = st.toggle(
            "Check by simulation",
            key="sim",
            bind="query-params",
            persist_state="session",
            help="Runs the real test, with Student's t on samples without replacement, and draws the results.",
        )
        repeats = int(knob(REPEATS) if simulated else REPEATS.default)
        link = st.container()
    pinned, pins = pinned_designs(), st.container()
    st.header("Watch it run")
    beside, picture = st.columns([2, 3], gap="large")
    with beside:
        mu_std, runs = knob(MU_STD), _set_of_runs()
    with answer:
        _answer(design)
    with right:
        _curves(design, pinned, mu_std, repeats if simulated else None)
    with pins:
        _pins(design, pinned)
    _run(design, mu_std, runs, beside, picture)
    of_step = step_error.part(design)
    values = knob_values(design) | {"mu": mu_std, "paths": runs, "sim": simulated, "reps": repeats}
    values |= {"table": True} if st.session_state["table"] else {}
    with link:
        share.copy_link(values | of_step | share.session_values())


def _answer(design: Design) -> None:
    summary = cached.summary(design)
    looks = "1 look" if summary.looks == 1 else f"{summary.looks:,} looks"
    st.markdown(
        f"## N = {design.n_data:,}, m = {design.m:,}, ε = {design.epsilon:g}{_shape(design)}: {looks}, "
        f"worst error {_error(summary.worst_error)}, uses {_share(summary.worst_usage)} of the data at worst."
    )
    st.caption(
        f"The worst case is a toss-up (μ_std = 0); the easiest decisions read {_share(summary.first_share)} of the "
        f"data. The numerical error is below {summary.estimate:.1g}, for data whose mini-batch means are normal."
    )
    _on_these_pairs(design)


def _on_these_pairs(design: Design) -> None:
    """What the test does at the pairs of the trial run in use, if that is for as many data: most are no toss-ups."""
    run = loaded_run()
    if run is None or run.trial.n_data != design.n_data or len(run.trial) > MOST_PAIRS:
        return
    step = cached.steps(design.without_notes, run.trial.digest, "metropolis", run.trial)
    if not math.isfinite(step.mean_abs_delta):
        st.markdown(f"At the pairs of the trial run in use ({run.name}) its error is not known: {step.remark}.")
        return
    verdict = verdict_of(step.mean_usage, run.trial)
    worth = "" if verdict is None else f", which is {'' if verdict.worth else 'not '}worth it"
    st.markdown(
        f"**At the pairs of the trial run in use** ({run.name}) it reads **{percent(step.mean_usage)}** of the data "
        f"per step{worth}, and the acceptance probability is off by **{step.mean_abs_delta:.2g}** on average."
    )


def _curves(design: Design, pinned: Sequence[Design], mu_std: float, repeats: int | None) -> None:
    designs = list(dict.fromkeys([design, *pinned]))
    shown = plotdata.span(designs, mu_std)
    drawn = [(_name(each, design), cached.curve(each, shown.mu_std, plotdata.PLOT_ACCURACY)) for each in designs]
    simulation = None if repeats is None else _simulation(design, plotdata.simulated_at(shown), repeats)
    words = (
        f"Above: probability of a wrong decision, {_error(drawn[0][1].error[0])} at a toss-up and falling with the "
        f"distance from the threshold. Below: data use, from {_share(drawn[0][1].usage[0])} down to one mini-batch. "
        "Both are symmetric about 0. The dotted line is at the μ_std chosen below"
        + (", or at the left edge if the axis does not reach it." if shown.logarithmic else ".")
        + (" Error bars of the simulated points: one standard error." if simulation else "")
    )
    captioned(figures.curves(shown, drawn, abs(mu_std), simulation), "curves", words)
    one, two = st.columns(2)
    with one:
        share.download_csv("Curves as CSV", "curves.csv", lambda: _curve_columns(drawn, simulation))
    with two.popover("The formulas", icon=":material/function:"):
        st.markdown(FORMULAS)


def _curve_columns(drawn: Sequence[tuple[str, Any]], simulation: Simulation | None) -> dict[str, Any]:
    """Long form: one row per design and standardised mean, simulated ones last."""
    parts = [(name, curve.mu_std, curve.error, curve.usage) for name, curve in drawn]
    if simulation is not None:
        parts.append(("simulated", simulation.mu_std, simulation.error, simulation.usage))
    return {
        "design": [name for name, mu, *_ in parts for _ in mu],
        "mu_std": np.concatenate([mu for _, mu, _, _ in parts]),
        "error": np.concatenate([error for _, _, error, _ in parts]),
        "usage": np.concatenate([usage for _, _, _, usage in parts]),
    }


# --- simulation -------------------------------------------------------------------------------------------------------


def _simulation(design: Design, mu_std: tuple[float, ...], repeats: int) -> Simulation | None:
    """The simulated points of this design, once they are there; the first simulation starts by itself."""
    key = repr((design, mu_std, repeats))

    def work(job: Job) -> Simulation:
        rng = np.random.default_rng([repeats])
        return plotdata.simulate_for_picture(rng, design, mu_std, repeats, job.progress, job.cancelled)

    job = jobs.current(SIMULATION)
    if job is None:
        job = jobs.start(SIMULATION, key, work)
    if jobs.watch(SIMULATION, "Simulating") is None:
        return None
    if job.key != key:
        st.info("The test has changed since the simulation.", icon=":material/history:")
    simulation: Simulation | None = jobs.outcome_in_words(job) if job.key == key else None
    if simulation is None and st.button("Simulate this test", icon=":material/play_arrow:"):
        jobs.start(SIMULATION, key, work)
        st.rerun()
    return simulation


# --- pinned designs ---------------------------------------------------------------------------------------------------


def _pins(design: Design, pinned: Sequence[Design]) -> None:
    st.header("Pinned designs")
    st.button(
        "Pin this design",
        icon=":material/push_pin:",
        on_click=pin,
        args=(design,),
        disabled=design in pinned,
        help=f"Keeps its curves in the figure while you change the settings. At most {MOST_PINS}; then the "
        "oldest is unpinned.",
    )
    if not pinned:
        st.caption("None yet. Pin this design, change a setting, and compare the two.")
    for k, other in enumerate(pinned):
        _pin(k, other, st.container(border=True))


def _pin(k: int, design: Design, box: DeltaGenerator) -> None:
    summary = cached.summary(design)
    words, use, away = box.columns([6, 2, 2], vertical_alignment="center")
    words.markdown(
        f"**{_name(design)}**: {summary.looks:,} looks, worst error {_error(summary.worst_error)}, "
        f"at worst {_share(summary.worst_usage)} of the data"
    )
    use.button("Use this", key=f"use-{k}", width="stretch", on_click=turn_to, args=(design,))
    away.button("Unpin", key=f"unpin-{k}", width="stretch", on_click=unpin, args=(design,))


# --- how it runs ------------------------------------------------------------------------------------------------------


def _set_of_runs() -> int:
    """The seed of the runs drawn, so that a link shows the same runs."""
    left, right = st.columns([3, 2], vertical_alignment="bottom", gap="small")
    right.button("New runs", icon=":material/casino:", on_click=_new_runs, width="stretch")
    number = left.number_input(
        "Set of runs",
        0,
        MOST_SETS,
        0,
        key="paths",
        bind="query-params",
        persist_state="session",
        help="Seed of the runs drawn. The same number shows the same runs.",
    )
    return int(number)


def _new_runs() -> None:
    st.session_state["paths"] = secrets.randbelow(MOST_SETS)


def _run(design: Design, mu_std: float, seed: int, beside: DeltaGenerator, picture: DeltaGenerator) -> None:
    """Runs of the test, where it stops, and the table of looks, for a chosen standardised mean."""
    where = cached.stops(design, mu_std)
    logarithmic = plotdata.span([design]).logarithmic
    runs = plotdata.paths(np.random.default_rng([seed]), where, design, mu_std, PATHS)
    drawn = plotdata.some_of(where.n[:-1], plotdata.PATH_POINTS, logarithmic=logarithmic)
    figure = figures.run(
        where,
        drawn.tolist(),
        runs,
        plotdata.stop_bars(where, logarithmic=logarithmic),
        plotdata.z_range(where),
        logarithmic=logarithmic,
        accept_right=mu_std > 0,
    )
    table = plotdata.look_table(where, design, mu_std)
    wrong = sum(not path.right for path in runs)
    with beside:
        st.markdown(
            f"At μ_std = {mu_std:g} the test errs with probability **{_error(table.wrong_so_far[-1])}** "
            f"and reads all the data with probability **{_error(table.stop[-1])}**. "
            f"Of the {len(runs)} runs drawn, {wrong} {'is' if wrong == 1 else 'are'} wrong (orange)."
        )
    words = (
        f"Above: the statistic z of {len(runs)} runs, look by look, until it leaves the bounds. Upward triangles "
        "accept, downward ones reject; at the right edge all data are read. What lies beyond the frame is drawn at its "
        "edge. Below: the probability of stopping at each look."
    )
    with picture:
        captioned(figure, "run", words)
    _table(design, where, table)


def _table(design: Design, where: Stopping, table: plotdata.LookTable) -> None:
    box = st.expander("Look by look", key="table", bind="query-params", on_change="rerun")
    if not box.open:  # a table takes as long to draw as a figure
        return
    with box:
        index = plotdata.some_of(where.n, ROWS)
        rows = table.rows(index)
        st.dataframe(
            {
                "look": rows.look,
                "data n": rows.n,
                "share π": rows.share,
                "bound G": rows.bound,
                "tail ε_j": rows.tail,
                "P(stop)": rows.stop,
                "P(wrong)": rows.wrong,
                "stopped by then": rows.stopped,
                "wrong by then": rows.wrong_so_far,
            },
            hide_index=True,
            column_config={
                "data n": st.column_config.NumberColumn(format="localized"),
                "share π": st.column_config.NumberColumn(format="percent"),
                **{
                    name: st.column_config.NumberColumn(format="%.3g")
                    for name in ("bound G", "tail ε_j", "P(stop)", "P(wrong)", "stopped by then", "wrong by then")
                },
            },
            alt="Per look: data, share, bound, its tail probability, probabilities of stopping and of stopping wrongly",
        )
        notes = ["The last look has no bound: with all the data the decision is exact."]
        if index.size < where.n.size:
            notes.append(f"{index.size} of {where.n.size:,} rows are shown; the file has all of them.")
        if cached.summary(design).looks > EXACT_LOOKS:
            notes.append("Neighbouring looks are merged: a row stands for all looks since the row before.")
        st.caption(" ".join(notes))
        share.download_csv("All looks as CSV", "looks.csv", table._asdict)


# --- words ------------------------------------------------------------------------------------------------------------


def _name(design: Design, beside: Design | None = None) -> str:
    """A design in a few words; without N if it is the same as that of `beside`."""
    size = "" if beside is not None and beside.n_data == design.n_data else f"N = {design.n_data:,}, "
    return f"{size}m = {design.m:,}, ε = {design.epsilon:g}{_shape(design)}"


def _shape(design: Design) -> str:
    alpha = "" if design.alpha == 0.5 else f", α = {design.alpha:g}"
    return alpha + ("" if design.growth == 1 else f", growth {design.growth:g}")


def _share(value: float) -> str:
    """A share of the data: 63%, 0.05%, 2e-06."""
    return f"{value:.0%}" if value >= 0.1 else f"{value:.2%}" if value >= 1e-4 else f"{value:.1g}"


def _error(value: float) -> str:
    """A probability with two digits, unless it is negligible."""
    return f"{value:#.2g}" if value == 0 or value >= 1e-9 else "below 1e-9"
