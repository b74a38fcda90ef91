"""On the page Compare tests: what the model itself says, where it is known. The exact mini-batch test, and Laplace."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import NamedTuple

import numpy as np
import streamlit as st

from app.dashboard.jobs.job_queue import Job
from app.dashboard.jobs.remembered import answered_once
from app.dashboard.jobs.runs import reads_files
from app.dashboard.state.loaded import Loaded
from designer.core.progress import raise_if
from designer.pairs.notes import Note
from designer.pairs.trial_run import TrialRun
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.models.control import Controlled
from samplers.runs.laplace import controlled
from samplers.study.laplace import laplace_verdict
from samplers.study.predict_minibatch import minibatch_notes

KIND, SEED = "compare-model", 0
MODELS = ("logistic", "glm")
NEEDS_MODEL = (
    "The exact mini-batch test and the Laplace approximation are not compared here: they need the model, not only its "
    "pairs. `austerity compare TRIAL.csv --config CONFIG.toml` compares them, too, and so does this page for "
    "the pairs of a built-in chain."
)


class OfModel(NamedTuple):
    """What the model says: notes on the exact mini-batch test, the verdict on Laplace, and draws without a chain.

    Each is empty if the model does not allow it; `why` then says so. `own`: the chain itself has control variates.
    """

    notes: dict[str, Note]
    own: bool
    verdict: str
    alternatives: dict[str, dict[str, float]]
    why: str


def has_control_variates(run: Loaded) -> bool:
    """Whether the pairs are those of residuals; of an uploaded file without its config nobody knows."""
    return run.config is not None and getattr(SamplerConfig.from_toml(run.config, exact=True).model, "control", 0) > 0


def of_model(run: Loaded) -> OfModel | None:
    """What the model of this trial run says, as a job; None until it is known, or if there is no model."""
    if run.config is None:
        return None
    files = run.trial.digest if reads_files(run.config) else ""  # which may change; otherwise nothing else matters
    key = hashlib.sha256(f"{run.config}{files}".encode()).hexdigest()
    label = "Asking the model: exact mini-batch test, Laplace approximation"
    found: OfModel | None = answered_once(KIND, key, label, partial(_work, run.config))
    return found


def with_notes(trial: TrialRun, found: OfModel | None, *, controlled: bool) -> TrialRun:
    """The same pairs with what is known of the exact mini-batch test, which needs control variates."""
    if found is None or not found.notes or not (controlled or found.own):
        return trial
    columns = trial.n_data, trial.mu, trial.sigma, trial.log_ratio, trial.skew, trial.residuals
    return TrialRun(*columns, notes=dict(trial.notes) | found.notes)


def tell(run: Loaded, found: OfModel | None) -> None:
    """Whether a chain is needed at all, and what draws without one cost."""
    if run.config is None:
        st.caption(NEEDS_MODEL)
        return
    if found is None:
        return
    if found.verdict:
        st.markdown(f"**Do you need to sample at all?** {found.verdict[0].upper()}{found.verdict[1:].rstrip('.')}.")
    if found.alternatives:
        st.table(
            {
                "without a chain": list(found.alternatives),
                "evaluations for one effective draw": [f"{r['evaluations']:,.0f}" for r in found.alternatives.values()],
                "off by, in posterior standard deviations": [
                    f"{'at most' if name == 'Laplace' else 'noise of'} {row['error']:.2g}"
                    for name, row in found.alternatives.items()
                ],
            }
        )
    if found.why:
        st.caption(found.why)


def _work(text: str, job: Job) -> OfModel:
    config = SamplerConfig.from_toml(text, exact=True)
    if config.model.kind not in MODELS:  # others are not asked: their data may be large
        kind = f"not for a model of this kind ({config.model.kind})"
        return OfModel({}, False, "", {}, f"The exact mini-batch test and the Laplace approximation are {kind}.")
    job.progress(0, 3, "building the model")
    raise_if(job.cancelled)  # also between parts: others have their turn then
    spec = build(config)
    raise_if(job.cancelled)
    model = controlled(spec)
    job.progress(1, 3, "bounds on its terms, for the exact mini-batch test")
    raise_if(job.cancelled)
    notes = minibatch_notes(np.random.default_rng(SEED), model, spec.proposal, spec.rule)
    job.progress(2, 3, "the Laplace approximation")
    raise_if(job.cancelled)
    judged = laplace_verdict(model, np.random.default_rng(SEED))
    why = "" if notes else "The exact mini-batch test is not compared: this model has no bounds on its terms."
    own = isinstance(spec.model, Controlled)
    return OfModel(notes, own, judged.sentence, judged.alternatives(model.n_rows), why)
