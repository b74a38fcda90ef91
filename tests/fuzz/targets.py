"""Every parser of the product as a function of bytes: it either understands them or refuses them in plain words.

Used by the property tests (`test_parsers.py`) and by the fuzzer (`python -m tests.fuzz`).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from app.cli.errors import UsageError
from app.cli.main import build_parser
from app.dashboard.pages.posterior_upload import UNPACKED
from app.dashboard.state.design_text import parse_design
from app.dashboard.state.source import Source
from designer.core.errors import BadInput
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from samplers.config.config import SamplerConfig
from samplers.config.field import field_of
from samplers.config.fit_config import FitConfig
from samplers.config.schema import DataTable, FieldTable, Labels
from samplers.data.formula.frame import model_frame
from samplers.data.load import load
from samplers.runs.checksummed_file import MAGIC
from samplers.runs.results import from_netcdf
from samplers.runs.store import DamagedFile, Store
from samplers.study.other_tools.posterior_pairs import KINDS, trial_from_posterior
from tests.fuzz.links import source_in_link

MOST_LINES, LONGEST_LINE = 25, 2000  # of a refusal
MOST_ROWS = 100_000  # of what a few bytes may become: nothing here unpacks to more


def refused_in_words(parse: Callable[[], object]) -> bool:
    """Run a parser; True if it refused with BadInput, whose message must be fit for people. Others pass through."""
    try:
        parse()
    except BadInput as problem:
        lines = str(problem).split("\n")
        assert 1 <= len(lines) <= MOST_LINES, len(lines)
        for line in lines:
            assert 0 < len(line) <= LONGEST_LINE, line[:200]
            assert line.isprintable(), repr(line[:200])
            assert "Traceback" not in line
        return True
    return False


def _trial(suffix: str) -> Callable[[bytes], bool]:
    def parse(data: bytes) -> bool:
        def read() -> None:
            _check_trial(TrialRun.from_upload("trial" + suffix, data))

        return refused_in_words(read)

    return parse


def _check_trial(trial: TrialRun) -> None:
    assert 0 < len(trial) <= MOST_ROWS
    assert np.isfinite(trial.log_acceptance).all()
    assert (trial.kappa > 0.0).all()
    if trial.residuals is not None:
        assert trial.residuals.values.size <= MOST_ROWS
        assert set(trial.residuals.sizes.tolist()) == {0} or trial.residuals.weights.max() <= trial.n_data


def posterior(data: bytes) -> bool:
    """The posterior of another tool, as the dashboard takes it from a browser; nothing vouches for its bytes."""
    kind, acceptance = KINDS[len(data) % len(KINDS)], 0.3 if len(data) % 2 else None  # as good as any choice

    def read() -> None:
        rng, file = np.random.default_rng(1), io.BytesIO(data)
        found = trial_from_posterior(rng, file, kind, acceptance=acceptance, most_bytes=UNPACKED)
        _check_trial(found.trial)
        assert found.scale > 0.0
        assert all(remark.isprintable() for remark in found.remarks)

    return refused_in_words(read)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def design_toml(data: bytes) -> bool:
    """A design file; what is read can be written and read back."""

    def read() -> None:
        design = Design.from_toml(_text(data))
        assert Design.from_toml(design.to_toml()) == design

    return refused_in_words(read)


def design_json(data: bytes) -> bool:
    """The same in JSON."""

    def read() -> None:
        design = Design.from_json(_text(data))
        assert Design.from_json(design.to_json()) == design

    return refused_in_words(read)


def _design_file(suffix: str) -> Callable[[bytes], bool]:
    """The file that `run --design` reads; what is read can be written and read back."""

    def parse(data: bytes) -> bool:
        with _file(data, suffix) as path:

            def read() -> None:
                found = Design.load(path)
                again = Design.from_json if suffix == ".json" else Design.from_toml
                assert again(found.to_json() if suffix == ".json" else found.to_toml()) == found

            return refused_in_words(read)

    return parse


def config_toml(data: bytes) -> bool:
    """The config of a run; what is read can be written and read back."""

    def read() -> None:
        config = SamplerConfig.from_toml(_text(data))
        assert SamplerConfig.from_toml(config.to_toml()) == config

    return refused_in_words(read)


def fit_toml(data: bytes) -> bool:
    """The config of a fit, likewise."""

    def read() -> None:
        config = FitConfig.from_toml(_text(data))
        assert FitConfig.from_toml(config.to_toml()) == config

    return refused_in_words(read)


def field_npy(data: bytes) -> bool:
    """The potentials of a random field."""
    with _file(data, ".npy") as path:

        def read() -> None:
            assert field_of(FieldTable(), DataTable(path=path)).field.log_psi.size <= MOST_ROWS

        return refused_in_words(read)


@contextlib.contextmanager
def _file(data: bytes, suffix: str) -> Iterator[str]:
    descriptor, path = tempfile.mkstemp(suffix)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        yield path
    finally:
        os.unlink(path)


def _data(suffix: str, labels: Labels) -> Callable[[bytes], bool]:
    def parse(data: bytes) -> bool:
        with _file(data, suffix) as path:

            def read() -> None:
                found = load(DataTable(path=path), labels)
                assert found.x.size <= MOST_ROWS
                assert np.isfinite(np.asarray(found.x)).all()

            return refused_in_words(read)

    return parse


_FORMULA_TABLE = {
    "y": [0, 1, 1, 0, 1, 0],
    "n": [3, 2, 1, 0, 5, 5],
    "x": [0.5, 1.0, 2.0, 0.25, 3.0, 1.5],
    "g": ["a", "b", "a", "c", "b", "a"],
}


def formula(data: bytes) -> bool:
    """A formula on a small table: it may make a frame, or be refused."""
    text = data.decode("utf-8", "replace")
    return refused_in_words(lambda: model_frame(text, _FORMULA_TABLE, "gaussian"))


def _table(suffix: str) -> Callable[[bytes], bool]:
    """A table with columns of numbers and texts, and missing values."""

    def parse(data: bytes) -> bool:
        with _file(data, suffix) as path:

            def read() -> None:
                found = model_frame("y ~ a + g", path, "gaussian", missing="drop")
                assert found.rows.size <= MOST_ROWS
                assert np.isfinite(found.rows).all() and np.isfinite(found.y).all()

            return refused_in_words(read)

    return parse


def _labels_npy(data: bytes) -> bool:
    """Labels of a mapped file."""
    with _file(data, ".npy") as labels, _file(_NINE_ROWS, ".npy") as rows:
        return refused_in_words(lambda: load(DataTable(path=rows, labels=labels), "binary"))


def checkpoint(data: bytes) -> bool:
    """A checkpoint: damaged ones are not used; with a right checksum even crafted ones are understood or refused."""
    sealed = data if data.startswith(MAGIC) else MAGIC + data
    used = False
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedFile)
        chain = Path(folder) / "chain-0000"
        chain.mkdir()
        for content in (data, sealed + hashlib.sha256(sealed).digest()):
            (chain / "state-000000000000.bin").write_bytes(content)
            used = Store(folder).chain(0).latest() is not None
    return not used


def description(data: bytes) -> bool:
    """What a run's directory says it holds."""
    sealed = MAGIC + data
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "run.bin").write_bytes(sealed + hashlib.sha256(sealed).digest())
        return refused_in_words(lambda: Store(folder).meta())


