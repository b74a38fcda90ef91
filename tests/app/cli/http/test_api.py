"""Commands over HTTP: the answers of `--json`, refusals in a line, and a description that fits both."""

from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
import uvicorn
from jsonschema import Draft202012Validator

from app.cli.http import routes
from app.cli.http.openapi import REFUSALS, document
from app.cli.http.questions import MOST_NUMBERS, QUESTIONS, actions_of
from app.dashboard.jobs.jobs import counts, program_queue
from designer import TrialRun
from designer.core.work import work_done
from tests.commands import austerity, finished
from tests.serving import PATIENCE

PAIRS = TrialRun.at_stationarity(100_000, 0.5, 30, np.random.default_rng(0), 0.3)
TRIAL = {"n_data": 100_000, "mu": PAIRS.mu.tolist(), "sigma": PAIRS.sigma.tolist()}
ASKED = {
    "evaluate": {"n_data": 12_214, "m": 500, "epsilon": 0.05, "mu_std": [0, 1, -2.5]},
    "delta": {"trial": TRIAL, "m": 500, "epsilon": 0.05, "rule": "barker"},
    "design": {"trial": TRIAL, "tolerance": 0.05, "m_low": 5000, "alpha": 0.5, "cost": [1, 2, 3]},
    "compare": {"trial": TRIAL, "m": 1000, "factor": 10},
}
TYPED = {
    "evaluate": ["--n-data", 12_214, "--m", 500, "--epsilon", 0.05, "--mu-std", "0,1,-2.5"],
    "delta": ["--m", 500, "--epsilon", 0.05, "--rule", "barker"],
    "design": ["--tolerance", 0.05, "--m-low", 5000, "--alpha", 0.5, "--cost", "1,2,3"],
    "compare": ["--m", 1000, "--factor", 10],
}


