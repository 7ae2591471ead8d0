"""A cutting-plane solver's part of a worker: a cache of planes, and sums of planes as cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.messages import Planes, Sums
from distsvm.oracles.search import Separation
from distsvm.workers.asking import asked
from distsvm.workers.cache import PlaneCache
from distsvm.workers.part import WorkerPart
from distsvm.workers.shard_worker import ShardWorker


@dataclass(frozen=True)
class CutPartMaker:
    """Makes parts that keep `cache_size` planes of each example."""

    cache_size: int

    def __call__(self, worker: ShardWorker) -> CutPart:
        return CutPart(worker, self.cache_size)


class CutPart(WorkerPart):
    """Sums one plane of each example, from the oracle or from the cache."""

    def __init__(self, worker: ShardWorker, cache_size: int) -> None:
        self._worker, self.oracle = worker, worker.oracle
        self.cache = PlaneCache(self.oracle, cache_size)
        self._round: int | None = None
        self._answers: list[Separation] = []

    @property
    def keeper(self) -> PlaneCache:
        return self.cache

    @property
    def n_bytes(self) -> int:
        return self.cache.n_bytes

    def fresh(self, w: np.ndarray) -> Sums:
        """Return the sums of an exact round, with the oracle on every example at w."""
        # Earlier answers may be of another C, whose rounds had the same numbers.
        self._round, self._answers = None, []
        view, tally = self.oracle.view(w), Tally(self._worker)
        with self._worker.limited():
            for answer in self._asked(view, np.arange(self.oracle.n)):
                tally.add_fresh(answer)
        return self._sums(tally, n_calls=tally.n_fresh, late=tally.n_fresh < self.oracle.n)

    def cached(self, w: np.ndarray) -> Sums:
        """Return sums of cached planes alone."""
        view, tally = self.oracle.view(w), Tally(self._worker)
        for rows in self.oracle.chunks(np.arange(self.oracle.n)):
            tally.add_cached(*self.cache.best(view, rows))
        return self._sums(tally, n_calls=0)

    def refresh(self, w: np.ndarray, round_number: int, fraction: float) -> Sums:
        """Return sums with new planes of the next `fraction` of the examples, else cached ones.

        Calls with one round number belong to one w; each searches examples that earlier ones left
        out, and uses the earlier planes again. Once all examples were searched, the sums are those
        of an exact round, and n_fresh is their number. The next round begins where the last one
        ended, so that every example has its turn.
        """
        n, view, tally = self.oracle.n, self.oracle.view(w), Tally(self._worker)
        if round_number != self._round:
            self._round, self._answers = round_number, []
        n_asked = sum(len(answer.planes) for answer in self._answers)
        wanted = (self.turn + np.arange(min(n - n_asked, int(np.ceil(fraction * n))))) % max(1, n)
        n_more = 0
        with self._worker.limited():
            for answer in self._asked(view, wanted):
                self._answers.append(answer)
                n_more += len(answer.planes)
        self.turn = int((self.turn + n_more) % max(1, n))  # n is 0 if all examples were dropped
        waiting = np.ones(n, dtype=bool)
        for answer in self._answers:
            waiting[answer.planes.row] = False
            tally.add_fresh(answer)
        for rows in self.oracle.chunks(np.flatnonzero(waiting)):
            tally.add_cached(*self.cache.best(view, rows))
        return self._sums(tally, n_calls=n_more, late=n_more < wanted.size)

    def _asked(self, view: Any, rows: np.ndarray) -> Iterator[Separation]:
        """Yield the oracle's planes of these examples, and put them into the cache."""
        oracle = self.oracle
        for answer in asked(self._worker.team, oracle, view, oracle.chunks(rows), oracle.piece):
            self.cache.insert(answer.planes)
            yield answer

    def _sums(self, tally: Tally, n_calls: int, late: bool = False) -> Sums:
        return tally.sums(n_calls=n_calls, n_planes=self.cache.n_planes, late=late)


class Tally:
    """The growing sums of one round of one shard."""

    def __init__(self, worker: ShardWorker) -> None:
        self._weight = worker.weight
        self._a = worker.oracle.total(worker.dim)
        self._b = self._upper = 0.0
        self.n_fresh = self._n_hits = 0
        self._exact = True

    def add_fresh(self, answer: Separation) -> None:
        """Add planes from the oracle."""
        self._add(answer.planes, answer.upper)
        self.n_fresh += len(answer.planes)
        self._exact &= answer.exact

    def add_cached(self, planes: Planes, values: np.ndarray) -> None:
        """Add planes from a cache."""
        self._add(planes, values)
        self._n_hits += len(planes)

    def sums(self, n_calls: int, n_planes: int, late: bool) -> Sums:
        """Return the message to the driver."""
        return Sums(
            a=self._a.vector(), b=self._b, upper=self._upper, n_fresh=self.n_fresh,
            n_calls=n_calls, n_hits=self._n_hits, n_planes=n_planes, exact=self._exact, late=late,
        )  # fmt: skip

    def _add(self, planes: Planes, upper: np.ndarray) -> None:
        weight = self._weight[planes.row]
        self._a.add(planes, weight)
        self._b += float(weight @ planes.q)
        self._upper += float(weight @ upper)
