"""What `sample` returns: the posterior, how it was made, what was shown about it, and what to worry about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.core.files import write_whole
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from samplers.chains.protocol import MarkovChain
from samplers.chains.spec import ChainSpec
from samplers.flow.decisions import Decision
from samplers.flow.report import html_report, text_report
from samplers.flow.steps import ENOUGH
from samplers.flow.which_test import ChosenTest
from samplers.flow.wishes import Wishes
from samplers.runs.monitor import DIFFERS
from samplers.runs.results import MIXED, PosteriorSummary, summary
from samplers.study.audit import Audit
from samplers.study.certify import Certificate
from samplers.study.laplace import LaplaceVerdict
from samplers.study.observe import WITHOUT_ERROR

if TYPE_CHECKING:
    from xarray import DataTree

METHODS = {
    "laplace": "draws of the Laplace approximation",
    "importance": "Laplace draws, weighted by all data",
    "exact-minibatch": "chains with the exact mini-batch test",
    "exact": "chains with exact decisions",
    "sequential": "chains with a sequential test",
    "given": "chains with the given test",
}

AUDITED = {
    "within": "found mean |Δ| within",
    "near": "found mean |Δ| near",
    "beyond": "found mean |Δ| beyond",
    "unclear": "cannot tell whether mean |Δ| is within",
}


class Claim(NamedTuple):
    """What is known about the error that the method adds to the posterior.

    Attributes
    ----------
    status
        "shown": measured, or exact by construction; "predicted": by a theory, not measured; "not shown"; "missed":
        something was measured that speaks against it.
    sentence
        That in words.

    Examples
    --------
    >>> Claim("shown", "decisions are exact").status
    'shown'
    """

    status: str
    sentence: str


@dataclass(frozen=True, eq=False, repr=False)
class SampleResult:
    """The posterior that `sample` made, its report, and everything that it rests on.

    Parameters
    ----------
    posterior
        The draws for ArviZ, under the model's own names if it has any.
    theta
        The same as one array, (chains, draws, D).
    method
        "laplace", "importance", "exact-minibatch", "sequential", "exact" or "given".
    wishes
        What was asked for.
    decisions
        What was chosen and why, in order.
    laplace
        The verdict on the Laplace approximation, if it was asked for.
    plan
        The test and what it rests on; None if no chain ran.
    trial
        The trial run, if one was needed.
    audit, certificate
        If they were made.
    seconds
        By step.
    n_data
        N.
    output
        The directory of the files, if they are kept.
    spec
        The parts of the chains.

    Examples
    --------
    >>> from samplers import Logistic, sample
    >>> x = np.random.default_rng(0).standard_normal((5000, 2))
    >>> y = np.random.default_rng(1).random(5000) < 0.5
    >>> result = sample(Logistic.from_data(x, y), progress=False)
    >>> print(result)
    5,000 data, 2 parameters: draws of the Laplace approximation, 4 × 1,000
    posterior error: shown: Laplace is off by at most 0.00083 sd in every mean and sd (95%), 0.05 is allowed
    no warnings; `.report()` has the decisions and the table
    """

    posterior: DataTree
    theta: Floats
    method: str
    wishes: Wishes
    decisions: tuple[Decision, ...]
    laplace: LaplaceVerdict | None = None
    plan: ChosenTest | None = None
    trial: TrialRun | None = None
    audit: Audit | None = None
    certificate: Certificate | None = None
    seconds: Mapping[str, float] | None = None
    n_data: int = 0
    output: Path | None = None
    spec: ChainSpec | None = None

    @property
    def design(self) -> Design | None:
        """Of the sequential test."""
        return None if self.plan is None else self.plan.loaded

    @property
    def test(self) -> Any:
        """The acceptance test; None if no chain ran."""
        return None if self.spec is None else self.spec.test

    def summary(self) -> PosteriorSummary:
        """Mean, sd, MCSE, effective draws and R-hat of every parameter; `.text()` is a table."""
        return self._summary

    @cached_property
    def _summary(self) -> PosteriorSummary:
        return summary(self.posterior)

    @cached_property
    def claim(self) -> Claim:
        """What is known about the posterior's error."""
        found = _claim(self)
        exact = found.status == "shown" and (self.plan is not None or self.method == "importance")
        if exact or "theta" in self.posterior["posterior"].data_vars or found.status == "missed":
            return found
        return Claim(found.status, f"{found.sentence} (all this of the parameters as sampled, not as transformed)")

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the draws are used; empty if nothing was found."""
        return tuple(_warnings(self))

    @property
    def headline(self) -> str:
        """What was done, in a line."""
        chains, draws, size = self.theta.shape
        parameters = f"{size:,} parameter{'s' if size > 1 else ''}"
        return f"{self.n_data:,} data, {parameters}: {METHODS[self.method]}, {chains:,} × {draws:,}"

    def report(self, path: str | Path | None = None) -> str:
        """Everything in words: warnings first, then what was shown, the table, the decisions.

        Parameters
        ----------
        path
            Also write it to this file: .html for a page that needs nothing else, otherwise text.

        Returns
        -------
        str
            The text.
        """
        text = text_report(self)
        if path is not None:
            html = Path(path).suffix.lower() in (".html", ".htm")
            write_whole(path, html_report(self) if html else text + "\n")
        return text

    def sampled_chain(self) -> tuple[MarkovChain, Floats, tuple[str, ...] | None]:
        """The chain at its last state, states that it visited, and the names: what a certificate needs."""
        if self.spec is None:
            raise BadInput(f"result: {METHODS[self.method]}, not a chain; its verdict (`.laplace`) bounds its error")
        rng = np.random.default_rng([self.wishes.seed, 7, 17])
        chain = self.spec._replace(start=self.theta[0, -1]).chain(rng)
        return chain, self.theta.reshape(-1, self.theta.shape[-1]), self.spec.names

    def __repr__(self) -> str:
        count = len(self.warnings)
        said = [f"WARNING: {line}" for line in self.warnings]
        last = (
            ["no warnings; `.report()` has the decisions and the table"] if not count else ["`.report()` has the rest"]
        )
        return "\n".join([*said, self.headline, f"posterior error: {self.claim.status}: {self.claim.sentence}", *last])


def _claim(result: SampleResult) -> Claim:
    """Never more than was shown."""
    wishes, plan = result.wishes, result.plan
    wish = wishes.posterior_error
    asked = "" if wish is None else f", {wish:g} is allowed"
    if plan is None:
        verdict = result.laplace
        assert verdict is not None
        if verdict.method == "laplace":
            return Claim("shown", f"Laplace is off by at most {verdict.upper:.2g} sd in every mean and sd (95%){asked}")
        if verdict.method == "importance":
            even = f"k̂ {verdict.tail_pareto_k:.2f}, {verdict.tail_ess:,.0f} effective"
            return Claim("shown", f"the weights, from all data, leave only the Monte Carlo error of the draws ({even})")
        return Claim("missed", f"these are Laplace draws anyway: {verdict.sentence}")
    if plan.kind in ("exact", "exact-minibatch") or isinstance(result.test, WITHOUT_ERROR):
        return Claim(
            "shown", "every decision leaves the posterior exactly as it is: only the Monte Carlo error is left"
        )
    certificate = result.certificate
    if certificate is not None and certificate.outcome == "certified":
        return Claim("shown", certificate.sentence)
    if certificate is not None and certificate.outcome == "wrong":
        return Claim("missed", certificate.sentence)
    audit = result.audit
    audited = "no audit was made"
    if audit is not None:
        if audit.means is not None and audit.means.verdict == "beyond":
            return Claim("missed", audit.means.words)
        audited = f"the audit {AUDITED[audit.verdict]} the tolerance {audit.tolerance:.2g}"
        if audit.verdict == "beyond":
            return Claim("missed", f"the audit found mean |Δ| of {audit.error.value:.2g}, beyond {audit.tolerance:.2g}")
    how = "; `certify(result)` measures it"
    if plan.basis == "independent" and not math.isnan(plan.upper):
        within = wish is not None and plan.upper <= wish
        told = f"weighted draws predict at most {plan.upper:.2g} sd for means and sds (95%){asked}"
        return Claim("predicted" if within else "not shown", f"{told}; {audited}{how}")
    if plan.basis == "random-walk":
        told = f"theory for random walks on normal posteriors predicts sds at most {wish or 0.0:.1%} too large"
        return Claim("predicted", f"{told}; {audited}{how}")
    return Claim("not shown", f"no theory says what errors of this test do to this posterior; {audited}{how}")


def _warnings(result: SampleResult) -> list[str]:
    found = []
    claim, audit, certificate = result.claim, result.audit, result.certificate
    if claim.status == "missed":
        found.append(f"the posterior error is not kept: {claim.sentence}")
    if claim.status == "not shown" and (told := _predicted_miss(result)):
        found.append(told)
    if differs := str(result.posterior.attrs.get(DIFFERS, "")):
        found.append(differs)
    wrong_means = audit is not None and audit.means is not None and audit.means.verdict == "beyond"
    if audit is not None and (audit.verdict == "beyond" or wrong_means) and claim.status != "missed":
        found.append(f"audit: {audit.sentence}")
    if audit is not None and audit.verdict == "unclear":
        found.append(f"audit: {audit.sentence}")
    if certificate is not None and certificate.outcome == "not certified":
        found.append(f"certificate: {certificate.sentence}")
    table = result.summary()
    rows = table.rows
    if apart := [row for row in rows if row.r_hat > MIXED]:
        worst = max(apart, key=lambda row: row.r_hat)
        found.append(
            f"r_hat above {MIXED:g} for {len(apart):,} of {len(rows):,} parameters ({worst.name}: {worst.r_hat:.3f}): "
            "the chains do not agree; take more draws"
        )
    least = min(rows, key=lambda row: _fewest(row.ess_bulk, row.ess_tail))
    if (fewest := _fewest(least.ess_bulk, least.ess_tail)) < ENOUGH:
        draws = result.theta.shape[1]
        more = "" if fewest <= 0 else f": about {math.ceil(1.2 * draws * ENOUGH / max(fewest, 1.0)):,} draws would do"
        found.append(f"{fewest:,.0f} effective draws of {least.name}, fewer than {ENOUGH}{more}, or other proposals")
    if still := [row.name for row in rows if row.sd == 0.0]:
        found.append(f"{still[0]} never moved")
    return found


def _predicted_miss(result: SampleResult) -> str:
    """That theory says the wish may be missed; empty if it does not."""
    plan, wish = result.plan, result.wishes.posterior_error
    if plan is None or wish is None or plan.basis != "independent" or not plan.upper > wish:
        return ""
    better = 'a test that makes no error (test="exact") or more pairs (pairs=) would do better'
    return f"means and sds may be off by {plan.upper:.2g} sd (95%, predicted), more than the allowed {wish:g}: {better}"


def _fewest(*numbers: float) -> float:
    return min((number for number in numbers if not math.isnan(number)), default=math.inf)
