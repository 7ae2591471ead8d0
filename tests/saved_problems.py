"""The problems of the runs in tests/saved: data by whole-number formulas, the same for ever."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from toy_tasks import ToyChain

import distsvm

SOLVERS = ("one-slack", "multi-plane")
WORDS = ("the", "a", "dog", "cat", "sees", "hears", "old", "big", "with", "on")
TAGS = ("D", "D", "N", "N", "V", "V", "A", "A", "P", "P")
RULES = {
    "S": (("NP", "VP"),),
    "NP": (("D", "N"), ("D", "A", "N"), ("NP", "PP")),
    "VP": (("V", "NP"), ("V", "NP", "PP"), ("VP", "PP")),
    "PP": (("P", "NP"),),
}


class Problem(NamedTuple):
    """A task with its examples, and what `train` takes beside the solver."""

    task: distsvm.Task
    inputs: Any
    outputs: Any
    options: dict[str, Any]


def numbers(n: int, start: int = 1) -> Iterator[int]:
    """A fixed sequence of whole numbers below 2¹⁵, of a linear congruence."""
    state = start
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2**31
        yield state >> 16


def _table(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.array(list(numbers(n * 5)), float).reshape(n, 5) % 9
    noise = np.array(list(numbers(n, 7))) % 4
    return X, ((X[:, 0] + 2 * X[:, 1] + noise) // 3 % k).astype(int)


def _binary() -> Problem:
    return Problem(distsvm.BinaryTask(), *_table(40, 2), {"C": 20.0})


def _multiclass() -> Problem:
    return Problem(distsvm.MulticlassTask(scale=True), *_table(60, 3), {"C": 30.0})


def _costs() -> Problem:
    costs = np.array([[0, 1, 2], [1, 0, 1], [3, 1, 0.0]])
    return Problem(
        distsvm.MulticlassTask(losses=costs), *_table(60, 3), {"C": 30.0, "rescaling": "slack"}
    )


def _sequence() -> Problem:
    drawn, inputs, outputs = numbers(2000, 3), [], []
    for _ in range(30):
        places = [next(drawn) % len(WORDS) for _ in range(3 + next(drawn) % 4)]
        inputs.append([[f"w={WORDS[p]}", f"last={WORDS[p][-1]}"] for p in places])
        outputs.append([TAGS[p] if next(drawn) % 6 else "X" for p in places])
    return Problem(distsvm.SequenceTask(), inputs, outputs, {"C": 40.0})


def _tree(symbol: str, drawn: Iterator[int]) -> str:
    if symbol not in RULES:
        words = [w for w, tag in zip(WORDS, TAGS, strict=True) if tag == symbol]
        return f"({symbol} {words[next(drawn) % len(words)]})"
    rules = RULES[symbol]
    children = rules[next(drawn) % len(rules)]
    return f"({symbol} {' '.join(_tree(child, drawn) for child in children)})"


def _parse() -> Problem:
    drawn = numbers(4000, 5)
    trees = [_tree("S", drawn) for _ in range(30)]
    inputs = [[(word, tag) for tag, word in re.findall(r"\((\w+) (\w+)\)", t)] for t in trees]
    return Problem(distsvm.ParseTask(losses="f1"), inputs, trees, {"C": 20.0})


def _python() -> Problem:
    drawn = numbers(2000, 9)
    inputs = [tuple(next(drawn) % 3 for _ in range(3)) for _ in range(20)]
    outputs = [tuple((s > 0) ^ (next(drawn) % 5 == 0) for s in x) for x in inputs]
    return Problem(
        ToyChain(), inputs, [tuple(map(int, y)) for y in outputs], {"C": 10.0, "rescaling": "slack"}
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "binary": _binary,
    "multiclass": _multiclass,
    "costs": _costs,
    "sequence": _sequence,
    "parse": _parse,
    "python": _python,
}
