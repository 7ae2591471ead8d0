"""Data that workers have read and bound to its task, and the facts of it for runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from distsvm.data import open_data
from distsvm.data.dataset import LoadedShard
from distsvm.data.files import whole_path
from distsvm.data.keeping import Keeping
from distsvm.data.packed import files_of, not_kept
from distsvm.data.readers.lines import described
from distsvm.data.remembered import remembered
from distsvm.data.shard import ShardSpec
from distsvm.errors import DataError
from distsvm.executors.base import Executor
from distsvm.messages import Facts, Score
from distsvm.oracles.task import Task
from distsvm.oracles.unseen import tell_unseen
from distsvm.risks.base import Workers
from distsvm.solvers.base import Solver
from distsvm.training.config import TrainConfig
from distsvm.training.data_manifest import DataManifest
from distsvm.training.run_folder import RunFolder
from distsvm.training.solving import ONE_PROCESS, Choice, DataCut, cut_data
from distsvm.wording import message
from distsvm.workers.shard_worker import ShardWorker

log = logging.getLogger(__name__)

C_FACTOR = 10.0
EPS_SHARE = 1e-3
HARD_REL_GAP = 1e-3


@dataclass(frozen=True, eq=False)
class Given:
    """Data in the arguments of `train`; `options` are for open_data."""

    data: Any
    outputs: Any = None
    weight: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    validation: Any = None

    def settled(self) -> Given:
        """Return the data with a named column of weights as an option: for validation, too."""
        if not isinstance(self.weight, str):
            return self
        options = {**self.options, "weight": self.weight}
        return replace(self, weight=None, options=options)


@dataclass(frozen=True, eq=False)
class Loaded:
    """Data that is ready for runs on it.

    Parameters
    ----------
    given_task, task : Task
        The user's, and the one that is prepared for the data.
    solver : Solver
        For C = 1: the C of a run may depend on the data.
    executor : Executor
        Its objects are the hosts of the training data, then those of the validation data.
    checks : range
        The numbers of the latter.
    n_checks, check_fingerprint : int, str
        Examples of the validation data, and their digest where there is a folder.
    data_notes : dict or None
        How files were read, for the model.
    """

    given: Given
    given_task: Task
    task: Task
    choice: Choice
    solver: Solver
    cut: DataCut
    executor: Executor
    checks: range
    n_checks: int
    check_fingerprint: str
    manifest: DataManifest
    facts: Facts
    data_notes: dict[str, Any] | None
    load_s: float

    @property
    def shards(self) -> range:
        """The numbers of the hosts of the training data."""
        return range(len(self.cut.specs))

    def workers(self) -> Workers:
        """Return the workers with what a risk needs."""
        facts = self.facts
        return Workers(self.executor, self.cut.hosts, self.task.dim, facts.n_examples, facts.weight)

    def default_C(self, config: TrainConfig, used: dict[str, Any] | None = None) -> float:
        """Return the C of the configuration, else that of a resumed run, else the default.

        A hard margin has none, and it stands for 1 there.

        A resumed run keeps its C, because earlier versions had another formula for the default.
        """
        facts = self.facts
        if config.penalty == "hard":
            return 1.0
        if config.C is not None:
            return config.C
        if config.C_per_example is not None:
            return config.C_per_example * facts.weight
        if used is not None and "C" in used:
            return used["C"]
        mean = facts.square_norm / facts.weight
        return C_FACTOR * facts.n_weighted * self.task.loss_unit / (mean if mean > 0 else 1.0)

    def evaluate(self, w: Any) -> Score:
        """Return the score of w, in the form of Risk.sent, on the validation data."""
        return self.executor.reduce("evaluate", w, groups=[self.checks])[0]

    def look(self, w: Any) -> Score | None:
        """As `evaluate`; None where the time limit comes before all predictions."""
        score = self.executor.reduce("evaluate", w, True, groups=[self.checks])[0]
        return score if score.n_examples == self.n_checks else None


def load(
    task: Task, config: TrainConfig, given: Given, executor: Executor, folder: RunFolder | None,
    choice: Choice | None,
) -> Loaded:  # fmt: skip
    """Let every worker read its own shards, scan them once, and bind the task to them.

    A resumed run gives its recorded `choice`.
    """
    started = time.perf_counter()
    given = given.settled()
    kind = {**given.options, "tables": task.tables}
    own = kind if given.weight is None else {**kind, "weight": given.weight}
    data_notes = None if given.outputs is not None else remembered(given.data, given.options)
    examples = open_data(given.data, given.outputs, **own)
    choice = choice or Choice.of(config, task, executor, examples)
    cut = cut_data(examples, config, task, choice)
    specs: list[ShardSpec] = list(cut.specs)
    if given.validation is not None:
        specs += open_data(given.validation, **kind).specs(None, task.cost)
    shards, checks = range(len(cut.specs)), range(len(cut.specs), len(specs))
    manifest = DataManifest.of(specs)
    if folder is not None:
        manifest.check_files(folder.path)
    keeping = _keeping(config, choice, specs)
    executor.start(
        [partial(ShardWorker, spec, keeping) for spec in specs],
        groups=[group for group in (shards, checks) if group],
    )
    summaries = executor.run("scan", task)
    counts = [summary.n_examples for summary in summaries]
    prepared = task.prepare(reduce(add, summaries[: len(shards)]))
    solver = choice.make(config, prepared, executor)
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).tolist()
    pinned = _rereadable(executor, specs)
    digested = folder is not None or bool(pinned)
    facts: list[Facts] = executor.prepare(
        "bind", prepared, config.rescaling, solver.part_maker(), digested,
        shards=shards, each=[(first,) for first in firsts[: len(shards)]],
    )  # fmt: skip
    check_counts(cut.specs, counts, facts)
    manifest.digests = [fact.fingerprint for fact in facts]
    check_fingerprint = ""
    if checks:
        tell_unseen(executor.prepare("attach", prepared, shards=checks))
        if digested:
            parts = executor.run("fingerprint", shards=checks)
            check_fingerprint = "".join(parts)
            manifest.digests += parts
    if pinned:
        digests = [(manifest.digests[shard],) for shard in pinned]
        executor.prepare("expect", shards=pinned, each=digests)
    total = reduce(add, facts)
    _warn_dropped(total)
    if not total.weight > 0:
        raise DataError("the examples' weights, times those of their classes, are all 0")
    return Loaded(
        given, task, prepared, choice, solver, cut, executor, checks, sum(counts[len(shards) :]),
        check_fingerprint, manifest, total, data_notes, time.perf_counter() - started,
    )  # fmt: skip


def _keeping(config: TrainConfig, choice: Choice, specs: Sequence[ShardSpec]) -> Keeping:
    """Return where workers store their examples."""
    cache_dir = None if config.cache_dir is None else whole_path(config.cache_dir)
    memory_mb = None if choice.solver.keeps_examples else config.worker_memory_mb
    keeping = Keeping(cache_dir, memory_mb, choice.solver.worker_vectors)
    keeping = keeping.checked(specs)
    _warn_uncached(keeping, specs)
    return keeping


def _rereadable(executor: Executor, specs: Sequence[ShardSpec]) -> list[int]:
    """Return the shards that a worker may read a second time: none where no worker can be lost.

    Data in memory is left out: it cannot change, and pickling may change the digest of Python
    objects.
    """
    if executor.name in ONE_PROCESS:
        return []
    return [shard for shard, spec in enumerate(specs) if not isinstance(spec, LoadedShard)]


def _warn_uncached(keeping: Keeping, specs: Sequence[ShardSpec]) -> None:
    """Warn of the examples for which cache_dir has no effect."""
    if keeping.cache_dir is None or keeping.memory_mb is not None:
        return  # a worker of limited memory stores everything that its task packs
    for reason in dict.fromkeys(filter(None, map(not_kept, specs))):
        log.warning(message("{cache_dir} does nothing for these examples: {}", reason))


def check_counts(specs: Sequence[ShardSpec], counts: Sequence[int], facts: Sequence[Facts]) -> None:
    """Refuse shards whose number of examples differs between scan and binding.

    A worker that is lost in between reads its shards again before there is a digest of them.
    """
    for spec, n_scanned, fact in zip(specs, counts, facts, strict=False):
        n_bound = fact.n_examples + fact.n_dropped
        if n_bound != n_scanned:
            raise DataError(
                f"{described(files_of(spec))} changed during the run: {n_scanned} examples were "
                f"read from it at first, then {n_bound}"
            )


def _warn_dropped(facts: Facts) -> None:
    """Warn of examples that are left out, and refuse data of which none is left."""
    n, n_dropped = facts.n_examples, facts.n_dropped
    text = f"{n_dropped} of {n + n_dropped} examples have outputs that the task does not allow"
    if n_dropped and not n:
        raise DataError(f"{text}: nothing is left to train on")
    if n_dropped:
        log.warning("%s, and are left out", text)
