"""Page Design: the answer is the library's, stale answers are marked, what is exported reproduces it."""

from __future__ import annotations

import shlex
import threading
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.cli.main import main
from app.dashboard import cached
from app.dashboard.export import exports
from app.dashboard.pages import design, design_checks
from app.dashboard.pages.design_knobs import misfits
from app.dashboard.state.in_use import load_from
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.question import Question
from app.dashboard.state.source import Source
from designer import (
    BadInput,
    Cost,
    Design,
    Space,
    TrialRun,
    acceptance,
    bootstrap,
    cross_validate,
    frontier,
    search,
    worst_case,
)
from designer.engine.predict import predict
from designer.pairs.diagnostics import worst_tail_check
from designer.pairs.examples import EXAMPLES, example
from designer.rule.design import Predicted
from designer.search.annotate import evaluate, hardest_error
from designer.search.remarks import beside_exact
from designer.search.resample import halves
from samplers.config.assemble import build as built
from samplers.config.config import SamplerConfig
from tests.app.dashboard.driving import button, everything, figures, numbers, page, query, settled
from tests.serving import PATIENCE

SMALL = {"source": "stationary", "trial_n": "20000", "acceptance": "0.5", "pairs": "40", "seed": "1"}
TRIAL = TrialRun.at_stationarity(20_000, 0.5, 40, np.random.default_rng(1))


def metrics(found) -> dict[str, str]:
    return {metric.label: metric.value for metric in found.metric}


# --- the answer -------------------------------------------------------------------------------------------------------


def test_first_paint_answers_for_the_example():
    found, trial = page("design"), example("logistic")
    result = search(trial, 0.01)
    best = result.best
    step, band = predict(best, trial).step, bootstrap(np.random.default_rng(0), best, trial)
    text, shown = everything(found), metrics(found)
    assert shown["Upper limit"] == f"{result.limit:.3g}" and result.limit <= 0.01
    assert f"at most **{result.limit:.3g}** over all pairs of the chain with confidence 0.95" in text
    assert beside_exact(Cost(), best.n_data, result.usage, result.looks).sentence in text
    assert f"Read {best.m:,} data" in text and f"ε = {best.epsilon:.3g}" in text
    assert shown["Mean |Δ|"] == f"{step.mean_abs_delta:.3g}"
    assert shown["Data per step"] == f"{step.mean_usage:.2%}"
    assert shown["Worst error"] == f"{hardest_error(best, trial):.3g}"
    assert f"mean |Δ| {band.error.low:.3g} to {band.error.high:.3g}" in text
    assert "Stale" not in text


def test_the_worst_error_knows_the_skewness(monkeypatch):
    trial, best = example("logistic"), Design(100_000, 500, 0.05)
    skewed = TrialRun(trial.n_data, trial.mu, trial.sigma, trial.log_ratio, np.full(len(trial), 1.5))
    plain = hardest_error(best, TrialRun(trial.n_data, trial.mu, trial.sigma, trial.log_ratio))
    assert plain == pytest.approx(worst_case(best).error[0])
    assert hardest_error(best, skewed) == pytest.approx(evaluate(best, skewed, "metropolis").predicted.worst_error)
    assert hardest_error(best, skewed) > 1.02 * plain
    monkeypatch.setattr(cached, "hardest", lambda design, pairs, rule: None)
    cached.hardest_error.clear()
    assert metrics(page("design", **SMALL, tol="0.05"))["Worst error"] == "unknown"
    cached.hardest_error.clear()


def test_the_trade_off_holds_every_evaluated_design():
    found, result = page("design", **SMALL, tol="0.02"), search(TRIAL, 0.02)
    bad, good, tolerance, chosen = figures(found)[0]["data"]
    evaluated = result.evaluated
    assert numbers(bad["y"]) == pytest.approx(evaluated.limit[~evaluated.feasible])
    assert numbers(good["x"]) == pytest.approx(evaluated.usage[evaluated.feasible])
    assert tolerance["y"] == [0.02, 0.02]
    assert chosen["y"] == pytest.approx([result.limit]) and chosen["x"] == pytest.approx([result.usage])


def test_the_figure_of_the_pairs_holds_their_errors():
    found = page("design", **SMALL)
    step = acceptance(search(TRIAL, 0.01).best, TRIAL)
    above, below = figures(found)[1]["data"][:2]
    assert numbers(above["x"]) == pytest.approx(step.probability)
    assert numbers(above["y"]) == pytest.approx(step.delta)
    assert numbers(below["y"]) == pytest.approx(step.usage)


