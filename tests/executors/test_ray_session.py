"""Who may talk to a Ray that we start or join: tokens, warnings, and no secrets told."""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from distsvm.errors import PlacementError
from distsvm.executors import ray_session
from distsvm.executors.ray import RayTransport
from distsvm.executors.ray_session import RaySession, import_ray
from distsvm.executors.recovery import Kind
from distsvm.executors.transport import Gone

TOKEN = "0123456789abcdef" * 4


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home without any token."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ray_session, "LONGEST_HOME", 1000)
    return tmp_path


@pytest.fixture
def fake_ray(monkeypatch):
    """A Ray that only remembers how it was started."""
    ray = SimpleNamespace(
        started=[], is_initialized=lambda: False, exceptions=SimpleNamespace(),
        nodes=lambda: [], shutdown=lambda: None,
    )  # fmt: skip
    ray.init = lambda **options: ray.started.append(options)
    monkeypatch.setattr(ray_session, "import_ray", lambda own: ray)
    return ray


def test_a_ray_of_our_own_gets_a_token_that_only_we_can_read(home, fake_ray, caplog):
    with caplog.at_level(logging.DEBUG):
        RaySession(None, 1.0).connect()
    path = home / ".ray" / "auth_token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text()) == 64
    assert path.read_text() not in caplog.text
    assert fake_ray.started[0]["address"] == "local"


@pytest.mark.parametrize("length", [20, 1000])
def test_a_ray_of_our_own_has_a_folder_that_nobody_else_can_enter(
    home, fake_ray, monkeypatch, length
):
    monkeypatch.setattr(ray_session, "LONGEST_HOME", length)
    session = RaySession(None, 1.0)
    session.connect()
    folder = Path(fake_ray.started[0]["_temp_dir"])
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    # Ray's sockets are up to 62 bytes below it.
    assert (len(str(folder)) < 45) == (length == 20)
    session.close()
    assert not folder.parent.exists()


def test_ray_tmpdir_is_left_to_ray(home, fake_ray, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    RaySession(None, 1.0).connect()
    assert "_temp_dir" not in fake_ray.started[0]


@pytest.mark.parametrize("where", ["file", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"])
def test_a_token_that_is_there_is_left_alone(where, home, fake_ray, monkeypatch):
    path = home / ".ray" / "auth_token"
    if where == "file":
        path.parent.mkdir()
        path.write_text(TOKEN)
    else:
        monkeypatch.setenv(where, TOKEN)
    RaySession(None, 1.0).connect()
    assert (path.read_text() == TOKEN) if where == "file" else not path.exists()


@pytest.mark.parametrize(
    ("own", "token", "expected"),
    [(True, False, "token"), (True, True, "token"), (False, True, None), (False, False, None)],
)
def test_tokens_are_on_for_what_we_start_and_a_cluster_decides_for_itself(
    own, token, expected, home, monkeypatch
):
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    real = dict(sys.modules)
    del real["ray"]
    monkeypatch.setattr(ray_session, "sys", SimpleNamespace(modules=real))
    if token:
        monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    import_ray(own=own)
    assert os.environ.get("RAY_AUTH_MODE") == expected


def test_a_cluster_without_tokens_is_warned_of_once(fake_ray, caplog):
    session = RaySession("head:6379", 1.0)
    session.note_token_auth(True)
    assert not caplog.text
    for _ in range(2):
        session.note_token_auth(False)
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "without token authentication" in record.getMessage()
    assert "RAY_AUTH_MODE=token" in record.getMessage()


def test_a_cluster_that_refuses_us_is_told_without_the_token(home, fake_ray, monkeypatch):
    def refuse(**_):
        raise ConnectionError(f"bad token {TOKEN}")

    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    monkeypatch.setattr(ray_session, "check_reachable", lambda *_: None)
    fake_ray.init = refuse
    with pytest.raises(PlacementError, match="RAY_AUTH_MODE=token") as caught:
        RaySession("head:6379", 1.0).connect()
    assert TOKEN not in str(caught.value)


def test_what_ray_says_of_memory_moves_the_shards(monkeypatch):
    ray = pytest.importorskip("ray")

    def killed(_):
        raise ray.exceptions.OutOfMemoryError("Memory on the node was 7.6GB / 8.0GB\nmore")

    monkeypatch.setattr(ray, "get", killed)
    transport = RayTransport(RaySession("head:6379", 1.0))
    expected = Gone("OutOfMemoryError: Memory on the node was 7.6GB / 8.0GB", Kind.OUT_OF_MEMORY)
    assert transport._read(None) == expected
