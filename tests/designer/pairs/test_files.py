"""Files of trial runs: a corpus of awkward ones, exact round trips, and two parsers that must agree."""

import csv
import io
import math
import os
import pickle
import stat
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from designer.core.errors import BadInput
from designer.pairs import files, limits, text
from designer.pairs.columns import TEMPLATE, BadFile, FileProblem, defects
from designer.pairs.trial_run import TrialRun

CORPUS = Path(__file__).parents[1] / "corpus"
GOOD = sorted(path.name for path in CORPUS.iterdir() if not path.name.startswith((".", "bad_")))
TRIAL = TrialRun(12214, [-6.1e-05, 2.3e-05, -1.7e-04], [0.0118, 0.0097, 0.0152], [0, -0.02, 0.11], [0.41, -0.13, 0.27])
FORMATS = ["csv", "parquet", "npz"]


def refusal(call, *args, **kwargs):
    with pytest.raises(BadFile) as caught:
        call(*args, **kwargs)
    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    return caught.value


def packed(trial, kind):
    sink = io.BytesIO()
    getattr(trial, f"to_{kind}")(sink)
    return sink.getvalue()


def reader(kind):
    return getattr(TrialRun, f"from_{kind}")


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


# --- round trips ------------------------------------------------------------------------------------------------------

entries = st.floats(-1e100, 1e100)


@st.composite
def trials(draw):
    pairs = draw(st.integers(1, 12))
    some = st.lists(entries, min_size=pairs, max_size=pairs)
    sigma = draw(st.lists(st.floats(1e-100, 1e100), min_size=pairs, max_size=pairs))
    return TrialRun(draw(st.integers(2, 10**15)), draw(some), sigma, draw(entries | some), draw(st.none() | some))


@pytest.mark.parametrize("kind", FORMATS)
@settings(deadline=None, max_examples=60)
@given(trials())
def test_round_trip_is_exact(kind, trial):
    again = reader(kind)(packed(trial, kind))
    assert (again.n_data, again.digest) == (trial.n_data, trial.digest)
    assert [c.tobytes() for c in again.columns.values()] == [c.tobytes() for c in trial.columns.values()]


@pytest.mark.parametrize("kind", FORMATS)
def test_paths_buffers_and_names(kind, tmp_path):
    path = tmp_path / f"trial.{kind.upper()}"
    getattr(TRIAL, f"to_{kind}")(path)
    assert TrialRun.load(path) == TRIAL
    assert TrialRun.load(str(path), n_data=12214) == TRIAL
    assert path.read_bytes()[:8] == packed(TRIAL, kind)[:8]
    with open(path, "rb", buffering=0) as file:
        assert reader(kind)(file) == TRIAL
    assert "n_data is 5 in the argument but 12,214" in str(refusal(TrialRun.load, path, n_data=5))


def test_text_buffers(tmp_path):
    sink = io.StringIO()
    TRIAL.to_csv(sink)
    assert sink.getvalue().startswith("# n_data: 12214\nmu,sigma,log_ratio,skew\n-6.1e-05,0.0118,0.0,0.41\n")
    assert TrialRun.from_csv(io.StringIO(sink.getvalue())) == TRIAL
    with open(tmp_path / "trial.csv", "w+") as file:
        TRIAL.to_csv(file)
        file.seek(0)
        assert TrialRun.from_csv(file) == TRIAL
    assert list(csv.reader(sink.getvalue().splitlines()))[1] == ["mu", "sigma", "log_ratio", "skew"]


def test_short_reads_are_completed():
    class Trickle(io.RawIOBase):
        def __init__(self, data):
            self.data = io.BytesIO(data)

        def read(self, size=-1):
            return self.data.read(min(size, 7))

    assert TrialRun.from_csv(Trickle(packed(TRIAL, "csv"))) == TRIAL


@pytest.mark.parametrize("kind", FORMATS)
def test_writing_replaces_a_file_or_leaves_it(kind, tmp_path, monkeypatch):
    path = tmp_path / "trial"
    path.write_text("old")
    write = getattr(TRIAL, f"to_{kind}")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(path)
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]
    monkeypatch.undo()
    umask = os.umask(0o022)
    try:
        write(path)
    finally:
        os.umask(umask)
    assert [*tmp_path.iterdir()] == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert reader(kind)(path) == TRIAL


@pytest.mark.parametrize("place", ["nowhere/trial.csv", "file/trial.csv", "folder"])
def test_failure_to_write_names_the_path_and_leaves_nothing(place, tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match=r"^\[Errno \d+\] ") as caught:
        TRIAL.to_csv(tmp_path / place)
    assert str(caught.value).endswith(f": {str(tmp_path / place)!r}")
    assert sorted(tmp_path.rglob("*")) == before


