"""Block-coordinate Frank–Wolfe: dual ascent with one plane an example, and no cached pass.

What the multi-plane solver is compared with. Every example keeps the average of all planes that it
was ever moved to; each visit asks the oracle at the present w, and goes towards its answer by the
exact step. The result is its last w, not an average. The loop is Python, one example at a time: its
oracle calls can be compared with any solver's, its seconds only roughly.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from distsvm import Task
from distsvm.blas import one_thread
from distsvm.data import open_data
from distsvm.oracles.oracle import Oracle
from distsvm.vectors import SparseVector, Vector, add, add_into, dot, scale
from distsvm.workers.cut_part import CutPartMaker
from distsvm.workers.shard_worker import ShardWorker


class Certified(NamedTuple):
    """What was known after a full pass at one w, and what it took to get there."""

    n_calls: int
    seconds: float
    gap: float


class FrankWolfe:
    """min ½‖w‖² + C·R(w) with one averaged plane an example: w = Σ w_i, D = Σ l_i − ½‖w‖².

    Parameters
    ----------
    task, data :
        As for `distsvm.train`; all data is one shard.
    """

    def __init__(self, task: Task, data: tuple[Any, ...], C: float, seed: int = 0) -> None:
        (spec,) = open_data(*data, tables=task.tables).specs(1)
        worker = ShardWorker(spec)
        self.task = task.prepare(worker.scan(task))
        facts = worker.bind(self.task, "margin", CutPartMaker(0), fingerprint=False, first=0)
        self.C, self.n = C, facts.n_examples
        self.share = C * worker.weight / facts.weight
        self.oracles = [worker.oracle.take(np.array([i])) for i in range(self.n)]
        nothing = SparseVector(np.zeros(0, np.int32), np.zeros(0), self.task.dim)
        self.planes: list[Vector] = [nothing] * self.n
        self.losses = np.zeros(self.n)
        self.w = np.zeros(self.task.dim)
        self.random = np.random.default_rng(seed)

    def run(self, thresholds: Sequence[float], max_passes: float, max_s: float) -> list[Certified]:
        """Passes until gap/C is at the smallest threshold, or a limit; what they certified.

        A pass that certifies comes when the visits' own shares of the gap, each at its own time,
        add up to no more than the next threshold.
        """
        started, n_calls, primal, dual = time.perf_counter(), 0, np.inf, 0.0
        ahead, found = sorted(thresholds), []
        with one_thread():
            while ahead:
                seen = sum(self._visit(i) for i in self.random.permutation(self.n).tolist())
                n_calls += self.n
                at_limit = n_calls >= max_passes * self.n or time.perf_counter() - started >= max_s
                if seen > ahead[-1] * self.C and not at_limit:
                    continue
                fresh = self._certify()
                n_calls += self.n
                primal, dual = min(primal, fresh[0]), max(dual, fresh[1])
                found.append(Certified(n_calls, time.perf_counter() - started, primal - dual))
                if at_limit:
                    break
                ahead = [t for t in ahead if primal - dual > t * self.C]
        return found

    def _visit(self, i: int) -> float:
        """Go towards the most violated plane of example i; its share of the gap before that."""
        share = self.share[i]
        p, loss, _ = most_violated(self.oracles[i], self.w)
        away = add(scale(p, share), scale(self.planes[i], -1.0))
        more = share * loss - self.losses[i]
        gap, square = more - dot(away, self.w), dot(away, away)
        if gap <= 0:
            return 0.0
        step = 1.0 if gap >= square else gap / square  # a plane may have loss and no features
        add_into(self.w, step, away)
        self.planes[i] = add(self.planes[i], scale(away, step))
        self.losses[i] += step * more
        return gap

    def _certify(self) -> tuple[float, float]:
        """P and D at one w, which is made anew from the planes."""
        self.w = np.zeros(self.task.dim)
        for plane in self.planes:
            add_into(self.w, 1.0, plane)
        half = 0.5 * dot(self.w, self.w)
        hinge = [most_violated(oracle, self.w)[2] for oracle in self.oracles]
        return half + float(self.share @ hinge), float(self.losses.sum()) - half


def most_violated(oracle: Oracle, w: np.ndarray) -> tuple[Vector, float, float]:
    """(p, q, upper bound of H) of an oracle that has one example only."""
    answer = oracle.separate(oracle.view(w), np.zeros(1, np.int64))
    total = oracle.total(w.size)
    total.add(answer.planes, np.ones(1))
    return total.vector(), float(answer.planes.q[0]), float(answer.upper[0])
