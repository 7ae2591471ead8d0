"""RingOracle: the search over all rings of a shard, and what a plane is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from distsvm import checks
from distsvm.data.features import frozen
from distsvm.data.ragged import Ragged
from distsvm.data.shard import Shard
from distsvm.errors import DataError
from distsvm.messages import Planes
from distsvm.oracles.climber import Flat
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.packing import Numbering
from distsvm.oracles.search import Separation
from distsvm_example.rings import kernels

if TYPE_CHECKING:
    from distsvm_example.rings.task import RingTask

NO_LABELS = frozen(np.zeros(0, dtype=np.int8))


class RingOracle(Oracle):
    """Rings as rows of numbers, labels as rows of 0 and 1; all else is the contracts' default."""

    task: RingTask
    keeps_examples = True

    def __init__(self, task: RingTask, shard: Shard, rescaling: str) -> None:
        super().__init__(task, shard, rescaling)
        rings = [
            self.names.call(i, as_ring, x, task.n_features)
            for i, x in enumerate(shard.x)  # type: ignore[arg-type]
        ]
        sites = Ragged.of([ring.ravel() for ring in rings], np.float64)
        examples = {"sites": sites.frozen()}
        if shard.y is not None:
            labels = [
                self.names.call(i, as_labels, y, len(ring))
                for i, (y, ring) in enumerate(zip(shard.y, rings, strict=True))
            ]
            examples["truth"] = Ragged.of(labels, np.int8).frozen()
        if shard.weight is not None:
            examples["weight"] = shard.weight
        self.examples = examples

    @property
    def lengths(self) -> np.ndarray:
        """The number of sites of each ring."""
        return self.examples["sites"].lengths // self.task.n_features

    @property
    def numbering(self) -> Numbering:
        return Numbering(2, np.int8, self.lengths)

    # --- search ----------------------------------------------------------------------------

    def separate(self, view: np.ndarray, rows: np.ndarray) -> Separation:
        cost = self.task.loss_scale / self.lengths[rows]
        found = self._search(view, rows, self.truths(rows).values, cost)
        planes = Planes.linear(rows, found, self.losses(rows, found))
        value = np.maximum(self.values(view, planes), 0.0)  # rounding: that of the truth is 0
        return Separation(planes, value, value, exact=True)

    def decode(self, view: np.ndarray, rows: np.ndarray) -> Ragged:
        return self._search(view, rows, NO_LABELS, np.zeros(0))

    def losses(self, rows: np.ndarray, outputs: Ragged) -> np.ndarray:
        truth = self.truths(rows)
        wrong = np.add.reduceat(truth.values != outputs.values, truth.starts[:-1], dtype=float)
        return self.task.loss_scale * wrong / self.lengths[rows]

    def public(self, outputs: Ragged) -> list[list[int]]:
        return [outputs.row(i).tolist() for i in range(len(outputs))]

    # --- the flat map ----------------------------------------------------------------------

    def features(self, rows: np.ndarray, outputs: Ragged) -> Flat:
        value = np.zeros((rows.size, self.dim))
        kernels.joint_features(*self._sites(rows), frozen(outputs.values), value)
        index = np.tile(np.arange(self.dim), rows.size)
        return index, value.ravel(), self.dim * np.arange(rows.size + 1)

    # --- examples from files ---------------------------------------------------------------

    def check_examples(self, unfit: Sequence[int]) -> None:
        sites, truth = self.examples["sites"], self.examples.get("truth")
        checks.finite("sites", sites.values)
        if (sites.lengths % self.task.n_features).any() or not (self.lengths > 0).all():
            raise ValueError("sites are no rings of n_features a site")
        if truth is not None:
            checks.within("truth", truth.values, 0, 2)
            if not np.array_equal(truth.lengths, self.lengths):
                raise ValueError("rings have other numbers of labels than of sites")

    # --- within ----------------------------------------------------------------------------

    def _search(
        self, w: np.ndarray, rows: np.ndarray, truth: np.ndarray, cost: np.ndarray
    ) -> Ragged:
        features, starts = self._sites(rows)
        out = np.empty(features.shape[0], dtype=np.int8)
        kernels.search(features, starts, frozen(w), frozen(truth), frozen(cost), out)
        return Ragged(out, starts)

    def _sites(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The features of the rings' sites, a row each, and where the rings start."""
        own, d = self.examples["sites"][rows], self.task.n_features
        return frozen(own.values.reshape(-1, d)), frozen(own.starts // d)


def as_ring(x: Any, d: int | None = None) -> np.ndarray:
    """The features of a ring's sites as an array; refused unless there are d of each."""
    try:
        ring = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the ring is no table of numbers: {error}") from error
    if ring.ndim != 2 or not len(ring) or (d is not None and ring.shape[1] != d):
        expected = "sites and features" if d is None else f"sites and {d} features"
        raise DataError(f"the ring has shape {ring.shape}, expected {expected}")
    if not np.isfinite(ring).all():
        raise DataError("the ring has a feature that is not finite")
    return ring


def as_labels(y: Any, n: int) -> np.ndarray:
    """The labels of a ring of n sites; refused unless each is 0 or 1."""
    labels = np.asarray(y)
    if labels.shape != (n,) or not np.isin(labels, (0, 1)).all():
        raise DataError(f"the labels are {y!r}, expected {n} of 0 and 1")
    return labels.astype(np.int8)
