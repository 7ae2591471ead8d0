"""The dual ascent reaches the certified optimum of every task, and its dual never falls."""

import functools
import itertools
import math
import operator

import numpy as np
import pytest
from scipy import sparse
from test_one_slack import check, check_history, reference
from toy_tasks import BoundedChain, ToyChain, all_planes, primal, toy_chains

from distsvm import BinaryTask, MulticlassTask, train
from distsvm.cuts.bounds import Target
from distsvm.data import open_data
from distsvm.data.synthetic import make_multiclass
from distsvm.risks.blocks import BlockRisk
from distsvm.solvers.base import Problem as Solved
from distsvm.solvers.multi_plane import MultiPlane
from distsvm.structures.classes.oracle import ClassOracle
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.vectors import to_dense
from distsvm.workers.ascent_part import AscentPartMaker
from distsvm.workers.shard_worker import ShardWorker
from distsvm.workers.stock import PlaneStock
from distsvm.workers.whole_stock import WholeStock

BLOCKS = [1, 3, 8]
EPS = 1e-4


class Problem:
    """A task, its examples, and all planes of the whole problem by enumeration."""

    def __init__(self, task, inputs, outputs, others, C=15.0, weight=None):
        self.task, self.inputs, self.outputs, self.others = task, inputs, outputs, others
        self.C, self.weight = C, weight

    def train(self, rescaling="margin", **config):
        settings = {"C": self.C, "eps": EPS, "executor": "serial", "solver": "multi-plane"}
        return train(
            self.task, self.inputs, self.outputs, weight=self.weight, rescaling=rescaling,
            **settings | config,
        )  # fmt: skip

    def planes(self, task, rescaling):
        dense = self.inputs.toarray() if sparse.issparse(self.inputs) else self.inputs
        planes = []
        for x, y in zip(dense, self.outputs, strict=True):
            truth, rows = to_dense(task.joint_features(x, y)), []
            for other in self.others(x):
                p, q = truth - to_dense(task.joint_features(x, other)), task.loss(y, other)
                rows.append((q * p if rescaling == "slack" else p, q))
            planes.append(rows)
        return planes

    def check(self, result, rescaling):
        assert result.stop_reason == "eps"
        planes = self.planes(result.model.task, rescaling)
        check(result, planes, reference(planes, self.C, self.weight), self.weight)


def binary():
    X, y = make_multiclass(30, 4, 2, noise=0.4, seed=0)
    return Problem(BinaryTask(scale=True), X, np.where(y > 0, 1, -1), lambda x: [-1, 1])


def forgiving():
    """Costs that are not symmetric, mistakes without loss among them; sparse rows and weights."""
    X, y = make_multiclass(40, 6, 3, noise=0.4, seed=1)
    X[np.abs(X) < 0.5] = 0
    task = MulticlassTask(losses=[[0, 1, 0], [2, 0, 0.5], [1, 3, 0]])
    weight = np.random.default_rng(0).random(40) + 0.5
    return Problem(task, sparse.csr_matrix(X), y, lambda x: [0, 1, 2], weight=weight)


def dense():
    X, y = make_multiclass(40, 5, 4, noise=0.4, seed=2)
    weight = np.where(np.arange(40) % 3, 1.0, 2.0)
    return Problem(MulticlassTask(), X.astype(np.float32), y, lambda x: range(4), weight=weight)


def sequences(order=1, **more):
    symbols, tags = toy_chains(n=24, length=3, seed=3)
    inputs = [[{f"s{s}": 1.0 + 0.5 * s} for s in x] for x in symbols]
    outputs = [["AB"[tag] for tag in y] for y in tags]
    task = SequenceTask(order=order, **more)
    return Problem(
        task, inputs, outputs, lambda x: map(list, itertools.product("AB", repeat=len(x)))
    )


def second_order():
    return sequences(order=2, losses="zero-one")


PROBLEMS = {make.__name__: make for make in (binary, forgiving, dense, sequences, second_order)}


@pytest.mark.parametrize("n_blocks", BLOCKS)
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_task_reaches_the_certified_optimum(name, rescaling, n_blocks):
    problem = PROBLEMS[name]()
    problem.check(problem.train(rescaling, n_blocks=n_blocks), rescaling)


