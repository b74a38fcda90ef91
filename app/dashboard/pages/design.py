"""Page: Design. The best test for the trial run in use: the search, its answer, checks and exports."""

from __future__ import annotations

import math
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.dashboard import cached
from app.dashboard.jobs import jobs
from app.dashboard.pages import design_checks, design_export, design_knobs
from app.dashboard.state import share
from app.dashboard.state.chosen import choose_design, chosen_design
from app.dashboard.state.current import last_answer, take_answer
from app.dashboard.state.in_use import run_in_use
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.pins import pin, pinned_designs, unpin
from app.dashboard.state.question import Question, SearchAnswer, answer_question
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.chrome import problems_in_words
from app.dashboard.widgets.strip import tell, verdict_on
from app.figures import design as figures
from app.figures.design import Marked
from designer.engine.bounds import one_look_bound
from designer.pairs.trial_run import TrialRun
from designer.plotdata import look_table, some_of
from designer.rule.design import Design
from designer.search.criteria import Cost
from designer.search.remarks import beside_exact

PATIENCE = 1.0  # seconds that the page waits for a search before it shows a progress bar instead
LIVE = 1.0  # seconds; after a search that took less, the next one begins as soon as a knob is turned
MOST_LOOKS = 200  # rows of the table of looks

FORMULA = (
    r"\min_{m,\varepsilon,\alpha}\; \overline{E_u[\bar\pi]} \quad\text{such that}\quad \overline{|\Delta|} \le \Delta^*"
)


def show() -> None:
    """Draw the page."""
    st.title("Design")
    st.markdown("Finds the sequential test that reads the least data with an acceptance error within your tolerance.")
    run = run_in_use()
    if run is None:
        return
    first = answer_place()
    left, right = st.columns([1, 2], gap="large")
    question: Question | None = None
    with left, problems_in_words():
        st.caption(f"Trial run in use — {run.line}")
        question = design_knobs.ask(run.trial)
    with left:
        with st.container(horizontal=True):
            now = st.button(
                "Find the design",
                icon=":material/search:",
                disabled=question is None,
                help="Search with the current knobs. Searches that take less than a second need no button: they "
                "follow the knobs.",
            )
            st.button("Reset to defaults", icon=":material/restart_alt:", on_click=design_knobs.reset)
        with problems_in_words():
            design_export.load_back(run)
    with right, problems_in_words():
        now = st.session_state.pop("search-now", False) or now
        with first:
            answer = _search(question, run.trial, now=now)
        if answer is not None:
            _tell(answer, question, run, first)
        elif question is None:
            st.info("No search has run yet. First correct the knobs marked in red.", icon=":material/tune:")


def _search(question: Question | None, trial: TrialRun, *, now: bool) -> SearchAnswer | None:
    """The answer of the last search on this trial run; starts a search if there was none.

    Without a valid question no search is started, and the last answer stays.
    """
    job = jobs.current("search")
    if question is not None:
        if now:
            choose_design(None)
        known = last_answer(trial)
        other = known is None or known.question != question
        live = _quick(trial) and job is not None and job.key != question.key(trial)
        new = job is None or not job.key.startswith(trial.digest)
        if now or (other and (live or new)):
            jobs.start("search", question.key(trial), partial(answer_question, question, trial)).wait(PATIENCE)
    ended = jobs.watch("search", "Searching")
    if ended is not None and ended.was_cancelled:
        st.info("The search was cancelled. **Find the design** starts it again.", icon=":material/cancel:")
    elif ended is not None and ended.key.startswith(trial.digest):
        outcome = jobs.outcome_in_words(ended)
        if outcome is not None and (not ended.taken or last_answer(trial) is None):
            take_answer(outcome)  # once: another page may have found another design since
        ended.taken = True
    return last_answer(trial)


def _quick(trial: TrialRun) -> bool:
    """Whether the last search for these pairs was so fast that the next one need not be asked for."""
    last = last_answer(trial)
    return last is not None and last.seconds < LIVE


