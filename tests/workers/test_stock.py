"""The stock gives up no plane that has α, keeps all as it grows, and counts what it refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError
from distsvm.messages import Planes
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.sequences.task import SequenceTask
from distsvm.workers.stock import FIRST_SIZE, IDLE_VISITS, PlaneStock

N, K, D = 5, 24, 3
RNG = np.random.default_rng(0)
SHARD = Shard(as_rows(RNG.standard_normal((N, D))), np.arange(N), None)
TASK = MulticlassTask(classes=np.arange(K))
TASK = TASK.prepare(TASK.scan(SHARD))
ORACLE = TASK.oracle(SHARD, "margin")
PLENTY = 1e9

# Each step: outputs that the oracle found, the examples that are visited, and where w is then.
STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, K - 1)), max_size=N,
                 unique_by=lambda t: t[0]),
        st.lists(st.integers(0, N - 1), max_size=N, unique=True),
        st.integers(0, 1000),
    ),
    max_size=40,
)  # fmt: skip


def stock_of(max_bytes=PLENTY):
    return PlaneStock(ORACLE, np.full(N, 0.7), max_bytes)


LITTLE = stock_of().n_bytes


def planes_of(found):
    """The planes of these examples and classes; class i is the truth of example i, and left out."""
    found = [(row, output) for row, output in found if row != output]
    row = np.array([r for r, _ in found], dtype=np.int64)
    output = np.array([c for _, c in found], dtype=np.int32)
    return Planes.linear(row, output, ORACLE.losses(row, output))


def visit(stock, rows, seed):
    w = np.random.default_rng(seed).standard_normal(TASK.dim)
    rows = np.array(rows, dtype=np.int64)
    stock.visit(stock.climber(w, 1.0), rows, 0.0)


def contents(stock):
    """{(example, output): (loss, α, idle)} of all planes, each of them once."""
    held, found = stock.held, {}
    for i in range(N):
        for slot in range(held.count[i]):
            output = int(stock.outputs[i * stock.size + slot])
            assert (i, output) not in found
            assert stock.key[i, slot] == output
            found[i, output] = (held.q[i, slot], held.alpha[i, slot], held.idle[i, slot])
    return found


def check_gram(stock):
    norms = ORACLE.square_norms
    for i in range(N):
        m = stock.held.count[i]
        expected = norms[i] * (1.0 + np.eye(m))  # all of them wrong, and different
        np.testing.assert_allclose(stock.held.gram[i, :m, :m], expected)


def support(found):
    return {plane: alpha for plane, (_, alpha, _) in found.items() if alpha > 0}


@settings(max_examples=80)
@given(STEPS, st.sampled_from([PLENTY, LITTLE]))
def test_planes_with_alpha_stay_and_gram_and_outputs_match(steps, max_bytes):
    stock = stock_of(max_bytes)
    for found, rows, seed in steps:
        before, n_refused = contents(stock), stock.n_refused
        stock.insert(planes_of(found))
        after = contents(stock)
        assert support(after) == support(before)
        new = {(row, output) for row, output in found if output != row}
        assert set(after) <= set(before) | new
        missing = new - set(after)
        assert stock.n_refused - n_refused == len(missing)
        for row, _ in missing:
            assert max_bytes == LITTLE
            assert stock.held.count[row] == stock.size
            assert (stock.held.alpha[row] > 0).all()
        check_gram(stock)
        assert stock.n_planes == len(after)
        visit(stock, rows, seed)
        before = contents(stock)
        stock.drop_idle()
        kept = {k: v for k, v in before.items() if v[1] > 0 or v[2] < IDLE_VISITS}
        assert contents(stock) == kept
        assert stock.n_support == len(support(kept))
        check_gram(stock)
    assert stock.size == FIRST_SIZE or max_bytes == PLENTY


def all_with_alpha(stock, n):
    """Planes 0 … n − 1 (but for the truth) of example 0, all with α."""
    for output in range(1, n + 1):
        stock.insert(planes_of([(0, output)]))
        stock.held.alpha[0, : stock.held.count[0]] = 0.7 / n


def test_a_full_example_gives_up_the_plane_that_was_idle_longest():
    stock = stock_of()
    for output in range(1, FIRST_SIZE + 1):
        stock.insert(planes_of([(0, output)]))
    stock.held.idle[0] = [1, 5, 9, 9, 0, 2]
    stock.held.alpha[0, 2] = 0.1
    stock.insert(planes_of([(0, 20)]))
    assert sorted(output for _, output in contents(stock)) == [1, 2, 3, 5, 6, 20]
    assert stock.size == FIRST_SIZE


def test_a_plane_found_again_is_no_longer_idle():
    stock = stock_of()
    stock.insert(planes_of([(0, 3), (1, 4)]))
    stock.held.idle[:2, 0] = 7
    stock.insert(planes_of([(1, 4)]))
    assert stock.held.idle[:2, 0].tolist() == [7, 0]
    assert stock.n_planes == 2


def test_growth_keeps_everything():
    stock = stock_of()
    stock.insert(planes_of([(i, 10 + i) for i in range(1, N)]))
    visit(stock, range(N), 3)
    all_with_alpha(stock, FIRST_SIZE)
    before = contents(stock)
    stock.insert(planes_of([(0, 20)]))
    assert stock.size > FIRST_SIZE
    after = contents(stock)
    assert after.pop((0, 20)) == (1.0, 0.0, 0)
    assert after == before
    check_gram(stock)


def test_a_refusal_for_want_of_memory_is_counted_and_changes_nothing():
    stock = stock_of(LITTLE)
    all_with_alpha(stock, FIRST_SIZE)
    before = contents(stock)
    for output in (20, 21, 20):
        stock.insert(planes_of([(0, output)]))
    assert stock.n_refused == 3
    assert contents(stock) == before
    assert stock.n_bytes <= stock.max_bytes


@pytest.mark.parametrize("share", [1.0, 0.8, 0.5, 0.3])
def test_the_limit_holds_from_the_beginning(share):
    stock = stock_of(share * LITTLE)
    assert stock.n_bytes <= stock.max_bytes
    assert (stock.size == FIRST_SIZE) == (share == 1)
    for output in range(1, 12):
        stock.insert(planes_of([(i, 11 + output) for i in range(N)]))
        visit(stock, range(N), output)
    assert stock.n_bytes <= stock.max_bytes
    check_gram(stock)


def test_a_limit_that_holds_hardly_any_planes_is_refused():
    with pytest.raises(ConfigError, match="plane_memory_mb: 2 planes of each of 5 examples take"):
        stock_of(10.0)


@settings(max_examples=40)
@given(STEPS, STEPS)
def test_a_restored_stock_goes_on_with_the_same_bits(before, after):
    stock, twin = stock_of(), stock_of()
    for steps in (before, after):
        for found, rows, seed in steps:
            for one in (stock, twin) if steps is after else (stock,):
                one.insert(planes_of(found))
                visit(one, rows, seed)
                one.drop_idle()
        if steps is before:
            twin.restore(stock.state())
    assert contents(twin) == contents(stock)
    for name, array in stock.state().items():
        assert np.array_equal(array, twin.state()[name]), name
    assert (twin.size, twin.n_refused) == (stock.size, stock.n_refused)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.lists(st.booleans(), min_size=1, max_size=12))
def test_outputs_of_many_lengths_stay_with_their_planes(seed, grows):
    rng = np.random.default_rng(seed)
    lengths = [1, 4, 2, 5, 3]
    inputs = [[[f"s{rng.integers(3)}"] for _ in range(length)] for length in lengths]
    outputs = [rng.choice(["A", "B", "C"], length).tolist() for length in lengths]
    task = SequenceTask()
    task = task.prepare(task.scan(task.shard(inputs, outputs)))
    oracle = task.oracle(task.shard(inputs, outputs), "margin")
    stock = PlaneStock(oracle, np.full(N, 0.5), PLENTY)
    every = np.arange(N)
    for grow in grows:
        w = rng.standard_normal(task.dim)
        found = oracle.separate(oracle.view(w), every).planes
        stock.insert(found.take(np.flatnonzero(found.loss > 0)))
        stock.visit(stock.climber(w, 1.0), every, 0.0)
        if grow:
            assert stock._grow()
        stock.held.idle[rng.random(stock.held.idle.shape) < 0.2] = IDLE_VISITS
        stock.drop_idle()
    held, gram = stock.held, stock.held.gram.copy()
    row, slot = np.nonzero(np.arange(stock.size) < held.count[:, None])
    kept = stock.outputs[row * stock.size + slot]
    assert np.array_equal(oracle.keys(kept), stock.key[row, slot])
    assert np.array_equal(oracle.losses(row, kept), held.q[row, slot])
    for each in range(stock.size):
        same = slot == each
        stock.vectors.fill_gram(held, stock.outputs, row[same], slot[same])
    for i in range(N):
        m = held.count[i]
        np.testing.assert_allclose(gram[i, :m, :m], held.gram[i, :m, :m])
