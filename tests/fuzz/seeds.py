"""Small files of every kind that the parsers understand, for the fuzzer and the property tests to damage."""

from __future__ import annotations

import hashlib
import io
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import xarray
from pyarrow import parquet

from designer.pairs.residuals import Residuals
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design, Predicted, Provenance
from samplers.runs.results import collect, to_netcdf
from samplers.runs.store import Checkpoint, Store

TRIAL = TrialRun(12_214, [-1e-4, 2e-5, 0.0], [0.013, 0.011, 0.5], [0.0, 0.1, -0.1], [0.4, -0.2, 0.0])
SMALL = np.random.default_rng(3).standard_t(3, (2, 30))
KEPT = TrialRun(
    30, SMALL.mean(axis=1), SMALL.std(axis=1), residuals=Residuals.of(SMALL), notes={"proposal": "proxy", "n_heavy": 2}
)
DESIGN = Design(
    12_214,
    500,
    0.05,
    0.75,
    predicted=Predicted(mean_abs_delta=0.01),
    provenance=Provenance(version="0.1.0", criterion="average", trial="0" * 64),
)
CONFIG = b"""
[test]
kind = "sequential"
n_data = 12214
m = 500
epsilon = 0.05
[data]
path = "data.parquet"
label = "y"
columns = ["a", "b"]
intercept = true
[model]
kind = "logistic"
prior_precision = 10.0
control = 2
[proposal]
kind = "random-walk"
scale = 0.3
[run]
draws = 1000
warmup = 100
chains = 4
seed = 7
start = [0.0, 1.0, -2.5]
"""
FIT = b"""[data]
path = "wages.csv"
[fit]
formula = "wage ~ age"
loss = "quantile"
quantile = 0.9
against = ["batch"]
tolerance = 1e-3
growth = 1.5
"""
NO_ROWS = [  # chains without rows of data, and without a test
    b'[test]\nkind = "exact"\n[model]\nkind = "mrf"\ndimension = 20\nn_values = 3\nsd = 0.1\nfield_seed = 2\n',
    b'[test]\nkind = "always"\n[data]\npath = "d.npz"\n[model]\nkind = "lasso"\n[proposal]\nkind = "langevin"\n'
    b"step = 1e-5\nbatch = 10\n",
]
OTHER_CONFIGS = [
    b'[test]\nkind = "barker"\nm = 100\n[data]\npath = "x.npy"\n[model]\nkind = "mixture"\n'
    b'[proposal]\nkind = "adaptive"\nscale = 0.1\n[run]\nwarmup = 10\n',
    b'[test]\nkind = "exact"\n[data]\nsource = "mnist"\nrows = 100\n[model]\nkind = "ica"\n'
    b'[proposal]\nkind = "stiefel"\nscale = 0.1\n',
    b'test = {kind = "concentration", delta = 1e-3}\ndata.path = "x.csv"\n'
    b'model = {kind = "rj-logistic", rate = 1e-10}\n',
]
COMMANDS = [
    "evaluate --n-data 12214 --m 500 --epsilon 0.05 --mu-std -1,2e3 --json",
    "delta trial.csv --m 1e3 --epsilon .1 --rule barker --skew",
    "design --n-data 1,000,000 --acceptance 0.3 --tolerance 0.01 --alpha 0.5,1 --cost 0,1,0 --growth 1,1.5",
    "frontier trial.csv --tolerances 0.001,0.1 --output table.csv",
    "trial e3 --pairs 1_000 --output trial.npz --quiet",
    "run config.toml --design design.toml --output folder --chains 2 --resume",
    "experiment list",
    "app --port 0 --host ::1 --no-browser",
    "steps trial.csv --tolerance 0.02 --scales 0.5,1 --rule barker --output design.toml --table steps.csv",
    "boundary trial.csv --tolerance 0.05 --growth 1.5 --asymmetric --output boundary.json",
    "budget trial.csv --seconds 60 --cost 1e-6,1e-8,0 --autocorrelation 20 --sensitivity .5 --m 100,500 --anytime",
    "compare trial.csv --best --factor 10 --simulate --pairs 5 --seed 3 -o table.csv --json",
    "pairs posterior.nc --count 50 --acceptance .3 --output trial.npz",
    "posterior trial.csv --design design.toml --dimension 50 --json",
    "summary trial.csv --n-data 12_214 --m 500 --epsilon 5e-2",
    "audit config.toml --design design.json --steps 200 --every 2 --seed 1",
    "certify config.toml --design design.json --passes 100 --wish 0.1 --seed 1",
    "sample config.toml --posterior-error 0.1 --laplace never --test sequential --output out --seed 1",
    "sample data.csv --formula y~x --family poisson --prior 2.5 --missing drop --output out --json",
    "laplace config.toml --draws 50 --wish 0.1 --output laplace",
    "fit data.csv --response y --columns a,b --loss lp --p 1.5 --against batch,sgd --report fit.html --json",
    "run config.toml --output folder --draws 10 --cluster tcp://host:8786",
    "frontier trial.csv --tolerances 0.1 --cluster tls://[::1]:8786",
    "selfcheck --json",
    "demo --json",
    "--version",
    "design --help",
]


def _npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def _trial(kind: str, trial: TrialRun = TRIAL) -> bytes:
    buffer = io.BytesIO()
    getattr(trial, f"to_{kind}")(buffer)
    return buffer.getvalue()


def _bare_trial_parquet() -> bytes:
    """Without the checksums of its pages, as others write it."""
    return _parquet(mu=TRIAL.mu, sigma=TRIAL.sigma, n_data=np.full(3, 12_214))


