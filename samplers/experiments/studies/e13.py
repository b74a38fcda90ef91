"""E13: how well the correction variable of the Barker minibatch test turns a normal variable into a logistic one.

Full is the paper's size; quick has fewer points only, since the experiment takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.decide.correction import Correction, correction, ridge_correction
from samplers.experiments.framework.report import Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work

BLOCK = 64  # points of the distribution function computed at once
FLOOR = 1e-12
BETTER = "the fitted table is at least 100 times better than the ridge table with the same σ"
VERSIONS = "S17 arXiv", "S17 UAI"


class PublishedError(NamedTuple):
    """One line of S17 Table 1: grid size N, σ, λ, the printed L_inf error, and the version of the paper."""

    n: int
    sigma: float
    penalty: float
    published: float
    version: str

    @property
    def name(self) -> str:
        """The name of its part."""
        return f"ridge-sigma{self.sigma:g}-n{self.n}-lambda{self.penalty:g}"


class Settings(NamedTuple):
    """The lines of the table, the σ of our own tables, and where the distribution functions are compared."""

    table: tuple[PublishedError, ...]
    sigmas: tuple[float, ...]
    reach: float = 20.0
    points: int = 401


PUBLISHED = (
    PublishedError(4000, 0.9, 1.0, 1.0e-4, VERSIONS[0]),
    PublishedError(4000, 0.8, 0.03, 5.0e-6, VERSIONS[0]),
    PublishedError(4000, 1.0, 10.0, 8.9e-4, VERSIONS[1]),
    PublishedError(2000, 0.8, 0.01, 5.0e-6, VERSIONS[1]),
)
SIGMAS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)


def parts(settings: Settings) -> list[str]:
    """One part for each line of the table, and one for our own tables."""
    return [*(row.name for row in settings.table), "fitted"]


def work(settings: Settings, name: str, work: Work) -> Values:
    """Make the table of this part, and measure the distribution that it actually samples from."""
    x = np.linspace(-settings.reach, settings.reach, settings.points)
    if name == "fitted":
        return _fitted(settings, x, work)
    row = next(row for row in settings.table if row.name == name)
    table = ridge_correction(row.sigma, row.n, row.penalty)
    work.step(0.5, "distribution function")
    return {"x": x, "off": _off(table, x), "claimed": table.error, "atoms": table.x.size}


def _fitted(settings: Settings, x: Floats, work: Work) -> Values:
    """Tables by non-negative least squares, one for each σ."""
    off, claimed, atoms = [], [], []
    for number, sigma in enumerate(settings.sigmas):
        work.step(number / len(settings.sigmas), f"sigma = {sigma:g}")
        table = correction(sigma)
        off.append(_off(table, x))
        claimed.append(table.error)
        atoms.append(table.x.size)
    return {"x": x, "off": np.array(off), "claimed": np.array(claimed), "atoms": np.array(atoms)}


def _off(table: Correction, x: Floats) -> Floats:
    """P(X_norm + X_corr < x) - logistic(x), summed over the table as it is sampled."""
    from scipy.special import expit

    blocks = [_distribution(table, x[k : k + BLOCK]) for k in range(0, x.size, BLOCK)]
    off: Floats = np.concatenate(blocks) - expit(x)
    return off


def _distribution(table: Correction, x: Floats) -> Floats:
    """The distribution function of X_norm + X_corr; a cell's mass is spread evenly over its width."""
    from scipy.special import ndtr

    z = (x[:, None] - table.x) / table.sigma
    if table.width == 0.0:
        return np.asarray(ndtr(z) @ table.mass)
    half = 0.5 * table.width / table.sigma
    return np.asarray((_integral(z + half) - _integral(z - half)) / (2.0 * half) @ table.mass)


