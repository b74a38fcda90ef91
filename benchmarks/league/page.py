"""The page docs/league.md and the section of RESULTS.md, from the stored figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from app.league.cells import ENOUGH, Cell, League, Place
from app.league.winners import NOBODY, OURS, Winner, winners
from benchmarks.league.methods import METHODS
from benchmarks.league.posteriors import BY_NAME, POSTERIORS

PAGE = Path(__file__).parents[2] / "docs" / "league.md"
JAX = ("NUTS", "HMCECS", "SGLD-CV")  # compiled in every process
WISH, WISHES = 0.02, (0.01, 0.02, 0.05, 0.1)
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- league -->", "<!-- end of league -->"
IN_README = [(name, n) for name in ("logistic", "rare", "Poisson", "hierarchical") for n in (10**5, 10**6)]

INTRODUCTION = """# The league: who is first, and how far off

Every method on the same posteriors, on one core of the same machine. A method is *first* if it is the first to know
every posterior mean to the error that you allow, in posterior standard deviations: its set-up, then 1 / error²
effective draws. A method whose means or standard deviations are shown to be farther off (by more than three standard
errors, beside a reference that reads all data) is out, however fast it is. The dashboard's page *League* shows the same
map for the error that you set. `make league` measures it again."""

MEASURED = """## How it was measured

- One process and one core for each cell, two cells at a time on a machine with two cores and nothing else to do; about
  20 s of draws, 5 s once there are 20,000 effective ones. A cell that has no draws 120 s after that is *unfinished*.
- Set-up is everything before the first draw: mode, proxies, trial run and design (ours, by `au.sample` with
  `posterior_error=0.02`), compilation and warm-up (theirs). Loading the data is not in it. Ours is compiled before the
  first call and loaded from a cache; JAX compiles in every process.
- Peers are given the mode and the Laplace covariance for nothing: NUTS as its mass matrix, HMCECS as mass matrix and
  as centre of second-order proxies (100 rows, 10 blocks), SGLD as centre of its control variates and to whiten its
  coordinates (step 0.05, 100 rows). They compute in single precision, their default; NUTS sums differences from the
  mode, so that it loses no digits.
- Effective draws are the smallest bulk ESS of all coordinates, by the same code for all. For weighted draws it is that
  of the weights, which is hard on them: their means profit from known moments of the normal approximation.
- Errors are the largest of all coordinates, means in posterior sds and sds relative, with the standard error of that
  coordinate: among 20 coordinates chance alone makes the largest about 2 standard errors.
- The reference is made of weighted draws where the weights are even; otherwise, and for group effects, of a long chain
  that decides exactly: at N = 10⁴ with all data, above by the exact mini-batch test. There, an error of that test
  itself would not be seen; at N = 10⁵ a chain of 9,472 exact decisions agreed with it in all 211 coordinates
  (differences of means at most 2.4 standard errors, of about .012 sd each).
- Rows per step: for NUTS, rows of all its gradients."""


def written(league: League) -> str:
    """The page."""
    tables = [text for posterior in POSTERIORS for text in _tables(league, posterior.name)]
    parts = [
        INTRODUCTION,
        *_compiling(league),
        *_losses(league),
        *_map(league),
        *_in_words(league),
        *tables,
        MEASURED,
        *_methods(),
    ]
    return "\n\n".join([*parts, league.when]) + "\n"


def section(league: League) -> list[str]:
    """The section of RESULTS.md: who is first, and all figures."""
    tables = [text for posterior in POSTERIORS for text in _tables(league, posterior.name, "###")]
    title = ["## League: every method on the same posteriors", "docs/league.md says how it was measured."]
    texts = [*title, *_compiling(league), *_map(league)[1:], *tables, league.when]
    return [*"\n\n".join(texts).splitlines(), ""]


def readme(text: str, league: League) -> str:
    """The README with at most eight rows of the league between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    head = f"| posterior | N | first to know every mean to {WISH:g} sd | best test on mini-batches | NUTS | HMCECS |"
    rows = []
    for name, n in [place for place in IN_README if place in league.places]:
        cells, won = league.at((name, n)), winners(league, WISH)[name, n]
        first = f"{won.method}, {_seconds(won.seconds)}" if won.method != NOBODY else "nobody"
        ours = f"{won.ours[0]}, {_seconds(won.ours[1])}" if won.ours[0] != NOBODY else "none"
        others = [_reached(cells[one]) for one in ("NUTS", "HMCECS")]
        rows.append(f"| {BY_NAME[name].words} | {_size(n)} | {first} | {ours} | {' | '.join(others)} |")
    return before + BEGIN + "\n" + "\n".join([head, "|---" * 6 + "|", *rows]) + "\n" + END + after


