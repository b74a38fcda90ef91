"""Fits that the dashboard runs, with the looks of the test so far for a live figure."""

from __future__ import annotations

import tempfile
from pathlib import Path

from app.dashboard.jobs.job_queue import Job
from designer.core.errors import BadInput
from samplers.config.fit_config import FitConfig
from samplers.data.table import open_table
from samplers.fit.table_fit import TableFit
from samplers.fit.trace import Look

STEPS = 1000  # of the progress bar


def run_fit(job: Job, config: FitConfig, content: bytes, looks: list[Look]) -> TableFit:
    """Fit the table with this content; its looks are appended to `looks` as they are taken."""
    job.progress(0, STEPS, "reading the table")
    with tempfile.TemporaryDirectory(prefix="austerity-") as folder:
        path = Path(folder) / Path(config.data.path).name
        path.write_bytes(content)
        try:
            return config.at(path).run(
                watch=looks.append,
                tell=lambda share, note: job.progress(int(STEPS * share), STEPS, note),
                cancelled=job.cancelled,
            )
        except BadInput as problem:
            raise BadInput(str(problem).replace(str(path), path.name)) from None


def column_names(name: str, content: bytes) -> tuple[str, ...]:
    """The names of the columns of a table."""
    with tempfile.TemporaryDirectory(prefix="austerity-") as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(content)
        try:
            return open_table(path).names
        except BadInput as problem:
            raise BadInput(str(problem).replace(str(path), path.name)) from None
