"""Everything that a training run can be told, with its unit, its default and its check."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from distsvm.errors import ConfigError, nearest
from distsvm.solvers import SOLVERS
from distsvm.uris import check_secretless


@dataclass(frozen=True)
class TrainConfig:
    """min_w ½‖w‖² + C·R(w), R(w) = Σ c_i·H_i(w) / Σ c_i, and how to get there.

    Parameters
    ----------
    C : float > 0, optional
        Multiplies the (weighted) mean of the examples' hinge losses. LIBLINEAR's and
        scikit-learn's C is this divided by Σ c_i (n without weights). Default:
        10 · n · Δ̄ / mean ‖Ψ(x_i, y_i)‖², with n the number of examples of weight > 0 and Δ̄ the
        task's loss_unit: the largest loss, for Hamming loss the mean length, for brackets their
        mean number. Scaling all features, all losses or all weights does not change the
        predictions then.
    C_per_example : float > 0, optional
        LIBLINEAR's C, instead of C: C = C_per_example · Σ c_i.
    eps : float ≥ 0, optional
        In units of the loss: stop when primal − dual ≤ C·eps. Default 0.001·Δ̄, unless rel_gap is
        given.
    rel_gap : float ≥ 0, optional
        Stop when (primal − dual) / primal ≤ rel_gap. Given alone it is the only rule of the gap;
        with eps, the run stops when the first of the two holds.
    max_rounds, max_seconds : optional
        Stop after so many rounds of the run, or so many seconds of this session. The last round
        allowed asks the oracle, so that it certifies. Where it would not have asked without the
        limit, no checkpoint holds it: a resumed run makes that round again, and has the bits of a
        run with a larger limit. The time ends within one call of the oracle: with a call of your
        own search, or with a piece of a compiled one. A round that it cuts short raises the dual
        and certifies no primal value, and no checkpoint holds it either.
    rescaling : "margin" or "slack"
    solver : "auto", "one-slack" or "multi-plane"
        "auto": the solver whose own options are given, if they are of one solver only. Else
        multi-plane for sequences and trees, and for classes of at least 100 columns in memory that
        are trained in one process ("serial", "threads") without several blocks; one-slack for all
        else. The run records the choice, and a resumed run takes it from there.
    cache_size : int ≥ 0 or "auto"
        One-slack: planes kept for each example (multi-plane keeps as many as it needs, up to
        plane_memory_mb). "auto": 10, or 0 where a task's oracle enumerates outputs as
        cheaply as cached planes could be scored (classes).
    refresh_fraction : float in (0, 1], default 1
        When the caches fail, the part of the examples to ask the oracle about at a time.
    stabilise : float in (0, 1], default 0.3
        µ: ask the oracle at (1 − µ)·w_best + µ·w_model. 1 is the paper's method.
    n_blocks : int ≥ 1, optional
        Blocks, each a fixed group of neighbouring shards; at most n_shards.
        One-slack: each block has a slack variable; default 1.
        Multi-plane: blocks raise the dual side by side, each in one worker on one thread. More
        blocks can use more workers, and need more work until the gap is small. Default: 1 in one
        process ("serial", and "threads" unless asynchronous), 8 in several ("processes", "ray"),
        or fewer for small data. The run records the number, and a resumed run takes it from there.
    ask_share : float in (0, 1], default 0.3
        Multi-plane: the part of the examples, those with the largest shares of the gap, to ask
        the oracle about in most rounds that ask it.
    plane_memory_mb : float > 0, default 4096
        Multi-plane: limit of the memory for planes, of all workers together; with
        worker_memory_mb those of one piece of each block count, which may take as much as a piece.
    asynchronous : bool, default False
        Multi-plane in one process ("threads" or "serial"): blocks see each other's changes of w at
        once, so that two threads need little more work than one. With threads the result depends
        on their timing: certified like any other, but not the same bits twice.
    qp : "native", "cvxpy", "cvxpy:SOLVER" or "line-search"
    idle_solves : int ≥ 1, default 50
        Drop a cut with α = 0 in so many solves.
    max_cuts : int ≥ 2·n_blocks + 1, optional
        Above it cuts are replaced by their aggregate; 50 for the line search unless given.
    executor : "auto", "serial", "threads", "processes" or "ray"
        Equal n_shards and n_blocks give equal bits on every executor with any number of workers.
    executor_options : dict
        Processes and Ray: max_failures (how often the worker of a shard may be lost, default 3),
        worker_timeout_s (a worker is lost without a sign of life for so long, or when it takes so
        long and ten times as long as the others, default 30), call_timeout_s (or when one call
        takes longer than this, default None). Ray: address, resources_per_worker,
        placement_timeout_s (60), min_workers (begin with so many if no more find a place; default:
        all of n_workers).
    n_workers : int ≥ 1, optional
        Default: the usable cores. Never changes the result.
    n_shards : int ≥ 1, optional
        Parts of the data. Default: one-slack 16, fewer for small data; multi-plane one for each
        block.
    cache_dir : str, optional
        A folder on a disk of each worker's own machine, for examples from files as packed arrays:
        the next start maps them into memory instead of reading the files. What has changed since
        is read again. It is refused unless it is the user's own, and nobody else can write there.
        Trees and other Python objects are not kept, which a warning says.
    worker_memory_mb : float > 0, optional
        Limit of a worker's memory, of which its process takes 80 and its vectors of the length of w
        take 5·8·dim bytes, in multi-plane 8·8·dim; 40 more is the least that is accepted. Examples,
        which must be in files, are worked through in pieces of at most an eighth of it, read in
        every round from cache_dir, or from a folder among the temporary files. Multi-plane keeps
        the planes of a piece there, too, while it is at another. One-slack has no cache then.
    random_state : int, optional
        For solvers that draw: multi-plane draws the order in which it visits examples.
    patience : int ≥ 1, default 10
        With validation data: stop when the w of so many better primal values in a row have
        brought no lower validation loss.
    run_dir : path or URI, optional
        A folder for configuration, history, checkpoints and model: on a file system that driver
        and workers share, or in a store that fsspec can write, such as s3://bucket/runs/1
        (memory:// for "serial" and "threads"). In a store, history.jsonl is written anew with each
        checkpoint; a checkpoint that the store refuses is noted, and the run goes on.
    checkpoint_rounds, checkpoint_seconds : default 100 and 60
        Write a checkpoint after so many rounds or seconds, whichever comes first. On a disk,
        planes of examples whose planes did not change are hard links to the checkpoint before.
    checkpoint_share : float in (0, 1], default 0.1
        Checkpoints take at most this part of a session's time, or 1 s if that is more: one that
        would take longer is put off. 1 puts off none. The last one is always written.
    keep_checkpoints : int ≥ 1, default 2
    verbose : int, default 0
        1 tells of every fresh round, 2 of every round: on stderr, or through the logger "distsvm"
        where logging is set up to show its INFO.
    """

    C: float | None = None
    C_per_example: float | None = None
    eps: float | None = None
    rel_gap: float | None = None
    max_rounds: int | None = None
    max_seconds: float | None = None
    rescaling: str = "margin"
    solver: str = "auto"
    cache_size: int | str = "auto"
    refresh_fraction: float = 1.0
    stabilise: float = 0.3
    n_blocks: int | None = None
    ask_share: float = 0.3
    plane_memory_mb: float = 4096.0
    asynchronous: bool = False
    qp: str = "native"
    idle_solves: int = 50
    max_cuts: int | None = None
    executor: str = "auto"
    executor_options: dict[str, Any] = field(default_factory=dict)
    n_workers: int | None = None
    n_shards: int | None = None
    cache_dir: str | None = None
    worker_memory_mb: float | None = None
    random_state: int | None = None
    patience: int = 10
    run_dir: str | None = None
    checkpoint_rounds: int = 100
    checkpoint_seconds: float = 60.0
    checkpoint_share: float = 0.1
    keep_checkpoints: int = 2
    verbose: int = 0

    # What may differ between a run and its continuation: where it runs and when it stops.
    FREE: ClassVar[frozenset[str]] = frozenset({
        "eps", "rel_gap", "max_rounds", "max_seconds", "executor", "executor_options", "n_workers",
        "cache_dir", "worker_memory_mb", "patience", "run_dir", "checkpoint_rounds",
        "checkpoint_seconds", "checkpoint_share", "keep_checkpoints", "verbose",
    })  # fmt: skip

    def __post_init__(self) -> None:
        if self.C is not None and self.C_per_example is not None:
            raise ConfigError("C and C_per_example are both given; give one of them")
        for name in (
            "C", "C_per_example", "max_seconds", "checkpoint_seconds", "plane_memory_mb",
            "worker_memory_mb",
        ):  # fmt: skip
            self._check(name, float, lambda v: v > 0, "a number > 0")
        for name in ("eps", "rel_gap"):
            self._check(name, float, lambda v: v >= 0, "a number ≥ 0")
        for name in (
            "max_rounds", "n_workers", "n_shards", "n_blocks", "idle_solves", "patience",
            "checkpoint_rounds", "keep_checkpoints",
        ):  # fmt: skip
            self._check(name, int, lambda v: v >= 1, "a whole number ≥ 1")
        for name in ("refresh_fraction", "stabilise", "ask_share", "checkpoint_share"):
            self._check(name, float, lambda v: 0 < v <= 1, "a number in (0, 1]")
        if self.cache_size != "auto":
            self._check("cache_size", int, lambda v: v >= 0, "a whole number ≥ 0, or 'auto'")
        for name in ("random_state", "verbose"):
            self._check(name, int, lambda v: v >= 0, "a whole number ≥ 0")
        has_cache = self.cache_size not in ("auto", 0) and self.solver != "multi-plane"
        if has_cache and self.worker_memory_mb is not None:
            raise ConfigError(
                f"worker_memory_mb and cache_size={self.cache_size}: the one-slack solver's cache "
                "would take memory of its own; expected 0 or 'auto', or solver='multi-plane'"
            )
        if not isinstance(self.asynchronous, bool):
            raise ConfigError(f"asynchronous={self.asynchronous!r}: expected True or False")
        if self.asynchronous and self.solver == "one-slack":
            raise ConfigError("asynchronous is for solver='multi-plane', not 'one-slack'")
        if not isinstance(self.qp, str):
            raise ConfigError(f"qp={self.qp!r}: expected the name of a QP solver")
        if not isinstance(self.executor_options, dict):
            raise ConfigError(f"executor_options={self.executor_options!r}: expected a dict")
        for name in ("run_dir", "cache_dir"):
            value = getattr(self, name)
            try:
                object.__setattr__(self, name, None if value is None else os.fspath(value))
            except TypeError as error:
                raise ConfigError(f"{name}={value!r}: expected a path") from error
        if self.run_dir is not None:
            check_secretless(self.run_dir)
        if self.cache_dir is not None and "://" in self.cache_dir:
            raise ConfigError(f"cache_dir={self.cache_dir!r}: expected a folder on a local disk")
        lowest = 2 * (self.n_blocks or 1) + 1
        self._check("max_cuts", int, lambda v: v >= lowest, f"a whole number ≥ {lowest}")
        self._choose("rescaling", ("margin", "slack"))
        self._choose("solver", ("auto", *SOLVERS))
        self._choose("executor", ("auto", "serial", "threads", "processes", "ray"))

    def _check(self, name: str, kind: type, good: Any, expected: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        try:
            fits = not isinstance(value, (bool, str)) and math.isfinite(value) and good(value)
            fits = fits and kind(value) == value
        except TypeError:
            fits = False
        if not fits:
            raise ConfigError(f"{name}={value!r}: expected {expected}")
        object.__setattr__(self, name, kind(value))

    def _choose(self, name: str, choices: tuple[str, ...]) -> None:
        if getattr(self, name) not in choices:
            raise ConfigError(
                f"{name}={getattr(self, name)!r}: expected one of {', '.join(choices)}"
            )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def kept(self, changes: dict[str, Any]) -> dict[str, Any]:
        """What stays of this configuration when a run is resumed with these changes.

        A new eps takes the place of an earlier rel_gap, and the other way round: the earlier rule
        may be the one that has ended the run.
        """
        rules = dict.fromkeys(("eps", "rel_gap"))
        replaced = any(changes.get(rule) is not None for rule in rules)
        return self.as_dict() | (rules if replaced else {})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrainConfig:
        """The configuration that as_dict gave; unknown keys are refused by name."""
        known = [f.name for f in fields(cls)]
        for name in sorted(set(data) - set(known)):
            raise ConfigError(f"unknown parameter {name!r}{nearest(name, known)}")
        return cls(**data)
