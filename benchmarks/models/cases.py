"""Twelve published models and two more, chosen before they were tried; where they are, and data for them.

Covariates and true parameters are ours; responses are simulated by the published model itself at those parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.models.published import Source

N = 10_000
NUMPYRO, GALLERY = "pyro-ppl/numpyro", "pymc-devs/pymc-examples"
GLM = "examples/generalized_linear_models"

Text = Callable[[Mapping[str, Any]], dict[str, Any]]  # data by name -> what the text defines with them
Rng = np.random.Generator


class Case(NamedTuple):
    """A model: its kind, its source, and how to make it with its data."""

    name: str
    kind: str
    source: Source
    make: Callable[[Text, Rng], Any]  # -> (function, arguments) of NumPyro, or a model of PyMC

    @property
    def tool(self) -> str:
        """The tool that it is written for."""
        return "NumPyro" if self.source.repository == NUMPYRO else "PyMC"


def _numpyro_draw(model: Any, arguments: tuple[Any, ...], truth: Mapping[str, Any], site: str, rng: Rng) -> Any:
    """A site of the model at these values of others; what is not given is drawn from its prior."""
    import jax
    from numpyro import handlers

    fixed = {name: np.asarray(value, dtype=np.float64) for name, value in truth.items()}
    with jax.enable_x64(True):
        seeded = handlers.seed(handlers.substitute(model, fixed), jax.random.key(int(rng.integers(2**31))))
        return np.asarray(handlers.trace(seeded).get_trace(*arguments)[site]["value"])


def _pymc_draw(model: Any, truth: Mapping[str, Any], variable: str, rng: Rng) -> Any:
    """The same of a PyMC model."""
    import pymc
    import pytensor.tensor as pt
    from pytensor.graph.replace import graph_replace

    fixed = {model[name]: pt.as_tensor(value).astype(model[name].dtype) for name, value in truth.items()}
    return pymc.draw(graph_replace(model[variable], fixed, strict=False), random_seed=int(rng.integers(2**31)))


# --- NumPyro ----------------------------------------------------------------------------------------------------------


def covtype(text: Text, rng: Rng) -> Any:
    model, x = text({})["model"], rng.standard_normal((N, 10))
    truth = {"coefs": 0.4 * rng.standard_normal(10)}
    return model, (x, _numpyro_draw(model, (x, None), truth, "obs", rng))


def zero_inflated_poisson(text: Text, rng: Rng) -> Any:
    model, x = text({})["model"], np.column_stack([rng.standard_normal((N, 3)), np.ones(N)])
    truth = {"b1": [0.5, 0.0, 0.3, -0.5], "b2": [0.2, -0.3, 0.0, 0.6]}
    return model, (x, _numpyro_draw(model, (x, None), truth, "Y", rng))


def ordinal(text: Text, rng: Rng) -> Any:
    model, x = text({})["model3"], rng.standard_normal(N)
    truth = {"b_X_eta": 0.8, "c_y": [-1.0, 0.0, 1.2]}
    return model, (x, _numpyro_draw(model, (x, None, 4), truth, "Y", rng), 4)


def ucbadmit(text: Text, rng: Rng) -> Any:
    model = text({})["glmm"]
    given = np.arange(N) % 12, rng.integers(0, 2, N), rng.integers(1, 6, N)
    truth = {"v_mu": [-0.5, 0.2], "sigma": [0.9, 0.4]}
    return model, (*given, _numpyro_draw(model, given, truth, "admit", rng))


def hierarchical(text: Text, rng: Rng) -> Any:
    model = text({})["model"]
    given = np.arange(N) % 40, rng.uniform(-1.0, 1.0, N)
    truth = {"μ_α": 50.0, "σ_α": 20.0, "μ_β": -2.0, "σ_β": 2.0, "σ": 15.0}
    return model, (*given, _numpyro_draw(model, given, truth, "obs", rng))


def horseshoe(text: Text, rng: Rng) -> Any:
    model, x = text({})["model_bernoulli_likelihood"], rng.standard_normal((N, 8))
    truth = {"lambdas": np.ones(8), "tau": [1.0], "unscaled_betas": [1.0, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]}
    return model, (x, _numpyro_draw(model, (x, None), truth, "Y", rng))


def baseball(text: Text, rng: Rng) -> Any:
    model, at_bats = text({})["partially_pooled"], rng.integers(20, 60, N)
    return model, (at_bats, _numpyro_draw(model, (at_bats,), {"m": 0.3, "kappa": 100.0}, "obs", rng))


def neural_network(text: Text, rng: Rng) -> Any:
    model, x = text({})["model"], np.linspace(-1.0, 1.0, N)[:, None] ** np.arange(3)
    return model, (x, _numpyro_draw(model, (x, None, 5), {"prec_obs": 4.0}, "Y", rng), 5)


# --- PyMC -------------------------------------------------------------------------------------------------------------


def robust(text: Text, rng: Rng) -> Any:
    def model(y: Any) -> Any:
        return text({"x_out": x, "y_out": y})["robust_model"]

    x = rng.uniform(0.0, 1.0, N)
    return model(_pymc_draw(model(np.zeros(N)), {"intercept": 1.0, "slope": 2.0, "sigma": 0.5}, "y", rng))


def negative_binomial(text: Text, rng: Rng) -> Any:
    import pandas as pd

    def model(y: Any) -> Any:
        return text({"df": pd.DataFrame({"nomeds": nomeds, "alcohol": alcohol, "nsneeze": y})})["m_sneeze_inter"]

    nomeds, alcohol = rng.random((2, N)) < 0.5
    truth = {"intercept": 0.0, "slopes": np.array([1.8, 1.1, 0.7]), "alpha": 10.0}
    return model(_pymc_draw(model(np.zeros(N, dtype=np.int64)), truth, "y", rng))


def multilevel(text: Text, rng: Rng) -> Any:
    def model(y: Any) -> Any:
        given = {"coords": {"county": np.arange(85)}, "county": county, "floor_measure": floor, "log_radon": y}
        return text(given)["varying_intercept_slope"]

    county, floor = np.arange(N) % 85, rng.integers(0, 2, N)
    truth = {"mu_a": 1.5, "sigma_a": 0.3, "mu_b": -0.6, "sigma_b": 0.3, "sigma_y": 0.75}
    return model(_pymc_draw(model(np.zeros(N)), truth, "y_like", rng))


def censored(text: Text, rng: Rng) -> Any:
    make, x, bounds = text({})["censored_regression"], rng.uniform(-10.0, 10.0, N), [-5, 5]
    truth = {"slope": 1.0, "intercept": 0.0, "σ": 2.0}
    return make(x, _pymc_draw(make(x, np.zeros(N), bounds), truth, "obs", rng), bounds)


def survival(text: Text, rng: Rng) -> Any:
    """Times of the model without censoring, cut at exponential times."""
    import pandas as pd

    def model(time: Any, event: Any) -> Any:
        return text({"df": pd.DataFrame({"time": time, "event": event, "metastized": spread})})["weibull_model"]

    spread = rng.integers(0, 2, N).astype(np.float64)
    truth = {"beta": np.array([4.0, -0.6]), "s": 0.7}
    log_time = _pymc_draw(model(np.arange(1.0, N + 1.0), np.ones(N)), truth, "events", rng)
    time, stop = np.exp(log_time), rng.exponential(120.0, N)
    return model(np.minimum(time, stop), (time <= stop).astype(np.float64))


def mixture(text: Text, rng: Rng) -> Any:
    def model(x: Any) -> Any:
        return text({"k": 3, "x": x})["model"]

    truth = {"μ": np.array([-5.0, 0.0, 5.0]), "σ": np.array([0.5, 2.0, 0.75]), "w": np.full(3, 1.0 / 3.0)}
    return model(_pymc_draw(model(np.zeros(N)), truth, "x", rng))


CASES = (
    Case(
        "covtype",
        "logistic regression",
        Source(
            NUMPYRO,
            "examples/covtype.py",
            "07c801d420b87bf79bd10fb790cb409158b257e5",
            ("model",),
            sha256="7f7792e436736325c270cf2cf8734b37bfa898583f7a35695a1e6614a784b633",
        ),
        covtype,
    ),
    Case(
        "zero_inflated_poisson",
        "zero-inflated Poisson",
        Source(
            NUMPYRO,
            "examples/zero_inflated_poisson.py",
            "08ec8f114a9eb3ed083e94b7a2d908168dc0ca51",
            ("model",),
            sha256="d32871fb97b9143604da5951ce2767621a337972b1862cdac47a45a6200086bc",
        ),
        zero_inflated_poisson,
    ),
    Case(
        "ordinal",
        "ordered logistic",
        Source(
            NUMPYRO,
            "notebooks/source/ordinal_regression.ipynb",
            "07c801d420b87bf79bd10fb790cb409158b257e5",
            ("model3",),
            sha256="26c7579335107d23212d8d2610f05b1834613166a10d45e880215149b9d01e72",
        ),
        ordinal,
    ),
    Case(
        "ucbadmit",
        "binomial, correlated effects, not centred",
        Source(
            NUMPYRO,
            "examples/ucbadmit.py",
            "002c6786f3118a60955e11c1bba6836c6a042364",
            ("glmm",),
            sha256="584b7958c37833c4550379e0a55aeec2503250c036647863c39e90a5800ce393",
        ),
        ucbadmit,
    ),
    Case(
        "hierarchical",
        "hierarchical linear, centred",
        Source(
            NUMPYRO,
            "notebooks/source/bayesian_hierarchical_linear_regression.ipynb",
            "013e54cbf06450281a284020d43d27e6e8664598",
            ("model",),
            sha256="14bf9e96d8b556f301d039f66266d17ede104bf4f23abdda758e6e7915bb8ebd",
        ),
        hierarchical,
    ),
    Case(
        "horseshoe",
        "logistic, horseshoe prior",
        Source(
            NUMPYRO,
            "examples/horseshoe_regression.py",
            "07e4c9bc4524cc0a741ba8f8ad41339d34a0288d",
            ("model_bernoulli_likelihood",),
            sha256="20f8fc11a7c52f0c5651c48eb02832c57dbd5c9ad636a6b07d24a7103d7d573b",
        ),
        horseshoe,
    ),
    Case(
        "robust",
        "Student-t regression",
        Source(
            GALLERY,
            f"{GLM}/GLM-robust.myst.md",
            "41dc905716a358a517df77739dd4a123543c91db",
            cells=("884bfc11",),
            sha256="884bfc112c33efbd8d141accada4c6b97a33211d8ac4b428c77566962c1bc1ff",
        ),
        robust,
    ),
    Case(
        "negative_binomial",
        "negative binomial",
        Source(
            GALLERY,
            f"{GLM}/GLM-negative-binomial-regression.myst.md",
            "355f744b17b67613e954d01f9e441cb17550eb52",
            cells=("3104ba41",),
            sha256="3104ba418740ef623c02554a0845f1ab1e492db0641b6e51e5fd5bce05cbadf4",
        ),
        negative_binomial,
    ),
    Case(
        "multilevel",
        "varying intercepts and slopes, centred",
        Source(
            GALLERY,
            f"{GLM}/multilevel_modeling.myst.md",
            "2294d8a7fe7158ccc25f9a190178e5aa07426256",
            cells=("85f386ff",),
            sha256="85f386ff1aee7c831399a02b35384db24013ade482b8daced4c19ac35dec3a86",
        ),
        multilevel,
    ),
    Case(
        "censored",
        "censored normal",
        Source(
            GALLERY,
            f"{GLM}/GLM-truncated-censored-regression.myst.md",
            "222414083bcaef21c77ad4a2475b52b2674def62",
            ("censored_regression",),
            sha256="1f684ea052299960b15e6c8dddd21f0a194d3eaf13a3142ad5f307386e005e24",
        ),
        censored,
    ),
    Case(
        "survival",
        "Weibull survival times, censored ones by a potential",
        Source(
            GALLERY,
            "examples/survival_analysis/bayes_param_survival.myst.md",
            "02aea529a0e293613657315fadf9b718803a7406",
            cells=(
                *("944fe4a1", "1e220f9f", "ff95ea5f", "39cd5b44", "19259f7c"),
                *("7ad48b7c", "ea82859e", "b63669ee", "07250944"),
            ),
            sha256="2759a24fa72c573e857113e36b4d08d92e2ea6c2934e37a0592a5144a2d196ca",
        ),
        survival,
    ),
    Case(
        "mixture",
        "mixture of three normals",
        Source(
            GALLERY,
            "examples/mixture_models/gaussian_mixture_model.myst.md",
            "411b8973415da69f540a8cb405950f29e69abe5d",
            cells=("d3cdcea6",),
            sha256="d3cdcea6da81e8547a0fbfcd9b7ad4b49496f25db689cce51cc80bb59f8bca2b",
        ),
        mixture,
    ),
    Case(
        "baseball",
        "a rate for each row",
        Source(
            NUMPYRO,
            "examples/baseball.py",
            "07c801d420b87bf79bd10fb790cb409158b257e5",
            ("partially_pooled",),
            sha256="9be633fd48e4b2997e718ede499f2b38aa2dccb6f44fe355734594febce7c4ea",
        ),
        baseball,
    ),
    Case(
        "neural_network",
        "neural network, two hidden layers",
        Source(
            NUMPYRO,
            "examples/bnn.py",
            "30bc72f6942189c2673779cdec2291bd4052c275",
            ("nonlin", "model"),
            sha256="b11349b9294acc857c8a25852bd569393f830cf96526ec4e6d140be9aebadc9c",
        ),
        neural_network,
    ),
)
