"""The methods of the league: who they are, and on which posteriors they can be run."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.league.posteriors import Posterior


class Method(NamedTuple):
    """One method.

    Attributes
    ----------
    name, words
        Short, and what it does.
    script
        Of a peer, in `benchmarks/league/peers`; empty for ours.
    """

    name: str
    words: str
    script: str = ""

    def refuses(self, posterior: Posterior, n: int) -> str:
        """Why it cannot be run, or nothing."""
        if self.name == "PyMHSS" and posterior.name != "logistic":
            return "knows logistic regression with a flat prior alone"
        if self.name.startswith("Laplace") and posterior.family == "hierarchical":
            return "the joint density of effects and their scale has no mode that describes it"
        if self.name == "exact mini-batch" and posterior.family in ("student-t", "negative-binomial", "softmax"):
            return "there are no bounds for several predictors or sampled shapes"
        if self.name in ("sequential, plain", "SGLD-CV") and posterior.extra:
            return "not measured for the further families"
        return ""


OURS = (
    Method("sequential, plain", "sequential test, random walk, no control variates"),
    Method("sequential", "sequential test, control variates, proxy proposals, designed by a trial run"),
    Method("Barker", "Barker test of Seita et al., control variates, proxy proposals"),
    Method("exact mini-batch", "exact mini-batch test, control variates, proxy proposals"),
    Method("exact", "all data in every step, proxy proposals"),
    Method("Laplace", "normal approximation at the mode: no sampling"),
    Method("Laplace + IS", "draws of that approximation, weighted by all data"),
)
PEERS = (
    Method("NUTS", "NumPyro's NUTS with the Laplace covariance as its mass matrix", "nuts.py"),
    Method("HMCECS", "NumPyro's HMCECS: energy-conserving subsampling, second-order proxies", "hmcecs.py"),
    Method("SGLD-CV", "BlackJAX's stochastic gradient Langevin dynamics with control variates", "sgld.py"),
    Method("PyMHSS", "exact Metropolis-Hastings with scalable subsampling", "mhss.py"),
)
METHODS = (*OURS, *PEERS)
BY_NAME = {method.name: method for method in METHODS}
