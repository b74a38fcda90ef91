"""One call: what is decided, that it can be overridden, and that nothing is claimed that was not shown."""

import json

import numpy as np
import pytest

import austerity as au
from designer.core.errors import BadInput, NumericalFailure
from samplers.flow.result import Claim
from tests.cases import CASES
from tests.samplers.smooth_models import NormalData, SmoothLogistic

QUIET = {"progress": False}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(8000), rng.standard_normal((8000, 2))])
    return x, rng.random(8000) < 1.0 / (1.0 + np.exp(3.0 - x[:, 1]))


@pytest.fixture(scope="module")
def model(data):
    return au.Logistic.from_data(*data, 1.0)


@pytest.fixture(scope="module")
def truth(model):
    """Mean and sd by importance sampling."""
    drawn = au.weighted_draws(au.Controlled.around(model, au.find_mode(model)), np.random.default_rng(9), 6_000)
    mean = drawn.weight @ drawn.theta
    return mean, np.sqrt(drawn.weight @ (drawn.theta - mean) ** 2)


def steps_of(result):
    return [decision.step for decision in result.decisions]


def decided(result, step):
    [found] = [decision for decision in result.decisions if decision.step == step]
    return found


def assert_right(result, truth, slack=5.0):
    theta = result.theta.reshape(-1, result.theta.shape[-1])
    ess = min(row.ess_bulk for row in result.summary().rows)
    off = np.abs(theta.mean(axis=0) - truth[0]) / truth[1]
    assert off.max() < slack / np.sqrt(ess)
    assert np.abs(theta.std(axis=0) / truth[1] - 1.0).max() < slack / np.sqrt(ess)


# --- what is decided ---


def test_laplace_where_it_is_enough(model):
    result = au.sample(model, posterior_error=0.2, **QUIET)
    assert (result.method, result.claim.status, result.warnings) == ("laplace", "shown", ())
    assert decided(result, "need I sample?").choice == "no: Laplace draws"
    assert decided(result, "need I sample?").reason.startswith("Laplace is within ")  # read after "because"
    assert result.theta.shape == (4, 1000, 3)
    assert result.test is None and result.design is None and result.plan is None


def test_weighted_draws_where_laplace_is_not(model, truth):
    result = au.sample(model, posterior_error=0.02, **QUIET)
    assert (result.method, result.claim.status) == ("importance", "shown")
    assert result.theta.shape[1] > 900
    assert result.laplace.largest > 0.02
    assert_right(result, truth)


def test_weighted_draws_of_very_many_data_cost_more_than_chains(model, monkeypatch):
    monkeypatch.setattr("samplers.flow.without_chains.MOST", 1.0)
    result = au.sample(model, posterior_error=0.02, **QUIET)
    assert result.method == "exact-minibatch"
    assert "chains read less" in decided(result, "need I sample?").reason


def test_laplace_always_says_that_it_misses_the_wish(model, monkeypatch):
    """No weights to mend it: the draws are plain Laplace, and the first thing said is that they are not good enough."""
    monkeypatch.setattr("samplers.study.laplace.FEWEST", 1e9)
    result = au.sample(model, posterior_error=0.001, laplace="always", **QUIET)
    assert result.claim.status == "missed"
    assert result.warnings[0].startswith("the posterior error is not kept: these are Laplace draws anyway")
    assert result.report().startswith("WARNING: the posterior error is not kept")
    assert repr(result).startswith("WARNING")


def test_the_exact_minibatch_test_needs_no_trial_run(model, truth):
    result = au.sample(model, posterior_error=0.02, laplace="never", **QUIET)
    assert (result.method, result.claim.status, result.warnings) == ("exact-minibatch", "shown", ())
    assert isinstance(result.test, au.ExactMinibatchTest)
    assert result.trial is None and result.audit is None
    test = decided(result, "test")
    assert "makes no error" in test.reason and test.override == 'test="sequential"'
    assert_right(result, truth)


@pytest.fixture(scope="module")
def sequential(model):
    return au.sample(model, posterior_error=0.04, test="sequential", pairs=60, **QUIET)


