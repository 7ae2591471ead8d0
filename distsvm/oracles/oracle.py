"""The oracle: a task bound to one shard, which handles many examples in one call."""

from __future__ import annotations

from distsvm.data.shard import Shard
from distsvm.oracles.algebra import PlaneAlgebra
from distsvm.oracles.packing import Packing
from distsvm.oracles.search import Search
from distsvm.oracles.task import Task


class Oracle(Search, PlaneAlgebra, Packing):
    """Searches and computes with the planes of a shard; rows are numbers of its examples.

    A plane is (p, q) = (ψ, q) for margin rescaling and (q·ψ, q) for slack rescaling, with
    ψ = Ψ(x, y) − Ψ(x, ŷ) and q = Δ for the linear penalty. Callers need not know the rescaling and
    the penalty. A compiled structure needs `separate`, `decode`, `losses`, `public`, `features`,
    `numbering` and `examples`; the rest has defaults.
    """

    def __init__(self, task: Task, shard: Shard, rescaling: str) -> None:
        self.task, self.dim, self.slack = task, task.dim, rescaling == "slack"
        self.n, self.names = shard.n, shard.names
