"""A run in a store has one writer."""

import threading
import time

import pytest
from failing_store import RUN, altered, fail
from run_examples import SHORT, go, history

from distsvm import Callback
from distsvm.errors import CheckpointError
from distsvm.storage import place, read_json
from distsvm.training import session as sessions
from distsvm.training.checkpoint import checkpoint_folders
from distsvm.training.run_state import LOCK, STATE, ask_to_stop, read_state

pytestmark = pytest.mark.usefixtures("empty_store")


def test_a_running_run_in_a_store_cannot_be_resumed(short):
    class ResumesAgain(Callback):
        def on_round(self, record):
            with pytest.raises(CheckpointError, match=rf"{RUN} is in use by a run"):
                go(RUN, resume=True, **SHORT)
            assert read_state(place(RUN)).state == "running"

    assert history(go(RUN, callbacks=[ResumesAgain()], **SHORT)) == history(short)


def test_a_process_of_another_host_is_given_up_when_its_time_has_not_been_renewed():
    first = sessions.Session(place(RUN))
    first.take()
    for name in (LOCK, STATE):
        altered(place(RUN) / name, host="elsewhere")
    with pytest.raises(CheckpointError, match=r"on elsewhere, last sign of life \d+ s ago"):
        sessions.Session(place(RUN)).take()
    altered(place(RUN) / STATE, seen=time.time() - 61)
    other = sessions.Session(place(RUN))
    other.take()
    first.end()  # it finds the other's lock, and leaves all as it is
    for name in (LOCK, STATE):
        assert read_json(place(RUN) / name, CheckpointError)["token"] == other._me.token
    other.end()
    assert not (place(RUN) / LOCK).exists()


def test_a_holder_that_counted_as_gone_writes_nothing_more_to_the_store(monkeypatch):
    monkeypatch.setattr(sessions, "BEAT_S", 0.001)

    class TakenOver(Callback):
        def on_round(self, record):
            altered(place(RUN) / LOCK, token="another", host="elsewhere")
            for thread in threading.enumerate():
                if thread.name == "distsvm-session":
                    thread.join(60)  # it ends when it finds the other's lock

    with pytest.raises(CheckpointError, match=rf"{RUN} was taken over by another process"):
        go(RUN, callbacks=[TakenOver()], n_shards=2, checkpoint_rounds=100)
    assert checkpoint_folders(place(RUN)) == []
    assert read_json(place(RUN) / LOCK, CheckpointError)["host"] == "elsewhere"


def test_a_request_to_stop_in_a_store_ends_the_run_after_its_round(monkeypatch):
    monkeypatch.setattr(sessions, "BEAT_S", 0.001)

    class Asks(Callback):
        def on_round(self, record):
            ask_to_stop(place(RUN))

    result = go(RUN, callbacks=[Asks()], eps=0.0, C=1e6, stabilise=1.0)
    assert result.stop_reason == "interrupted"
    assert not (place(RUN) / "stop").exists()


def test_an_answer_of_another_kind_than_exists_does_not_take_anothers_lock():
    """Some stores refuse an exclusive write in words of their own, when there is a file."""
    lock = place(RUN) / LOCK
    fail(1, ValueError, counts=lambda operation, path: operation == "write")
    assert lock.create(b"mine")
    assert not lock.create(b"another's")
    assert lock.open().read() == b"mine"
