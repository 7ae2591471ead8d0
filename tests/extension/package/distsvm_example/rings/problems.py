"""A small problem for `distsvm warm-up`, which uses every kernel of rings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from distsvm_example.rings.files import write_rings
from distsvm_example.rings.task import RingTask


def problems(name: str, folder: Path) -> Iterator[tuple[RingTask, Path, Any]]:
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(5, 2)) for _ in range(8)]
    write_rings(
        folder / "rings.rings", inputs, [(x[:, 0] > 0).astype(int).tolist() for x in inputs]
    )
    yield RingTask(), folder / "rings.rings", None
