"""What an expression in a formula may say.

A formula may come from a config or a web page, and formulaic evaluates its expressions as Python. So each expression is
parsed first, and refused unless it consists of columns, numbers, arithmetic, comparisons and the functions named here.
Functions compute each row from that row, or are stateful: what they learn (a mean, knots), they learn from all rows.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from designer.core.errors import BadInput, shown
from designer.core.files import shorten

MOST_CHARACTERS = 5_000  # of a formula
DEEPEST = 30  # parentheses within parentheses
MOST_PARTS = 100  # of a polynomial or spline
LARGEST_POWER = 64
_TOKENS = re.compile(r"'[^']*'|\"[^\"]*\"|`([^`]*)`|([^\W\d]\w*)|[()]")  # texts, names in backticks and plain
_QUOTES = "\"'`"
_SAFE_TEXT = re.compile(r"[^\\'\"`{}\x00-\x1f]*")


class Call(NamedTuple):
    """How a function may be called: most arguments without a name, names of the others."""

    positional: int
    keywords: tuple[str, ...] = ()


STATEFUL = {
    "center": Call(1),
    "scale": Call(1, ("center", "scale", "ddof")),
    "standardize": Call(1, ("center", "rescale", "ddof")),
    "poly": Call(2, ("degree", "raw")),
    "bs": Call(2, ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound", "extrapolation")),
    "cr": Call(2, ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")),
    "cc": Call(2, ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")),
}
CODINGS = {
    "Treatment": Call(1, ("reference",)),
    "Sum": Call(0),
    "Helmert": Call(0),
    "Diff": Call(0),
    "Poly": Call(0),
}
ONE_BY_ONE = {  # functions of one row each
    **dict.fromkeys(("log", "log10", "log2", "log1p", "exp", "expm1", "sqrt", "abs", "sign"), Call(1)),
    **dict.fromkeys(("floor", "ceil", "sin", "cos", "tan", "arctan", "tanh", "square"), Call(1)),
    **dict.fromkeys(("minimum", "maximum"), Call(2)),
    **dict.fromkeys(("where", "clip"), Call(3)),
}
FUNCTIONS = {**STATEFUL, **CODINGS, **ONE_BY_ONE, "C": Call(2, ("contrasts", "levels")), "I": Call(1)}
CONTEXT = {name: getattr(np, name) for name in ONE_BY_ONE}  # what formulaic does not know, or knows under `np` only
_SIZES = ("poly", "bs", "cr", "cc")  # functions whose numbers say how many columns they make
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.FloorDiv, ast.BitAnd, ast.BitOr)
_SIGNS = (ast.USub, ast.UAdd, ast.Invert)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def check_size(formula: object) -> str:
    """The formula, if it is a text of a reasonable size, on one line."""
    if not isinstance(formula, str) or not formula.strip():
        raise BadInput(f"formula = {shown(formula)}: must be a text such as 'y ~ x'")
    if len(formula) > MOST_CHARACTERS:
        raise BadInput(f"formula: {len(formula):,} characters, more than {MOST_CHARACTERS:,}")
    depth = deepest = 0
    for character in formula:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise BadInput(f"formula: {deepest} parentheses within each other, more than {DEEPEST}")
    return " ".join(formula.split())


def check_expression(text: str, columns: Collection[str]) -> set[str]:
    """The columns that an expression uses; BadInput unless it is made of allowed parts only.

    Examples
    --------
    >>> sorted(check_expression("np.log(income) * I(age > 30)", ["age", "income"]))
    ['age', 'income']
    >>> check_expression("age.values", ["age"])
    Traceback (most recent call last):
    designer.core.errors.BadInput: formula: 'age.values': 'age.values' is not allowed; a formula is made of columns, \
