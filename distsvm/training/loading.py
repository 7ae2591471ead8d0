"""What a run asks of its examples once they are read: the same each time, and some at all."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from distsvm.data.dataset import LoadedShard
from distsvm.data.keeping import Keeping
from distsvm.data.packed import files_of, not_kept
from distsvm.data.readers.lines import described
from distsvm.data.shard import ShardSpec
from distsvm.errors import DataError
from distsvm.executors.base import Executor
from distsvm.messages import Facts
from distsvm.wording import message

log = logging.getLogger(__name__)


def read_again(executor: Executor, specs: Sequence[ShardSpec]) -> list[int]:
    """The shards that a worker may read a second time: none where no worker can be lost.

    Data in memory is left out. It cannot change, and Python objects need not look the same after
    their way to another process.
    """
    if executor.name in ("serial", "threads"):
        return []
    return [shard for shard, spec in enumerate(specs) if not isinstance(spec, LoadedShard)]


def tell_uncached(keeping: Keeping, specs: Sequence[ShardSpec]) -> None:
    """Say why cache_dir does nothing for some examples, if that is so."""
    if keeping.cache_dir is None or keeping.memory_mb is not None:
        return  # a worker of limited memory keeps whatever its task packs
    for reason in dict.fromkeys(filter(None, map(not_kept, specs))):
        log.warning(message("{cache_dir} does nothing for these examples: {}", reason))


def check_counts(specs: Sequence[ShardSpec], counts: Sequence[int], facts: Sequence[Facts]) -> None:
    """Refuse shards that were bound with other examples than were counted when they were scanned.

    A worker that is lost in between reads its shards again before there is a digest of them.
    """
    for spec, n_scanned, fact in zip(specs, counts, facts, strict=False):
        n_bound = fact.n_examples + fact.n_dropped
        if n_bound != n_scanned:
            raise DataError(
                f"{described(files_of(spec))} changed during the run: {n_scanned} examples were "
                f"read from it at first, then {n_bound}"
            )


def tell_dropped(facts: Facts) -> None:
    """Say how many examples are left out, if any are; refuse to go on with none."""
    n, n_dropped = facts.n_examples, facts.n_dropped
    told = f"{n_dropped} of {n + n_dropped} examples have outputs that the task does not allow"
    if n_dropped and not n:
        raise DataError(f"{told}: nothing is left to train on")
    if n_dropped:
        log.warning("%s, and are left out", told)
