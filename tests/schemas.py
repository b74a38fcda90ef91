"""JSON Schemas of what `--json` prints: app/cli/schemas/1/COMMAND.json, held to by every test that calls a command.

AUSTERITY_RECORD=FOLDER pytest tests/app/cli     keeps all objects that commands print
python -m tests.schemas FOLDER                   makes the schemas from them; read the difference before you commit it

An entry that has always been there is required. Entries may be added to version 1; one that goes or changes its type
makes version 2.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parents[1] / "app" / "cli" / "schemas" / "1"
KEYS_ARE_DATA = 40  # an object with more entries is a table by name
KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


@cache
def validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{command}.json").read_text(encoding="utf-8")))


def check(command: str, data: Any) -> None:
    """Fail if what a command prints is not as its schema says."""
    data = json.loads(json.dumps(data, allow_nan=False))
    if folder := os.environ.get("AUSTERITY_RECORD"):
        (Path(folder) / f"{command}-{uuid.uuid4().hex}.json").write_text(json.dumps(data), encoding="utf-8")
        return
    problems = [f"{'.'.join(map(str, e.absolute_path))}: {e.message}" for e in validator(command).iter_errors(data)]
    assert problems == [], f"austerity {command} --json: {problems[0]}"


def inferred(values: list[Any]) -> dict[str, Any]:
    """A schema that all these values satisfy.

    Examples
    --------
    >>> inferred([{"m": 5, "note": None}, {"m": 2.5}])["required"]
    ['m']
    >>> inferred([1, None])
    {'type': ['null', 'number']}
    """
    objects = [value for value in values if isinstance(value, dict)]
    arrays = [part for value in values if isinstance(value, list) for part in value]
    kinds = {KINDS.get(type(value), "object" if isinstance(value, dict) else "array") for value in values}
    if kinds & {"integer", "number"}:
        kinds = kinds - {"integer"} | {"number", "null"}  # a whole one may be rounded; null: JSON has no such number
    schema: dict[str, Any] = {"type": sorted(kinds) if len(kinds) > 1 else min(kinds)}
    if objects:
        schema |= _of_objects(objects)
    if arrays:
        schema["items"] = inferred(arrays)
    return schema


def _of_objects(objects: list[dict[str, Any]]) -> dict[str, Any]:
    by_name: dict[str, list[Any]] = defaultdict(list)
    for one in objects:
        for name, value in one.items():
            by_name[name].append(value)
    if len(by_name) > KEYS_ARE_DATA:
        return {"additionalProperties": inferred([value for values in by_name.values() for value in values])}
    required = sorted(name for name, values in by_name.items() if len(values) == len(objects))
    return {"properties": {name: inferred(by_name[name]) for name in sorted(by_name)}, "required": required}


def make(recorded: Path) -> None:
    """Write the schemas of all commands that were recorded."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Any]] = defaultdict(list)
    for path in sorted(recorded.glob("*.json")):
        found[path.name.rpartition("-")[0]].append(json.loads(path.read_text(encoding="utf-8")))
    for command, values in found.items():
        head = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"austerity {command} --json, version 1",
        }
        text = json.dumps(head | inferred(values), indent=1, ensure_ascii=False)
        (FOLDER / f"{command}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{command}: {len(values)} objects")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
