"""What a feature map has to know of tokens, also where each shard numbers its features itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from distsvm.data.features import Rows, SparseRows
from distsvm.data.shard import Shard
from distsvm.feature_maps import FeatureMap
from distsvm.kernel_functions.sampling import Seen
from distsvm.structures.sequences.packing import columns_of_tokens
from distsvm.structures.sequences.rows import SequenceRows

if TYPE_CHECKING:
    from distsvm.structures.sequences.task import SequenceTask


@dataclass(frozen=True, eq=False)
class TokenRows:
    """Tokens as the rows of a sample; features keep their names, by which samples are joined."""

    sequences: SequenceRows

    @property
    def n_rows(self) -> int:
        return self.sequences.n_rows

    def take(self, which: np.ndarray) -> TokenRows:
        return TokenRows(self.sequences.take(which))

    def joined(self, others: Sequence[TokenRows]) -> TokenRows:
        return TokenRows(self.sequences.joined([other.sequences for other in others]))


def tokens_seen(features: FeatureMap, x: SequenceRows) -> Seen:
    """Return what the map sees of all tokens of these sequences, each as a sequence of its own."""
    tokens = x.tokens.rows(int(x.starts[0]), int(x.starts[-1])).alone()
    if x.names is None:
        return features.sees(tokens, None)
    # Keys are made of the names of features, because columns differ from shard to shard.
    keyed = replace(tokens, columns=x.encoded_names.keys[tokens.columns])
    alone = SequenceRows(tokens, np.arange(tokens.n_rows + 1), x.names)
    return features.sees(tokens, None, keyed=keyed, kept=TokenRows(alone))


def in_columns_of(task: SequenceTask, seen: Seen) -> Seen:
    """Return the same with the task's columns."""
    rows: Rows | TokenRows = seen.rows
    if isinstance(rows, TokenRows):
        shard = Shard(rows.sequences, None, None)  # type: ignore[arg-type]
        rows = columns_of_tokens(rows.sequences, task, shard)[0]
    assert isinstance(rows, SparseRows)
    return seen.over(rows, task.n_features)
