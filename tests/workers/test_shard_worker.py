"""A shard's sums are those of its examples, fresh, cached or in between."""

import numpy as np
import pytest
from toy_tasks import ToyChain, all_planes, toy_chains

from distsvm.data.dataset import PairData
from distsvm.errors import CheckpointError, DataError, StoreError
from distsvm.stores import StorePath
from distsvm.vectors import to_dense
from distsvm.workers.cut_part import CutPartMaker
from distsvm.workers.shard_worker import ShardWorker

TASK = ToyChain()
INPUTS, OUTPUTS = toy_chains(n=23, seed=5)
WEIGHT = np.random.default_rng(1).random(23) + 0.5
SIZE = 3


def worker(cache_size=SIZE, rescaling="margin"):
    spec = PairData(INPUTS, OUTPUTS, WEIGHT).specs(1)[0]
    made = ShardWorker(spec)
    made.bind(TASK, rescaling, CutPartMaker(cache_size), True, 0)
    return made


def point(seed):
    return np.random.default_rng(seed).standard_normal(TASK.dim)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_fresh_sums_equal_enumeration(rescaling):
    w = point(0)
    sums = worker(rescaling=rescaling).part.fresh(w)
    hinge = [
        max(q - p @ w for p, q in rows) for rows in all_planes(TASK, INPUTS, OUTPUTS, rescaling)
    ]
    assert np.isclose(sums.upper, WEIGHT @ hinge)
    assert np.isclose(sums.b - to_dense(sums.a) @ w, WEIGHT @ hinge)
    assert (sums.n_fresh, sums.n_calls, sums.n_hits, sums.exact) == (23, 23, 0, True)


def test_cached_cut_is_never_above_the_risk_and_equals_it_where_it_was_found():
    made = worker()
    w = point(0)
    fresh = made.part.fresh(w)
    cached = made.part.cached(w)
    assert np.isclose(cached.b - to_dense(cached.a) @ w, fresh.upper)
    assert cached.n_calls == 0
    elsewhere = point(1)
    value = made.part.cached(elsewhere)
    assert value.b - to_dense(value.a) @ elsewhere <= worker().part.fresh(elsewhere).upper + 1e-12


def test_refresh_asks_everyone_in_the_end_and_then_equals_fresh():
    made, w = worker(), point(2)
    n_calls, answers = 0, []
    for _ in range(10):
        answers.append(made.part.refresh(w, 7, 0.3))
        n_calls += answers[-1].n_calls
    assert n_calls == 23
    assert [a.n_fresh for a in answers[:4]] == [7, 14, 21, 23]
    exact = worker().part.fresh(w)
    assert np.isclose(answers[-1].upper, exact.upper)
    np.testing.assert_allclose(to_dense(answers[-1].a), to_dense(exact.a))


def test_answers_of_an_earlier_run_are_not_used_again_though_its_rounds_had_the_same_numbers():
    made, w = worker(), point(3)
    for _ in range(4):
        made.part.refresh(point(2), 7, 0.3)
    made.part.fresh(w)
    answers = [made.part.refresh(w, 7, 0.3) for _ in range(4)]
    assert [a.n_fresh for a in answers] == [7, 14, 21, 23]
    assert np.isclose(answers[-1].upper, worker().part.fresh(w).upper)


def test_refresh_takes_turns_between_rounds():
    made = worker(cache_size=0)
    seen = []
    ask = made.oracle.separate
    made.oracle.separate = lambda view, rows: (seen.extend(rows.tolist()), ask(view, rows))[1]
    for number in range(4):
        made.part.refresh(point(number), number, 0.3)
    assert seen[:23] == list(range(23))
    assert seen[23:] == [0, 1, 2, 3, 4]


def test_planes_saved_and_loaded_answer_with_the_same_bits(tmp_path):
    made = worker()
    for seed in range(5):
        made.part.fresh(point(seed))
    made.part.refresh(point(9), 1, 0.2)
    path = str(tmp_path / "planes.npz")
    digest = made.save_planes(path)
    twin = worker()
    assert twin.load_planes(path, digest)
    with pytest.raises(CheckpointError, match=r"gone\.npz does not exist"):
        worker().load_planes(str(tmp_path / "gone.npz"), digest)
    assert not worker().recall_planes(str(tmp_path / "gone.npz"), digest)
    for seed in range(20, 23):
        a, b = made.part.cached(point(seed)), twin.part.cached(point(seed))
        assert np.array_equal(to_dense(a.a), to_dense(b.a))
        assert (a.b, a.upper, a.n_hits) == (b.b, b.upper, b.n_hits)
    assert made.part.refresh(point(30), 2, 0.2).b == twin.part.refresh(point(30), 2, 0.2).b


def test_damaged_planes_are_refused(tmp_path):
    path = tmp_path / "planes.npz"
    digest = worker().save_planes(str(path))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CheckpointError, match="damaged"):
        worker().load_planes(str(path), digest)


def test_a_worker_of_a_run_goes_on_without_planes_that_a_store_does_not_give(monkeypatch):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    path = "memory://planes/00000.npz"
    digest = worker().save_planes(path)
    assert worker().recall_planes(path, digest)
    assert not worker().recall_planes("memory://planes/00001.npz", digest)

    def fails(*_):
        raise StoreError("no answer")

    monkeypatch.setattr(StorePath, "open", fails)
    assert not worker().recall_planes(path, digest)
    with pytest.raises(StoreError, match="no answer"):
        worker().load_planes(path, digest)
    monkeypatch.undo()
    StorePath("memory://planes").remove()


def test_an_empty_shard_is_refused():
    class Nothing:
        def load(self):
            from distsvm.data.shard import Shard

            return Shard([], [], None, source="part-7.svm")

    with pytest.raises(DataError, match=r"part-7\.svm has no examples"):
        ShardWorker(Nothing())
