"""The jobs of a cluster: found by id or name, and every failure said with the address."""

import logging
import socket
import sys

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


def test_without_the_dashboards_part_of_ray_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.job_submission", None)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    with pytest.raises(ConfigError, match=r'pip install "distsvm\[jobs\]"'):
        connected("http://localhost:1")


class Refusing:
    """In the place of Ray's client: says what a server without a token is told."""

    def __init__(self, address):
        raise RuntimeError("Request failed with status code 401: Unauthorized")


@pytest.fixture
def listening(monkeypatch):
    """A port of this machine where somebody listens, and a module of Ray's whose client is ours."""
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.setattr(client.Path, "home", lambda: client.Path("/nowhere"))
    module = type(sys)("ray.job_submission")
    module.JobSubmissionClient = lambda address: address
    monkeypatch.setitem(sys.modules, "ray", type(sys)("ray"))
    monkeypatch.setitem(sys.modules, "ray.job_submission", module)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}", module


def test_a_missing_token_is_said_and_how_to_give_it(listening):
    address, module = listening
    module.JobSubmissionClient = Refusing
    with pytest.raises(JobError, match=r"wants a token: set RAY_AUTH_MODE=token"):
        connected(address)


def test_a_cluster_without_tokens_is_warned_of(listening, caplog, monkeypatch):
    address, _ = listening
    monkeypatch.setenv("RAY_ADDRESS", "http://elsewhere")
    with caplog.at_level(logging.WARNING, "distsvm"):
        assert connected(address) == address
    assert "everyone who reaches this cluster can run code on it" in caplog.text
    caplog.clear()
    monkeypatch.setenv("RAY_AUTH_TOKEN", "s3cret")
    connected(address)
    assert caplog.text == ""
    assert client.os.environ["RAY_AUTH_MODE"] == "token"
    assert client.os.environ["RAY_ADDRESS"] == "http://elsewhere"


@pytest.mark.usefixtures("listening")
def test_a_host_that_does_not_answer_is_said_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    with pytest.raises(JobError, match=r"cannot be reached: .*refused.*ssh -L 8265"):
        connected(f"http://127.0.0.1:{closed}")
