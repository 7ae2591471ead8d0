"""Data that workers have read: bound to its task, and what a run has to know of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from distsvm.data import open_data
from distsvm.data.files import whole_path
from distsvm.data.keeping import Keeping
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
from distsvm.training.loading import check_counts, read_again, tell_dropped, tell_uncached
from distsvm.training.run_folder import RunFolder, described_data
from distsvm.training.solving import Choice, DataCut, cut_data
from distsvm.workers.shard_worker import ShardWorker

C_FACTOR = 10.0
EPS_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Given:
    """Data as the user gave it.

    Parameters
    ----------
    data, outputs, weight : as `train` takes them
    options : dict
        For open_data.
    validation : like data, or None
    """

    data: Any
    outputs: Any = None
    weight: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    validation: Any = None

    def settled(self) -> Given:
        """With the name of a column of weights among the options: the validation data's, too."""
        if not isinstance(self.weight, str):
            return self
        options = {**self.options, "weight": self.weight}
        return replace(self, weight=None, options=options)


@dataclass(frozen=True, eq=False)
class Loaded:
    """What every run on this data begins with.

    Parameters
    ----------
    given : Given
    given_task, task : Task
        As the user gave it, and as it was prepared for the data.
    choice, solver : Choice, Solver
        The solver is that of C = 1: the C of a run may depend on the data.
    cut : DataCut
    executor : Executor
        Its objects are the hosts of the training data, and behind them those of the validation's.
    checks : range
        The latter.
    n_checks : int
        Examples to validate with.
    check_fingerprint : str
        Their digest, where there is a folder.
    manifest : DataManifest
    facts : Facts
    data_notes : dict or None
        How files were read, for the model to remember.
    load_s : float
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
        """The numbers of what is hosted of the training data."""
        return range(len(self.cut.specs))

    @property
    def described(self) -> tuple[Any, Any]:
        """How to find the data again, and the validation data."""
        given = self.given
        return (
            described_data(given.data, given.outputs, given.options),
            described_data(given.validation, None, given.options),
        )

    def workers(self) -> Workers:
        """What a risk has to know of the workers."""
        facts = self.facts
        return Workers(self.executor, self.cut.hosts, self.task.dim, facts.n_examples, facts.weight)

    def default_C(self, config: TrainConfig, used: dict[str, Any] | None = None) -> float:
        """The C of the configuration, or that of the run that goes on, or what the data calls for.

        The bounds of a checkpoint belong to one C, and the default had another formula before.
        """
        facts = self.facts
        if config.C is not None:
            return config.C
        if config.C_per_example is not None:
            return config.C_per_example * facts.weight
        if used is not None and "C" in used:
            return used["C"]
        mean = facts.square_norm / facts.weight
        return C_FACTOR * facts.n_weighted * self.task.loss_unit / (mean if mean > 0 else 1.0)

    def evaluate(self, w: np.ndarray) -> Score:
        """How w does on the validation data."""
        return self.executor.reduce("evaluate", w, groups=[self.checks])[0]

    def look(self, w: np.ndarray) -> Score | None:
        """As evaluate; None where the time is over before all are predicted."""
        score = self.executor.reduce("evaluate", w, True, groups=[self.checks])[0]
        return score if score.n_examples == self.n_checks else None


def load(
    task: Task, config: TrainConfig, given: Given, executor: Executor, folder: RunFolder | None,
    choice: Choice | None,
) -> Loaded:  # fmt: skip
    """Have every worker read its own shards, scan them once, and bind the task to them.

    A `choice` that was recorded is kept.
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
    pinned = read_again(executor, specs)
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
    tell_dropped(total)
    if not total.weight > 0:
        raise DataError("the examples' weights, times those of their classes, are all 0")
    return Loaded(
        given, task, prepared, choice, solver, cut, executor, checks, sum(counts[len(shards) :]),
        check_fingerprint, manifest, total, data_notes, time.perf_counter() - started,
    )  # fmt: skip


def _keeping(config: TrainConfig, choice: Choice, specs: Sequence[ShardSpec]) -> Keeping:
    """Where workers keep their examples."""
    cache_dir = None if config.cache_dir is None else whole_path(config.cache_dir)
    keeping = Keeping(cache_dir, config.worker_memory_mb, choice.solver.worker_vectors)
    keeping = keeping.checked(specs)
    tell_uncached(keeping, specs)
    return keeping
