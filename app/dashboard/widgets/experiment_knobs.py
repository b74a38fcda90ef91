"""The knobs of a live experiment: those of `austerity experiment`, up to the quick size."""

from __future__ import annotations

import math

import streamlit as st

from designer.core.errors import BadInput
from designer.core.text_table import parse_number
from samplers.experiments.framework.knobs import MOST_CHAINS, MOST_SEED, Knobs, Start, knobs_of, turned
from samplers.experiments.framework.running import Experiment

SIZES = "quick", "tiny"
STARTS: tuple[Start, ...] = ("mode", "far")


def experiment_knobs(experiment: Experiment) -> list[str] | None:
    """Draw the knobs that the experiment has; returns arguments for the command line, or None if one is refused."""
    own, name = experiment.sizes["quick"], experiment.name
    has = knobs_of(experiment)
    with st.expander("Settings of the live run", icon=":material/tune:"):
        size = st.radio("Size", SIZES, horizontal=True, key=f"{name}-size", help="tiny takes seconds and shows less")
        chains = seed = epsilon = start = None
        left, right = st.columns(2)
        if "chains" in has:
            chains = left.number_input("Chains of each test", 1, MOST_CHAINS, own.chains, key=f"{name}-chains")
        if "seed" in has:
            seed = right.number_input("Seed", 0, MOST_SEED, own.seed, key=f"{name}-seed")
        if "epsilon" in has:
            typed = st.text_input("ε of the tests", ", ".join(f"{e:g}" for e in own.epsilons), key=f"{name}-epsilon")
            read = [parse_number(text.strip()) for text in typed.split(",")]
            epsilon = [math.nan if number is None else number for number in read]  # what is no number is refused
        if "start" in has:
            start = st.radio("Start", STARTS, STARTS.index(own.start), horizontal=True, key=f"{name}-start")
        try:
            knobs = Knobs(chains, seed, epsilon, start)
            turned(experiment, knobs)
        except BadInput as error:
            st.error(str(error), icon=":material/error:")
            return None
    return ["--size", size, *knobs.arguments]
