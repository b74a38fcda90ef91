"""The parts of a formula: response, trials, fixed terms, offsets and group terms. formulaic reads the fixed terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from designer.core.errors import BadInput, shown
from samplers.data.formula.allowed import check_size

_OPEN, _CLOSE, _QUOTES = "([{", ")]}", "\"'`"
INSTEAD = "for the binomial family write 'successes | trials(n) ~ …'"


class GroupTerm(NamedTuple):
    """`(terms | group)`: one effect of each term for every level of the group."""

    terms: str
    group: str


class Parts(NamedTuple):
    """A formula, cut into its parts; all texts are still as written."""

    response: str
    trials: str | None
    fixed: str
    offsets: tuple[str, ...]
    groups: tuple[GroupTerm, ...]


def split_formula(formula: object) -> Parts:
    """The parts of a formula.

    Examples
    --------
    >>> parts = split_formula("claims ~ age + offset(log(exposure)) + (1 | agent)")
    >>> parts.response, parts.fixed, parts.offsets, parts.groups
    ('claims', 'age', ('log(exposure)',), (GroupTerm(terms='1', group='agent'),))
    """
    text = check_size(formula)
    sides = list(_cut(text, "~"))
    if len(sides) != 2 or not sides[0].strip():
        raise BadInput(f"formula = {shown(text)}: must have one ~, as in 'y ~ x', with the response before it")
    response, trials = _response(sides[0].strip())
    fixed, offsets, groups = "", [], []
    for sign, term in _terms(sides[1]):
        inside = _inside(term)
        bars = [] if inside is None else list(_cut(inside, "|"))
        if (inner := _argument(term, "offset")) is not None:
            _refuse_minus(sign, term)
            offsets.append(inner)
        elif len(bars) > 1:
            _refuse_minus(sign, term)
            groups.append(_group(term, bars))
        elif len(list(_cut(term, "|"))) > 1 or "offset(" in term.replace(" ", ""):
            raise BadInput(
                f"formula: {shown(term)}: a group term is added as + (1 | group), an offset as + offset(...)"
            )
        else:
            fixed += f" {sign} {term}" if fixed or sign == "-" else term
    return Parts(response, trials, fixed.strip() or "1", tuple(offsets), tuple(groups))


def _response(text: str) -> tuple[str, str | None]:
    """The response and the number of trials, if it is given."""
    if _argument(text, "cbind") is not None:
        raise BadInput(f"formula: {shown(text)}: {INSTEAD}")
    parts = [part.strip() for part in _cut(text, "|")]
    if len(parts) == 1:
        return text, None
    trials = _argument(parts[1], "trials")
    if len(parts) != 2 or not parts[0] or trials is None:
        raise BadInput(f"formula: {shown(text)}: {INSTEAD}")
    return parts[0], trials


def _group(term: str, bars: list[str]) -> GroupTerm:
    terms, group = bars[0].strip(), bars[-1].strip()
    if len(bars) != 2 or not terms or not group:
        raise BadInput(f"formula: {shown(term)}: a group term is (1 | group) or (1 + x | group)")
    return GroupTerm(terms, group.strip("`"))


def _refuse_minus(sign: str, term: str) -> None:
    if sign == "-":
        raise BadInput(f"formula: - {term}: only fixed terms can be taken out")


def _terms(text: str) -> Iterator[tuple[str, str]]:
    """The summands of a text with their signs."""
    sign, begin = "+", 0
    for place, character in [*_top_level(text, "+-"), (len(text), "")]:
        term = text[begin:place].strip()
        if term:
            yield sign, term
            sign = "+"
        elif character == "" and (begin or not text.strip()):
            raise BadInput(f"formula: {shown(text.strip())}: a term is missing after {sign if begin else '~'}")
        if character == "-":
            sign = "-" if sign == "+" else "+"
        begin = place + 1


def _argument(term: str, name: str) -> str | None:
    """What `name(...)` is called with, if the term is such a call and nothing else."""
    head, _, _ = term.partition("(")
    if head.strip() != name:
        return None
    inside = _inside(term[len(head) :])
    if inside is not None and not inside.strip():
        raise BadInput(f"formula: {shown(term)}: is empty")
    return None if inside is None else inside.strip()


def _inside(term: str) -> str | None:
    """What a pair of parentheses around the whole term holds."""
    if not (term.startswith("(") and term.endswith(")")):
        return None
    depth = 0
    for place, character in _outside_quotes(term):
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth == 0 and place < len(term) - 1:
            return None
    return term[1:-1]


def _cut(text: str, separator: str) -> Iterator[str]:
    """The pieces of a text between separators that stand outside all parentheses and quotes."""
    begin = 0
    for place, _ in _top_level(text, separator):
        yield text[begin:place]
        begin = place + 1
    yield text[begin:]


def _top_level(text: str, wanted: str) -> Iterator[tuple[int, str]]:
    depth = 0
    for place, character in _outside_quotes(text):
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth < 0:
            raise BadInput(f"formula: {shown(text.strip())}: a parenthesis is closed that was not opened")
        if depth == 0 and character in wanted:
            yield place, character
    if depth:
        raise BadInput(f"formula: {shown(text.strip())}: a parenthesis is not closed")


def _outside_quotes(text: str) -> Iterator[tuple[int, str]]:
    quote = ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        else:
            yield place, character
    if quote:
        raise BadInput(f"formula: {shown(text.strip())}: a {quote} is not closed")
