"""`austerity app`: how it calls the server. The server's own tests are in tests/app/dashboard."""

from __future__ import annotations

import json
import os

import pytest

from app.dashboard.serve import server


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The calls of the server, which returns at once as after Ctrl-C."""
    calls: list[dict[str, object]] = []

    def serve(host: str, port: int, **options: object) -> None:
        assert list(options.pop("beside")) == ["/api/1"]
        calls.append({"host": host, "port": port, **options})
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "serve", serve)
    return calls


USUAL = {
    "host": "127.0.0.1",
    "port": 8501,
    "runs": "austerity-runs",
    "token": "",
    "public_url": "",
    "proxies": [],
    "log_level": "warning",
    "log_format": "text",
    "open_browser": True,
}


def test_options_reach_the_server_and_ctrl_c_is_a_normal_end(run, served):
    code, out, _ = run("app --port 8600 --host ::1 --runs here --no-browser --json")
    assert (code, json.loads(out)) == (0, {"stopped": True})
    assert run("app") == (0, "stopped\n", "")
    assert served == [USUAL | {"host": "::1", "port": 8600, "runs": "here", "open_browser": False}, USUAL]
    run("app --token auto --public-url https://a/b --proxy 10.0.0.1 --log-level info --log-format json")
    more = {"token": "auto", "public_url": "https://a/b", "proxies": ["10.0.0.1"]}
    assert served[2] == USUAL | more | {"log_level": "info", "log_format": "json"}


def test_the_environment_has_the_token_for_the_server_alone(run, served, monkeypatch):
    monkeypatch.setenv("AUSTERITY_TOKEN", "of the environment")
    run("app")
    assert served[0]["token"] == "of the environment"
    assert "AUSTERITY_TOKEN" not in os.environ


def test_a_port_is_a_whole_number(refused, served):
    refused("app --port eighty", "--port: 'eighty' is not a number")
    assert served == []
