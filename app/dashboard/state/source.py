"""Where the trial run in use comes from, as the URL names it.

The parameters here are not bound to widgets, so they stay in the URL from page to page: a link to any page carries the
trial run. Examples, synthetic pairs and runs of built-in chains are made again from the link (the last as a job, and
checked by their digest); of an uploaded file the link holds only the digest.
"""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from app.dashboard.state.built_in_chains import chains_by_key
from designer.pairs.examples import EXAMPLES
from designer.pairs.stationary import MOST_SPREAD
from designer.rule.looks import MAX_N_DATA

FIRST = "logistic"  # the example of links that name none
SHOWN = "control"  # the example that a visitor without a link sees
STATIONARY, UPLOAD = "stationary", "upload"
# of synthetic pairs; the command line has no such limits
LIMITS: dict[str, tuple[float, float]] = {
    "n_data": (2, MAX_N_DATA),
    "acceptance": (0.02, 0.98),
    "pairs": (1, 20_000),
    "seed": (0, 2**31),
    "spread": (0.0, MOST_SPREAD),
}
# parameters of each kind of source: their names in the URL, and the fields they fill
_PARAMETERS = {
    STATIONARY: {
        "trial_n": "n_data",
        "acceptance": "acceptance",
        "pairs": "pairs",
        "seed": "seed",
        "spread": "spread",
    },
    UPLOAD: {"digest": "digest"},
}
_CHAIN_PARAMETERS = {"seed": "seed", "digest": "digest"}


class Source(NamedTuple):
    """An example, synthetic pairs at stationarity (with these numbers), an uploaded file (with its digest), or a
    built-in chain (with its seed, and the digest of its trial run)."""

    kind: str = FIRST
    n_data: int = 1_000_000
    acceptance: float = 0.3
    pairs: int = 400
    seed: int = 0
    spread: float = 0.0
    digest: str = ""


def current_source() -> Source:
    """The source in use; a new session takes it from its URL, or the first example if the URL names none."""
    if "source" not in st.session_state:
        st.session_state["source"] = source_in_url()
    current: Source = st.session_state["source"]
    if current != source_in_url():  # a change of page empties the URL
        choose_source(current)
    return current


def choose_source(source: Source) -> None:
    """Use another source, and name it in the URL; values at their defaults are left out."""
    st.session_state["source"] = source
    values = source_values(source)
    for name in source_names():
        if name in values:
            st.query_params[name] = values[name]
        elif name in st.query_params:
            del st.query_params[name]


def source_names() -> list[str]:
    """All parameters that a source may have in the URL."""
    groups = (*_PARAMETERS.values(), _CHAIN_PARAMETERS)
    return list(dict.fromkeys(["source", *(name for names in groups for name in names)]))


def source_values(source: Source) -> dict[str, str]:
    """The parameters of a source in the URL; the first example needs none."""
    values = {name: str(getattr(source, field)) for name, field in _parameters(source.kind).items()}
    return values if source.kind == FIRST else {"source": source.kind, **values}


def source_in_url() -> Source:
    """The source that the URL names; defaults where it is damaged."""
    kind = st.query_params.get("source", FIRST)
    if kind not in (*EXAMPLES, STATIONARY, UPLOAD, *chains_by_key()):
        return Source()
    source = Source(kind)
    for name, field in _parameters(kind).items():
        default = getattr(source, field)
        try:
            value = type(default)(st.query_params.get(name, default))
        except ValueError:
            continue
        if field not in LIMITS or LIMITS[field][0] <= value <= LIMITS[field][1]:
            source = source._replace(**{field: value})
    return source


def _parameters(kind: str) -> dict[str, str]:
    """The parameters that a kind of source has in the URL besides its name."""
    return _CHAIN_PARAMETERS if kind in chains_by_key() else _PARAMETERS.get(kind, {})
