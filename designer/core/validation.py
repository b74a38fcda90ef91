"""The one place where pydantic's errors become `BadInput`: one line per problem, with its place in the file.

`Record` is the base of what users construct (`Design`, `SamplerConfig`); `validated` makes one table of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from designer.core.errors import BadInput, shown
from designer.core.files import shorten

MAX_LISTED = 10  # problems in one message
WORDS = {  # for pydantic's types of errors, whose own messages speak of Python
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a table",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_type": "must be a table",
    "string_type": "must be text",
    "too_long": "must have {max_length} or fewer entries",
    "too_short": "must have {min_length} or more entries",
    "tuple_type": "must be a list",
}


class BadFields(BadInput):
    """The problems of one record, kept apart so that the reader of a file can say where in the file they are."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "; ".join(self.problems)

    def within(self, table: str) -> BadFields:
        """The same problems, of a table of a file."""
        return BadFields([f"{table}.{problem}" for problem in self.problems])


class Record(BaseModel):
    """A frozen pydantic model that raises `BadFields` for values that it cannot have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise BadFields(problems_of(error, type(self))) from None


def kinds_of(union: Any) -> dict[str, Any]:
    """The models of a union with the discriminator `kind`, by their kinds."""
    models = get_args(get_args(union)[0])
    return {kind: model for model in models for kind in get_args(model.model_fields["kind"].annotation)}


def validated(shape: Any, values: Mapping[str, Any], table: str) -> Any:
    """A model, or one of a union with the discriminator `kind`, from a table of a file; or `BadFields`."""
    try:
        return TypeAdapter(shape).validate_python(values)
    except ValidationError as error:
        raise BadFields(problems_of(error, shape, table)) from None


def problems_of(error: ValidationError, shape: Any, table: str = "") -> list[str]:
    """One line for each of pydantic's errors, but no more than MAX_LISTED."""
    problems = [problem for problem in error.errors(include_url=False) if not _follows(problem)]
    return [_line(problem, shape, table) for problem in problems[:MAX_LISTED]]


def _follows(error: Mapping[str, Any]) -> bool:
    """Whether an error only follows from others: a list is too short because its bad entries are left out."""
    return error["type"] == "too_short" and bool(len(error["input"]) >= error["ctx"]["min_length"])


def _line(error: Mapping[str, Any], shape: Any, table: str) -> str:
    """One problem: where, which value, what is allowed."""
    context, path = error.get("ctx", {}), list(error["loc"])
    model = shape
    if not isinstance(shape, type):  # a union: the path begins with the kind, if there is one
        kinds = kinds_of(shape)
        if not path:
            given = f" = {shown(error['input']['kind'])}:" if "kind" in error["input"] else ": missing;"
            return f"{table}.kind{given} must be one of {', '.join(kinds)}"
        model = kinds[path.pop(0)]
    if isinstance(cause := context.get("error"), BadInput):  # it names the entry itself, or is about several
        return f"{table}{('.' if path else ': ') * bool(table)}{cause}"
    place = ".".join(shorten(part) for part in ([table] if table else []) + path)
    if error["type"] == "missing":
        return f"{place}: missing"
    if error["type"] == "extra_forbidden":
        return f"{place}: unknown; allowed: {', '.join(model.model_fields)}"
    if words := WORDS.get(error["type"]):
        return f"{place} = {shown(error['input'])}: {words.format_map(context)}"
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    if isinstance(limit := context.get("le"), float):  # not with all its zeros
        message = f"must be less than or equal to {limit:g}"
    return f"{place} = {shown(error['input'])}: {message}"
