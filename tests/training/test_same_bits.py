"""Equal n_shards and n_blocks give equal bits on all executors, with any workers and threads."""

import numpy as np
import pytest
from run_examples import history
from scipy import sparse
from toy_tasks import ToyChain, toy_chains

from distsvm import AlignmentTask, MulticlassTask, TaxonomyTask, train
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass
from distsvm.structures.alignments.synthetic import make_alignments
from distsvm.structures.classes.taxonomies.synthetic import make_taxonomy_data
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.team import _Shared, _Task
from distsvm.workers import ascent, asking

EXECUTORS = [
    ("serial", 1),
    ("threads", 1),
    ("threads", 3),
    ("processes", 1),
    ("processes", 2),
    pytest.param("ray", 1, marks=pytest.mark.ray),
    pytest.param("ray", 2, marks=pytest.mark.ray),
]
THREADED = {"executor_options": {"threads_per_worker": 3}}


def dense():
    X, y = make_multiclass(700, 12, 5, noise=0.3, seed=0)
    return MulticlassTask(loss_scale=100.0), (X, y), {"C": 100.0, "eps": 0.5, "n_shards": 7}


def dense32():
    X, y = make_multiclass(500, 30, 4, noise=0.3, seed=1)
    task = MulticlassTask(scale=True, class_weight="balanced")
    return task, (X.astype(np.float32), y), {"C": 50.0, "eps": 0.01, "cache_size": 3}


def csr():
    X, y = make_multiclass(400, 40, 3, noise=0.3, seed=2)
    X[np.abs(X) < 1] = 0
    return MulticlassTask(), (sparse.csr_matrix(X), y), {"C": 20.0, "eps": 0.01, "n_blocks": 3}


def chains():
    return ToyChain(), list(zip(*toy_chains(n=60), strict=True)), {
        "C": 20.0, "eps": 1e-3, "refresh_fraction": 0.3,
    }  # fmt: skip


ASCENT = {"solver": "multi-plane"}


def dense_ascent():
    X, y = make_multiclass(300, 12, 5, noise=0.3, seed=3)
    return MulticlassTask(scale=True), (X.astype(np.float32), y), {
        "C": 50.0, "eps": 0.01, "n_blocks": 3, **ASCENT,
    }  # fmt: skip


def csr_ascent():
    task, data, config = csr()
    return task, data, config | ASCENT | {"n_blocks": 1, "rescaling": "slack"}


def chains_ascent():
    task, data, _ = chains()
    blocks = {"n_shards": 5, "n_blocks": 3, "random_state": 3}
    return task, data, {"C": 20.0, "eps": 1e-3} | ASCENT | blocks


def tags_ascent():
    examples = []
    for symbols, tags in zip(*toy_chains(n=60), strict=True):
        examples.append(([[f"s{s}"] for s in symbols], ["AB"[tag] for tag in tags]))
    return (
        SequenceTask(),
        examples,
        {"C": 30.0, "eps": 1e-3, "n_shards": 6, "n_blocks": 4, **ASCENT},
    )


def tags_more_ascent():
    _, data, config = tags_ascent()
    more = {"transition_scale": 0.5, "transition_features": "s1; s2", "tag_weight": {"A": 3}}
    return SequenceTask(**more), data, config | {"rescaling": "slack"}


def trees_spans_ascent():
    _, data, config = trees_ascent()
    return ParseTask("f1", span_features="default"), data, config


def trees_ascent():
    trees = make_treebank(30, max_length=8, seed=1)
    examples = [(tree.sentence(), tree) for tree in trees]
    return ParseTask("f1"), examples, {"C": 30.0, "eps": 1e-2, "n_blocks": 1, **ASCENT}


def pairs_ascent():
    """Second-order tags with slack rescaling."""
    _, examples, _ = tags_ascent()
    config = {"C": 20.0, "eps": 0.01, "n_shards": 5, "n_blocks": 2, "rescaling": "slack"}
    return SequenceTask(order=2), examples, config | ASCENT


def words_ascent():
    """Trees over words, in two blocks."""
    trees = make_treebank(24, max_length=7, seed=2)
    examples = [([word for word, _ in tree.sentence()], tree) for tree in trees]
    config = {"C": 30.0, "eps": 0.02, "n_shards": 4, "n_blocks": 2}
    return ParseTask("brackets", words=True), examples, config | ASCENT


def codes_ascent():
    _, data, config = csr()
    codes = np.random.default_rng(0).normal(size=(3, 7))
    return MulticlassTask(codes=codes), data, config | ASCENT | {"rescaling": "slack"}


def taxonomy():
    X, y = make_taxonomy_data(300, 8, (3, 3), seed=2)
    return TaxonomyTask(losses="tree"), (X, y), {"C": 50.0, "eps": 0.05, "n_shards": 5,
                                                 "solver": "one-slack"}  # fmt: skip


