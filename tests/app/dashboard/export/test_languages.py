"""The test of a design in other languages: R, run where it is installed, decides as the library does."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from app.dashboard.export import languages
from designer import Design, simulate

EXPLICIT = Design.with_bounds(2000, 500, [-2.5, -2.0, -1.5], [4.0, 3.0, 2.0])
DESIGNS = [Design(2000, 100, 0.05, 0.75), Design(2000, 150, 0.1, growth=1.5), EXPLICIT]
COUNT = """
x <- (qnorm(((1:N) - 0.5) / N)); x <- x / sqrt(mean(x^2)) / sqrt(N - 1) + {mean} / (N - 1)
set.seed(1); read <- 0; accepted <- 0
log <- function(u) 0  # the threshold is 0: u is always 1
for (k in 1:400) accepted <- accepted + accepts(function(i) {{ read <<- read + length(i); x[i] }})
cat(accepted / 400, read / 400 / N)
"""


@pytest.mark.parametrize("design", DESIGNS, ids=["shaped", "growing", "explicit"])
def test_r_decides_as_the_library_does(design, tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("NO R, ITS LINES NOT TESTED: apt-get install r-base-core")
    (tmp_path / "design.toml").write_text(design.to_toml())
    (tmp_path / "test.R").write_text(languages.r_lines(design) + COUNT.format(mean=1.0))
    done = subprocess.run(["Rscript", "test.R"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    accepted, read = map(float, done.stdout.split())
    real = simulate(np.random.default_rng(1), design, 1.0, 4000)
    assert accepted == pytest.approx(1.0 - real.error[0], abs=4 * np.sqrt(0.25 / 400))
    assert read == pytest.approx(real.usage[0], abs=4 * real.usage_se[0] * np.sqrt(4000 / 400))


@pytest.mark.parametrize("design", DESIGNS)
def test_all_read_the_file_that_is_offered(design):
    for lines in (languages.r_lines(design), languages.julia_lines(design)):
        assert '"design.toml"' in lines
        assert ('"upper"' in lines) == design.explicit
