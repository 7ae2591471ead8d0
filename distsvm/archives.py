"""Arrays from files of unknown origin: without pickle, in no more memory than the file takes."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import IO, BinaryIO

import numpy as np
from numpy.lib import format as npy

KINDS = "biufcmMUS"  # NumPy's letters for numbers, times and strings; objects can run code
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def write_npz(file: IO[bytes], named: Iterable[tuple[str, np.ndarray]]) -> None:
    """Write the arrays as np.savez would, with one of them in memory at a time."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in named:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                npy.write_array(stream, np.asanyarray(array), allow_pickle=False)
            del array  # frees it before the next one is made


def read_npz(
    file: BinaryIO, only: Callable[[str], bool] = lambda name: True
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of write_npz, one by one, for which only(name) is true.

    The file is checked. Members must not be compressed, so a small file cannot give large arrays.
    Shapes are compared with the members' sizes before memory is reserved. Errors are those of
    zipfile and NumPy, and ValueErrors; callers name the file.
    """
    n_bytes = file.seek(0, 2)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > n_bytes:
            raise ValueError("its arrays claim more bytes than the file has")
        for member in members:
            name, ending = member.filename[:-4], member.filename[-4:]
            if member.compress_type != zipfile.ZIP_STORED or ending != ".npy":
                raise ValueError(f"{member.filename!r} is packed or no array, expected plain .npy")
            if only(name):
                with archive.open(member) as stream:
                    yield name, _array(name, stream, member.file_size)


def _array(name: str, stream: IO[bytes], n_bytes: int) -> np.ndarray:
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"{name} has version {version} of the npy format, expected 1.0 or 2.0")
    shape, by_columns, dtype = HEADERS[version](stream)
    left = n_bytes - stream.tell()
    if dtype.kind not in KINDS or not dtype.itemsize:
        raise ValueError(f"{name} has values of type {dtype}, expected numbers or texts")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"{name} claims the shape {shape} of {dtype}, but has {left} bytes")
    raw = np.empty(left, dtype=np.uint8)
    place = 0
    while place < left:
        n_read = stream.readinto(raw[place:].data)  # type: ignore[attr-defined]
        if not n_read:
            raise ValueError(f"{name} ends after {place} of {left} bytes")
        place += n_read
    stream.read()  # to the end, where the checksum is compared
    flat = raw.view(dtype)
    return flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape)
