"""The risk of examples: R(w) = Σ c_i·H_i(w) / Σ c_i, computed by the workers that own them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distsvm.cuts.cut import Cut
from distsvm.messages import Sums
from distsvm.risks.algebra import combination, products
from distsvm.risks.base import Answer, CutRisk
from distsvm.vectors import Vector, compact, dot, scale, to_dense

# Vectors up to this length stay dense, and are multiplied as one matrix: sparse ones would save
# less than they cost in Python.
SHORT = 4096


class ExampleRisk(CutRisk):
    """Turns w into cuts by one call of every shard; one block unless each has a slack."""

    def fresh(self, w: np.ndarray) -> Answer:
        return self._answer("fresh", w)

    def cached(self, w: np.ndarray) -> Answer:
        return self._answer("cached", w)

    def refresh(self, w: np.ndarray, round_number: int, fraction: float) -> Answer:
        return self._answer("refresh", w, round_number, fraction)

    def is_empty(self, cut: Cut) -> bool:
        return not (cut.b > 0 or dot(cut.a, cut.a) > 0)

    def gram_row(self, cut: Cut, cuts: Sequence[Cut]) -> np.ndarray:
        if self.dim <= SHORT:
            return _stacked(cuts) @ cut.a
        return products([other.a for other in cuts], cut.a)

    def combine(self, vectors: Sequence[Vector], coefficients: np.ndarray) -> Vector:
        return _canonical(self._sum(vectors, coefficients))

    def weights(self, cuts: Sequence[Cut], alpha: np.ndarray) -> np.ndarray:
        support = np.flatnonzero(alpha)
        if self.dim <= SHORT and support.size:
            return alpha[support] @ _stacked([cuts[j] for j in support.tolist()])
        return self._sum([cut.a for cut in cuts], alpha)

    def _sum(self, vectors: Sequence[Vector], coefficients: np.ndarray) -> np.ndarray:
        support = np.flatnonzero(coefficients).tolist()
        return combination([vectors[j] for j in support], coefficients[support], self.dim)

    def _answer(self, method: str, *args: Any) -> Answer:
        workers = self._workers
        sums: list[Sums] = workers.executor.reduce("on_part", method, *args, groups=workers.blocks)
        share = 1.0 / workers.total_weight
        n_fresh = sum(s.n_fresh for s in sums)
        return Answer(
            cuts=[
                Cut(_canonical(scale(s.a, share)), share * s.b, block)
                for block, s in enumerate(sums)
            ],
            risk=share * sum(s.upper for s in sums),
            fresh=n_fresh == workers.n_examples,
            exact=all(s.exact for s in sums),
            n_calls=sum(s.n_calls for s in sums),
            n_hits=sum(s.n_hits for s in sums),
            n_planes=sum(s.n_planes for s in sums),
            late=any(s.late for s in sums),
        )


def _stacked(cuts: Sequence[Cut]) -> np.ndarray:
    return np.array([cut.a for cut in cuts])


def _canonical(a: Vector) -> Vector:
    """Return the vector in the form that its entries determine, whatever the executor's was.

    The order of a product's sum depends on the form, and bits depend on the order.
    """
    return to_dense(a) if a.size <= SHORT else compact(a)
