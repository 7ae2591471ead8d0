"""A block's rounds: what they answer is what they did, and what was not taken is undone."""

from dataclasses import replace

import numpy as np
import pytest
from ascents import KINDS, TODO, check_checkpoint, several
from toy_tasks import ToyChain, all_planes, toy_chains

from distsvm.data.dataset import PairData
from distsvm.vectors import to_dense
from distsvm.workers.ascent_part import AscentPartMaker
from distsvm.workers.shard_worker import ShardWorker

TASK = ToyChain()
INPUTS, OUTPUTS = toy_chains(n=29, seed=4)
WEIGHT = np.random.default_rng(1).random(29) + 0.5
C_SHARE, MEMORY_MB = 0.4, 10.0


def worker(rescaling="margin", memory_mb=MEMORY_MB):
    made = ShardWorker(PairData(INPUTS, OUTPUTS, WEIGHT).specs(1)[0])
    made.bind(TASK, rescaling, AscentPartMaker(), False, 0)
    made.part.hold(C_SHARE, memory_mb, 0)
    return made


def sums(ascent):
    """Σ α·p and Σ α·q of the α as they are now, from the outputs that are held."""
    stock = ascent.stock
    planes, alpha = stock.support(stock.held.alpha)
    w = np.zeros(TASK.dim)
    ascent.oracle.accumulate(planes, alpha, w)
    return w, alpha @ planes.q


def hinges(w, rescaling):
    rows = all_planes(TASK, INPUTS, OUTPUTS, rescaling)
    return np.array([max(q - p @ w for p, q in row) for row in rows])


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("n_rounds", [1, 2, 3, 5, 6])
def test_answers_say_what_has_changed(rescaling, n_rounds):
    made = worker(rescaling)
    w, _ = several(made, KINDS[: n_rounds - 1])
    ascent = made.part.ascent
    w_before, linear_before = sums(ascent)
    np.testing.assert_allclose(w, w_before, atol=1e-9)
    ask = KINDS[n_rounds - 1]
    answer = made.part.ascend(w, None, replace(TODO, number=n_rounds, ask=ask))
    w_after, linear_after = sums(ascent)
    np.testing.assert_allclose(w_before + to_dense(answer.u), w_after, atol=1e-9)
    assert np.isclose(answer.linear, linear_after - linear_before)
    dual = linear_after - 0.5 * w_after @ w_after - linear_before + 0.5 * w_before @ w_before
    assert np.isclose(answer.gain, dual, atol=1e-9)
    assert answer.gain >= 0
    held = ascent.stock.held
    assert (held.alpha.sum(axis=1) <= C_SHARE * WEIGHT * (1 + 1e-12)).all()
    assert answer.n_calls == {"all": 29, "some": 9, "none": 0}[ask]
    assert answer.n_planes == held.count.sum()
    assert answer.n_support == np.count_nonzero(held.alpha)
    assert answer.n_bytes == ascent.stock.n_bytes <= MEMORY_MB * 2**20
    assert not answer.lost
    if ask == "all":
        np.testing.assert_allclose(to_dense(answer.holding.a), w_before, atol=1e-9)
        assert np.isclose(answer.holding.b, linear_before)
        assert np.isclose(answer.upper, WEIGHT @ hinges(w, rescaling))
        assert answer.exact
    else:
        assert answer.holding is None


def test_shares_of_the_gap_add_up_to_the_gap():
    made = worker()
    w, _ = several(made, ["all", "none"])
    w_before, linear = sums(made.part.ascent)
    # All values count as equal, so that nobody changes w: every share is that at this w.
    answer = made.part.ascend(w, None, replace(TODO, number=3, tol=1e9, n_passes=1))
    assert not to_dense(answer.u).any()
    primal = 0.5 * w @ w + C_SHARE * WEIGHT @ hinges(w, "margin")
    dual = linear - 0.5 * w_before @ w_before
    assert np.isclose(answer.gap, primal - dual, rtol=1e-9)


def test_all_may_be_asked_elsewhere():
    made = worker()
    w, _ = several(made, ["all", "none"])
    point = np.random.default_rng(2).standard_normal(TASK.dim)
    answer = made.part.ascend(w, point, replace(TODO, number=3))
    assert np.isclose(answer.upper, WEIGHT @ hinges(point, "margin"))


@pytest.mark.parametrize("ask", ["all", "some", "none"])
@pytest.mark.parametrize("taken", [0.0, 0.3, 0.999])
def test_what_was_not_taken_is_undone(ask, taken):
    made = worker()
    w, _ = several(made, ["all", "some"])
    before = sums(made.part.ascent)
    answer = made.part.ascend(w, None, replace(TODO, number=3, ask=ask))
    grown = made.part.ascent.stock.held.alpha.copy()
    made.part.ascend(w, None, replace(TODO, number=4, ask="none", n_passes=0, taken=taken))
    after = sums(made.part.ascent)
    np.testing.assert_allclose(after[0], before[0] + taken * to_dense(answer.u), atol=1e-9)
    assert np.isclose(after[1], before[1] + taken * answer.linear)
    held = made.part.ascent.stock.held
    assert held.alpha.shape == grown.shape
    assert (held.alpha >= 0).all()
    assert (held.alpha.sum(axis=1) <= held.total * (1 + 1e-12)).all()


def test_what_was_not_taken_is_undone_though_the_stock_has_grown():
    made = worker()
    w, _ = several(made, ["all", "some"])
    before, stock = sums(made.part.ascent), made.part.ascent.stock
    answer = made.part.ascend(w, None, replace(TODO, number=3, ask="none"))
    assert stock._grow()
    made.part.ascend(w, None, replace(TODO, number=4, ask="none", n_passes=0, taken=0.4))
    after = sums(made.part.ascent)
    np.testing.assert_allclose(after[0], before[0] + 0.4 * to_dense(answer.u), atol=1e-9)


def test_the_examples_with_the_largest_shares_are_asked():
    made = worker()
    several(made, ["all", "none"])
    ascent, asked = made.part.ascent, []
    expected = np.argsort(-ascent.share, kind="stable")[:9]
    ask = ascent.oracle.separate
    ascent.oracle.separate = lambda view, rows: (asked.extend(rows.tolist()), ask(view, rows))[1]
    made.part.ascend(np.zeros(TASK.dim), None, replace(TODO, number=3, ask="some"))
    assert sorted(asked) == sorted(expected.tolist())


def test_a_worker_built_again_says_so_and_one_that_was_not_does_not():
    made = worker()
    assert not made.part.ascend(np.zeros(TASK.dim), None, TODO).lost
    again = worker()
    assert again.part.ascend(np.zeros(TASK.dim), None, replace(TODO, number=2, ask="none")).lost


def test_rounds_go_on_after_a_checkpoint_with_the_same_bits(tmp_path):
    check_checkpoint(worker, tmp_path)


def test_little_memory_refuses_planes_and_goes_on():
    made = worker(memory_mb=0.005)
    w, answers = several(made, ["all", "some", "all", "some"] * 4)
    assert np.allclose(w, sums(made.part.ascent)[0], atol=1e-9)
    assert made.part.ascent.stock.n_refused == answers[-1].n_refused
    assert answers[-1].n_bytes <= 0.005 * 2**20
