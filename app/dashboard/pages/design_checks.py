"""Checks on the Design page: fresh pairs, the frontier of the criteria, and pinned designs."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from app.dashboard import cached
from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.state.pins import pinned_designs
from app.dashboard.state.question import Question
from app.dashboard.widgets.captioned import captioned
from app.figures import design as figures
from app.figures.design import Marked
from designer.pairs.trial_run import TrialRun
from designer.search.frontier import FrontierPoint
from designer.search.frontier import frontier as compute_frontier
from designer.search.resample import CrossValidation, cross_validate, halves

FOLDS = 5
TOLERANCES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
SHARES = {
    name: st.column_config.NumberColumn(format="percent")
    for name in ("data, seen", "data, fresh", "data per step", "worst data")
}
SEED = 0  # of every split, so that a link shows the same numbers


def fresh_pairs(asked: Question, trial: TrialRun) -> None:
    """Cross-validation: designs made without a fifth of the pairs, measured on that fifth."""
    st.header("Does it work on fresh pairs?")
    if asked.criterion == "worst-case":
        st.caption(
            "Nothing to check: the criterion worst-case judges the hardest decision (μ_std = 0), whose error does not "
            "depend on the pairs."
        )
        return
    if not st.toggle(
        f"Check it in {FOLDS} parts",
        key="folds",
        bind="query-params",
        persist_state="session",
        help="Cross-validation: search on all parts but one, then measure on the part left out. A design is tuned "
        "to the pairs it was made for; this shows its error on proposals it has not seen.",
    ):
        return
    if len(trial) < 2 * FOLDS:
        st.info(f"{len(trial)} pairs are too few for {FOLDS} parts; {2 * FOLDS} or more are needed.")
        return
    checked: CrossValidation | None = jobs.automatic(
        "folds", asked.key(trial), "Searching in parts", partial(_folds, asked, trial)
    )
    if checked is None:
        return
    if checked.test_error is None:
        st.error("No part has a feasible design.")
        return
    tell, verdict = (st.success, "It holds") if checked.holds else (st.error, "It does not hold")
    name = figures.ERRORS[asked.criterion]
    tell(
        f"**{verdict}:** on pairs they had not seen, designs for tolerance {asked.tolerance:g} have a {name} of "
        f"**{checked.test_error:.3g} ± {checked.test_error_se:.2g}**."
    )
    st.dataframe(
        [
            {
                "part": number,
                "m": fold.design.m if fold.design else None,
                "ε": fold.design.epsilon if fold.design else None,
                f"{name}, seen": fold.train_error,
                f"{name}, fresh": fold.test_error,
                "data, seen": fold.train_usage,
                "data, fresh": fold.test_usage,
            }
            for number, fold in enumerate(checked.folds, start=1)
        ],
        hide_index=True,
        column_config=SHARES,
        key="folds-table",
    )
    st.caption("The standard error assumes independent pairs; those of a slowly mixing chain contain less information.")


def frontier(mark: Marked, asked: Question, trial: TrialRun) -> None:
    """The data use of each criterion's design for many tolerances (K14 Fig. 6)."""
    st.header("What other tolerances would cost")
    if not st.toggle(
        "Compare the criteria",
        key="frontier",
        bind="query-params",
        persist_state="session",
        help="Average, fixed-m and worst-case designs for many tolerances, each made on a random half of the pairs and "
        "measured on the other half, as in K14 Fig. 6.",
    ):
        return
    if len(trial) < 4:
        st.info(f"{len(trial)} pairs are too few to split; 4 or more are needed.")
        return
    points: list[FrontierPoint] | None = jobs.automatic(
        "frontier", asked.key(trial), "Designing for many tolerances", partial(_frontier, asked, trial)
    )
    if points is None:
        return
    test = halves(np.random.default_rng(SEED), trial)[1]
    step = cached.steps(mark.design.without_notes, test.digest, asked.rule, test)
    shown = Marked("the design above", mark.design, step.mean_abs_delta, step.mean_usage)
    captioned(
        figures.frontier(points, shown),
        "frontier-figure",
        "Mean |Δ| of each criterion's design (above; on the dashed line it equals the tolerance) and its data use "
        "(below), both on the half of the pairs it has not seen. The worst-case design has a much smaller error than "
        "required, and reads more data. The star was made on all pairs.",
    )
    with st.expander("The numbers"):
        st.dataframe(
            [
                {
                    "criterion": point.criterion,
                    "target": point.tolerance,
                    "m": point.design.m if point.design else None,
                    "ε": point.design.epsilon if point.design else None,
                    "α": point.design.alpha if point.design else None,
                    "mean |Δ|, seen": point.train_error,
                    "limit": point.train_limit,
                    "mean |Δ|, fresh": point.test_error,
                    "data, seen": point.train_usage,
                    "data, fresh": point.test_usage,
                }
                for point in points
            ],
            hide_index=True,
            column_config=SHARES,
            key="frontier-table",
        )


def pinned(mark: Marked, asked: Question, trial: TrialRun) -> None:
    """The design in view and the pinned ones, on these pairs."""
    others = [design for design in pinned_designs() if design != mark.design.without_notes]
    if not others:
        return
    st.header("Your pinned designs")
    fitting = [design for design in others if design.n_data == trial.n_data]
    rows = []
    for name, design in [
        ("in view", mark.design.without_notes),
        *((f"pin {k}", d) for k, d in enumerate(fitting, start=1)),
    ]:
        step = cached.steps(design, trial.digest, asked.rule, trial)
        worst = cached.summary(design)
        rows.append(
            {
                "design": name,
                "m": design.m,
                "ε": design.epsilon,
                "α": design.alpha,
                "growth": design.growth,
                "mean |Δ|": step.mean_abs_delta,
                "data per step": step.mean_usage,
                "largest |Δ|": step.max_abs_delta,
                "worst error": cached.hardest_error(design, trial.digest, asked.rule, trial),
                "worst data": worst.worst_usage,
            }
        )
    st.dataframe(rows, hide_index=True, column_config=SHARES, key="pinned-table")
    st.caption("All numbers are for the trial run in use.")
    for design in others:
        if design not in fitting:
            st.caption(
                f"The pin m = {design.m:,}, ε = {design.epsilon:g} is not shown: it is for N = {design.n_data:,}."
            )


def _folds(asked: Question, trial: TrialRun, job: Job) -> CrossValidation:
    rng = np.random.default_rng(SEED)
    return cross_validate(rng, trial, asked.tolerance, asked.criterion, folds=FOLDS, **asked.options(job))


def _frontier(asked: Question, trial: TrialRun, job: Job) -> list[FrontierPoint]:
    train, test = halves(np.random.default_rng(SEED), trial)
    tolerances = sorted({*TOLERANCES, asked.tolerance})
    return compute_frontier(train, tolerances, test, **asked.options(job))
