"""Runs that stop early, and what their models predict and how they end: see tests/saved/make.py.

A stored run names its files below PLACE, which stands for the folder that it is copied to.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from comparing import bits_of, short
from small_problems import SENTENCES, SMALL_PROBLEMS, TREES

import distsvm
from distsvm.data.synthetic import write_conll, write_parts
from distsvm.structures.trees.synthetic import write_treebank

STORED = Path(__file__).parent / "saved" / "interrupted-1"
PLACE = "{PLACE}"
STOPPED, ENDED = 5, 14
"""The rounds of a stored run, and of one that was never stopped."""

COMMON = {
    "executor": "serial", "n_shards": 3, "random_state": 1, "eps": 1e-3, "keep_checkpoints": 1,
}  # fmt: skip
SOLVERS: dict[str, dict[str, Any]] = {
    "one-slack": {"solver": "one-slack"},
    "multi-plane": {"solver": "multi-plane", "n_blocks": 2},
}
# What a checkpoint holds depends on these, too.
STATES: dict[str, dict[str, Any]] = {
    "line-search": {"solver": "one-slack", "qp": "line-search"},
    "few-cuts": {"solver": "one-slack", "max_cuts": 3, "idle_solves": 2},
    "cache-blocks": {
        "solver": "one-slack", "cache_size": 5, "n_blocks": 2, "refresh_fraction": 0.5,
    },
}  # fmt: skip
FILES = {
    "binary": "binary", "multiclass": "multiclass", "sequence": "train.conll",
    "parse": "train.mrg", "words": "train.mrg", "python": "train.jsonl",
}  # fmt: skip
FILE_OPTIONS = {"sequence": {"templates": "bias; word[0]; suffix(1..2)"}}


class Run(NamedTuple):
    """A problem of SMALL_PROBLEMS, in memory or in a file of FILES, and what `train` takes."""

    problem: str
    in_file: bool
    setting: str

    def __str__(self) -> str:
        return "-".join((self.problem, *["file"] * self.in_file, self.setting))

    def start(self, home: Path, resume: bool = False, **config: Any) -> distsvm.TrainResult:
        """Train in a folder that is beside the data's."""
        problem = SMALL_PROBLEMS[self.problem]()
        data: tuple[Any, ...] = (problem.inputs, problem.outputs)
        if self.in_file:
            data = (str(home / "data" / FILES[self.problem]),)
            config |= {"data_options": FILE_OPTIONS.get(self.problem)}
        settings = COMMON | problem.options | (SOLVERS | STATES)[self.setting]
        return distsvm.train(
            problem.task, *data, run_dir=home / str(self), resume=resume, **settings | config
        )

    def resume(self, home: Path) -> distsvm.TrainResult:
        """Go on to the end, as far as possible with what the folder says alone."""
        if not self.in_file:
            return self.start(home, resume=True, max_rounds=ENDED)
        return distsvm.resume(home / str(self), task=self.task_class, max_rounds=ENDED)

    def predict(self, home: Path) -> Any:
        """Predict with the model of the stored run."""
        model = distsvm.load_model(home / str(self) / "model", self.task_class)
        if self.in_file:
            return model.predict(home / "data" / FILES[self.problem])
        return model.predict(SMALL_PROBLEMS[self.problem]().inputs)

    @property
    def task_class(self) -> type[distsvm.Task] | None:
        """What has to be given for a task of one's own."""
        task = SMALL_PROBLEMS[self.problem]().task
        return type(task) if self.problem == "python" else None

    def copy_stored(self, home: Path) -> None:
        """Copy the stored run and the data to a home of their own."""
        shutil.copytree(STORED / "data", home / "data")
        self.move(STORED, home, (PLACE, str(home)))

    def move(self, source: Path, target: Path, names: tuple[str, str]) -> None:
        """Copy the run to another home; the first name of the home becomes the second."""
        shutil.copytree(source / str(self), target / str(self))
        for name in ("run.json", "data.json"):
            path = target / str(self) / name
            old, new = (json.dumps(text)[1:-1] for text in names)
            path.write_text(path.read_text().replace(old, new))


RUNS = [
    *(Run(name, False, solver) for name in SMALL_PROBLEMS for solver in SOLVERS),
    *(Run(name, True, solver) for name in FILES for solver in SOLVERS),
    *(Run(name, False, state) for name in ("multiclass", "sequence") for state in STATES),
]


def write_data(folder: Path) -> None:
    """The files of FILES."""
    folder.mkdir()
    for name in ("binary", "multiclass"):
        problem = SMALL_PROBLEMS[name]()
        write_parts(folder / name, problem.inputs, problem.outputs, 2)
    write_conll(folder / FILES["sequence"], SENTENCES)
    write_treebank(folder / FILES["parse"], TREES)
    problem = SMALL_PROBLEMS["python"]()
    pairs = zip(problem.inputs, problem.outputs, strict=True)
    lines = [json.dumps({"x": x, "y": y}) + "\n" for x, y in pairs]
    (folder / FILES["python"]).write_text("".join(lines))


def end_of(result: distsvm.TrainResult) -> dict[str, Any]:
    """Where a run ended, for expected.json; `bits` are those of w on the machine that made it."""
    return {
        "stop_reason": result.stop_reason,
        "n_rounds": result.n_rounds,
        "n_oracle_calls": result.n_oracle_calls,
        "bounds": short([result.primal, result.dual]),
        "w": short(result.model.w.tolist()),
        "bits": bits_of(result.model.w),
    }