def _reached(cell: Cell) -> str:
    time = cell.seconds_to(WISH)
    return _seconds(time) if math.isfinite(time) else cell.why_not(WISH)


def _compiling(league: League) -> list[str]:
    """What compilation does to the set-up of peers, and who would be first without set-up."""
    small = min((n for _, n in league.places), default=0)
    ranges = []
    for method in JAX:
        seconds = [cell.setup for (_, n, one), cell in league.cells.items() if (one, n) == (method, small)]
        known = [value for value in seconds if math.isfinite(value)]
        if known:
            ranges.append(f"{method} {_number(min(known))} to {_seconds(max(known))}")
    if not ranges:
        return []
    nobody = _ahead(league, free=(*JAX, *OURS))
    theirs = _ahead(league, free=JAX)
    return [
        f"**Set-up times are not comparable.** Those of JAX methods include compilation, in every process; our "
        f"code is compiled beforehand. At N = {_size(small)}, where compilation is most of it, theirs are "
        f"{', '.join(ranges)}. At {WISH:g} sd in every mean, one of them is ahead of our best test in {_ahead(league)} "
        f"of {len(league.places)} places; in {nobody} if set-up counts for neither, and in {theirs} if it counts "
        "for us alone."
    ]


def _ahead(league: League, free: Sequence[str] = ()) -> int:
    """In how many places a JAX method is ahead of all tests on a subsample, if the set-up of some methods is free."""
    count = 0
    for place in league.places:
        cells = league.at(place)
        times = {one: cell.seconds_to(WISH) - (cell.setup if one in free else 0.0) for one, cell in cells.items()}
        theirs, ours = (
            min((time for one, time in times.items() if one in some and not math.isnan(time)), default=math.inf)
            for some in (JAX, OURS)
        )
        count += theirs < ours
    return count


def _losses(league: League) -> list[str]:
    """Where a test on a subsample is not first, or is itself far off."""
    lost = {place: won for place, won in winners(league, WISH).items() if won.method not in OURS}
    lines = [_loss(place, won) for place, won in lost.items()]
    lines += [
        f"- **{name}, N = {_size(n)}**: {method} is off by {cell.error:.2g} (shown: more than {cell.shown:.2g})."
        for (name, n, method), cell in league.cells.items()
        if method in OURS and not cell.problem and cell.shown > WISH
    ]
    lines += [
        f"- **{name}, N = {_size(n)}**: {method}: {cell.problem}."
        for (name, n, method), cell in league.cells.items()
        if method in OURS and cell.problem and "not measured" not in cell.problem
    ]
    missing = [(one.name, n) for one in POSTERIORS for n in one.sizes if (one.name, n) not in league.places]
    lines += [f"- **{name}, N = {_size(n)}**: not measured yet." for name, n in missing]
    return ["## Where we lose", f"At an error of {WISH:g} sd.", "\n".join(lines) or "Nowhere in these cells."]