def taxonomy_ascent():
    _, (X, y), config = taxonomy()
    rows = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    task = TaxonomyTask(depth_weights=[1, 0.5])
    return task, (rows, y), config | ASCENT | {"n_blocks": 2, "plane_memory_mb": 0.05}


def alignments():
    inputs, outputs = make_alignments(30, length=25, n_operations=12, n_decoys=4)
    return AlignmentTask(), (inputs, outputs), {
        "C": 30.0, "eps": 0.05, "n_shards": 6, "solver": "one-slack",
    }  # fmt: skip


def alignments_ascent():
    _, data, config = alignments()
    return (
        AlignmentTask(alignment="global", gaps="affine"),
        _unaligned(data),
        config | ASCENT | {"n_blocks": 3},
    )


def residues_ascent():
    """Pairs with their true alignments."""
    inputs, outputs = make_alignments(16, length=20, n_operations=12, n_decoys=0)
    config = {"C": 30.0, "eps": 0.5, "n_shards": 4, "n_blocks": 2}
    return AlignmentTask("residues"), (inputs, outputs), config | ASCENT


def _unaligned(data):
    """The homologues without their alignments, which workers then find."""
    return data[0], [y.candidate for y in data[1]]


def dense_sequential():
    task, data, config = dense_ascent()
    return task, data, config | {"solver": "sequential-dual"}


def csr_sequential():
    task, data, config = csr_ascent()
    return task, data, config | {"solver": "sequential-dual", "formulation": "weston-watkins"}


PROBLEMS = {
    make.__name__: make
    for make in (
        dense, dense32, csr, chains, dense_ascent, csr_ascent, chains_ascent, tags_ascent,
        tags_more_ascent, trees_ascent, trees_spans_ascent, codes_ascent, taxonomy,
        taxonomy_ascent, pairs_ascent, words_ascent,
        alignments, alignments_ascent, residues_ascent,
        dense_sequential, csr_sequential,
    )
}  # fmt: skip
_reference = {}


def reference(name):
    if name not in _reference:
        task, data, config = PROBLEMS[name]()
        _reference[name] = train(task, data, executor="serial", **config)
    return _reference[name]


def check(problem, **place):
    task, data, config = PROBLEMS[problem]()
    expected = reference(problem)
    result = train(task, data, **place, **config)
    assert np.array_equal(result.model.w, expected.model.w)
    assert history(result) == history(expected)
    assert (result.primal, result.dual) == (expected.primal, expected.dual)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("executor", "n_workers"), EXECUTORS)
def test_same_bits(problem, executor, n_workers, request):
    if executor == "ray":
        request.getfixturevalue("ray_session")
    # One worker has several threads, two have one each.
    own = THREADED if n_workers == 1 and executor in ("processes", "ray") else {}
    check(problem, executor=executor, n_workers=n_workers, **own)


@pytest.mark.parametrize(
    "problem", ["dense_ascent", "tags_ascent", "trees_ascent", "alignments_ascent"]
)
def test_same_bits_in_two_processes_of_two_threads(problem):
    check(problem, executor="processes", n_workers=2, executor_options={"threads_per_worker": 2})


@pytest.fixture
def eager(monkeypatch):
    """Threads take part however little there is to do; the number of calls that they shared."""
    shared = []

    def fill(self):
        shared.append(self)
        for part in self._parts:
            self._tasks.append(_Task(self._team, self._function, part))

    monkeypatch.setattr(asking, "LEAST_WORK", 0.0)
    monkeypatch.setattr(ascent, "PART_WORK", 0.0)  # an example each
    monkeypatch.setattr(_Shared, "fill", fill)
    return shared


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_same_bits_with_examples_asked_one_by_one_by_any_thread(problem, n_threads, eager):
    check(problem, executor="threads", n_workers=n_threads)
    compiled = PROBLEMS[problem]()[0].compiled
    assert bool(eager) == (compiled and n_threads > 1)


@pytest.mark.parametrize("n_shards", [4, 9])
@pytest.mark.parametrize("n_workers", [2, 3])
def test_same_bits_where_sums_are_sparse(n_shards, n_workers):
    # So few entries that some partial sums travel sparse and others stay dense.
    X, y = make_sparse_multiclass(600, 3000, 5)
    config = {"n_shards": n_shards, "solver": "one-slack", "max_rounds": 8}
    one = train(MulticlassTask(), (X, y), executor="serial", **config)
    two = train(MulticlassTask(), (X, y), executor="processes", n_workers=n_workers, **config)
    assert np.array_equal(one.model.w, two.model.w)
    assert history(one) == history(two)
