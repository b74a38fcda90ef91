"""The self-check passes here, and notices a broken engine."""

from __future__ import annotations

from designer.check import selfcheck as module
from designer.check.selfcheck import reference_rows, selfcheck


def test_this_machine_passes():
    checks = selfcheck()
    assert [check.name for check in checks if not check.passed] == []
    assert len(checks) == 10
    assert reference_rows().shape == (315, 6)


def test_a_wrong_engine_is_noticed(monkeypatch):
    right = module.characteristics
    monkeypatch.setattr(
        module, "characteristics", lambda design, mu: right(design, mu)._replace(error=right(design, mu).error + 1e-9)
    )
    assert not all(check.passed for check in selfcheck())
