"""Behind a real nginx, below a path and with a token, in a real browser: pages, figures, a download."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests import nginx
from tests.browser.driving import Screen
from tests.browser.test_nothing_lost import load_session, save_session
from tests.commands import austerity
from tests.serving import running

GIVEN = "sixteen characters or more"


def test_the_token_and_then_the_dashboard(browser, tmp_path):
    nginx.needed()
    port = nginx.free_port()
    place = f"http://127.0.0.1:{port}{nginx.BASE}"
    command = austerity("app", "--port", 0, "--no-browser", "--token", GIVEN, "--public-url", place)[1:]
    with running(*command) as server, nginx.nginx(tmp_path, port, server.port):
        screen = Screen(browser, place)
        screen.page.goto(f"{place}/explore")
        screen.page.get_by_label("Token").fill("something else, wrong")
        screen.page.get_by_role("button", name="Open").click()
        screen.page.get_by_text("This is not the token").wait_for()
        screen.wrong.clear()  # Chromium reports 401 and 403
        screen.page.get_by_label("Token").fill(GIVEN)
        screen.page.get_by_role("button", name="Open").click()
        screen.drawn()
        assert screen.page.url.startswith(f"{place}/explore") and "token" not in screen.page.url
        screen.turn("Start").drawn()
        screen.go("trial-run")
        with screen.page.expect_download() as download:
            screen.page.get_by_role("button", name="These pairs as CSV").click()
        assert download.value.path().stat().st_size > 1000
        saved = save_session(screen, tmp_path / "session.json")
        load_session(screen.go("method"), saved)
        screen.until(lambda: screen.page.url.startswith(f"{place}/trial-run")).settle()
        assert screen.alarms() == []
        assert all(urlsplit(url).path.startswith(f"{nginx.BASE}/") for url in screen.asked if url.startswith("http"))
        assert screen.wrong == []
        screen.close()
        assert "Traceback" not in server.said() and GIVEN not in server.said()
