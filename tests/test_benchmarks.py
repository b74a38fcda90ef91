"""The benchmarks compare like with like: other engines get the same walk, and missing ones are named."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks.engine.other_engines import Case, Peer, PeerCurves, ask_gsdesign, ask_rpact, ask_scipy, report
from benchmarks.growth import Curve
from benchmarks.models.published import Source, executed, missing, sha256
from designer import Design, characteristics

CASE = Case(Design(1500, 500, 0.05), np.array([0.0, 0.5, 1.0, 3.0]))  # 3 looks
UNEVEN = Case(Design(2300, 500, 0.02), np.array([0.0, 0.8, 2.5]))  # a short last batch
NOWHERE = Path("no") / "such" / "program"


def off(answer: PeerCurves, case: Case) -> float:
    """The largest difference of the two curves from the engine's."""
    assert not answer.problem
    curve = characteristics(case.design, case.mu_std)
    return max(np.abs(answer.error - curve.error).max(), np.abs(answer.usage - curve.usage).max())


@pytest.mark.parametrize("case", [CASE, UNEVEN])
def test_scipy_is_asked_about_the_same_walk(case):
    assert off(ask_scipy(case, 1e-5), case) < 2e-5


def test_gsdesign_is_asked_about_the_same_walk():
    answer = ask_gsdesign(UNEVEN, 18)
    if "not installed" in answer.problem:
        pytest.skip(answer.problem)
    assert off(answer, UNEVEN) < 1e-6


def test_rpact_is_asked_about_the_same_walk():
    answer = ask_rpact(UNEVEN)
    if "not installed" in answer.problem:
        pytest.skip(answer.problem)
    assert off(answer, UNEVEN) < 1e-7


def test_missing_peers_are_named():
    asked = [
        Peer("rpact", lambda case: ask_rpact(case, str(NOWHERE)), {5: 2}),
        Peer("gsdesign", lambda case: ask_gsdesign(case, 18, NOWHERE), {5: 2}),
    ]
    text = "\n".join(report((5,), asked))
    assert "| 5 | rpact | | | | | | not installed: R with rpact; `make peers` installs it |" in text
    assert "| 5 | gsdesign | | | | | | not installed: gsdesign; `make peers` installs it |" in text
    assert "- Not installed: gsdesign; `make peers` installs it." in text


def test_a_peer_that_refuses_is_quoted():
    """rpact takes 20 interim looks, later versions perhaps more; 5,000 are too many for any."""
    answer = ask_rpact(Case(Design(5001, 2, 0.05), np.zeros(1)))
    if "not installed" in answer.problem:
        pytest.skip(answer.problem)
    assert answer.problem.startswith("refused: ") and "kMax" in answer.problem


def test_impossible_probabilities_are_pointed_out():
    def wild(case):
        return PeerCurves(np.full(case.mu_std.size, 7.0), np.full(case.mu_std.size, np.nan), 1.0, "1.0")

    text = "\n".join(report((5,), [Peer("wild", wild, {5: 2})]))
    assert "explodes, and returns without an error: wild at 5 looks." in text


def test_the_exponent_of_a_power_law():
    sizes = (10, 100, 1000)
    curve = Curve("pairs", "search", "ms", sizes, [2.0 * size**1.5 for size in sizes])
    assert curve.exponent() == pytest.approx(1.5)
    assert curve.exponent(-2) == pytest.approx(1.5)
    assert "| 1.50 | 1.50 |" in curve.row()


def test_one_section_that_fails_does_not_cost_the_others(monkeypatch, tmp_path, capsys):
    results = tmp_path / "RESULTS.md"
    results.write_text("<!-- old -->\n## Old\n")

    def broken(options):
        raise RuntimeError("no browser")

    available = {"old": None, "broken": broken, "good": lambda options: [f"## Good for {options.seconds:g} s", ""]}
    monkeypatch.setattr(bench, "SECTIONS", available)
    monkeypatch.setattr(bench, "RESULTS", results)
    monkeypatch.setattr("sys.argv", ["benchmarks", "broken", "good", "--seconds", "2"])
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert ended.value.code == 1
    sections = bench.sections_of(results.read_text())
    assert list(sections) == ["old", "good"] and sections["good"].startswith("## Good for 2 s")
    progress = capsys.readouterr().err
    assert "good, section 2 of 2" in progress and "failed: broken" in progress


PUBLISHED = {
    "module.py": "import numpy as np\nimport nowhere\n\n\ndef other(x):\n    return nowhere.f(x)\n\n\n"
    "def model(x):\n    # as it is\n    return np.sum(x)\n\n\nother(download())\n",
    "cells.ipynb": '{"cells": [{"cell_type": "markdown", "source": ["pm"]}, {"cell_type": "code", "source": '
    '["%matplotlib inline\\n", "import math as pm"]}, {"cell_type": "code", "source": '
    '["y = pm.pi * size\\n", "pm.sample()"]}]}',
    "page.md": "Text\n\n```{code-cell} ipython3\n---\ntags: []\n---\nimport math as pm\n```\n\n"
    "```{code-cell} ipython3\n:tags: []\n\ny = pm.pi * size\npm.sample()\n```\n",
}


def test_published_texts_are_taken_as_they_are(tmp_path, refuses):
    """Only the imports and the parts that define the model are run, and only if they are those of that commit."""
    (tmp_path / "repository").mkdir()
    for name, text in PUBLISHED.items():
        (tmp_path / "repository" / name).write_text(text)
    function, cell = "def model(x):\n    # as it is\n    return np.sum(x)", "y = pm.pi * size\npm.sample()"
    source = Source("owner/repository", "module.py", "0" * 40, ("model",), sha256=sha256(function))
    assert executed(source, tmp_path, {})["model"]([1.0, 2.0]) == 3.0
    for name in ("cells.ipynb", "page.md"):
        notebook = Source("owner/repository", name, "0" * 40, cells=(sha256(cell)[:8],), sha256=sha256(cell))
        assert executed(notebook, tmp_path, {"size": 2.0})["y"] == pytest.approx(2.0 * np.pi)
    refuses(
        lambda: executed(source._replace(sha256="1" * 64), tmp_path, {}), "the text has SHA-256", "is it that commit?"
    )
    refuses(lambda: executed(source._replace(functions=("gone",)), tmp_path, {}), "has 0 times function gone")
    absent = source._replace(path="absent.py")
    assert missing([source, absent], tmp_path) == [
        f"repository/absent.py: absent.py of github.com/owner/repository at commit {'0' * 40}"
    ]


def test_without_the_published_files_it_is_said_which_to_get(refuses, tmp_path):
    from benchmarks.models.twelve import report

    refuses(
        lambda: report(None), "needs published files in a folder (--from FOLDER)", "examples/covtype.py of github.com"
    )
    refuses(lambda: report(str(tmp_path), ("ordinal",)), "ordinal_regression.ipynb", "at commit 07c801d4")
