"""`austerity experiment`: which data it runs on, and what is said when they cannot be fetched."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from app.cli.main import main
from designer.core.errors import BadInput
from samplers.data.sources import cache_folder, download, load, obtain
from samplers.data.sources.catalogue import DATA_SETS

NOBODY = "http://127.0.0.1:9/00199/MiniBooNE_PID.txt"  # the discard port


def use_address(monkeypatch, address):
    monkeypatch.setattr(download, "TIMEOUT", 2.0)
    known = {**DATA_SETS, "miniboone": DATA_SETS["miniboone"]._replace(addresses=(address,))}
    monkeypatch.setattr("samplers.data.sources.DATA_SETS", known)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A web server with a small MiniBooNE_PID.txt; tells which files were asked for."""
    asked = []

    class Quiet(SimpleHTTPRequestHandler):
        def log_request(self, code="-", size="-"):
            asked.append(self.path)

    folder = tmp_path / "served"
    folder.mkdir()
    table = np.random.default_rng(1).normal(size=(60, 50))
    lines = "\n".join(" ".join(f"{value:.5e}" for value in row) for row in table)
    (folder / "MiniBooNE_PID.txt").write_text(f" 20 40\n{lines}\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        use_address(monkeypatch, f"http://127.0.0.1:{running.server_address[1]}/MiniBooNE_PID.txt")
        yield asked
        running.shutdown()
        thread.join()


def test_what_is_missing_is_fetched_once(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = cache_folder()
    folder.mkdir(parents=True)
    assert folder == tmp_path / "cache" / "austerity"
    assert obtain("miniboone", folder) == f"miniboone: downloaded into {folder}"
    data = load("miniboone", folder)
    assert data.real and data.x.shape == (48, 50) and data.y.sum() + data.y_test.sum() == 20
    assert obtain("miniboone", folder) == "miniboone: found"
    assert server == ["/MiniBooNE_PID.txt"]  # once
    assert obtain("audio", folder).startswith("audio: cannot be downloaded; needs ica_audio_8k.npz")


def test_no_network_is_one_line_and_nothing_is_written(tmp_path, capsys, monkeypatch):
    use_address(monkeypatch, NOBODY)
    with pytest.raises(BadInput, match="miniboone: http"):
        obtain("miniboone", tmp_path)
    output = tmp_path / "out"
    options = ["--data-set", "miniboone", "--download", "--data", str(tmp_path / "data"), "--output", str(output)]
    assert main(["experiment", "e6", "--quick", "--quiet", *options]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert f"{NOBODY} could not be downloaded: " in said.err
    assert not output.exists() and list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["e6", "--data-set", "mnist79"], "data set 'mnist79': must be one of census, miniboone"),
        (["e7", "--data-set", "census"], "data set 'census': e7 has no choice of data"),
        (["e9", "--data-set", "census"], "data set 'census': e9 has no choice of data"),
    ],
)
def test_a_data_set_that_is_no_choice_is_refused(arguments, message, tmp_path, capsys):
    assert main(["experiment", *arguments, "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert said.err.strip().endswith(message) and said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
