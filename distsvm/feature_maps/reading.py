"""Feature maps from files."""

from __future__ import annotations

from typing import Any

import numpy as np

from distsvm.errors import ModelError
from distsvm.feature_maps.base import FeatureMap
from distsvm.feature_maps.low_rank import LowRank

MAPS: dict[str, type[FeatureMap]] = {LowRank.name: LowRank}


def read_map(data: Any, arrays: dict[str, np.ndarray]) -> FeatureMap:
    """Return the map of a file, which may be anyone's."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise ModelError(f"the feature map is {data!r:.40}, expected a name and parameters")
    if data["name"] not in MAPS:
        raise ModelError(f"the feature map has the unknown name {data['name']!r:.40}")
    return MAPS[data["name"]].from_parts(data, arrays)
