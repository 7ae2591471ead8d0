"""Open what a user gives as data: files, arrays, lists and data sets."""

from __future__ import annotations

import inspect
import os
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from distsvm.data.dataset import Dataset, PairData, TableData, Unlabelled
from distsvm.data.files import find_files
from distsvm.data.formats import RAY, file_format, format_of_names, named_format
from distsvm.errors import ConfigError, DataError
from distsvm.oracles.structure import FileFormat, imported

ACCEPTED = (
    "a path, pattern, folder or list of paths; an array, data frame or SciPy sparse matrix with "
    "its labels as outputs, a list of inputs with a list of outputs, or the tuple of both; a list "
    "of pairs (x, y); or an object with a method specs"
)


def open_data(
    source: Any,
    outputs: Any = None,
    weight: Any = None,
    *,
    tables: bool | None = None,
    format: str | None = None,
    **options: Any,
) -> Dataset:
    """Return data that can be cut into shards; files are found, but not read yet.

    Parameters
    ----------
    source : see the rules
    outputs : array or list, optional
        The labels of an array's rows, or the outputs of a list of inputs.
    weight : array of shape (n,), optional
        Example weights; the name of a column for Parquet files.
    tables : bool, optional
        True where inputs are always rows of features, as for classes: a list of lists of numbers
        is then a table. False where they never are: an array is then a sequence of inputs, and
        tables in files have a column of inputs, `x`, and one of outputs, `y`. By default arrays
        and files are tables, and lists are not.
    format : str, optional
        The format of files whose endings do not give it: "svmlight", "libsvm", "parquet",
        "arrow", "conll", "conllu", "svmhmm", "treebank", "fasta", "stockholm", "jsonl", or "text",
        which is for prediction only.
    **options
        For files, the options of their reader: see SvmlightData, ParquetData, ParquetValues,
        ConllData, ConlluData, SvmHmmData, TreebankData, FastaData, StockholmData, JsonlData and
        TextData.

    Notes
    -----
    The first rule that fits decides. Values are never looked at:

    1. An object with a method `specs` is a data set already, and is returned. A ray.data.Dataset is
       read as Parquet files are; see RayData.
    2. A str or path, or (without outputs) a list or tuple of nothing else, names files: with
       outputs, strings in a list are inputs. Names in .parquet, .pq, .arrow, .feather are Parquet
       or Arrow; those in .svm, .svmlight, .libsvm, .txt, .dat, .t, .tr, .val, .scale or without an
       ending are svmlight; those in .conll, .conllu, .svmhmm are sentences of that format; those in
       .mrg, .tree, .trees, .brackets, .ptb are trees in brackets; those in .fasta, .fa, .afa, .sto,
       .stk, .stockholm are alignments; those in .jsonl, .ndjson are JSON objects, one a line; where
       inputs are never rows of features, .txt is plain text, one sentence a line. All text may be
       compressed (.gz, .bz2, .xz). URIs name files elsewhere, such as s3://bucket/folder/*.svm; see
       distsvm.data.remote.
    3. Without outputs, a tuple of two that begins with a list, array, sparse matrix or data frame
       is (inputs, outputs).
    4. A NumPy array, SciPy sparse matrix or data frame of two dimensions is a table of features,
       one example a row, and outputs are its labels.
    5. A list, a tuple or an array of objects with outputs has one input of any kind an item.
    6. Without outputs, its items are pairs (x, y), each a tuple of two.

    So lists of numbers are inputs, and a table only with tables=True: write np.array(X) for that.
    Inputs in a tuple are given with their outputs apart, or as PairData(inputs, outputs).
    """
    rows, tables = tables is True, tables is not False
    if hasattr(source, "specs"):
        _refuse_extra("a data set", outputs=outputs, weight=weight, format=format, **options)
        return source
    if is_ray_dataset(source):
        _refuse_extra("a Ray Dataset, whose rows have their outputs,", outputs=outputs)
        _refuse_extra("a Ray Dataset", format=format)
        return _opened(RAY, "ray", source, weight, tables, options)
    if names_files(source, outputs):
        _refuse_extra("files, whose examples have their outputs,", outputs=outputs)
        kind = kind_of_files(source, format, tables)
        assert kind is not None
        found = file_format(kind)
        assert found is not None
        return _opened(found, kind, source, weight, tables, options)
    _refuse_extra("data in memory", format=format, **options)
    if outputs is None and _is_pair_of_columns(source):
        source, outputs = source
    if _is_table(source) and tables:
        return TableData(source, outputs, weight)
    if _is_sequence(source) or isinstance(source, np.ndarray):
        if outputs is None:
            source, outputs = _unzipped(source)
        if not _is_sequence(outputs) and not isinstance(outputs, np.ndarray):
            raise DataError(f"outputs are {_shown(outputs)}, expected a list or an array")
        return (_as_table if rows else PairData)(source, outputs, weight)
    raise DataError(f"the data is {_shown(source)}, expected {ACCEPTED}")


