"""Make examples/policies.csv, a synthetic table of insurance policies: `python examples/make_policies.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("policies.csv")
POLICIES, AGENTS = 10_000, 20
REGIONS = {"east": (0.40, 0.0), "north": (0.35, 0.2), "south": (0.24, -0.3), "islands": (0.01, 0.8)}  # share, effect


def main() -> None:
    rng = np.random.default_rng(2026)
    names, (shares, effects) = list(REGIONS), np.array(list(REGIONS.values())).T
    age = rng.uniform(18.0, 80.0, POLICIES).round()
    region, agent = rng.choice(len(names), POLICIES, p=shares), rng.integers(AGENTS, size=POLICIES)
    exposure = rng.uniform(0.1, 1.0, POLICIES).round(2)
    eta = -1.5 - 0.01 * (age - 45.0) + effects[region] + rng.normal(0.0, 0.3, AGENTS)[agent]
    claims = rng.poisson(exposure * np.exp(eta))
    rows = zip(age, region, agent, exposure, claims, strict=True)
    lines = [f"{a:.0f},{names[r]},agent {g + 1:02},{e:.2f},{c}" for a, r, g, e, c in rows]
    TABLE.write_text("\n".join(["age,region,agent,exposure,claims", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
