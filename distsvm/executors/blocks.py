"""Arguments in shared memory: written once, read by every worker process."""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from distsvm.executors import wire
from distsvm.executors.transport import LARGE

_ALIGNED = 64


@dataclass(frozen=True)
class Packed:
    """Arguments in a message: a pickle, small buffers as bytes, large ones as (offset, size)."""

    head: bytes
    buffers: tuple[bytes | tuple[int, int], ...]
    block: str | None


class Blocks:
    """The driver's side: one block, used again while it is large enough.

    A block that has an array which a worker keeps is not used again: its memory must not change
    until that worker drops the array.
    """

    def __init__(self) -> None:
        self.linked: dict[str, SharedMemory] = {}  # to be unlinked whatever happens
        self._spare: SharedMemory | None = None
        self._kept: set[str] = set()

    @contextmanager
    def packed(self, args: tuple[Any, ...]) -> Iterator[Packed]:
        """Give the arguments in a block, which is reserved until the context ends."""
        head, buffers = wire.pack(args)
        places, size = [], 0
        for raw in buffers:
            if raw.nbytes >= LARGE:
                places.append((size, raw.nbytes))
                size += -(-raw.nbytes // _ALIGNED) * _ALIGNED
        block = self._take(size) if size else None
        if block is None:
            yield Packed(head, tuple(bytes(raw) for raw in buffers), None)
            return
        large, memory = iter(places), _memory(block)
        sent: list[bytes | tuple[int, int]] = []
        for raw in buffers:
            if raw.nbytes < LARGE:
                sent.append(bytes(raw))
            else:
                start, n_bytes = next(large)
                memory[start : start + n_bytes] = raw
                sent.append((start, n_bytes))
        try:
            yield Packed(head, tuple(sent), block.name)
        except BaseException:  # an interrupted call may still be reading
            self._drop(block)
            raise
        self._give_back(block)

    def keep(self, name: str) -> None:
        """Note that a worker keeps arrays of this block."""
        self._kept.add(name)

    def _take(self, size: int) -> SharedMemory | None:
        block, self._spare = self._spare, None
        if block is not None and block.size >= size:
            return block
        if block is not None:
            self._drop(block)
        block = SharedMemory(create=True, size=size)
        self.linked[block.name] = block
        if _reserved(block):
            return block
        self._drop(block)
        return None

    def _give_back(self, block: SharedMemory) -> None:
        if self._spare is None and block.name not in self._kept:
            self._spare = block
        else:
            self._drop(block)

    def _drop(self, block: SharedMemory) -> None:
        self._kept.discard(block.name)
        if self.linked.pop(block.name, None):
            unlink(block)


class _Mapping(SharedMemory):
    """A worker's view of a block; arrays that outlive it at the interpreter's end are no error."""

    def __del__(self) -> None:
        with suppress(BufferError):
            super().__del__()


class Attachments:
    """The worker's side: the blocks that it has mapped."""

    def __init__(self) -> None:
        self._blocks: dict[str, _Mapping] = {}

    def open(self, packed: Packed) -> tuple[tuple[Any, ...], weakref.ref[Any] | None]:
        """Return the arguments, read-only, and a reference that lasts as long as their arrays."""
        self.close_all_but(packed.block)
        if packed.block is None:
            return wire.decode(packed.head, packed.buffers), None
        if packed.block not in self._blocks:
            self._blocks[packed.block] = _Mapping(packed.block)
        memory = np.frombuffer(_memory(self._blocks[packed.block]), np.uint8)
        memory.flags.writeable = False
        buffers = [
            place if isinstance(place, bytes) else memory[place[0] : place[0] + place[1]]
            for place in packed.buffers
        ]
        return wire.decode(packed.head, buffers), weakref.ref(memory)

    def close_all_but(self, name: str | None) -> None:
        """Unmap unused blocks; blocks with arrays in use stay."""
        for old in [block for block in self._blocks if block != name]:
            with suppress(BufferError):
                self._blocks[old].close()
                del self._blocks[old]


def unlink(block: SharedMemory) -> None:
    """Remove a block; the views of workers that have mapped it stay valid."""
    block.close()
    with suppress(FileNotFoundError):
        block.unlink()


def _memory(block: SharedMemory) -> memoryview:
    assert block.buf is not None, "a block in use is not closed"
    return block.buf


def _reserved(block: SharedMemory) -> bool:
    """Return whether the memory is reserved: writing to a full /dev/shm kills the process.

    Containers often have just 64 MB of it.
    """
    path = os.path.join("/dev/shm", block.name)
    if not os.path.exists(path):
        return True
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.posix_fallocate(descriptor, 0, block.size)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.ENOMEM):
            return False
    finally:
        os.close(descriptor)
    return True
