"""Trial runs as text: a corpus of awkward files, what is wrong in which line, and two parsers that must agree."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.core.errors import BadInput
from designer.pairs import limits, text
from designer.pairs.columns import TEMPLATE, BadFile, FileProblem, defects
from designer.pairs.trial_run import TrialRun

CORPUS = Path(__file__).parents[1] / "corpus"
GOOD = sorted(path.name for path in CORPUS.iterdir() if not path.name.startswith((".", "bad_")))
TRIAL = TrialRun(12214, [-6.1e-05, 2.3e-05, -1.7e-04], [0.0118, 0.0097, 0.0152], [0, -0.02, 0.11], [0.41, -0.13, 0.27])


def refusal(call, *args, **kwargs):
    with pytest.raises(BadFile) as caught:
        call(*args, **kwargs)
    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    return caught.value


# --- the corpus -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GOOD)
def test_awkward_file_is_understood(name):
    assert TrialRun.load(CORPUS / name) == TRIAL


def test_corpus_is_all_there():
    assert len(GOOD) == 25
    assert {path.name for path in CORPUS.glob("bad_*")} == {*BAD, "bad_rows.csv"}


NEEDED = "a header row must name the columns mu and sigma, and may name log_ratio, skew and n_data"
N_RANGE = "must be a whole number from 2 to 1,000,000,000,000,000"
BAD = {
    "bad_empty.csv": f"empty; {NEEDED}",
    "bad_blank.csv": f"empty; {NEEDED}",
    "bad_comments_only.csv": f"nothing in it but comments and blank lines; {NEEDED}",
    "bad_header_only.csv": "no rows",
    "bad_no_header.csv": f"line 2: numbers where the names of the columns should be; {NEEDED}",
    "bad_no_sigma.csv": f"no column sigma (found: 'mu', 'log_ratio'); {NEEDED}",
    "bad_other_names.csv": f"no column mu and no column sigma (found: 'a', 'b'); {NEEDED}",
    "bad_two_means.csv": "columns 'mu' and 'Mean' both mean mu",
    "bad_binary.csv": "not a text file: it has NUL bytes (UTF-16 needs a byte order mark)",
    "bad_utf16_no_mark.csv": "not a text file: it has NUL bytes (UTF-16 needs a byte order mark)",
    "bad_no_n.csv": ("the number of data N is missing: give it as n_data, in a line '# n_data: 12214' or in a column"),
    "bad_two_n.csv": "n_data is 12,214 in line 1 but 12,215 in line 2",
    "bad_n_comment_and_column.csv": "n_data is 12,214 in line 1 but 500 in the column",
    "bad_n_changes.csv": ("1 problem, nothing loaded\nline 4, column N: '501': differs from the 500 of the first row"),
    "bad_n_words.csv": f"n_data in line 1 = '12214, D = 50': {N_RANGE}",
    "bad_n_fraction.csv": f"n_data in line 1 = 12.214: {N_RANGE}",
    "bad_mixed_decimals.csv": (
        "2 problems, nothing loaded\n"
        "line 4, column mu: '0,1': not a number\n"
        "line 5, column sigma: '1.000,5': not a number"
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_is_refused_in_these_words(name):
    assert str(refusal(TrialRun.load, CORPUS / name)) == f"{CORPUS / name}: {BAD[name]}"


def test_every_bad_value_is_listed_with_its_place():
    error = refusal(TrialRun.load, CORPUS / "bad_rows.csv")
    assert error.count == 16
    assert [tuple(problem)[:4] for problem in error.problems] == [
        (5, "", "0.1,0.2,0", "3 fields where the header has 4"),
        (6, "", "0.1,0.2,0,a,b", "5 fields where the header has 4"),
        (8, "mu", "abc", "not a number"),
        (9, "log_ratio", "-inf", "must be finite"),
        (9, "sigma", "nan", "must be finite"),
        (11, "sigma", "0", "must be greater than 0"),
        (12, "log_ratio", "", "empty"),
        (12, "sigma", "-0.2", "must be greater than 0"),
        (13, "log_ratio", "1e999", "must be finite"),
        (13, "mu", "1_0", "not a number"),
        (14, "log_ratio", "1e200", "must not exceed 1e+100 in size"),
        (14, "sigma", "1e-300", "must be at least 1e-100"),
        (15, "log_ratio", "9" * 39 + "…", "not a number"),
        (16, "log_ratio", r"a\x1b[31m\tb", "not a number"),
        (17, "log_ratio", "0x10", "not a number"),
        (17, "mu", "٣", "not a number"),
    ]
    lines = str(error).split("\n")
    assert lines[0] == f"{CORPUS / 'bad_rows.csv'}: 16 problems, nothing loaded"
    assert lines[1] == "line 5: '0.1,0.2,0': 3 fields where the header has 4"
    assert lines[5] == "line 9, column sigma: 'nan': must be finite"
    assert len(lines) == 17
    assert isinstance(error, BadInput)


def test_first_twenty_problems_then_a_count():
    text = "# n_data: 9\nmu,sd\n" + "1,1\n1,x\n" * 143
    error = refusal(TrialRun.from_csv, text.encode())
    assert (error.count, len(error.problems)) == (143, 20)
    assert error.problems[0] == FileProblem(4, "sd", "x", "not a number")
    assert str(error).split("\n")[-2:] == ["line 42, column sd: 'x': not a number", "and 123 more"]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems, again.count) == (str(error), error.problems, error.count)


def test_too_few_and_too_many_come_in_order_with_the_rest():
    error = refusal(TrialRun.from_csv, b"mu,sigma\n1,0\n1\n1,1\n1,1,1\nx,1\n", n_data=9)
    assert [problem.line for problem in error.problems] == [2, 3, 5, 6]


# --- the number of data -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stated",
    ["1950000", "1,950,000", "1_950_000", "1 950 000", "1'950'000", "1.950.000", "1.95e6", "1.95E+06", "1950000.0,,,"],
)
@pytest.mark.parametrize("form", ["# n_data: {}", "#N={}", "  ## N_Data = {}", '"# n data: {}"', "# n-data:{}  "])
def test_comment_states_the_number_of_data(form, stated):
    assert TrialRun.from_csv(f"{form.format(stated)}\nmu,sigma\n1,2\n".encode()).n_data == 1_950_000


@pytest.mark.parametrize("comment", ["# n: 5", "# N", "# N is 5", "# in = 5", "# N = number of data", "# nN = 5"])
def test_other_comments_state_nothing(comment):
    assert "N is missing" in str(refusal(TrialRun.from_csv, f"{comment}\nmu,sigma\n1,2\n".encode()))


def test_argument_column_and_comment_must_agree():
    text = b"mu,sigma,n_data\n1,2,500\n"
    assert TrialRun.from_csv(text).n_data == 500
    assert TrialRun.from_csv(b"# N = 500\n" + text, n_data=500).n_data == 500
    assert "n_data is 501 in the argument but 500 in the column" in str(refusal(TrialRun.from_csv, text, 501))
    late = b"mu,sigma\n1,2\n# N = 400\n"
    assert "n_data is 500 in the argument but 400 in line 3" in str(refusal(TrialRun.from_csv, late, 500))
    with pytest.raises(BadInput, match="n_data = 1: must be a whole number from 2 to"):
        TrialRun.from_csv(text, n_data=1)


def test_lower_case_n_is_an_ordinary_column():
    assert TrialRun.from_csv(b"mu,sigma,n\n1,2,1\n1,2,2\n", n_data=9).n_data == 9


# --- names and separators ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("MU", "mu"), ("Mean", "mu"), ("µ", "mu"),
        ("SD", "sigma"), ("std", "sigma"), ("StDev", "sigma"), ("Std. Dev", "sigma"), ("std-dev", "sigma"),
        ("c", "log_ratio"), ("LogRatio", "log_ratio"), ("log.ratio", "log_ratio"), ("Skewness", "skew"),
    ],
)  # fmt: skip
def test_aliases(name, column):
    columns = {"mu": "1", "sigma": "2", "log_ratio": "3", "skew": "4"}
    header = ";".join(name if column == key else key for key in columns)
    assert TrialRun.from_csv(f"{header}\n1;2;3;4\n".encode(), 9) == TrialRun(9, [1], [2], [3], [4])


def test_template_is_a_trial_run_and_says_minus():
    trial = TrialRun.from_csv(TEMPLATE.encode())
    assert (trial.n_data, len(trial)) == (12214, 3)
    assert trial.log_ratio.tolist() == [0.0, -0.02, 0.11]
    assert "MINUS" in TEMPLATE


def test_numbers_below_prose_are_not_guessed():
    for comment in ("# some pairs", "# mu sigma of pairs", ""):
        text = f"# N = 9\n{comment}\n0.1 0.2\n".encode()
        assert "line 3: numbers where the names of the columns should be" in str(refusal(TrialRun.from_csv, text))


def test_names_in_a_comment_keep_the_line_numbers():
    error = refusal(TrialRun.from_csv, b"# N = 9\n# mu sigma\n1 2\n1 x\n")
    assert error.problems == [FileProblem(4, "sigma", "x", "not a number")]


def test_quotes_and_comments_mean_the_same_in_extra_columns():
    error = refusal(TrialRun.from_csv, b'mu,sigma,x,y\n1,2,"a,b"\n', 9)
    assert error.problems == [FileProblem(2, "", '1,2,"a,b"', "3 fields where the header has 4")]
    assert TrialRun.from_csv(b"x,mu,sigma\na,1,2\n#b,3,4\n", 9) == TrialRun(9, [1], [2])


def test_decimal_comma_only_where_it_cannot_separate():
    assert TrialRun.from_csv(b"mu;sigma\n-0,5;1,25\n3;1e-2\n", 9) == TrialRun(9, [-0.5, 3], [1.25, 0.01])
    error = refusal(TrialRun.from_csv, b"mu,sigma\n0,5,1,25\n", 9)
    assert error.problems == [FileProblem(2, "", "0,5,1,25", "4 fields where the header has 2")]
    error = refusal(TrialRun.from_csv, b'mu,sigma\n"1,234","5"\n', 9)  # rather thousands
    assert error.problems == [FileProblem(2, "mu", "1,234", "not a number")]
    error = refusal(TrialRun.from_csv, b"mu;sigma\n0,5;1,2\n0.5;2\n", 9)
    assert error.problems == [FileProblem(3, "mu", "0.5", "not a number")]
    error = refusal(TrialRun.from_csv, b"mu;sigma\n0,5;1,2\n0,5;x\n1,2,3;1\n", 9)
    assert [(p.line, p.column, p.value) for p in error.problems] == [(3, "sigma", "x"), (4, "mu", "1,2,3")]


def test_write_table_of_r_is_refused_not_shifted():
    error = refusal(TrialRun.from_csv, b'"mu" "sigma"\n"1" 0.1 0.2\n', 9)
    assert error.problems[0].reason == "3 fields where the header has 2"


# --- two parsers, one answer ------------------------------------------------------------------------------------------


def parsed(path_of_text, data):
    """(columns as lists, N stated) or the message; by one parser only."""
    layout = text.find_layout(data)
    if path_of_text == "fast":
        columns = text.plain_columns(layout)
        return None if columns is None else {name: column.tolist() for name, column in columns.items()}
    try:
        columns, _ = text.careful_columns(layout)
    except BadFile as error:
        return str(error)
    return {name: column.tolist() for name, column in columns.items()}


def sound(columns):
    return columns is not None and not defects({k: np.array(v) for k, v in columns.items()}, 0)[1]


cells = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map(lambda x: f" {x:+.3E}\t"),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(["1.", ".5", "1e-400", "0001", "-0.0", "5e-324", "2.2250738585072011e-308", "1" * 400 + "e-400"]),
)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=20),
    st.sampled_from(",;\t"),
    st.sampled_from([".", ","]),
)
def test_parsers_agree_on_numbers(rows, separator, point):
    if separator in (",", "\t"):
        rows = [tuple(cell.replace("\t", " ") for cell in row) for row in rows]
    point = "." if separator == "," else point
    lines = [separator.join(row).replace(".", point) for row in rows]
    data = "\n".join([separator.join(["sigma", "other", "mu"]), *lines]).encode()
    expected = {name: [float(row[k]) for row in rows] for name, k in (("sigma", 0), ("mu", 2))}
    fast = parsed("fast", data)
    assert fast == expected  # the fast parser does take these files
    assert parsed("careful", data) == expected or not sound(fast)


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_what_the_fast_parser_takes_is_what_the_careful_one_reads(data):
    """Random damage to a good file: a sound answer of the fast parser must be that of the careful one."""
    separator = data.draw(st.sampled_from(",;\t"))
    damaged = list("mu,sigma,x,log_ratio\n1.5,2,a,-3e-1\n1.5,2,a,-3e-1\n0.25,1e3,,.5\n".replace(",", separator))
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(21, len(damaged)))
        damaged[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.text(',;\t \n"#_.+-eE019naifx\xa0é٣\x1f', max_size=4)
        )
    raw = "".join(damaged).encode()
    fast = parsed("fast", raw)
    if sound(fast):
        assert parsed("careful", raw) == fast


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(["0.5,2", "", "# note", "  ", "1,x", "1", '"1","2"', "nan,1", "\x1f1,2"]), max_size=30))
def test_no_line_is_lost(lines):
    """Every line is a row, blank, a comment or a problem with its number."""
    rows = sum(line in ("0.5,2", '"1","2"', "\x1f1,2") for line in lines)
    bad = [number for number, line in enumerate(lines, 4) if line in ("1,x", "1", "nan,1")]
    data = "\r\n".join(["# N = 9", "", "mu,sigma", *lines]).encode()
    if bad:
        error = refusal(TrialRun.from_csv, data)
        assert error.count == len(bad)
        assert [problem.line for problem in error.problems] == bad[:20]
    elif rows:
        assert len(TrialRun.from_csv(data)) == rows
    else:
        assert str(refusal(TrialRun.from_csv, data)) == "the data: no rows"


def test_plain_files_do_not_need_the_careful_parser(monkeypatch):
    monkeypatch.setattr(text, "careful_columns", None)
    for name in (
        "plain.csv",
        "crlf.csv",
        "utf16_le.csv",
        "semicolon.csv",
        "decimal_comma.csv",
        "tab.tsv",
        "latin1.csv",
    ):
        assert TrialRun.load(CORPUS / name) == TRIAL
    monkeypatch.undo()
    monkeypatch.setattr(text, "plain_columns", lambda layout: None)
    for name in GOOD:
        assert TrialRun.load(CORPUS / name) == TRIAL


# --- absurd texts -----------------------------------------------------------------------------------------------------


def test_too_many_lines_are_refused(monkeypatch):
    monkeypatch.setattr(limits, "MAX_PAIRS", 2)
    text = str(refusal(TrialRun.from_csv, b"\n" * 100_003))
    assert text == "the data: 100,003 lines; a trial run has at most 2 pairs"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"1" * 100_000_000, "line 1 has more than 100,000 characters"),
        (b"mu,sigma\n1,2\n" + b"," * 1_000_000, "line 3 has more than 100,000 characters"),
        (b"mu,sigma" + b"," * 99_000 + b"\n", "line 1: 99,002 columns, more than the limit of 1,000"),
        (b'mu,sigma\n"' + b"1," * 49_000 + b"\n", "1 field where the header has 2"),
        (b"mu,sigma\n" + (b"," * 90_000 + b"\n") * 100, "100 problems, nothing loaded"),
        (b"# N = " + b"1" * 90_000 + b"\nmu,sigma\n1,2\n", f"n_data in line 1 = inf: {N_RANGE}"),
        (b"#" + b" #" * 49_000 + b"\n1 2\n", "line 2: numbers where the names of the columns should be"),
        (b"\r" * 1_000_000, "empty; a header row"),
    ],
    ids=["line", "commas", "columns", "quote", "wide rows", "digits", "comment", "blank"],
)
def test_absurd_text_is_refused_soon(data, text):
    assert text in str(refusal(TrialRun.from_csv, data))


def test_names_in_messages_are_short_and_harmless():
    text = str(refusal(TrialRun.from_csv, "\x1b[31m{};b\n".format("a" * 99).encode()))
    assert f"(found: '\\x1b[31m{'a' * 31}…', 'b')" in text
