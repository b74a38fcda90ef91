"""The description of the interface for programs that read one (OpenAPI 3.1), made from the commands themselves."""

from __future__ import annotations

import argparse
import json
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from app.cli import options as shared
from app.cli.http.questions import COLUMNS, LISTS, MOST_NUMBERS, QUESTIONS, Question, actions_of

SCHEMAS = Path(__file__).parents[1] / "schemas" / "1"
REFUSALS = {
    "400": "not a JSON object",
    "401": "the token is missing",
    "403": "the token is wrong",
    "411": "the length of the body is not given",
    "413": "the body is too large",
    "415": "the content type is not application/json",
    "422": "refused: the line says what, what is allowed and what to do",
    "429": "this server is busy, or you have too many requests at once",
    "500": "a defect; the server's log has more",
    "503": "it took too long; the line says what to change",
}
BY_THE_SERVER, BY_BOTH = ("401", "403", "411"), ("413", "429", "503")


@cache
def document() -> dict[str, Any]:
    """The whole description."""
    numbers = {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": MOST_NUMBERS}
    trial = {
        "type": "object",
        "description": "pairs of a trial run, as in trial.csv: N, and the moments of each pair",
        "properties": {"n_data": {"type": "integer", "minimum": 2}, **dict.fromkeys(COLUMNS, numbers)},
        "required": ["n_data", "mu", "sigma"],
        "additionalProperties": False,
    }
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "austerity",
            "version": version("austerity"),
            "summary": "Error and cost of sequential accept/reject tests, and the search for the cheapest one.",
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "servers": [{"url": "."}],
        "paths": {f"/{name}": {"post": _operation(name, question)} for name, question in QUESTIONS.items()},
        "components": {"schemas": {"trial": trial, "error": error}},
    }


def _operation(name: str, question: Question) -> dict[str, Any]:
    """One command."""
    properties: dict[str, Any] = {option: _schema(action) for option, action in actions_of(name).items()}
    if question.takes_trial:
        properties["trial"] = {"$ref": "#/components/schemas/trial"}
    asked = {
        "type": "object",
        "properties": properties,
        "required": list(question.needs),
        "additionalProperties": False,
    }
    answer = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    error = {"$ref": "#/components/schemas/error"}
    return {
        "operationId": name,
        "summary": question.module.SUMMARY,
        "requestBody": {"required": True, "content": {"application/json": {"schema": asked}}},
        "responses": {
            "200": {"description": "the answer", "content": {"application/json": {"schema": answer}}},
            **{code: {"description": text, "content": _contents(code, error)} for code, text in REFUSALS.items()},
        },
    }


def _contents(code: str, error: dict[str, Any]) -> dict[str, Any]:
    """A line in JSON; where the server itself refuses, before the request is read, a line of text."""
    text = {"text/plain": {"schema": {"type": "string"}}}
    if code in BY_THE_SERVER:
        return text
    return {"application/json": {"schema": error}, **(text if code in BY_BOTH else {})}


def _schema(action: argparse.Action) -> dict[str, Any]:
    """The type of an option, with its help text."""
    text = (action.help or "") % {"default": action.default, "prog": "austerity"}
    if action.nargs == 0:
        return {"type": "boolean", "description": text}
    if action.type in LISTS:
        low, high = LISTS[action.type]
        numbers = {"type": "array", "items": {"type": "number"}, "minItems": low, "maxItems": high}
        return {"anyOf": [numbers, {"type": "number"}] if low == 1 else [numbers], "description": text}
    kinds: dict[Any, str] = {shared.integer: "integer", shared.number: "number"}
    return {"type": kinds.get(action.type, "string"), "description": text}
