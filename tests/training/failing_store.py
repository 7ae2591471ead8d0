"""A store in memory, under failing://, that fails when a test wants it to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

from distsvm.errors import CheckpointError  # noqa: E402
from distsvm.storage import read_json  # noqa: E402

ROOT = "failing://"
RUN = f"{ROOT}runs/a"


class Killed(BaseException):
    """The process is gone: nothing that comes after it can be done either."""


class FailingStore(MemoryFileSystem):
    """`before` is called with the operation and the path, and may raise."""

    protocol = "failing"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    before: ClassVar[Callable[[str, str], None]] = staticmethod(lambda operation, path: None)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.removeprefix(ROOT))

    @classmethod
    def begin(cls) -> None:
        """Empty and in order."""
        cls.store.clear()
        cls.pseudo_dirs[:] = [""]
        cls.before = staticmethod(lambda operation, path: None)

    def info(self, path: str, **options: Any) -> Any:
        type(self).before("info", path)
        return super().info(path, **options)

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        type(self).before("ls", path)
        return super().ls(path, detail, **options)

    def cat_file(self, path: str, *arguments: Any, **options: Any) -> Any:
        type(self).before("read", path)
        return super().cat_file(path, *arguments, **options)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        type(self).before("write", path)
        super().pipe_file(path, value, mode, **options)

    def put_file(self, lpath: str, rpath: str, *arguments: Any, **options: Any) -> None:
        type(self).before("write", rpath)
        super().put_file(lpath, rpath, *arguments, **options)

    def rm_file(self, path: str) -> None:
        type(self).before("delete", path)
        super()._rm(path)

    def rm(self, path: str, *arguments: Any, **options: Any) -> None:
        type(self).before("delete", path)
        for name in [name for name in self.store if name.startswith(f"{path}/")]:
            del self.store[name]
        self.pseudo_dirs[:] = [d for d in self.pseudo_dirs if not f"{d}/".startswith(f"{path}/")]


fsspec.register_implementation("failing", FailingStore, clobber=True)

CHANGES = ("write", "delete")


class Fault:
    """Raises `error` at the calls from number `first` on, `n` of them, that `counts` counts.

    A process that is killed does nothing more, whether it counts or not.
    """

    def __init__(self, first, error, n=1, counts=lambda operation, path: operation in CHANGES):
        self.first, self.error, self.n, self.counts = first, error, n, counts
        self.number = 0

    def __call__(self, operation: str, path: str) -> None:
        dead = self.error is Killed and self.number >= self.first
        if self.counts(operation, path):
            self.number += 1
            dead |= self.first <= self.number < self.first + self.n
        if dead:
            raise self.error(f"{operation} {path} was not done")


def fail(*arguments, **options):
    """Have the store fail as Fault says."""
    FailingStore.before = staticmethod(Fault(*arguments, **options))
    return FailingStore.before


def in_order():
    """Have it fail no more."""
    FailingStore.before = staticmethod(lambda operation, path: None)


def altered(path, **changes):
    """Write a JSON object of the store anew, with these changes."""
    fsspec.filesystem("failing").pipe_file(
        str(path), json.dumps(read_json(path, CheckpointError) | changes).encode()
    )
