"""What all executors promise, asked of each of them."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hosted import Hosted, Locked, build_or_die, die_once, refuse, refuse_to_build, times

from distsvm.errors import ConfigError, DataError, TaskError, WorkerLost
from distsvm.executors import make_executor
from distsvm.executors.base import Executor
from distsvm.executors.serial import SerialExecutor

W = np.linspace(0.1, 2.0, 101)
LARGE = np.linspace(0.1, 2.0, 20_000)
RAY = pytest.param("ray", marks=pytest.mark.ray)
Make = Callable[..., Executor]


@pytest.fixture(scope="module")
def make(request) -> Iterator[Make]:
    """Executors by kind and number of workers, each started once for the whole module."""
    made: dict[tuple[str, int], Executor] = {}

    def get(kind: str, n_workers: int = 2) -> Executor:
        if (kind, n_workers) not in made:
            options = {}
            if kind == "ray":
                request.getfixturevalue("ray_session")
                options = {"resources_per_worker": {"CPU": 0.25}}
            made[kind, n_workers] = make_executor(
                kind, None if kind == "serial" else n_workers, compiled=True, **options
            )
        return made[kind, n_workers]

    yield get
    for executor in made.values():
        executor.close()


everywhere = pytest.mark.parametrize("kind", ["serial", "threads", "processes", RAY])
in_processes = pytest.mark.parametrize("kind", ["processes", RAY])


def builders(n_shards: int, folder: Path | None = None) -> list[Callable[[], Hosted]]:
    return [partial(Hosted, shard, folder) for shard in range(n_shards)]


def bits(arrays: list[np.ndarray]) -> list[bytes]:
    return [array.tobytes() for array in arrays]


def counts(folder: Path, event: str) -> list[int]:
    """How often each shard has noted the event."""
    found = Counter(int(path.name.split("-")[1]) for path in folder.glob(f"{event}-*"))
    return [found[shard] for shard in range(max(found, default=-1) + 1)]


@everywhere
@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_every_executor_gives_the_bits_of_the_serial_one(make, kind, n_workers):
    executor, reference = make(kind, n_workers), SerialExecutor()
    for n_shards in range(1, 8):
        for each in (executor, reference):
            each.start(builders(n_shards), costs=[1.0 + shard for shard in range(n_shards)])
        cut = n_shards // 2
        groups = [group for group in (range(cut), range(cut, n_shards)) if group]
        for w in (W, LARGE):
            assert bits(executor.run("vector", w)) == bits(reference.run("vector", w))
            for some in ([range(n_shards)], groups):
                mine = executor.reduce("vector", w, groups=some)
                assert bits(mine) == bits(reference.reduce("vector", w, groups=some))


@everywhere
def test_results_follow_the_shards_that_were_asked(make, kind):
    executor = make(kind)
    executor.start(builders(5))
    assert executor.run("number") == [0, 1, 2, 3, 4]
    assert executor.run("number", shards=[4, 0, 3]) == [4, 0, 3]
    assert executor.run("number", shards=[]) == []
    assert executor.run("combine", "a", shards=[3, 1], each=[(30, 31), (10,)]) == [
        (3, "a", 30, 31),
        (1, "a", 10),
    ]
    assert executor.prepare("set_scale", each=[(float(i),) for i in range(5)]) == [0, 2, 6, 12, 20]
    assert executor.run("counted") == [0, 2, 6, 12, 20]
    assert executor.reduce("number", groups=[range(3, 5), range(0, 2)]) == [7, 1]
    own = executor.reduce(
        "combine", "a", groups=[range(3, 5), range(0, 2)], each=[(30,), (40,), (0,), (10,)]
    )
    assert own == [(3, "a", 30, 4, "a", 40), (0, "a", 0, 1, "a", 10)]


@everywhere
def test_map_gives_results_in_order_before_and_after_start(make, kind):
    executor = make(kind)
    assert list(executor.map(times, iter(range(11)), 3)) == [3 * i for i in range(11)]
    executor.start(builders(2))
    assert list(executor.map(times, [], 3)) == []
    mapped = executor.map(times, range(20), 1)
    assert [next(mapped), next(mapped)] == [0, 1]
    mapped.close()
    assert executor.run("number") == [0, 1]
    with pytest.raises(ValueError, match="not 3"):
        list(executor.map(refuse, range(8)))
    assert executor.run("number") == [0, 1]


@everywhere
def test_the_lowest_shards_error_is_raised_with_its_number_and_type(make, kind, tmp_path):
    executor = make(kind)
    executor.start(builders(6, tmp_path))
    with pytest.raises(DataError, match=r"^shard 4: bad line$"):
        executor.run("fail", "data", (4,))
    assert counts(tmp_path, "failed") == [0, 0, 0, 0, 1]
    with pytest.raises(TaskError, match=r"^shard 1: ValueError: bad value$") as caught:
        executor.run("fail", "value", (5, 1, 4))
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(DataError, match=r"^shard 2: bad line$"):
        executor.reduce("fail", "data", (2, 3), groups=[range(6)])
    assert executor.run("number") == [0, 1, 2, 3, 4, 5]


@everywhere
def test_an_error_while_building_is_raised_with_its_shard(make, kind):
    executor = make(kind)
    with pytest.raises(DataError, match=r"^shard 2: no such file$"):
        executor.start([*builders(2), refuse_to_build])


@everywhere
@pytest.mark.parametrize(
    ("error", "text"), [("stubborn", "Stubborn: no way at all"), ("locked", "Locked: no way")]
)
def test_errors_that_cannot_be_pickled_are_told_by_type_and_text(make, kind, error, text):
    executor = make(kind)
    executor.start(builders(3))
    with pytest.raises(TaskError, match=f"^shard 2: {text}$"):
        executor.run("fail", error, (2,))


@in_processes
def test_leaving_the_worker_by_exit_is_an_error_of_the_task(make, kind):
    executor = make(kind)
    executor.start(builders(3))
    with pytest.raises(TaskError, match=r"^shard 2: SystemExit: 3$"):
        executor.run("fail", "exit", (2,))


@in_processes
def test_results_that_cannot_be_pickled_are_refused(make, kind):
    executor = make(kind)
    executor.start(builders(2))
    with pytest.raises(TaskError, match="generator"):
        executor.run("result_without_pickle")
    with pytest.raises(ConfigError, match="cannot be sent"):
        executor.run("combine", (i for i in range(2)))
    with pytest.raises(ConfigError, match="cannot be sent"):
        executor.start([partial(Hosted, Locked())])
    executor.start(builders(2))
    assert executor.run("number") == [0, 1]


@in_processes
def test_arrays_arrive_read_only_and_unchanged(make, kind):
    executor = make(kind)
    executor.start(builders(2))
    strided, transposed = np.arange(100_000.0)[::2], np.arange(60_000.0).reshape(3, -1).T
    own = [(W, LARGE)] * 2
    args = (W, LARGE, strided, transposed)
    assert executor.run("writable", *args, each=own) == [[False] * 6] * 2
    for _, *same in executor.run("combine", *args):
        for mine, sent in zip(same, args, strict=True):
            np.testing.assert_array_equal(mine, sent)


@everywhere
def test_an_argument_that_an_object_keeps_stays_as_it_was(make, kind):
    executor = make(kind)
    executor.start(builders(2))
    for value in (1.0, 2.0, 3.0):
        executor.run("keep", np.full(20_000, value), shards=[int(value) % 2])
    assert executor.run("first_kept") == [2.0, 3.0]


@in_processes
def test_classes_without_a_module_travel_by_value(make, kind):
    class Local:
        def square(self, x: int) -> int:
            return x * x

    executor = make(kind)
    executor.start([lambda: Local()] * 2)
    assert executor.run("square", 3) == [9, 9]
    assert list(executor.map(lambda item: item + 1, [1, 2])) == [2, 3]


@in_processes
def test_a_killed_worker_is_built_again_and_only_its_shards_are_asked_again(make, kind, tmp_path):
    executor = make(kind)
    executor.start(builders(4, tmp_path))
    before = [each.n_restarts for each in executor.activity()]
    executor.prepare("set_scale", 2.0)
    assert executor.run("die", 2, tmp_path / "died") == [2.0, 4.0, 6.0, 8.0]
    assert counts(tmp_path, "built") == [1, 1, 2, 2]
    assert counts(tmp_path, "scaled") == [1, 1, 2, 2]
    assert counts(tmp_path, "asked") == [1, 1, 2, 1]
    assert [each.n_restarts for each in executor.activity()] == [before[0], before[1] + 1]
    assert list(executor.map(die_once, range(6), tmp_path / "mapped")) == [0, 1, 2, 3, 4, 5]


@in_processes
def test_a_worker_that_dies_again_and_again_is_given_up(request, kind):
    if kind == "ray":
        request.getfixturevalue("ray_session")
    lost = pytest.raises(WorkerLost, match=r"worker 0 \(shards 0\).*max_failures")
    with make_executor(kind, 1, compiled=False, max_failures=1) as executor, lost:
        executor.start([build_or_die])


@everywhere
def test_activity_tells_who_was_busy(make, kind):
    executor = make(kind)
    executor.start(builders(4))
    executor.run("vector", LARGE)
    activity = executor.activity()
    assert [each.worker for each in activity] == list(range(executor.n_workers))
    assert sum(each.busy_s for each in activity) > 0
    assert {shard for each in activity for shard in each.shards} == {0, 1, 2, 3}


@everywhere
def test_closing_twice_and_starting_again_do_no_harm(request, kind):
    if kind == "ray":
        request.getfixturevalue("ray_session")
    n_workers = 1 if kind in ("serial", "ray") else 2
    executor = make_executor(kind, n_workers, compiled=True)
    executor.start(builders(2))
    executor.close()
    executor.close()
    executor.start(builders(2))
    assert executor.run("number") == [0, 1]
    executor.close()


def test_no_process_and_no_shared_memory_is_left_after_close():
    before = set(multiprocessing.active_children())
    with make_executor("processes", 2, compiled=False) as executor:
        executor.start(builders(2))
        executor.run("vector", LARGE)
        executor.run("keep", LARGE)
        executor.run("vector", np.tile(LARGE, 3))
        names = list(executor._transport._blocks.linked)
        assert len(names) == 1
        assert len(set(multiprocessing.active_children()) - before) == 2
    gc.collect()
    assert set(multiprocessing.active_children()) <= before
    assert not [name for name in names if os.path.exists(f"/dev/shm/{name}")]


@pytest.mark.parametrize(
    ("name", "n_workers", "compiled", "kind"),
    [
        ("auto", 1, True, "serial"),
        ("auto", 2, True, "threads"),
        ("auto", 2, False, "processes"),
        ("threads", None, False, "threads"),
        ("serial", 1, True, "serial"),
    ],
)
def test_make_executor_chooses(name, n_workers, compiled, kind):
    with make_executor(name, n_workers, compiled=compiled, max_failures=2) as executor:
        assert executor.name == kind
        assert executor.n_workers >= 1


@pytest.mark.parametrize(
    ("name", "n_workers", "options", "message"),
    [
        ("dask", 2, {}, "auto, serial, threads, processes, ray"),
        ("threads", 0, {}, "n_workers=0: expected a whole number ≥ 1"),
        ("threads", 1.5, {}, "n_workers=1.5: expected a whole number ≥ 1"),
        ("serial", 2, {}, "one worker"),
        ("processes", 2, {"speed": 9}, "speed"),
    ],
)
def test_make_executor_refuses_what_it_cannot_make(name, n_workers, options, message):
    with pytest.raises(ConfigError, match=message):
        make_executor(name, n_workers, compiled=True, **options)


@pytest.mark.parametrize(
    ("n_workers", "given", "expected"),
    [
        (None, {"threaded": True}, (1, 6)),
        (2, {"threaded": True}, (2, 3)),
        (4, {"threaded": True}, (4, 1)),
        (9, {"threaded": True}, (9, 1)),
        (None, {}, (6, 1)),
        (None, {"threads_per_worker": 2}, (3, 2)),
        (1, {"threads_per_worker": 3}, (1, 3)),
    ],
)
def test_processes_share_the_cores(monkeypatch, n_workers, given, expected):
    monkeypatch.setattr("distsvm.executors.processes.usable_cores", lambda: 6)
    with make_executor("processes", n_workers, compiled=True, **given) as executor:
        assert (executor.n_workers, executor._transport._n_threads) == expected