def test_a_link_brings_back_every_knob():
    link = SMALL | {
        "tol": "0.03",
        "criterion": "quantile",
        "q": "0.8",
        "mlow": "300",
        "mhigh": "4000",
        "alow": "0.6",
        "ahigh": "0.9",
        "elow": "0.001",
        "drule": "barker",
        "cost_look": "20",
    }
    found = page("design", **link)
    space = Space(300, 4000, (0.6, 0.9), (1.0,), (0.001, 0.5))
    options = {"space": space, "rule": "barker", "quantile": 0.8, "cost": Cost(0.0, 1.0, 20.0)}
    result = search(TRIAL, 0.03, "quantile", **options)
    assert metrics(found)["m"] == f"{result.best.m:,}"
    assert metrics(found)["ε"] == f"{result.best.epsilon:.3g}"
    assert f"Judged by quantile of |Δ|: {result.error:.3g}" in everything(found)


def test_the_answer_follows_the_knobs_after_a_quick_search(monkeypatch):
    monkeypatch.setattr(design, "LIVE", 60.0)
    found = page("design", **SMALL)
    settled(found.number_input(key="tol").set_value(0.05).run())
    assert "**Stale:**" not in everything(found)
    assert metrics(found)["ε"] == f"{search(TRIAL, 0.05).best.epsilon:.3g}"


def test_turned_knobs_make_the_answer_of_a_long_search_stale_until_the_next_one(monkeypatch):
    monkeypatch.setattr(design, "LIVE", 0.0)
    found = page("design", **SMALL)
    before = metrics(found)
    found.number_input(key="tol").set_value(0.05).run()
    assert "**Stale:**" in everything(found) and metrics(found) == before
    settled(button(found, "Find the design").click().run())
    assert "**Stale:**" not in everything(found)
    assert metrics(found)["ε"] == f"{search(TRIAL, 0.05).best.epsilon:.3g}"
    button(found, "Reset").click().run()
    assert found.number_input(key="tol").value == 0.01 and "**Stale:**" in everything(found)


def test_another_trial_run_is_searched_by_itself():
    found = page("design", **SMALL)
    found.session_state["source"] = Source("control")
    settled(found.run())
    assert metrics(found)["ε"] == f"{search(example('control'), 0.01).best.epsilon:.3g}"


def test_infeasible_says_why_and_what_helps():
    found = page("design", **SMALL, tol="0.0001", mhigh="1000", elow="0.05")
    text = everything(found)
    assert "No design is feasible" in text and "the smallest found is" in text
    assert any("tol=0.0001" in code.value for code in found.code)  # the link
    helps = [b.label for b in found.button if b.key and b.key.startswith("relax-")]
    assert any("Raise the tolerance" in label for label in helps)
    settled(button(found, "Allow ε down").click().run())
    space = Space(None, 1000, epsilon=(1e-6, 0.5))
    assert metrics(found)["ε"] == f"{search(TRIAL, 0.0001, space=space).best.epsilon:.3g}"
    assert found.number_input(key="elow").value == 1e-6


def test_bad_ranges_are_told_and_the_rest_of_the_page_stays():
    found = page("design", **SMALL, mlow="5000", mhigh="100", alow="0.9", ahigh="0.6")
    text = everything(found)
    assert "Mini-batch size m: “from” must not exceed “to”, but 5,000 > 100" in text and "m_high" not in text
    assert "Shape of the bounds α: “from” must not exceed “to”, but 0.9 > 0.6" in text
    assert button(found, "Find the design").disabled


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(m_high=100), "to: 100 is below 500, the default of “from” for N = 20,000"),
        (Question(m_low=30_000), "from: 30,000 is more than the N = 20,000 data"),
        (Question(epsilon=(0.1, 0.01)), "Threshold ε: “from” must not exceed “to”, but 0.1 > 0.01"),
        (Question(growth=()), "Growth of the looks: choose at least one"),
        (Question(cost=(1.0, 0.0, 0.0)), "the cost per datum or per look must be above 0"),
    ],
)
def test_what_does_not_fit_is_told_in_the_words_of_the_page(question, words):
    (told,) = misfits(question, 20_000)
    assert words in told and "_" not in told
    with pytest.raises(BadInput):  # nothing is refused that the library would take
        search(TRIAL, question.tolerance, question.criterion, **question.options())
    assert not list(misfits(Question(m_low=100, m_high=100), 20_000))