def _loss(place: Place, won: Winner) -> str:
    where, (ours, seconds) = f"- **{place[0]}, N = {_size(place[1])}**", won.ours
    if won.method == NOBODY:
        return f"{where}: nobody gets there."
    behind = "none of our tests gets there" if ours == NOBODY else f"our best, {ours}, takes {_seconds(seconds)}"
    return f"{where}: {won.method} is first after {_seconds(won.seconds)}; {behind}."


def _map(league: League) -> list[str]:
    """Who is first, by posterior and N."""
    texts = ["## Who is first"]
    for wish in WISHES:
        won = winners(league, wish)
        sizes = sorted({n for _, n in won})
        rows = [
            f"| {name} | " + " | ".join(_won(won.get((name, n))) for n in sizes) + " |"
            for name in dict.fromkeys(name for name, _ in won)
        ]
        head = "| posterior | " + " | ".join(f"N = {_size(n)}" for n in sizes) + " |"
        texts += [f"Every mean to {wish:g} sd:", "\n".join([head, "|---" * (len(sizes) + 1) + "|", *rows])]
    return texts


def _won(won: Winner | None) -> str:
    if won is None:
        return "–"
    if won.method == NOBODY:
        return "nobody"
    close = f"; close: {', '.join(won.close)}" if won.close else ""
    return f"**{won.method}** {_seconds(won.seconds)}{close}"


def _in_words(league: League) -> list[str]:
    """One sentence for each posterior and N."""
    lines = []
    for place, won in winners(league, WISH).items():
        if won.method == NOBODY:
            continue
        rivals = [(one, cell.seconds_to(WISH)) for one, cell in league.at(place).items() if one in ("NUTS", "HMCECS")]
        beside = [
            f"{one} {_seconds(seconds) if math.isfinite(seconds) else league.at(place)[one].why_not(WISH)}"
            for one, seconds in rivals
            if one != won.method
        ]
        words = f"- {place[0]}, N = {_size(place[1])}: {won.method} after {_seconds(won.seconds)}"
        lines.append(words + (f" ({'; '.join(beside)})." if beside else "."))
    return ["## In words", f"Every mean to {WISH:g} sd.", "\n".join(lines)]


def _tables(league: League, name: str, mark: str = "##") -> list[str]:
    """All figures of one posterior."""
    places = [place for place in league.places if place[0] == name]
    if not places:
        return []
    head = (
        f"| N | method | set-up | rows per step | effective draws/s | means off | sds off | memory | to {WISH:g} sd |"
    )
    rows = [_row(n, method, cell) for _, n in places for method, cell in league.at((name, n)).items()]
    known = "; ".join(f"N = {_size(n)}: {league.references[name, n]}" for _, n in places)
    title = name[:1].upper() + name[1:]
    return [
        f"{mark} {title}: {BY_NAME[name].words}",
        "\n".join([head, "|---" * 9 + "|", *rows]),
        f"Reference: {known}.",
    ]


def _row(n: int, method: str, cell: Cell) -> str:
    if cell.problem:
        return f"| {_size(n)} | {method} | {cell.problem} | | | | | | |"
    rate = "needs none" if math.isinf(cell.effective) else _number(cell.effective / cell.seconds)
    if cell.effective < ENOUGH:
        rate = f"~{rate}"
    shown = [
        _seconds(cell.setup),
        _number(cell.rows),
        rate,
        f"{cell.mean_error:.3f} ± {cell.mean_se:.3f}",
        f"{100 * cell.sd_error:.1f}% ± {100 * cell.sd_se:.1f}",
        f"{cell.memory:,.0f} MB",
        _reached(cell),
    ]
    return f"| {_size(n)} | {method} | " + " | ".join(shown) + " |"


def _methods() -> list[str]:
    lines = [f"- **{method.name}**: {method.words}." for method in METHODS]
    return ["## The methods", "\n".join(lines)]


def _size(n: int) -> str:
    return f"10{str(len(str(n)) - 1).translate(SUPERSCRIPT)}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
