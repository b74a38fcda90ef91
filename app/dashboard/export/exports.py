"""Exported files, and the lines that reproduce a design on the command line and in Python."""

from __future__ import annotations

import io
import shlex
from typing import Any

from app.dashboard.state.question import Question
from app.dashboard.state.source import STATIONARY, Source
from designer.core.files import csv_text
from designer.pairs.examples import EXAMPLES
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.search.criteria import Cost
from designer.search.space import Space
from designer.search.table import Evaluated
from samplers.config.config import SamplerConfig

USUAL = Question()
CLI_PAIRS, CLI_SEED = 400, 0  # of `austerity design --acceptance`
DESIGN_FILE = "design.toml"


# --- files ------------------------------------------------------------------------------------------------------------


def trial_csv(trial: TrialRun) -> str:
    """A trial run as the text of a CSV file."""
    text = io.StringIO()
    trial.to_csv(text)
    return text.getvalue()


def trial_name(trial: TrialRun) -> str:
    """The name of the file of a trial run, wherever it is offered or read."""
    return f"trial_{trial.digest[:12]}.csv"


def evaluated_csv(evaluated: Evaluated) -> str:
    """All evaluated designs, as `austerity design --table` writes them."""
    return csv_text(evaluated._fields, zip(*evaluated, strict=True))


def sampler_config(design: Design, config: str | None) -> str:
    """What a sampler reads: the design alone, or the config of the run it was made for, with the design."""
    return design.to_toml() if config is None else SamplerConfig.from_toml(config, design).to_toml()


# --- reproducing lines ------------------------------------------------------------------------------------------------


def command_line(question: Question, source: Source, trial: TrialRun) -> str:
    """The command `austerity design …` that answers the same question."""
    words = ["austerity", "design"]
    if (source.kind, source.pairs, source.seed) == (STATIONARY, CLI_PAIRS, CLI_SEED):
        words += ["--n-data", str(source.n_data), "--acceptance", repr(source.acceptance)]
        words += ["--spread", repr(source.spread)] if source.spread else []
    else:
        words += [trial_name(trial)]
    words += ["--tolerance", repr(question.tolerance)]
    ranges = ("m_low", "m_high", "alpha", "epsilon", "growth", "cost")
    for name in ("criterion", "rule", "quantile", "confidence", "fixed_m", *ranges):
        value = getattr(question, name)
        if value != getattr(USUAL, name):
            words += [f"--{name.replace('_', '-')}", _listed(value)]
    return shlex.join([*words, "--output", DESIGN_FILE])


def python_lines(question: Question, source: Source, trial: TrialRun, best: Design | None) -> str:
    """A script that answers the same question; its last line is a comment with the design it finds."""
    changed = {name: getattr(question, name) for name in ("fixed_m", "rule", "quantile", "confidence")}
    options = [f"{name}={value!r}" for name, value in changed.items() if value != getattr(USUAL, name)]
    imports = ["search"]
    if question.space != USUAL.space:
        options.insert(0, f"space={question.space!r}")
        imports.append(Space.__name__)
    if question.cost != USUAL.cost:
        options.insert(0, f"cost={Cost(*question.cost)!r}")
        imports.append(Cost.__name__)
    reading, loading = _reading(source, trial)
    arguments = ["trial", repr(question.tolerance), repr(question.criterion), *options]
    lines = [
        *reading,
        f"from designer import {', '.join(sorted(imports))}",
        "",
        loading,
        f"result = search({', '.join(arguments)})",
        "print(result.best or result.reason)",
    ]
    return "\n".join([*lines, *([] if best is None else [f"# {constructor(best)}"])]) + "\n"


def given_lines(design: Design, question: Question, source: Source, trial: TrialRun) -> tuple[str, str]:
    """Command line and Python for a design that was loaded: its error and data use on the pairs."""
    words = ["austerity", "delta", trial_name(trial)]
    if design.explicit:
        words += ["--design", DESIGN_FILE]
    else:
        words += ["--m", str(design.m), "--epsilon", repr(design.epsilon)]
        words += ["--alpha", repr(design.alpha), "--growth", repr(design.growth)]
    words += ["--rule", question.rule] * (question.rule != USUAL.rule)
    reading, loading = _reading(source, trial)
    lines = [
        *reading,
        "from designer import Design, predict",
        "",
        loading,
        f"step = predict({constructor(design)}, trial, {question.rule!r}).step",
        "print(step.mean_abs_delta, step.mean_usage)",
    ]
    return shlex.join(words), "\n".join(lines) + "\n"


def constructor(design: Design) -> str:
    """A design as a Python expression, with every bit of its numbers."""
    knobs = f"{design.n_data}, {design.m}, {design.epsilon!r}, {design.alpha!r}, {design.growth!r}"
    return f"Design({knobs}, lower={design.lower}, upper={design.upper})" if design.explicit else f"Design({knobs})"


def _reading(source: Source, trial: TrialRun) -> tuple[list[str], str]:
    """Imports, and the line that loads or makes the trial run."""
    if source.kind in EXAMPLES:
        return ["from designer.pairs.examples import example"], f"trial = example({source.kind!r})"
    if source.kind == STATIONARY:
        made = f"{source.n_data}, {source.acceptance!r}, {source.pairs}, np.random.default_rng({source.seed})"
        made += f", {source.spread!r}" if source.spread else ""
        return ["import numpy as np", "from designer import TrialRun"], f"trial = TrialRun.at_stationarity({made})"
    return ["from designer import TrialRun"], f"trial = TrialRun.load({trial_name(trial)!r})"


def _listed(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(repr, value))
    return value if isinstance(value, str) else repr(value)