def _tell(answer: SearchAnswer, question: Question | None, run: Loaded, first: DeltaGenerator) -> None:
    """All that is known of the design in view, which is the one that was loaded or the one that the search found.

    The answer itself goes to `first`, the top of the page.
    """
    with first:
        loaded = _loaded_design(run.trial)
        _tell_stale(answer, question)
    asked, design = answer.question, loaded or answer.result.best
    if design is None:
        _infeasible(answer, first)
        share.copy_link(_link_values(question or asked))
        return
    mark = _mark("in view", design, asked, run.trial, "in view")
    with first:
        _sentence(mark, asked, run.trial, given=loaded is not None)
    _metrics(mark, asked, run.trial)
    _normality(design, run.trial)
    _actions(design, question or asked)
    _pictures(mark, answer, run.trial)
    _looks(design)
    design_checks.fresh_pairs(asked, run.trial)
    design_checks.frontier(mark, asked, run.trial)
    design_checks.pinned(mark, asked, run.trial)
    design_export.offer(design, answer, run, given=loaded is not None)


def _tell_stale(answer: SearchAnswer, question: Question | None) -> None:
    if answer.question != question:
        since = (
            "the settings have changed since. Correct those marked in red."
            if question is None
            else "the settings have changed since. **Find the design** updates it."
        )
        st.warning(
            f"**Stale:** this is the answer for tolerance {answer.question.tolerance:g} ({answer.question.criterion}); "
            f"{since}",
            icon=":material/history:",
        )


def _loaded_design(trial: TrialRun) -> Design | None:
    """The design that was loaded, if it is for these data."""
    design = chosen_design()
    if design is not None and design.n_data != trial.n_data:
        st.warning(
            f"The loaded design is not shown: it is for N = {design.n_data:,}, and the trial run has "
            f"N = {trial.n_data:,}."
        )
        return None
    return design


def _mark(name: str, design: Design, asked: Question, trial: TrialRun, kind: str) -> Marked:
    """A design with its error and data use by the criterion."""
    how = asked.criterion, asked.rule, asked.quantile, asked.confidence
    judged = cached.judged(design.without_notes, trial.digest, *how, trial)
    return Marked(name, design, judged.error, judged.usage, kind, judged.limit)


def _infeasible(answer: SearchAnswer, first: DeltaGenerator) -> None:
    """Why there is no design, and buttons for what would help."""
    first.error(f"**No design is feasible:** {answer.result.reason}.", icon=":material/block:")
    if answer.advice:
        st.markdown("Any one of these helps:")
    for advice in answer.advice:
        st.button(
            advice.action,
            key=f"relax-{advice.knob}",
            icon=":material/tune:",
            on_click=design_knobs.relax,
            args=(answer.question, advice),
        )
        st.caption(advice.effect)
    figure = figures.trade_off(answer.result.evaluated, answer.question.tolerance, answer.question.criterion, [])
    captioned(
        figure,
        "trade-off",
        "Error against data use of every design that was evaluated. None lies below the dashed line, the tolerance.",
    )


def _sentence(mark: Marked, asked: Question, trial: TrialRun, *, given: bool) -> None:
    design, step = mark.design, cached.steps(mark.design.without_notes, trial.digest, asked.rule, trial)
    more = "as many again" if design.growth == 1 else f"until there are {design.growth:g} times as many"
    rule = (
        f"**Read {design.m:,} data. Decide once the p-value is below the bound of ε = {design.epsilon:.3g} "
        f"(α = {design.alpha:.3g}); otherwise read {more}.**"
    )
    if design.explicit:
        rule = f"**Read {design.m:,} data. Decide once z is beyond the bounds of the look; otherwise read {more}.**"
    elif design.epsilon == 0.5:  # every p-value is below
        rule = f"**Read {design.m:,} data and decide (ε = 0.5): no further look is needed.**"
    words = (
        f"{rule} On these {len(trial):,} pairs the acceptance probability is then off by **{step.mean_abs_delta:.3g}** "
        f"on average, and a step reads **{step.mean_usage:.1%}** of the data."
    )
    if given:
        st.info(f"The design that you loaded: {words}", icon=":material/file_open:")
        st.button("Back to the search's design", icon=":material/undo:", on_click=choose_design, args=(None,))
    else:
        tell(words, verdict_on(design, trial))
    _judged(mark, asked)
    _beside_exact(mark, asked, trial)


