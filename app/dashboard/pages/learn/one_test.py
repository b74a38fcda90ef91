"""A test look by look, with a counter of right and wrong decisions beside what the calculator says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import streamlit as st

from app.dashboard import cached
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.knobs import BATCH, EPSILON, Knob, batch_knob, knob
from app.figures import learn as figures
from designer import plotdata
from designer.plotdata import Path
from designer.rule.design import Design

N_DATA = 10_000
MANY = 100  # tests at one click
MU_STD = Knob(
    "learn_mu",
    "How clear is the right answer?",
    "The true standardised mean: what the test would see at once with half of the data, in standard errors. Near 0 the "
    "decision is hard, and matters little to the chain. Far from 0 it is easy.",
    0.1,
    10.0,
    1.0,
    [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0],
    "%.3g",
)
# its own, whatever design is in use: a test that decides at its first look teaches little
OWN_BATCH, OWN_EPSILON = BATCH._replace(key="learn_m"), EPSILON._replace(key="learn_eps")
STATE = "learn-tests"


class Tests(NamedTuple):
    """The tests of one setting: the one that is shown, how many looks of it, and what the earlier ones decided."""

    setting: tuple[Design, float]
    number: int = 0
    looks: int = 1
    right: int = 0
    wrong: int = 0
    data: int = 0

    @property
    def path(self) -> Path:
        """The test that is shown; its random numbers depend on its number alone."""
        return _path(*self.setting, self.number)

    @property
    def decided(self) -> bool:
        """Whether the shown test has made its decision."""
        return self.looks >= self.path.n.size + self.path.whole

    def counted(self) -> Tests:
        """With the shown test counted, and the next one begun."""
        path = self.path
        read = N_DATA if path.whole else int(path.n[-1])
        right = self.right + path.right
        return self._replace(
            number=self.number + 1, looks=1, right=right, wrong=self.wrong + (not path.right), data=self.data + read
        )

    @property
    def shown(self) -> Tests:
        """The counts with the shown test, if it has decided."""
        return self.counted() if self.decided else self


def _path(design: Design, mu_std: float, number: int) -> Path:
    where = cached.stops(design, mu_std)
    return plotdata.paths(np.random.default_rng([7, number]), where, design, mu_std, 1)[0]


def show() -> None:
    """Draw this part."""
    right, left = st.columns([2, 1], gap="large")  # on a phone, the test comes before its knobs
    with left:
        m, epsilon = batch_knob(OWN_BATCH, N_DATA), knob(OWN_EPSILON)
        mu_std = knob(MU_STD)
        st.caption(f"N = {N_DATA:,}, the same bound at every look. The right answer is always *accept*.")
    setting = Design(N_DATA, min(m, N_DATA // 2), epsilon), mu_std
    tests = st.session_state.get(STATE)
    if not isinstance(tests, Tests) or tests.setting != setting:
        tests = st.session_state[STATE] = Tests(setting)
    with right:
        _buttons(tests)
        _story(tests)
        captioned(
            figures.one_test(cached.stops(*setting), tests.path, tests.looks),
            "learn-test",
            "The evidence z after each mini-batch. Above the upper bound the test accepts, below the lower one it "
            "rejects, in between it reads on. Once it has read all data, the answer is certain.",
        )
    with left:
        _counter(tests.shown)


def _buttons(tests: Tests) -> None:
    with st.container(horizontal=True):
        label = "Next test" if tests.decided else "Next look"
        st.button(label, type="primary", icon=":material/skip_next:", key="learn-next", on_click=_next)
        st.button("To its decision", icon=":material/fast_forward:", key="learn-end", on_click=_to_the_end)
        st.button(f"{MANY} more tests", icon=":material/repeat:", key="learn-many", on_click=_many)
        st.button("Start over", icon=":material/restart_alt:", key="learn-reset", on_click=_start_over)


def _next() -> None:
    tests: Tests = st.session_state[STATE]
    st.session_state[STATE] = tests.counted() if tests.decided else tests._replace(looks=tests.looks + 1)


def _to_the_end() -> None:
    tests: Tests = st.session_state[STATE]
    tests = tests.counted() if tests.decided else tests
    st.session_state[STATE] = tests._replace(looks=tests.path.n.size + tests.path.whole)


def _many() -> None:
    tests: Tests = st.session_state[STATE]
    for _ in range(MANY):
        tests = tests.counted()
    st.session_state[STATE] = tests


def _start_over() -> None:
    tests: Tests = st.session_state[STATE]
    st.session_state[STATE] = Tests(tests.setting)


def _story(tests: Tests) -> None:
    """What the test has just done, in a sentence."""
    path, looks = tests.path, tests.looks
    if not tests.decided:
        n = int(path.n[looks - 1])
        st.info(
            f"Look {looks}: {n:,} of {N_DATA:,} data read, z = {path.z[looks - 1]:.2f}: not clear yet. It reads on."
        )
    elif path.whole:
        st.success(f"All {N_DATA:,} data read: the answer is exact, and right.", icon=":material/check_circle:")
    elif path.right:
        st.success(
            f"**Accepted** after {int(path.n[-1]):,} data, and that is right (look {path.n.size}, "
            f"z = {path.z[-1]:.2f}).",
            icon=":material/check_circle:",
        )
    else:
        st.error(
            f"**Rejected** after {int(path.n[-1]):,} data, and that is wrong (look {path.n.size}, "
            f"z = {path.z[-1]:.2f}): bad luck with the first rows.",
            icon=":material/cancel:",
        )


def _counter(tests: Tests) -> None:
    design, mu_std = tests.setting
    curve = cached.curve(design, (mu_std,))
    done = tests.right + tests.wrong
    with st.container(horizontal=True):
        st.metric("Right", f"{tests.right:,}")
        st.metric("Wrong", f"{tests.wrong:,}")
        st.metric("Data read", "–" if not done else f"{tests.data / done / N_DATA:.1%}", help="Mean over the tests.")
    share = "" if not done else f"{tests.wrong / done:.1%} of {done:,} tests were wrong. "
    st.caption(
        f"{share}The calculator says: {100.0 * curve.error[0]:.3g}% of all tests are wrong, and a test reads "
        f"{curve.usage[0]:.1%} of the data on average."
    )
