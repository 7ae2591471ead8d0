"""The options of a training run: one for every field of TrainConfig, in groups."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from distsvm.cli.readers import Reader, amounts, number, or_word, text, whole
from distsvm.errors import ConfigError
from distsvm.executors import make_executor
from distsvm.jobs.client import is_job_address, shown_address
from distsvm.qp import make_qp
from distsvm.training.config import TrainConfig

maybe_number = or_word("none", number, None)
maybe_whole = or_word("none", whole, None)


@dataclass(frozen=True)
class Option:
    """One option: its flag, the field of TrainConfig (or of executor_options) it sets, its help.

    Without a reader it takes no value: given, the field is True.
    """

    flag: str
    field: str
    read: Reader | None
    metavar: str
    help: str

    def add(self, group: argparse._ArgumentGroup) -> None:
        # Absent unless given: the library alone knows the defaults, resume() only hears changes.
        how: dict[str, Any] = {"action": "store_true"}
        if self.read is not None:
            how = {"type": self.read, "metavar": self.metavar}
        group.add_argument(
            self.flag, dest=self.field, help=self.help, default=argparse.SUPPRESS, **how
        )


GROUPS: dict[str, tuple[Option, ...]] = {
    "objective: min_w ½‖w‖² + C·R(w), R(w) = Σ c_i·H_i(w) / Σ c_i": (
        Option("--C", "C", number, "C",
               "multiplies the mean hinge loss; LIBLINEAR's C is C / Σ c_i (C / n without "
               "weights). Default: 10 · n · Δ̄ / mean ‖Ψ(x, y)‖², n the number of examples of "
               "weight > 0, Δ̄ the largest loss (hamming: the mean length; brackets: their mean "
               "number in a tree)"),
        Option("--C-per-example", "C_per_example", number, "C",
               "LIBLINEAR's C, instead of --C: C = C_per_example · Σ c_i"),
        Option("--rescaling", "rescaling", text, "KIND",
               "margin (default): H = max Δ − ⟨w, ψ⟩; slack: H = max Δ·(1 − ⟨w, ψ⟩)"),
    ),
    "when to stop (what comes first)": (
        Option("--eps", "eps", number, "EPS",
               "in units of the loss: stop when primal − dual ≤ C·eps. "
               "Default: 0.001 · Δ̄, as in --C, unless --rel-gap is given"),
        Option("--rel-gap", "rel_gap", maybe_number, "X",
               "no unit: stop when (primal − dual) / primal ≤ X. Alone it is the only rule of the "
               "gap; with --eps, what comes first. Default: none"),
        Option("--max-rounds", "max_rounds", maybe_whole, "N",
               "stop after so many rounds of the whole run. Default: none"),
        Option("--max-seconds", "max_seconds", maybe_number, "S",
               "stop after so many seconds of this session, in the middle of a round if need be, "
               "within one call of the search. Default: none"),
        Option("--patience", "patience", whole, "N",
               "with --validation: stop when the w of so many better primal values in a row have "
               "brought no lower validation loss. Default: 10"),
    ),
    "how to get there (changes time, not the optimum)": (
        Option("--solver", "solver", text, "NAME",
               "auto (default), one-slack, or multi-plane, which auto takes for sequences and "
               "trees, and in one process for classes of at least 100 columns"),
        Option("--cache-size", "cache_size", or_word("auto", whole, "auto"), "N",
               "one-slack: planes kept for each example; 0 for none. Default: auto, 10, or 0 for "
               "classes, whose oracle costs no more than a cache"),
        Option("--refresh-fraction", "refresh_fraction", number, "F",
               "in (0, 1]: the part of the examples to ask the oracle about at a time when the "
               "caches fail. Default: 1"),
        Option("--stabilise", "stabilise", number, "MU",
               "in (0, 1]: ask the oracle at (1 − µ)·w_best + µ·w_model; 1 is the method of the "
               "paper. Default: 0.3"),
        Option("--blocks", "n_blocks", whole, "N",
               "fixed groups of neighbouring shards. one-slack: each has a slack variable. "
               "Default: 1. multi-plane: blocks raise the dual side by side, each on one thread; "
               "more of them use more workers, and take more work. Default: 1 on serial and "
               "threads, 8 on processes and ray; resume keeps the number"),
        Option("--ask-share", "ask_share", number, "F",
               "multi-plane, in (0, 1]: the part of the examples, those with the most of the gap, "
               "that most rounds with oracle calls ask about. Default: 0.3"),
        Option("--plane-memory", "plane_memory_mb", number, "MB",
               "multi-plane: limit of the memory for planes, all workers together; with "
               "--worker-memory for one piece of each block. Default: 4096"),
        Option("--asynchronous", "asynchronous", None, "",
               "multi-plane on threads: blocks see each other's changes at once, so that more "
               "threads take hardly more work; certified, but not the same bits twice"),
        Option("--qp", "qp", text, "NAME",
               "native (default), cvxpy, cvxpy:SOLVER or line-search"),
        Option("--idle-solves", "idle_solves", whole, "N",
               "drop a cut whose α was 0 in so many solves. Default: 50"),
        Option("--max-cuts", "max_cuts", whole, "N",
               "above it, cuts are replaced by their sum Σ α·cut. Default: none, 50 a block for "
               "line-search"),
        Option("--shards", "n_shards", whole, "N",
               "parts of the data. Equal --shards and --blocks give equal bits on every executor "
               "with any number of workers. Default: one-slack 16, fewer for small data; "
               "multi-plane one for each block"),
        Option("--seed", "random_state", whole, "N",
               "for solvers that draw: multi-plane draws the order in which it visits examples"),
    ),
    "where to run": (
        Option("--executor", "executor", text, "NAME",
               "auto (default), serial, threads, processes or ray"),
        Option("--workers", "n_workers", whole, "N", "default: the usable cores"),
        Option("--cache-dir", "cache_dir", text, "DIR",
               "a folder on each worker's own disk for examples as packed arrays: the next start "
               "maps them instead of reading the files, unless these have changed. Default: none"),
        Option("--worker-memory", "worker_memory_mb", number, "MB",
               "limit of a worker's memory: examples are worked through in pieces of an eighth of "
               "it or less, read in every round from --cache-dir or the temporary files; there "
               "multi-plane also puts their planes, and one-slack has no cache. Default: none"),
    ),
    "folder of the run": (
        Option("--run-dir", "run_dir", text, "DIR",
               "a new folder, or its URI in a store that fsspec can write (s3://…), for "
               "configuration, history, checkpoints, result and model; with it a run can be "
               "resumed, inspected and drawn"),
        Option("--checkpoint-rounds", "checkpoint_rounds", whole, "N",
               "write a checkpoint every so many rounds. Default: 100"),
        Option("--checkpoint-seconds", "checkpoint_seconds", number, "S",
               "or when the last is so many seconds old. Default: 60"),
        Option("--checkpoint-share", "checkpoint_share", number, "SHARE",
               "the part of the time, in (0, 1], that checkpoints may take; one that would take "
               "longer is put off. Default: 0.1, and at least 1 s; 1 puts off none"),
        Option("--keep-checkpoints", "keep_checkpoints", whole, "N",
               "so many of the newest are kept. Default: 2"),
    ),
}  # fmt: skip

EXECUTOR_OPTIONS = (
    Option("--address", "address", text, "HOST:PORT",
           "of a running Ray cluster, or auto; means --executor ray. (distsvm resume: http://…, "
           "the dashboard's, resumes as a job there)"),
    Option("--resources", "resources_per_worker", amounts, "NAME=N,…",
           "what one Ray worker needs. Default: CPU=1"),
    Option("--placement-timeout", "placement_timeout_s", number, "S",
           "seconds to wait for the next Ray worker to be placed. Default: 60"),
    Option("--min-workers", "min_workers", whole, "N",
           "begin with so many if no more find a place, and go on while so many are left. Default: "
           "begin with all, go on with one"),
    Option("--max-failures", "max_failures", whole, "N",
           "(processes, ray) so often the worker of a shard may be lost before the run fails. "
           "Default: 3"),
    Option("--worker-timeout", "worker_timeout_s", number, "S",
           "(processes, ray) seconds without a sign of life until a worker counts as lost; also "
           "the least time until one that takes ten times as long as the others does. Default: 30"),
    Option("--call-timeout", "call_timeout_s", maybe_number, "S",
           "(processes, ray) seconds that one call of a worker may take. Default: none"),
)  # fmt: skip

# Those of EXECUTOR_OPTIONS that are for more than Ray.
LIMITS = ("max_failures", "worker_timeout_s", "call_timeout_s")

# Set by what is not an option of its own: --verbose, and EXECUTOR_OPTIONS.
OTHER_FIELDS = frozenset({"verbose", "executor_options"})

WHERE = ("executor", "n_workers")


def add_config(parser: argparse.ArgumentParser, fields: Collection[str] | None = None) -> None:
    """Add the options for these fields of TrainConfig (all, unless given)."""
    for title, options in GROUPS.items():
        chosen = [o for o in options if fields is None or o.field in fields]
        group = parser.add_argument_group(title) if chosen else None
        for option in chosen:
            assert group is not None
            option.add(group)
            if option.field == "n_workers":
                for more in EXECUTOR_OPTIONS:
                    more.add(group)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options of where to run, for what is not training."""
    add_config(parser, WHERE)


