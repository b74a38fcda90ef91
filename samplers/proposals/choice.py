"""Which proxy proposal: normal or Student tails, with or without profile corrections.

Most posteriors are nearly normal, and one pass over the data shows it: then the plain proposal is taken. Otherwise some
states are drawn from a mixture of all kinds of candidates, and one more pass gives their log posterior. From these
weighted states the effective draws per step of each candidate's independence chain follow without a chain: on them as
the only states, the chain that proposes state j with probability q_j and accepts with min(1, w_j / w_i), w = posterior
/ q, has a transition matrix, and the asymptotic variance of a mean is that of its Poisson equation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real
from samplers.models import LinearModel
from samplers.models.control import Controlled
from samplers.models.groups import Grouped
from samplers.models.totals import log_posteriors
from samplers.proposals.arrow_step import ArrowStep
from samplers.proposals.profile import PEAKED, SKEWED, Profile, Shape, shape_of
from samplers.proposals.proxy import MOST_DEGREES, ProxyStep

Tails: TypeAlias = float | Literal["auto", "normal"]
Profiled: TypeAlias = bool | Literal["auto"]

DEGREES = (50.0, 20.0, 10.0, 5.0)  # of Student's t, that are tried; the first are nearest to normal
WIDEST = 5.0  # degrees of the draws that look for tails which normal draws never visit
STATES = 64  # from each kind of candidate
CLEARLY = 10.0  # times what makes a direction worth bending: below, the plain proposal is taken without more ado
NEVER = 600.0  # log weights this far below the highest count as impossible
NEVER_MET = 1e-3  # posterior probability of the states that a chain of usual length does not meet
GAIN = 1.25  # effective draws per step that a less simple candidate must win
SEED = 5  # the choice depends on the data and the prior alone


class Candidate(NamedTuple):
    """A proposal that was considered.

    Attributes
    ----------
    degrees
        Of freedom of its tails; infinite if they are normal.
    bent
        In how many directions it has profile corrections.
    acceptance
        Predicted, for independent proposals (beta = 1).
    effective
        Predicted effective draws per step, the fewest over means and variances of all coordinates.

    Examples
    --------
    >>> Candidate(math.inf, 2, 0.97, 0.9).words
    'normal, with profile corrections in 2 directions'
    """

    degrees: float
    bent: int
    acceptance: float
    effective: float

    @property
    def words(self) -> str:
        """What it is."""
        tails = "normal" if self.degrees == math.inf else f"Student's t with {self.degrees:g} degrees of freedom"
        where = "1 direction" if self.bent == 1 else f"{self.bent} directions"
        return tails + (f", with profile corrections in {where}" if self.bent else "")


class ProposalChoice(NamedTuple):
    """A proxy proposal and why it was chosen.

    Attributes
    ----------
    proposal
        The proposal.
    kind
        What it is, in words.
    sentence
        The choice and its reason.
    candidates
        All that were compared, simplest first; none if there was nothing to choose.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 1] > 0.5 * x[:, 0] ** 2, prior_precision=10.0)
    >>> choose_proposal(Controlled.around(model, find_mode(model))).sentence
    'proxy proposals: normal; the posterior is nearly so (largest skewness 0.097)'
    """

    proposal: ProxyStep | ArrowStep
    kind: str
    sentence: str
    candidates: tuple[Candidate, ...] = ()

    @property
    def notable(self) -> bool:
        """Whether there was something to choose, or something else than the plain proposal was asked for."""
        return bool(self.candidates) or not self.proposal.plain


def choose_proposal(
    model: Controlled, beta: float = 1.0, tails: Tails = "auto", profile: Profiled = "auto"
) -> ProposalChoice:
    """The proxy proposal that promises the most effective draws per step; the plain one if that is about as good.

    Reads the data at most four times; the choice depends on the data and the prior alone.

    Parameters
    ----------
    model
        A controlled model of order 2.
    beta
        Step size of the proposal, in (0, 1]; candidates are compared at 1, where the steps are independent.
    tails
        "normal", degrees of freedom of Student's t, or "auto".
    profile
        Whether to bend skewed coordinates to their shape, or "auto". Models without a linear predictor cannot.

    Returns
    -------
    ProposalChoice

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> level = np.zeros((300, 2))
    >>> level[:, 0], level[:3, 1] = 1.0, 1.0  # a level with three data, all ones
    >>> model = Logistic.from_data(level, np.arange(300) % 3 < 1 + 2 * level[:, 1], prior_precision=0.1)
    >>> choice = choose_proposal(Controlled.around(model, find_mode(model)))
    >>> choice.kind
    'normal, with profile corrections in 2 directions'
    """
    degrees = check_tails(tails)
    if profile != "auto" and not isinstance(profile, bool):
        raise BadInput(f'profile = {profile!r}: must be true, false or "auto"')
    if isinstance(model.model, Grouped):
        return _given_scales(model, beta, tails, profile)
    plain = ProxyStep.of(model, beta)
    if not isinstance(model.model, LinearModel):
        return _without_profile(model, plain, degrees, tails, profile)
    if tails != "auto" and profile != "auto":
        return _as_asked(ProxyStep.of(model, beta, degrees, profile))
    covariance: Floats = np.linalg.inv(plain.precision).astype(np.float64)
    shape = shape_of(model, plain.centre, covariance)
    if tails == "auto" and profile == "auto" and _nearly_normal(shape):
        return ProposalChoice(plain, "normal", f"proxy proposals: normal; the posterior is nearly so ({_worst(shape)})")
    bent = Profile.of(model, plain.centre, covariance, shape)
    shapes: tuple[Profile | None, ...] = (None, bent) if bent.size else (None,)
    profiles = shapes if profile == "auto" else shapes[-1:] if profile else shapes[:1]
    choices = (math.inf, *DEGREES) if tails == "auto" else (degrees,)
    proposals = [replace(plain, degrees=each, profile=bend) for each in choices for bend in profiles]
    return _chosen(model, proposals, shapes)


def _without_profile(
    model: Controlled, plain: ProxyStep, degrees: float, tails: Tails, profile: Profiled
) -> ProposalChoice:
    """Of a model without a linear predictor, whose coordinates cannot be bent."""
    if profile is True:
        raise BadInput(f"profile: {type(model.model).__name__} has no linear predictor to bend proposals by")
    choices = (math.inf, *DEGREES) if tails == "auto" else (degrees,)
    return _chosen(model, [replace(plain, degrees=each) for each in choices], (None,))


def _chosen(model: Controlled, proposals: list[ProxyStep], shapes: tuple[Profile | None, ...]) -> ProposalChoice:
    """The simplest of these proposals that is about as good as the best."""
    if len(proposals) == 1:
        return _as_asked(proposals[0])
    found = _compared(model, proposals, shapes)
    best = max(found, key=lambda one: one.effective)
    chosen = next(k for k, one in enumerate(found) if GAIN * one.effective >= best.effective)
    return ProposalChoice(proposals[chosen], found[chosen].words, _sentence(found, chosen), tuple(found))


def _given_scales(model: Controlled, beta: float, tails: Tails, profile: Profiled) -> ProposalChoice:
    """The only proposal for group effects."""
    if tails not in ("auto", "normal") or profile is True:
        raise BadInput("tails and profile: proposals for group effects are normal given the scales; leave them out")
    proposal = ArrowStep.of(model, "auto" if beta == 1.0 else beta)
    return ProposalChoice(proposal, proposal.words, f"proxy proposals: {proposal.words}")


def check_tails(tails: Tails) -> float:
    """Degrees of freedom: infinite for "normal" and "auto"; or BadInput."""
    if isinstance(tails, str):
        if tails not in ("auto", "normal"):
            raise BadInput(f'tails = {tails!r}: must be "auto", "normal" or degrees of freedom')
        return math.inf
    return real("tails", tails, 1.0, MOST_DEGREES)


def _nearly_normal(shape: Shape) -> bool:
    """Whether nothing says otherwise: derivatives that are not finite say nothing."""
    skewed, peaked = np.abs(shape.skewness).max(), np.abs(shape.peakedness).max()
    return not (skewed >= CLEARLY * SKEWED or peaked >= CLEARLY * PEAKED) or not math.isfinite(skewed + peaked)


def _worst(shape: Shape) -> str:
    return f"largest skewness {np.abs(shape.skewness).max():.2g}"


def _as_asked(proposal: ProxyStep) -> ProposalChoice:
    kind = _described(proposal).words
    return ProposalChoice(proposal, kind, f"proxy proposals: {kind}, as asked")


def _described(proposal: ProxyStep, acceptance: float = math.nan, effective: float = math.nan) -> Candidate:
    bent = 0 if proposal.profile is None else proposal.profile.size
    return Candidate(proposal.degrees, bent, acceptance, effective)


def _sentence(found: list[Candidate], chosen: int) -> str:
    one = found[chosen]
    begin = f"proxy proposals: {one.words}; predicted {_shown(one)} effective draws per step"
    if chosen == 0:
        return f"{begin}, and no other kind promises {GAIN:g} times as many"
    return f"{begin}, against {_shown(found[0])} for: {found[0].words}"


def _shown(one: Candidate) -> str:
    return f"{one.effective:.2f}" if one.effective >= 0.005 else "less than 0.01"


@np.errstate(over="ignore", invalid="ignore")  # far states may be impossible
def _compared(model: Controlled, proposals: list[ProxyStep], shapes: Iterable[Profile | None]) -> list[Candidate]:
    """Each candidate, judged by the same states, also by those that only other candidates would propose."""
    rng = np.random.default_rng(SEED)
    kinds = [replace(proposals[0], profile=bend, degrees=d) for bend in shapes for d in (math.inf, WIDEST)]
    states = np.concatenate([kind.draw(rng, STATES) for kind in kinds])
    mixture = np.logaddexp.reduce([_log_densities(kind, states) for kind in kinds], axis=0)
    target = log_posteriors(model.model, states)
    compared = []
    for proposal in proposals:
        log_q = _log_densities(proposal, states)
        acceptance, effective = independence_chain(target - log_q, log_q - mixture, states)
        compared.append(_described(proposal, acceptance, effective))
    return compared


def _log_densities(proposal: ProxyStep, states: Floats) -> Floats:
    return np.array([proposal.log_density(state) for state in states])


def _normalised(log_share: Floats) -> Floats:
    share: Floats = np.exp(log_share - np.logaddexp.reduce(log_share))
    return share


def independence_chain(log_weight: Floats, log_share: Floats, states: Floats) -> tuple[float, float]:
    """Acceptance, and effective draws per step, of an independence chain whose only states are these.

    Parameters
    ----------
    log_weight
        Log of posterior / proposal at each state, up to a constant.
    log_share
        Log of proposal / the density that the states were drawn from, up to a constant.
    states
        (S, D).

    Returns
    -------
    acceptance, effective
        The latter is the smallest over the means of all coordinates and of their squares. The states of the greatest
        weights are left out if a chain would meet them less often than once in NEVER_MET of its effective draws: if it
        met one, it would stay there for very long, but it does not.

    Examples
    --------
    >>> states = np.random.default_rng(1).standard_normal((200, 1))
    >>> acceptance, effective = independence_chain(np.zeros(200), np.zeros(200), states)
    >>> round(acceptance, 6), round(effective, 6)  # the proposal is the posterior
    (1.0, 1.0)
    """
    highest = np.max(log_weight, where=np.isfinite(log_weight), initial=-math.inf)
    log_weight = np.nan_to_num(np.maximum(log_weight, highest - NEVER), nan=highest - NEVER)  # impossible states, too
    share, posterior = _normalised(log_share), _normalised(log_share + log_weight)
    heaviest = np.argsort(-log_weight)
    met = np.sort(heaviest[np.cumsum(posterior[heaviest]) > NEVER_MET])
    log_weight, states, share = log_weight[met], states[met], share[met] / share[met].sum()
    posterior = posterior[met] / posterior[met].sum()
    moves = share * np.exp(np.minimum(0.0, log_weight - log_weight[:, None]))
    acceptance = float(posterior @ moves.sum(axis=1))
    moves[np.diag_indices_from(moves)] += 1.0 - moves.sum(axis=1)
    centred = states - posterior @ states
    values = np.hstack([centred, centred**2 - posterior @ centred**2])
    variance = posterior @ values**2
    solved = np.linalg.solve(np.eye(share.size) - moves + posterior, values)  # the Poisson equation
    asymptotic = 2.0 * (posterior @ (values * solved)) - variance
    seen = variance > 0.0
    return acceptance, float(np.min(variance[seen] / asymptotic[seen], initial=1.0))
