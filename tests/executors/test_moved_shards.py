"""Shards of a worker that is not built again move to the others, with the same bits."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hosted import times
from scripted import ScriptedTransport, W, calls, hosted, reference, started

from distsvm.errors import PlacementError
from distsvm.executors.recovery import Kind, Limits
from distsvm.executors.remote import RemoteExecutor


@pytest.mark.parametrize("kind", [Kind.OUT_OF_MEMORY, Kind.SILENT, Kind.SLOW])
@pytest.mark.parametrize("n_before", [0, 2])
def test_shards_that_move_are_built_prepared_and_asked_elsewhere(kind, n_before, caplog):
    executor, transport = started((1, n_before + 2), n_shards=7, n_workers=3, kind=kind)
    for scale in range(n_before):
        executor.prepare("set_scale", 2.0 + scale)
    right = reference(7, *(2.0 + scale for scale in range(n_before)))
    groups = [range(5), range(5, 7)]
    with caplog.at_level(logging.WARNING):
        found = executor.reduce("vector", W, groups=groups)
    assert [v.tobytes() for v in found] == [
        v.tobytes() for v in right.reduce("vector", W, groups=groups)
    ]
    assert transport.ended == [1]
    assert hosted(executor)[1] == ()
    assert sorted(s for shards in hosted(executor) for s in shards) == list(range(7))
    assert executor.run("counted") == right.run("counted")
    assert executor.run("number", shards=[6, 2, 0]) == [6, 2, 0]
    assert "others take over" in caplog.text
    assert executor.notes()
    assert not executor.notes()


def test_shards_that_move_in_the_middle_of_a_prepare_are_prepared_once():
    executor, transport = started((0, 2), kind=Kind.SILENT)
    assert executor.prepare("set_scale", 3.0) == [3.0, 6.0, 9.0, 12.0]
    assert calls(transport, 1) == ["build", "set_scale", "build", "set_scale"]
    assert executor.run("counted") == [3.0, 6.0, 9.0, 12.0]


def test_a_worker_lost_while_it_takes_over_builds_everything_it_has():
    # worker 1 has answered the prepare, and dies when it builds the shards of worker 0
    executor, transport = started((0, 2), kind=Kind.SILENT)
    transport.deaths = {(0, 2), (1, 3)}
    transport.kind = Kind.SILENT
    executor.prepare("set_scale", 3.0)
    assert executor.run("counted") == [3.0, 6.0, 9.0, 12.0]
    assert hosted(executor) == [(), (2, 3, 0, 1)]


def test_shards_of_workers_lost_at_the_start_move_too():
    executor, _ = started((0, 1), (2, 1), n_shards=6, n_workers=3, kind=Kind.SLOW)
    assert executor.run("number") == list(range(6))
    assert [len(shards) for shards in hosted(executor)] == [0, 6, 0]


def test_a_map_goes_on_with_the_workers_that_are_left():
    executor, _ = started((1, 3), kind=Kind.SILENT)
    assert list(executor.map(times, range(9), 2)) == [0, 2, 4, 6, 8, 10, 12, 14, 16]
    assert hosted(executor)[1] == ()


def test_a_place_that_is_not_found_again_moves_the_shards():
    executor, transport = started((1, 2))
    transport.unplaced = {1}
    assert executor.run("number") == [0, 1, 2, 3]
    assert hosted(executor) == [(0, 1, 2, 3), ()]
    assert any("no room" in note for note in executor.notes())


def test_a_worker_built_again_takes_over_from_one_that_finds_no_place():
    executor, transport = started((0, 2), (1, 2))
    transport.unplaced = {1}
    assert executor.run("number") == [0, 1, 2, 3]
    assert hosted(executor) == [(0, 1, 2, 3), ()]
    assert executor.prepare("set_scale", 3.0) == [3.0, 6.0, 9.0, 12.0]


def test_the_last_worker_without_a_place_ends_the_run_with_the_reason():
    executor, transport = started((0, 2), n_workers=1)
    transport.unplaced = {0}
    with pytest.raises(PlacementError, match="cannot be built again: no room"):
        executor.run("number")


def test_an_error_on_the_way_to_a_new_worker_is_raised():
    executor, transport = started((0, 2), kind=Kind.SILENT)
    transport.hosts[1].build = lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        executor.run("number")


class Starved:
    def __init__(self, shard: int, full: set[int]) -> None:
        self.shard, self.full = shard, full

    def number(self) -> int:
        if self.shard in self.full:
            self.full.discard(self.shard)
            raise np._core._exceptions._ArrayMemoryError((10,), np.dtype(float))
        return self.shard


def test_a_memory_error_is_a_worker_out_of_memory_and_reported_with_its_size():
    transport, full = ScriptedTransport(), {2}
    executor = RemoteExecutor(transport, 2, Limits())
    executor.start([lambda shard=shard: Starved(shard, full) for shard in range(4)])
    assert executor.run("number") == [0, 1, 2, 3]
    assert hosted(executor) == [(0, 1, 2, 3), ()]
    [note] = executor.notes()
    assert "worker 1 (shards 2–3) was lost: out of memory, with 2 shards and " in note
    assert "MB resident when it last answered: MemoryError: Unable to allocate" in note
