"""Settings for every test: reproducible Hypothesis runs, and the check of what a refusal looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from app.cli import main as command_line
from designer.core.errors import BadInput
from tests import schemas

settings.register_profile("austerity", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("austerity")


@pytest.fixture(scope="session", autouse=True)
def commands_print_what_their_schemas_say() -> Iterator[None]:
    """Whatever a test calls, and whether or not it asks for `--json`."""
    with pytest.MonkeyPatch.context() as patch:
        text = command_line._text

        def checked(options: Any, output: Any) -> str:
            schemas.check(options.run.__module__.rpartition(".")[2], output.data)
            return text(options, output)

        patch.setattr(command_line, "_text", checked)
        yield


@pytest.fixture
def refuses() -> Callable[..., None]:
    """refuses(call, *words): `call` raises BadInput with one line that contains every word."""

    def check(call: Callable[[], object], *words: str) -> None:
        with pytest.raises(BadInput) as caught:
            call()
        message = str(caught.value)
        assert message
        assert "\n" not in message
        assert [word for word in words if word not in message] == [], message

    return check
