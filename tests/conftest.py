"""Settings for every test: reproducible Hypothesis runs, and the check of what a refusal looks like."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings

from designer.core.errors import BadInput

settings.register_profile("austerity", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("austerity")


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
