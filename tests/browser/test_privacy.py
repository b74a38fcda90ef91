"""Nothing leaves the machine: every button of a figure is pressed while the network is watched."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.cli.commands.experiment import _page as page_of_figures
from app.dashboard.export import report
from app.dashboard.jobs.job_queue import Job
from app.dashboard.state.question import Question, answer_question
from tests.app.dashboard.export.test_report import NOW, RUN, SOURCE, TRIAL
from tests.app.figures.test_panels import REPORT
from tests.browser.driving import holds

BUTTONS = ".js-plotly-plot .modebar-btn"
CONTEXT = """() => { const {plotlyServerURL, showSendToCloud} = document.querySelector('.js-plotly-plot')._context;
    return [plotlyServerURL, showSendToCloud] }"""

# each way out of a page, to a host that is not there; returns what forbade it
WAYS_OUT = """async () => {
    const stopped = [], wanted = 7, there = "//other.example/x";
    document.addEventListener("securitypolicyviolation", (event) => stopped.push(event.effectiveDirective));
    const add = (tag, entries) => document.body.append(Object.assign(document.createElement(tag), entries));
    fetch("https:" + there).catch(() => {});
    try { new WebSocket("wss:" + there); } catch {}
    add("img", {src: "https:" + there});
    add("script", {src: "https:" + there});
    add("iframe", {src: "https:" + there});
    add("link", {rel: "stylesheet", href: "https:" + there});
    add("form", {action: "https:" + there, method: "post", id: "out"});
    document.getElementById("out").submit();
    for (let k = 0; k < 100 && stopped.length < wanted; k++) await new Promise((done) => setTimeout(done, 100));
    return stopped.sort();
}"""


def press_all(page):
    """Press every button of every figure; returns what they are called."""
    names = []
    for button in page.locator(BUTTONS).all():
        names.append(button.get_attribute("data-title"))
        button.dispatch_event("click")
        page.wait_for_timeout(100)
        assert page.locator("[class*=plotly-cloud]").count() == 0, names[-1]
        page.evaluate("() => document.fullscreenElement && document.exitFullscreen()")
    return names


def test_no_button_of_a_figure_sends_it_anywhere(open_screen):
    screen = open_screen()
    screen.context.on("page", lambda page: screen.asked.append(page.url))
    screen.drawn().page.locator(".js-plotly-plot").first.hover()
    names = press_all(screen.page)
    assert len(names) >= 4 and "Fullscreen" in names
    assert not any("hare" in name or "loud" in name or "tudio" in name for name in names)
    # and if somebody brings the button back, it has nowhere to send a figure to
    context = screen.page.evaluate(CONTEXT)
    assert context == ["", False]
    assert {urlsplit(url).hostname for url in screen.asked} - {None} == {"127.0.0.1"}
    assert screen.wrong == []


def test_the_browser_stops_whoever_would_ask_somebody_else(open_screen):
    """A script that should not be there could not tell anybody: each way out is closed by the policy."""
    screen = open_screen("method")
    stopped = screen.page.evaluate(WAYS_OUT)
    assert stopped == [
        "connect-src",
        "connect-src",
        "form-action",
        "frame-src",
        "img-src",
        "script-src-elem",
        "style-src-elem",
    ]


def test_files_with_figures_ask_nobody(browser, tmp_path):
    answer = answer_question(Question(0.02), TRIAL, Job("x", lambda job: None))
    (tmp_path / "report.html").write_text(report.html(answer.result.best, answer, RUN, SOURCE, NOW), encoding="utf-8")
    (tmp_path / "figures.html").write_text(page_of_figures(REPORT.panels, "x"), encoding="utf-8")
    for name in ("report.html", "figures.html"):
        page, asked = browser.new_page(), []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto((tmp_path / name).as_uri())
        holds(page, "document.querySelectorAll('.js-plotly-plot .main-svg').length > 0")
        names = press_all(page)
        assert not any("hare" in each for each in names)
        context = page.evaluate(
            "() => [...document.querySelectorAll('.js-plotly-plot')].map(at => at._context.showSendToCloud)"
        )
        assert not any(context)
        assert all(url.startswith(("file:", "data:", "blob:")) for url in asked), asked
        page.close()
