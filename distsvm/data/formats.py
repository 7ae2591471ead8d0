"""The formats of files: the engine's own, and those of all structures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from distsvm.data.files import COMPRESSED, compression, plain_name
from distsvm.errors import ConfigError, DataError
from distsvm.kinds import choice
from distsvm.options import Option, declared
from distsvm.oracles.structure import FileFormat, Structure, imported
from distsvm.registry import STRUCTURES, structures
from distsvm.wording import message

TEXT = "text"
_OPTIONS = "distsvm.data.readers.options"

# The last endings of svmlight are the names of LIBSVM's collection.
ENGINE = {
    "svmlight": FileFormat(
        "distsvm.data.readers.svmlight:SvmlightData",
        ("", ".svm", ".svmlight", ".libsvm", ".txt", ".dat", ".t", ".tr", ".val", ".scale"),
        aliases=("libsvm",),
        options=f"{_OPTIONS}:SvmlightOptions",
    ),
    "parquet": FileFormat(
        "distsvm.data.readers.parquet:ParquetData",
        (".parquet", ".pq", ".arrow", ".feather"),
        aliases=("arrow",),
        values="distsvm.data.readers.parquet:ParquetValues",
        packed=False,
        objects=True,
        options=f"{_OPTIONS}:ParquetOptions",
    ),
    "jsonl": FileFormat(
        "distsvm.data.readers.jsonl:JsonlData", (".jsonl", ".ndjson"), objects=True
    ),
    TEXT: FileFormat(
        "distsvm.data.words:TextData",
        (".txt",),
        tables=False,
        labelled=False,
        objects=True,
        options=f"{_OPTIONS}:TextOptions",
    ),
}
RAY = FileFormat("distsvm.data.ray_dataset:RayData", values="distsvm.data.ray_dataset:RayValues")
"""Rows of a ray.data.Dataset."""


def file_formats() -> dict[str, FileFormat]:
    """Return all formats by name."""
    found = dict(ENGINE)
    for structure in structures().values():
        for name, format in structure.formats.items():
            found.setdefault(name, format)
    return found


def file_format(name: str) -> FileFormat | None:
    """Return the format of this name, or None."""
    if name in ENGINE:
        return ENGINE[name]
    return next((one.formats[name] for one in STRUCTURES.each() if name in one.formats), None)


def formats_read(structure: Structure) -> tuple[str, ...]:
    """Return the names of the formats that a structure's tasks read."""
    if structure.reads is not None:
        return structure.reads
    return tuple(name for name, one in file_formats().items() if one.objects)


def reader_options() -> list[Option]:
    """Return the options of all readers of files, each with the names of its formats.

    Where formats share an option's name, the first declaration holds for all of them.
    """
    found: dict[str, Option] = {}
    for format, one in file_formats().items():
        for name, own in declared(imported(one.options)).items() if one.options else ():
            if format in (own.of or [format]):
                known = found.get(name, replace(own, of=()))
                found[name] = replace(known, of=(*known.of, format))
    return list(found.values())


def named_format(given: str) -> str:
    """Return the name of the format with this name or alias."""
    formats = file_formats()
    names = {alias: name for name, one in formats.items() for alias in (name, *one.aliases)}
    if given not in names:
        raise ConfigError("format", given, choice(*names).expected)
    return names[given]


def ending_of(file: str) -> str:
    """Return the ending of a file's name in lower case, before that of a compressed file."""
    return os.path.splitext(urlsplit(plain_name(file)).path)[1]


def format_of_names(files: Sequence[str], tables: bool) -> str:
    """Return the name of the one format that the endings of all these names stand for."""
    formats = file_formats()
    found: dict[str, str] = {}
    for file in files:
        ending = ending_of(file)
        fits = [
            name
            for name, one in formats.items()
            if ending in one.endings and (one.packed or not compression(file))
            if not (tables and one.tables is False)
        ]
        if not fits:
            known = [
                f"{name} ({' '.join(filter(None, sorted(one.endings)))})"
                for name, one in formats.items()
            ]
            raise DataError(
                message(
                    "{}: the ending is of no known format; known are {}, for text also with {}; "
                    "otherwise give {format} and one of {}",
                    file,
                    ", ".join(known),
                    ", ".join(COMPRESSED),
                    ", ".join(formats),
                )
            )
        found[min(fits, key=lambda name: formats[name].tables is None)] = file
    if len(found) > 1:
        raise DataError(f"files of two formats: {' and '.join(sorted(found.values()))}")
    return next(iter(found))
