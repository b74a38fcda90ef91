"""`austerity sample`: the library's flow, for a config and for a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import austerity as au


@pytest.fixture
def config(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(3000), rng.standard_normal(3000)])
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(3000) < 1 / (1 + np.exp(2.0 - x @ [0.0, 0.3])))
    path = tmp_path / "config.toml"
    path.write_text('[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n[run]\ndraws = 50\nchains = 2\n')
    return path


def test_json_and_text_are_the_library_s(run, config, tmp_path):
    out_dir = tmp_path / "out"
    options = f"sample {config} --laplace never --posterior-error 0.02 --seed 4 --output {out_dir}"
    code, out, err = run(f"{options} --json")
    data = json.loads(out)
    result = au.sample(config, laplace="never", posterior_error=0.02, seed=4, progress=False)
    assert (code, err) == (0, "")
    assert data["method"] == result.method == "exact-minibatch"
    assert data["posterior_error"]["status"] == "shown"
    assert data["decisions"] == [one._asdict() for one in result.decisions]
    assert data["warnings"] == list(result.warnings)
    assert [row["mean"] for row in data["summary"]] == [row.mean for row in result.summary().rows]
    stored = au.from_netcdf(data["results"])
    np.testing.assert_array_equal(stored["posterior/theta"], result.posterior["posterior/theta"])
    assert Path(data["report"]).exists()
    code, out, _ = run(f"{options} --resume --report {tmp_path}/report.txt")
    assert code == 0
    assert out.splitlines()[:-1] == (tmp_path / "report.txt").read_text().splitlines()
    assert f"files: {out_dir}" in out


def test_decisions_are_overridden(run, config, tmp_path):
    au.Design(2900, 100, 0.1).save(tmp_path / "design.toml")
    words = f"--design {tmp_path}/design.toml --heavy 100 --proposal random-walk --order 1 --audit 0 --warmup 3"
    code, out, _ = run(f"sample {config} {words} --output {tmp_path}/out --json")
    data = json.loads(out)
    assert code == 0 and data["method"] == "sequential" and data["audit"] is None
    assert data["design"]["n_data"] == 2900
    chosen = {one["step"]: one["choice"] for one in data["decisions"]}
    assert chosen["heavy rows"] == "100 of 3,000" and chosen["proposal"].startswith("random walk")
    assert "after 3 steps" in chosen["chains"]


def test_a_table_and_a_formula(run, tmp_path):
    rng = np.random.default_rng(5)
    age, region = rng.standard_normal(2000).round(3), rng.choice(["north", "south"], 2000)
    claims = rng.poisson(np.exp(-1.0 + 0.3 * age))
    rows = "\n".join(f"{c},{a},{r}" for c, a, r in zip(claims, age, region, strict=True))
    (tmp_path / "table.csv").write_text(f"claims,age,region\n{rows}\n")
    words = f"sample {tmp_path}/table.csv --formula claims~age+C(region) --family poisson --prior 10"
    code, out, _ = run(f"{words} --draws 50 --output {tmp_path}/out --json")
    data = json.loads(out)
    assert code == 0 and data["method"] in ("laplace", "importance")
    assert [row["name"] for row in data["summary"]] == [
        *("theta[intercept]", "theta[age]", "theta[C(region)[T.south]]")
    ]


def test_refusals(refused, config, tmp_path):
    refused(f"sample {tmp_path}/none.toml --output {tmp_path}/out", "no such config or table")
    refused(f"sample {config} --formula y~x --output {tmp_path}/out", "--formula: is for a table")
    refused(f"sample {tmp_path}/data.npz --output {tmp_path}/out", "--formula")
    refused(f"sample {config} --heavy few --output {tmp_path}/out", "--heavy: 'few' is not a number")
    refused(f"sample {config} --test quick --output {tmp_path}/out", "test = 'quick': must be")
    refused(f"sample {config} --tolerance 0.1 --posterior-error 0.1 --output {tmp_path}/out", "not both")
    refused(f"sample {config} --output {config.parent}", "is not empty")
    refused(f"sample {config}", "--output")
