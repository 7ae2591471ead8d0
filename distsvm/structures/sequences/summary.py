"""The summary of tagged sequences: tags, features, and how often each occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distsvm.data.shard import Shard
from distsvm.messages import Summary
from distsvm.structures.sequences.names import NameCounts, merged
from distsvm.structures.sequences.rows import SequenceRows, TagRows

MERGED = 1 << 21


def _together(a: tuple[NameCounts, ...], b: tuple[NameCounts, ...]) -> tuple[NameCounts, ...]:
    """Return all counts; many are merged into one, as each merge sorts the names again."""
    named = a + b
    sizes = [len(part) for part in named]
    is_large = sum(sizes) - max(sizes, default=0) > max(MERGED, *sizes, 0)
    return (merged(named),) if is_large else named


@dataclass(frozen=True, eq=False)
class SequenceSummary(Summary):
    """A summary of sequences; `labels` are the tags, `counts` the tokens of each by weight.

    Parameters
    ----------
    named : tuple of NameCounts
        Features by name, of one shard or of many.
    n_numbered : int
        Shards whose features are numbers that mean the same everywhere.
    longest : int
        Tokens of the longest sequence.
    """

    named: tuple[NameCounts, ...] = ()
    n_numbered: int = 0
    longest: int = 0

    RULES: ClassVar = {**Summary.RULES, "named": _together, "longest": max}

    def features(self) -> NameCounts:
        """Return all named features, with their counts."""
        return merged(self.named)


def summarise_sequences(shard: Shard) -> SequenceSummary:
    """Return the summary of a shard of SequenceRows and TagRows; each token must have a tag."""
    x, y = shard.x, shard.y
    assert isinstance(x, SequenceRows)
    own = np.ones(shard.n) if shard.weight is None else shard.weight
    labels = counts = None
    if y is not None:
        assert isinstance(y, TagRows)
        codes = y.codes.values[y.codes.starts[0] : y.codes.starts[-1]]
        totals = np.bincount(codes, np.repeat(own, y.codes.lengths), y.names.size)
        # Names that no tag uses (a reader's own list, cut into shards) do not count as tags.
        used = np.bincount(codes, minlength=y.names.size) > 0
        order = np.argsort(y.names[used], kind="stable")
        labels, counts = y.names[used][order].astype(str), totals[used][order]
    named: tuple[NameCounts, ...] = ()
    if x.names is not None:
        tokens = x.tokens.rows(int(x.starts[0]), int(x.starts[-1]))
        seen = np.bincount(tokens.arrays()[1], minlength=len(x.names))
        used = np.flatnonzero(seen)
        names = x.encoded_names
        names.keys  # noqa: B018 - made by the workers, and sent along
        named = (NameCounts(names if used.size == len(names) else names[used], seen[used]),)
    return SequenceSummary(
        n_examples=shard.n,
        weight=float(own.sum()),
        labels=labels,
        counts=counts,
        n_columns=0 if x.names is not None else x.tokens.n_columns,
        named=named,
        n_numbered=int(x.names is None),
        longest=int(np.diff(x.starts).max(initial=0)),
    )
