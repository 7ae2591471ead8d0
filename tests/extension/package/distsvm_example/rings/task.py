"""RingTask: what a ring and its labels mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from distsvm import checks
from distsvm.data.shard import Shard
from distsvm.errors import DataError
from distsvm.messages import Summary
from distsvm.options import check_fields
from distsvm.oracles.shared_options import loss_scale_option
from distsvm.oracles.task import Task
from distsvm_example.rings.oracle import RingOracle, as_labels, as_ring

FIRST = np.zeros(1, dtype=np.int64)
"""The only row of an oracle of one example."""


@dataclass(frozen=True, eq=False)
class RingTask(Task):
    """Predict a label, 0 or 1, for every site of a ring.

    x is an array of shape (sites, d), y a list of labels. Ψ(x, y) has d sums of features over the
    sites of label 1, the number of these sites, and that of equal neighbours. Δ(y, ŷ) is
    `loss_scale` times the share of wrong labels.
    """

    loss_scale: float = loss_scale_option()
    n_features: int = 0  # known after prepare()

    compiled: ClassVar[bool] = True
    string_inputs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.n_features + 2

    @property
    def largest_loss(self) -> float:  # type: ignore[override]
        return self.loss_scale

    def scan(self, shard: Shard) -> Summary:
        rings = [shard.names.call(i, as_ring, x) for i, x in enumerate(shard.x)]
        return replace(super().scan(shard), n_columns=max(ring.shape[1] for ring in rings))

    def prepare(self, summary: Summary) -> RingTask:
        if not summary.n_columns:
            raise DataError("the sites have no features")
        return replace(self, n_features=summary.n_columns)

    def check_loaded(self) -> None:
        checks.number("loss_scale", self.loss_scale)
        checks.whole("n_features", self.n_features, least=1)

    def oracle(self, shard: Shard, rescaling: str) -> RingOracle:
        return RingOracle(self, shard, rescaling)

    def cost(self, x: Any) -> float:
        return float(len(x))

    # --- one example at a time, for check_task and StructuralSVM ---------------------------

    def joint_features(self, x: Any, y: Any) -> np.ndarray:
        oracle = self._of_one(x, y)
        return oracle.features(FIRST, oracle.truths(FIRST))[1]

    def loss(self, y: Any, y_hat: Any) -> float:
        wrong = as_labels(y, len(y)) != as_labels(y_hat, len(y))
        return self.loss_scale * float(np.mean(wrong))

    def decode(self, w: np.ndarray, x: Any) -> list[int]:
        oracle = self._of_one(x)
        return oracle.public(oracle.decode(oracle.view(w), FIRST))[0]

    def separate(self, w: np.ndarray, x: Any, y: Any, rescaling: str) -> list[int]:
        oracle = self._of_one(x, y, rescaling)
        return oracle.public(oracle.separate(oracle.view(w), FIRST).planes.output)[0]

    def _of_one(self, x: Any, y: Any = None, rescaling: str = "margin") -> RingOracle:
        outputs: Sequence[Any] | None = None if y is None else [y]
        return self.oracle(Shard([x], outputs, None), rescaling)
