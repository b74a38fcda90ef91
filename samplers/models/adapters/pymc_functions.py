"""Functions of PyMC's densities that PyTensor cannot compile to JAX by itself."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

from samplers.models.adapters.packages import package

FAR = 50.0  # from here on the asymptotic series of erfcx is exact to rounding


def add_missing(jax: Any) -> None:
    """Give PyTensor the scaled complementary error function, which censored normal variables need.

    PyTensor takes it from TensorFlow Probability, if that is installed.
    """
    if find_spec("tensorflow_probability") is None:
        dispatch, scalar = (package(f"pytensor.{name}", "pymc") for name in ("link.jax.dispatch", "scalar.math"))
        dispatch.jax_funcify.register(scalar.Erfcx)(lambda op, **_: lambda x: erfcx(jax, x))


def erfcx(jax: Any, x: Any) -> Any:
    """exp(x²) erfc(x), without overflow for large x.

    Examples
    --------
    >>> import jax
    >>> round(float(erfcx(jax, 1.0)), 4)
    0.4276
    """
    np = jax.numpy
    near, far = np.minimum(x, FAR), np.maximum(x, FAR)
    direct = np.exp(near * near + math.log(2.0) + jax.scipy.special.log_ndtr(-math.sqrt(2.0) * near))
    z = 1.0 / (far * far)
    series = (1.0 - 0.5 * z * (1.0 - 1.5 * z * (1.0 - 2.5 * z))) / (math.sqrt(math.pi) * far)
    return np.where(x < FAR, direct, series)
