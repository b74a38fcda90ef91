"""Page Trial run: what it shows is what the library says; uploads are told by line, and nothing is half-loaded."""

from __future__ import annotations

import io
import threading
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.dashboard.export.exports import sampler_config
from app.dashboard.state import built_in_chains
from app.dashboard.state.built_in_chains import BuiltInChain
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.source import LIMITS, Source
from designer import TrialRun, search
from designer.core.progress import Cancelled
from designer.engine.predict import predict
from designer.pairs.diagnostics import histograms_of, summarise, worst_student_check, worst_tail_check
from designer.pairs.examples import EXAMPLES, example
from samplers.config.config import SamplerConfig
from samplers.runs.run import run_config
from tests.app.dashboard.driving import button, everything, figures, numbers, open_page, page, query, settled
from tests.serving import PATIENCE

GOOD = b"# n_data: 5000\nmu,sigma,log_ratio\n-1e-4,0.02,0\n2e-5,0.03,0.1\n1e-5,0.02,0\n"
BAD = b"# n_data: 5000\nmu,sigma\n-1e-4,0.02\nabc,0.03\n1e-5,-1\n"


def test_first_paint_shows_the_logistic_example():
    found, trial = page("trial_run"), example("logistic")
    text, summary = everything(found), summarise(trial)
    assert f"200 pairs, N = 100,000, digest {trial.digest[:12]}" in text
    assert f"**{summary.probability.mean:.0%}**" in text
    metrics = {metric.label: metric.value for metric in found.metric}
    assert metrics["Mean acceptance"] == f"{summary.probability.mean:.3f}"
    assert metrics["Median κ"] == f"{np.median(trial.kappa):.3g}"
    check = worst_tail_check(trial, 500, 0.05)
    assert (
        f"accepts wrongly with probability {check.accept:.3g} and rejects wrongly with probability {check.reject:.3g}"
        in text
    )
    step = predict(summary.usual, trial).step
    assert f"would read **{step.mean_usage:.1%}** of the data" in text
    assert f"off by **{step.mean_abs_delta:.2g}** on average" in text  # no data use without its error
    assert not found.query_params


def test_the_figures_hold_the_librarys_numbers():
    found, trial = page("trial_run"), example("logistic")
    *bars, quantiles = figures(found)
    for drawn, counts in zip(bars, histograms_of(trial).values(), strict=True):
        assert np.array_equal(numbers(drawn["data"][0]["y"]), counts.counts)
        assert numbers(drawn["data"][0]["x"]) == pytest.approx(counts.centres)
    x, y = worst_student_check(np.random.default_rng(0), trial, 500, 0.05).curve()
    assert numbers(quantiles["data"][1]["x"]) == pytest.approx(x)
    assert numbers(quantiles["data"][1]["y"]) == pytest.approx(y)


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_a_link_brings_back_each_example(name):
    found = page("trial_run", source=name)
    assert example(name).digest[:12] in everything(found)
    assert found.selectbox[0].value == name


def test_choosing_another_example_goes_into_the_url():
    found = page("trial_run")
    found.selectbox[0].select("ica").run()
    assert example("ica").digest[:12] in everything(found)
    assert query(found, "source") == "ica"
    found.selectbox[0].select("logistic").run()
    assert "source" not in found.query_params


def test_a_trial_run_without_skewness_says_what_is_needed():
    assert "does not record the skewness" in everything(page("trial_run", source="stationary"))


def test_no_trial_run_yet():
    found = page("trial_run", source="stationary", trial_n="50000", acceptance="0.5", pairs="120", seed="3")
    made = TrialRun.at_stationarity(50_000, 0.5, 120, np.random.default_rng(3))
    assert made.digest[:12] in everything(found)
    found.number_input(key="made-pairs").set_value(60).run()
    again = TrialRun.at_stationarity(50_000, 0.5, 60, np.random.default_rng(3))
    assert again.digest[:12] in everything(found)
    assert query(found, "pairs") == "60"


def test_a_damaged_link_shows_defaults():
    found = page("trial_run", source="stationary", trial_n="many", acceptance="nan", pairs="9999999", seed="-1")
    made = TrialRun.at_stationarity(1_000_000, 0.3, 400, np.random.default_rng(0))
    assert made.digest[:12] in everything(found)
    assert example("logistic").digest[:12] in everything(page("trial_run", source="nonsense"))


def upload(found: AppTest, name: str, content: bytes) -> AppTest:
    found.selectbox[0].select("upload").run()
    found.file_uploader[0].upload(name, content, "text/csv")
    return found.run()


def test_an_upload_is_used_and_named():
    found = upload(page("trial_run"), "mine.csv", GOOD)
    trial = TrialRun.from_csv(GOOD)
    assert f"mine.csv: 3 pairs, N = 5,000, digest {trial.digest[:12]}" in everything(found)
    assert query(found, "source") == "upload"
    assert query(found, "digest") == trial.digest