def test_a_bad_range_leaves_the_last_answer_marked_stale():
    found = page("design", **SMALL)
    before = metrics(found)
    found.number_input(key="mhigh").set_value(100).run()
    text = everything(found)
    assert metrics(found) == before and "**Stale:**" in text and "Correct those marked in red" in text
    assert "the default of “from”" in text


def test_a_link_with_somebody_elses_file_says_so():
    assert "upload that file" in everything(page("design", source="upload", digest="cd" * 32))


def test_looks_are_those_of_the_pairs_by_any_criterion():
    found = page("design", **SMALL, tol="0.05", criterion="worst-case")
    best = search(TRIAL, 0.05, "worst-case").best
    assert metrics(found)["Looks per step"] == f"{acceptance(best, TRIAL).looks.mean():.3g}"
    assert "the criterion worst-case judges the hardest decision" in everything(found)  # no fresh pairs are needed
    assert not [toggle for toggle in found.toggle if toggle.key == "folds"]


def test_the_normal_approximation_is_judged_under_the_answer():
    best = search(example("logistic"), 0.01).best
    check = worst_tail_check(example("logistic"), best.m, best.epsilon)
    assert check.sentence in everything(page("design"))
    assert "Normal approximation: not checked" in everything(page("design", **SMALL))


def test_pairs_too_skewed_for_any_design_are_refused_with_what_to_do():
    wild = TrialRun(20_000, TRIAL.mu, TRIAL.sigma, skew=np.linspace(0, 60, 40))
    found = AppTest.from_string("from app.dashboard.pages import design; design.show()", default_timeout=PATIENCE)
    found.session_state["source"] = Source("upload", digest=wild.digest)
    found.session_state["remembered-runs"] = {wild.digest: Loaded("wild", wild, "made up")}
    settled(found.run())
    (told,) = [error.value for error in found.error]
    assert told.startswith("**No design is feasible:**")
    assert "read the heaviest rows in every decision (model.heavy): the pairs' skewness is up to 60" in told


def test_a_loaded_design_is_shown_beside_what_the_search_found():
    found = page("design", **SMALL, tol="0.02", chosen="20000,800,0.0123456789,0.65,1.0")
    result = search(TRIAL, 0.02)
    (mark,) = [trace for trace in figures(found)[0]["data"] if trace["name"] == "found by the search"]
    assert mark["x"] == pytest.approx([result.usage]) and mark["y"] == pytest.approx([result.limit])
    assert "the hexagon is the cheapest within the tolerance" in everything(found)


# --- checks -----------------------------------------------------------------------------------------------------------


def test_cross_validation_is_the_librarys():
    found = page("design", **SMALL, tol="0.02", folds="true")
    want = cross_validate(np.random.default_rng(0), TRIAL, 0.02, folds=5)
    assert f"**{want.test_error:.3g} ± {want.test_error_se:.2g}**" in everything(found)
    (table,) = [t.value for t in found.dataframe if "part" in t.value]
    assert list(table["mean |Δ|, fresh"]) == pytest.approx([fold.test_error for fold in want.folds])


def test_folds_are_judged_by_the_criterion():
    found = page("design", **SMALL, tol="0.05", criterion="quantile", q="0.8", folds="true")
    want = cross_validate(np.random.default_rng(0), TRIAL, 0.05, "quantile", folds=5, quantile=0.8)
    assert f"have a quantile of |Δ| of **{want.test_error:.3g}" in everything(found)
    (table,) = [t.value for t in found.dataframe if "part" in t.value]
    assert list(table["quantile of |Δ|, fresh"]) == pytest.approx([fold.test_error for fold in want.folds])


def test_the_frontier_is_the_librarys():
    found = page("design", **SMALL, tol="0.03", frontier="true")
    train, test = halves(np.random.default_rng(0), TRIAL)
    points = frontier(train, [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1], test, fixed_m=500)
    drawn = figures(found)[2]["data"]
    average = [point for point in points if point.criterion == "average"]
    assert drawn[1]["y"] == pytest.approx([point.test_error for point in average])
    assert drawn[2]["y"] == pytest.approx([point.test_usage for point in average])
    star = acceptance(search(TRIAL, 0.03).best, test)
    assert [drawn[-2]["y"][0], drawn[-1]["y"][0]] == pytest.approx([star.mean_abs_delta, star.mean_usage])


