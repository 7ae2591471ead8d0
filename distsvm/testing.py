"""Tests of a task, for those who write one."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from distsvm.errors import DistSVMError, TaskError
from distsvm.tasks.base import Bounded, Task
from distsvm.tasks.python import as_sparse
from distsvm.vectors import SparseVector, dot, subtract, to_dense

ROUNDING = 1e-9


def check_task(
    task: Task,
    examples: Sequence[tuple[Any, Any]],
    *,
    outputs: Callable[[Any], Iterable[Any]] | None = None,
    n_points: int = 5,
    seed: int = 0,
) -> None:
    """Raise a TaskError that names the example and the promise that a task does not keep.

    Parameters
    ----------
    task : Task, prepared if it has to be
    examples : list of (x, y)
        A few small ones.
    outputs : function of x, optional
        All outputs that are possible for x. With it the searches are compared with enumeration;
        without it only with each other and with the truth.
    n_points : int
        How many random w to try, besides w = 0.
    seed : int
    """
    check = _Check(task, examples, outputs)
    rng = np.random.default_rng(seed)
    points = [np.zeros(task.dim)]
    points += [rng.standard_normal(task.dim) * 10.0**e for e in np.linspace(-2, 1, n_points)]
    check.contract()
    for w in points:
        w.flags.writeable = False  # as it is for a worker
        for number in range(len(examples)):
            check.searches(w, number)
        for rescaling in sorted(task.rescalings):
            check.oracle(w, rescaling)


class _Check:
    def __init__(
        self,
        task: Task,
        examples: Sequence[tuple[Any, Any]],
        outputs: Callable[[Any], Iterable[Any]] | None,
    ) -> None:
        self.task, self.examples, self.outputs = task, examples, outputs

    def contract(self) -> None:
        """What holds without any w."""
        if not (isinstance(self.task.dim, (int, np.integer)) and self.task.dim > 0):
            raise TaskError(f"dim is {self.task.dim!r}, expected a whole number > 0")
        if not set(self.task.rescalings) <= {"margin", "slack"} or not self.task.rescalings:
            raise TaskError(
                f"rescalings is {self.task.rescalings!r}, expected margin, slack or both"
            )
        try:
            pickle.loads(pickle.dumps(self.task))
        except Exception as error:
            raise TaskError(f"the task cannot be pickled, so it cannot travel: {error}") from error
        for number, (x, y) in enumerate(self.examples):
            self._features(number, x, y)
            loss = self._call(number, "loss", y, y)
            self._claim(number, loss == 0, f"loss(y, y) is {loss}, expected 0")
            data = self._call(number, "encode_output", y)
            back = self._call(number, "decode_output", json.loads(json.dumps(data)))
            self._claim(
                number,
                canonical_equal(back, y),
                f"decode_output(encode_output(y)) is {back!r}, expected {y!r}",
            )
            cost = self._call(number, "cost", x)
            self._claim(number, cost > 0, f"cost(x) is {cost}, expected > 0")

    def searches(self, w: np.ndarray, number: int) -> None:
        """decode and separate find maxima at w, and give the same answer again."""
        x, y = self.examples[number]
        found = self._call(number, "decode", w, x)
        rivals = [y] if self.outputs is None else list(self.outputs(x))
        score = self._score(number, w, x, found)
        for rival in rivals:
            other = self._score(number, w, x, rival)
            self._claim(
                number,
                score >= other - self._rounding(w, score, other),
                f"decode gives {found!r} with score {score:.6g}, but {rival!r} has {other:.6g}",
            )
        for rescaling in sorted(self.task.rescalings):
            self._separates(w, number, rescaling, [*rivals, y, found])

    def _separates(self, w: np.ndarray, number: int, rescaling: str, rivals: list[Any]) -> None:
        x, y = self.examples[number]
        answer = self._call(number, "separate", w, x, y, rescaling)
        upper = None
        if isinstance(answer, Bounded):
            answer, upper = answer.output, answer.upper
        reached = self._value(number, w, answer, rescaling)
        limit = reached if upper is None else upper
        for rival in rivals:
            value = self._value(number, w, rival, rescaling)
            self._claim(
                number,
                limit >= value - self._rounding(w, limit, value),
                f"separate({rescaling}) gives {answer!r} with value {limit:.6g}, "
                f"but {rival!r} has {value:.6g}",
            )
        self._claim(
            number,
            upper is None or upper >= reached - self._rounding(w, upper, reached),
            f"separate({rescaling}) bounds by {upper}, below the value {reached} of its own answer",
        )

    def oracle(self, w: np.ndarray, rescaling: str) -> None:
        """The bound oracle's planes have the values and the features that Ψ and Δ say."""
        inputs, truths = [x for x, _ in self.examples], [y for _, y in self.examples]
        oracle = self.task.oracle(self.task.shard(inputs, truths), rescaling)
        view, rows = oracle.view(w), np.arange(len(inputs))
        answer = oracle.separate(view, rows)
        again = oracle.values(view, answer.planes)
        for number in range(len(inputs)):
            close = self._rounding(w, answer.value[number], again[number])
            self._claim(
                number,
                abs(answer.value[number] - again[number]) <= close,
                f"the oracle's value {answer.value[number]} is not its plane's, {again[number]}",
            )
            plane = answer.planes.take(np.array([number]))
            total = np.zeros(self.task.dim)
            oracle.accumulate(plane, np.ones(1), total)
            value = float(plane.loss[0] - total @ w)
            self._claim(
                number,
                abs(value - again[number]) <= self._rounding(w, value, again[number]),
                f"the oracle's plane has value {value} by its features, {again[number]} by itself",
            )

    # --- what the task says of one example ---------------------------------------------------

    def _features(self, number: int, x: Any, y: Any) -> SparseVector:
        return as_sparse(self._call(number, "joint_features", x, y), self.task.dim)

    def _score(self, number: int, w: np.ndarray, x: Any, y: Any) -> float:
        return dot(self._features(number, x, y), w)

    def _value(self, number: int, w: np.ndarray, output: Any, rescaling: str) -> float:
        x, y = self.examples[number]
        loss = float(self._call(number, "loss", y, output))
        self._claim(number, loss >= 0, f"loss(y, {output!r}) is {loss}, expected ≥ 0")
        psi = subtract(self._features(number, x, y), self._features(number, x, output))
        margin = float(to_dense(psi) @ w)
        return loss * (1 - margin) if rescaling == "slack" else loss - margin

    def _rounding(self, w: np.ndarray, *values: float) -> float:
        return ROUNDING * max(1.0, float(np.abs(w).sum()), *(abs(v) for v in values))

    def _call(self, number: int, method: str, *args: Any) -> Any:
        try:
            return getattr(self.task, method)(*args)
        except DistSVMError:
            raise
        except Exception as error:
            raise TaskError(
                f"example {number}: {method} raised {type(error).__name__}: {error}"
            ) from error

    def _claim(self, number: int, holds: bool, otherwise: str) -> None:
        if not holds:
            raise TaskError(f"example {number}: {otherwise}")


def canonical_equal(a: Any, b: Any) -> bool:
    """Whether two outputs are equal, arrays by their elements."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)
