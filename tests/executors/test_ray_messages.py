"""Requests and answers that Ray loses on the way, by its own injection of failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from distsvm.executors.host import Reply
from distsvm.executors.ray import RESENDS, HostActor, RayTransport, Unreached
from distsvm.executors.transport import Request

SCRIPT = """
import sys
from functools import partial
from pathlib import Path

import numpy as np
import ray
from hosted import Hosted

from distsvm.executors.ray import RayExecutor

ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
with RayExecutor(1, max_failures=0) as executor:
    executor.start([partial(Hosted, 0, Path(sys.argv[1]))])
    assert executor.run("set_scale", 3.0) == [3.0]
    w = np.linspace(0.0, 1.0, 20_000)
    assert executor.run("vector", w)[0].tobytes() == (3.0 * np.sin(w)).tobytes()
    assert executor.activity()[0].n_restarts == 0
ray.shutdown()
"""


@pytest.mark.ray
@pytest.mark.drill
@pytest.mark.parametrize("lost", ["req", "resp", "in_flight"])
def test_a_lost_message_loses_no_worker_and_nothing_is_done_twice(lost, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    script, notes = tmp_path / "script.py", tmp_path / "notes"
    script.write_text(SCRIPT)
    notes.mkdir()
    # The greeting of the new actor is lost too.
    injected = {"num_failures": 1 + RESENDS, f"{lost}_failure_prob": 100}
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "RAY_testing_rpc_failure": json.dumps({"CoreWorkerService.grpc_client.PushTask": injected}),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(script), str(notes)],
        capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    events = sorted(path.name.partition("-")[0] for path in notes.iterdir())
    assert events == ["built", "scaled"]


def transport_of(answers):
    """A transport whose only actor's answers are these, in turn, and what it is asked."""
    transport, asked = RayTransport.__new__(RayTransport), []
    transport._ray = SimpleNamespace(wait=lambda refs, **_: (refs, []))
    transport._pending, transport._pulses = {}, {}
    transport._requests, transport._resends = {}, {}
    answer = SimpleNamespace(remote=lambda *words: asked.append(words) or len(asked))
    transport._actors = {0: SimpleNamespace(answer=answer)}
    transport._read = lambda number: answers[number - 1]
    return transport, asked


def test_a_request_is_sent_again_a_few_times_and_then_the_worker_counts_as_lost():
    unreached = Unreached("unavailable")
    transport, asked = transport_of([unreached] * (RESENDS + 1))
    transport.send(0, Request("call", (), ("number",), (0, 7)))
    for _ in range(RESENDS):
        assert transport.receive([0]) == []
    assert transport.receive([0]) == [(0, unreached)]
    assert asked == [("call", ("number",), (0, 7))] * (RESENDS + 1)


def test_every_request_may_be_sent_again():
    reply = Reply(1)
    transport, asked = transport_of([Unreached("unavailable"), reply] * 9)
    for _ in range(9):
        transport.send(0, Request("call", (), ("number",)))
        assert transport.receive([0]) == []
        assert transport.receive([0]) == [(0, reply)]
    assert len(asked) == 18


class Counting:
    def __init__(self) -> None:
        self.n_calls = 0

    def count(self) -> int:
        self.n_calls += 1
        return self.n_calls


def test_an_actor_carries_a_ticket_out_once():
    actor = HostActor()
    actor.answer("build", ((0,),), (0, 1), Counting)
    asked = [actor.answer("call", ("count", (0,)), (0, n)).value for n in (2, 2, 3, 3, 4)]
    assert asked == [[1], [1], [2], [2], [3]]


def test_word_that_a_worker_cannot_be_asked_is_no_sign_of_life():
    class Unavailable(Exception):
        pass

    def get(pulse):
        if pulse == "lost":
            raise Unavailable

    transport = RayTransport.__new__(RayTransport)
    errors = SimpleNamespace(RayError=Unavailable)
    transport._ray = SimpleNamespace(wait=lambda refs, **_: (refs, []), get=get, exceptions=errors)
    transport._pulses = {0: "lost", 1: "beat"}
    pulse = SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: "next"))
    transport._actors = {0: SimpleNamespace(pulse=pulse), 1: SimpleNamespace(pulse=pulse)}
    assert transport.alive([0, 1]) == [1]
    assert transport._pulses == {0: "next", 1: "next"}
