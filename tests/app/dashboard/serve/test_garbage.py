"""Garbage is collected now and then, by the server and not by its pages: everybody waits meanwhile."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
import streamlit as st

from app.dashboard.serve import garbage
from app.dashboard.serve.server import SCRIPT, application


def test_pages_do_not_collect():
    application(SCRIPT, (), lambda: None)
    assert st.get_option("runner.postScriptGC") is False


def test_the_server_collects_a_hundredth_of_the_time_at_most(monkeypatch):
    clock, pauses = [0.0], list[float]()
    lasts = iter([0.5, 0.001, 0.3])  # seconds of each collection

    def collect() -> None:
        clock[0] += next(lasts)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(garbage, "gc", SimpleNamespace(collect=collect))
    monkeypatch.setattr(garbage, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    monkeypatch.setattr(garbage, "asyncio", SimpleNamespace(sleep=sleep))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(garbage.collect_now_and_then())
    assert pauses == pytest.approx([50.0, garbage.PAUSE_SECONDS, 30.0])
