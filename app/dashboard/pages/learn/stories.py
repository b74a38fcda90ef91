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
        "Why ε = 0.05 is dangerous",
        "ε is the risk of **one** look, and a test has many. With 25 looks at ε = 0.05 and a hard decision, the whole "
        "test is wrong in nearly a third of all cases. What matters for the chain is the error of the whole test, over "
        "all proposals: that is what the Design page keeps below your tolerance.",
        "See the error of 25 looks",
        "explore",
        {"n": "12214", "m": "500", "eps": "0.05"},
    ),
    Story(
        "The same with a small ε",
        "With ε = 0.001 the hardest decision is wrong in 1.3% of all cases instead of 31%, and reads nearly all the "
        "data instead of 63%. Easy decisions hardly cost more. Which ε is best depends on how hard your proposals are: "
        "the Design page finds it.",
        "See ε = 0.001",
        "explore",
        {"n": "12214", "m": "500", "eps": "0.001"},
    ),
    Story(
        "What control variates do",
        "A quadratic approximation of each row's log-likelihood predicts most of what the row has to say. The test "
        "reads only what is left. That is thousands of times smaller here, and so is the noise: the first mini-batch "
        "always decides.",
        "See the pairs with control variates",
        "trial-run",
        {"source": "control"},
    ),
    Story(
        "Without them",
        "The same chain and the same proposals, without control variates: the best test for a tolerance of 0.01 reads "
        "70% of the data, and evaluates each row twice. An exact chain that remembers its log-likelihoods is cheaper.",
        "See the pairs without them",
        "trial-run",
        {"source": "logistic"},
    ),
    Story(
        "Skewness",
        "The evidence of a small mini-batch is normal only if the rows are not too skewed. With mini-batches of 20, "
        "one tail of this example is five times too heavy; with 2,000, the theory holds. The Trial run page checks it "
        "for your data.",
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