def test_a_recognised_mistake_is_said_instead_of_any_result():
    right = TrialRun.at_stationarity(20_000, 0.5, 200, np.random.default_rng(1))
    sums = TrialRun(right.n_data, right.n_data * right.mu, right.sigma)
    sink = io.BytesIO()
    sums.to_npz(sink)
    found = upload(page("trial_run"), "sums.npz", sink.getvalue())
    (said,) = [error.value for error in found.error]
    assert said.startswith("No design can be made: mu looks like the sum of the lᵢ")
    assert "would read" not in everything(found) and "finds the best test." not in said
    assert everything(found).count("looks like the sum") == 1


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
def test_binary_uploads(suffix):
    trial, sink = TrialRun.from_csv(GOOD), io.BytesIO()
    trial.to_parquet(sink) if suffix == "parquet" else trial.to_npz(sink)
    assert trial.digest[:12] in everything(upload(page("trial_run"), f"mine.{suffix}", sink.getvalue()))


def test_a_bad_upload_is_told_by_line_and_the_previous_data_stay():
    found = upload(page("trial_run", source="ica"), "broken.csv", BAD)
    text = everything(found)
    assert "broken.csv" in text and "2 problems, nothing loaded" in text
    (table,) = [t.value for t in found.dataframe if "reason" in t.value]
    assert list(table["line"]) == [4, 5]
    assert list(table["column"]) == ["mu", "sigma"]
    assert list(table["value"]) == ["abc", "-1"]
    assert example("ica").digest[:12] in text  # still in use
    assert query(found, "source") == "ica"


def test_n_can_be_given_beside_the_file():
    found = upload(page("trial_run"), "mine.csv", GOOD.removeprefix(b"# n_data: 5000\n"))
    assert "number of data N is missing" in everything(found)
    found.number_input(key="upload-n").set_value(5000).run()
    assert TrialRun.from_csv(GOOD).digest[:12] in everything(found)


def test_too_large_a_file_is_refused_in_code(monkeypatch):
    from app.dashboard.pages import trial_run

    monkeypatch.setattr(trial_run, "MOST_MEGABYTES", 1)
    text = everything(upload(page("trial_run"), "mine.csv", GOOD + 2**20 * b" "))
    assert "larger than 1 MB" in text and example("logistic").digest[:12] in text


def test_more_pairs_than_a_page_can_work_on_are_for_the_command_line():
    def pairs(count):
        sink = io.BytesIO()
        TrialRun(5000, np.full(count, 1e-4), np.full(count, 0.02)).to_npz(sink)
        return sink.getvalue()

    most = int(LIMITS["pairs"][1])
    text = everything(upload(page("trial_run"), "long.npz", pairs(most + 1)))
    assert f"long.npz: {most + 1:,} pairs, more than the {most:,} that a page can work on" in text
    assert "upload some of them, or use the command line" in text
    assert example("logistic").digest[:12] in text  # still in use


def test_a_link_to_somebody_elses_file_says_which():
    found = page("trial_run", source="upload", digest="ab" * 32)
    text = everything(found)
    assert "digest abababababab" in text and "upload that file" in text
    assert example("logistic").digest[:12] not in text, "no other trial run takes its place"
    trial = TrialRun.from_csv(GOOD)
    found = page("trial_run", source="upload", digest=trial.digest)
    found.file_uploader[0].upload("mine.csv", GOOD, "text/csv")
    text = everything(found.run())
    assert trial.digest[:12] in text and "not the file of the link" not in text


def test_the_template_is_a_trial_run():
    from designer.pairs.columns import TEMPLATE

    trial = TrialRun.from_csv(TEMPLATE.encode())
    assert (trial.n_data, len(trial)) == (12_214, 3)
    assert trial.skew is not None


def test_a_builtin_experiment_makes_a_trial_run(monkeypatch):
    trial = TrialRun.from_csv(GOOD)
    work = BuiltInChain("toy", "a toy", "three pairs", lambda seed, job: Loaded("the toy", trial, "computed here"))
    monkeypatch.setattr(built_in_chains, "built_in_chains", lambda: (work,))
    found = page("trial_run")
    found.selectbox[0].select("toy").run()
    assert example("logistic").digest[:12] in everything(found)  # in use until there is another
    settled(button(found, "Run it").click().run())
    assert f"the toy: 3 pairs, N = 5,000, digest {trial.digest[:12]}" in everything(found)
    assert query(found, "source") == "toy"


def toy_pairs(seed: int) -> TrialRun:
    return TrialRun(5000, [1e-5], [0.02 + seed])


