"""Equal n_shards and n_blocks give equal bits on every executor with any number of workers."""

import numpy as np
import pytest
from run_examples import history
from scipy import sparse
from toy_tasks import ToyChain, toy_chains

from distsvm import MulticlassTask, train
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass
from distsvm.structures.sequences.task import SequenceTask

EXECUTORS = [
    ("serial", 1),
    ("threads", 1),
    ("threads", 3),
    ("processes", 1),
    ("processes", 2),
    pytest.param("ray", 2, marks=pytest.mark.ray),
]


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
    task, data, config = chains()
    return task, data, config | ASCENT | {"n_shards": 5, "n_blocks": 3, "random_state": 3}


def tags_ascent():
    examples = []
    for symbols, tags in zip(*toy_chains(n=60), strict=True):
        examples.append(([[f"s{s}"] for s in symbols], ["AB"[tag] for tag in tags]))
    return (
        SequenceTask(),
        examples,
        {"C": 30.0, "eps": 1e-3, "n_shards": 6, "n_blocks": 4, **ASCENT},
    )


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
        dense_sequential, csr_sequential,
    )
}  # fmt: skip
_reference = {}


def reference(name):
    if name not in _reference:
        task, data, config = PROBLEMS[name]()
        _reference[name] = train(task, data, executor="serial", **config)
    return _reference[name]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("executor", "n_workers"), EXECUTORS)
def test_same_bits(problem, executor, n_workers, request):
    if executor == "ray":
        request.getfixturevalue("ray_session")
    task, data, config = PROBLEMS[problem]()
    expected = reference(problem)
    result = train(task, data, executor=executor, n_workers=n_workers, **config)
    assert np.array_equal(result.model.w, expected.model.w)
    assert history(result) == history(expected)
    assert (result.primal, result.dual) == (expected.primal, expected.dual)


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
