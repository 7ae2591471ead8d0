"""Lists of held planes are the planes by hand, whatever came, went and was visited before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sequence_examples import drawn, prepared
from toy_tasks import ToyChain, toy_chains

from distsvm.kernels import lists
from distsvm.oracles import listed
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.vectors import to_dense
from distsvm.workers.stock import FIRST_SIZE, IDLE_VISITS, PlaneStock

PLENTY = 1e9


def chains(seed):
    inputs, outputs = toy_chains(n=6, seed=seed)
    return ToyChain(), inputs, outputs


def sequences(seed):
    inputs, outputs = drawn(seed, n=6)
    return prepared(SequenceTask(order=1 + seed % 2), inputs, outputs), inputs, outputs


def trees(seed):
    found = make_treebank(6, max_length=6, seed=seed)
    inputs = [tree.sentence() for tree in found]
    task = ParseTask("brackets", 3.0)
    return task.prepare(task.scan(task.shard(inputs, found))), inputs, found


MAKERS = [chains, sequences, trees]
STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "visit", "age", "grow", "restore"]), st.integers(0, 999)),
    min_size=3, max_size=14,
)  # fmt: skip


def stock_of(oracle, max_bytes=PLENTY):
    return PlaneStock(oracle, np.full(oracle.n, 0.7), max_bytes)


def by_hand(oracle, stock, alpha):
    """Σ α·p of the outputs that are held, by the oracle's other way of adding planes up."""
    planes, share = stock.support(alpha)
    w = np.zeros(oracle.dim)
    oracle.accumulate(planes, share, w)
    return w


