"""Whether data has a hard margin: a rigorous bound, and examples that contradict one another."""

from __future__ import annotations

import math

import numpy as np

from distsvm.errors import DataError
from distsvm.risks.asking import AskRisk
from distsvm.risks.plane_set import PlaneSet
from distsvm.wording import Setting, Value, message

# Data has no hard margin if w must be longer than LONGEST · max q / max ‖p‖.
LONGEST = 1e4
# An error names examples whose Σ α is above this part of the largest.
CONCERNED = 0.01
SHOWN = 5


def longest_of(planes: PlaneSet) -> float:
    """Return the largest ‖w‖ of the search for a w that has all margins."""
    radius = math.sqrt(float(planes.norm.max(initial=0.0)))
    return LONGEST * float(planes.q.max(initial=0.0)) / radius if radius else 0.0


def check_feasible(risk: AskRisk, planes: PlaneSet, norm: float) -> None:
    """Refuse data without a hard margin: every w that has all margins has ‖w‖ ≥ Σ α·q / ‖w‖."""
    linear, longest = planes.linear(), longest_of(planes)
    equal = (planes.norm == 0) & (planes.q > 0)  # outputs of an example that w cannot tell apart
    if equal.any():
        norm, concerned = 0.0, np.unique(planes.example[equal])
    elif linear <= longest * norm:
        return
    else:
        total = np.bincount(planes.example, planes.alpha)
        concerned = np.flatnonzero(total > CONCERNED * total.max())
    n = concerned.size
    names = risk.names(concerned[:SHOWN].tolist())
    least = f"every such w has ‖w‖ ≥ {linear / norm:.3g}" if norm else "there is no such w"
    raise DataError(
        message(
            "{}: no w of ‖w‖ ≤ {} has all margins; {}. {} contradict one another: {}{}; "
            "expected data that can be separated, or {} or {}",
            Setting("penalty", "hard"),
            f"{longest:.3g}",
            least,
            f"{n} examples" if n > 1 else "The outputs of 1 example",
            ", ".join(names),
            ", …" if n > len(names) else "",
            Setting("penalty", "linear"),
            Value("quadratic"),
        )
    )
