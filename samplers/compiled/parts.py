"""Models, proposals and tests as NamedTuples of arrays and numbers, for the compiled block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from samplers.models._mrf_kernels import Bits, Pairs
from samplers.proposals.profile import Profile

Labels = npt.NDArray[np.int8]

NOT_A_NUMBER = -1  # returned as the number of looks: the log-likelihood was not finite, or beyond its bound
MORE_LOOKS = -2  # the same: a decision needs looks whose bounds have not been computed


# --- models ---------------------------------------------------------------------------------------------------------


class LogisticRows(NamedTuple):
    """Logistic regression with rows as given; labels above 0 are ones (no labels: the rows are signed)."""

    rows: Floats
    labels: Labels
    prior_precision: Floats  # one per coefficient
    on_disk: bool  # in files larger than memory


class LogisticResiduals(NamedTuple):
    """Signed rows with control variates: each row is followed by η*, slope and curvature at the centre.

    Heavy rows, signed too, are apart.
    """

    rows: Floats
    scale: float  # of the log-likelihood: 1 / temperature
    prior_precision: Floats
    centre: Floats
    gradient: Floats
    hessian: Floats
    heavy: Floats


class LogisticExpanded(NamedTuple):
    """`LogisticRows` with control variates whose η*, slope and curvature are computed for each drawn row.

    A copy of the heavy rows, signed, is apart. `holes` are their places among the first N - H rows, `fillers` the rows
    that are data in these places; `buckets` and `shift` find a hole (`samplers.models.control.heavy.RowSplit`).
    """

    rows: Floats
    labels: Labels
    scale: float
    prior_precision: Floats
    second: float  # 1: with curvature, 0: without
    centre: Floats
    gradient: Floats
    hessian: Floats
    heavy: Floats
    holes: Ints
    fillers: Ints
    buckets: Ints
    shift: int
    on_disk: bool


class ICARows(NamedTuple):
    """Independent component analysis of whitened rows."""

    rows: Floats
    on_disk: bool


class MixtureData(NamedTuple):
    """Mixture of two Gaussians; beta = 1 / temperature."""

    x: Floats
    variance: float
    beta: float
    first_prior: float
    second_prior: float
    on_disk: bool


class LassoRows(NamedTuple):
    """L1 regression: rows x_i followed by y_i."""

    rows: Floats
    precision: float
    penalty: float
    on_disk: bool


class PairTerms(NamedTuple):
    """The terms of one variable's log-odds in a dense Markov random field: the data of its Gibbs update."""

    steps: Floats
    pairs: Pairs
    x: Bits
    site: int


class Hot(NamedTuple):
    """Any of these with its likelihood to the power `scale` = 1 / temperature."""

    model: Any
    scale: float


# --- proposals ------------------------------------------------------------------------------------------------------


class Walk(NamedTuple):
    """A Gaussian random walk with factor L."""

    factor: Floats


class Step(NamedTuple):
    """A proxy proposal."""

    centre: Floats
    factor: Floats
    precision: Floats
    keep: float
    beta: float


class ShapedStep(NamedTuple):
    """A proxy proposal with Student tails (or infinite degrees) and a profile (or one without directions)."""

    centre: Floats
    factor: Floats
    precision: Floats
    keep: float
    beta: float
    degrees: float
    profile: Profile


class Rotation(NamedTuple):
    """A Stiefel walk."""

    scale: float
    size: int


class Drift(NamedTuple):
    """A Langevin step; `batch` has room for the indices of its mini-batch."""

    step: float
    scale: float  # N / size of the mini-batch
    batch: Ints


# --- tests ----------------------------------------------------------------------------------------------------------


class Sequential(NamedTuple):
    """Looks and Student bounds at the interim ones, as far as they are known; Barker's rule or Metropolis'."""

    n_data: int
    barker: bool
    looks: Ints
    lower: Floats
    upper: Floats


class Exact(NamedTuple):
    """All data; `totals` are the log-likelihoods of the current and the proposed state."""

    n_data: int
    barker: bool
    totals: Floats


class Barker(NamedTuple):
    """The Barker mini-batch test with a table of its correction; `delta` is infinite without a second condition."""

    n_data: int
    m: int
    sigma: float
    delta: float
    x: Floats
    cdf: Floats
    mass: Floats
    width: float


class ExactMinibatch(NamedTuple):
    """The exact mini-batch test for control variates; `white` holds the whitened current and proposed state."""

    n_data: int
    barker: bool
    chi: float
    most: float
    table: Floats
    total: float  # C
    centre: Floats
    whitening: Any  # a matrix, or an `ArrowWhitening`
    radius: float
    order: int
    rounding: float
    white: Floats  # three rows, the last for workspace
    indices: Ints  # room for the rows drawn
