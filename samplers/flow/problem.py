"""What can be sampled in one call: a model of any kind, a config, or the path of a config."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, prefix_errors
from designer.core.toml_json import parse_toml, read_text
from designer.engine.step_error import Rule
from designer.rule.design import Design
from samplers.chains.slice_chain import Slice
from samplers.config.assemble import CONTENTS, build
from samplers.config.config import SamplerConfig
from samplers.config.schema import ProxyTable
from samplers.models import LinearModel, SmoothModel
from samplers.models.control import Controlled
from samplers.runs.identity import parts_of

RUN = ("draws", "warmup", "chains", "seed")  # entries of `[run]` that are also arguments of `sample`


class Problem(NamedTuple):
    """A posterior to sample, and what its config says about how.

    Attributes
    ----------
    model
        Without control variates.
    start
        Where to begin; None: zeros, or the model's own.
    names
        Of the parameters.
    mode
        The posterior mode, if it is known already.
    proposal, test, design, order, heavy
        As for `sample`, if a config says so; None if not.
    beta, tails, profile
        Of proxy proposals.
    run
        Entries of a config's `[run]` that were given.
    rule
        "metropolis" or "barker".
    facts
        About the data, for the results.
    contents, files
        Size and digest of each part of the data, and where it is from: to say what changed.
    """

    model: Any
    start: Floats | None
    names: tuple[str, ...] | None
    mode: Floats | None = None
    proposal: Any = None
    test: Any = None
    design: Design | None = None
    order: int | None = None
    heavy: Any = None
    beta: float = 1.0
    tails: Any = "auto"
    profile: Any = "auto"
    run: Mapping[str, Any] = MappingProxyType({})
    rule: Rule = "metropolis"
    facts: Mapping[str, str | int | float] = MappingProxyType({})
    contents: Mapping[str, str] = MappingProxyType({})
    files: Mapping[str, str] = MappingProxyType({})

    @property
    def differentiable(self) -> bool:
        """Whether it can have control variates."""
        return isinstance(self.model, (LinearModel, SmoothModel))

    @property
    def unpack(self) -> Callable[[Floats], dict[str, npt.NDArray[Any]]] | None:
        """Gives draws under the model's own names and shapes; None if the model does not."""
        found = getattr(self.model, "unpack", None)
        return found if callable(found) else None


def problem_of(source: Any, start: npt.ArrayLike | None, names: Sequence[str] | None) -> Problem:
    """The problem of a model, a config or the path of one."""
    if isinstance(source, (str, Path)):
        source = _loaded(Path(source))
    if isinstance(source, (SamplerConfig, _WithTest)):
        if start is not None or names is not None:
            given = "start" if start is not None else "names"
            raise BadInput(f"{given}: is for a model; a config has an entry for it")
        return _of_config(source) if isinstance(source, SamplerConfig) else _of_config(source.config, tested=True)
    model = source.model if isinstance(source, Controlled) else source
    missing = [name for name in ("n_data", "log_prior", "terms") if not hasattr(model, name)]
    if missing:
        raise BadInput(
            f"model: {type(model).__name__} has no {missing[0]}; must be a Model, a SamplerConfig or the path of one"
        )
    state = None if start is None else _numbers(start)
    if isinstance(source, Controlled) and state is None:
        state = source.centre
    own = getattr(model, "names", None) if names is None else names
    problem = Problem(model, state, None if own is None else tuple(map(str, own)), contents=parts_of("model", model))
    if not isinstance(source, Controlled):
        return problem
    return problem._replace(order=source.order, heavy=source.heavy if source.n_heavy else None)


def _numbers(start: npt.ArrayLike) -> Floats:
    try:
        state = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput("start: must be a list of numbers") from None
    if state.ndim != 1 or not np.all(np.isfinite(state)):
        raise BadInput(f"start: must be a list of finite numbers, has shape {state.shape}")
    return state


class _WithTest(NamedTuple):
    """A config whose file has a `[test]`, which counts even if that is the exact one."""

    config: SamplerConfig


def _loaded(path: Path) -> SamplerConfig | _WithTest:
    if path.is_dir():
        raise BadInput(f"{path}: is a directory; give a config, or the model")
    if path.suffix.lower() != ".toml":
        raise BadInput(f"{path}: must be a config (.toml); for a table, `glm(formula, table)` makes the model")
    with prefix_errors(f"{path}: "):
        tested = "test" in parse_toml(read_text(path))
    config = SamplerConfig.load(path, exact=not tested)
    return _WithTest(config) if tested else config


def _of_config(config: SamplerConfig, *, tested: bool = False) -> Problem:
    for name in ("redesign", "schedule"):
        if getattr(config, name) is not None:
            raise BadInput(f"{name}: `sample` uses one test; leave this table out, or use `austerity run`")
    table, asked = config.model, config.proposal
    plain: dict[str, Any] = {}
    if isinstance(asked, ProxyTable):  # the flow chooses proposal and heavy rows itself
        plain["proposal"] = asked.model_copy(update={"tails": "normal", "profile": False})
    if hasattr(table, "heavy") and not isinstance(config.test, Design):
        plain["model"] = table.model_copy(update={"heavy": 0})
    spec = build(config.model_copy(update=plain))
    if isinstance(spec.proposal, Slice) or spec.proposal is None:
        raise BadInput(
            f"proposal.kind = {asked.kind!r}: its steps are not decisions about one pair; use `austerity run`"
        )
    run = {name: getattr(config.run, name) for name in RUN if name in config.run.model_fields_set}
    facts = {name: value for name, value in spec.notes.items() if isinstance(value, (str, int, float))}
    design = config.test if isinstance(config.test, Design) else None
    problem = Problem(
        model=spec.model.model if isinstance(spec.model, Controlled) else spec.model,
        start=spec.start,
        names=spec.names,
        design=design,
        test=None if design is not None else spec.test if config.test is not None else "exact" if tested else None,
        run=run,
        rule=config.rule,
        facts={name: value for name, value in facts.items() if name not in ("heavy", "proposal")},
        contents=parts_of("model", config.model) | spec.notes["parts"][CONTENTS],
        files=spec.notes["files"],
    )
    if isinstance(spec.model, Controlled):
        problem = problem._replace(mode=spec.model.centre, order=spec.model.order, heavy=getattr(table, "heavy", None))
    elif getattr(table, "control", None) == 0:
        problem = problem._replace(mode=spec.start, order=0)
    if isinstance(asked, ProxyTable):
        return problem._replace(beta=asked.beta, tails=asked.tails, profile=asked.profile)
    return problem._replace(proposal="random-walk" if asked.kind == "adaptive" else spec.proposal)