def _checkpoint(name: str) -> bytes:
    """A file of a run, without magic and checksum, which the targets put back."""
    with tempfile.TemporaryDirectory() as folder:
        store, rng = Store(folder), np.random.default_rng(1)
        store.describe({"digest": "0" * 64, "model": "logistic"})
        with store.chain(0) as chain:
            chain.save(Checkpoint(0, rng.bit_generator.state, {"theta": np.zeros(2), "note": None, "n": 3}), {})
        content = (Path(folder) / name).read_bytes()
        assert hashlib.sha256(content[:-32]).digest() == content[-32:]
        return content[8:-32]


def _netcdf(sealed: bool) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.nc"
        to_netcdf(collect([{"theta": np.zeros((4, 2)), "n_used": np.full(4, 5)}], {"n_data": 9}), path)
        content = path.read_bytes()
        return content if sealed else content[: content.rindex(b"\nsha256")]


def _posterior(*, prior: bool = False, packed: bool = False) -> bytes:
    """What ArviZ writes for PyMC and others: 2 chains of 6 draws, 15 data of two variables."""
    rng, dims = np.random.default_rng(1), ("chain", "draw")
    likelihood = xarray.Dataset(
        {"y": ((*dims, "i"), rng.normal(size=(2, 6, 9))), "z": ((*dims, "j", "k"), rng.normal(size=(2, 6, 3, 2)))}
    )
    groups = {"log_likelihood": likelihood, "posterior": xarray.Dataset({"theta": (dims, rng.normal(size=(2, 6)))})}
    if prior:
        groups["log_prior"] = xarray.Dataset({"theta": (dims, rng.normal(size=(2, 6)))})
    encoding = {"/log_likelihood": {"y": {"zlib": True, "chunksizes": (1, 3, 9)}}} if packed else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "posterior.nc"
        tree = xarray.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})
        tree.to_netcdf(path, engine="h5netcdf", encoding=encoding)
        return path.read_bytes()


FORMULAS = [
    "y ~ x",
    "y ~ 0 + C(g, Treatment('b')) * x - x:g",
    "n ~ poly(x, 2) + bs(x, df=4) + offset(log(x)) + (1 + x | g)",
    "log1p(n) ~ scale(x) + I(x ** 2) + np.where(x > 1, n, 0) + `g`",
    "y ~ (x + n + g) ** 2 + .",
]


def seeds() -> dict[str, list[bytes]]:
    """For every target, what it understands."""
    x, y = np.arange(18.0).reshape(9, 2), np.arange(9) % 2
    labelled = b"a,b,y\n1,2.5,0\n-1e3,4,1\n0,0,1\n"
    return {
        "trial_csv": [
            _trial("csv"),
            b"mu;sigma;N\n0,1;2;500\n",
            b'# N = 1,950,000\n"mu" sigma\n1 2\n',
            b"# n_data: 9\nmu\tsd\n1\t2\n",
        ],
        "trial_parquet": [_trial("parquet"), _trial("parquet", KEPT), _bare_trial_parquet()],
        "trial_npz": [_trial("npz"), _trial("npz", KEPT), _npz(mu=TRIAL.mu, sigma=TRIAL.sigma, n_data=np.int64(99))],
        "design_toml": [DESIGN.to_toml().encode(), CONFIG],
        "design_json": [DESIGN.to_json().encode()],
        "design_file_toml": [DESIGN.to_toml().encode()],
        "design_file_json": [DESIGN.to_json().encode()],
        "config_toml": [CONFIG, *OTHER_CONFIGS, *NO_ROWS],
        "fit_toml": [FIT],
        "field_npy": [_npy(np.zeros((4, 8))), _npy(np.zeros((10, 3, 3, 3)))],
        "data_csv": [labelled, labelled.replace(b",", b";"), labelled.replace(b",", b"\t"), b'"a","y"\n"1","true"\n'],
        "data_numbers_csv": [labelled, b"a;y\n1,5;2,5\n3,25;4\n"],
        "data_parquet": [_parquet(a=x[:, 0], b=x[:, 1], y=y), _parquet(a=y, y=pa.array(["0", "1", "1"] * 3))],
        "data_npz": [_npz(x=x, y=y), _npz(x=x, y=y, columns=np.array(["a", "b"]))],
        "data_npy": [_npy(x), _npy(x.astype(np.float32)), _npy(np.asfortranarray(x)), _npy(y)],
        "labels_npy": [_npy(y.astype(np.int8)), _npy(y.astype(float)), _npy(y.astype(str))],
        "formula": [formula.encode() for formula in FORMULAS],
        "table_csv": [b"y,a,g\n1,2,u\n0,3.5,v\n2,NA,u\n1,1,\n", b"y;a;g\n1,5;2;u\n0;3,5;v\n"],
        "table_parquet": [_parquet(y=y, a=x[:, 0], g=pa.array(["u", None, "v"] * 3)), _parquet(y=y, a=y, g=x[:, 1])],
        "checkpoint": [_checkpoint("chain-0000/state-000000000000.bin")],
        "description": [_checkpoint("run.bin")],
        "netcdf": [_netcdf(sealed=True), _netcdf(sealed=False)],
        "posterior": [_posterior(), _posterior(prior=True), _posterior(packed=True)],
        "url_source": [
            b"source=stationary&trial_n=1000&acceptance=0.25&pairs=50&seed=7&spread=0.5",
            b"n=100&source=upload&digest=0123456789abcdef",
            b"source=run-e3&topic=steps",
        ],
        "url_design": [b"12214,500,0.05,0.5,1.0", b"1000000000000,2,1e-16,1,1.05"],
        "command_line": [command.replace(" ", "\n").encode() for command in COMMANDS],
    }