def test_writing_follows_links(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    TRIAL.to_csv(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert TrialRun.load(tmp_path / "real.csv") == TRIAL


# --- what cannot be read ----------------------------------------------------------------------------------------------


def test_unreadable_sources(tmp_path):
    assert str(refusal(TrialRun.from_csv, tmp_path / "no.csv")).endswith(
        "no.csv: cannot be read: No such file or directory"
    )
    assert "Is a directory" in str(refusal(TrialRun.from_csv, str(tmp_path)))
    assert "embedded null byte" in str(refusal(TrialRun.from_csv, "a\0b"))
    assert str(refusal(TrialRun.load, "trial.xlsx")) == (
        "trial.xlsx: the name must end in .csv, .tsv, .txt, .parquet, .npz"
    )
    closed = io.BytesIO(b"")
    closed.close()
    assert "the data: cannot be read: I/O operation on closed file" in str(refusal(TrialRun.from_csv, closed))


@pytest.mark.parametrize("kind", FORMATS)
def test_large_files_are_refused_before_parsing(kind, tmp_path, monkeypatch):
    data = packed(TRIAL, kind)
    path = tmp_path / f"trial.{kind}"
    path.write_bytes(data)
    monkeypatch.setattr(limits, "MAX_BYTES", len(data))
    assert TrialRun.load(path) == TRIAL
    monkeypatch.setattr(limits, "MAX_BYTES", len(data) - 1)
    for module, parser in ((text, "parse"), (files, "_parse_parquet"), (files, "_parse_npz")):
        monkeypatch.setattr(module, parser, None)
    sources = [path, data, io.BytesIO(data)] + ([io.StringIO(data.decode())] if kind == "csv" else [])
    for source in sources:
        assert "larger than the limit of" in str(refusal(reader(kind), source))


def test_an_archive_of_bytes_is_refused_before_they_become_numbers(monkeypatch):
    pairs, sink = 20 * 10**6, io.BytesIO()
    np.savez_compressed(sink, mu=np.zeros(pairs, dtype=np.int8), sigma=np.int8(1))
    assert sink.tell() < 50_000
    monkeypatch.setattr(np, "full", lambda *_, **__: pytest.fail("memory was taken"))
    found = refusal(TrialRun.from_npz, sink.getvalue(), n_data=100)
    assert str(found) == "the data: 20,000,000 rows, more than the limit of 5,000,000"


def test_endless_sources_are_given_up():
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size=-1):
            self.given += size
            return b"1" * size

    source = Endless()
    assert "larger than the limit of 256 MiB" in str(refusal(TrialRun.from_csv, source))
    assert source.given <= limits.MAX_BYTES + 2**25


@pytest.mark.parametrize("kind", FORMATS)
def test_too_many_rows_are_refused(kind, monkeypatch):
    data = packed(TRIAL, kind)
    monkeypatch.setattr(parquet.ParquetFile, "read", None)
    monkeypatch.setattr(limits, "MAX_PAIRS", 2)
    text = str(refusal(reader(kind), data))
    assert text == "the data: 3 rows, more than the limit of 2"


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


# --- Parquet and NumPy archives ---------------------------------------------------------------------------------------


def table(**columns):
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def archive(**arrays):
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def test_parquet_of_others():
    data = table(label=["a", "b"], Mean=pa.array([1, 2], pa.float32()), SD=[3, 4], N=[9, 9])
    assert TrialRun.from_parquet(data) == TrialRun(9, [1, 2], [3, 4])
    sink = io.BytesIO()
    pd.DataFrame({"mu": [1.0], "sigma": [2.0], "skew": [3.0]}).to_parquet(sink)
    assert TrialRun.from_parquet(sink.getvalue(), n_data=9) == TrialRun(9, [1], [2], 0, [3])


def test_npz_of_others():
    assert TrialRun.from_npz(archive(mean=[1, 2], std=[3.0, 4.0], c=0.5, N=9, junk=["x"])) == TrialRun(
        9, [1, 2], [3, 4], 0.5
    )
    assert TrialRun.from_npz(archive(mu=[1, 2], sigma=[3, 4]), 9).log_ratio.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (table(mu=["1"], sigma=[1.0]), "column 'mu' holds string, not numbers"),
        (table(mu=[True], sigma=[1.0]), "column 'mu' holds bool, not numbers"),
        (table(mu=[1.0]), "no column sigma (found: 'mu')"),
        (table(mu=[1.0], sigma=[1.0], sd=[1.0]), "columns 'sigma' and 'sd' both mean sigma"),
        (table(mu=pa.array([], pa.float64()), sigma=pa.array([], pa.float64())), "no rows"),
        (table(mu=[1.0, None], sigma=[0.0, 1.0]), "2 problems, nothing loaded\nrow 1, column sigma: '0.0': must be "
         "greater than 0\nrow 2, column mu: 'nan': must be finite"),
        (table(mu=[1, 2], sigma=[1, 1], N=[9, 8]), "row 2, column n_data: '8.0': differs from the 9 of the first row"),
        (table(mu=[2**60 + 1], sigma=[1]), "not a Parquet file that can be read: Integer value"),
        (b"mu,sigma\n1,2\n", "not a Parquet file that can be read: Parquet magic bytes not found"),
        (b"", "not a Parquet file that can be read:"),
    ],
)  # fmt: skip
def test_refusals_of_parquet(data, text):
    assert text in str(refusal(TrialRun.from_parquet, data, 9))


