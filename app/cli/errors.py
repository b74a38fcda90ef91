"""Errors that a command reports in one line, and how that line reads."""

from __future__ import annotations


class UsageError(Exception):
    """The command line cannot be used as it was typed; the message is one line for people."""


def expected_errors() -> tuple[type[Exception], ...]:
    """Exceptions that are reported in a line; any other is a defect and shows its traceback.

    `designer` loads in a second or two, so it is imported only after something has gone wrong.
    """
    from designer.core.errors import BadInput

    return UsageError, BadInput, ArithmeticError, OSError, MemoryError


def describe(error: Exception) -> str:
    """An error in words: for the file system's, the file and what is wrong with it; notes come last."""
    from designer.core.files import shorten

    text = str(error)
    if isinstance(error, MemoryError):
        text = f"not enough memory{text and f': {shorten(text, 200)}'}"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    return "; ".join([text, *getattr(error, "__notes__", [])])
