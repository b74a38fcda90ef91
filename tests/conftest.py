"""Settings for every test: reproducible Hypothesis runs, who runs what, and the check of what a refusal looks like."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings

from designer.core.errors import BadInput

settings.register_profile("austerity", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("austerity")

LONG = ("browser", "test_docs.py", "release", "test_same_draws.py", "test_docstrings.py", "test_glm_fused.py")


def pytest_collection_modifyitems(items):
    """One worker runs a whole file, so that its fixtures are made and its kernels compiled once (--dist loadgroup).

    What takes longest comes first (--no-loadscope-reorder), so that no worker waits for another at the end.
    """
    groups = {}
    for item in items:
        marks = [mark.args[0] for mark in item.iter_markers("xdist_group")]
        if not marks:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
        groups[item] = marks[0] if marks else item.path.name
    items.sort(key=lambda item: LONG.index(groups[item]) if groups[item] in LONG else len(LONG))


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
