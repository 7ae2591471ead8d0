"""Fixtures for runs in stores; they are used by name, for the store needs fsspec."""

import pytest
from run_examples import SHORT, go


@pytest.fixture
def empty_store(monkeypatch):
    """The store that fails on demand: empty, without faults, and without waits."""
    from failing_store import FailingStore

    from distsvm import stores

    monkeypatch.setattr(stores, "WAITS_S", (0.0, 0.0, 0.0))
    FailingStore.begin()
    yield
    FailingStore.begin()


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A run on a disk that nothing happened to."""
    return go(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="session")
def short(tmp_path_factory):
    """As `whole`, of four rounds."""
    return go(tmp_path_factory.mktemp("short") / "run", **SHORT)


@pytest.fixture(params=["memory", "local", "file"])
def home(request, tmp_path):
    """A folder by URI."""
    if request.param != "memory":
        yield f"{request.param}://{tmp_path}/new/runs"
        return
    from failing_store import fsspec

    yield "memory://tests/runs"
    if fsspec.filesystem("memory").exists("/tests/runs"):
        fsspec.filesystem("memory").rm("/tests/runs", recursive=True)
