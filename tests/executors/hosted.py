"""Objects for executors to host; importable by name from every worker process."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.errors import DataError


class Stubborn(Exception):
    """Pickles, but cannot be made again from what was pickled."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} at {where}")


class Locked(Exception):
    """Cannot even be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("locked")


class Hosted:
    """One shard's object: sums that show their order, and all the ways to fail."""

    def __init__(self, shard: int, folder: Path | None = None) -> None:
        self.shard = shard
        self.folder = folder
        self.scale = 1.0
        self.kept: np.ndarray | None = None
        self.note("built")

    def note(self, event: str) -> None:
        """Leave a file that says so, which outlives the process."""
        if self.folder is not None:
            os.close(tempfile.mkstemp(prefix=f"{event}-{self.shard}-", dir=self.folder)[0])

    def number(self) -> int:
        return self.shard

    def vector(self, w: np.ndarray) -> np.ndarray:
        """Of a size that differs from shard to shard, so that the order of a sum shows."""
        return self.scale * np.sin(w * (self.shard + 1)) * 10.0 ** (3 * (self.shard % 5))

    def combine(self, *args: Any) -> tuple[Any, ...]:
        return (self.shard, *args)

    def set_scale(self, scale: float, folder: float = 0.0) -> float:
        self.note("scaled")
        self.scale = scale * (self.shard + 1) + folder
        return self.scale

    def counted(self) -> float:
        self.note("counted")
        return self.scale

    def writable(self, *arrays: np.ndarray) -> list[bool]:
        return [array.flags.writeable for array in arrays]

    def keep(self, w: np.ndarray) -> float:
        self.kept = w
        return float(w[0])

    def first_kept(self) -> float:
        assert self.kept is not None
        return float(self.kept[0])

    def fail(self, kind: str, failing: tuple[int, ...]) -> int:
        if self.shard in failing:
            self.note("failed")
            if kind == "data":
                raise DataError("bad line")
            if kind == "value":
                raise ValueError("bad value")
            if kind == "stubborn":
                raise Stubborn("no way", "all")
            if kind == "locked":
                raise Locked("no way")
            raise SystemExit(3)
        return self.shard

    def result_without_pickle(self) -> Any:
        return (i for i in range(3))

    def die(self, shard: int, marker: Path | None) -> float:
        """End this process when it is that shard's turn: once if there is a marker, or always."""
        self.note("asked")
        if self.shard == shard and (marker is None or not marker.exists()):
            if marker is not None:
                marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.scale


def times(item: int, factor: int) -> int:
    return item * factor


def refuse(item: int) -> int:
    if item == 3:
        raise ValueError(f"not {item}")
    return item


def die_once(item: int, marker: Path) -> int:
    if item == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def build_or_die() -> Hosted:
    os.kill(os.getpid(), signal.SIGKILL)
    return Hosted(0)


def refuse_to_build() -> Hosted:
    raise DataError("no such file")
