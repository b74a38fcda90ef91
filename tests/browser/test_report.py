"""The HTML report in a browser."""

from __future__ import annotations

import re

import pytest

from app.dashboard.export import report
from app.dashboard.jobs.job_queue import Job
from app.dashboard.state.question import Question, answer_question
from tests.app.dashboard.export.test_report import NOW, RUN, SOURCE, TRIAL
from tests.browser.driving import holds
from tests.serving import PATIENCE


@pytest.mark.parametrize("width", [390, 1200])
def test_figures_stay_in_their_columns(browser, tmp_path, width):
    answer = answer_question(Question(0.02), TRIAL, Job("x", lambda job: None))
    file = tmp_path / "report.html"
    file.write_text(report.html(answer.result.best, answer, RUN, SOURCE, NOW), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(file.as_uri())
    holds(page, "document.querySelectorAll('.main-svg').length >= 5")
    fits = "f => 0 < f.querySelector('.main-svg').clientWidth"
    fits += " && f.querySelector('.main-svg').clientWidth <= f.clientWidth + 1"
    holds(page, f"[...document.querySelectorAll('figure')].filter({fits}).length == 5")
    assert page.locator("figure").count() == 5
    page.close()


def test_it_prints_on_a_few_pages_of_paper(browser, tmp_path):
    answer = answer_question(Question(0.02), TRIAL, Job("x", lambda job: None))
    file = tmp_path / "report.html"
    file.write_text(report.html(answer.result.best, answer, RUN, SOURCE, NOW), encoding="utf-8")
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(file.as_uri())
    holds(page, "document.querySelectorAll('.main-svg').length >= 5")
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF") and 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 12
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # of A4, within its margins
    holds(page, "document.scrollingElement.scrollWidth <= 718")
    page.close()