def test_a_sequential_design_is_made_for_the_posterior_error(sequential, truth):
    result = sequential
    assert result.method == "sequential" and result.design.n_data == result.trial.n_data
    assert result.plan.basis == "independent" and result.plan.upper <= 0.04
    assert result.claim.status == "predicted" and "certify(result)" in result.claim.sentence
    assert steps_of(result) == [
        *("mode", "need I sample?", "proposal", "trial run", "test", "tolerance", "design", "chains", "audit")
    ]
    assert result.audit.tolerance == pytest.approx(result.plan.tolerance)
    assert result.audit.means.wish == 0.04 and "0.04 would have been seen" in result.audit.means.words
    assert_right(result, truth)


def test_a_predicted_miss_of_the_wish_is_a_warning(sequential):
    from dataclasses import replace

    result = replace(sequential, plan=sequential.plan._replace(upper=0.07))
    assert result.claim.status == "not shown"
    assert "off by 0.07 sd (95%, predicted), more than the allowed 0.04" in result.warnings[0]
    assert not any("predicted" in line for line in sequential.warnings)


def test_a_certificate_turns_a_prediction_into_something_shown(sequential):
    certificate = au.certify(sequential, passes=400, wish=0.2)
    assert certificate.outcome == "certified"
    from dataclasses import replace

    certified = replace(sequential, certificate=certificate)
    assert certified.claim == Claim("shown", certificate.sentence)
    wrong = replace(sequential, certificate=certificate._replace(outcome="wrong", sentence="WRONG: so much"))
    assert wrong.claim.status == "missed" and "WRONG: so much" in wrong.warnings[0]
    unclear = replace(sequential, certificate=certificate._replace(outcome="not certified", sentence="cannot tell"))
    assert unclear.claim.status == "predicted" and "certificate: cannot tell" in unclear.warnings


def test_an_audit_beyond_the_tolerance_comes_first(sequential):
    from dataclasses import replace

    audit = sequential.audit._replace(verdict="beyond")
    result = replace(sequential, audit=audit)
    assert result.claim.status == "missed"
    assert result.report().splitlines()[0].startswith("WARNING: the posterior error is not kept: the audit")
    unclear = replace(sequential, audit=audit._replace(verdict="unclear", sentence="UNCLEAR"))
    assert "audit: UNCLEAR" in unclear.warnings


def test_a_hasty_design_is_found_out(model):
    """Rows are few, bounds wide: mean |Δ| is far above the tolerance, and the audit says so before anything else."""
    hasty = au.Design(model.n_data, 2, 0.5)
    walk = au.RandomWalk.isotropic(0.1, 3)
    result = au.sample(model, tolerance=0.001, design=hasty, order=0, proposal=walk, draws=500, **QUIET)
    assert result.audit.verdict == "beyond" and result.claim.status == "missed"
    assert result.warnings and "not kept" in result.warnings[0]


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(6)
    x = np.column_stack([np.ones(1000), rng.standard_normal(1000)])
    return au.Logistic.from_data(x, rng.random(1000) < 1.0 / (1.0 + np.exp(0.5 - x[:, 1])), 1.0)


def test_a_tolerance_is_of_chains(small):
    result = au.sample(small, tolerance=0.05, proposal="random-walk", test="sequential", draws=100, pairs=30, **QUIET)
    assert result.plan.basis == "asked" and result.plan.tolerance == 0.05
    assert result.claim.status == "not shown"
    assert decided(result, "proposal").choice.startswith("random walk")


def test_without_a_theory_the_tolerance_is_cautious_and_nothing_is_claimed(small):
    walk = {"proposal": "random-walk", "test": "sequential", "draws": 100, "pairs": 30}
    result = au.sample(small, posterior_error=0.1, **walk, **QUIET)
    assert result.plan.basis == "none" and result.plan.tolerance == pytest.approx(0.02)
    assert result.claim.status == "not shown"


# --- overriding ---


def test_everything_can_be_given(model):
    walk = au.RandomWalk.isotropic(0.03, 3)
    result = au.sample(model, test=au.ExactTest(), proposal=walk, draws=50, warmup=7, chains=2, order=0, **QUIET)
    assert result.spec.proposal is walk and result.method == "given"
    assert result.theta.shape == (2, 50, 3)
    assert "7 steps of warm-up" in decided(result, "chains").choice