def test_damaged_parquet_is_noticed():
    trial = TrialRun(9, np.random.default_rng(0).normal(size=2000), np.ones(2000))
    data = bytearray(packed(trial, "parquet"))
    data[len(data) // 4] ^= 1
    text = str(refusal(TrialRun.from_parquet, bytes(data)))
    assert "not a Parquet file that can be read: could not verify page integrity" in text


def zipped(**members):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "."), content)
    return sink.getvalue()


def npy(array, **changes):
    sink = io.BytesIO()
    np.save(sink, array)
    data = sink.getvalue()
    for old, new in changes.values():
        assert old in data
        data = data.replace(old, new)
    return data


ONE = npy(np.ones(1))
FALSE_SIZE = npy(np.ones(1), shape=(b"(1,), }" + b" " * 14, b"(1" + b"0" * 14 + b",), }"))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (archive(mu=[1.0]), "no column sigma (found: 'mu')"),
        (archive(mu=["a"], sigma=[1.0]), "mu.npy holds <U1 of shape (1,), not 1 numbers"),
        (archive(mu=[1j], sigma=[1.0]), "mu.npy holds complex128 of shape (1,), not 1 numbers"),
        (archive(mu=[1.0, 2.0], sigma=[1.0]), "sigma.npy holds float64 of shape (1,), not 2 numbers"),
        (archive(mu=[[1.0]], sigma=[1.0]), "mu.npy holds float64 of shape (1, 1), not 1 numbers"),
        (archive(mu=[], sigma=[]), "no rows"),
        (archive(mu=[1.0], sigma=[-1.0]), "row 1, column sigma: '-1.0': must be greater than 0"),
        (archive(mu=[1.0], sigma=[1.0], n_data=9.5), f"n_data in the column = 9.5: {N_RANGE}"),
        (zipped(mu__npy=pickle.dumps([1.0]), sigma__npy=ONE), "mu.npy holds |S24 of shape (), not 1 numbers"),
        (zipped(mu__npy=FALSE_SIZE, sigma__npy=ONE), "not a NumPy archive that can be read: "),
        (zipped(mu=b"x", sigma__npy=ONE), "no column mu (found: 'sigma')"),
        (b"mu,sigma\n1,2\n", "not a NumPy archive that can be read: File is not a zip file"),
        (packed(TRIAL, "npz")[:-30], "not a NumPy archive that can be read: "),
    ],
)
def test_refusals_of_npz(data, text):
    assert text in str(refusal(TrialRun.from_npz, data, 9))


def test_objects_are_not_unpickled():
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("unpickled",)

    sink = io.BytesIO()
    np.savez(sink, mu=np.array([Trap()], dtype=object), sigma=np.ones(1))
    assert "Object arrays cannot be loaded" in str(refusal(TrialRun.from_npz, sink.getvalue(), 9))


def test_archive_bombs_are_refused_by_the_directory(monkeypatch):
    bomb = zipped(mu__npy=npy(np.zeros(6_000_000)), sigma__npy=ONE)
    assert len(bomb) < 100_000
    monkeypatch.setattr(np, "load", None)
    text = str(refusal(TrialRun.from_npz, bomb, 9))
    assert text == "the data: mu.npy unpacks to 48,000,128 bytes, more than a trial run can have"


def test_only_wanted_members_are_unpacked():
    big = npy(np.zeros(6_000_000))
    data = zipped(mu__npy=ONE, sigma__npy=ONE, mu=big, other__npy=big)
    assert TrialRun.from_npz(data, 9) == TrialRun(9, [1], [1])


def test_defects_are_in_the_order_of_rows():
    columns = {"mu": np.array([0.0, math.nan, math.inf]), "sigma": np.array([-1.0, 1.0, 0.0])}
    found, count = defects(columns, most=3)
    assert count == 4
    assert [(d.row, d.column) for d in found] == [(0, "sigma"), (1, "mu"), (2, "mu")]
