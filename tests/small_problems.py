"""A small problem for every built-in task, some of their settings, and a task in plain Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from saved_problems import Problem
from scipy import sparse
from toy_tasks import ToyChain, toy_chains

import distsvm
from distsvm.data.synthetic import make_binary, make_multiclass, make_tagged_sentences
from distsvm.structures.trees.synthetic import make_treebank

SENTENCES = make_tagged_sentences(40, n_tags=4, vocabulary=12, length=5)
TREES = make_treebank(30, max_length=14, seed=1)
COSTS = np.array([[0, 1, 2, 3], [1, 0, 1, 2], [4, 1, 0, 1], [2, 2, 1, 0.0]])


def _binary() -> Problem:
    return Problem(distsvm.BinaryTask(), *make_binary(60, 6, noise=0.1), {"C": 20.0})


def _multiclass() -> Problem:
    X, y = make_multiclass(80, 6, 4, noise=0.1)
    X[:, 0] *= 100
    return Problem(distsvm.MulticlassTask(scale=True), X, y, {"C": 30.0})


def _costs() -> Problem:
    X, y = make_multiclass(80, 6, 4, noise=0.1, seed=1)
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    return Problem(distsvm.MulticlassTask(losses=COSTS, loss_scale=2.0), X, names, {})


def _bare() -> Problem:
    X, y = make_multiclass(80, 12, 3, noise=0.1, seed=2)
    X[np.abs(X) < 0.7] = 0
    task = distsvm.MulticlassTask(intercept_scaling=0.0, class_weight="balanced")
    return Problem(task, sparse.csr_matrix(X), y, {"C_per_example": 0.5})


def _sequence() -> Problem:
    inputs = [[["bias", word, f"-{word[-1]}"] for word in words] for words, _ in SENTENCES]
    return Problem(distsvm.SequenceTask(), inputs, [tags for _, tags in SENTENCES], {"C": 40.0})


def _second_order() -> Problem:
    task = distsvm.SequenceTask(
        "zero-one", order=2, allowed=[("T0", "T1"), ("T0", "T0")], unfit="drop"
    )
    return _sequence()._replace(task=task, options={"C": 100.0})


def _parse() -> Problem:
    task = distsvm.ParseTask(losses="f1")
    return Problem(task, [tree.sentence() for tree in TREES], TREES, {"C": 500.0})


def _brackets() -> Problem:
    return _parse()._replace(task=distsvm.ParseTask(losses="brackets"))


def _words() -> Problem:
    words = [[word for word, _ in tree.sentence()] for tree in TREES]
    return Problem(distsvm.ParseTask(words=True), words, TREES, {"C": 500.0})


def _python() -> Problem:
    return Problem(ToyChain(), *toy_chains(n=40), {"C": 10.0})


SMALL_PROBLEMS: dict[str, Callable[[], Problem]] = {
    "binary": _binary,
    "multiclass": _multiclass,
    "costs": _costs,
    "bare": _bare,
    "sequence": _sequence,
    "second-order": _second_order,
    "parse": _parse,
    "brackets": _brackets,
    "words": _words,
    "python": _python,
}
