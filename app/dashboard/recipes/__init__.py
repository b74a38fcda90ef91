"""Code that makes a trial run from the user's own chain or posterior, to be copied: one text per tool."""

from __future__ import annotations

from app.dashboard.recipes import own_chains, posteriors
from app.dashboard.recipes.recipe import Recipe

__all__ = ["RECIPES", "Recipe"]

RECIPES: dict[str, Recipe] = {
    "NumPy": own_chains.NUMPY,
    "JAX": own_chains.JAX,
    "NumPyro": posteriors.NUMPYRO,
    "PyMC": posteriors.PYMC,
    "Stan": posteriors.STAN,
    "R": own_chains.R,
}
