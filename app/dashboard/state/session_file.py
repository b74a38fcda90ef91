"""A session as a file: where every page stands, and the trial run in use."""

from __future__ import annotations

import base64
import io
import json
from typing import Any
from urllib.parse import parse_qs, urlencode

import streamlit as st

from app.dashboard.state import belongings
from app.dashboard.state.addresses import renamed
from app.dashboard.state.belongings import Belongings
from app.dashboard.state.built_in_chains import chains_by_key, run_key
from app.dashboard.state.loaded import Loaded, remember
from app.dashboard.state.source import UPLOAD, Source
from designer.core.errors import BadInput
from designer.pairs.trial_run import TrialRun

FORMAT, MARK = 1, "austerity_session"
FILE = "austerity_session.json"
MOST_PAGES, MOST_PARAMETERS, MOST_TEXT = 30, 100, 10_000  # of a file that is loaded
_LONGEST_NAME = 200


def session_text(mine: Belongings, page: str, source: Source, run: Loaded | None) -> str:
    """The file of a session that is at this page and uses this trial run."""
    content: dict[str, Any] = {
        MARK: FORMAT,
        "page": page,
        "pages": {name: urlencode(given, doseq=True) for name, given in mine.addresses.items()},
    }
    if run is not None and (source.kind == UPLOAD or source.kind in chains_by_key()):
        key = source.digest if source.kind == UPLOAD else run_key(source.kind, source.seed)
        content["trial"] = {"key": key, "name": run.name, "origin": run.origin, "config": run.config}
        content["trial"]["npz"] = _packed(run.trial)
    return json.dumps(content, indent=1, ensure_ascii=False)


def load_session(text: bytes) -> str:
    """Take over a session from its file; returns the address to open. BadInput if the file is not one of ours."""
    content = _checked(text)
    pages = {name: renamed(_parameters(query)) for name, query in content["pages"].items()}
    if "trial" in content:
        run, key = _trial(content["trial"])
        remember(key, run)
    mine, page = belongings.mine(), content["page"]
    mine.addresses = {name: given for name, given in pages.items() if name != page} | {page: pages.get(page, {})}
    query = urlencode(mine.addresses[page], doseq=True)
    st.session_state["pages-seen"] = set()
    return f"/{page}?{query}" if query else f"/{page}"


def _parameters(query: str) -> dict[str, list[str]]:
    if len(query) > MOST_TEXT:
        raise BadInput("session: an address is too long")
    try:
        return parse_qs(query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError:
        raise BadInput(f"session: an address has more than {MOST_PARAMETERS} parameters") from None


def _checked(text: bytes) -> dict[str, Any]:
    """The content of a session file, every part of the kind that we write."""
    try:
        content = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadInput("session: this is not a JSON file") from None
    if not isinstance(content, dict) or MARK not in content:
        raise BadInput("session: this is not a session that was saved here")
    if content[MARK] != FORMAT:
        raise BadInput(f"session: its format is {content[MARK]!r}, this version reads {FORMAT}")
    pages, page = content.get("pages"), content.get("page")
    if not (isinstance(pages, dict) and len(pages) <= MOST_PAGES and isinstance(page, str)):
        raise BadInput("session: the addresses of its pages are missing")
    names = {*pages, page}
    if not all(name.isascii() and (name.replace("-", "").isalnum() or name == "") for name in names):
        raise BadInput("session: a page has a name that no page has")
    if not all(isinstance(query, str) for query in pages.values()):
        raise BadInput("session: an address is not a text")
    return content


def _packed(trial: TrialRun) -> str:
    target = io.BytesIO()
    trial.to_npz(target)
    return base64.b64encode(target.getvalue()).decode()


def _trial(given: Any) -> tuple[Loaded, str]:
    """The trial run of a session file, and its key."""
    names = ("key", "name", "origin", "npz")
    if not isinstance(given, dict) or not all(isinstance(given.get(name), str) for name in names):
        raise BadInput("session: its trial run is incomplete")
    texts: dict[str, str] = {name: given[name] for name in names}
    try:
        content = base64.b64decode(texts["npz"], validate=True)
    except ValueError:
        raise BadInput("session: its trial run is damaged") from None
    trial = TrialRun.from_upload("trial.npz", io.BytesIO(content))
    config = given.get("config")
    key = texts["key"]
    known = key == trial.digest or key.rpartition(":")[0] in chains_by_key()
    if not known or not (config is None or isinstance(config, str)):
        raise BadInput("session: its trial run is not the one that it names")
    return Loaded(texts["name"][:_LONGEST_NAME], trial, texts["origin"][:MOST_TEXT], config), key
