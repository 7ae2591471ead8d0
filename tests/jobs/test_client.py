"""The jobs of a cluster: found by id or name, and every failure said with the address."""

import logging
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from fake_jobs import FakeClient

from distsvm.errors import ConfigError, JobError
from distsvm.jobs import client
from distsvm.jobs.client import Job, Jobs, connected, job_address, shown_address

URL = "http://user:word@head:8265"


@pytest.fixture
def jobs(tmp_path):
    fake = FakeClient(tmp_path, run=False)
    (tmp_path / "empty").mkdir()
    found = Jobs(URL, fake)
    for id, name in (("a-1", "a"), ("a-2", "a"), ("b-1", "b")):
        found.submit("true", tmp_path / "empty", id=id, name=name, run_dir=f"/runs/{name}")
    return found


def test_a_job_is_found_by_id_and_a_run_by_its_newest_job(jobs):
    assert jobs.find("a-1").id == "a-1"
    assert jobs.find("a").id == "a-2"
    assert jobs.find("/runs/b").id == "b-1"
    assert [job.id for job in jobs.all()] == ["b-1", "a-2", "a-1"]
    with pytest.raises(JobError, match=r"http://head:8265 has no job or run 'c'; it has b, a$"):
        jobs.find("c")


def test_a_failure_of_the_server_names_its_address_and_no_password(jobs):
    with pytest.raises(JobError, match=r"http://head:8265: RuntimeError: .* Job zzz does not"):
        jobs.get("zzz")
    assert "word" not in jobs.address


def test_an_end_before_the_wished_gap_is_no_failure(jobs):
    details = jobs._client.get_job_info("a-1")
    details.status, details.driver_exit_code = "FAILED", 7
    assert Job.of(details).state == "stopped"
    details.driver_exit_code = 3
    assert Job.of(details).state == "failed"


def test_what_a_job_writes_is_followed_to_its_end(jobs):
    jobs._client.text["a-1"] = "one\ntwo\n"
    assert list(jobs.follow("a-1")) == ["one\n", "two\n"]
    parts = jobs.follow("a-1")
    assert next(parts) == "one\n"
    parts.close()


def test_the_address_is_that_of_a_dashboard(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_API_SERVER_ADDRESS", raising=False)
    with pytest.raises(ConfigError, match="--address is missing"):
        job_address(None)
    for wrong in ("head:6379", "ray://head:10001", "http://"):
        with pytest.raises(ConfigError, match="expected that of the dashboard"):
            job_address(wrong)
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "http://other:8265")
    assert job_address(None) == "http://other:8265"
    assert job_address("https://head") == "https://head"
    assert shown_address("https://u:p@h:1/x") == "https://h:1/x"


def test_without_the_dashboards_part_of_ray_it_is_said_what_to_install(dashboard, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.job_submission", None)
    with pytest.raises(ConfigError, match=r'pip install "distsvm\[jobs\]"'):
        connected(dashboard.url)


class Refusing:
    """In the place of Ray's client: says what a server without a token is told."""

    def __init__(self, address):
        raise RuntimeError("Request failed with status code 401: Unauthorized")


class Dashboard(BaseHTTPRequestHandler):
    """Says whether the cluster wants a token, and notes what it was sent."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        status, text = self.server.answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def dashboard(monkeypatch, tmp_path):
    """A server on this machine, and a module of Ray's whose client is ours."""
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(client.Path, "home", lambda: tmp_path)
    module = type(sys)("ray.job_submission")
    module.JobSubmissionClient = lambda address: address
    monkeypatch.setitem(sys.modules, "ray", type(sys)("ray"))
    monkeypatch.setitem(sys.modules, "ray.job_submission", module)
    with HTTPServer(("127.0.0.1", 0), Dashboard) as server:
        server.asked, server.module = [], module
        server.answer = 200, '{"authentication_mode": "token"}'
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def with_token(home):
    """The token that distsvm itself has made when it once started a Ray."""
    (home / ".ray").mkdir()
    (home / ".ray" / "auth_token").write_text("s3cret")


def test_a_missing_token_is_said_and_how_to_give_it(dashboard):
    dashboard.module.JobSubmissionClient = Refusing
    with pytest.raises(JobError, match=r"wants a token: set RAY_AUTH_MODE=token"):
        connected(dashboard.url)


def test_a_cluster_that_wants_a_token_gets_it(dashboard, caplog, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_ADDRESS", "http://elsewhere")
    with_token(tmp_path)
    with caplog.at_level(logging.WARNING, "distsvm"):
        assert connected(dashboard.url) == dashboard.url
    assert caplog.text == ""
    assert client.os.environ["RAY_AUTH_MODE"] == "token"
    assert client.os.environ["RAY_ADDRESS"] == "http://elsewhere"


@pytest.mark.parametrize(
    "answer", [(200, '{"authentication_mode": "disabled"}'), (404, "no such page")],
    ids=["disabled", "a Ray without tokens"],
)  # fmt: skip
@pytest.mark.parametrize("mode", [None, "token"])
def test_a_cluster_without_tokens_is_warned_of_and_gets_none(
    dashboard, answer, mode, caplog, monkeypatch, tmp_path
):
    dashboard.answer = answer
    with_token(tmp_path)
    if mode is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with caplog.at_level(logging.WARNING, "distsvm"):
        assert connected(dashboard.url) == dashboard.url
    assert "everyone who reaches this cluster can run code on it" in caplog.text
    assert client.os.environ["RAY_AUTH_MODE"] == "disabled"
    assert dashboard.asked == [("/api/authentication_mode", None)]


@pytest.mark.parametrize("answer", [(200, "<html>"), (200, "[]"), (502, "")])
def test_a_server_that_does_not_say_it_is_left_to_ray(dashboard, answer, caplog):
    dashboard.answer = answer
    with caplog.at_level(logging.WARNING, "distsvm"):
        assert connected(dashboard.url) == dashboard.url
    assert caplog.text == ""
    assert "RAY_AUTH_MODE" not in client.os.environ


@pytest.mark.usefixtures("dashboard")
def test_a_host_that_does_not_answer_is_said_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    with pytest.raises(JobError, match=r"cannot be reached: .*refused.*ssh -L 8265"):
        connected(f"http://127.0.0.1:{closed}")