def _judged(mark: Marked, asked: Question) -> None:
    """The error that the criterion judges, and its upper limit over the pairs."""
    words = f"Judged by {figures.ERRORS[asked.criterion]}: {mark.error:.3g} on these pairs"
    if mark.limit is not None and mark.limit > mark.error:
        words += (
            f", at most **{mark.limit:.3g}** over all pairs of the chain with confidence {asked.confidence:g}; the "
            "tolerance holds for that limit"
        )
    st.caption(f"{words}. Tolerance: {asked.tolerance:g}.")


def _beside_exact(mark: Marked, asked: Question, trial: TrialRun) -> None:
    """What an exact chain would cost beside this design, and advice to run it where that is cheaper."""
    score = cached.judged(mark.design.without_notes, trial.digest, "average", asked.rule, asked.quantile, None, trial)
    beside = beside_exact(Cost(*asked.cost), trial.n_data, score.usage, score.looks, trial.n_heavy)
    (st.warning if beside.cheaper else st.caption)(beside.sentence)


def _source(design: Design, asked: Question, trial: TrialRun) -> None:
    """Where the numbers come from, and why some are missing."""
    st.caption(f"Source of these numbers: {cached.sources(design, trial.digest, asked.rule, trial)}.")
    step = cached.steps(design, trial.digest, asked.rule, trial)
    if step.remark is not None:
        st.warning(f"{step.remark}.", icon=":material/query_stats:")


def _normality(design: Design, trial: TrialRun) -> None:
    """Whether the normal theory can be trusted on these pairs."""
    check = cached.tails(trial.digest, design.m, design.epsilon, trial)
    if design.m == design.n_data:
        return  # reads all the data at once: exact
    bound = float(one_look_bound(design, trial).mean())
    if math.isfinite(bound):
        st.caption(f"Whatever the distribution of the data, mean |Δ| is at most {bound:.2g}: the test takes one look.")
        return
    if check is None:
        st.caption("Normal approximation: not checked, because this trial run does not record the skewness.")
        return
    words = f"Normal approximation at the most skewed pair, first look, constant bounds: {check.sentence}."
    if check.verdict in ("good", "fair"):
        st.caption(words)
    else:
        st.warning(
            f"{words} The numbers above may be wrong for such pairs. A larger mini-batch makes them more accurate (see "
            "**Where to search**); the **Trial run** page has more on such data.",
            icon=":material/query_stats:",
        )


def _metrics(mark: Marked, asked: Question, trial: TrialRun) -> None:
    design = mark.design.without_notes
    step = cached.steps(design, trial.digest, asked.rule, trial)
    band = cached.bands(design, trial.digest, asked.rule, trial)
    over_pairs = cached.judged(design, trial.digest, "average", asked.rule, asked.quantile, None, trial)
    worst = cached.summary(design)
    with st.container(horizontal=True):
        st.metric("m", f"{design.m:,}", help="Data read before each look, if mini-batches are equal.")
        if design.explicit:
            st.metric("Bounds", "by look", help="This design gives its bounds look by look: see the table of looks.")
        else:
            st.metric("ε", f"{design.epsilon:.3g}", help="Threshold of the p-value at each look.")
            st.metric("α", f"{design.alpha:.3g}", help="Shape of the bounds: 0.5 constant, 1 reluctant to stop early.")
        st.metric("Mean |Δ|", f"{step.mean_abs_delta:.3g}", help="Mean acceptance error, K14 Eqn 7.")
        if mark.limit is not None and mark.limit > mark.error:
            words = f"Upper limit of the {figures.ERRORS[asked.criterion]}, confidence {asked.confidence:g}."
            st.metric("Upper limit", f"{mark.limit:.3g}", help=words)
        st.metric("Data per step", f"{step.mean_usage:.2%}", help="Mean data use, K14 Eqn 35.")
        st.metric("Looks per step", f"{over_pairs.looks:.3g}", help="Expected number of looks, mean over the pairs.")
        hardest = cached.hardest_error(design, trial.digest, asked.rule, trial)
        st.metric(
            "Worst error",
            "unknown" if hardest is None else f"{hardest:.3g}",
            help="Of the hardest decision, μ_std = 0 (K14 Eqn 8), for the most skewed pair; unknown where the theory "
            "does not hold.",
        )
        st.metric("Worst data", f"{worst.worst_usage:.1%}", help="Data use of the hardest decision.")
    st.caption(
        f"95% bootstrap intervals over the pairs: mean |Δ| {band.error.low:.3g} to {band.error.high:.3g}, data use "
        f"{band.usage.low:.2%} to {band.usage.high:.2%}. Numerical error below "
        f"{max(step.estimate, worst.estimate):.0e}."
    )
    _source(design, asked, trial)
    point_estimate = asked.criterion in ("average", "fixed-m") and asked.confidence == 0.5
    warning = band.warning(asked.tolerance) if point_estimate else None
    if warning:
        st.warning(warning, icon=":material/group:")


