"""Rows of a design matrix, made by formulaic a block at a time, with the levels and the state of the whole table."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, shown
from designer.core.files import shorten
from samplers.data.formula.allowed import (
    CONTEXT,
    LARGEST_POWER,
    check_column,
    check_expression,
    check_names,
    is_category,
    is_stateful,
    without_backticks,
)

MOST_COLUMNS = 5_000  # of a design matrix
MOST_TERMS = 10_000
MOST_NUMBERS = 2**22  # of a design matrix that formulaic makes at once
INSTALL = 'formulas need formulaic: pip install "austerity[formula]"'


class Term(NamedTuple):
    """One term of formulaic, with the columns it uses."""

    term: Any
    columns: frozenset[str]


class Terms(NamedTuple):
    """The terms of one part of a formula."""

    text: str
    terms: tuple[Term, ...]

    @property
    def columns(self) -> set[str]:
        """All columns that the terms use."""
        return {name for term in self.terms for name in term.columns}

    @property
    def factors(self) -> dict[str, Any]:
        """Factors of formulaic by their text."""
        return {factor.expr: factor for term in self.terms for factor in term.term.factors}


def need_formulaic() -> None:
    """Refuse with a word on what to install if formulaic is missing."""
    try:
        import formulaic  # noqa: F401
    except ImportError:
        raise BadInput(INSTALL) from None


def parse_terms(text: str, columns: Collection[str], others: Collection[str] = ()) -> Terms:
    """The terms of a sum such as "1 + x + C(g)"; the term `.` stands for the columns that are not among `others`.

    Examples
    --------
    >>> [str(term.term) for term in parse_terms("x * z - 1", ["x", "z"]).terms]
    ['x', 'z', 'x:z']
    """
    from formulaic.parser import DefaultFormulaParser

    check_names(text, columns)
    parser = DefaultFormulaParser(feature_flags=set())
    available = [name for name in columns if name not in others]
    context = {"__formulaic_variables_available__": available, "__formulaic_variables_used_lhs__": []}
    with refusing(text):
        tree = parser.get_ast(text, context=context)
        if _count(tree, len(available)) > MOST_TERMS:
            raise BadInput(f"formula: {shown(text)}: stands for more than {MOST_TERMS:,} terms")
        found = list(parser.get_terms(text, context=context))
    return Terms(text, tuple(_checked(term, columns) for term in found))


def parse_expression(text: str, columns: Collection[str]) -> Terms:
    """One expression, such as the one of an offset, as the only term."""
    from formulaic.parser.types import Factor
    from formulaic.parser.types import Term as FormulaicTerm

    name = (
        text.strip()[1:-1] if text.strip().count("`") == 2 and text.strip()[:: len(text.strip()) - 1] == "``" else text
    )
    if name in columns:
        return Terms(text, (Term(FormulaicTerm([Factor(name, eval_method="lookup")]), frozenset({name})),))
    check_names(text, columns, within=True)
    used = check_expression(text, columns)
    if not used:
        raise BadInput(f"formula: {shown(text)}: names no column")
    return Terms(text, (Term(FormulaicTerm([Factor(text, eval_method="python")]), frozenset(used)),))


def _checked(term: Any, columns: Collection[str]) -> Term:
    used: set[str] = set()
    for factor in term.factors:
        method = factor.eval_method.value
        if method == "lookup":
            used.add(check_column(factor.expr, columns))
        elif method == "python":
            used |= check_expression(factor.expr, columns)
        elif not factor.expr.replace(".", "", 1).isnumeric():
            raise BadInput(f"formula: {shown(factor.expr)}: is not a term")
    return Term(term, frozenset(used))


def _count(node: Any, columns: int) -> float:
    """No fewer than the terms that a tree of formulaic's operators stands for."""
    if not hasattr(node, "operator"):
        return 1.0
    counts = [_count(part, columns) for part in node.args]
    symbol = node.operator.symbol
    if symbol in ("**", "^"):
        power = str(getattr(node.args[-1], "token", "")) or "1"
        return counts[0] ** int(power) if power.isdigit() and int(power) <= LARGEST_POWER else math.inf
    if symbol in ("*", "/", ":", "in") and len(counts) == 2:
        return counts[0] * counts[1] + counts[0] + counts[1]
    return sum(counts) if counts else float(columns)


def category_argument(text: str) -> tuple[str, list[Any] | None]:
    """What C(...) is about, and the levels that it names."""
    plain, aliases = without_backticks(text)
    call = ast.parse(plain.strip(), mode="eval").body
    assert isinstance(call, ast.Call)
    if not call.args:
        raise BadInput(f"formula: {shown(text)}: names no column")
    try:
        named = [ast.literal_eval(word.value) for word in call.keywords if word.arg == "levels"]
    except ValueError:
        raise BadInput(f"formula: {shown(text)}: levels must be a list of texts or numbers") from None
    inner = ast.unparse(call.args[0])
    if is_stateful(inner):
        raise BadInput(
            f"formula: {shown(text)}: within C(...) there can be no function that learns from all rows, such as scale; "
            "make the categories a column of the table"
        )
    for name, alias in aliases.items():
        inner = inner.replace(alias, f"`{name}`")
    if named and not isinstance(named[0], (list, tuple)):
        raise BadInput(f"formula: {shown(text)}: levels must be a list")
    return inner, list(named[0]) if named else None