def test_a_cancelled_check_can_be_run_again(monkeypatch):
    work, started = design_checks._folds, threading.Event()

    def held_once(asked, trial, job):
        if not started.is_set():
            started.set()
            while not job.cancelled():
                time.sleep(0.01)
        return work(asked, trial, job)

    monkeypatch.setattr(design_checks, "_folds", held_once)  # or it might be quicker than the cancelling
    found = page("design", **SMALL)
    found.session_state["folds"] = True
    found.run()
    assert started.wait(PATIENCE)
    found.session_state["job-folds"].cancel()
    settled(found).run()
    assert "hold:**" not in everything(found) and "holds:**" not in everything(found)
    settled(button(found, "Cancelled").click().run())
    want = cross_validate(np.random.default_rng(0), TRIAL, 0.01, folds=5)
    assert ("**It holds:**" if want.holds else "**It does not hold:**") in everything(found)


def test_pinned_designs_are_compared_on_the_pairs():
    pin = Design(20_000, 1000, 0.02, 0.6)
    found = page("design", **SMALL, pin="20000,1000,0.02,0.6,1.0")
    (table,) = [t.value for t in found.dataframe if "largest |Δ|" in t.value]
    step = acceptance(pin, TRIAL)
    assert table["mean |Δ|"][1] == pytest.approx(step.mean_abs_delta)
    assert table["data per step"][1] == pytest.approx(step.mean_usage)
    assert figures(found)[0]["data"][-1]["x"] == pytest.approx([step.mean_usage])


def test_pins_for_other_data_are_left_out():
    assert "for N = 777" in everything(page("design", **SMALL, pin="777,100,0.02,0.5,1.0"))


# --- export and back --------------------------------------------------------------------------------------------------


def test_an_exported_design_can_be_loaded_back():
    given = Design(20_000, 800, 0.0123456789, 0.65)
    step = acceptance(given, TRIAL)
    for name, text in (("design.toml", given.to_toml()), ("design.json", given.to_json())):
        found = page("design", **SMALL)
        found.file_uploader[0].upload(name, text.encode(), "text/plain")
        settled(found.run())
        assert "The design that you loaded" in everything(found)
        assert metrics(found)["Mean |Δ|"] == f"{step.mean_abs_delta:.3g}"
        assert query(found, "chosen") == "20000,800,0.0123456789,0.65,1.0"
    button(found, "Back to the search's design").click().run()
    assert metrics(found)["ε"] == f"{search(TRIAL, 0.01).best.epsilon:.3g}"


def test_a_link_carries_a_loaded_design():
    found = page("design", **SMALL, chosen="20000,800,0.0123456789,0.65,1.0")
    assert metrics(found)["ε"] == "0.0123"
    command = next(code.value for code in found.code if code.value.startswith("austerity"))
    assert "--epsilon 0.0123456789" in command


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"m = [", "broken TOML"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (Design(50, 5, 0.1).to_toml().encode(), "is for N = 50"),
    ],
)
def test_what_cannot_be_loaded_is_told_and_the_answer_stays(content, reason):
    found = page("design", **SMALL)
    before = metrics(found)
    found.file_uploader[0].upload("design.toml", content, "text/plain")
    found.run()
    assert reason in everything(found) and metrics(found) == before


QUESTIONS = [
    (Question(0.02), Source("logistic")),
    (Question(0.0123456789012345, "quantile", quantile=0.9, rule="barker"), Source("stationary", 30_000, 0.4, 50, 2)),
    (
        Question(0.03, "average", 200, 5000, (0.55, 0.8), (1e-4, 0.3), (1.0, 1.5), (1.0, 2.0, 30.0)),
        Source("stationary", 30_000, 0.4, 400, 0),
    ),
    (Question(0.05, "fixed-m", fixed_m=700), Source("upload")),
    (Question(0.05, "worst-case"), Source("stationary", 30_000, 0.3, 400, 0)),
    (Question(0.05), Source("stationary", 30_000, 0.3, 400, 0, 0.5)),
]


