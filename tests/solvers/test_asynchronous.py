"""Blocks that see each other's changes at once: the same optimum, and a dual that never falls."""

import numpy as np
import pytest
from test_multi_plane import PROBLEMS, sequences
from test_one_slack import check, check_history, reference
from toy_tasks import ToyChain, all_planes, toy_chains

from distsvm import MulticlassTask, train
from distsvm.data.dataset import PairData
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import ConfigError
from distsvm.messages import Ascent
from distsvm.oracles.climber import Live
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.vectors import to_dense
from distsvm.workers.ascent_part import AscentPartMaker
from distsvm.workers.shard_worker import ShardWorker

TOGETHER = {"asynchronous": True, "executor": "threads", "n_workers": 3, "n_blocks": 5}


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_task_reaches_the_certified_optimum(name, rescaling):
    problem = PROBLEMS[name]()
    result = problem.train(rescaling, **TOGETHER)
    check_history(result)
    problem.check(result, rescaling)


def test_a_task_in_python_reaches_the_certified_optimum():
    inputs, outputs = toy_chains(n=40, seed=2)
    result = train(
        ToyChain(), inputs, outputs, C=20.0, eps=1e-5, solver="multi-plane", **TOGETHER
    )  # fmt: skip
    planes = all_planes(ToyChain(), inputs, outputs, "margin")
    check(result, planes, reference(planes, 20.0))


def test_trees_reach_the_optimum_of_one_slack():
    trees = make_treebank(30, max_length=8, seed=1)
    sentences = [tree.sentence() for tree in trees]
    config = {"C": 30.0, "eps": 1e-3}
    one = train(ParseTask("f1"), sentences, trees, solver="one-slack", **config)
    two = train(ParseTask("f1"), sentences, trees, solver="multi-plane", **config, **TOGETHER)
    check_history(two)
    assert (two.stop_reason, two.certificate) == ("eps", "exact")
    assert max(one.dual, two.dual) <= min(one.primal, two.primal)


def test_many_threads_on_the_same_few_weights():
    X, y = make_multiclass(4_000, 12, 3, noise=0.5, seed=0)
    result = train(
        MulticlassTask(), X, y, C=2_000.0, rel_gap=1e-4, solver="multi-plane",
        **TOGETHER | {"n_workers": 8, "n_blocks": 8},
    )  # fmt: skip
    check_history(result)
    apart = train(MulticlassTask(), X, y, C=2_000.0, rel_gap=1e-4, solver="multi-plane", n_blocks=1)
    assert max(result.dual, apart.dual) <= min(result.primal, apart.primal)


def test_blocks_one_after_the_other_have_the_same_bits_twice_and_hear_of_each_other():
    def calls(**config):
        result = sequences().train(n_blocks=8, **config)
        return result.n_oracle_calls, result.model.w

    (n, w), (_, again) = calls(asynchronous=True), calls(asynchronous=True)
    assert w.tobytes() == again.tobytes()
    assert n < calls()[0]


def test_what_blocks_answer_is_what_their_alpha_say():
    inputs, outputs = toy_chains(n=30, seed=4)
    task, live = ToyChain(), Live()
    blocks = []
    for block, spec in enumerate(PairData(inputs, outputs).specs(2)):
        made = ShardWorker(spec)
        made.bind(task, "margin", AscentPartMaker(), False, 0)
        made.part.hold(0.4, 10.0, seed=0, block=block)
        blocks.append(made)
    todo = Ascent(
        number=1, taken=1.0, sigma=1.0, ask="all", share=1.0, n_passes=3, n_parts=1,
        least_rate=0.0, tol=0.0,
    )  # fmt: skip
    answers = [made.part.ascend(np.zeros(task.dim), None, todo, live) for made in blocks]
    seen = live.get(lambda: pytest.fail("nobody has climbed on it"))
    np.testing.assert_allclose(seen, sum(to_dense(answer.u) for answer in answers), atol=1e-12)
    for made, answer in zip(blocks, answers, strict=True):
        stock = made.part.ascent.stock
        planes, alpha = stock.support(stock.held.alpha)
        assert np.isclose(answer.linear, alpha @ planes.q)
        own = np.zeros(task.dim)
        made.part.ascent.oracle.accumulate(planes, alpha, own)
        np.testing.assert_allclose(to_dense(answer.u), own, atol=1e-12)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"asynchronous": 1}, "asynchronous=1: expected True or False"),
        (
            {"asynchronous": True, "solver": "one-slack"},
            "for solver='multi-plane', not 'one-slack'",
        ),
        ({"asynchronous": True, "solver": "auto", "cache_size": 3}, "this run's is one-slack"),
        (
            {"asynchronous": True, "executor": "processes"},
            "expected executor='threads' or 'serial', for",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(config, text):
    inputs, outputs = toy_chains(n=4, seed=0)
    with pytest.raises(ConfigError, match=text):
        train(ToyChain(), inputs, outputs, **{"solver": "multi-plane", "n_workers": 1} | config)