INPUTS, OUTPUTS = toy_chains(n=40, seed=2)
WEIGHT = np.where(np.arange(40) % 3 == 0, 2.0, 1.0)


@pytest.mark.parametrize("n_blocks", BLOCKS)
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
def test_a_task_in_python_reaches_the_certified_optimum(weight, rescaling, n_blocks):
    result = train(
        ToyChain(), INPUTS, OUTPUTS, weight=weight, C=20.0, eps=1e-5, executor="serial",
        solver="multi-plane", rescaling=rescaling, n_blocks=n_blocks,
    )  # fmt: skip
    planes = all_planes(ToyChain(), INPUTS, OUTPUTS, rescaling)
    check(result, planes, reference(planes, 20.0, weight), weight)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(
    ("losses", "rescaling"),
    [("zero-one", "margin"), ("zero-one", "slack"), ("brackets", "margin"), ("f1", "margin"),
     ("f1", "slack")],
)  # fmt: skip
def test_trees_reach_the_optimum_of_one_slack(losses, rescaling, words):
    trees = make_treebank(30, max_length=8, seed=1)
    inputs = [[word if words else (word, tag) for word, tag in t.sentence()] for t in trees]
    config = {"C": 30.0, "eps": 1e-3, "executor": "serial", "rescaling": rescaling}
    task = ParseTask(losses, words=words)
    one = train(task, inputs, trees, solver="one-slack", **config)
    for n_blocks in BLOCKS:
        two = train(task, inputs, trees, solver="multi-plane", n_blocks=n_blocks, **config)
        assert (two.stop_reason, two.certificate) == ("eps", "exact")
        assert two.gap <= 30.0 * 1e-3
        assert max(one.dual, two.dual) <= min(one.primal, two.primal)
        oracle = two.model.task.oracle(task.shard(inputs, trees), rescaling)
        hinge = oracle.separate(oracle.view(two.model.w), np.arange(30)).upper
        again = 0.5 * two.model.w @ two.model.w + 30.0 * hinge.mean()
        assert math.isclose(two.primal, again, rel_tol=1e-9)


@pytest.mark.parametrize("factor", [1e-6, 1e-2, 1.0, 1e3])
def test_any_C_is_solved_to_a_relative_gap(factor):
    planes = all_planes(ToyChain(), INPUTS, OUTPUTS, "margin")
    result = train(
        ToyChain(), INPUTS, OUTPUTS, C=factor, eps=0, rel_gap=1e-4, max_rounds=3000,
        executor="serial", solver="multi-plane",
    )  # fmt: skip
    assert result.stop_reason in ("rel_gap", "eps")
    assert result.gap <= 1e-4 * result.primal
    assert math.isclose(primal(planes, result.model.w, factor), result.primal, rel_tol=1e-9)


@pytest.mark.parametrize("config", [{}, {"ask_share": 1.0}, {"ask_share": 0.05}], ids=str)
def test_the_share_of_the_examples_asked_changes_only_the_road(config):
    problem = sequences()
    problem.check(problem.train(**config), "margin")


def test_little_memory_for_planes_still_gives_true_bounds():
    problem = sequences()
    result = problem.train(plane_memory_mb=0.004, max_rounds=60)
    planes = problem.planes(result.model.task, "margin")
    optimum = reference(planes, problem.C)
    assert result.dual <= optimum * (1 + 1e-6)
    assert optimum * (1 - 1e-6) <= result.primal
    own = primal(planes, result.model.w, problem.C)
    assert math.isclose(own, result.primal, rel_tol=1e-9)
    assert result.n_refused_planes > 0
    assert 0 < result.memory["planes"] <= 0.004 * 2**20
    assert 0 < result.n_support_planes <= result.n_planes


def test_bounds_narrow_and_only_fresh_rounds_certify():
    result = sequences().train(n_blocks=3)
    check_history(result)
    assert {record.kind for record in result.history} > {"fresh"}