numbers, + - * / **, comparisons, & and |, and functions
    """
    _check_quotes(text)
    plain, aliases = without_backticks(text)
    try:
        tree = ast.parse(plain.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadInput(f"formula: {shown(text)}: is not an expression") from None
    used: set[str] = set()
    for problem in _problems(tree.body, {aliases.get(name, name) for name in columns}, used):
        raise BadInput(f"formula: {shown(text)}: {_unaliased(problem, aliases)}")
    back = {alias: name for name, alias in aliases.items()}
    names = {back.get(name, name) for name in used}
    for name in sorted(names):
        check_column(name, columns)
    return names


def check_names(text: str, columns: Collection[str], *, within: bool = False) -> None:
    """Refuse columns that Python reads in another way, where they are within a function; as terms they are fine.

    Python's own words are no names, and Python takes names that look alike for one: "ﬁ" for "fi", so that another
    column could be meant. With `within`, all of the text is within a function.

    Examples
    --------
    >>> check_names("x + `class`", ["x", "class"])
    >>> check_names("x + log(`class`)", ["x", "class"])
    Traceback (most recent call last):
    designer.core.errors.BadInput: formula: column 'class' is a word of Python, which a function cannot use; rename \
the column
    """
    inside = [within]
    for found in _TOKENS.finditer(text):
        token, name = found[0], found[1] or found[2]
        if token == "(":
            inside.append(inside[-1] or re.search(r"\w\s*$", text[: found.start()]) is not None)
        elif token == ")" and len(inside) > 1:
            inside.pop()
        elif name in columns and inside[-1] and (why := _read_as(name)):
            raise BadInput(f"formula: column {shown(name)} {why}, which a function cannot use; rename the column")


def _read_as(name: str) -> str:
    """How Python reads a name in another way; empty if it does not."""
    if keyword.iskeyword(name):
        return "is a word of Python"
    plain = unicodedata.normalize("NFKC", name)
    return "" if plain == name else f"is {shown(plain)} to Python"


def check_column(name: str, columns: Collection[str]) -> str:
    """The name, if there is such a column."""
    if name not in columns:
        raise BadInput(f"formula: no column {shown(name)}; {_nearest(name, columns)}")
    return name


def _check_quotes(text: str) -> None:
    """Refuse quotes that two parsers could read in two ways: then what is checked would not be what is evaluated."""
    quote = ""
    for character in text:
        if quote and character != quote and character in _QUOTES:
            raise BadInput(f"formula: {shown(text)}: a quote within quotes is not allowed")
        if character in _QUOTES:
            quote = "" if quote else character
    if quote or any(3 * mark in text for mark in _QUOTES) or any(mark in text for mark in "\\{}\n\r"):
        raise BadInput(f"formula: {shown(text)}: has an open quote, three quotes, a brace or a backslash")


def is_stateful(text: str) -> bool:
    """Whether an allowed expression learns something from all rows."""
    tree = ast.parse(without_backticks(text)[0].strip(), mode="eval")
    return any(isinstance(node, ast.Call) and _name(node.func) in STATEFUL for node in ast.walk(tree))


def is_category(text: str) -> bool:
    """Whether an allowed expression is C(...)."""
    body = ast.parse(without_backticks(text)[0].strip(), mode="eval").body
    return isinstance(body, ast.Call) and _name(body.func) == "C"


def without_backticks(text: str) -> tuple[str, dict[str, str]]:
    """The text with an identifier for each name in backticks, and these identifiers by name."""
    aliases: dict[str, str] = {}
    parts = text.split("`")
    for k in range(1, len(parts), 2):
        name = parts[k]
        alias = name if name.isidentifier() else aliases.get(name, f"quoted_{len(aliases)}_")
        if alias != name:
            aliases[name] = alias
        parts[k] = f" {alias} "
    return "".join(parts), aliases


def _unaliased(problem: str, aliases: dict[str, str]) -> str:
    for name, alias in aliases.items():
        problem = problem.replace(alias, name)
    return problem


def _nearest(name: str, columns: Collection[str]) -> str:
    near = difflib.get_close_matches(name, columns, n=1) or [one for one in columns if one.lower() == name.lower()]
    if near:
        return f"did you mean {shown(near[0])}?"
    return f"the columns are {shorten(', '.join(columns), 200)}"


def _name(node: ast.expr) -> str | None:
    """The name of a function: `log`, or `np.log`; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    plain = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "numpy")
    return node.attr if plain and isinstance(node, ast.Attribute) and node.attr in ONE_BY_ONE else None


