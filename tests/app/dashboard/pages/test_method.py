"""Page Method."""

from __future__ import annotations

from tests.app.dashboard.driving import (
    open_page,
)


def test_method_shows_the_self_check():
    page = open_page("method")
    assert not page.exception
    table = page.table[0].value
    assert set(table["passed"]) == {"yes"}
    assert any("Phi" in block.value for block in page.markdown)
