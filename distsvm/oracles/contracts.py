"""Check an oracle's contracts at one w; for distsvm.testing.check_task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distsvm.kernels.climb import Held
from distsvm.messages import Planes
from distsvm.oracles.oracle import Oracle
from distsvm.vectors import to_dense

ROUNDING = 1e-9


def rounding(w: np.ndarray, *values: float) -> float:
    """Return the largest difference that rounding may make between sums of products with w."""
    return ROUNDING * max(1.0, float(np.abs(w).sum()), *(abs(v) for v in values))


class Contracts:
    """Checks of the planes that an oracle finds at w for all of its examples.

    Parameters
    ----------
    oracle : Oracle, with at least one example
    w : array
    claim : function of an example's number, whether a check holds, and the message if it does not
    """

    def __init__(
        self, oracle: Oracle, w: np.ndarray, claim: Callable[[int, bool, str], None]
    ) -> None:
        self.oracle, self.w, self._claim = oracle, w, claim
        self._view = oracle.view(w)
        rows = np.arange(oracle.n)
        self._answer = oracle.separate(self._view, rows)
        self._planes = planes = self._answer.planes
        self.outputs = oracle.public(planes.output)
        self._values = oracle.values(self._view, planes)
        self._losses = oracle.losses(rows, planes.output)
        self._norms, _ = oracle.norms()
        self._P = np.zeros((oracle.n, oracle.dim))
        for row in rows.tolist():
            oracle.accumulate(planes.take(np.array([row])), np.ones(1), self._P[row])

    def plane(self, number: int, loss: float, psi: np.ndarray, own: np.ndarray) -> None:
        """Check that an example's plane has the Δ and ψ of its output; `own` is Ψ(x, y)."""
        found, value = self._answer.value[number], self._values[number]
        self._claim(
            number,
            abs(found - value) <= rounding(self.w, found, value),
            f"the oracle's value {found} is not its plane's, {value}",
        )
        p, q = self._P[number], self._planes.q[number]
        by_features = float(q - p @ self.w)
        self._claim(
            number,
            abs(by_features - value) <= rounding(self.w, by_features, value),
            f"the oracle's plane has value {by_features} by its features, {value} by itself",
        )
        distance = np.abs(p - (q * psi if self.oracle.slack else psi)).max()
        for name, other, expected in (
            ("loss of its plane", self._planes.loss[number], loss),
            ("loss of its output", self._losses[number], loss),
            ("distance of its plane from that of Ψ", distance, 0.0),
            ("square norm of the truth", self._norms[number], own @ own),
        ):
            self._equals(number, name, other, expected)

    def planes(self) -> None:
        """Check packing, visits and Gram matrices of all planes."""
        self._packed()
        # The truth's planes are never held.
        held = np.flatnonzero((self._planes.loss > 0) | (self._answer.value > 0))
        if held.size:
            self._climbed(self._planes.take(held), self._P[held])

    def _packed(self) -> None:
        """Check that slots and files give back the same planes."""
        oracle, planes = self.oracle, self._planes
        slots, key = oracle.slots(2), oracle.keys(planes.output)
        slots[2 * planes.row + 1] = planes.output
        back = oracle.unpack(oracle.pack(planes))
        for kept in (slots[2 * planes.row + 1], back.output):
            for number in np.flatnonzero(oracle.keys(kept) != key).tolist():
                self._claim(number, False, "the output has another key after it was put aside")
        again = oracle.values(self._view, back)
        for number in np.flatnonzero(again != self._values).tolist():
            self._claim(number, False, "the plane has another value after it was in a file")

    def _climbed(self, planes: Planes, P: np.ndarray) -> None:
        """Check that visits change w by Σ α·p, and that Gram matrices fit the planes."""
        oracle, n, row = self.oracle, self.oracle.n, planes.row
        outputs, slot = oracle.slots(1), np.zeros(row.size, np.int64)
        outputs[row] = planes.output
        held = Held(
            count=np.zeros(n, np.int32), q=np.zeros((n, 1)), alpha=np.zeros((n, 1)),
            gram=np.zeros((n, 1, 1)), idle=np.zeros((n, 1), np.int16), total=np.ones(n),
            gap=np.zeros(n),
        )  # fmt: skip
        held.count[row], held.q[row, slot] = 1, planes.q
        oracle.climb_beside(1)
        vectors = oracle.vectors(np.inf)
        vectors.resize(1, 0)
        vectors.fill_gram(held, outputs, row, slot)
        for number, p in zip(row.tolist(), P, strict=True):
            self._equals(number, "square norm of its plane", held.gram[number, 0, 0], p @ p)
        climber = vectors.climber(self.w, 1.0)
        linear = climber.visit(held, outputs, row, 0.0).linear
        alpha, last = held.alpha[row, 0], int(row[-1])
        distance = np.abs(to_dense(climber.change()) - alpha @ P).max()
        terms = max(1.0, float(np.abs(self.w).max()), float(np.abs(P).sum()))
        self._claim(
            last,
            distance <= ROUNDING * terms,
            f"visits of planes up to its own change w by another sum than Σ α·p; the largest "
            f"difference is {distance:.6g}",
        )
        self._equals(last, "Σ α·q of planes up to its own", linear, alpha @ planes.q)

    def _equals(self, number: int, name: str, found: float, expected: float) -> None:
        self._claim(
            number,
            abs(found - expected) <= ROUNDING * max(1.0, abs(expected)),
            f"the oracle gives the {name} as {found:.6g}, expected {expected:.6g}",
        )
