"""Results of training as digests of exact bits, and as numbers, and where these can be the same."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

import llvmlite
import numba
import numpy as np
import scipy.linalg  # loads its BLAS
from llvmlite.binding import get_host_cpu_name
from threadpoolctl import threadpool_info

RTOL = 1e-9


def arithmetic() -> dict[str, str]:
    """What the last bits depend on: processor, BLAS, and the versions of what computes.

    Where two outputs are equally good but for rounding, the last bits decide, and with them all
    rounds that follow.
    """
    blas = [found for found in threadpool_info() if found["user_api"] == "blas"]
    return {
        "processor": numba.config.CPU_NAME or get_host_cpu_name(),
        "blas": ", ".join(sorted(f"{b['version']} {b.get('architecture')}" for b in blas)),
        **{package.__name__: package.__version__ for package in (llvmlite, numba, np, scipy)},
    }


def other_arithmetic(stored: dict[str, str]) -> str | None:
    """Why numbers that were stored with this arithmetic may differ here; None if they may not."""
    own = arithmetic()
    others = [f"{name} {own.get(name)}, not {was}" for name, was in stored.items()
              if own.get(name) != was]  # fmt: skip
    return f"stored with another arithmetic: {'; '.join(others)}" if others else None


def plain(output: Any) -> Any:
    """Predictions of any task in JSON's terms."""
    if isinstance(output, (np.ndarray, np.generic)):
        return output.tolist()
    if isinstance(output, (list, tuple)):
        return [plain(item) for item in output]
    return output if isinstance(output, (int, float)) else str(output)


def short(values: list[float | None]) -> list[float | None]:
    """The numbers to 12 digits."""
    return [v if v is None or not math.isfinite(v) else float(f"{v:.12g}") for v in values]


def same_numbers(found: list[float | None], expected: list[float | None]) -> bool:
    """Whether both differ by rounding alone, in proportion to the largest, or to a loss of 1."""
    a, b = (np.array(numbers, dtype=float) for numbers in (found, expected))  # None becomes nan
    size = max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0.0))
    return a.shape == b.shape and np.allclose(a, b, RTOL, RTOL * size, equal_nan=True)


def bounds_agree(found: Sequence[float], expected: Sequence[float]) -> bool:
    """Whether two pairs (primal, dual) can be bounds of the same optimum, but for rounding."""
    return all(dual <= primal * (1 + RTOL) for (primal, _), (_, dual) in (
        (found, expected), (expected, found),
    ))  # fmt: skip


def bits_of(w: np.ndarray) -> str:
    """A digest of the exact bits of w."""
    return sha_of(np.ascontiguousarray(w, dtype="<f8").tobytes())


def sha_of(data: bytes) -> str:
    """16 digits of a SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def lines_of(entries: dict[str, Any]) -> str:
    """JSON with an entry a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
