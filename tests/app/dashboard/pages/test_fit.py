"""Page Fit: what it shows is what the library says; uploads, live figures, files and lines that reproduce it."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

import austerity as au
from app.cli.main import build_parser
from app.dashboard.jobs.fitting import column_names, run_fit
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.fit import command_line, python_lines
from designer.core.errors import BadInput
from samplers.fit.examples import example_csv, example_table
from tests.app.dashboard.driving import button, everything, figures, numbers, open_page, settled, trace

TABLE = "\n".join(example_csv("wages").splitlines()[:2001]).encode()


def with_fit(page):
    button(page, "Fit it").click().run()
    return settled(page)


@pytest.fixture(scope="module")
def fitted():
    """The page after the fit of an example, on part of the rows and beside IRLS on all of them."""
    page = settled(open_page("fit", table="clicks"))
    page.select_slider(key="fit-tolerance-clicks").set_value(1e-2)
    page.multiselect(key="fit-against-clicks").set_value(["batch"])
    return with_fit(page)


@pytest.fixture(scope="module")
def answer():
    options = {"positive": "yes", "tolerance": 1e-2, "against": ["batch"]}
    return au.fit_table("clicked ~ position + seen + device", example_table("clicks"), "logistic", **options)


def test_a_link_opens_an_example_with_its_answer():
    page = settled(open_page("fit", table="claims"))
    assert page.selectbox[0].value == "claims"
    assert page.text_input(key="fit-formula-claims").value == "claims ~ age + power + offset(log(exposure))"
    assert "power" in [*page.dataframe[0].value["name"]] and "earlier question" not in everything(page)


def test_an_answer_stays_when_the_page_is_loaded_again_and_no_example_replaces_that_of_an_own_table():
    page = settled(open_page("fit", table="claims"))
    page.session_state["job-fit"] = done = Job("mine", lambda job: None)
    done.cancel()
    del page.session_state["fit-opened"]  # as after F5
    page.run()
    assert page.session_state["job-fit"] is done
    page.session_state["fit-opened"] = {None}
    page.selectbox[0].set_value("wages").run()
    assert page.session_state["job-fit"] is done
    page.session_state["fit-opened"] = {"claims"}
    page.run()
    assert page.session_state["job-fit"] is not done


def test_other_pages_can_name_the_job_and_lead_to_it(fitted):
    assert fitted.session_state["job-fit"].label == "Fitting"


def test_the_answer_is_the_library_s(fitted, answer):
    said = everything(fitted).replace("\\", "")
    for sentence in (answer.sentence, answer.why, answer.against):
        assert sentence in said
    shown = fitted.dataframe[0].value
    assert [*shown["name"]] == list(answer.names)
    np.testing.assert_allclose(shown["estimate"], answer.coefficients)
    np.testing.assert_allclose(shown["se"], answer.errors.se)
    np.testing.assert_allclose(shown["off"], answer.errors.off)


def test_the_figures_show_the_batches_and_the_test(fitted, answer):
    growth, looks, beside = figures(fitted)
    np.testing.assert_array_equal(numbers(trace(growth, "rows of the batch")["y"]), answer.trace.n)
    statistic = numbers(trace(looks, "statistic")["y"])
    assert statistic.size == len(answer.looks)
    inside = np.abs([look.statistic for look in answer.looks]) < 5 * answer.looks[0].bound
    np.testing.assert_allclose(statistic[inside], np.array([look.statistic for look in answer.looks])[inside])
    assert {one["name"] for one in beside["data"]} == {"sequential tests", "IRLS on all rows"}


def test_the_lines_reproduce_it(fitted, answer):
    _, command, script = (block.value for block in fitted.code)
    options = build_parser().parse_args(shlex.split(command)[1:])
    assert (options.source, options.loss, options.positive, options.tolerance) == (
        "clicks.csv",
        "logistic",
        "yes",
        0.01,
    )
    config = au.FitConfig.of("clicks.csv", options.formula, loss="logistic", positive="yes", tolerance=0.01)
    assert f"au.fit_table('{answer.formula}', 'clicks.csv', 'logistic'" in script
    assert [b.proto.label for b in fitted.get("download_button")][1:] == ["Config", "Report", "Coefficients"]
    assert "--tolerance 0.01" in command_line(config) and "tolerance=0.01" in python_lines(config)


def test_an_answer_to_an_earlier_question_says_so(fitted):
    assert "earlier question" not in everything(fitted)
    fitted.text_input(key="fit-formula-clicks").set_value("clicked ~ seen").run()
    assert "earlier question" in everything(fitted)
    assert "position" in [*fitted.dataframe[0].value["name"]]


def test_an_upload_with_columns(tmp_path):
    page = open_page("fit", table="upload")
    assert "Upload a table" in everything(page)
    page.file_uploader[0].upload("my pay.csv", TABLE, "text/csv").run()
    assert "my pay.csv: 4 columns (wage, age, school, region)" in everything(page)
    (against,) = [one for one in page.multiselect if one.label == "Compare with"]
    against.set_value([])
    (tolerance,) = page.select_slider
    tolerance.set_value(1e-2)
    with_fit(page)
    (tmp_path / "my pay.csv").write_bytes(TABLE)
    fit = au.fit_table("wage ~ age + school + region", tmp_path / "my pay.csv", tolerance=1e-2)
    np.testing.assert_allclose(page.dataframe[0].value["estimate"], fit.coefficients)
    assert "austerity fit 'my pay.csv'" in page.code[1].value
    page.selectbox[1].set_value("poisson").run()
    with_fit(page)
    assert "the loss poisson needs whole numbers" in page.error[0].value and "/" not in page.error[0].value


def test_a_bad_formula_is_one_line_in_place():
    page = settled(open_page("fit", table="wages"))
    page.text_input(key="fit-formula-wages").set_value("wage ~ nothing").run()
    with_fit(page)
    assert "no column 'nothing'" in page.error[0].value
    page.text_input(key="fit-formula-wages").set_value("").run()
    assert "fit.formula" in page.error[0].value


def test_live_figures_come_from_the_looks_so_far(answer):
    page = settled(open_page("fit", table="clicks"))
    job = Job("key", lambda job: None)  # it never starts
    page.session_state["job-fit"], page.session_state["fit-looks"] = job, list(answer.looks[:10])
    page.run()
    growth, looks = figures(page)
    assert numbers(trace(growth, "rows of the batch")["y"])[-1] == answer.looks[9].n
    assert numbers(trace(looks, "statistic")["y"]).size == 10
    button(page, "Cancel").click()
    job.cancel()
    assert "Cancelled before the first update" in everything(page.run())


def test_the_job_hides_its_folder_and_can_be_cancelled():
    config = au.FitConfig.of("wages.csv", "wage ~ pay")
    with pytest.raises(BadInput, match="no column 'pay'") as refusal:
        run_fit(Job("key", lambda job: None), config, TABLE, [])
    assert "/" not in str(refusal.value)
    assert column_names("wages.csv", TABLE) == ("wage", "age", "school", "region")
    with pytest.raises(BadInput) as refusal:
        column_names("broken.parquet", b"nothing")
    assert "broken.parquet" in str(refusal.value) and "/" not in str(refusal.value)