def given_config(args: argparse.Namespace, fields: Collection[str] | None = None) -> dict[str, Any]:
    """The fields of TrainConfig that were given on the command line."""
    names = TrainConfig.__dataclass_fields__ if fields is None else fields
    config = {name: getattr(args, name) for name in names if hasattr(args, name)}
    chosen = [o for o in EXECUTOR_OPTIONS if hasattr(args, o.field)]
    extras = {option.field: getattr(args, option.field) for option in chosen}
    if "address" in extras:
        if is_job_address(extras["address"]):
            raise ConfigError(
                f"--address {shown_address(extras['address'])}: that is a dashboard's address; "
                "'distsvm submit' trains there as a job"
            )
        config.setdefault("executor", "ray")
    for option in chosen:
        fitting = ("ray", "processes") if option.field in LIMITS else ("ray",)
        if config.get("executor") not in fitting:
            raise ConfigError(f"{option.flag} needs --executor {' or '.join(fitting)}")
    if extras or "executor" in config:
        # Those of an earlier executor do not fit another one.
        config["executor_options"] = extras
    return config


def check_config(config: dict[str, Any]) -> TrainConfig:
    """Refuse what can be refused before any data is read; returns the configuration."""
    settings = TrainConfig.from_dict(config)
    make_qp(settings.qp)
    if settings.executor != "ray":  # which may have to be connected to
        make_executor(
            settings.executor, settings.n_workers, compiled=True, **settings.executor_options
        ).close()
    return settings