def toy(key: str, started: threading.Event | None = None) -> BuiltInChain:
    """A built-in chain whose pairs depend on the seed; with an event, one that runs until it is cancelled."""

    def make(seed, job):
        if started is not None:
            started.set()
            while not job.cancelled():
                time.sleep(0.01)
            raise Cancelled
        return Loaded(f"the {key}", toy_pairs(seed), f"seed {seed}")

    return BuiltInChain(key, f"title of {key}", "one pair", make)


def test_running_it_again_gives_other_pairs_and_uses_them(monkeypatch):
    monkeypatch.setattr(built_in_chains, "built_in_chains", lambda: (toy("toy"),))
    found = page("trial_run")
    found.selectbox[0].select("toy").run()
    for seed in range(3):
        settled(button(found, "Run it").click().run())
        assert toy_pairs(seed).digest[:12] in everything(found)
        assert (query(found, "seed"), query(found, "digest")) == (str(seed), toy_pairs(seed).digest)


@pytest.mark.parametrize("name", ["trial_run", "design"])
def test_a_link_to_a_built_in_run_makes_the_same_pairs_again(name, monkeypatch):
    monkeypatch.setattr(built_in_chains, "built_in_chains", lambda: (toy("toy"),))
    found = page(name, source="toy", seed="1", digest=toy_pairs(1).digest)
    assert f"the toy: 1 pairs, N = 5,000, digest {toy_pairs(1).digest[:12]}" in everything(found)
    assert "not the pairs of the link" not in everything(found)


def test_after_a_link_the_next_run_has_another_seed(monkeypatch):
    monkeypatch.setattr(built_in_chains, "built_in_chains", lambda: (toy("toy"),))
    found = page("trial_run", source="toy", seed="1")
    assert query(found, "digest") == toy_pairs(1).digest
    settled(button(found, "Run it again").click().run())
    assert toy_pairs(2).digest[:12] in everything(found)


def test_other_pairs_than_those_of_the_link_are_told_for_good(monkeypatch):
    monkeypatch.setattr(built_in_chains, "built_in_chains", lambda: (toy("toy"),))
    found = page("trial_run", source="toy", seed="1", digest="ab" * 32)
    for _ in range(2):
        assert f"seed 1 gave the digest {toy_pairs(1).digest[:12]}… here and abababababab… there" in everything(found)
        found.run()
    settled(button(found, "Run it again").click().run())
    assert "not the pairs of the link" not in everything(found)


def test_a_link_to_a_built_in_run_can_be_cancelled_and_started_again(monkeypatch):
    started = threading.Event()
    monkeypatch.setattr(built_in_chains, "built_in_chains", lambda: (toy("slow", started), toy("quick")))
    found = open_page("trial_run", source="slow", seed="3")
    assert started.wait(PATIENCE)
    assert "title of slow" in found.get("progress")[0].proto.text and not found.selectbox
    button(found, "Cancel").click().run()
    settled(found).run()
    assert "chain with seed 3. Its pairs are not here" in everything(found)
    assert example("logistic").digest[:12] not in everything(found)
    button(found, "Run it").click().run()
    assert found.session_state["job-trial"].key == "slow:3" and found.session_state["job-trial"].running
    button(found, "Cancel").click().run()
    settled(found).run()
    found.selectbox[0].select("quick").run()
    settled(button(found, "Run it").click().run())
    assert toy_pairs(0).digest[:12] in everything(found)


def test_a_running_job_has_its_own_name_and_tells_when_it_was_cancelled(monkeypatch):
    started = threading.Event()
    monkeypatch.setattr(built_in_chains, "built_in_chains", lambda: (toy("slow", started), toy("quick")))
    found = page("trial_run")
    found.selectbox[0].select("slow").run()
    button(found, "Run it").click().run()
    assert started.wait(PATIENCE)
    found.selectbox[0].select("quick").run()
    assert "title of slow" in found.get("progress")[0].proto.text
    assert "starting **title of quick** cancels it" in everything(found)
    found.selectbox[0].select("slow").run()
    button(found, "Cancel").click().run()
    settled(found).run()
    assert "Cancelled. The trial run in use stays the same." in everything(found)


def test_an_uploaded_file_stays_in_the_list():
    found, trial = upload(page("trial_run"), "mine.csv", GOOD), TrialRun.from_csv(GOOD)
    found.selectbox[0].select("ica").run()
    assert example("ica").digest[:12] in everything(found)
    found.selectbox[0].select(trial.digest).run()
    assert f"mine.csv: 3 pairs, N = 5,000, digest {trial.digest[:12]}" in everything(found)
    assert query(found, "digest") == trial.digest


