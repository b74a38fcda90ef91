"""PyMHSS: exact Metropolis-Hastings with scalable subsampling (Prado, Nemeth and Sherlock), with a flat prior."""

from __future__ import annotations

import contextlib
import io
import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
from job import read_job, write_result
from PyMHSS import MH_SS

MEMORY, TRIAL, MOST, KAPPA = 1e9, 2000, 10**6, 2.38  # second order stores a D x D matrix per datum


def main() -> None:
    job = read_job()
    n, dimension = job.x.shape
    signed = job.x.astype(np.float64) * np.where(job.y > 0, 1.0, -1.0)[:, None]
    order = 2 if 8.0 * n * dimension**2 < MEMORY else 1
    np.random.seed(1)  # noqa: NPY002 - the package draws from the global generator

    def run(steps: int) -> dict:
        with contextlib.redirect_stderr(io.StringIO()):
            return MH_SS(
                np.ones(n),  # the labels are in the signs of the rows
                signed,
                job.covariance,
                job.mode,
                nburn=0,
                npost=steps,
                model="logistic",
                implementation="vectorised",
                taylor_order=order,
                kappa=KAPPA,
            )

    begin = time.perf_counter()
    trial = run(TRIAL)
    setup = max(0.0, time.perf_counter() - begin - trial["cpu_time"])
    steps = int(min(MOST, TRIAL * job.seconds / trial["cpu_time"]))
    result = run(2 * (steps // 2))  # its own effective sample size wants an even number
    figures = {"rows": n * float(np.mean(result["BoverN"])), "acceptance": float(result["acc_rate"])}
    write_result(
        "pymhss",
        result["parameters"],
        setup=setup,
        seconds=float(result["cpu_time"]),
        details=f"order {order}",
        **figures,
    )


if __name__ == "__main__":
    main()
