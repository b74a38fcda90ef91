"""`austerity selfcheck`: its exit code says whether the engine works on this machine."""

from __future__ import annotations

import json

import pytest

from designer.check import selfcheck


def test_the_engine_passes(run):
    code, out, _ = run("selfcheck")
    assert code == 0
    assert out.splitlines()[-1] == "all checks passed"
    assert all(line.startswith("ok ") for line in out.splitlines()[:-1])


def test_a_wrong_engine_is_told_by_the_exit_code(run, monkeypatch: pytest.MonkeyPatch):
    first, *others = selfcheck.selfcheck()
    wrong = first._replace(difference=1.0)
    monkeypatch.setattr(selfcheck, "selfcheck", lambda: [wrong, *others])
    code, out, _ = run("selfcheck --json")
    data = json.loads(out)
    assert (code, data["passed"]) == (1, False)
    assert [check["passed"] for check in data["checks"]] == [False, *(True for _ in others)]
    code, out, _ = run("selfcheck")
    assert code == 1
    assert out.startswith("FAIL ")
    assert out.endswith("the engine does not work correctly on this machine\n")