def test_heavy_rows_and_order(model):
    design = au.Design(7900, 100, 0.1)
    result = au.sample(model, design=design, heavy=100, order=1, draws=100, audit=False, **QUIET)
    assert (result.spec.model.n_heavy, result.spec.model.order) == (100, 1)
    assert decided(result, "heavy rows").choice == "100 of 8,000"
    assert result.design.without_notes == design
    assert result.claim.status == "not shown" and "no audit was made" in result.claim.sentence


def test_control_variates_as_given(model):
    proxied = au.Controlled.around(model, au.find_mode(model), order=1, heavy=[3, 5])
    result = au.sample(proxied, test="exact", draws=20, **QUIET)
    assert result.spec.model.order == 1
    tested = au.sample(proxied, design=au.Design(7998, 100, 0.1), draws=20, audit=False, **QUIET)
    assert tested.spec.model.heavy.tolist() == [3, 5]


def test_heavy_rows_are_chosen_and_explained():
    """Dummies of twenty rows each: their rows are read in every step."""
    x, y, precision = CASES["rare-dummies"].data()
    rare = set(np.flatnonzero(x[:, 4:].any(axis=1)).tolist())
    result = au.sample(au.Logistic.from_data(x, y, precision), laplace="never", draws=50, **QUIET)
    heavy = decided(result, "heavy rows")
    chosen = set(result.spec.model.heavy.tolist())
    assert chosen and chosen <= rare
    assert heavy.choice == f"{len(chosen)} of 5,000" and heavy.override == "heavy=0" and "instead of" in heavy.reason
    assert result.method == "exact-minibatch"


def test_a_design_of_another_number_of_data_is_refused(model):
    with pytest.raises(BadInput, match="design: is for n_data = 500, a test here samples 8,000"):
        au.sample(model, design=au.Design(500, 50, 0.05), **QUIET)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"posterior_error": 0.1, "tolerance": 0.1}, "not both"),
        ({"posterior_error": 0.0}, "posterior_error"),
        ({"test": "barker"}, 'test = .*: must be "auto", "sequential", "exact" or "exact-minibatch"'),
        ({"proposal": "hmc"}, "proposal = "),
        ({"laplace": "maybe"}, "laplace = "),
        ({"order": 3}, "order = 3"),
        ({"draws": 0}, "draws"),
        ({"certify": 3}, "certify = 3"),
        ({"resume": True}, "resume: needs the directory"),
        ({"design": au.Design(8000, 50, 0.1), "test": "exact"}, "give one of the two"),
    ],
)
def test_bad_wishes_are_refused_before_anything_is_read(wrong, message, refuses):
    with pytest.raises(BadInput, match=message):
        au.sample(object(), **wrong, **QUIET)


def test_what_is_no_model_is_refused():
    with pytest.raises(BadInput, match="model: object has no n_data"):
        au.sample(object(), **QUIET)


def test_an_improper_posterior_is_refused():
    x = np.column_stack([np.ones(200), np.arange(200) < 20])
    y = (np.arange(200) < 20) | (np.arange(200) % 2 > 0)
    with pytest.raises(NumericalFailure, match="no mode"):
        au.sample(au.Logistic.from_data(x, y), **QUIET)


# --- other models ---


def test_a_model_with_its_own_names_and_shapes():
    x = np.random.default_rng(3).normal(2.0, 0.5, 3000)
    result = au.sample(NormalData(x), posterior_error=0.1, test="sequential", draws=200, pairs=30, **QUIET)
    posterior = result.posterior["posterior"]
    assert set(posterior.data_vars) == {"mean", "sd"}
    assert posterior["sd"].shape == (4, 200)
    assert float(posterior["sd"].mean()) == pytest.approx(x.std(), abs=0.002)
    assert "n_used" in result.posterior["sample_stats"]
    assert result.claim.sentence.endswith("(all this of the parameters as sampled, not as transformed)")
    assert result.plan.basis in ("independent", "none")
    assert result.summary().rows[0].name == "mean"


def test_a_smooth_model_makes_the_draws_of_the_linear_one(data, model):
    """Same mode, proposals and random numbers; the exact test sees the same terms, by other code."""
    options = {"posterior_error": 0.05, "test": "exact", "draws": 60, "proposal": "random-walk"}
    mine = au.sample(SmoothLogistic.of(*data, 1.0), **options, **QUIET)
    theirs = au.sample(model, **options, **QUIET)
    assert mine.theta == pytest.approx(theirs.theta, abs=1e-6)


