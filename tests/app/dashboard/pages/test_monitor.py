"""Page Monitor: what it shows is what the library says of the run; runs start, stop and resume from it."""

from __future__ import annotations

import numpy as np
import pytest

from app.dashboard.jobs import runs
from app.dashboard.pages.monitor import NEW, new_run
from designer import Design, search
from designer.pairs.examples import example
from designer.rule.design import Predicted, Provenance
from samplers import SamplerConfig, run_config
from samplers.runs.results import to_netcdf
from samplers.runs.run import audit_config
from samplers.runs.watch import promises, watch
from tests.app.dashboard.driving import button, everything, figure, open_page, settled

N = 2_000
PROMISED = Design(
    N,
    400,
    0.05,
    predicted=Predicted(
        mean_abs_delta=0.01, mean_usage=0.5, acceptance=0.6, acceptance_band=(0.1, 0.9), usage_band=(0.3, 0.9)
    ),
    provenance=Provenance(tolerance=0.05),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A runs folder with a finished run, as `austerity run` leaves it."""
    home = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, 2))
    np.savez(home / "data.npz", x=x, y=rng.random(N) < 1 / (1 + np.exp(-x[:, 0])))
    results = run_config(config(home), home / "done")
    to_netcdf(results, home / "copy.nc")
    return home


def config(home, design=PROMISED):
    text = f'[data]\npath = "{home}/data.npz"\n[model]\ncontrol = 0\n[proposal]\nkind = "random-walk"\n'
    return SamplerConfig.from_toml(text + "[run]\ndraws = 400\nwarmup = 50\nchains = 2\n", design)


@pytest.fixture(autouse=True)
def here(folder):
    before = runs.place.folder, runs.place.local
    runs.use(folder, local=True)
    yield
    runs.place.folder, runs.place.local = before


def table(found) -> dict[str, dict[str, str]]:
    rows = found.table[0].value.reset_index(drop=True).to_dict("records")
    return {row["per step"]: row for row in rows}


def test_promised_against_measured(folder):
    found = open_page("monitor", run="done")
    rows, known = table(found), {row.quantity: row for row in promises(watch(folder / "done"))}
    assert rows["acceptance"]["promised"] == "60%"
    assert rows["acceptance"]["band"] == "10% to 90%"
    assert rows["acceptance"]["measured"].startswith(f"{100 * known['acceptance'].measured:.3g}% ± ")
    assert "as promised" in rows["acceptance"]["verdict"]
    assert rows["data use"]["measured"].startswith(f"{100 * known['data use'].measured:.3g}% ± ")
    assert rows["looks per step"]["promised"] == "2.5"
    assert rows["wrong decisions (mean |Δ|)"] == {
        "per step": "wrong decisions (mean |Δ|)",
        "promised": "0.01",
        "band": "0 to 0.05",
        "measured": "–",
        "verdict": "needs an audit",
    }
    words = everything(found)
    assert "The run did what its design promised." in words
    assert "Of 400 draws of 2 chains, after a warm-up of 50 steps." in words
    assert [trace["name"] for trace in figure(found, 1)["data"]] == ["chain 0", "chain 1"]
    assert len(figure(found, 0)["layout"]["shapes"]) == 6  # three bands, three lines
    assert found.dataframe[0].value["parameter"].tolist() == ["theta[0]", "theta[1]"]


def test_an_audit_with_one_click(folder):
    found = open_page("monitor", run="done")
    button(found, "Audit").click().run()
    settled(found)
    expected = audit_config(SamplerConfig.from_toml(config(folder).to_toml()))
    words = everything(found)
    assert expected.details[0].upper() + expected.details[1:] in words
    row = table(found)["wrong decisions (mean |Δ|)"]
    assert row["measured"].startswith(f"{expected.error.value:.3g}")
    assert "as promised" in row["verdict"]


def test_a_certificate_with_one_click():
    found = open_page("monitor", run="done")
    found.number_input(key="monitor-passes").set_value(200)
    button(found, "Certificate").click().run()
    settled(found)
    assert "ertified" in everything(found).replace("CERTIFIED", "ertified")


def test_uploaded_results_show_the_same(folder):
    known = table(open_page("monitor", run="done"))
    found = open_page("monitor")
    found.selectbox(key="monitor-choice").select("*upload*").run()
    found.file_uploader[0].upload("copy.nc", (folder / "copy.nc").read_bytes(), "application/x-netcdf")
    found.run()
    assert table(found) == known
    assert "needs the run's folder" in everything(found)
    assert not [b for b in found.button if b.label == "Audit"]
    found.file_uploader[0].upload("other.nc", b"nothing", "application/x-netcdf")
    found.run()
    assert "results.nc: is not a netCDF file" in found.error[0].value


def test_a_run_says_what_it_promises_before_it_starts():
    found = open_page("monitor")
    rows, made = table(found), search(example("control"), new_run.TOLERANCE).best.predicted
    assert "What this run promises" in [header.value for header in found.header]
    assert rows["acceptance"]["promised"] == f"{100 * made.acceptance:.3g}%"
    assert rows["data use"]["promised"] == f"{100 * made.mean_usage:.3g}%"
    assert rows["wrong decisions (mean |Δ|)"]["band"] == f"0 to {new_run.TOLERANCE:g}"
    found.selectbox(key="monitor-chain").select("e3").run()  # an exact test promises nothing
    assert not found.table and not found.header


def test_a_run_starts_from_the_page(folder, monkeypatch):
    started = []
    monkeypatch.setattr(runs, "start", lambda name, what, owner: started.append((name, what)))
    found = open_page("monitor")
    assert found.selectbox(key="monitor-chain").value == "control"
    assert "Its test: the design for its bundled trial run" in everything(found)
    found.number_input(key="monitor-draws-control").set_value(300)
    found.text_input(key="monitor-name-control").set_value("mine")
    button(found, "Start").click().run()
    ((name, what),) = started
    assert (name, what.run.draws, what.data.source, what.test.n_data) == ("mine", 300, "tall-logistic", 100_000)
    assert what.test.predicted.acceptance_band is not None
    found.selectbox(key="monitor-chain").select("e3-proxy").run()
    assert "Its test is exact, and promises nothing." in everything(found)
    button(found, "Start").click().run()
    assert started[1][1].test is None


def test_an_own_config_is_read_or_refused(folder, monkeypatch):
    started = []
    monkeypatch.setattr(runs, "start", lambda name, what, owner: started.append(what))
    found = open_page("monitor")
    found.selectbox(key="monitor-chain").select("*own*").run()
    found.file_uploader[0].upload("mine.toml", config(folder).to_toml().encode(), "application/toml")
    found.run()
    button(found, "Start").click().run()
    assert started == [config(folder)]
    found.file_uploader[0].upload("bad.toml", b"[model]\nkind = 'no'", "application/toml")
    found.run()
    assert found.error[0].value.startswith("bad.toml: model.kind")


def test_the_design_in_use_is_offered(monkeypatch):
    started = []
    monkeypatch.setattr(runs, "start", lambda name, what, owner: started.append(what))
    found = open_page("monitor", source="control", chosen="100000,500,0.01,0.5,1")
    assert found.selectbox(key="monitor-chain").value == "*in use*"
    button(found, "Start").click().run()
    assert (started[0].test.m, started[0].test.epsilon, started[0].model.control) == (500, 0.01, 2)


def test_stop_and_resume_reach_the_run(folder, monkeypatch):
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "config.toml").write_text(config(folder).to_toml())
    (folder / "mine" / "log.txt").write_text("austerity: data.path: nowhere: no such file\n")
    calls = []
    monkeypatch.setattr(runs, "resume", lambda name, owner: calls.append(("resume", name)))
    monkeypatch.setattr(runs, "stop", lambda name: calls.append(("stop", name)))
    found = open_page("monitor", run="mine")
    assert "ended before it saved anything" in everything(found)
    assert "no such file" in found.code[0].value
    button(found, "Resume").click().run()
    monkeypatch.setattr(runs, "state", lambda name: "running")
    found.run()
    assert "The run has started" in everything(found)
    button(found, "Stop").click().run()
    assert calls == [("resume", "mine"), ("stop", "mine")]


def test_a_damaged_link_is_no_path(folder):
    for name in ("../done", "/etc", "nowhere"):
        found = open_page("monitor", run=name)
        assert found.selectbox(key="monitor-choice").value == "*new*"


def test_a_link_to_a_run_opens_it_whatever_was_in_view_before():
    found = open_page("monitor")
    assert found.session_state["monitor-choice"] == NEW
    found.query_params["run"] = "done"  # as *Open* in the strip
    settled(found.run())
    assert found.session_state["monitor-choice"] == "done"
    found.selectbox(key="monitor-choice").set_value(NEW)
    settled(found.run())
    assert found.session_state["monitor-choice"] == NEW and "run" not in found.query_params
