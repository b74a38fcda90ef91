"""What each stored experiment tells: three sentences with its numbers, and the panels that show it.

The sentences take their numbers from the tables of the report, so that they cannot contradict it. They are about full
runs; a smaller run has only its finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from samplers.experiments.framework.report import Cell, Check, Panel, Report, in_words

SENTENCES = 3
NOT_CHECKED = "is not checked in this run"
BESIDE = Path(__file__).parents[3] / "docs" / "beside_the_papers.md"  # comes with the sources


class Story(NamedTuple):
    """Three sentences, and the panels of the first figure."""

    words: str
    panels: Sequence[Panel]


def story(name: str, report: Report) -> Story:
    """The story of an experiment's report; where tables are missing, the first sentences of its finding."""
    tell, titles = _STORIES[name]
    try:
        words = tell(report)
    except LookupError:
        words = first_sentences(report.finding)
    return Story(words, [panel for panel in report.panels if panel.title.startswith(titles)] or report.panels[:1])


def beside_the_paper(name: str) -> str:
    """What the paper reports and how our setting differs, as the docs have it; empty where the docs are missing."""
    if not BESIDE.is_file():
        return ""
    text = re.sub(r"<!--.*?-->[ \n]?", "", BESIDE.read_text(encoding="utf-8"), flags=re.DOTALL)  # notes to authors
    parts = re.split(r"^## (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(name, "").strip()


def first_sentences(text: str) -> str:
    """The first three sentences of a text.

    Examples
    --------
    >>> first_sentences("N = 1.5 and so on. Two. Three. Four.")
    'N = 1.5 and so on. Two. Three.'
    """
    parts = text.split(". ")
    return text if len(parts) <= SENTENCES else ". ".join(parts[:SENTENCES]) + "."


def three(value: Cell) -> str:
    """A cell for readers: three significant digits of what is measured, all of what is counted, millions as words.

    Examples
    --------
    >>> [three(cell) for cell in (12214, 0.0123456, 15561.7, 3.0, 1.2e-7, 292571000, 1950000, None, True, "exact")]
    ['12,214', '0.0123', '15,600', '3', '1.2e-07', '293 million', '1.95 million', '', 'yes', 'exact']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if abs(value) >= 1e6:
        unit, word = (1e9, "billion") if abs(value) >= 1e9 else (1e6, "million")
        return f"{value / unit:.3g} {word}" if abs(value) < 1e12 else f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def percent(share: Cell) -> str:
    """A share in per cent, with three digits.

    Examples
    --------
    >>> percent(0.146712)
    '14.7%'
    """
    return f"{100.0 * number(share):.3g}%"


def number(cell: Cell) -> float:
    """A cell that must be a number."""
    if cell is None or isinstance(cell, str):
        raise LookupError(f"{cell!r} is not a number")
    return float(cell)


def cell(report: Report, table: int, column: str, *keys: Cell) -> Cell:
    """The cell of a table in this column, in the row that has these keys in its first columns."""
    title, columns, rows = report.tables[table]
    if column not in columns:
        raise LookupError(f"{title}: no column {column}")
    for row in rows:
        if list(row[: len(keys)]) == list(keys):
            return row[columns.index(column)]
    raise LookupError(f"{title}: no row {keys}")


def verdict(report: Report, begins: str) -> str:
    """Whether the statement that begins like this holds, as the end of a sentence."""
    found = next((check for statement, check in report.checks.items() if statement.startswith(begins)), NOT_CHECKED)
    return found if isinstance(found, str) else f"{_words(found)} here"


def headline(report: Report, paper: str) -> str:
    """Where a paper's headline holds, as the end of a sentence: its checks have the same words, but for the cost."""
    costs: dict[str, list[str]] = {}
    for statement, check in report.checks.items():
        said, _, cost = statement.partition("at equal ")
        if said.startswith(paper) and cost:
            costs.setdefault(_words(check), []).append(cost.partition(",")[0])
    told = [f"{words} at equal {_listed(each)}" for words, each in costs.items()]
    return _listed(told) if told else NOT_CHECKED


def best_test(report: Report, cost: str = "data read") -> str:
    """In brackets, the test whose risk is the smallest part of that of exact sampling at equal cost, if it is known."""
    if any(check is None and f"at equal {cost}" in statement for statement, check in report.checks.items()):
        return ""
    tables = [table for table in report.tables if table.title.startswith("Risks at equal cost")]
    rows = [dict(zip(tables[0].columns, row, strict=True)) for row in tables[0].rows] if tables else []
    shares = {
        str(row["test"]): number(row["risk, test"]) / number(row["risk, exact"])
        for row in rows
        if str(row["at equal"]).startswith(cost)
    }
    if not shares:
        return ""
    name = min(shares, key=shares.__getitem__)
    return f" (at equal {cost} {name} {'does best' if shares[name] < 1.0 else 'comes closest'})"


def _words(check: Check) -> str:
    return f"{'is ' if check is None else ''}{in_words(check)}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def samples_of(report: Report) -> str:
    """How many samples of which sources E4 has, from the first words of its finding."""
    found = re.match(r"On ([\d,]+) samples of (.+?), (?:with|at) ", report.finding)
    if found is None:
        raise LookupError("the finding does not say of what there are samples")
    return f"{three(int(found[1].replace(',', '')))} samples of {found[2]}"


def _e1(report: Report) -> str:
    def at(column: str) -> str:
        return percent(cell(report, 0, column, 0.05, 0.0))

    return (
        f"In its worst case, where the mean lies on the threshold, a test with ε = 0.05 and batches of 500 errs in "
        f"{at('error, normal lᵢ')} of cases (theory: {at('error, theory')}) and reads {at('data use, normal lᵢ')} of "
        f"the data ({at('data use, theory')}). With normal lᵢ, simulated tests err and read as the theory says at "
        "every distance from the threshold, for ε = 0.01, 0.05 and 0.1. The lᵢ of real digits are skewed, so that "
        "wrong acceptances and wrong rejections are not equally frequent; the theory with skewness accounts for "
        "nearly all of that."
    )


def _e2(report: Report) -> str:
    wrong, off = (cell(report, 0, column, 1.3, -0.35) for column in ("E_u[E] theory", "Δ theory"))
    return (
        f"A single accept/reject decision of a sequential test is often wrong: for a move that should be accepted with "
        f"probability 0.70, in {percent(wrong)} of cases. But wrong acceptances and wrong rejections cancel, and the "
        f"probability of accepting it is off by {three(abs(number(off)))} only. For moves that are certain to be "
        "accepted (A > 0) nothing cancels, as the figure shows at the right."
    )


def _e3(report: Report) -> str:
    def use(epsilon: str) -> str:
        return percent(cell(report, 0, "data use", epsilon))

    return (
        f"On 12,214 digits, random-walk chains with the sequential test read {use('ε = 0.01')} of the data at ε = 0.01 "
        f"and {use('ε = 0.2')} at ε = 0.2. K14 and K16 find a lower risk at some ε > 0 than at ε = 0, the exact chain, "
        f"which here caches likelihoods and reads rows in order: from the mode, that "
        f"{headline(report, 'K14 Fig. 2')}; from far starts, it {headline(report, 'K16 Fig. 5')}. With control "
        f"variates a step reads {use('control variates')} of the data and with proxy proposals "
        f"{use('proxy proposals')}; that proxy proposals reach a lower risk than exact sampling with no more "
        f"evaluations {verdict(report, 'proxy proposals')}."
    )


def _e4(report: Report) -> str:
    def of(column: str, epsilon: str) -> Cell:
        return cell(report, 0, column, epsilon)

    least, most = "ε = 0.01", "ε = 0.2"
    plain, cached = "× exact without cache", "× cached exact"
    return (
        f"With {samples_of(report)}, chains with the sequential test read "
        f"{percent(of('data use', least))} ({least}) to {percent(of('data use', most))} ({most}) of the data per step "
        f"and make {three(of(plain, least))} to {three(of(plain, most))} times as many steps per second as exact "
        f"chains (K14: 1.9 to 316). Against exact chains that cache likelihoods, which K14 does not consider, it is "
        f"{three(of(cached, least))} to {three(of(cached, most))} times as many. K14 finds the lowest risk at ε = 0.1; "
        f"that some ε > 0 has a lower risk than exact sampling {headline(report, 'K14 Fig. 3')}"
        f"{best_test(report)}, and that the variance dominates the bias, except at ε = 0.2, "
        f"{verdict(report, 'K14 §6.2: the variance')}."
    )


def _e5(report: Report) -> str:
    def of(column: str, design: str) -> Cell:
        return cell(report, 0, column, design, 0.1)

    use, average = "data use, fresh", "average design"
    return (
        f"A design for the average error meets its target on pairs that it has not seen: "
        f"{three(of('error, fresh', average))} for a target of 0.1. It then reads {percent(of(use, average))} of the "
        f"data, the best test with batches of 600 reads {percent(of(use, 'fixed m'))}, and the worst-case design "
        f"{percent(of(use, 'worst-case design'))}. K14's Fig. 6 has about half the data of m = 600 where the error may "
        "be large, and a worst-case design that wastes data."
    )


def _e6(report: Report) -> str:
    def use(epsilon: str) -> str:
        return percent(cell(report, 0, "data use", epsilon))

    return (
        f"Reversible jumps choose variables for a regression of census income; with the sequential test a step reads "
        f"{use('ε = 0.01')} of the data at ε = 0.01 and {use('ε = 0.1')} at ε = 0.1. K14 finds a lower risk at some "
        f"ε > 0 than with exact jumps, which {headline(report, 'K14 Fig. 4')}{best_test(report)}, and the same "
        f"inclusion probabilities from all chains, which "
        f"{verdict(report, 'no inclusion probability of any test')}. A move that should hardly ever be "
        "accepted is the hard case: there nearly every error is a wrong acceptance."
    )


def _e7(report: Report) -> str:
    def of(column: str, chain: str) -> Cell:
        return cell(report, 0, column, chain)

    away = "Kolmogorov distance"
    return (
        f"Langevin dynamics without an acceptance test is thrown far to the right of a kink in the density: its "
        f"distance from the true posterior is {three(of(away, 'uncorrected'))}. The exact test corrects that (distance "
        f"{three(of(away, 'exact'))}), and so do sequential tests: {three(of(away, 'ε = 0.1'))} at ε = 0.1 with "
        f"{percent(of('data used by the test', 'ε = 0.1'))} of the data, {three(of(away, 'ε = 0.5'))} at ε = 0.5 with "
        f"{percent(of('data used by the test', 'ε = 0.5'))}. K16 reports 14.2% and 5%, and histograms that cannot be "
        "told from the truth."
    )


def _e8(report: Report) -> str:
    def of(column: str, test: str) -> Cell:
        return cell(report, 0, column, test)

    read, off, speed = "terms read (share)", "largest |Δ|, calculator", "ms per sweep"
    return (
        f"In a field of 100 variables, sequential tests decide Gibbs updates from {percent(of(read, 'ε = 0.01'))} "
        f"(ε = 0.01) to {percent(of(read, 'ε = 0.25'))} (ε = 0.25) of the terms. They pull conditional "
        f"probabilities towards one half, by at most {three(of(off, 'ε = 0.01'))} and {three(of(off, 'ε = 0.25'))}, as "
        "the calculator predicts and K14 finds. Unlike K14 we see no gain in time: exact sampling reads its terms in "
        f"the order of memory and takes {three(of(speed, 'exact'))} ms per sweep, ε = 0.25 takes "
        f"{three(of(speed, 'ε = 0.25'))} ms."
    )


def _e9(report: Report) -> str:
    def passes(data: str, method: str) -> str:
        return three(cell(report, 0, "passes to 99%", data, method))

    left = cell(report, 0, "share of the way left", "flights", "as printed")
    return (
        f"To get within 1% of the best fit of flight delays, the sequential test reads "
        f"{passes('flights', 'sequential')} passes over the data, least squares on all data "
        f"{passes('flights', 'all data')} and tuned stochastic gradients {passes('flights', 'SGD')}. On census income "
        f"it is {passes('census', 'sequential')}, {passes('census', 'all data')} and {passes('census', 'SGD')}. K16's "
        f"own test, as printed, ends {percent(left)} of the way short on flights, within the limits of this run."
    )


def _e10(report: Report) -> str:
    def read(test: str, reading: str = "sd") -> str:
        return three(cell(report, 0, "data per step", reading, test))

    return (
        f"Of a million data, the Barker test reads {read('barker')} per step, the sequential test {read('sequential')} "
        f"and the concentration test {read('concentration')}; S17 prints 210, 15,562 and 16,857. That is so if the "
        "printed 0.15 is the standard deviation of the proposal; if it is the variance, the Barker test reads "
        f"{read('barker', 'variance')}. With so narrow a proposal 5,000 samples are worth fewer than 30 independent "
        "ones: whether they follow the posterior shows only in much longer chains."
    )


def _e11(report: Report) -> str:
    def read(test: str, temperature: float = 1000.0) -> str:
        return three(cell(report, 0, "data per step", test, temperature))

    return (
        f"Of 12,007 images, the Barker test reads {read('barker')} per step, the sequential test {read('sequential')} "
        f"and the concentration test {read('concentration, known bound')}; S17 prints 163, 2,026 and 7,612. Theory "
        "predicts what the first two read here, so the difference lies in a setting that the paper does not give: with "
        f"every lᵢ 2.8 times as large (T = 360), they read {read('barker', 360.0)} and {read('sequential', 360.0)}. "
        "The posterior is improper, so that accuracy shows how fast a chain drifts from its start, not how well it "
        "samples."
    )


def _e12(report: Report) -> str:
    def full(test: str) -> str:
        return percent(cell(report, 0, "needs all data", 1_000_000, test))

    use = percent(cell(report, 0, "data use", 1_000_000, "Barker minibatch"))
    return (
        f"With the best random walk for a Gaussian mean and a million data, {full('sequential, m grows with N')} of "
        f"the sequential tests with batches of N/100 need all data, and {full('concentration')} of the concentration "
        "tests; S17 proves that it is at least 0.85%. With batches of 100 the share falls below that as N grows, "
        "because more looks mean more early, and more wrong, decisions. At that size the Barker test never needs all "
        f"data, but reads {use} of them: only a smaller κ, by control variates for example, makes tests cheap."
    )


def _e13(report: Report) -> str:
    ridge = cell(report, 0, "L∞ error", "ridge, clipped", 0.9)
    fitted = cell(report, 0, "L∞ error", "non-negative least squares", 0.9)
    return (
        f"The Barker test adds a correction so that its noise becomes logistic. S17's construction has an error of "
        f"{three(ridge)} at σ = 0.9 (printed: 0.0001). Fitting with non-negative weights, as the sampler here does, "
        f"reduces it to {three(fitted)}."
    )


_STORIES: dict[str, tuple[Callable[[Report], str], tuple[str, ...]]] = {
    "e1": (_e1, ("Error of one test",)),
    "e2": (_e2, ("Δ against the log",)),
    "e3": (_e3, ("Risk against work",)),
    "e4": (_e4, ("Risk against work",)),
    "e5": (_e5, ("K14 Fig. 6(",)),
    "e6": (_e6, ("Risk against work",)),
    "e7": (_e7, ("SGLD, ",)),
    "e8": (_e8, ("Error of conditional",)),
    "e9": (_e9, ("flights: test error against data", "census: test error against data")),
    "e10": (_e10, ("Batch sizes when 0.15 is the standard deviation",)),
    "e11": (_e11, ("Batch sizes", "Test accuracy against data")),
    "e12": (_e12, ("Needs all data",)),
    "e13": (_e13, ("L∞ error",)),
}
