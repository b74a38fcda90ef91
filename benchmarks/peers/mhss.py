"""PyMHSS: exact Metropolis-Hastings with scalable subsampling (Prado, Nemeth and Sherlock), with a flat prior."""

from __future__ import annotations

import contextlib
import io
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
from job import read_job, write_result
from PyMHSS import MH_SS

MEMORY = 1e9  # bytes: second order stores a D x D matrix per datum


def main() -> None:
    job, steps = read_job(), 2000
    n, dimension = job.rows.shape
    order = 2 if 8.0 * n * dimension**2 < MEMORY else 1
    np.random.seed(job.options["seed"])  # noqa: NPY002 - the package draws from the global generator

    def run(steps: int) -> dict:
        with contextlib.redirect_stderr(io.StringIO()):
            return MH_SS(
                np.ones(n),  # the labels are in the signs of the rows
                job.rows,
                job.covariance,
                job.mode,
                nburn=0,
                npost=steps,
                model="logistic",
                implementation="vectorised",
                taylor_order=order,
                kappa=job.options["kappa"],
            )

    trial = run(steps)
    steps = int(min(job.options["draws"], steps * job.options["seconds"] / trial["cpu_time"]))
    result = run(2 * (steps // 2))  # its own effective sample size wants an even number
    used = float(np.mean(result["BoverN"]))
    figures = {"warmup": 0.0, "seconds": float(result["cpu_time"]), "acceptance": float(result["acc_rate"])}
    write_result("pymhss", result["parameters"], order=order, used=used, **figures)


if __name__ == "__main__":
    main()