@pytest.mark.parametrize(("question", "source"), QUESTIONS)
def test_the_reproducing_lines_reproduce(question, source, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    trial = example(source.kind) if source.kind == "logistic" else TRIAL
    if source.kind == "stationary":
        numbers_of = (source.n_data, source.acceptance, source.pairs, np.random.default_rng(source.seed), source.spread)
        trial = TrialRun.at_stationarity(*numbers_of)
    best = search(trial, question.tolerance, question.criterion, **question.options()).best
    (tmp_path / exports.trial_name(trial)).write_text(exports.trial_csv(trial))
    command = shlex.split(exports.command_line(question, source, trial))
    assert command[0] == "austerity" and main(command[1:]) == 0
    assert Design.from_toml((tmp_path / "design.toml").read_text()) == best
    names: dict[str, object] = {}
    capsys.readouterr()
    exec(exports.python_lines(question, source, trial, best), names)
    assert names["result"].best == best
    comment = exports.python_lines(question, source, trial, best).splitlines()[-1].removeprefix("# ")
    assert eval(comment, {"Design": Design}) == best.without_notes


def test_the_lines_of_a_given_design_reproduce(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = Design(20_000, 800, 0.0123456789, 0.65, 1.5)
    (tmp_path / exports.trial_name(TRIAL)).write_text(exports.trial_csv(TRIAL))
    command, script = exports.given_lines(given, Question(rule="barker"), Source(**_as_source()), TRIAL)
    assert main([*shlex.split(command)[1:], "--json"]) == 0
    want = acceptance(given, TRIAL, "barker")
    assert repr(want.mean_abs_delta) in capsys.readouterr().out
    exec(script, {})
    assert capsys.readouterr().out == f"{want.mean_abs_delta} {want.mean_usage}\n"


def _as_source() -> dict[str, object]:
    return {"kind": "stationary", "n_data": 20_000, "acceptance": 0.5, "pairs": 40, "seed": 1}


def test_the_table_of_designs_is_the_command_lines(tmp_path):
    (tmp_path / "trial.csv").write_text(exports.trial_csv(TRIAL))
    table = tmp_path / "table.csv"
    assert main(["design", str(tmp_path / "trial.csv"), "--tolerance", "0.02", "--table", str(table)]) == 0
    assert exports.evaluated_csv(search(TRIAL, 0.02).evaluated) == table.read_text()


@pytest.mark.parametrize("head", ["", '[test]\nkind = "exact"\n\n', Design(50, 5, 0.1).to_toml() + "\n"])
def test_a_whole_config_holds_the_design(head):
    best = search(TRIAL, 0.05).best
    config = head + '[data]\npath = "data.npz"\n\n[model]\nkind = "logistic"\ncontrol = 1\n\n[run]\ndraws = 7\n'
    whole = SamplerConfig.from_toml(exports.sampler_config(best, config))
    assert whole.test == best and whole.run.draws == 7 and whole.model.control == 1
    assert Design.from_text(exports.sampler_config(best, config)) == best
    assert exports.sampler_config(best, None) == best.to_toml()


def test_the_source_of_the_prediction_is_shown():
    assert "Source of these numbers: normal theory with skewness." in everything(page("design"))
    assert "Source of these numbers: normal theory." in everything(page("design", **SMALL))


@pytest.mark.parametrize("name", EXAMPLES)
def test_exports_of_bundled_examples_are_whole_configs(name):
    """`austerity run` takes them as they are, with what the design promises, for as many data as the chain has."""
    run = load_from(Source(name))
    design = Design(run.trial.n_data, 500, 0.05, predicted=Predicted(mean_usage=0.5))
    whole = SamplerConfig.from_toml(exports.sampler_config(design, run.config))
    assert whole.test == design
    assert built(whole).model.n_data == run.trial.n_data
    assert whole.data.source in ("tall-logistic", "audio")


def test_an_answer_that_another_page_has_found_since_stays_in_use():
    """The search of this page has ended long ago; its outcome is used once."""
    found = page("design", **SMALL, tol="0.05")
    answers = found.session_state["belongings"].answers
    other = answers[TRIAL.digest]._replace(seconds=99.0)
    answers[TRIAL.digest] = other
    settled(found.run())
    assert answers[TRIAL.digest] is other
    del answers[TRIAL.digest]  # forgotten, as the oldest of many
    settled(found.run())
    assert answers[TRIAL.digest].question == other.question
