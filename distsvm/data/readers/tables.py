"""One interface to Parquet and Arrow files: a schema, groups of rows, and batches of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from distsvm.data.files import opened
from distsvm.errors import ConfigError, DataError
from distsvm.uris import is_uri

Table: TypeAlias = "_ParquetTable | _ArrowTable"
"""A file of rows: its `schema`, `group_rows` and `group_bytes` (without compression) of each group,
and `batches`, the rows of a group as record batches of at most about n_rows."""


def pyarrow() -> Any:
    """Return the pyarrow module, which only these files need."""
    try:
        import pyarrow as module
    except ImportError as error:
        raise ConfigError(
            'Parquet and Arrow files need pyarrow: pip install "distsvm[arrow]"'
        ) from error
    return module


@contextmanager
def opened_table(path: str) -> Iterator[Table]:
    """Open the file by its first bytes, not its name; failures are DataErrors."""
    arrow = pyarrow()
    with opened(path) as file:
        magic = file.read(6)
    if magic[:4] != b"PAR1" and magic != b"ARROW1":
        raise DataError(
            f"{path}: neither a Parquet nor an Arrow file (IPC file format, Feather version 2)"
        )
    try:
        # Not mapped into memory: a mapped file that shrinks would kill the process.
        with _source(path) as source:
            yield _ParquetTable(source) if magic[:4] == b"PAR1" else _ArrowTable(source)
    # A name that is not UTF-8 raises a UnicodeDecodeError.
    except (
        arrow.ArrowInvalid, arrow.ArrowNotImplementedError, OSError, UnicodeDecodeError
    ) as error:  # fmt: skip
        raise DataError(f"{path}: cannot be read ({error})") from error


@contextmanager
def _source(path: str) -> Iterator[Any]:
    arrow = pyarrow()
    if is_uri(path):
        with opened(path) as file:
            yield arrow.PythonFile(file, "r")
    else:
        with arrow.OSFile(path) as file:
            yield file


_BUFFER_BYTES = 1 << 16


class _ParquetTable:
    def __init__(self, source: Any) -> None:
        from pyarrow.parquet import ParquetFile

        # Read columns a buffer at a time, and no group of rows in advance.
        self._file = ParquetFile(source, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        self.schema = self._file.schema_arrow
        facts = self._file.metadata
        groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
        self.group_bytes = [group.total_byte_size for group in groups]
        self.group_rows = [group.num_rows for group in groups]

    def batches(self, group: int, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        # One thread: the shard is the unit of parallel work.
        return self._file.iter_batches(
            n_rows, row_groups=[group], columns=list(columns), use_threads=False
        )


class _ArrowTable:
    def __init__(self, source: Any) -> None:
        from pyarrow import ipc

        self._source = source
        self.schema = ipc.open_file(source).schema
        reader = self._reader([0] if len(self.schema) else [])
        self.group_rows = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        row_bytes = source.size() / max(1, sum(self.group_rows))  # an estimate if compressed
        self.group_bytes = [int(n_rows * row_bytes) for n_rows in self.group_rows]

    def batches(self, group: int, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        fields = [self.schema.get_field_index(name) for name in columns]
        batch = self._reader(fields).get_batch(group)
        for start in range(0, batch.num_rows, n_rows):
            yield batch.slice(start, n_rows)

    def _reader(self, fields: list[int]) -> Any:
        from pyarrow import ipc

        # Other fields are left out: decompressing them may take long.
        options = ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        return ipc.open_file(self._source, options=options)