class Plain:
    """A model without derivatives: the mean and the log scale of Laplace-distributed data."""

    def __init__(self, x):
        self.x, self.n_data = x, x.size

    def log_prior(self, theta):
        return -0.5 * float(theta @ theta) / 100.0

    def terms(self, theta, theta_new, indices):
        def value(t):
            return -np.abs(self.x[indices] - t[0]) * np.exp(-t[1]) - t[1]

        return value(theta_new) - value(theta)


def test_a_plain_model_learns_its_steps():
    x = np.random.default_rng(4).laplace(1.0, 2.0, 2000)
    result = au.sample(Plain(x), start=[0.0, 0.0], posterior_error=0.2, **QUIET)
    assert decided(result, "proposal").choice == "random walk with a learned covariance"
    assert result.laplace is None
    theta = result.theta.reshape(-1, 2)
    assert theta.mean(axis=0) == pytest.approx([np.median(x), np.log(np.abs(x - np.median(x)).mean())], abs=0.03)
    rows = result.summary().rows
    assert all(row.ess_bulk >= 400 for row in rows) or any("effective draws" in line for line in result.warnings)


def test_a_plain_model_has_no_laplace_draws():
    with pytest.raises(BadInput, match="laplace = 'always': Plain has no derivatives"):
        au.sample(Plain(np.ones(9)), start=[0.0, 0.0], laplace="always", **QUIET)


def test_a_plain_model_needs_a_start():
    with pytest.raises(BadInput, match="start: needed for a Plain"):
        au.sample(Plain(np.zeros(10)), **QUIET)
    with pytest.raises(BadInput, match="order = 2: Plain has no derivatives"):
        au.sample(Plain(np.arange(10.0)), start=[0.0, 0.0], order=2, **QUIET)


def test_a_model_in_jax():
    jnp = pytest.importorskip("jax.numpy")
    x = np.random.default_rng(7).normal(1.0, 2.0, 500)

    def log_likelihood(theta, row):
        return -0.5 * ((row - theta["centre"]) * jnp.exp(-theta["log_sd"])) ** 2 - theta["log_sd"]

    def log_prior(theta):
        return -0.005 * (theta["centre"] ** 2 + theta["log_sd"] ** 2)

    jax_model = au.from_jax(log_likelihood, log_prior, x, {"centre": 0.0, "log_sd": 0.0})
    result = au.sample(jax_model, posterior_error=0.2, **QUIET)
    assert result.method == "laplace" and set(result.posterior["posterior"].data_vars) == {"centre", "log_sd"}
    assert float(result.posterior["posterior/centre"].mean()) == pytest.approx(x.mean(), abs=0.02)


def test_a_certificate_on_the_way(small):
    design = au.Design(1000, 500, 0.01)
    result = au.sample(small, design=design, draws=100, audit=False, certify=100, posterior_error=0.2, **QUIET)
    assert result.certificate.passes == 100 and result.certificate.wish == 0.2
    assert decided(result, "certificate").choice == result.certificate.outcome


def test_group_effects():
    rng = np.random.default_rng(5)
    index, x = rng.integers(0, 8, 2000), np.column_stack([np.ones(2000), rng.standard_normal(2000)])
    effects = 0.7 * rng.standard_normal(8)
    y = rng.random(2000) < 1.0 / (1.0 + np.exp(-x[:, 1] - effects[index]))
    agents = au.Groups(index, name="agent", labels="ABCDEFGH")
    grouped = au.Grouped.of(au.Logistic.mapped(x, y, prior_precision=1.0), [agents])
    result = au.sample(grouped, posterior_error=0.2, test="exact", draws=150, warmup=50, **QUIET)
    posterior = result.posterior["posterior"]
    assert posterior["agent"].shape == (4, 150, 8) and posterior["scale agent"].shape == (4, 150)
    assert "agent[H]" in [row.name for row in result.summary().rows]
    assert decided(result, "need I sample?").choice == "yes" and result.laplace is None
    assert decided(result, "proposal").choice.startswith("proxy proposals for group effects")
    with pytest.raises(BadInput, match="with group effects"):
        au.sample(grouped, proposal="random-walk", **QUIET)
    with pytest.raises(BadInput, match='laplace = "always": group effects with sampled scales are not normal'):
        au.sample(grouped, laplace="always", **QUIET)
    with pytest.raises(BadInput, match=r"heavy = 'bounds': .* name the rows"):
        au.sample(grouped, heavy="bounds", **QUIET)
    few = au.sample(grouped, heavy=[3, 5], draws=10, chains=1, **QUIET)
    assert few.spec.model.heavy.tolist() == [3, 5] and decided(few, "heavy rows").choice.startswith("2 of")


