"""A config from a table and a formula: what the command line, and `sample` for files, make of their options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from designer.core.validation import validated
from samplers.config.config import SamplerConfig
from samplers.config.schema import DataTable, GlmTable, ProposalTable, RunTable


def config_from_table(
    path: str | Path,
    formula: str,
    family: str = "bernoulli",
    *,
    positive: object = None,
    missing: str = "refuse",
    weights: str | None = None,
    prior: object = "flat",
    model: dict[str, Any] | None = None,
    proposal: dict[str, Any] | None = None,
    **run: Any,
) -> SamplerConfig:
    """The config of a generalised linear model on a table, with the exact test.

    Parameters
    ----------
    path
        A table with named columns: .csv, .tsv, .txt or .parquet.
    formula, family, positive, missing, weights, prior
        Entries of `[model]`, as for `glm`.
    model
        Further entries of `[model]`, such as `shape`, `control` and `heavy`.
    proposal
        Entries of `[proposal]`; by default proposals from the proxy.
    **run
        Entries of `[run]`.

    Returns
    -------
    SamplerConfig
        Nothing is read yet.

    Raises
    ------
    BadInput
        If an entry is not allowed.

    Examples
    --------
    >>> config = config_from_table("policies.parquet", "claims ~ age", "poisson", draws=100)
    >>> config.model.kind, config.model.family, config.proposal.kind, config.run.draws
    ('glm', 'poisson', 'proxy', 100)
    """
    entries = {"formula": formula, "family": family, "positive": positive, "missing": missing, "weights": weights}
    given = {"kind": "glm", **entries, "prior": prior, **(model or {})}
    return SamplerConfig(
        test=None,
        data=validated(DataTable, {"path": str(path)}, "data"),
        model=validated(GlmTable, given, "model"),
        proposal=validated(ProposalTable, {"kind": GlmTable.proposals[0], **(proposal or {})}, "proposal"),
        run=validated(RunTable, run, "run"),
    )
