"""Trial runs: what is known of each, and those uploaded or computed that the server keeps for this session."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from app.dashboard.state import belongings
from designer.pairs.trial_run import TrialRun

MOST_REMEMBERED = 3  # trial runs uploaded or computed in one session


class Loaded(NamedTuple):
    """A trial run: its name, where it came from, and the config of the chain if that is known."""

    name: str
    trial: TrialRun
    origin: str
    config: str | None = None

    @property
    def line(self) -> str:
        """Name, pairs, N and digest, in one line."""
        return f"{self.name}: {len(self.trial):,} pairs, N = {self.trial.n_data:,}, digest {self.trial.digest[:12]}"


def remember(key: str, run: Loaded) -> None:
    """Remember a trial run under its key; the oldest is forgotten when there are too many."""
    others = {name: other for name, other in remembered().items() if name != key}
    runs = dict([*others.items(), (key, run)][-MOST_REMEMBERED:])
    st.session_state["remembered-runs"] = belongings.mine().runs = runs


def remembered() -> dict[str, Loaded]:
    """The remembered trial runs: uploaded files by digest, runs of built-in chains by chain and seed."""
    if "remembered-runs" not in st.session_state:  # a new session, of a page that may have been loaded again
        st.session_state["remembered-runs"] = belongings.mine().runs
    runs: dict[str, Loaded] = st.session_state["remembered-runs"]
    return runs


def remembered_files() -> dict[str, Loaded]:
    """The uploaded files that this session remembers, by digest."""
    return {key: run for key, run in remembered().items() if key == run.trial.digest}
