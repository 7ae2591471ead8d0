"""Feature maps that a task of rows carries: after them every linear solver applies."""

from distsvm.feature_maps.base import FeatureMap
from distsvm.feature_maps.low_rank import LowRank
from distsvm.feature_maps.reading import read_map

__all__ = ["FeatureMap", "LowRank", "read_map"]
