"""PyPI's gsdesign on the benchmark's walk: `python gsdesign_grids.py LOOKS.csv MEANS.csv RESULT.csv R`.

The package has the grids and the recursion of R's gsDesign for one drift at a time. Exits below are summed here as in
gsDesign, by the normal tail beyond the bound from each node of the previous look. R is the number of grid points (18 by
default). Prints processor time in seconds and the version.
"""

from __future__ import annotations

import math
import sys
import time
from importlib.metadata import version

import numpy as np
from gsdesign import h1, hupdate
from scipy.special import ndtr


def one_mean(mu: float, pi: np.ndarray, t: np.ndarray, bound: np.ndarray, r: int) -> tuple[float, float]:
    """Error and usage at one standardised mean >= 0."""
    gaps = np.diff(np.append(pi, 1.0))
    error = float(ndtr(-bound[0] - mu * math.sqrt(t[0])))
    grid = h1(r, mu, t[0], -bound[0], bound[0])
    usage = pi[0] + gaps[0] * grid[2].sum()
    for j in range(1, t.size):
        z, _, h = grid
        step = math.sqrt(t[j] - t[j - 1])
        error += h @ ndtr((-bound[j] * math.sqrt(t[j]) - z * math.sqrt(t[j - 1]) - mu * step**2) / step)
        grid = hupdate(r, mu, t[j], -bound[j], bound[j], mu, t[j - 1], grid)
        usage += gaps[j] * grid[2].sum()
    return error, usage


def main() -> None:
    looks, means, result, r = sys.argv[1:]
    pi, t, bound = np.loadtxt(looks, delimiter=",", skiprows=1, ndmin=2).T
    mu_std = np.loadtxt(means, skiprows=1, ndmin=1)
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 5.0:
        start = time.process_time()
        curves = [one_mean(float(mu), pi, t, bound, int(r)) for mu in mu_std]
        seconds.append(time.process_time() - start)
    np.savetxt(result, curves, delimiter=",", header="error,usage", comments="", fmt="%.17g")
    print(min(seconds), version("gsdesign"))


if __name__ == "__main__":
    main()