def open_inputs(source: Any, *, tables: bool | None = None, **options: Any) -> Dataset:
    """Return data for prediction: as open_data, but a list has inputs, and files need no labels."""
    if hasattr(source, "specs") or is_ray_dataset(source) or names_files(source):
        dataset: Any = open_data(source, tables=tables, **options)
        return dataset.unlabelled() if hasattr(dataset, "unlabelled") else Unlabelled(dataset)
    _refuse_extra("data in memory", **options)
    if tables is not False and _is_table(source):
        return TableData(source)
    if _is_sequence(source) or isinstance(source, np.ndarray):
        return _as_table(source) if tables else PairData(source)
    raise DataError(f"the data is {_shown(source)}, expected {ACCEPTED}")


def kind_of_files(source: Any, format: str | None = None, tables: bool = True) -> str | None:
    """Return the name of the format of these files; None for data in memory and data sets.

    `tables` as in open_data.
    """
    if hasattr(source, "specs") or not names_files(source):
        return None
    return named_format(format) if format else format_of_names(find_files(source), tables)


def _as_table(rows: Sequence[Any], outputs: Any = None, weight: Any = None) -> TableData:
    try:
        table = np.asarray(list(rows))
    except ValueError as error:
        raise DataError(
            "the rows of features are not equally long; give an array or a sparse matrix"
        ) from error
    return TableData(table, outputs, weight)


def names_files(source: Any, outputs: Any = None) -> bool:
    """Return whether the source is a path, a pattern or (without outputs) a list of those only."""

    def is_path(item: Any) -> bool:
        return isinstance(item, (str, os.PathLike))

    several = isinstance(source, (list, tuple)) and len(source) > 0 and outputs is None
    return is_path(source) or (several and all(map(is_path, source)))


def is_ray_dataset(source: Any) -> bool:
    """Return whether this is a ray.data.Dataset; it does not import Ray."""
    return any(
        cls.__name__ == "Dataset" and cls.__module__.startswith("ray.data.")
        for cls in type(source).__mro__
    )


def _opened(
    format: FileFormat, kind: str, source: Any, weight: Any, tables: bool, options: dict[str, Any]
) -> Dataset:
    reader = imported(format.reader if tables else format.values or format.reader)
    known = list(inspect.signature(reader).parameters)[1:]
    if "weight" in known:
        if weight is not None and not isinstance(weight, str):
            raise ConfigError(f"weight is {_shown(weight)}, expected the name of a column")
        options = {**options, "weight": weight}
    else:
        _refuse_extra(f"{kind} files", weight=weight)
    if "tables" in known:
        options = {**options, "tables": tables}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ConfigError(f"unknown option {unknown[0]!r}, expected one of {', '.join(known)}")
    return reader(source, **options)


def _is_table(source: Any) -> bool:
    return sparse.issparse(source) or (hasattr(source, "__array__") and not _is_sequence(source))


def _is_sequence(source: Any) -> bool:
    """Return whether this is a list, a tuple, or a one-dimensional array of objects."""
    if isinstance(source, np.ndarray):
        return source.ndim == 1 and source.dtype.kind == "O"
    return isinstance(source, (list, tuple))


def _is_pair_of_columns(source: Any) -> bool:
    """Return whether this is (inputs, outputs); a tuple that begins with a tuple has pairs."""
    if not (isinstance(source, tuple) and len(source) == 2):
        return False
    return isinstance(source[0], (list, np.ndarray)) or _is_table(source[0])


def _unzipped(pairs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    for i, pair in enumerate(pairs):
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise DataError(
                f"item {i} of the data is {_shown(pair)}, expected a pair (x, y); give inputs "
                "and outputs apart as two lists, or a table of numbers as an array"
            )
    return [x for x, _ in pairs], [y for _, y in pairs]


def _refuse_extra(what: str, **given: Any) -> None:
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise ConfigError(f"{what} cannot be given with {', '.join(extra)}")


def _shown(value: Any) -> str:
    return f"{reprlib.repr(value)} ({type(value).__name__})"
