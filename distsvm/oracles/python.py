"""The oracle of tasks written in Python: a loop over examples that checks every result."""

from __future__ import annotations

import json
import pickle
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from distsvm import checks
from distsvm.data.shard import Shard
from distsvm.errors import DistSVMError, TaskError
from distsvm.messages import Planes
from distsvm.oracles.climber import Flat
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.outputs import canonical, digest, to_json
from distsvm.oracles.search import Separation
from distsvm.oracles.task import Bounded, Task
from distsvm.vectors import SparseVector, dot, scale, subtract

# The value of a found plane may be below 0 by this part of the terms of its sum.
ROUNDING = 1e-9
EMPTY = SparseVector(np.zeros(0, np.int64), np.zeros(0), 0)


@dataclass(frozen=True, eq=False)
class Plane:
    """An output with its p, so that cached planes need no call of the user's code."""

    output: Any
    p: SparseVector


def as_sparse(features: Any, dim: int) -> SparseVector:
    """Return the result of joint_features as a SparseVector; refuse bad shapes and values."""
    if isinstance(features, Mapping):
        vector = SparseVector.of(dict(features), dim)
    elif isinstance(features, SparseVector):
        vector = features
    else:
        try:
            array = np.asarray(features, dtype=np.float64)
        except (TypeError, ValueError):
            array = None
        if features is None or array is None:
            raise TaskError(
                f"joint_features returned {_shown(features)}, expected an array of {dim} numbers, "
                "a dict of positions and values, or a SparseVector"
            )
        if array.shape != (dim,):
            raise TaskError(f"joint_features has shape {array.shape}, expected ({dim},)")
        index = np.flatnonzero(array)
        vector = SparseVector(index, array[index], dim)
    if vector.dim != dim:
        raise TaskError(f"joint_features has dim {vector.dim}, expected {dim}")
    if vector.index.size and not (vector.index[0] >= 0 and vector.index[-1] < dim):
        raise TaskError(f"joint_features has positions outside 0 … {dim - 1}")
    if np.any(np.diff(vector.index) <= 0):
        raise TaskError("joint_features has positions that do not increase")
    if not np.isfinite(vector.value).all():
        raise TaskError("joint_features has a value that is not finite")
    return vector


def checked(task: Task, method: str, found: Any) -> Any:
    """Return a task method's result in the engine's form; refuse results without one."""
    if method == "joint_features":
        return as_sparse(found, task.dim)
    if method == "loss":
        return _as_loss(found)
    if method in ("decode", "separate"):
        return _as_output(method, found)
    return found


def _as_loss(loss: Any) -> float:
    try:
        if not isinstance(loss, (str, bytes)):  # float() would accept digits in text
            return float(loss)
    except (TypeError, ValueError):
        pass
    raise TaskError(f"loss returned {_shown(loss)}, expected a number ≥ 0")


def check_largest_loss(task: Task) -> None:
    """Refuse a largest_loss that is not a number, such as a method without @property."""
    if not isinstance(task.largest_loss, (int, float, np.number)):
        raise TaskError(
            f"largest_loss is {_shown(task.largest_loss)}, expected a number ≥ 0, as an attribute "
            "or a property"
        )


def _as_output(method: str, answer: Any) -> Any:
    """Return the answer; refuse None, the result of a method without a return statement."""
    if answer is None or (isinstance(answer, Bounded) and answer.output is None):
        raise TaskError(
            f"{method} returned {_shown(answer)}, expected an output; is a return missing? An "
            "output that stands for nothing needs a value of its own, such as ()"
        )
    return answer


def _shown(value: Any) -> str:
    return f"{reprlib.repr(value)} ({type(value).__name__})"


