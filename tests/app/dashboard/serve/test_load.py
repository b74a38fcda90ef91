"""Four sessions do what people do, for a quarter of a minute, without any error. Ten minutes: benchmarks.load."""

from __future__ import annotations

from benchmarks.load import complaints, load


def test_sessions_side_by_side_see_no_error():
    found = load(sessions=4, minutes=0.25, windows=0, kept=0.0)
    assert found.diary.wrong == []
    assert complaints(found.said) == []
    assert len(found.diary.done) > 5
    assert {"slider moved", "page changed"} <= {done.what for done in found.diary.done}
