"""The part of n-slack in a worker: no state, only searches for violated planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from distsvm.errors import ConfigError
from distsvm.messages import Planes, Violated
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.search import Separation
from distsvm.vectors import index_type
from distsvm.wording import Setting, message
from distsvm.workers.asking import asked
from distsvm.workers.part import NoPart
from distsvm.workers.shard_worker import ShardWorker
from distsvm.workers.support import numbers_of, texts_of


@dataclass(frozen=True)
class AskPartMaker:
    """Makes parts that search for planes of this penalty."""

    penalty: str

    def __call__(self, worker: ShardWorker) -> AskPart:
        worker.oracle.penalise(self.penalty)
        return AskPart(worker)


class AskPart(NoPart):
    """Finds the planes that are violated by more than ε, and returns each with p and output."""

    def __init__(self, worker: ShardWorker) -> None:
        self._worker, self.oracle = worker, worker.oracle

    def weights(self) -> np.ndarray:
        """Return c_i of all examples."""
        return self._worker.weight

    def names(self, rows: Sequence[int]) -> list[str]:
        """Return the names of these examples in messages."""
        return [self.oracle.names[row] for row in rows]

    def ask(self, w: np.ndarray, eps: float, start: int, stop: int, slack: np.ndarray) -> Violated:
        """Return the violated planes of the examples start … stop − 1, which have these ξ, at w.

        Examples of weight 0 are left out. With a hard margin, ε is relative to the smallest margin
        that an example may need.
        """
        oracle, weight = self.oracle, self._worker.weight
        rows = start + np.flatnonzero(weight[start:stop] > 0)
        view, found = oracle.view(w), Violated.none(oracle.dim)
        with self._worker.limited():
            pieces = oracle.chunks(rows)
            for answer in asked(self._worker.team, oracle, view, pieces, oracle.piece):
                planes = answer.planes
                least = np.ones(len(planes))
                if oracle.penalty == "hard":
                    least = _least_margins(oracle, planes.row)
                most = slack[planes.row - start] + eps * least
                new = np.flatnonzero(answer.value > most)
                found = found.followed_by(self._written(answer, least, planes.take(new)))
        late = found.n_calls < rows.size
        return found.ended(late)

    def _written(self, answer: Separation, least: np.ndarray, planes: Planes) -> Violated:
        oracle, weight = self.oracle, self._worker.weight
        upper, own = answer.upper, weight[answer.planes.row]
        squared = oracle.penalty == "quadratic"
        total = float(own @ (0.5 * upper**2 if squared else upper))
        index, value, starts = oracle.flat(planes)
        p = sparse.csr_matrix((value, index, starts), shape=(len(planes), oracle.dim), copy=True)
        p.sum_duplicates()
        p.eliminate_zeros()
        return Violated(
            row=planes.row, number=numbers_of(oracle, planes.row), weight=weight[planes.row],
            q=planes.q, loss=planes.loss, key=oracle.keys(planes.output),
            index=p.indices.astype(index_type(oracle.dim)), value=p.data, length=np.diff(p.indptr),
            output=texts_of(oracle, planes), total=total,
            worst=float((upper / least).max(initial=0.0)),
            n_calls=len(answer.planes), exact=answer.exact, late=False,
        )  # fmt: skip


def _least_margins(oracle: Oracle, rows: np.ndarray) -> np.ndarray:
    """Return the smallest margin above 0 that each of these examples may need."""
    if oracle.slack:
        return np.ones(rows.size)
    least = oracle.least_losses(rows)
    if least is None:
        raise ConfigError(
            message(
                "{} with {} needs the smallest loss of an example, which {} does not give; "
                "expected {}, or a task whose zero_one_loss is True",
                Setting("penalty", "hard"),
                Setting("rescaling", "margin"),
                type(oracle.task).__name__,
                Setting("rescaling", "slack"),
            )
        )
    return least