def test_skewness_beyond_the_first_order_is_judged_by_resampling():
    wild = TrialRun(100_000, np.zeros(60), np.full(60, 0.01), skew=np.linspace(0, 40, 60))
    sink = io.BytesIO()
    wild.to_npz(sink)
    text = everything(upload(page("trial_run"), "wild.npz", sink.getvalue()))
    seen = worst_student_check(np.random.default_rng(0), wild, 500, 0.05)
    wrongly = (
        f"accepts wrongly with probability {seen.accept:.3g} and rejects wrongly with probability {seen.reject:.3g}"
    )
    assert f"{wrongly} (simulated" in text
    assert seen.accept + seen.reject < 1
    assert f"Not shown: {seen.outside:,} further out" in text and seen.outside > 0


def test_link_and_reset_hold_source_and_check():
    found = page("trial_run", source="control", check_m="700")
    (link,) = [code.value for code in found.code if code.language is None or "?" in code.value[:80]]
    assert "source=control" in link and "check_m=700" in link and "check_eps" not in link
    button(found, "Reset").click().run()
    assert example("logistic").digest[:12] in everything(found)  # in use until there is another
    assert found.selectbox[0].value == "logistic" and found.number_input(key="check_m").value == 500


def test_the_acceptance_rate_can_be_given_exactly():
    found = page("trial_run", source="stationary", pairs="60")
    found.number_input(key="made-acceptance").set_value(0.2345).run()
    assert query(found, "acceptance") == "0.2345" and found.slider(key="acceptance-slider").value == 0.2345
    found.slider(key="acceptance-slider").set_value(0.5).run()
    assert query(found, "acceptance") == "0.5"


def test_the_spread_of_made_up_pairs_is_that_of_the_link():
    found = page("trial_run", source="stationary", trial_n="5000", pairs="60", seed="3", spread="0.25")
    want = TrialRun.at_stationarity(5000, 0.3, 60, np.random.default_rng(3), 0.25)
    assert want.digest[:12] in everything(found) and "standard deviation 0.25" in everything(found)
    found.slider(key="spread-slider").set_value(0.5).run()
    want = TrialRun.at_stationarity(5000, 0.3, 60, np.random.default_rng(3), 0.5)
    assert want.digest[:12] in everything(found) and query(found, "spread") == "0.5"
    (link,) = [code.value for code in found.code if code.language is None or "?" in code.value[:80]]
    assert "spread=0.5" in link


@pytest.mark.parametrize("spread", ["-0.1", "nan", "7", "wide"])
def test_a_damaged_spread_is_left_out(spread):
    found = page("trial_run", source="stationary", trial_n="5000", pairs="20", spread=spread)
    assert TrialRun.at_stationarity(5000, 0.3, 20, np.random.default_rng(0)).digest[:12] in everything(found)


def test_only_a_few_uploads_are_remembered():
    def script():
        from app.dashboard.state.in_use import use_upload
        from app.dashboard.state.loaded import MOST_REMEMBERED, Loaded
        from designer import TrialRun

        for k in range(MOST_REMEMBERED + 2):
            use_upload(Loaded(f"run {k}", TrialRun(1000, [0.0], [0.1 + k]), "made"))

    found = AppTest.from_function(script, default_timeout=PATIENCE).run()
    assert not found.exception
    assert [run.name for run in found.session_state["remembered-runs"].values()] == ["run 2", "run 3", "run 4"]


def test_sources_are_equal_after_a_trip_through_the_url():
    def script():
        import streamlit as st

        from app.dashboard.state.source import choose_source, current_source

        choose_source(st.session_state["there"])
        del st.session_state["source"]
        st.session_state["back"] = current_source()

    for there in (
        Source(),
        Source("ica"),
        Source("stationary", 123, 0.123456789012345, 7, 9),
        Source("stationary", 123, 0.3, 7, 9, 0.123456789012345),
        Source("upload", digest="ab"),
        Source("run-e3", seed=1),
        Source("run-e3", seed=1, digest="ab"),
    ):
        found = AppTest.from_function(script, default_timeout=PATIENCE)
        found.session_state["there"] = there
        assert not found.run().exception
        assert found.session_state["back"] == there


def test_a_built_in_chain_gives_pairs_and_its_whole_config(tmp_path):
    """The journey: run a chain, design, export; the export is a config that `austerity run` takes as it is."""
    found = page("trial_run", source="run-e3-proxy")
    loaded = found.session_state["remembered-runs"]["run-e3-proxy:0"]
    assert found.session_state["job-trial"].state.note.startswith("recording pairs")
    assert len(loaded.trial) == 100 and loaded.trial.n_data == 12_214
    assert "synthetic" in loaded.origin
    design = search(loaded.trial, 0.01).best
    config = SamplerConfig.from_toml(sampler_config(design, loaded.config), draws=50, warmup=0, chains=1)
    assert config.test == design
    results = run_config(config, tmp_path / "run")
    assert results["posterior"]["theta"].shape == (1, 50, 50)
