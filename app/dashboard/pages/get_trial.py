"""A panel of the Trial run page: how to get a trial run of one's own chain."""

from __future__ import annotations

import streamlit as st

from app.dashboard.recipes import RECIPES
from designer.pairs.columns import TEMPLATE

COLUMNS = """
One row per proposed move θ → θ′ of your chain, with $l_i = \\log p(x_i; θ') - \\log p(x_i; θ)$ over all N data:

| column | what it is | a usual value | a common mistake |
|---|---|---|---|
| `mu` | mean of the $l_i$ | about ±1/N | their sum |
| `sigma` | standard deviation of the $l_i$ | about 1/√N | of their sum; swapped with `mu` |
| `log_ratio` | $c$, see below; 0 if left out | 0 | the other sign |
| `skew` | skewness of the $l_i$, if known | between −3 and 3 | |

$c = \\log[\\rho(θ)q(θ'|θ) / (\\rho(θ')q(θ|θ'))]$ is *minus* the usual log ratio of priors and proposals: 0 for a flat
prior and a symmetric proposal.

Give N in a line `# n_data: 12214`, in a column, or in the field on this page. 100 proposals after warm-up, accepted or
not, are enough. The upload recognises these mistakes from the numbers, and skips the empty rows of a spreadsheet.
"""


def panel() -> None:
    """Code to copy, a template, and the columns explained."""
    with st.expander("Get my trial run: code for your own chain", icon=":material/code:"):
        for place, (tool, recipe) in zip(st.tabs(list(RECIPES)), RECIPES.items(), strict=True):
            with place:
                st.caption(recipe.about)
                st.code(recipe.code, language=recipe.language)
                st.caption(f"Save it as `{recipe.file}`, run it, and upload `trial.csv` here ({tool}).")
        st.markdown(COLUMNS)
        st.download_button(
            "CSV template",
            TEMPLATE,
            "trial_template.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
            help="Replace its three rows with your own.",
        )
