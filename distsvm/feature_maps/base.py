"""FeatureMap: what a task asks of a map of its rows, before and after training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from distsvm.data.features import DenseRows, Rows


class FeatureMap(ABC):
    """A map of rows to dense features; immutable, because every worker has a copy.

    Workers look at their rows with `sees`, the answers add up, and `prepared` makes the map from
    the sum. From then on every worker maps its own rows.
    """

    name: ClassVar[str]
    certified_for: ClassVar[str] = ""
    """What certificates are about, such as "the low-rank problem"."""

    is_split: bool = False
    """Whether each feature is for one output alone, the one that `labels` names."""
    labels: np.ndarray | None = None

    @property
    @abstractmethod
    def is_prepared(self) -> bool:
        """Whether the map is made."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Columns of the rows that are mapped; known once the map is made."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Features that the map gives; before it is made, the most that it may give."""

    @property
    @abstractmethod
    def growth(self) -> float:
        """Bytes of mapped rows for each byte of the rows."""

    @abstractmethod
    def sees(
        self, rows: Rows, first: int | None, labels: np.ndarray | None = None, **more: Any
    ) -> Any:
        """Return what the map has to know of these rows; answers about all shards add up.

        `first` is the number of the first row in the data, None where that is not known; for the
        other arguments see Seen.of.
        """

    @abstractmethod
    def prepared(self, seen: Any) -> FeatureMap:
        """Return the map that is made from what was seen of all rows."""

    @abstractmethod
    def transform(self, rows: Rows) -> DenseRows:
        """Return the features of rows; equal rows at equal places have equal bits."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what results and reports say about the map, as values of JSON."""

    @abstractmethod
    def in_words(self) -> str:
        """Return the facts in one line."""

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the map as values of JSON and arrays, without pickle."""

    @classmethod
    @abstractmethod
    def from_parts(cls, data: dict[str, Any], arrays: dict[str, np.ndarray]) -> FeatureMap:
        """Return the map that `to_parts` gave these of; the file may be anyone's."""


def same_map(one: FeatureMap | None, other: FeatureMap | None) -> bool:
    """Return whether two maps give the same features."""
    if one is None or other is None:
        return one is other
    data, arrays = one.to_parts()
    others, other_arrays = other.to_parts()
    return (
        data == others
        and arrays.keys() == other_arrays.keys()
        and all(np.array_equal(arrays[name], other_arrays[name]) for name in arrays)
    )
