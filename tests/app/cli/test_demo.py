"""`austerity demo`: what it shows is what the commands print."""

from __future__ import annotations

import json

from app.cli.commands.demo import STOPS


def test_json_has_every_stop(run):
    code, out, _ = run("demo --json")
    data = json.loads(out)
    assert code == 0
    assert data["selfcheck"]["passed"] is True
    assert data["design"]["feasible"] is True
    assert data["evaluate"] == json.loads(run(STOPS[0], "--json")[1])


def test_text_is_that_of_the_commands(run):
    out = run("demo")[1]
    for command in STOPS:
        assert f"$ austerity {command}\n{run(command)[1]}" in out
