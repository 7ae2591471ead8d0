"""Rounds of a block in pieces: exact sums, one piece in memory, the rest without a name on disk."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from ascents import KINDS, TODO, check_checkpoint, several
from pieced import CASES, N_FILES, bound

from distsvm.errors import CheckpointError, ConfigError, DataError
from distsvm.oracles.python import PythonOracle
from distsvm.storage import write_arrays
from distsvm.structures.classes.oracle import ClassOracle
from distsvm.structures.sequences.oracle import SequenceOracle
from distsvm.structures.trees.oracle import ParseOracle
from distsvm.vectors import to_dense
from distsvm.workers.cut_part import CutPart
from distsvm.workers.shelf import Shelf
from distsvm.workers.stock import PlaneStock
from distsvm.workers.whole_stock import WholeStock


def held(made, w, number, **more):
    """Σ α·p and Σ α·q as they are after a round, of which nothing is visited in the next."""
    made.part.ascend(w, None, replace(TODO, number=number, ask="none", n_passes=0, **more))
    holding = made.part.holding()
    assert holding.number == number
    return to_dense(holding.a), holding.b


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_rounds", [1, 2, 4, 5])
def test_answers_say_what_has_changed_in_all_pieces(tmp_path, case, n_rounds):
    made = bound(tmp_path, case, pieces=True)
    assert made.oracle.sizes.size == N_FILES
    w, answers = several(made, KINDS[: n_rounds - 1])
    ask, number = KINDS[n_rounds - 1], n_rounds
    answer = made.part.ascend(w, None, replace(TODO, number=number, ask=ask))
    before = made.part.holding()
    np.testing.assert_allclose(to_dense(before.a), w, atol=1e-9)
    assert np.isclose(before.b, sum(a.linear for a in answers), atol=1e-9)
    after = w + to_dense(answer.u)
    assert after.any()
    now, linear = held(made, after, number + 1)
    np.testing.assert_allclose(now, after, atol=1e-9)
    assert np.isclose(linear, before.b + answer.linear)
    dual = answer.linear - 0.5 * (after @ after - w @ w)
    assert np.isclose(answer.gain, dual, rtol=1e-6, atol=1e-9)
    assert answer.exact
    assert not answer.lost
    if ask == "all":
        memory = bound(tmp_path, case, pieces=False)
        assert np.isclose(answer.upper, CutPart(memory, 0).fresh(w).upper, rtol=1e-12)
        np.testing.assert_allclose(to_dense(answer.holding.a), w, atol=1e-9)
        assert made.oracle.n == memory.oracle.n
        assert answer.n_calls >= made.oracle.n
        # Only visits that search all outputs are calls, too.
        assert (answer.n_calls > made.oracle.n) == (answer.n_visits == 0) == ("classes" in case)
    else:
        assert answer.holding is None


@pytest.mark.parametrize("case", CASES)
def test_shares_of_the_gap_add_up_to_the_gap(tmp_path, case):
    made, C_share = bound(tmp_path, case, pieces=True), 0.4
    w, answers = several(made, ["all", "none"])
    # All values count as equal, so that nobody changes w: every share is that at this w.
    answer = made.part.ascend(w, None, replace(TODO, number=3, tol=1e9, n_passes=1))
    assert not to_dense(answer.u).any()
    primal = 0.5 * w @ w + C_share * answer.upper
    dual = sum(a.linear for a in answers) - 0.5 * w @ w
    assert np.isclose(answer.gap, primal - dual, rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("taken", [0.0, 0.3])
def test_what_was_not_taken_is_undone(tmp_path, case, taken):
    made = bound(tmp_path, case, pieces=True)
    w, _ = several(made, ["all", "some"])
    answer = made.part.ascend(w, None, replace(TODO, number=3))
    now = w + taken * to_dense(answer.u)
    np.testing.assert_allclose(held(made, now, 4, taken=taken)[0], now, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_another_C_takes_all_alphas_with_it(tmp_path, case):
    made = bound(tmp_path, case, pieces=True)
    w, answers = several(made, ["all", "some"])
    made.part.rescale(1.2, 3.0, 1.0)
    now, linear = held(made, 3 * w, 3)
    np.testing.assert_allclose(now, 3 * w, atol=1e-9)
    assert np.isclose(linear, 3 * sum(a.linear for a in answers))
    more = made.part.ascend(3 * w, None, replace(TODO, number=4))
    assert more.gain >= 0
    assert not more.lost


@pytest.mark.parametrize("case", CASES)
def test_pieces_climb_on_what_those_before_have_changed(tmp_path, case):
    workers = (bound(tmp_path, case, pieces=pieces) for pieces in (True, False))
    answers = [several(worker, KINDS * 3)[1] for worker in workers]
    ours, memory = (sum(answer.gain for answer in own) for own in answers)
    assert ours > 0.9 * memory


@pytest.mark.parametrize("case", CASES)
def test_rounds_go_on_after_a_checkpoint_with_the_same_bits(tmp_path, case):
    check_checkpoint(lambda: bound(tmp_path, case, pieces=True), tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_a_shard_that_moves_goes_on_with_the_same_bits(tmp_path, case):
    made, twin = (bound(tmp_path, case, pieces=True, n_apart=4) for _ in range(2))
    w, _ = several(made, KINDS)
    assert twin.take_up(made.carry())
    one, two = (worker.part.ascend(w, None, replace(TODO, number=7)) for worker in (made, twin))
    np.testing.assert_array_equal(to_dense(one.u), to_dense(two.u))
    assert (one.linear, one.gap, one.lost) == (two.linear, two.gap, False)


def test_planes_of_other_pieces_are_left_out(tmp_path):
    made, memory = (bound(tmp_path, "sparse classes", pieces=pieces) for pieces in (True, False))
    for source, target in ((made, memory), (memory, made)):
        w, _ = several(source, ["all"])
        digest = source.save_planes(str(tmp_path / "planes.npz"))
        twin = bound(tmp_path, "sparse classes", pieces=target is made)
        assert not twin.load_planes(str(tmp_path / "planes.npz"), digest)
        assert twin.part.ascend(w, None, replace(TODO, number=2)).lost


@pytest.mark.parametrize("damage", ["missing", "short", "number"])
def test_damaged_planes_are_refused(tmp_path, damage):
    made, twin = (bound(tmp_path, "sparse classes", pieces=True) for _ in range(2))
    several(made, ["all"])
    state = made.carry()
    if damage == "missing":
        state = {name: array for name, array in state.items() if not name.startswith("5.")}
    elif damage == "short":
        state["2.share"] = state["2.share"][:-1]
    else:
        state["3.number"] = np.array(7)
    digest = write_arrays(tmp_path / "planes.npz", state)
    with pytest.raises(CheckpointError, match="does not fit this shard"):
        twin.load_planes(str(tmp_path / "planes.npz"), digest)
    assert not twin.part.ascend(np.zeros(twin.dim), None, TODO).lost


@pytest.mark.parametrize(
    ("case", "oracle", "stock"),
    [
        ("sparse classes", ClassOracle, WholeStock),
        ("sequences", SequenceOracle, PlaneStock),
        ("trees", ParseOracle, PlaneStock),
        ("python", PythonOracle, PlaneStock),
    ],
)
def test_one_piece_and_its_planes_are_in_memory_at_a_time(
    tmp_path, monkeypatch, case, oracle, stock
):
    made = bound(tmp_path, case, pieces=True, memory_mb=0.05)
    alive, most = weakref.WeakSet(), []

    def watched(function):
        def call(self, *args):
            found = function(self, *args)
            alive.add(self if found is None else found)
            most.append(len(alive))
            return found

        return call

    gc.disable()  # nothing may wait for it
    try:
        opens = "__init__" if oracle is PythonOracle else "over"
        monkeypatch.setattr(oracle, opens, watched(getattr(oracle, opens)))
        _, answers = several(made, KINDS)
        assert max(most) == 1
        monkeypatch.setattr(stock, "__init__", watched(stock.__init__))
        most.clear()
        made.part.ascend(np.zeros(made.dim), None, replace(TODO, number=7))
        made.save_planes(str(tmp_path / "planes.npz"))
        assert len(most) == 2 * N_FILES
        assert max(most) == 2  # an oracle and its stock
    finally:
        gc.enable()
    assert 0 < answers[-1].n_bytes <= 0.05 * 2**20


def test_too_little_memory_for_the_planes_of_a_piece_is_said(tmp_path):
    made = bound(tmp_path, "sequences", pieces=True, memory_mb=1e-4)
    with pytest.raises(ConfigError, match=r"2 planes of each of 10 examples.*worker_memory_mb"):
        made.part.ascend(np.zeros(made.dim), None, TODO)


def test_what_is_put_aside_has_no_name(tmp_path):
    made = bound(tmp_path, "sequences", pieces=True)
    before = sorted((tmp_path / "packed").rglob("*"))
    several(made, KINDS)
    assert sorted((tmp_path / "packed").rglob("*")) == before


def test_a_round_that_fails_half_way_has_changed_nothing(tmp_path, monkeypatch):
    made, twin = (bound(tmp_path, "sparse classes", pieces=True) for _ in range(2))
    w, _ = several(made, ["all", "none"])
    several(twin, ["all", "none"])
    put, n_put = Shelf.put, iter(range(1000))

    def full(self, name, array):
        if next(n_put) == 20:
            monkeypatch.setattr(np, "save", lambda *_, **__: (_ for _ in ()).throw(OSError(28)))
        put(self, name, array)

    with monkeypatch.context() as patch:
        patch.setattr(Shelf, "put", full)
        patch.setattr(np, "save", np.save)
        with pytest.raises(DataError, match="planes cannot be put aside"):
            made.part.ascend(w, None, replace(TODO, number=3))
    monkeypatch.undo()
    one, two = (worker.part.ascend(w, None, replace(TODO, number=3)) for worker in (made, twin))
    np.testing.assert_array_equal(to_dense(one.u), to_dense(two.u))
