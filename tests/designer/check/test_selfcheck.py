"""The self-check passes here, and notices a broken engine."""

from __future__ import annotations

from designer.check.selfcheck import reference_rows, selfcheck
from designer.engine.walk import characteristics


def test_this_machine_passes():
    checks = selfcheck()
    assert [check.name for check in checks if not check.passed] == []
    assert len(checks) == 10
    assert reference_rows().shape == (315, 6)


def test_a_wrong_engine_is_noticed(monkeypatch):
    def off(design, mu):
        right = characteristics(design, mu)
        return right._replace(error=right.error + 1e-9)

    monkeypatch.setattr("designer.check.selfcheck.characteristics", off)
    assert not all(check.passed for check in selfcheck())
