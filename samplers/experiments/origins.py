"""What a report says of its data, in the words of their source."""

from __future__ import annotations

from typing import Any

from samplers.sources import Source


def origin_of(source: Source) -> dict[str, Any]:
    """Where the data of a part came from, to be kept with its numbers."""
    return {"origin": source.origin, "real": source.real}


def notice(part: Any) -> str:
    """The line for a report's notices, loud if the data are not the real ones."""
    if part["real"]:
        return f"Data: {part['origin']}"
    return f"SYNTHETIC DATA: {part['origin']}. The figures are not those of the real data set."
