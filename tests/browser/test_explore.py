"""Explore by keyboard: knobs move the answer, the figure and the URL; a link brings it all back to somebody else."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from designer import Design, characteristics

CURVES = "() => document.querySelectorAll('.js-plotly-plot')[0]._fullData.map(trace => Array.from(trace.y))"


def sentence(screen):
    return screen.page.locator("h2").first.inner_text()


def query(screen):
    return {key: values[0] for key, values in parse_qs(urlsplit(screen.page.url).query).items()}


def test_arrow_keys_move_answer_figure_and_url(open_screen):
    screen = open_screen("explore?n=12214")
    before, drawn = sentence(screen), screen.page.evaluate(CURVES)
    assert len(drawn[0]) > 20
    screen.slide("Threshold ε", 4)
    screen.until(lambda: query(screen).get("eps") == "0.12" and "ε = 0.12" in sentence(screen))
    worst = characteristics(Design(12_214, 500, 0.12), [0.0])
    assert sentence(screen) != before
    assert f"worst error {worst.error[0]:#.2g}" in sentence(screen)
    screen.until(lambda: screen.page.evaluate(CURVES) != drawn)
    assert screen.wrong == []


def test_exact_numbers_and_the_slider_agree(open_screen):
    screen = open_screen("explore")
    number = screen.page.get_by_role("spinbutton", name="Mini-batch size m, exactly")
    number.fill("1234")
    number.press("Enter")
    screen.until(lambda: query(screen).get("m") == "1234" and "m = 1,234" in sentence(screen))
    slider = screen.page.get_by_role("slider", name="Batch size m").first
    screen.until(lambda: slider.get_attribute("aria-valuetext") == "1,234")


def test_a_link_shows_somebody_else_the_same(open_screen):
    mine = open_screen("explore?n=1000000&m=1000&eps=0.01&alpha=0.75&mu=2&pin=12214,500,0.05,0.5,1.0")
    mine.slide("Batch size m", 2).until(lambda: "m = 1,500" in sentence(mine))
    mine.settle()
    mine.page.get_by_role("button", name="Copy link").click()
    link = mine.page.locator("[data-testid=stCode]").filter(has_text="http").first.inner_text().strip()
    theirs = open_screen(link.removeprefix(mine.address))
    assert "α = 0.75" in sentence(mine)
    assert sentence(theirs) == sentence(mine)
    assert theirs.page.locator("strong", has_text="N = 12,214, m = 500, ε = 0.05").count() == 1
    theirs.drawn().until(lambda: theirs.page.evaluate(CURVES) == mine.page.evaluate(CURVES))


def test_knobs_that_do_not_fit_are_noted_and_the_page_stays(open_screen):
    screen = open_screen("explore?n=1000&m=5000")
    assert screen.alarms() == []
    assert "m = N = 1,000 is used" in screen.text()
    assert sentence(screen).startswith("N = 1,000, m = 1,000")
    assert screen.page.get_by_role("spinbutton", name="Mini-batch size m, exactly").input_value() == "5000"


def test_ten_digits_fit_beside_a_slider(open_screen):
    number = open_screen("explore?n=1000000000").page.get_by_role("spinbutton", name="Number of data N, exactly")
    assert number.input_value() == "1000000000"
    assert number.evaluate("field => field.scrollWidth - field.clientWidth") == 0


def test_damaged_links_still_open(open_screen):
    screen = open_screen("explore?n=many&m=500&pin=1,2&pin=%00&eps=")
    assert "N = 100,000" in sentence(screen)  # of the trial run in use
    assert screen.alarms() == []


def test_opened_directly_it_is_about_the_trial_run_in_use(open_screen):
    screen = open_screen("explore")
    assert "N = 100,000" in sentence(screen) and "At the pairs of the trial run in use" in screen.text()
    assert screen.page.get_by_role("button", name="Use this design on all pages").count() == 1
    assert "N = 12,214" in sentence(screen.go("explore?n=12214"))
    assert "N = 12,214" in sentence(screen.go(screen.page.url.removeprefix(screen.address)))  # F5


def test_another_page_and_back_keeps_the_knobs(open_screen):
    screen = open_screen("explore?m=700")
    for name in ("Method", "Explore"):
        screen.turn(name)
        screen.page.get_by_role("heading", name=name).first.wait_for()
    screen.settle()
    assert "m = 700" in sentence(screen)
