"""Page: League. Who is first on which posterior, for the error that the user allows."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import streamlit as st

from app.dashboard.state import share
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.choice import choice, name_choice, take_named
from app.figures.league import league_map, seconds
from app.league.cells import Cell, League, load
from app.league.winners import NOBODY, OURS, Winner, winners

WISHES = [0.01, 0.02, 0.05, 0.1]
IN_URL = "wish"


@cache
def figures() -> League:
    """The stored figures."""
    return load()


def show() -> None:
    """Draw the page."""
    st.title("League")
    st.caption(
        "Every method on the same posteriors, on one core: who is first to know every posterior mean well enough? A "
        "method whose means are farther off than you allow is out, however fast it is."
    )
    league = figures()
    if not league.cells:
        st.info("This version has no stored league. `make league` in a checkout of the project measures one.")
        return
    first = st.container()  # its answer is there at once
    wish = _wish()
    won = winners(league, wish)
    first.markdown(_answer(won))
    captioned(
        league_map(league, wish),
        "league-map",
        f"First to know every mean to {wish:g} posterior standard deviations, and after how many seconds, set-up "
        "included.",
    )
    st.header("All methods on one posterior")
    places = {f"{name}-{n_data}": (name, n_data) for name, n_data in won}
    titles = {key: f"{name}, N = {n_data:,}" for key, (name, n_data) in places.items()}
    place = places[choice("posterior", "Posterior", titles, "All methods are compared on it.")]
    st.table([_row(method, cell, wish) for method, cell in league.at(place).items()])
    st.caption(
        f"Reference: {league.references[place]}. Errors are the largest of all coordinates, with standard errors."
    )
    share.copy_link({IN_URL: wish, "posterior": st.query_params.get("posterior", "")})
    st.caption(f"`docs/league.md` says how it was measured. {league.when}")


def _wish() -> float:
    take_named(IN_URL, "league-wish", {f"{wish:g}": wish for wish in WISHES}, WISHES[1])
    wish = st.select_slider(
        "Error that you allow, in posterior standard deviations",
        WISHES,
        key="league-wish",
        persist_state="session",
        help="0.02: every posterior mean is known to within 2% of its standard deviation.",
    )
    return float(name_choice(IN_URL, f"{wish:g}"))


def _answer(won: dict[tuple[str, int], Winner]) -> str:
    """How often whom: our losses first."""
    counts = Counter(one.method for one in won.values())
    others = [f"{method} in {count}" for method, count in counts.most_common() if method not in {*OURS, NOBODY}]
    ours = sum(count for method, count in counts.items() if method in OURS)
    found = [*others, f"a test on mini-batches in {ours}", *([f"nobody in {counts[NOBODY]}"] if counts[NOBODY] else [])]
    return f"**Who is first, of {len(won)} posteriors:** {', '.join(found)}."


def _row(method: str, cell: Cell, wish: float) -> dict[str, str]:
    time = cell.seconds_to(wish)
    reached = seconds(time) if math.isfinite(time) else cell.why_not(wish)
    if cell.problem:
        return {"method": method, "reaches it after": reached} | dict.fromkeys(
            ("set-up", "rows per step", "effective draws/s", "means off", "sds off", "memory"), ""
        )
    rate = "needs none" if math.isinf(cell.effective) else f"{float(f'{cell.effective / cell.seconds:.3g}'):,.10g}"
    return {
        "method": method,
        "reaches it after": reached,
        "set-up": seconds(cell.setup),
        "rows per step": f"{cell.rows:,.0f}",
        "effective draws/s": rate,
        "means off": f"{cell.mean_error:.3f} ± {cell.mean_se:.3f}",
        "sds off": f"{100 * cell.sd_error:.1f}% ± {100 * cell.sd_se:.1f}",
        "memory": f"{cell.memory:,.0f} MB",
    }