def test_the_last_round_allowed_certifies():
    for max_rounds in (1, 2, 5, 6):
        result = sequences().train(max_rounds=max_rounds)
        assert (result.stop_reason, result.n_rounds) == ("max_rounds", max_rounds)
        assert result.history[-1].kind == "fresh"
        assert result.dual <= result.primal


def test_a_bounding_oracle_gives_an_upper_bound_certificate():
    planes = all_planes(ToyChain(), INPUTS, OUTPUTS, "margin")
    optimum = reference(planes, 20.0)
    result = train(
        BoundedChain(slackness=0.01), INPUTS, OUTPUTS, C=20.0, eps=0.02, executor="serial",
        solver="multi-plane",
    )  # fmt: skip
    assert (result.certificate, result.stop_reason) == ("upper bound", "eps")
    assert result.primal >= primal(planes, result.model.w, 20.0) - 1e-9
    assert result.dual <= optimum + 1e-9 <= result.primal + 2e-9


class Blocks(BlockRisk):
    """A risk whose blocks are at hand, without any executor, and can be lost."""

    def __init__(self, problem, rescaling, n_blocks):
        specs = open_data(
            problem.inputs, problem.outputs, weight=problem.weight, tables=problem.task.tables
        ).specs(n_blocks)
        self.specs, self.rescaling = list(specs), rescaling
        self.n_blocks = n_blocks
        summaries = [ShardWorker(spec).scan(problem.task) for spec in self.specs]
        self.task = problem.task.prepare(functools.reduce(operator.add, summaries))
        self.dim, self.total_weight, self.workers = self.task.dim, 0.0, []
        self.copies = [None] * n_blocks
        for spec in self.specs:
            worker = ShardWorker(spec)
            self.total_weight += worker.bind(
                self.task, rescaling, AscentPartMaker(), False, 0
            ).weight
            self.workers.append(worker)

    def hold(self, C, memory_mb, seed):
        self.held = (C / self.total_weight, memory_mb, seed, self.n_blocks)
        for block, worker in enumerate(self.workers):
            worker.part.hold(*self.held, block)

    def ascend(self, w, point, todo):
        w = w.copy()
        w.flags.writeable = False
        return [worker.part.ascend(w, point, todo) for worker in self.workers]

    def holdings(self):
        return [worker.part.holding() for worker in self.workers]

    def back_up(self):
        planes = [worker.copy() for worker in self.workers]
        self.copies = [{name: np.array(own[name]) for name in own} for own in planes]
        for array in itertools.chain(*(own.values() for own in self.copies)):
            array.flags.writeable = False  # as it arrives in another process
        return True

    def lose(self, block):
        """Build the block's worker again, as an executor does: with the last copy of its planes."""
        self.workers[block] = worker = ShardWorker(self.specs[block])
        worker.bind(self.task, self.rescaling, AscentPartMaker(), False, 0)
        worker.part.hold(*self.held, block)
        if self.copies[block] is not None:
            worker.take_up(self.copies[block])


class WithoutCopies(Blocks):
    def back_up(self):
        return False


@pytest.mark.parametrize("n_blocks", BLOCKS)
def test_the_dual_itself_never_falls_and_is_what_the_workers_hold(n_blocks):
    risk = Blocks(python(), "margin", n_blocks)
    solver = MultiPlane(Solved(20.0, Target(1e-5)))
    state = solver.begin(risk, None)
    optimum = reference(all_planes(ToyChain(), INPUTS, OUTPUTS, "margin"), 20.0, WEIGHT)
    n_scaled = 0
    before = 0.0
    for record in itertools.islice(solver.rounds(risk, state), 2000):
        stocks = [worker.part.ascent.stock for worker in risk.workers]
        assert record.n_planes == sum(stock.n_planes for stock in stocks)
        assert record.own["n_support_planes"] == sum(stock.n_support for stock in stocks)
        assert record.plane_bytes == sum(stock.n_bytes for stock in stocks)
        assert state.dual >= before - 1e-9 * optimum
        assert state.dual <= optimum * (1 + 1e-6)
        if record.kind == "fresh":
            # Made anew from the workers' α, as they were when the round began.
            assert math.isclose(record.dual, before, rel_tol=1e-9, abs_tol=1e-12)
        assert math.isclose(state.square, state.w @ state.w, rel_tol=1e-9, abs_tol=1e-12)
        before = state.dual
        n_scaled += state.taken < 1
        if record.gap <= 20.0 * 1e-4:
            break
    assert record.gap <= 20.0 * 1e-4
    assert n_scaled > 0 or n_blocks == 1


