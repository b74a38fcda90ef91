"""The bundled trial runs, by name; they come with the package (made by `examples/make_trials.py` of the repository)."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from designer.core.errors import BadInput
from designer.pairs.trial_run import TrialRun

__all__ = ["EXAMPLES", "Example", "example"]


class Example(NamedTuple):
    """A bundled trial run.

    Attributes
    ----------
    file
        Its name.
    title
        In a few words.
    about
        Where its pairs come from.

    Examples
    --------
    >>> EXAMPLES["ica"].title
    'Unmixing sounds'
    """

    file: str
    title: str
    about: str

    @property
    def text(self) -> str:
        """The CSV file."""
        return files(__package__).joinpath(self.file).read_text(encoding="utf-8")


EXAMPLES = {
    "logistic": Example(
        "logistic_trial.csv",
        "Logistic regression, random walk",
        "200 pairs of an exact random-walk chain on logistic regression with 10 coefficients and N = 100,000 rows.",
    ),
    "control": Example(
        "control_variate_trial.csv",
        "Logistic regression, control variates",
        "The same 200 proposals with second-order control variates: the test reads only what they miss.",
    ),
    "ica": Example(
        "unmixing_trial.csv",
        "Unmixing sounds",
        "200 pairs of an exact chain of random rotations that unmixes four sounds, N = 100,000 samples.",
    ),
}


def example(name: str) -> TrialRun:
    """The bundled trial run of this name.

    Parameters
    ----------
    name
        logistic, control or ica.

    Returns
    -------
    TrialRun
        200 pairs.

    Examples
    --------
    >>> len(example("logistic"))
    200
    """
    if name not in EXAMPLES:
        raise BadInput(f"example = {name!r}: must be one of {', '.join(EXAMPLES)}")
    return TrialRun.from_csv(EXAMPLES[name].text.encode())