def stepped(oracle, stock, climber, kind, seed):
    """Do one step; the stock that goes on, which is another one after a restoration."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(oracle.n)[: rng.integers(1, oracle.n + 1)]
    rows.flags.writeable = False
    if kind == "ask":
        answer = oracle.separate(oracle.view(rng.standard_normal(oracle.dim)), rows)
        stock.insert(answer.planes.take(np.flatnonzero(answer.value > 0)))
    elif kind == "visit":
        stock.visit(climber, rows, 0.0)
    elif kind == "age":
        stock.held.idle[rng.random(stock.held.idle.shape) < 0.5] = IDLE_VISITS
        stock.drop_idle()
    elif kind == "grow":
        stock._grow()
    elif stock.size <= FIRST_SIZE + stock.n_planes:  # else it would take room for nothing
        state, stock = stock.state(), stock_of(oracle, stock.max_bytes)
        stock.restore(state)
    return stock


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("room", [PLENTY, 1.0])
@settings(max_examples=15)
@given(seed=st.integers(0, 99), steps=STEPS)
def test_lists_are_the_planes(make, rescaling, room, seed, steps):
    task, inputs, outputs = make(seed)
    if rescaling not in task.rescalings:
        return
    oracle = task.oracle(task.shard(inputs, outputs), rescaling)
    oracle.climb_beside(1)
    # Where there is no room for lists, they are written for each use.
    limit = PLENTY if room == PLENTY else room * stock_of(oracle).n_bytes
    stock = stock_of(oracle, limit)
    w = np.random.default_rng(seed).standard_normal(oracle.dim)
    for kind, number in steps:
        before, climber = stock.held.alpha.copy(), stock.climber(w, 1.0)
        stock = stepped(oracle, stock, climber, kind, number)
        alpha = stock.held.alpha
        a, b = stock.sum(alpha)
        np.testing.assert_allclose(to_dense(a), by_hand(oracle, stock, alpha), atol=1e-9)
        assert np.isclose(b, stock.support(alpha)[1] @ stock.support(alpha)[0].q)
        if kind == "visit":
            u = by_hand(oracle, stock, alpha - before)
            np.testing.assert_allclose(to_dense(climber.change()), u, atol=1e-9)
            every = np.arange(oracle.n)
            moved = oracle.separate(oracle.view(w + u), every).value
            np.testing.assert_allclose(
                oracle.separate(climber.view(), every).value, moved, atol=1e-8
            )


@pytest.mark.parametrize("make", MAKERS)
def test_a_stock_without_room_for_lists_and_a_restored_one_have_the_same_bits(make):
    task, inputs, outputs = make(3)
    oracle = task.oracle(task.shard(inputs, outputs), "margin")
    oracle.climb_beside(1)
    stocks = [stock_of(oracle), stock_of(oracle)]
    stocks[1].vectors._max_bytes = 0.0  # the same slots, and no list is kept
    rng = np.random.default_rng(0)
    for number in range(8):
        w = rng.standard_normal(oracle.dim)
        for stock in stocks:
            climber = stock.climber(w, 1.0)
            stepped(oracle, stock, climber, "ask", number)
            stepped(oracle, stock, climber, "visit", number)
    (one, _), (two, _) = (stock.sum(stock.held.alpha) for stock in stocks)
    assert to_dense(one).tobytes() == to_dense(two).tobytes()
    twin = stock_of(oracle)
    twin.restore(stocks[0].state())
    assert twin.n_bytes == stocks[0].n_bytes
    for stock in (stocks[0], twin):
        climber = stock.climber(w, 1.0)
        stepped(oracle, stock, climber, "visit", 99)
    assert stocks[0].held.alpha.tobytes() == twin.held.alpha.tobytes()


def test_weights_that_no_plane_needs_any_more_are_forgotten():
    task, inputs, outputs = sequences(1)
    oracle = task.oracle(task.shard(inputs, outputs), "margin")
    oracle.climb_beside(1)
    stock = stock_of(oracle)
    empty = stock.n_bytes
    stepped(oracle, stock, None, "ask", 1)
    assert stock.n_bytes > empty
    stock.held.idle[:] = IDLE_VISITS
    stock.drop_idle()
    assert stock.n_planes == 0
    assert stock.n_bytes == empty


def taken_bytes(stock, climber):
    """What the arrays of the stock, of its lists and of the climber take."""
    own = stock.vectors
    tables = [*stock.held, stock.key, *([] if stock.loss is stock.held.q else [stock.loss])]
    arrays = [*tables, *own.records, *own.active, own.times, own._zeros, own._order, own._index]
    arrays += [climber._base, climber._z, climber._told]
    return sum(np.asarray(array).nbytes for array in arrays) + stock.outputs.nbytes


def filled(make, limit=PLENTY, n_rounds=12):
    """A stock after some rounds of asking and visiting, and its climber."""
    task, inputs, outputs = make(5)
    oracle = task.oracle(task.shard(inputs * 20, outputs * 20), "margin")
    oracle.climb_beside(1)
    stock = stock_of(oracle, limit)
    for number in range(n_rounds):
        climber = stock.climber(np.random.default_rng(number).standard_normal(oracle.dim), 1.0)
        stepped(oracle, stock, climber, "ask", number)
        stepped(oracle, stock, climber, "visit", number)
        assert stock.n_bytes <= limit
    return stock, climber


@pytest.mark.parametrize("make", [chains, sequences])
def test_the_memory_that_counts_is_about_what_the_arrays_take(make):
    stock, climber = filled(make)
    assert 0.5 <= taken_bytes(stock, climber) / stock.n_bytes <= 2.0


@pytest.mark.parametrize("share", [0.9, 0.6, 0.3])
@pytest.mark.parametrize("make", [chains, sequences])
def test_the_limit_of_memory_holds_for_tables_and_lists_together(make, share):
    whole, _ = filled(make)
    stock, _ = filled(make, share * whole.n_bytes)  # which checks the limit after every round
    assert stock.n_planes > 0.9 * whole.n_planes
    assert stock.vectors.records.live.sum() < whole.vectors.records.live.sum()


def test_upkeep_is_paid_by_what_comes(monkeypatch):
    """Copies to larger arrays and new ids take no more than the writing of the lists itself."""
    moved, written = [], []

    def watch(name, total, amount):
        function = getattr(lists, name)

        def call(*given):
            before = amount(*given)
            found = function(*given)
            total.append(before if total is moved else amount(*given) - before)
            return found

        monkeypatch.setattr(lists, name, call)

    watch("move_records", moved, lambda old, _: int(old.live.sum()))
    watch("write_records", written, lambda *given: int(given[4].used.sum()))
    watch("forget_unused", moved, lambda records, active, most: int(active.counts[0] > most))
    monkeypatch.setattr(listed, "FEW_WEIGHTS", 0)
    filled(sequences, n_rounds=60)
    assert sum(moved) <= sum(written)
    assert np.count_nonzero(moved) > 3
