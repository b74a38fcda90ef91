"""Fixtures of the data's tests."""

from __future__ import annotations

import pytest

from samplers.config.schema import DataTable
from samplers.data import memory
from samplers.data.load import load


@pytest.fixture
def read(tmp_path):
    """read(text, labels, **options): the dataset in a CSV file."""

    def call(text, labels="binary", name="d.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(DataTable(path=str(path), **options), labels)

    return call


@pytest.fixture
def little(monkeypatch):
    """Half of the memory here is a megabyte."""
    monkeypatch.setattr(memory, "allowed", lambda: 2 * 10**6)
