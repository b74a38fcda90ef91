"""Configs of the papers' chains, and of those of the bundled trial runs: for trial runs, runs and exports."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from designer.core.errors import BadInput
from samplers.config.config import SamplerConfig
from samplers.data.sources import fingerprint

ALWAYS_MADE_UP = "tall-logistic"  # the source that no file can replace


class BuiltIn(NamedTuple):
    """A chain that anybody can run: title, description, and the config without its test."""

    title: str
    about: str
    toml: str


_DIGITS = """[data]
source = "mnist79"

[model]
kind = "logistic"
prior_precision = 10.0
control = {control}

[proposal]
kind = "{proposal}"

[run]
draws = 10000
warmup = 500
chains = 4
"""

BUILT_IN: Mapping[str, BuiltIn] = {
    "e3": BuiltIn(
        "Random walk on handwritten digits",
        "Logistic regression, sevens against nines, N = 12,214, 50 components (the posterior of K14 §6.1).",
        _DIGITS.format(control=0, proposal="random-walk"),
    ),
    "e3-control": BuiltIn(
        "Handwritten digits, control variates",
        "The same chain with second-order control variates: the test reads only what they miss.",
        _DIGITS.format(control=2, proposal="random-walk"),
    ),
    "e3-proxy": BuiltIn(
        "Proposals from the proxy",
        "Independent proposals from the quadratic proxy: nearly all are accepted.",
        _DIGITS.format(control=2, proposal="proxy"),
    ),
    "e4": BuiltIn(
        "Unmixing sounds",
        "Independent components on the Stiefel manifold, 100,000 samples of music, noise and two Gaussian sources (K14 "
        "§6.2, which has 1,950,000).",
        """[data]
source = "audio-gaussian"
rows = 100000

[model]
kind = "ica"

[proposal]
kind = "stiefel"
scale = 0.01

[run]
draws = 10000
warmup = 500
chains = 4
""",
    ),
    "e6": BuiltIn(
        "Variable selection by reversible jumps",
        "Census income, N = 143,531, 50 covariates (K14 §6.3).",
        """[data]
source = "census"
intercept = true

[model]
kind = "rj-logistic"

[proposal]
kind = "jumps"

[run]
draws = 10000
warmup = 2000
chains = 4
""",
    ),
}

_TALL = """[data]
source = "tall-logistic"

[model]
kind = "logistic"
prior_precision = 1.0
control = {control}

[proposal]
kind = "random-walk"

[run]
draws = {draws}
warmup = 500
chains = {chains}
"""

# the chains of the bundled trial runs, by their names in `designer.pairs.examples`
EXAMPLE_CHAINS: Mapping[str, BuiltIn] = {
    "logistic": BuiltIn(
        "Logistic regression, random walk",
        "The chain of the bundled trial run: made-up data, N = 100,000, 10 coefficients; a short run.",
        _TALL.format(control=0, draws=2000, chains=2),
    ),
    "control": BuiltIn(
        "Logistic regression, control variates",
        "The chain of the bundled trial run with control variates: the test reads only what they miss.",
        _TALL.format(control=2, draws=10000, chains=4),
    ),
    "ica": BuiltIn(
        "Unmixing sounds, a short run",
        "The chain of the bundled trial run: independent components, 100,000 samples of four sounds.",
        """[data]
source = "audio"
rows = 100000

[model]
kind = "ica"

[proposal]
kind = "stiefel"
scale = 0.007

[run]
draws = 2000
warmup = 1000
chains = 2
""",
    ),
}
CHAINS: Mapping[str, BuiltIn] = {**BUILT_IN, **EXAMPLE_CHAINS}


def built_in(name: str, folder: str | None = None, seed: int = 0) -> SamplerConfig:
    """The config of a built-in chain with the exact test; `folder` contains the files of its data set.

    Examples
    --------
    >>> built_in("e3").model.kind
    'logistic'
    """
    if name not in CHAINS:
        raise BadInput(f"experiment = {name!r}: must be one of {', '.join(CHAINS)}")
    config = SamplerConfig.from_toml(CHAINS[name].toml, exact=True, seed=seed)
    return config.model_copy(update={"data": config.data.model_copy(update={"folder": folder})})


@cache
def built_in_text(name: str) -> str:
    """The text of that config.

    Examples
    --------
    >>> "tall-logistic" in built_in_text("control")
    True
    """
    return built_in(name).to_toml()


def twin_notice(config: SamplerConfig) -> str | None:
    """A line that says if a synthetic twin replaces the data set of a config."""
    source = config.data.source
    if (
        source is None
        or source == ALWAYS_MADE_UP
        or fingerprint(source, config.data.folder) != fingerprint(source, None)
    ):
        return None
    return f"synthetic data: no files of {source} were found, so a twin of the same shape replaces them"
