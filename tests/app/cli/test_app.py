"""`austerity app`: how it calls the server. The server's own tests are in tests/app/dashboard."""

from __future__ import annotations

import json

import pytest

from app.dashboard.serve import server


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, str, bool]]:
    """The calls of the server, which returns at once as after Ctrl-C."""
    calls: list[tuple[str, int, str, bool]] = []

    def serve(host: str, port: int, *, runs: str, open_browser: bool) -> None:
        calls.append((host, port, runs, open_browser))
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "serve", serve)
    return calls


def test_options_reach_the_server_and_ctrl_c_is_a_normal_end(run, served):
    code, out, _ = run("app --port 8600 --host ::1 --runs here --no-browser --json")
    assert (code, json.loads(out)) == (0, {"stopped": True})
    assert run("app") == (0, "stopped\n", "")
    assert served == [("::1", 8600, "here", False), ("127.0.0.1", 8501, "austerity-runs", True)]


def test_a_port_is_a_whole_number(refused, served):
    refused("app --port eighty", "--port: 'eighty' is not a number")
    assert served == []