class PythonOracle(Oracle):
    """Calls the task example by example; stores p of every plane for cached rounds."""

    def __init__(self, task: Task, shard: Shard, rescaling: str) -> None:
        check_largest_loss(task)
        super().__init__(task, shard, rescaling)
        self.inputs: Sequence[Any] = shard.x  # type: ignore[assignment]
        self.true_outputs: Any = () if shard.y is None else shard.y
        self.rescaling, self.weight = rescaling, shard.weight
        if shard.y is not None:
            for row in range(self.n):
                self.names.call(row, self._check_truth, row)

    def separate(self, view: Any, rows: np.ndarray) -> Separation:
        planes = np.empty(rows.size, dtype=object)
        loss, q, value, upper = (np.empty(rows.size) for _ in range(4))
        exact = True
        for i, row in enumerate(rows.tolist()):
            if self.is_late():
                rows, planes, loss, q, value, upper = (
                    a[:i] for a in (rows, planes, loss, q, value, upper)
                )
                break
            planes[i], loss[i], q[i], value[i], bound = self.names.call(row, self._ask, view, row)
            exact &= bound is None
            upper[i] = value[i] if bound is None else bound
        found = Planes(rows, planes, loss if self.q_is_loss else q, loss)
        return Separation(found, value, upper, exact)

    def decode(self, view: Any, rows: np.ndarray) -> list[Any]:
        in_time = takewhile(lambda _: not self.is_late(), rows.tolist())
        return [self.names.call(row, self._decoded, view, row) for row in in_time]

    def losses(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        pairs = zip(rows.tolist(), self.public(outputs), strict=True)
        return np.array([self.names.call(row, self._loss, row, output) for row, output in pairs])

    def public(self, outputs: Any) -> Any:
        return [found.output if isinstance(found, Plane) else found for found in outputs]

    def slots(self, size: int) -> np.ndarray:
        return np.empty(self.n * size, dtype=object)

    def keys(self, outputs: Any) -> np.ndarray:
        encoded = (canonical(self.task.encode_output(plane.output)) for plane in outputs)
        return np.fromiter((digest(text) for text in encoded), np.int64, len(outputs))

    def pack_outputs(self, outputs: Any) -> dict[str, np.ndarray]:
        text = json.dumps([self.task.encode_output(plane.output) for plane in outputs]).encode()
        return {"output": np.frombuffer(text, dtype=np.uint8)}

    def unpack_outputs(self, arrays: dict[str, np.ndarray], row: np.ndarray, q: np.ndarray) -> Any:
        outputs = np.empty(row.size, dtype=object)
        encoded = json.loads(checks.vector("output", arrays["output"], "u1").tobytes())
        packed = zip(row.tolist(), encoded, q.tolist(), strict=True)
        for i, (number, data, its_q) in enumerate(packed):
            decoded = self.task.decode_output(data)
            outputs[i] = self.names.call(number, self._plane, number, decoded, its_q)
        return outputs

    def contents(self, start: int, stop: int) -> Iterable[np.ndarray | None]:
        for row in range(start, stop):
            example = [_plain(self.inputs[row]), _plain(self.true_outputs[row])]
            yield np.frombuffer(canonical(example).encode(), np.uint8)
        yield None if self.weight is None else self.weight[start:stop]

    def norms(self) -> tuple[np.ndarray, float | None]:
        norms = np.empty(self.n)
        for row in range(self.n):
            truth = self.names.call(row, self._features, row, self.true_outputs[row])
            norms[row] = truth.value @ truth.value
        radius = self.task.radius()
        return norms, None if radius is None else radius**2

    def _decoded(self, w: np.ndarray, row: int) -> Any:
        return self._call("decode", w, self.inputs[row])

    def least_losses(self, rows: np.ndarray) -> np.ndarray | None:
        return np.ones(rows.size) if self.task.zero_one_loss else None

    def _ask(self, w: np.ndarray, row: int) -> tuple[Plane, float, float, float, float | None]:
        x, y = self.inputs[row], self.true_outputs[row]
        by_loss = self.q_is_loss or self.task.zero_one_loss
        more = () if by_loss else (self.penalty,)
        answer = self._call("separate", w, x, y, self.rescaling, *more)
        bound = None
        if isinstance(answer, Bounded):
            answer, bound = answer.output, float(answer.upper)
        loss = self._loss(row, answer)
        if self.task.zero_one_loss and loss not in (0.0, 1.0):
            raise TaskError(f"loss returned {loss:g}, but zero_one_loss says that it is 0 or 1")
        q = float(self.q_of(np.array(loss)))
        plane = self._plane(row, answer, q)
        value = q - dot(plane.p, w)
        tolerance = ROUNDING * (q + float(np.abs(plane.p.value) @ np.abs(w[plane.p.index])))
        if value < -tolerance:
            raise TaskError(
                f"separate returned {answer!r}, whose value {value:.6g} is below 0, the truth's: "
                "it is not the most violated output"
            )
        if bound is not None and not bound >= value - tolerance:
            raise TaskError(f"separate gave the upper bound {bound:.6g} for the value {value:.6g}")
        # The truth has the plane (0, 0), so the maximum is at least 0. A value below 0 by rounding
        # must not lower the primal value.
        return plane, loss, q, max(value, 0.0), None if bound is None else max(bound, value, 0.0)

    def _plane(self, row: int, output: Any, q: float) -> Plane:
        truth = self._features(row, self.true_outputs[row])
        psi = subtract(truth, self._features(row, output))
        return Plane(output, scale(psi, q) if self.slack else psi)  # type: ignore[arg-type]

    def _features(self, row: int, output: Any) -> SparseVector:
        return self._call("joint_features", self.inputs[row], output)

    def _loss(self, row: int, output: Any) -> float:
        loss = self._call("loss", self.true_outputs[row], output)
        if not (np.isfinite(loss) and loss >= 0):
            raise TaskError(f"loss(y, {output!r}) is {loss}, expected a finite number ≥ 0")
        return loss

    def _check_truth(self, row: int) -> None:
        loss = self._loss(row, self.true_outputs[row])
        if loss != 0:
            raise TaskError(f"loss(y, y) is {loss}, expected 0")

    def flat(self, planes: Planes) -> Flat:
        parts = [EMPTY, *(plane.p for plane in planes.output)]
        starts = np.cumsum([part.index.size for part in parts], dtype=np.int64)
        index = np.concatenate([part.index for part in parts]).astype(np.int64, copy=False)
        value = np.concatenate([part.value for part in parts])
        return index, value, starts

    def _call(self, method: str, *args: Any) -> Any:
        """Call a method of the task; its exceptions become a TaskError that names the method."""
        try:
            return checked(self.task, method, getattr(self.task, method)(*args))
        except DistSVMError:
            raise
        except (Exception, SystemExit, GeneratorExit) as error:  # Ctrl-C is not the task's error
            raise TaskError(
                f"{type(self.task).__name__} failed in {method}: {type(error).__name__}: {error}"
            ) from error


def _plain(value: Any) -> Any:
    """Return a value as JSON-able data for a digest: its pickle if it has no other form.

    It is pickled twice, because loading a pickle changes which parts of a value are shared objects,
    and with them the bytes of the next pickle.
    """
    try:
        return to_json(value)
    except TaskError:
        return pickle.dumps(pickle.loads(pickle.dumps(value))).hex()