# --- configs ---


def test_a_config_says_how_many_and_which_test(tmp_path, data):
    np.savez(tmp_path / "data.npz", x=data[0], y=data[1])
    text = '[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n[run]\ndraws = 30\nchains = 2\nseed = 5\n'
    (tmp_path / "plain.toml").write_text(text)
    result = au.sample(tmp_path / "plain.toml", posterior_error=0.02, laplace="never", **QUIET)
    assert result.theta.shape == (2, 30, 3) and result.wishes.seed == 5
    assert result.method == "exact-minibatch"
    (tmp_path / "tested.toml").write_text(text + '[test]\nkind = "exact"\n[proposal]\nkind = "random-walk"\n')
    tested = au.sample(tmp_path / "tested.toml", posterior_error=0.02, draws=20, **QUIET)
    assert tested.method == "exact" and tested.theta.shape == (2, 20, 3)
    assert isinstance(tested.spec.proposal, au.RandomWalk)
    options = {"posterior_error": 0.2, "chains": 4, "seed": 0, "proposal": "auto", **QUIET}  # as by default, but given
    other = au.sample(tmp_path / "tested.toml", test="auto", draws=None, **options)
    assert other.method == "laplace" and other.theta.shape == (4, 1000, 3) and other.wishes.seed == 0
    design = au.Design(8000, 500, 0.1)
    with_design = au.sample(tmp_path / "tested.toml", design=design, audit=False, **options | {"chains": 1})
    assert with_design.design == design and not isinstance(with_design.spec.proposal, au.RandomWalk)


def test_bad_configs(tmp_path):
    with pytest.raises(BadInput, match=r"data.csv: must be a config"):
        au.sample(tmp_path / "data.csv", **QUIET)
    with pytest.raises(BadInput, match="is a directory"):
        au.sample(tmp_path, **QUIET)


# --- effective draws ---


def test_chains_go_on_until_enough_draws_are_effective(model):
    walk = {"proposal": "random-walk", "test": "exact", "posterior_error": 0.05}
    result = au.sample(model, **walk, **QUIET)
    longer = [decision for decision in result.decisions if decision.step == "draws"]
    assert longer and result.theta.shape[1] > 1000
    assert min(row.ess_bulk for row in result.summary().rows) >= 400
    short = au.sample(model, draws=50, **walk, **QUIET)
    assert short.theta.shape[1] == 50
    assert any("effective draws of" in line and "draws would do" in line for line in short.warnings)


# --- reports ---


def test_the_report_tells_everything(sequential, tmp_path):
    text = sequential.report(tmp_path / "report.html")
    assert "posterior error: predicted: " in text and "Monte Carlo error" in text
    for decision in sequential.decisions:
        assert str(decision) in text
    html = (tmp_path / "report.html").read_text()
    assert "http" not in html.replace("http-equiv", "") and "<script" not in html
    assert sequential.audit.sentence.replace(">", "&gt;") in html
    assert f"m = {sequential.design.m}" in html
    sequential.report(tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text() == text + "\n"


def test_names_are_escaped_in_html(model, tmp_path):
    result = au.sample(model, posterior_error=0.2, names=["<b>", "a", "c"], **QUIET)
    result.report(tmp_path / "report.html")
    assert "<b>]" not in (tmp_path / "report.html").read_text()


def test_decisions_are_said_on_the_way(model, capsys):
    result = au.sample(model, posterior_error=0.2)
    said = capsys.readouterr().err.splitlines()
    assert said == [str(decision) for decision in result.decisions]


def test_decisions_are_plain_sentences(sequential):
    for decision in sequential.decisions:
        assert decision.step and decision.choice
        assert decision.override or decision.step in ("chains",)
    assert json.loads(json.dumps([decision._asdict() for decision in sequential.decisions]))
