"""From a shard of sequences to the oracle's arrays: global columns and tag codes, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from distsvm.data.features import DenseRows, SparseRows, check_real, frozen
from distsvm.data.ragged import Ragged, offsets, spread
from distsvm.data.shard import Shard
from distsvm.errors import DataError
from distsvm.structures.sequences.kernels import token_entries
from distsvm.structures.sequences.rows import SequenceRows, TagRows, pack_sequences, pack_tags

if TYPE_CHECKING:
    from distsvm.structures.sequences.task import SequenceTask


def packed(shard: Shard) -> Shard:
    """Return the shard with SequenceRows and TagRows; each token must have a tag."""
    x: Any = shard.x
    y: Any = shard.y
    if isinstance(x, (DenseRows, SparseRows)):
        raise DataError(f"{shard.source}: the examples are rows of features, expected sequences")
    if not isinstance(x, SequenceRows):
        x = pack_sequences(x, shard.names)
    if y is None:
        return replace(shard, x=x)
    if not isinstance(y, TagRows):
        y = pack_tags(y, shard.names)
    if len(y) != x.n_rows:
        raise DataError(f"{shard.source}: {len(y)} tag sequences for {x.n_rows} sequences")
    n_tokens, n_tags = np.diff(x.starts), y.codes.lengths
    wrong = np.flatnonzero(n_tokens != n_tags)
    if wrong.size:
        i = int(wrong[0])
        raise DataError(f"{shard.names[i]}: {n_tags[i]} tags for {n_tokens[i]} tokens")
    return replace(shard, x=x, y=y)


def tokens_of(x: SequenceRows, task: SequenceTask, shard: Shard) -> tuple[SparseRows, np.ndarray]:
    """Return the tokens, mapped where the task has a feature map, and the starts."""
    tokens, starts = columns_of_tokens(x, task, shard)
    return task.mapped(tokens), starts


def columns_of_tokens(
    x: SequenceRows, task: SequenceTask, shard: Shard
) -> tuple[SparseRows, np.ndarray]:
    """Return the tokens with the task's own columns, without unknown ones, and the starts."""
    starts = np.asarray(x.starts, dtype=np.int64)
    rows = x.tokens.rows(int(starts[0]), int(starts[-1]))
    values, columns, entries = rows.arrays()
    starts = starts - starts[0]
    check_real(values.dtype, shard.source)
    _check_finite(x, values, columns, entries, starts, shard)
    place = task.places(x)
    columns = place[columns]
    hashed = task.hash_bits is not None and x.names is not None
    longest = int(np.diff(entries).max(initial=0))
    tokens = in_order(values, columns, entries, longest, task.n_columns, hashed)
    return tokens, frozen(starts)


def steps_of(tokens: SparseRows, starts: np.ndarray, task: SequenceTask) -> SparseRows | None:
    """The tokens' features on the transition to the next token, none for the last of a sequence.

    None where the task has no such features. Columns are numbers among task.step_columns.
    """
    place = task.step_place
    if place is None:
        return None
    columns = place[tokens.columns]
    last = starts[1:][np.diff(starts) > 0] - 1
    kept = columns >= 0
    kept[spread(tokens.starts[last], np.diff(tokens.starts)[last])] = False
    return SparseRows(
        frozen(tokens.values[kept]), frozen(columns[kept]), frozen(offsets(kept)[tokens.starts]),
        task.n_steps,
    )  # fmt: skip


def truth_of(y: TagRows, task: SequenceTask, shard: Shard) -> tuple[Ragged, list[str]]:
    """Return the tags in the task's numbers, and the tags that the task does not have.

    Tag j of the latter has the number L + j, behind the task's L tags.
    """
    starts = y.codes.starts - y.codes.starts[0]
    own = y.codes.values[y.codes.starts[0] : y.codes.starts[-1]]
    place = task.tag_places(y.names)
    used = np.unique(own)
    others = used[place[used] < 0]
    place[others] = task.tags().size + np.arange(others.size)
    if place.max(initial=0) > np.iinfo(np.int16).max:
        raise DataError(f"{shard.source}: {others.size} tags are not among {task.shown_labels()}")
    codes = Ragged(place[own].astype(np.int16), starts).frozen()
    return codes, [str(y.names[code]) for code in others.tolist()]


def broken_rules(truth: Ragged, task: SequenceTask) -> dict[int, str]:
    """Return the sequences whose tags break the hard constraints, and each one's first place.

    Sequences with tags that the task does not have are left out.
    """
    codes, starts = truth.values, truth.starts
    # One more tag stands for all tags that the task does not have; it breaks no rule.
    codes = np.minimum(codes, task.tags().size)
    pairs, first, last = (np.pad(rule, (0, 1)) for rule in task.forbidden())
    labels, some = task.tags().tolist(), np.flatnonzero(truth.lengths)
    begins, ends = starts[some], starts[some + 1] - 1
    broken = np.zeros(codes.size, dtype=bool)
    broken[1:] = pairs[codes[:-1], codes[1:]]
    broken[begins] = first[codes[begins]]
    found: dict[int, str] = {}
    for place in np.flatnonzero(broken).tolist():
        row = int(np.searchsorted(starts, place, side="right")) - 1
        after = "the start" if place == starts[row] else repr(labels[codes[place - 1]])
        found.setdefault(row, f"tag {labels[codes[place]]!r} after {after} is not allowed")
    for place in np.flatnonzero(last[codes[ends]]).tolist():
        tag = labels[codes[ends[place]]]
        found.setdefault(int(some[place]), f"tag {tag!r} at the end is not allowed")
    return dict(sorted(found.items()))


def _check_finite(
    x: SequenceRows,
    values: np.ndarray,
    columns: np.ndarray,
    entries: np.ndarray,
    starts: np.ndarray,
    shard: Shard,
) -> None:
    if values.dtype.kind != "f":
        return
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        e = int(bad[0])
        token = int(np.searchsorted(entries, e, side="right")) - 1
        example = int(np.searchsorted(starts, token, side="right")) - 1
        name = columns[e] if x.names is None else repr(str(x.names[columns[e]]))
        raise DataError(
            f"{shard.names[example]}: feature {name} is {values[e]}, expected a finite number"
        )


def in_order(
    values: np.ndarray,
    columns: np.ndarray,
    entries: np.ndarray,
    longest: int,
    n_columns: int,
    hashed: bool,
) -> SparseRows:
    """Return a copy of the rows with increasing columns; columns below 0 are left out.

    Where names were `hashed`, several names of a row may have one column: their values are added
    up. No row has more than `longest` entries.
    """
    if not hashed and longest <= token_entries.LONG:
        columns, values = columns.astype(np.int32), np.array(values)
        entries = entries.astype(np.int64)
        token_entries.order_tokens(columns, values, entries)
        n = int(entries[-1])
        return SparseRows(frozen(values[:n]), frozen(columns[:n]), frozen(entries), n_columns)
    known = columns >= 0
    values, columns, entries = values[known], columns[known], offsets(known)[entries]
    if hashed:
        values = values.astype(np.float64)
    shape = (entries.size - 1, n_columns)
    matrix = sparse.csr_matrix((values, columns.astype(np.int32), entries), shape=shape)
    if hashed:
        matrix.sum_duplicates()
    else:
        matrix.sort_indices()
    columns, entries = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64)
    return SparseRows(frozen(matrix.data), frozen(columns), frozen(entries), n_columns)
