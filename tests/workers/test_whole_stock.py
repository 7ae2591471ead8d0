"""The α of all classes: rounds answer what they did, go on after checkpoints, fit the memory."""

import numpy as np
import pytest
from ascents import KINDS, check_checkpoint, several
from sklearn.svm import LinearSVC

from distsvm import MulticlassTask, train
from distsvm.data.dataset import TableData
from distsvm.data.synthetic import make_multiclass
from distsvm.workers.ascent_part import AscentPartMaker
from distsvm.workers.shard_worker import ShardWorker
from distsvm.workers.stock import PlaneStock
from distsvm.workers.whole_stock import WholeStock

N, K, C_SHARE = 60, 5, 0.4
X, Y = make_multiclass(N, 6, K, noise=0.4, seed=3)
X[7] = 0.0  # nothing but the constant feature, and not even that without an intercept
WEIGHT = np.random.default_rng(1).random(N) + 0.5


def worker(memory_mb=10.0, rescaling="margin", intercept=0.0):
    made = ShardWorker(TableData(X, Y, WEIGHT).specs(1)[0])
    task = MulticlassTask(intercept_scaling=intercept)
    task = task.prepare(made.scan(task))
    made.bind(task, rescaling, AscentPartMaker(), False, 0)
    made.part.hold(C_SHARE, memory_mb, 0)
    return made


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_answers_say_what_has_changed(rescaling):
    made = worker(rescaling=rescaling)
    stock = made.part.ascent.stock
    assert isinstance(stock, WholeStock)
    w, answers = several(made, KINDS)
    planes, alpha = stock.support(stock.held.alpha)
    total = np.zeros(made.dim)
    made.oracle.accumulate(planes, alpha, total)
    np.testing.assert_allclose(w, total, atol=1e-9)
    assert np.isclose(sum(answer.linear for answer in answers), alpha @ planes.q)
    dual = alpha @ planes.q - 0.5 * w @ w
    assert np.isclose(sum(answer.gain for answer in answers), dual)
    assert (stock.held.alpha.sum(axis=1) <= C_SHARE * WEIGHT * (1 + 1e-12)).all()
    assert not any(answer.n_visits for answer in answers)  # every visit searches all outputs
    least = {"all": 2 * N, "some": N, "none": 1}
    assert all(a.n_calls >= least[kind] for a, kind in zip(answers, KINDS, strict=True))
    assert answers[-1].n_support == answers[-1].n_planes == alpha.size
    assert answers[-1].n_bytes == stock.n_bytes == WholeStock.bytes_for(made.oracle)


def test_rounds_go_on_after_a_checkpoint_with_the_same_bits(tmp_path):
    check_checkpoint(worker, tmp_path)


def test_where_all_classes_do_not_fit_the_planes_that_were_found_are_held():
    assert isinstance(worker(memory_mb=8 * N * (K + 2) / 2**20).part.ascent.stock, WholeStock)
    many = MulticlassTask(classes=np.arange(200))
    made = ShardWorker(TableData(X, Y).specs(1)[0])
    made.bind(many.prepare(made.scan(many)), "margin", AscentPartMaker(), False, 0)
    made.part.hold(C_SHARE, 0.05, 0)
    assert isinstance(made.part.ascent.stock, PlaneStock)
    config = {"C": 10.0, "eps": 1e-3, "solver": "multi-plane"}
    little = train(many, X, Y, plane_memory_mb=0.05, **config)
    plenty = train(many, X, Y, **config)
    assert little.dual <= plenty.primal + 1e-9
    assert plenty.dual <= little.primal + 1e-9
    assert plenty.stop_reason == "eps"


@pytest.mark.parametrize("n_blocks", [1, 2])
def test_the_objective_is_that_of_crammer_and_singer(n_blocks):
    C = 0.3
    model = LinearSVC(
        C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=100_000,
        random_state=0,
    ).fit(X, Y)  # fmt: skip
    scores, each = X @ model.coef_.T, np.arange(N)
    margins = 1.0 + scores - scores[each, Y][:, None]
    margins[each, Y] = 0.0
    theirs = 0.5 * np.sum(model.coef_**2) + C * margins.max(axis=1).sum()
    ours = train(
        MulticlassTask(intercept_scaling=0.0), X, Y, C_per_example=C, eps=1e-7,
        solver="multi-plane", n_blocks=n_blocks,
    )  # fmt: skip
    assert np.isclose(ours.primal, theirs, rtol=1e-5)
    assert ours.dual <= theirs * (1 + 1e-9)