def netcdf(data: bytes) -> bool:
    """Results of a run, with a wrong checksum or (from other tools) with none."""
    with _file(data, ".nc") as path:
        return refused_in_words(lambda: from_netcdf(path))


def url_design(data: bytes) -> bool:
    """A design in a link; a damaged one is as good as none."""
    return parse_design(_text(data)) is None


def url_source(data: bytes) -> bool:
    """The trial run that a link names; a damaged one names the first example."""
    return source_in_link(data) == Source()


def command_line(data: bytes) -> bool:
    """Arguments, one per line: parsed, or refused in one line (`--help` and `--version` leave with 0)."""

    def read() -> None:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                options = build_parser().parse_args(_text(data.replace(b"\0", b"")).split("\n"))
        except UsageError as error:  # `main` reports it in the same way
            raise BadInput(str(error)) from None
        assert isinstance(options, argparse.Namespace)

    try:
        return refused_in_words(read)
    except SystemExit as left:
        if left.code != 0:
            raise
        return False


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


_NINE_ROWS = _npy(np.arange(18.0).reshape(9, 2))

TARGETS: dict[str, Callable[[bytes], bool]] = {
    "trial_csv": _trial(".csv"),
    "trial_parquet": _trial(".parquet"),
    "trial_npz": _trial(".npz"),
    "design_toml": design_toml,
    "design_json": design_json,
    "design_file_toml": _design_file(".toml"),
    "design_file_json": _design_file(".json"),
    "config_toml": config_toml,
    "fit_toml": fit_toml,
    "field_npy": field_npy,
    "data_csv": _data(".csv", "binary"),
    "data_numbers_csv": _data(".csv", "numbers"),
    "data_parquet": _data(".parquet", "binary"),
    "data_npz": _data(".npz", "binary"),
    "data_npy": _data(".npy", None),
    "labels_npy": _labels_npy,
    "formula": formula,
    "table_csv": _table(".csv"),
    "table_parquet": _table(".parquet"),
    "checkpoint": checkpoint,
    "description": description,
    "netcdf": netcdf,
    "posterior": posterior,
    "url_design": url_design,
    "url_source": url_source,
    "command_line": command_line,
}