def _problems(node: ast.AST, columns: Collection[str], used: set[str]) -> Iterator[str]:
    """What is not allowed in an expression; `used` collects the names of columns."""
    match node:
        case ast.Name():
            if node.id in FUNCTIONS and node.id not in columns:
                yield f"{shown(node.id)} is a function; {node.id}(...) calls it"
            used.add(node.id)
        case ast.Constant():
            yield from _constant_problems(node)
        case ast.List() | ast.Tuple():
            for entry in node.elts:
                if not isinstance(_without_sign(entry), ast.Constant):
                    yield "a list may hold numbers and texts only"
                yield from _problems(entry, columns, used)
        case ast.UnaryOp() if isinstance(node.op, _SIGNS):
            yield from _problems(node.operand, columns, used)
        case ast.BinOp() if isinstance(node.op, _OPERATORS):
            yield from _arithmetic_problems(node)
            yield from _problems(node.left, columns, used)
            yield from _problems(node.right, columns, used)
        case ast.Compare() if len(node.ops) == 1 and isinstance(node.ops[0], _COMPARISONS):
            yield from _problems(node.left, columns, used)
            yield from _problems(node.comparators[0], columns, used)
        case ast.Call():
            yield from _call_problems(node, columns, used)
        case _:
            what = "columns, numbers, + - * / **, comparisons, & and |, and functions"
            yield f"{shown(ast.unparse(node))} is not allowed; a formula is made of {what}"


def _constant_problems(node: ast.Constant) -> Iterator[str]:
    value = node.value
    if isinstance(value, str):
        if not _SAFE_TEXT.fullmatch(value):
            yield f"the text {shown(value)} has quotes, braces, backslashes or control characters"
    elif not (value is None or isinstance(value, (bool, int, float))):
        yield f"{shown(value)} is neither a number nor a text"
    elif isinstance(value, (int, float)) and not abs(value) <= 1e300:
        yield "a number is too large"


def _arithmetic_problems(node: ast.BinOp) -> Iterator[str]:
    """Arithmetic is about columns and numbers: not texts and lists, which could be repeated without end."""
    for part in (node.left, node.right):
        constant = _without_sign(part)
        if isinstance(constant, (ast.List, ast.Tuple)) or (
            isinstance(constant, ast.Constant) and not isinstance(constant.value, (int, float))
        ):
            yield f"{shown(ast.unparse(part))} is not a number"
    if isinstance(node.op, ast.Pow):
        power = _without_sign(node.right)
        number = power.value if isinstance(power, ast.Constant) else None
        if not isinstance(number, (int, float)) or abs(number) > LARGEST_POWER:
            yield f"a power must be a number up to {LARGEST_POWER}"
        if not any(isinstance(part, ast.Name) for part in ast.walk(node.left)):
            yield "write a power of a number as a number"


def _call_problems(node: ast.Call, columns: Collection[str], used: set[str]) -> Iterator[str]:
    name, written = _name(node.func), shorten(ast.unparse(node.func), 40)
    if name is None or name not in FUNCTIONS:
        known = ", ".join(sorted(FUNCTIONS, key=str.lower))
        yield f"the function {shown(written)} is not known; allowed: {known}"
        return
    if name in columns and isinstance(node.func, ast.Name):
        yield f"{shown(name)} is a column here, which hides the function; rename the column"
    how = FUNCTIONS[name]
    if len(node.args) > how.positional or any(isinstance(part, ast.Starred) for part in node.args):
        yield f"{written}(...) takes {how.positional} argument{'s' * (how.positional != 1)} without a name at most"
    if unknown := [word.arg for word in node.keywords if word.arg not in how.keywords]:
        allowed = ", ".join(how.keywords) or "none"
        yield f"{written}(...): the argument {shown(unknown[0])} is not allowed; allowed: {allowed}"
    sizes = [*node.args[1:], *(word.value for word in node.keywords if word.arg in ("df", "degree"))]
    if name in _SIZES and any(_too_many(size) for size in sizes):
        yield f"{written}(...): the degree, or df, must be a whole number up to {MOST_PARTS}"
    for part in (*node.args, *(word.value for word in node.keywords)):
        if isinstance(part, ast.Name) and part.id in CODINGS and name == "C":
            continue  # C(x, Sum)
        yield from _problems(part, columns, used)


def _too_many(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Constant) and isinstance(node.value, int) and 0 <= node.value <= MOST_PARTS)


def _without_sign(node: ast.expr) -> ast.expr:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd) else node
