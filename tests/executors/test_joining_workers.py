"""Workers that join take over shards; fewer than were asked for may be enough."""

from __future__ import annotations

import pytest
from hosted import Hosted
from scripted import Builder, ScriptedTransport, hosted, reference, started

from distsvm.errors import PlacementError
from distsvm.executors import growth
from distsvm.executors.recovery import Kind, Limits
from distsvm.executors.remote import RemoteExecutor


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(growth, "LOOK_EVERY_S", 0.0)


class Learning(Hosted):
    def learn(self, amount: int) -> int:
        self.learned = getattr(self, "learned", 0) + amount
        return self.learned

    def carry(self) -> int:
        return getattr(self, "learned", 0)

    def take_up(self, learned: int) -> None:
        self.learned = learned


def test_workers_that_join_take_over_shards_with_what_was_learned(at_once):
    transport = ScriptedTransport()
    executor = RemoteExecutor(transport, 1, Limits(), follows_room=True)
    executor.start([lambda shard=shard: Learning(shard) for shard in range(6)])
    executor.prepare("set_scale", 2.0)
    executor.run("learn", 5)
    transport.n_free = 2
    for _ in range(3):
        executor.adapt()
        transport.n_free = 0
    assert [len(shards) for shards in hosted(executor)] == [2, 2, 2]
    assert executor.run("learn", 1) == [6] * 6
    assert executor.run("counted") == reference(6, 2.0).run("counted")
    assert [len(host._objects) for host in transport.hosts.values()] == [2, 2, 2]
    assert any("joined and took over 4 shards; there are 3 now" in n for n in executor.notes())


def test_no_more_workers_join_than_were_asked_for(at_once):
    executor, transport = started((1, 2), kind=Kind.SILENT)
    transport.n_free = 9
    executor.run("number")
    for _ in range(4):
        executor.adapt()
    assert [len(shards) for shards in hosted(executor)] == [2, 0, 2]
    assert executor.run("number") == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [Kind.OUT_OF_MEMORY, Kind.SLOW])
def test_nobody_joins_in_place_of_a_worker_that_was_slow_or_starved(kind, at_once):
    executor, transport = started((1, 2), kind=kind)
    transport.n_free = 9
    executor.run("number")
    for _ in range(4):
        executor.adapt()
    assert not transport.invited
    assert len(hosted(executor)) == 2


def test_a_giver_that_dies_while_it_gives_loses_only_what_was_learned(at_once):
    transport = ScriptedTransport({(0, 3)})
    executor = RemoteExecutor(transport, 1, Limits(), follows_room=True)
    executor.start([lambda shard=shard: Learning(shard) for shard in range(4)])
    executor.run("learn", 5)
    transport.n_free = 1
    executor.adapt()
    executor.adapt()
    assert executor.run("number") == [0, 1, 2, 3]
    assert executor.run("learn", 1) == [1] * 4


@pytest.mark.parametrize("kind", [Kind.DIED, Kind.SILENT, Kind.OUT_OF_MEMORY])
@pytest.mark.parametrize(
    "deaths",
    [{(0, 4)}, {(1, 1)}, {(1, 2)}, {(0, 3), (1, 1)}, {(0, 4), (1, 2)}],
    ids=["giver lets go", "taker is built", "taker takes up", "both", "both, later"],
)
def test_workers_lost_anywhere_in_a_hand_over_leave_every_shard_hosted_once(deaths, kind, at_once):
    transport = ScriptedTransport(deaths)
    transport.kind = kind
    executor = RemoteExecutor(transport, 1, Limits(), follows_room=True)
    executor.start([lambda shard=shard: Learning(shard) for shard in range(4)])
    executor.run("learn", 5)
    transport.n_free = 1
    for _ in range(3):
        executor.adapt()
        transport.n_free = 0
    assert executor.run("number") == [0, 1, 2, 3]
    assert sorted(shard for shards in hosted(executor) for shard in shards) == [0, 1, 2, 3]
    assert all(learned in (1, 6) for learned in executor.run("learn", 1))
    assert all(transport.n_requests[worker] >= n for worker, n in deaths)  # they happened


def test_fewer_workers_than_asked_for_are_enough_if_that_is_allowed(caplog):
    transport = ScriptedTransport()
    transport.unplaced = {1, 2}
    executor = RemoteExecutor(transport, 4, Limits(), enough=2)
    executor.start([Builder(shard) for shard in range(4)])
    assert hosted(executor) == [(0, 1), (), (), (2, 3)]
    assert executor.run("number") == [0, 1, 2, 3]
    assert "the run goes on with 2 of the 4 workers asked for: no room" in executor.notes()[0]


@pytest.mark.parametrize("enough", [None, 3])
def test_too_few_workers_are_refused_and_ended(enough):
    transport = ScriptedTransport()
    transport.unplaced = {1, 2}
    executor = RemoteExecutor(transport, 4, Limits(), enough=enough)
    with pytest.raises(PlacementError, match="no room"):
        executor.start([Builder(shard) for shard in range(4)])
    assert transport.ended == [0, 3]
