"""When something breaks: the browser is told so in a line, and nothing of the machine's inside."""

from __future__ import annotations

import sys

import pytest

from tests.serving import running


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A dashboard with a page that fails."""
    script = tmp_path_factory.mktemp("broken") / "main.py"
    script.write_text(
        'import streamlit as st\nst.title("Before")\nsecret = 42\nraise RuntimeError(f"secret {secret}")\n'
    )
    imports = "import pathlib, sys; from app.dashboard.serve.server import serve"
    serve = f"{imports}; serve(port=0, script=pathlib.Path(sys.argv[1]))"
    with running("-c", serve, str(script)) as server:
        yield server


def test_a_page_that_fails_shows_no_trace(open_screen, broken):
    screen = open_screen(address=broken.address)
    (line,) = screen.alarms()
    assert line.startswith("Something went wrong in this page.")
    shown = screen.page.content()
    assert "secret" not in shown
    assert "Traceback" not in shown
    assert "main.py" not in shown
    assert sys.prefix not in shown
    assert "RuntimeError: secret 42" in broken.said()


def test_no_button_that_does_not_belong_here(open_screen):
    """No Deploy, no developer's menu."""
    shown = open_screen("method").page.content()
    assert "Deploy" not in shown
    assert "stMainMenu" not in shown