def _integral(z: Floats) -> Floats:
    """The integral of the normal distribution function up to z."""
    from scipy.special import ndtr

    return np.asarray(z * ndtr(z) + np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """The table beside the printed figures, and the curves."""
    fitted = values["fitted"]
    ours = np.abs(fitted["off"]).max(axis=1)
    ridge = {row: float(np.abs(values[row.name]["off"]).max()) for row in settings.table}
    at = {sigma: float(error) for sigma, error in zip(settings.sigmas, ours, strict=True)}
    checks = {
        "every ridge table is at least as good as its printed figure": all(
            e <= row.published for row, e in ridge.items()
        ),
        BETTER: all(at[row.sigma] <= error / 100.0 for row, error in ridge.items()),
        "every table has the error it claims, within 10%": _honest(settings, values, ridge)
        and bool(np.all(ours <= 1.1 * np.asarray(fitted["claimed"]))),
    }
    return Report(
        _finding(ridge, at), checks, [_table(settings, values, ridge, at)], _panels(settings, values, ours, checks)
    )


def _honest(settings: Settings, values: Mapping[str, Values], ridge: Mapping[PublishedError, float]) -> bool:
    return all(error <= 1.1 * values[row.name]["claimed"] for row, error in ridge.items())


def _finding(ridge: Mapping[PublishedError, float], at: Mapping[float, float]) -> str:
    lines = [
        f"σ = {row.sigma:g}, N = {row.n:,}, λ = {row.penalty:g}: {error:.1e} (printed: {row.published:.1e})"
        for row, error in ridge.items()
    ]
    best = ", ".join(f"{at[s]:.1e} at σ = {s:g}" for s in sorted({row.sigma for row in ridge}))
    rising = _rising(at)
    grows = (
        f" From σ = {rising:g} on, the error grows with σ: no distribution solves the equation exactly."
        if rising
        else ""
    )
    return (
        "Largest error of the distribution function of X_norm + X_corr, measured on the table that is actually sampled "
        f"(clipped at 0 and normalised). Ridge regression as in S17 Eqn 15: {'; '.join(lines)}. Keeping u ≥ 0 while "
        f"fitting (non-negative least squares) instead of clipping afterwards gives {best}, with a table of a few "
        f"dozen atoms.{grows}"
    )


def _rising(at: Mapping[float, float]) -> float | None:
    """The smallest σ from which the error grows with every σ; None if it does not grow at the end."""
    sigmas = sorted(at)
    start = len(sigmas) - 1
    while start > 0 and at[sigmas[start - 1]] < at[sigmas[start]]:
        start -= 1
    return sigmas[start] if start < len(sigmas) - 1 else None


def _table(
    settings: Settings, values: Mapping[str, Values], ridge: Mapping[PublishedError, float], at: Mapping[float, float]
) -> ResultTable:
    columns = ["table", "σ", "N", "λ", "L∞ error", "paper", "version", "entries"]
    rows: list[list[str | int | float | None]] = [
        ["ridge, clipped", row.sigma, row.n, row.penalty, error, row.published, row.version, values[row.name]["atoms"]]
        for row, error in ridge.items()
    ]
    for (sigma, error), atoms in zip(at.items(), values["fitted"]["atoms"], strict=True):
        rows.append(["non-negative least squares", sigma, None, None, error, None, None, int(atoms)])
    return ResultTable("Error of the correction variable (S17 Table 1)", columns, rows)


def _shown(off: Floats) -> list[float]:
    """Absolute values for a logarithmic axis, with a floor where they cross 0."""
    shown: list[float] = np.maximum(np.abs(off), FLOOR).tolist()
    return shown


def _panels(settings: Settings, values: Mapping[str, Values], ours: Floats, checks: Mapping[str, bool]) -> list[Panel]:
    x = values["fitted"]["x"].tolist()
    curves = [
        Series(f"ridge, σ = {row.sigma:g}, N = {row.n:,}", x, _shown(values[row.name]["off"])) for row in settings.table
    ]
    for sigma in sorted({row.sigma for row in settings.table}):
        off = values["fitted"]["off"][settings.sigmas.index(sigma)]
        curves.append(Series(f"least squares, σ = {sigma:g}", x, _shown(off)))
    where = Panel(
        "Where the sum is not logistic",
        "x",
        "|error of the distribution function|",
        curves,
        log_y=True,
        note="Fitted with u ≥ 0, the tables are orders of magnitude better than when clipped afterwards."
        if checks[BETTER]
        else "Tables fitted with u ≥ 0, and tables clipped afterwards.",
    )
    best = Series("non-negative least squares", settings.sigmas, ours.tolist())
    printed, measured = (
        Series(name, [row.sigma for row in settings.table], y, style="points")
        for name, y in (
            ("S17 Table 1, as printed", [row.published for row in settings.table]),
            ("ridge, measured", [float(np.abs(values[row.name]["off"]).max()) for row in settings.table]),
        )
    )
    size = Panel(
        "L∞ error against σ",
        "σ of the normal part",
        "L∞ error",
        [best, printed, measured],
        log_y=True,
        note="A larger σ needs fewer data per step; the printed figures are those of S17.",
    )
    return [size, where]


EXPERIMENT = Experiment(
    name="e13",
    title="The correction variable",
    source="S17 §4, Table 1",
    question="The Barker minibatch test adds a correction so that its noise becomes logistic: how exactly?",
    sizes={
        "tiny": Settings((PUBLISHED[0], PUBLISHED[3]), (0.8, 0.9), points=101),
        "quick": Settings(PUBLISHED, SIGMAS),
        "full": Settings(PUBLISHED, SIGMAS, points=2001),
    },
    parts=parts,
    work=work,
    report=report,
)