def python():
    return Problem(ToyChain(), INPUTS, OUTPUTS, None, C=20.0, weight=WEIGHT)


def trees():
    made = make_treebank(30, max_length=8, seed=1)
    weight = np.random.default_rng(2).random(30) + 0.5
    return Problem(ParseTask("f1"), [t.sentence() for t in made], made, None, C=30.0, weight=weight)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize(
    "make", [*PROBLEMS.values(), python, trees], ids=lambda make: make.__name__
)
def test_the_dual_itself_never_falls_for_any_task_whoever_is_lost(make, rescaling):
    problem = make()
    if problem.weight is None:
        problem.weight = np.random.default_rng(3).random(len(problem.outputs)) + 0.5
    risk, n_lost, before = Blocks(problem, rescaling, 3), 0, 0.0
    solver = MultiPlane(Solved(problem.C, Target(1e-3)))
    state = solver.begin(risk, None)
    for record in itertools.islice(solver.rounds(risk, state), 2000):
        assert state.dual >= before - 1e-9 * max(1.0, before)
        assert state.dual <= record.best_primal * (1 + 1e-9)
        before = state.dual
        if record.number % 3 == 2 and n_lost < 4:
            risk.lose(n_lost % 3)
            n_lost += 1
        elif n_lost == 4 and record.gap <= problem.C * 1e-3:
            break
    assert n_lost == 4
    assert record.gap <= problem.C * 1e-3


@pytest.mark.parametrize("memory_mb", [100.0, 0.012])
def test_whatever_was_searched_counts_as_an_oracle_call(memory_mb, monkeypatch):
    searched, looked_up = [], []

    def counting(cls, name, counts):
        own = getattr(cls, name)

        def counted(self, first, rows, *rest):
            counts.append(rows.size)
            return own(self, first, rows, *rest)

        monkeypatch.setattr(cls, name, counted)

    counting(ClassOracle, "separate", searched)
    counting(WholeStock, "visit", searched)
    counting(PlaneStock, "visit", looked_up)
    rng = np.random.default_rng(0)
    result = train(
        MulticlassTask(), rng.normal(size=(60, 4)), rng.integers(0, 40, 60), C=50.0, eps=0.01,
        solver="multi-plane", plane_memory_mb=memory_mb, n_shards=2, executor="serial",
        max_rounds=8,
    )  # fmt: skip
    assert (result.n_oracle_calls, result.n_cache_hits) == (sum(searched), sum(looked_up))
    assert (result.n_cache_hits == 0) == (memory_mb == 100.0)


def rounds_of_endless_losses(risk, problem, most=600):
    """The rounds of a run that loses one block after another, one in every second round."""
    solver = MultiPlane(Solved(problem.C, Target(1e-3)))
    state, records = solver.begin(risk, None), []
    for record in itertools.islice(solver.rounds(risk, state), most):
        records.append(record)
        if record.kind == "fresh" and record.gap <= problem.C * 1e-3:
            break
        if record.number % 2 == 0:
            risk.lose(record.number // 2 % risk.n_blocks)
    return records


@pytest.mark.parametrize(
    "make", [*PROBLEMS.values(), python, trees], ids=lambda make: make.__name__
)
def test_a_run_ends_though_its_workers_are_lost_again_and_again(make):
    problem = make()
    records = rounds_of_endless_losses(Blocks(problem, "margin", 3), problem)
    assert records[-1].gap <= problem.C * 1e-3
    duals = [record.dual for record in records]
    assert duals == sorted(duals)
    assert not any(record.note for record in records)


def test_planes_that_cannot_be_copied_are_noted_once():
    problem = python()
    records = rounds_of_endless_losses(WithoutCopies(problem, "margin", 3), problem, most=60)
    notes = [record.note for record in records if record.note]
    assert len(notes) == 1
    assert "write checkpoints more often" in notes[0]
