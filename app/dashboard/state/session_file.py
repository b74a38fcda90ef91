"""A session as a file: where every page stands, its trial runs, and the table of its fit."""

from __future__ import annotations

import base64
import io
import json
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import streamlit as st

from app.dashboard.jobs import runs
from app.dashboard.jobs.fitting import column_names
from app.dashboard.state import belongings
from app.dashboard.state.addresses import renamed
from app.dashboard.state.belongings import Belongings
from app.dashboard.state.built_in_chains import chains_by_key, run_key
from app.dashboard.state.current import DERIVED
from app.dashboard.state.loaded import Loaded, remember
from app.dashboard.state.source import UPLOAD, Source
from app.dashboard.state.table import Table
from designer.core.errors import BadInput
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design

FORMAT, MARK = 1, "austerity_session"
FILE = "austerity_session.json"
MOST_MEGABYTES = 20  # of a file, and of its table
MOST_RUNS = 10  # in a file that is loaded
MOST_PAGES, MOST_PARAMETERS, MOST_TEXT = 30, 200, 20_000  # of a file that is loaded
_LONGEST_NAME = 200


def session_text(mine: Belongings, page: str, source: Source, run: Loaded | None) -> str:
    """The file of a session that is at this page and uses this trial run.

    What does not fit into a file that can be loaded is left out: first other trial runs, then the table.
    """
    content: dict[str, Any] = {
        MARK: FORMAT,
        "page": page,
        "pages": {name: text for name, text in _addresses(mine).items() if len(text) <= MOST_TEXT},
        "designs": {digest: design.to_toml() for digest, design in _designs(mine).items()},
    }
    used = ""
    if run is not None and (source.kind == UPLOAD or source.kind in chains_by_key()):
        used = source.digest if source.kind == UPLOAD else run_key(source.kind, source.seed)
        content["trial"] = _saved(used, run)
    room = MOST_MEGABYTES * 2**20 - _size(content)
    if mine.table is not None:
        table = {"name": mine.table.name, "zlib": _text(zlib.compress(mine.table.content))}
        if _size(table) <= room:
            content["table"], room = table, room - _size(table)
    content["more"] = []
    for key, other in reversed(mine.runs.items()):  # the latest first
        if key != used and _size(saved := _saved(key, other)) <= room:
            content["more"].append(saved)
            room -= _size(saved)
    return _json(content)


def _addresses(mine: Belongings) -> dict[str, str]:
    """The parameters of each page, as in its URL."""
    return {name: urlencode(given, doseq=True) for name, given in mine.addresses.items()}


def _designs(mine: Belongings) -> dict[str, Design]:
    """What searches have found, by the digest of their trial run."""
    found = {digest: answer.result.best for digest, answer in mine.answers.items()}
    return _latest(mine.designs | {digest: design for digest, design in found.items() if design is not None})


def _latest(designs: dict[str, Design]) -> dict[str, Design]:
    """As many as a file may have."""
    return dict(list(designs.items())[-MOST_RUNS:])


def _size(content: object) -> int:
    """Bytes that a part takes in the file, at most."""
    return len(_json(content).encode()) + 1000


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False)


def _saved(key: str, run: Loaded) -> dict[str, Any]:
    return {"key": key, "name": run.name, "origin": run.origin, "config": run.config, "npz": _packed(run.trial)}


def load_session(text: bytes) -> str:
    """Take over a session from its file; returns the address to open. BadInput if the file is not one of ours."""
    content = _checked(text)
    pages = {name: renamed(_parameters(query)) for name, query in content["pages"].items()}
    more = content.get("more", [])
    if not isinstance(more, list) or len(more) > MOST_RUNS:
        raise BadInput(f"session: its other trial runs must be a list of at most {MOST_RUNS}")
    runs = [_trial(given) for given in [*more[::-1], *([content["trial"]] if "trial" in content else [])]]
    table = _table(content["table"]) if "table" in content else None
    designs = {str(digest): Design.from_toml(text) for digest, text in _texts(content.get("designs", {}))}
    for run, key in runs:
        remember(key, run)
    mine, page = belongings.mine(), content["page"]
    mine.answers = {digest: one for digest, one in mine.answers.items() if digest not in designs}
    mine.designs = _latest({**mine.designs, **designs})
    mine.more.pop(DERIVED, None)
    mine.table = table or mine.table
    mine.addresses = {name: given for name, given in pages.items() if name != page} | {page: pages.get(page, {})}
    query = urlencode(mine.addresses[page], doseq=True)
    st.session_state["pages-seen"] = set()
    return f"/{page}?{query}" if query else f"/{page}"


def _texts(designs: Any) -> list[tuple[str, str]]:
    """Designs by digest, each as a text."""
    if not isinstance(designs, dict) or len(designs) > MOST_RUNS:
        raise BadInput(f"session: its designs must be a table of at most {MOST_RUNS}")
    if not all(isinstance(text, str) for text in designs.values()):
        raise BadInput("session: a design is not a text")
    return list(designs.items())


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
    return _text(target.getvalue())


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _table(given: Any) -> Table:
    """The table of a session file."""
    if not isinstance(given, dict) or not all(isinstance(given.get(name), str) for name in ("name", "zlib")):
        raise BadInput("session: its table is incomplete")
    most, inflate = MOST_MEGABYTES * 2**20, zlib.decompressobj()
    try:
        content = inflate.decompress(base64.b64decode(given["zlib"], validate=True), most + 1)
    except (ValueError, zlib.error):
        raise BadInput("session: its table is damaged") from None
    if len(content) > most or not inflate.eof:
        raise BadInput(f"session: its table is damaged, or larger than {MOST_MEGABYTES} MB")
    name = Path(given["name"][-_LONGEST_NAME:]).name
    return Table(name, content, column_names(name, content))


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
    if config is not None and not runs.place.local and runs.reads_files(config):
        config = None  # a visitor must not name files of this server
    return Loaded(texts["name"][:_LONGEST_NAME], trial, texts["origin"][:MOST_TEXT], config), key