@contextmanager
def served():
    server = uvicorn.Server(
        uvicorn.Config(routes.application(), port=0, ws="none", log_level="warning", lifespan="off")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + PATIENCE
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture(scope="module")
def port():
    with served() as port:
        yield port


def post(port, name, body, content_type="application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    text = body if isinstance(body, (str, bytes)) else json.dumps(body)
    connection.request("POST", f"/{name}", text, {"Content-Type": content_type})
    answer = connection.getresponse()
    try:
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_is_that_of_the_command(port, name, tmp_path):
    words = TYPED[name]
    if QUESTIONS[name].takes_trial:
        PAIRS.save(tmp_path / "trial.csv")
        words = [tmp_path / "trial.csv", *words]
    command = finished(austerity(name, *words, "--json"))
    assert command.returncode == 0, command.stderr
    status, answer = post(port, name, ASKED[name])
    assert (status, answer) == (200, json.loads(command.stdout))


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_description_fits_requests_and_answers(port, name):
    described = document()
    operation = described["paths"][f"/{name}"]["post"]
    asked = operation["requestBody"]["content"]["application/json"]["schema"]
    asked = asked | {"components": described["components"]}  # what its references lead to
    validator = Draft202012Validator(asked)
    assert list(validator.iter_errors(ASKED[name])) == []
    for key in QUESTIONS[name].needs:
        assert list(validator.iter_errors({k: v for k, v in ASKED[name].items() if k != key}))
    assert list(validator.iter_errors(ASKED[name] | {"output": "file"}))
    for action in actions_of(name).values():
        assert action.help
    Draft202012Validator.check_schema(operation["responses"]["200"]["content"]["application/json"]["schema"])
    assert set(operation["responses"]) == {"200", *REFUSALS}


@pytest.mark.parametrize(
    ("name", "change", "line"),
    [
        ("evaluate", {"m": "500"}, "m: must be a number"),
        ("evaluate", {"m": True}, "m: must be a number"),
        ("evaluate", {"m": 500.5}, "m: '500.5' is not a whole number"),
        ("evaluate", {"n_data": 1}, "n_data = 1: must be a whole number from 2 to 1,000,000,000,000,000"),
        ("evaluate", {"mu_std": []}, "mu_std: must be a list of 1 to 20,000 numbers"),
        ("evaluate", {"mu_std": [0.0] * (MOST_NUMBERS + 1)}, "mu_std: must be a list of 1 to 20,000 numbers"),
        ("evaluate", {"design": "/etc/passwd"}, "'design': evaluate has no such entry; it has n_data, m, epsilon"),
        ("evaluate", {"trial": TRIAL}, "'trial': evaluate has no such entry"),
        ("delta", {"trial": "/etc/passwd"}, "trial: must have n_data, mu and sigma"),
        ("delta", {"trial": TRIAL | {"path": "x"}}, "trial: must have n_data, mu and sigma"),
        ("delta", {"trial": TRIAL | {"n_data": "N"}}, "trial.n_data: must be a number"),
        ("delta", {"trial": TRIAL | {"mu": [0.1, None]}}, "trial.mu: must be a list of 1 to 20,000 numbers"),
        ("delta", {"trial": TRIAL | {"sigma": [-1.0] * 30}}, "sigma"),
        ("delta", {"rule": "x"}, "rule"),
        ("delta", {"skew": 1}, "skew: must be true or false"),
        ("design", {"cost": [1, 2]}, "cost: must be a list of 3 numbers"),
        ("design", {"criterion": "--output=x"}, "criterion"),
        ("evaluate", {"\ud800": 1}, "has no such entry"),
        ("evaluate", {"x" * 1000: 1}, "xxx"),
        ("evaluate", {"n_data": 10**400}, "n_data: "),
        ("compare", {"best": True, "epsilon": 0.1}, "best chooses ε and δ itself; leave out epsilon and delta"),
        ("compare", {"tolerance": 7}, "tolerance = 7.0: must"),
    ],
)
def test_refusals_are_one_line(port, name, change, line):
    status, answer = post(port, name, ASKED[name] | change)
    assert status == 422
    assert list(answer) == ["error"] and line in answer["error"] and "\n" not in answer["error"]
    assert "argument" not in answer["error"] and "--help" not in answer["error"] and len(answer["error"]) < 500


@pytest.mark.parametrize("body", ["", "[1]", "{", "\xff", '{"m": NaN}', "[" * 100_000])
def test_what_is_no_json_object_is_refused(port, body):
    assert post(port, "evaluate", body.encode("latin-1")) == (400, {"error": "the body is not a JSON object"})


def test_a_form_of_another_site_cannot_ask(port):
    """A browser sends JSON to another site only after that site has allowed it, and none is allowed."""
    status, answer = post(port, "evaluate", ASKED["evaluate"], "text/plain")
    assert status == 415 and "application/json" in answer["error"]


def test_too_large_a_body_is_not_read(port):
    status, answer = post(port, "evaluate", b" " * (routes.MOST_BYTES + 1))
    assert (status, answer) == (413, {"error": "more than 4,194,304 bytes"})


def waits_until(condition):
    until = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    assert condition()


def endless(name, asked, job):
    """Work that ends when it is cancelled, as a search does."""
    while not job.cancelled():
        time.sleep(0.01)


def test_work_ends_with_its_connection_and_others_are_told_to_wait(port, monkeypatch):
    monkeypatch.setattr(routes, "answer", endless)
    connections = [
        http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE) for _ in range(program_queue.of_client)
    ]
    for count, connection in enumerate(connections, 1):
        connection.request("POST", "/evaluate", "{}", {"Content-Type": "application/json"})
        waits_until(lambda count=count: sum(program_queue.counts()) == count)
    status, answer = post(port, "evaluate", {})
    assert status == 429 and "your address has 4 jobs here" in answer["error"]
    for connection in connections:
        connection.close()
    waits_until(lambda: sum(program_queue.counts()) == 0)


def test_work_that_takes_too_long_is_ended(port, monkeypatch):
    monkeypatch.setattr(routes, "answer", endless)
    monkeypatch.setattr(routes, "MOST_SECONDS", 0.1)
    status, answer = post(port, "evaluate", {})
    assert status == 503 and "not done after" in answer["error"]
    waits_until(lambda: sum(program_queue.counts()) == 0)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_command_can_be_cancelled(name):
    """Searches by their progress, the others before their next computation."""
    from app.dashboard.jobs.job_queue import Job
    from designer.core.progress import Cancelled

    job = Job(name, lambda job: None)
    job.cancel()
    waits_until(lambda: not any(counts().values()))  # jobs of other tests work, too
    before = work_done()
    with pytest.raises(Cancelled):
        routes.answer(name, ASKED[name], job)
    assert name == "design" or work_done() == before  # the threads of a search have begun
