"""Tests of a user's own task."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.errors import DistSVMError, TaskError, renamed
from distsvm.oracles.contracts import ROUNDING, Contracts, rounding
from distsvm.oracles.python import check_largest_loss, checked
from distsvm.oracles.task import Bounded, Task
from distsvm.vectors import SparseVector, dot, subtract, to_dense

VALUES = {
    "margin": "Δ(y, ŷ) − ⟨w, Ψ(x, y) − Ψ(x, ŷ)⟩",
    "slack": "Δ(y, ŷ)·(1 − ⟨w, Ψ(x, y) − Ψ(x, ŷ)⟩)",
}
"""What separate maximises, by rescaling."""


def check_task(
    task: Task,
    examples: Sequence[tuple[Any, Any]],
    *,
    outputs: Callable[[Any], Iterable[Any]] | None = None,
    n_points: int = 5,
    seed: int = 0,
) -> None:
    """Raise a TaskError that names the example and the broken promise of a task.

    Parameters
    ----------
    task : Task, prepared if it has to be
    examples : list of (x, y)
        A few small ones.
    outputs : function of x, optional
        All possible outputs for x. With it the searches are compared with enumeration; without it
        with the truth and with all outputs that were found for x at any w.
    n_points : int
        The number of random w, besides w = 0.
    seed : int
    """
    check = _Check(task, examples, outputs)
    check.contract()
    rng = np.random.default_rng(seed)
    points = [np.zeros(task.dim)]
    points += [rng.standard_normal(task.dim) * 10.0**e for e in np.linspace(-2, 1, n_points)]
    for w in points:
        w.flags.writeable = False  # as in workers
    for number in range(len(examples)):
        check.searches(points, number)
    for w in points:
        for rescaling in sorted(task.rescalings):
            check.oracle(w, rescaling)


@dataclass(frozen=True, eq=False)
class _Rival:
    """An output with Δ(y, ŷ), Ψ(x, ŷ) and ψ = Ψ(x, y) − Ψ(x, ŷ)."""

    output: Any
    loss: float
    features: SparseVector
    psi: np.ndarray

    def value(self, w: np.ndarray, rescaling: str) -> float:
        """Return the value that separate maximises."""
        margin = float(self.psi @ w)
        return self.loss * (1 - margin) if rescaling == "slack" else self.loss - margin


class _Check:
    def __init__(
        self,
        task: Task,
        examples: Sequence[tuple[Any, Any]],
        outputs: Callable[[Any], Iterable[Any]] | None,
    ) -> None:
        self.task, self.examples, self.outputs = task, examples, outputs

    def contract(self) -> None:
        """Check the promises that do not depend on w."""
        if not (isinstance(self.task.dim, (int, np.integer)) and self.task.dim > 0):
            raise TaskError(f"dim is {self.task.dim!r}, expected a whole number > 0")
        if not set(self.task.rescalings) <= {"margin", "slack"} or not self.task.rescalings:
            raise TaskError(
                f"rescalings is {self.task.rescalings!r}, expected margin, slack or both"
            )
        check_largest_loss(self.task)
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
                _equal(back, y),
                f"decode_output(encode_output(y)) is {back!r}, expected {y!r}",
            )
            cost = self._call(number, "cost", x)
            self._claim(number, cost > 0, f"cost(x) is {cost}, expected > 0")

    def searches(self, points: Sequence[np.ndarray], number: int) -> None:
        """Check that decode and separate find maxima at every w, among all outputs found.

        An answer that is wrong at one w is often right at another: the pool of all answers reveals
        a search that ignores the loss, also where outputs cannot be listed.
        """
        x, y = self.examples[number]
        kinds = sorted(self.task.rescalings)
        decoded = [self._call(number, "decode", w, x) for w in points]
        answers = {
            rescaling: [self._separate(number, w, rescaling) for w in points] for rescaling in kinds
        }
        pool = [y, *decoded, *(output for found in answers.values() for output, _ in found)]
        pool += [] if self.outputs is None else list(self.outputs(x))
        rivals = [self._rival(number, output) for output in pool]
        competing = [one for one in rivals if self._call(number, "competes", y, one.output)]
        for i, w in enumerate(points):
            self._decodes(number, w, decoded[i], rivals)
            for rescaling in kinds:
                self._separates(number, w, rescaling, answers[rescaling][i], competing)

    def _rival(self, number: int, output: Any) -> _Rival:
        """Return an output with its Δ and Ψ, which do not depend on w."""
        x, y = self.examples[number]
        loss = self._call(number, "loss", y, output)
        self._claim(number, loss >= 0, f"loss(y, {output!r}) is {loss}, expected ≥ 0")
        largest = self.task.largest_loss
        self._claim(
            number,
            loss <= largest * (1 + ROUNDING),
            f"loss(y, {output!r}) is {loss:.6g}, above largest_loss, which is {largest:.6g}",
        )
        psi = subtract(self._features(number, x, y), self._features(number, x, output))
        return _Rival(output, loss, self._features(number, x, output), to_dense(psi))

    def _decodes(self, number: int, w: np.ndarray, found: Any, rivals: Sequence[_Rival]) -> None:
        score = dot(self._rival(number, found).features, w)
        for rival in rivals:
            other = dot(rival.features, w)
            self._claim(
                number,
                score >= other - rounding(w, score, other),
                f"decode gives {found!r} with score {score:.6g}, but {rival.output!r} has "
                f"{other:.6g}",
            )

    def _separate(self, number: int, w: np.ndarray, rescaling: str) -> tuple[Any, float | None]:
        """Return the answer of separate, and its upper bound if it has one."""
        x, y = self.examples[number]
        answer = self._call(number, "separate", w, x, y, rescaling)
        if isinstance(answer, Bounded):
            return answer.output, answer.upper
        return answer, None

    def _separates(
        self, number: int, w: np.ndarray, rescaling: str, found: tuple[Any, float | None],
        rivals: Sequence[_Rival],
    ) -> None:  # fmt: skip
        answer, upper = found
        reached = self._rival(number, answer).value(w, rescaling)
        limit = reached if upper is None else upper
        for rival in rivals:
            value = rival.value(w, rescaling)
            self._claim(
                number,
                limit >= value - rounding(w, limit, value),
                f"separate({rescaling}) gives {answer!r} with value {limit:.6g}, but "
                f"{rival.output!r} has {value:.6g}; expected the largest value of "
                f"{VALUES[rescaling]}",
            )
        self._claim(
            number,
            upper is None or upper >= reached - rounding(w, upper, reached),
            f"separate({rescaling}) bounds by {upper}, below the value {reached} of its own answer",
        )

    def oracle(self, w: np.ndarray, rescaling: str) -> None:
        """Check the contracts of the bound oracle with the planes that it finds at w."""
        inputs, truths = [x for x, _ in self.examples], [y for _, y in self.examples]
        oracle = self.task.oracle(self.task.shard(inputs, truths), rescaling)
        check = Contracts(oracle, w, self._claim)
        for number, output in enumerate(check.outputs):
            rival = self._rival(number, output)
            own = to_dense(self._features(number, *self.examples[number]))
            check.plane(number, rival.loss, rival.psi, own)
        check.planes()

    # --- calls of the task for one example ---------------------------------------------------

    def _features(self, number: int, x: Any, y: Any) -> SparseVector:
        return self._call(number, "joint_features", x, y)

    def _call(self, number: int, method: str, *args: Any) -> Any:
        try:
            return checked(self.task, method, getattr(self.task, method)(*args))
        except DistSVMError as error:
            raise renamed(error, f"example {number}") from error
        except Exception as error:
            raise TaskError(
                f"example {number}: {method} raised {type(error).__name__}: {error}"
            ) from error

    def _claim(self, number: int, holds: bool, otherwise: str) -> None:
        if not holds:
            raise TaskError(f"example {number}: {otherwise}")


def _equal(a: Any, b: Any) -> bool:
    """Return whether two outputs are equal, arrays by their elements."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)
