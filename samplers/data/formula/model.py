"""`glm`: a generalised linear model from a formula and a table."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from designer.core.errors import BadInput, prefix_errors, shown
from samplers.data.formula.collinear import standard_deviations
from samplers.data.formula.frame import ModelFrame, model_frame
from samplers.data.formula.priors import prior_scales
from samplers.data.formula.scan import Missing

Mask: TypeAlias = npt.NDArray[np.bool_]


class DataWarning(UserWarning):
    """Something about the table that a reader of the results should know; the model is made all the same.

    Examples
    --------
    >>> issubclass(DataWarning, UserWarning)
    True
    """


def glm(
    formula: str,
    table: Any,
    family: str = "bernoulli",
    *,
    prior: Any = "flat",
    prior_tails: Any = "normal",
    positive: object = None,
    missing: Missing = "refuse",
    weights: str | None = None,
    cache: str | Path | None = None,
    **shapes: float | None,
) -> Any:
    """A generalised linear model from a formula and a table.

    Parameters
    ----------
    formula
        `response ~ terms`, with the operators of R and formulaic, and further `offset(...)`, `(1 | group)`,
        `(1 + x | group)` and, for the binomial family, `successes | trials(n) ~ ...`.
    table
        The path of a .csv, .tsv, .txt or .parquet file; a data frame of pandas or polars; an Arrow table; or a dict of
        arrays. Files are read in blocks, and only the columns that the formula names.
    family
        "bernoulli" (logit link), "probit", "cloglog", "binomial", "poisson", "negative-binomial", "gaussian",
        "student-t", "gamma" (log link) or "softmax".
    prior
        "flat"; a number, the standard deviation of a coefficient's prior per standard deviation of its column (columns
        that do not vary, such as the intercept, stay flat); a dict of these by coefficient, with "others"; or a prior
        object such as `Normal`, in the columns' own units.
    prior_tails
        "normal", "laplace", or degrees of freedom of Student's t; the number above is then the prior's scale.
    positive
        The value of a binary response that counts as 1.
    missing
        "refuse", or "drop": leave out rows without a value in a column of the formula.
    weights
        A column, or an expression, that multiplies the rows' log-likelihoods.
    cache
        Where to write the rows, a .npy file; by default they are in memory, or in a temporary file if they are larger
        than half of it.
    **shapes
        Shape parameters of the family that are known, such as `sigma`; the others are sampled.

    Returns
    -------
    Model
        With `names` of its parameters.

    Raises
    ------
    BadInput
        If formula, table and family do not go together, or if columns are collinear and the prior is flat.

    Warns
    -----
    DataWarning
        About rows left out, columns that a few rows make text, levels with a single row, and collinear columns.

    Examples
    --------
    >>> table = {"bought": ["no", "yes", "yes", "no"], "age": [20.0, 30.0, 50.0, 40.0]}
    >>> model = glm("bought ~ age", table, positive="yes", prior=2.5)
    >>> model.n_data, model.names
    (4, ('intercept', 'age'))
    """
    frame = model_frame(formula, table, family, positive=positive, missing=missing, weights=weights, cache=cache)
    model, remarks = model_of(frame, prior, prior_tails, shapes)
    for remark in remarks:
        warnings.warn(remark, DataWarning, stacklevel=2)
    return model


def model_of(
    frame: ModelFrame,
    prior: Any = "flat",
    tails: Any = "normal",
    shapes: dict[str, float | None] | None = None,
    temperature: float = 1.0,
) -> tuple[Any, list[str]]:
    """The model of a frame, and what a reader should know about it."""
    from samplers.models import LinearModel
    from samplers.models.glm import glm_model
    from samplers.models.groups import Grouped, Groups
    from samplers.models.tempered import tempered

    made, free = _prior(prior, tails, frame)
    remarks = [*frame.remarks, *_collinear(frame, free)]
    options: dict[str, Any] = {"offset": frame.offset, "weights": frame.weights, "trials": frame.trials}
    options |= shapes or {}
    with prefix_errors(f"family {frame.family}: "):
        model: Any = glm_model(frame.rows, frame.y, frame.family, prior=made, names=frame.names, **options)
    if frame.classes is not None:
        named = [f"{one}: {name}" for one in frame.classes[1:] for name in frame.names]
        model = replace(model, names=(*named, *model.names[len(named) :]))
    if frame.groups and not isinstance(model, LinearModel):
        known = f"fix {' and '.join(model.shapes)}" if frame.classes is None else "this family has several"
        raise BadInput(f"family {frame.family}: group terms need one predictor and known shape parameters; {known}")
    model = tempered(model, temperature)
    if frame.groups:
        groups = [
            Groups(
                one.codes.astype(np.int32),
                one.columns,
                one.name,
                one.labels,
                one.effects if one.columns is not None else None,
            )
            for one in frame.groups
        ]
        model = Grouped.of(model, groups)
    return model, remarks


def _prior(prior: Any, tails: Any, frame: ModelFrame) -> tuple[Any, Mask]:
    """The prior as the models take it, and which coefficients it leaves free."""
    from samplers.models import priors

    repeats = 1 if frame.classes is None else len(frame.classes) - 1  # the same prior for every class but the first
    if isinstance(prior, (priors.Normal, priors.StudentT, priors.Laplace, priors.Flat, priors.Joint)):
        return prior, np.asarray(prior.over(repeats * len(frame.names)).flat)[: len(frame.names)]
    scales = prior_scales(prior, frame.names, standard_deviations(frame.rows))
    free = np.isinf(scales)
    if free.all():
        return priors.Flat(), free
    if tails == "normal":
        precision = np.where(free, 0.0, 1.0 / np.where(free, 1.0, scales) ** 2)
        return priors.Normal(np.tile(precision, repeats)), free
    if isinstance(tails, str) and tails != "laplace":
        raise BadInput(f"prior_tails = {shown(tails)}: must be 'normal', 'laplace' or degrees of freedom")
    parts: list[tuple[int, Any]] = []
    for begin, end in _runs(free):
        some = scales[begin:end]
        proper = priors.Laplace(some) if tails == "laplace" else priors.StudentT(some, tails)
        parts.append((end - begin, priors.Flat() if free[begin] else proper))
    return priors.joined(repeats * parts), free


def _runs(free: Mask) -> list[tuple[int, int]]:
    """Where coefficients with and without a prior begin and end."""
    edges = [0, *(np.flatnonzero(np.diff(free.astype(int))) + 1).tolist(), len(free)]
    return list(pairwise(edges))


def _collinear(frame: ModelFrame, free: Mask) -> list[str]:
    """Refuse collinear columns that have no prior; say so about the others."""
    remarks, place = [], {name: k for k, name in enumerate(frame.names)}
    for sentence, columns in frame.redundant.items():
        if all(free[place[name]] for name in columns):
            advice = "leave one out, or give them a prior"
            raise BadInput(f"{sentence}: with a flat prior there is no posterior; {advice}")
        remarks.append(f"{sentence}: only the prior tells their coefficients apart")
    return remarks
