"""The options of a training run: each is declared once with default, unit, check and help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from distsvm.errors import ConfigError
from distsvm.executors import CHOICES
from distsvm.kinds import (
    Choice,
    Count,
    Table,
    choice,
    local_folder,
    number,
    path,
    share,
    whole,
)  # fmt: skip
from distsvm.options import (
    Option,
    built,
    check_fields,
    declared,
    documented,
    option,
    refuse_unknown,
)  # fmt: skip
from distsvm.registry import SOLVERS, solver_named
from distsvm.solvers.base import check_place
from distsvm.solvers.options import options_of_solvers, solver_options
from distsvm.uris import check_secretless
from distsvm.wording import Name, Setting, message

OBJECTIVE = "objective: min_w ½‖w‖² + C·R(w), R(w) = Σ c_i·H_i(w) / Σ c_i"
STOPPING = "when to stop (whatever comes first)"
METHOD = "how to get there (changes time, not the optimum)"
PLACE = "where to run"
FOLDER = "folder of the run"


@dataclass(frozen=True)
class TrainConfig:
    """min_w ½‖w‖² + C·R(w), R(w) = Σ c_i·H_i(w) / Σ c_i, and how to get there.

    Parameters
    ----------
    {}
    """

    C: float | None = option(
        None, kind=number(above=0), metavar="C", group=OBJECTIVE,
        usual="10 · n · Δ̄ / mean ‖Ψ(x, y)‖², n the number of examples of weight > 0, Δ̄ the task's "
        "unit of loss: the largest loss (hamming: the mean length; brackets: their mean number in "
        "a tree)",
        help="multiplies the (weighted) mean hinge loss; LIBLINEAR's and scikit-learn's C is "
        "C / Σ c_i (C / n without weights). With the default, predictions do not depend on the "
        "scale of features, losses or weights",
    )  # fmt: skip
    C_per_example: float | None = option(
        None, kind=number(above=0), metavar="C", group=OBJECTIVE,
        help="LIBLINEAR's C, instead of {C}: C = C_per_example · Σ c_i",
    )  # fmt: skip
    rescaling: str = option(
        "margin", kind=choice("margin", "slack"), metavar="KIND", group=OBJECTIVE,
        help="margin: H = max Δ − ⟨w, ψ⟩; slack: H = max Δ·(1 − ⟨w, ψ⟩)",
    )  # fmt: skip
    penalty: str = option(
        "linear", kind=choice("linear", "quadratic", "hard"), metavar="KIND", group=OBJECTIVE,
        help="what slacks cost. linear: C·R(w); quadratic: C·Σ c_i·H_i(w)² / (2·Σ c_i), with √Δ in "
        "the place of Δ; hard: ½‖w‖² alone, with every H_i(w) = 0, and {rescaling} says the "
        "margin: slack 1, margin Δ (the latter is an extension of the paper's). n-slack takes all "
        "three, multi-plane the first two; auto takes n-slack for the last two",
    )  # fmt: skip
    eps: float | None = option(
        None, kind=number(least=0), metavar="EPS", group=STOPPING, free=True,
        unit="units of the loss", usual="0.001 · Δ̄, as in {C}, unless {rel_gap} is given",
        help="in units of the loss: stop when primal − dual ≤ C·eps, also with {penalty} "
        "quadratic. Not with hard, which has no C",
    )  # fmt: skip
    rel_gap: float | None = option(
        None, kind=number(least=0).or_none(), metavar="X", group=STOPPING, free=True,
        usual="none, 0.001 with {penalty} hard",
        help="no unit: stop when (primal − dual) / primal ≤ X. Alone it is the only rule of the "
        "gap; with {eps}, whatever comes first",
    )  # fmt: skip
    max_rounds: int | None = option(
        None, kind=whole(least=1).or_none(), metavar="N", group=STOPPING, free=True,
        help="stop after N rounds of the whole run. The last of them calls the oracle, so that it "
        "certifies. If it would not have done so without the limit, no checkpoint includes it: a "
        "resumed run makes that round again, and has the bits of a run with a larger limit",
    )  # fmt: skip
    max_seconds: float | None = option(
        None, kind=number(above=0).or_none(), metavar="S", group=STOPPING, free=True, unit="s",
        help="stop after S seconds of this session, also in the middle of a round, after at most "
        "one more call of the search. A round that is cut short raises the dual and certifies no "
        "primal value, and no checkpoint includes it",
    )  # fmt: skip
    patience: int = option(
        10, kind=whole(least=1), metavar="N", group=STOPPING, free=True,
        help="with {validation}: stop when the w of N better primal values in a row have not "
        "lowered the validation loss",
    )  # fmt: skip
    solver: str = option(
        "auto", kind=Choice(lambda: ("auto", *SOLVERS)), metavar="NAME", group=METHOD,
        help="auto is the solver whose own options are given, if they are of one solver only; "
        "else multi-plane for sequences, trees and alignments; sequential-dual for classes of at "
        "least 32 columns in memory that are trained in one process (serial, threads) without "
        "several blocks; else one-slack. The run records the choice for resumed runs",
    )  # fmt: skip
    solver_options: dict[str, Any] = option(
        factory=dict, kind=Table(), flag="", group=METHOD,
        help="the solver's own options, which may also be given by their own names",
    )  # fmt: skip
    n_blocks: int | None = option(
        None, kind=whole(least=1), flag="--blocks", metavar="N", group=METHOD,
        usual="one-slack 1; multi-plane 1 in one process (serial, threads), one a worker in "
        "several (processes, ray), or fewer for small data",
        help="fixed groups of neighbouring shards; at most {n_shards}. one-slack: each has a "
        "slack variable. multi-plane: blocks raise the dual side by side, each on the threads of "
        "one worker; more of them use more workers, and take more work. The run records the "
        "number for resumed runs",
    )  # fmt: skip
    n_shards: int | None = option(
        None, kind=whole(least=1), flag="--shards", metavar="N", group=METHOD,
        usual="one-slack 16, fewer for small data; multi-plane one for each block",
        help="parts of the data. Equal {n_shards} and {n_blocks} give equal bits on every "
        "executor with any number of workers and threads",
    )  # fmt: skip
    random_state: int | None = option(
        None, kind=whole(least=0), flag="--seed", metavar="N", group=METHOD,
        help="for solvers that draw: multi-plane and sequential-dual draw the order in which they "
        "visit examples",
    )  # fmt: skip
    executor: str = option(
        "auto", kind=choice(*CHOICES), metavar="NAME", group=PLACE, free=True,
        help="auto, serial, threads, processes or ray. auto is serial for one worker, threads for "
        "compiled tasks, and processes for all else",
    )  # fmt: skip
    executor_options: dict[str, Any] = option(
        factory=dict, kind=Table(), flag="", group=PLACE, free=True,
        help="the executor's own options, by their names",
    )  # fmt: skip
    n_workers: int | None = option(
        None, kind=whole(least=1), flag="--workers", metavar="N", group=PLACE, free=True,
        usual="the usable cores; one a machine where compiled tasks are trained on processes or "
        "ray",
        help="the number of workers; it changes no result where {n_blocks} is given",
    )  # fmt: skip
    cache_dir: str | None = option(
        None, kind=local_folder, metavar="DIR", group=PLACE, free=True, usual="none",
        help="a folder on each worker's own disk for examples from files as packed arrays: the "
        "next start maps them instead of reading the files, unless these have changed. It is "
        "refused unless it is the user's own, and no other user can write there. It has no trees "
        "and other Python objects; a warning names them",
    )  # fmt: skip
    worker_memory_mb: float | None = option(
        None, kind=number(above=0), flag="--worker-memory", metavar="MB", group=PLACE, free=True,
        unit="MiB", usual="none",
        help="limit of a worker's memory, of which its process takes 80 and its vectors of the "
        "length of w take 5·8·dim bytes, in multi-plane 8·8·dim; 40 more is the least that is "
        "accepted. Examples, which must be in files, are worked through in pieces of at most an "
        "eighth of it, read in every round from {cache_dir} or the temporary files; there "
        "multi-plane also puts their planes, and one-slack has no cache",
    )  # fmt: skip
    run_dir: str | None = option(
        None, kind=path, metavar="DIR", group=FOLDER, free=True,
        help="a new folder, or its URI in a store that fsspec can write (s3://…; memory:// for "
        "serial and threads), for configuration, history, checkpoints, result and model; with it "
        "a run can be resumed, inspected and drawn. Driver and workers share it. In a store, each "
        "checkpoint rewrites the history; if the store refuses a checkpoint, a note says so and "
        "the run continues",
    )  # fmt: skip
    checkpoint_rounds: int = option(
        100, kind=whole(least=1), metavar="N", group=FOLDER, free=True,
        help="write a checkpoint every N rounds",
    )  # fmt: skip
    checkpoint_seconds: float = option(
        60.0, kind=number(above=0), metavar="S", group=FOLDER, free=True, unit="s",
        help="or when the last is S seconds old. On a disk, planes of examples whose planes did "
        "not change are hard links to the checkpoint before",
    )  # fmt: skip
    checkpoint_share: float = option(
        0.1, kind=share, metavar="SHARE", group=FOLDER, free=True,
        usual="0.1, and at least 1 s; with 1 none is delayed",
        help="the share of a session's time that checkpoints may take; one that would take longer "
        "is delayed. The last one is always written",
    )  # fmt: skip
    keep_checkpoints: int = option(
        2, kind=whole(least=1), metavar="N", group=FOLDER, free=True,
        help="the number of checkpoints, the newest, that stay in the folder",
    )  # fmt: skip
    verbose: int = option(
        0, kind=Count(), flag="", group=FOLDER, free=True,
        help="1 logs every fresh round, 2 every round: on stderr, or through the logger "
        '"distsvm" where logging is set up to show its INFO',
    )  # fmt: skip

    FREE: ClassVar[frozenset[str]]
    """Options that a resumed run may change: where it runs and when it stops."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.C is not None and self.C_per_example is not None:
            raise ConfigError(message("{C} and {C_per_example} are both given; give one of them"))
        self._check_penalty()
        if self.run_dir is not None:
            check_secretless(self.run_dir)
        refuse_unknown(self.solver_options, options_of_solvers())
        checked: dict[str, Any] = {}
        for solver in solver_options():
            own = self.options_of(solver)
            own.check_with(self)
            checked |= {field: getattr(own, field) for field in declared(type(own))}
        if self.solver != "auto":
            check_place(solver_named(self.solver), self.n_blocks, self.worker_memory_mb is not None)
        # Without the defaults, which do not select a solver.
        given = {n: v for n, v in checked.items() if v != options_of_solvers()[n].default}
        object.__setattr__(self, "solver_options", given)

    def _check_penalty(self) -> None:
        """Refuse what a hard margin has no use for."""
        if self.penalty != "hard":
            return
        for name in ("C", "C_per_example", "eps"):
            value = getattr(self, name)
            if value is not None:
                raise ConfigError(
                    message(
                        "{} with {}: a hard margin has no C, and no slack whose size eps could "
                        "limit; expected {rel_gap} alone",
                        Setting(name, value),
                        Setting("penalty", "hard"),
                    )
                )

    def options_of(self, solver: str) -> Any:
        """Return the options of the solver of this name."""
        cls = solver_options()[solver]
        return cls(**{n: v for n, v in self.solver_options.items() if n in declared(cls)})

    def solvers_named(self) -> list[str]:
        """Return the solvers of which options are given."""
        given = self.solver_options.keys()
        return [name for name, cls in solver_options().items() if declared(cls).keys() & given]

    def check_options_of(self, solver: str) -> None:
        """Refuse the options of other solvers, in a run that this one trains."""
        own = declared(solver_named(solver).Options)
        for name in sorted(self.solver_options.keys() - own.keys()):
            other = next(one for one, cls in solver_options().items() if name in declared(cls))
            setting = Setting("solver", other)
            raise ConfigError(
                message("{} is for {}, and this run's is {}", Name(name), setting, solver)
            )

    def as_dict(self) -> dict[str, Any]:
        """Return all options by name, without defaults of solvers."""
        common = asdict(self)
        own = common.pop("solver_options")
        return {**common, **own}

    def values(self) -> dict[str, Any]:
        """Return the value of every option of training and of all solvers."""
        defaults = {name: own.default for name, own in options_of_solvers().items()}
        return defaults | self.as_dict()

    def kept(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the options that stay when a run is resumed with these changes.

        A new eps replaces an earlier rel_gap, and the other way round: the earlier rule may have
        ended the run.
        """
        rules = dict.fromkeys(("eps", "rel_gap"))
        replaced = any(changes.get(rule) is not None for rule in rules)
        return self.as_dict() | (rules if replaced else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrainConfig:
        """Return the configuration with these options of training and of solvers."""
        refuse_unknown(data, all_options())
        own = {field.name for field in fields(cls)}
        common = {name: value for name, value in data.items() if name in own}
        flat = {name: value for name, value in data.items() if name not in own}
        inner = common.get("solver_options", {})
        if flat and isinstance(inner, Mapping):
            for name in sorted(flat.keys() & inner.keys()):
                raise ConfigError(f"solver_options names {name}, which is also given by itself")
            common["solver_options"] = {**inner, **flat}
        return built(cls, common)


TrainConfig.FREE = frozenset(name for name, own in declared(TrainConfig).items() if own.free)


def all_options() -> dict[str, Option]:
    """Return the options of training and of all solvers, by name."""
    return {**declared(TrainConfig), **options_of_solvers()}


documented(all_options().values())(TrainConfig)