@contextmanager
def refusing(text: str) -> Iterator[None]:
    """Turn what formulaic raises into one line about this part of the formula."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except BadInput:
        raise
    except SyntaxError:
        raise BadInput(f"formula: {shown(text)}: is not a sum of terms such as x + log(z) + x:z") from None
    except Exception as error:  # formulaic evaluates, so anything can come
        reason = str(error.__cause__ or error).partition("⧛")[0]
        raise BadInput(f"formula: {shown(text)}: cannot be used: {shorten(reason, 150)}") from None


def evaluate(text: str, frame: Any) -> Any:
    """The values of an allowed expression that is not stateful, for one block of rows."""
    from formulaic.transforms import TRANSFORMS
    from formulaic.utils.layered_mapping import LayeredMapping
    from formulaic.utils.stateful_transforms import stateful_eval

    with refusing(text):
        return stateful_eval(text, LayeredMapping(frame, CONTEXT, TRANSFORMS), None, None, None)


class Design:
    """Terms with everything that their encoding needs to know about the whole table.

    Parameters
    ----------
    terms
        The terms.
    levels
        The levels of each column of texts, and of each C(...).
    whole
        All rows of the columns that stateful functions use, as a pandas data frame.
    """

    def __init__(self, terms: Terms, levels: Mapping[str, Sequence[Any]], whole: Any) -> None:
        from formulaic import ModelSpec
        from formulaic.parser.types import Factor
        from formulaic.parser.types import Term as FormulaicTerm

        self.terms = terms
        self._refuse_wide(levels)
        categories = {
            text: (Factor.Kind.CATEGORICAL, {"categories": list(levels[text])})
            for text in terms.factors
            if text in levels
        }
        state: dict[str, Any] = {}
        for text, factor in terms.factors.items():
            if factor.eval_method.value == "python" and is_stateful(text):
                alone = ModelSpec(formula=[FormulaicTerm([factor])], na_action="ignore", output="numpy")
                with refusing(text):
                    state |= alone.get_model_matrix(whole, context=CONTEXT).model_spec.transform_state
        self._spec = ModelSpec(
            formula=[term.term for term in terms.terms],
            na_action="ignore",
            output="numpy",
            encoder_state=categories,
            transform_state=state,
        )

    def _refuse_wide(self, levels: Mapping[str, Sequence[Any]]) -> None:
        for term in self.terms.terms:
            columns = math.prod(len(levels[factor.expr]) for factor in term.term.factors if factor.expr in levels)
            if columns > MOST_COLUMNS:
                advice = "(1 | group) is the term for a group with many levels"
                raise BadInput(f"formula: {term.term}: has {columns:,} levels, more than {MOST_COLUMNS:,}; {advice}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; known after the first block."""
        return tuple(self._spec.column_names)

    def matrix(self, frame: Any) -> Floats:
        """The rows of the design matrix for a block of the table, with its index from 0 on."""
        if self._spec.structure is None:  # the first block settles which columns there are
            with refusing(self.terms.text):
                head = frame.iloc[:1]
                self._spec = self._spec.get_model_matrix(head, context=CONTEXT).model_spec
            if len(self.names) > MOST_COLUMNS:
                raise BadInput(f"formula: {len(self.names):,} columns, more than {MOST_COLUMNS:,}")
        rows = max(1, MOST_NUMBERS // max(1, len(self.names)))
        parts = []
        for begin in range(0, len(frame), rows):
            part = frame if rows >= len(frame) else frame.iloc[begin : begin + rows].reset_index(drop=True)
            with refusing(self.terms.text):
                made = self._spec.get_model_matrix(part, context=CONTEXT)
                parts.append(np.asarray(made, dtype=np.float64).reshape(len(part), len(self.names)))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def stateful_columns(terms: Sequence[Terms]) -> set[str]:
    """The columns that stateful functions use."""
    return {
        name
        for part in terms
        for text, factor in part.factors.items()
        if factor.eval_method.value == "python" and is_stateful(text)
        for name in check_expression(text, part.columns)
    }


def categories_of(terms: Sequence[Terms]) -> dict[str, tuple[str, list[Any] | None]]:
    """The texts C(...) among the factors, with what they are about and the levels that they name."""
    return {
        text: category_argument(text)
        for part in terms
        for text, factor in part.factors.items()
        if factor.eval_method.value == "python" and is_category(text)
    }
