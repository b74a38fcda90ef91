"""Stories: what to see on which page, with its knobs set."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st


class Story(NamedTuple):
    """A short text, and the page that shows it."""

    title: str
    text: str
    link: str
    page: str
    values: dict[str, str]

    @property
    def address(self) -> str:
        """Of the page with its knobs set."""
        return f"{self.page}?{urlencode(self.values)}"


STORIES = (
    Story(
        "Why ε = .05 is dangerous",
        "ε is the risk of **one** look, and a test has many. With 25 looks at ε = .05 and a hard decision, the whole "
        "test is wrong in nearly a third of all cases. What matters for the chain is the error of the whole test, over "
        "all proposals: that is what the Design page keeps below your tolerance.",
        "See the error of 25 looks",
        "explore",
        {"n": "12214", "m": "500", "eps": "0.05"},
    ),
    Story(
        "The same with a small ε",
        "With ε = .001 the hardest decision is wrong in 1.3% of all cases instead of 31%, and reads nearly all the "
        "data instead of 63%. Easy decisions hardly cost more. Which ε is best depends on how hard your proposals are: "
        "the Design page finds it.",
        "See ε = .001",
        "explore",
        {"n": "12214", "m": "500", "eps": "0.001"},
    ),
    Story(
        "What control variates do",
        "Subtract from every lᵢ what a quadratic proxy says about it. What is left is thousands of times smaller, "
        "and so is the noise κ of the test: in this example the first mini-batch always decides.",
        "See the pairs with control variates",
        "trial-run",
        {"source": "control"},
    ),
    Story(
        "Without them",
        "The same chain and the same proposals, without control variates: the best test for a tolerance of .01 reads "
        "70% of the data, at both states of a proposal. An exact chain that keeps its log-likelihoods is cheaper.",
        "See the pairs without them",
        "trial-run",
        {"source": "logistic"},
    ),
    Story(
        "Skewness",
        "The t statistic of a small mini-batch is normal only if the lᵢ are not too skewed. With 20 data at a look one "
        "tail of this example is five times too heavy, with 2,000 the theory holds. The Trial run "
        "page checks it for your m and ε.",
        "See a check at m = 20",
        "trial-run",
        {"source": "control", "check_m": "20"},
    ),
)


def show() -> None:
    """Draw this part."""
    for story in STORIES:
        with st.container(border=True):
            st.header(story.title)
            st.markdown(f"{story.text}\n\n[{story.link}]({story.address})")
