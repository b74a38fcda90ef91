"""The test of a design in R and in Julia: a few lines that read its file and decide."""

from __future__ import annotations

from app.dashboard.export.exports import DESIGN_FILE
from designer.rule.design import Design

# base R has no reader of TOML; the numbers of a design are lines `name = value`
_R_READ = """text <- sub("(?s).*\\\\[test\\\\]", "", paste(readLines("{file}"), collapse = "\\n"), perl = TRUE)
value <- function(name) {{
  line <- regmatches(text, regexpr(paste0("(?m)^", name, " *=(\\\\s*\\\\[[^]]*|.*)"), text, perl = TRUE))
  numbers <- strsplit(sub("^[^=]*=\\\\s*\\\\[?", "", line), ",")[[1]]
  as.numeric(numbers[grepl("[0-9]", numbers)])
}}
N <- value("n_data"); m <- value("m"); growth <- value("growth")
{bounds}
"""
_R_RULE = """
# l(i): log p(x_i; new) - log p(x_i; old) of the rows i.  log_ratio: log of prior(old) q(new|old) over
# prior(new) q(old|new), minus the usual one; 0 for a flat prior and a symmetric proposal.
accepts <- function(l, log_ratio = 0) {
  mu0 <- (log(runif(1)) + log_ratio) / N
  rows <- sample.int(N); x <- numeric(0); n <- m; look <- 1
  repeat {
    n <- min(n, N); x <- c(x, l(rows[(length(x) + 1):n]))
    if (n == N) return(mean(x) > mu0)
    s <- sd(x) / sqrt(n) * sqrt(1 - (n - 1) / (N - 1))  # standard error; bounds of Student's t
    if (mean(x) - mu0 > -qt(pnorm(-upper(n, look)), n - 1) * s) return(TRUE)
    if (mean(x) - mu0 < qt(pnorm(lower(n, look)), n - 1) * s) return(FALSE)
    n <- if (growth == 1) n + m else ceiling(growth * n - 1e-9); look <- look + 1
  }
}
"""
_JULIA_READ = """using Distributions, Random, Statistics, TOML
design = TOML.parsefile("{file}")["test"]
N, m, growth = design["n_data"], design["m"], design["growth"]
{bounds}
"""
_JULIA_RULE = """
# l(i): log p(x_i; new) - log p(x_i; old) of the rows i.  log_ratio: log of prior(old) q(new|old) over
# prior(new) q(old|new), minus the usual one; 0 for a flat prior and a symmetric proposal.
function accepts(l, log_ratio = 0.0)
    mu0 = (log(rand()) + log_ratio) / N
    rows, x, n, look = randperm(N), Float64[], m, 1
    while true
        n = min(n, N)
        append!(x, l(rows[length(x)+1:n]))
        n == N && return mean(x) > mu0
        s = std(x) / sqrt(n) * sqrt(1 - (n - 1) / (N - 1))  # standard error; bounds of Student's t
        mean(x) - mu0 > -quantile(TDist(n - 1), cdf(Normal(), -upper(n, look))) * s && return true
        mean(x) - mu0 < quantile(TDist(n - 1), cdf(Normal(), lower(n, look))) * s && return false
        n = growth == 1 ? n + m : ceil(Int, growth * n - 1e-9)
        look += 1
    end
end
"""


def r_lines(design: Design) -> str:
    """R code, with base R alone, that reads the file of a design and decides as its test does."""
    if design.explicit:
        bounds = 'up <- value("upper"); low <- value("lower")\nupper <- function(n, look) up[look]\n'
        bounds += "lower <- function(n, look) low[look]"
    else:
        bounds = 'G <- qnorm(1 - value("epsilon")); alpha <- value("alpha")\n'
        bounds += "upper <- function(n, look) G * (n / N)^(0.5 - alpha)\nlower <- function(n, look) -upper(n, look)"
    return _R_READ.format(file=DESIGN_FILE, bounds=bounds) + _R_RULE


def julia_lines(design: Design) -> str:
    """Julia code, with the package Distributions, that reads the file of a design and decides as its test does."""
    if design.explicit:
        bounds = 'upper(n, look) = design["upper"][look]\nlower(n, look) = design["lower"][look]'
    else:
        bounds = 'G = quantile(Normal(), 1 - design["epsilon"])\n'
        bounds += 'upper(n, look) = G * (n / N)^(0.5 - design["alpha"])\nlower(n, look) = -upper(n, look)'
    return _JULIA_READ.format(file=DESIGN_FILE, bounds=bounds) + _JULIA_RULE