def _actions(design: Design, question: Question) -> None:
    with st.container(horizontal=True):
        pinned = design.without_notes in pinned_designs()
        st.button(
            "Unpin this design" if pinned else "Pin this design",
            icon=":material/push_pin:",
            on_click=unpin if pinned else pin,
            args=(design,),
            disabled=design.explicit,
            help="Compare pinned designs below and on the Explore page; the link carries them. Only designs with an ε "
            "can be pinned, not those that give their bounds look by look.",
        )
        share.copy_link(_link_values(question))
        with st.popover("The formula", icon=":material/function:"):
            st.latex(FORMULA)
            st.markdown(
                "A bar is the mean over the pairs. $\\Delta$ is the acceptance error of one pair, $\\bar\\pi$ its data "
                "use, averaged over u (K14 Eqns 6, 7, 35). For each m and α the best ε is the largest feasible one."
            )


def _link_values(question: Question) -> dict[str, object]:
    """What a link to this page must carry."""
    usual = design_knobs.values(design_knobs.USUAL)
    turned = {key: value for key, value in design_knobs.values(question).items() if value != usual[key]}
    shown = {key: True for key in ("folds", "frontier") if st.session_state.get(key)}
    return {"tol": question.tolerance, "criterion": question.criterion, **turned, **shown, **share.session_values()}


def _pictures(mark: Marked, answer: SearchAnswer, trial: TrialRun) -> None:
    asked = answer.question
    st.header("What was tried")
    pins = [
        design for design in pinned_designs() if design.n_data == trial.n_data and design != mark.design.without_notes
    ]
    marks, best = [mark], answer.result.best
    cheapest = "the cheapest within the tolerance, by your cost of a step"
    star = f"the design in view: {cheapest}"
    if best is None:
        star = "the design that you loaded; the search found none within the tolerance"
    elif best.without_notes != mark.design.without_notes:
        marks.append(_mark("found by the search", best, asked, trial, "found"))
        star = f"the design that you loaded; the hexagon is {cheapest}"
    marks += [_mark(f"pin {number}", design, asked, trial, "pin") for number, design in enumerate(pins, start=1)]
    figure = figures.trade_off(answer.result.evaluated, asked.tolerance, asked.criterion, marks)
    captioned(
        figure,
        "trade-off",
        f"Error (its upper limit over the pairs) against data use of the {len(answer.result.evaluated):,} designs "
        "evaluated. Crosses are above the "
        f"tolerance (dashed), dots within it. The star is {star}. Diamonds are pinned designs.",
    )
    st.header("What it does to these pairs")
    step = cached.steps(mark.design.without_notes, trial.digest, asked.rule, trial)
    captioned(
        figures.pair_by_pair(step, trial),
        "pair-by-pair",
        "Above: the acceptance error Δ of each proposal. Below: its data use. "
        f"Largest |Δ|: {step.max_abs_delta:.3g}. Proposals that are almost certain to be rejected need less data and "
        "have little error.",
    )


def _looks(design: Design) -> None:
    with st.expander("Table of looks"):
        where = cached.stops(design.without_notes, 0.0)
        table = look_table(where, design, 0.0)
        index = some_of(table.n, MOST_LOOKS)
        shown = table.rows(index)
        st.dataframe(
            {
                "look": shown.look,
                "data": shown.n,
                "share": shown.share,
                **({"reject below": where.lower[index]} if design.explicit else {}),
                "bound G": shown.bound,
                "p-value": shown.tail,
                "stops here": shown.stop,
                "stopped by then": shown.stopped,
                "wrong by then": shown.wrong_so_far,
            },
            hide_index=True,
            key="looks",
            height=320,
        )
        st.caption(
            f"{len(shown.n):,} of {len(table.n):,} looks, for the hardest decision (μ_std = 0); easier ones stop "
            "earlier. The last look has all the data, so its decision is exact."
        )
