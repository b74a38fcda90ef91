"""Bounds on the distance between what a chain with errors samples and the exact posterior (K14 Theorems 1 and 4)."""

from __future__ import annotations

from designer.core.errors import integer, real


def stationary_bound(delta_max: float, eta: float) -> float:
    """Bound on the total variation distance between a chain with errors and the exact one (K14 Theorem 1).

    Parameters
    ----------
    delta_max
        Largest |Δ| of any pair.
    eta
        Contraction coefficient of the exact chain, in [0, 1).

    Returns
    -------
    float
        delta_max / (1 - η), at most 1.

    Examples
    --------
    >>> stationary_bound(0.01, 0.75)
    0.04
    """
    delta_max, eta = real("delta_max", delta_max, 0.0, 1.0), real("eta", eta, 0.0, 1.0, open_high=True)
    return min(1.0, delta_max / (1.0 - eta))


def sweep_bound(delta_max: float, eta: float, sites: int) -> float:
    """The bound of `stationary_bound` for sweeps of Gibbs updates (K14 Theorem 4).

    The printed theorem lacks the factor `sites`: it fails for independent fair bits, where η = 0.

    Parameters
    ----------
    delta_max
        Largest error of any conditional probability.
    eta
        Dobrushin coefficient of a whole sweep, in [0, 1).
    sites
        Number of variables that a sweep updates.

    Returns
    -------
    float
        sites · delta_max / (1 - η), at most 1.

    Examples
    --------
    >>> sweep_bound(0.001, 0.5, sites=100)
    0.2
    """
    delta_max, eta = real("delta_max", delta_max, 0.0, 1.0), real("eta", eta, 0.0, 1.0, open_high=True)
    return min(1.0, integer("sites", sites, 1, 10**15) * delta_max / (1.0 - eta))
