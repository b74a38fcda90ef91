"""On the Trial run page: pairs from the draws of an uploaded posterior."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from app.dashboard.serve.server import MOST_MEGABYTES
from app.dashboard.state.source import LIMITS
from designer.core.errors import BadInput
from samplers.study.other_tools.posterior_files import pairs_of_file
from samplers.study.other_tools.posterior_pairs import KINDS, Kind, PosteriorPairs

PATIENCE = 60.0  # seconds for a file
UNPACKED = 20 * MOST_MEGABYTES * 2**20  # most bytes of log-likelihoods, since files may be compressed


class FromDraws(NamedTuple):
    """Which draws to pair, and the acceptance rate to rescale their steps to."""

    kind: Kind
    acceptance: float | None


def choices() -> FromDraws:
    """Draw the widgets, and return the choice."""
    kind = st.radio(
        "Pairs of draws",
        KINDS,
        format_func=str.capitalize,
        horizontal=True,
        key="posterior-pairs",
        help="Successive draws of a chain, any two draws, or each draw with its nearest neighbour.",
    )
    acceptance = st.number_input(
        "Acceptance rate of your random walk",
        *LIMITS["acceptance"],
        None,
        step=0.01,
        format="%.6g",
        key="posterior-acceptance",
        placeholder="use the draws as they are",
        help="Draws of a posterior are not proposals. With a rate, steps are rescaled to give it, and A is drawn from "
        "its distribution for a random walk at stationarity.",
    )
    return FromDraws(kind, acceptance)


def pairs(content: bytes, chosen: FromDraws) -> PosteriorPairs:
    """The trial run of the posterior in a netCDF file."""
    wanted = {**chosen._asdict(), "most_bytes": UNPACKED}
    with st.spinner("Comparing draws …"), tempfile.TemporaryDirectory(prefix="austerity-") as folder:
        path = Path(folder) / "posterior.nc"
        path.write_bytes(content)
        try:
            return pairs_of_file(path, 0, seconds=PATIENCE, **wanted)
        except BadInput as problem:
            raise BadInput(str(problem).replace(str(path), "the file")) from None
