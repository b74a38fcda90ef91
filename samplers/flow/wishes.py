"""What the caller of `sample` asks for, checked before anything is read."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from designer.core.errors import BadInput, integer, real, shown
from designer.rule.design import Design
from designer.search.search import LEAST_TOLERANCE
from samplers.chains.draws import MAX_DRAWS
from samplers.chains.parallel import MAX_CHAINS, MAX_SEED
from samplers.study.audit import PASSES
from samplers.study.certify import FEWEST

TestName: TypeAlias = Literal["auto", "sequential", "exact", "exact-minibatch"]
ProposalName: TypeAlias = Literal["auto", "proxy", "random-walk"]
LaplaceWish: TypeAlias = Literal["auto", "never", "always"]

TESTS: tuple[TestName, ...] = ("auto", "sequential", "exact", "exact-minibatch")
PROPOSALS: tuple[ProposalName, ...] = ("auto", "proxy", "random-walk")
LAPLACE: tuple[LaplaceWish, ...] = ("auto", "never", "always")
ERROR = 0.05  # posterior standard deviations, if nothing is said


class NotGiven:
    """Stands for an argument that the caller did not give, and shows its default: a config's entry may replace it.

    Examples
    --------
    >>> NotGiven(4), NotGiven("auto")
    (4, 'auto')
    """

    def __init__(self, default: Any) -> None:
        self.default = default

    def __repr__(self) -> str:
        return repr(self.default)


# arguments of `sample` that a config may say too; None: chosen on the way
DEFAULT: dict[str, Any] = {name: NotGiven(None) for name in ("draws", "warmup", "design", "order")}
DEFAULT |= {name: NotGiven("auto") for name in ("test", "proposal", "heavy")}
DEFAULT |= {"chains": NotGiven(4), "seed": NotGiven(0)}


def usual(asked: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with defaults for those that were not given."""
    return {name: value.default if isinstance(value, NotGiven) else value for name, value in asked.items()}


class Wishes(NamedTuple):
    """The arguments of `sample`, which explains them; None: chosen on the way."""

    posterior_error: float | None
    tolerance: float | None
    draws: int | None
    warmup: int | None
    chains: int
    seed: int
    test: Any
    design: Design | None
    proposal: Any
    order: int | None
    heavy: Any
    laplace: LaplaceWish
    pairs: int | None
    audit: int
    certify: int | None

    @property
    def error(self) -> float:
        """The posterior error to judge by, also where a tolerance was asked for."""
        return ERROR if self.posterior_error is None else self.posterior_error

    def entries(self) -> dict[str, Any]:
        """What the draws depend on, as text, by name: a flow that differs is not resumed."""
        left_out = {"draws", "chains", "certify", "audit"}
        named = {name: value for name, value in self._asdict().items() if name not in left_out}
        if self.design is not None:
            named["design"] = self.design.without_notes.to_json()
        return {name: _text(value) for name, value in named.items()}


def _text(value: Any) -> str:
    """Numbers, words and lists as they are; of objects the class: what they do is compared where they are used."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return repr(np.asarray(value).tolist())
    return repr(value) if value is None or isinstance(value, (str, int, float)) else type(value).__qualname__


def checked(
    posterior_error: float | None,
    tolerance: float | None,
    draws: int | None,
    warmup: int | None,
    chains: int,
    seed: int,
    test: Any,
    design: Design | None,
    proposal: Any,
    order: int | None,
    heavy: npt.ArrayLike | str | int,
    laplace: str,
    pairs: int | None,
    audit: bool | int,
    certify: int | None,
) -> Wishes:
    """The wishes, or BadInput in one line."""
    if posterior_error is not None and tolerance is not None:
        raise BadInput("give posterior_error (of means and sds) or tolerance (of mean |Δ|), not both")
    if tolerance is None and posterior_error is None:
        posterior_error = ERROR
    if posterior_error is not None:
        posterior_error = real("posterior_error", posterior_error, 1e-4, 1.0)
    if tolerance is not None:
        tolerance = real("tolerance", tolerance, LEAST_TOLERANCE, 1.0)
    if design is not None:
        if not isinstance(design, Design):
            raise BadInput(f"design: a {type(design).__name__}; must be a Design")
        if test not in ("auto", "sequential"):
            raise BadInput(f"test = {shown(test)}: a design is of a sequential test; give one of the two")
        test = "sequential"
    _one_of("test", test, TESTS, "decide")
    _one_of("proposal", proposal, PROPOSALS, "propose")
    if laplace not in LAPLACE:
        raise BadInput(f"laplace = {shown(laplace)}: must be {_listed(LAPLACE)}")
    if order is not None and (isinstance(order, bool) or order not in (0, 1, 2)):
        raise BadInput(f"order = {shown(order)}: must be 0 (no control variates), 1 or 2")
    passes = audit if isinstance(audit, bool) else integer("audit", audit, 0, 10**6)
    return Wishes(
        posterior_error,
        tolerance,
        None if draws is None else integer("draws", draws, 4, MAX_DRAWS),
        None if warmup is None else integer("warmup", warmup, 0, MAX_DRAWS),
        integer("chains", chains, 1, MAX_CHAINS),
        integer("seed", seed, 0, MAX_SEED),
        test,
        design,
        proposal,
        order,
        heavy,
        laplace,
        None if pairs is None else integer("pairs", pairs, 10, 10**6),
        (PASSES if passes else 0) if isinstance(passes, bool) else passes,
        None if certify is None else integer("certify", certify, FEWEST, 10**8),
    )


def _one_of(name: str, value: Any, allowed: tuple[str, ...], method: str) -> None:
    if value in allowed if isinstance(value, str) else hasattr(value, method):
        return
    raise BadInput(f"{name} = {shown(value)}: must be {_listed(allowed)}, or an object with `{method}`")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names[:-1]) + f' or "{names[-1]}"'
