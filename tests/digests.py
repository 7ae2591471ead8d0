"""What training gives on small problems: every task, solver, setting and rescaling, by executor.

`python tests/digests.py [EXECUTOR …]` prints digests of the exact bits of each case, and of each w
that a run in tests/saved ends with, to compare two versions of the package on one machine.
`python tests/digests.py --store` writes digests.json, which test_digests.py compares with.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from comparing import arithmetic, bits_of, lines_of, plain, sha_of, short
from interrupted_runs import RUNS, end_of
from small_problems import SMALL_PROBLEMS

import distsvm

STORED = Path(__file__).with_suffix(".json")
EXECUTORS = {"serial": 1, "threads": 2, "processes": 2, "ray": 2}
SETTINGS: dict[str, dict[str, Any]] = {
    "one-slack": {"solver": "one-slack", "cache_size": 0},
    "one-slack cache": {"solver": "one-slack", "cache_size": 5},
    "one-slack cache blocks": {
        "solver": "one-slack", "cache_size": 5, "n_blocks": 2, "refresh_fraction": 0.5,
    },
    "one-slack line-search": {"solver": "one-slack", "qp": "line-search"},
    "multi-plane": {"solver": "multi-plane", "n_blocks": 1},
    "multi-plane blocks": {"solver": "multi-plane", "n_blocks": 2},
}  # fmt: skip
COMMON = {"n_shards": 4, "random_state": 1, "max_rounds": 16, "eps": 1e-3}

INTEGERS = ("number", "n_oracle_calls", "n_cache_hits", "n_planes")
FLOATS = ("primal", "best_primal", "dual", "gap", "risk", "violation", "w_norm")
OWN_INTEGERS = {
    "one-slack": ("n_cuts", "n_support_cuts"),
    "multi-plane": ("n_support_planes", "n_refused_planes"),
}
OWN_FLOATS: dict[str, tuple[str, ...]] = {"one-slack": ("slack",), "multi-plane": ()}
# Of these the last bits decide, so that they are in the digests of exact bits alone.
OWN_BITS = {"one-slack": ("qp_iterations", "qp_gap"), "multi-plane": ("plane_bytes",)}


class Case(NamedTuple):
    """A problem of SMALL_PROBLEMS, a rescaling, and a setting of SETTINGS."""

    problem: str
    rescaling: str
    setting: str

    def __str__(self) -> str:
        return ", ".join(self)

    @property
    def solver(self) -> str:
        return SETTINGS[self.setting]["solver"]


CASES = [
    Case(name, rescaling, setting)
    for name, make in SMALL_PROBLEMS.items()
    for rescaling in sorted(make().task.rescalings)
    for setting in SETTINGS
]


class Outcome(NamedTuple):
    """What a run gave, but for times; columns have an entry a round."""

    w: np.ndarray
    predictions: str
    kinds: str
    integers: dict[str, list[int]]
    floats: dict[str, list[float | None]]
    bits: dict[str, list[Any]]

    def digests(self) -> dict[str, str]:
        """SHA-256 of the exact bits, by part; repr writes floats exactly."""
        history = [self.kinds, self.integers, self.floats, self.bits]
        return {
            "w": bits_of(self.w),
            "history": sha_of(repr(history).encode()),
            "predictions": self.predictions,
        }

    def stored(self) -> dict[str, Any]:
        """For digests.json."""
        return {
            "w": short(self.w.tolist()),
            "predictions": self.predictions,
            "kinds": self.kinds,
            "integers": self.integers,
            "floats": {name: short(values) for name, values in self.floats.items()},
        }


def run(case: Case, executor: str) -> Outcome:
    """Train, and predict on the training inputs."""
    problem = SMALL_PROBLEMS[case.problem]()
    config = COMMON | problem.options | SETTINGS[case.setting] | {"rescaling": case.rescaling}
    result = distsvm.train(
        problem.task, problem.inputs, problem.outputs,
        executor=executor, n_workers=EXECUTORS[executor], **config,
    )  # fmt: skip
    return Outcome(
        w=np.asarray(result.model.w),
        predictions=sha_of(json.dumps(plain(result.model.predict(problem.inputs))).encode()),
        kinds=" ".join(record.kind for record in result.history),
        integers=_columns(result, INTEGERS + OWN_INTEGERS[case.solver]),
        floats=_columns(result, FLOATS + OWN_FLOATS[case.solver]),
        bits=_columns(result, OWN_BITS[case.solver]),
    )


def _columns(result: distsvm.TrainResult, names: tuple[str, ...]) -> dict[str, list[Any]]:
    """The one place that knows where a round keeps its values."""
    return {name: [record.value(name) for record in result.history] for name in names}


def _lines(executors: list[str]) -> Iterator[str]:
    """A line for each case and digest: one where all executors agree."""
    for case in CASES:
        found: dict[str, list[str]] = {}
        for executor in executors:
            digests = run(case, executor).digests()
            text = "  ".join(f"{part} {digest}" for part, digest in digests.items())
            found.setdefault(text, []).append(executor)
        for text, same in found.items():
            yield f"{case}: {text}  ({' '.join(same)})"


def _lines_of_saved() -> Iterator[str]:
    for run in RUNS:
        with tempfile.TemporaryDirectory() as name:
            run.copy_stored(Path(name))
            yield f"saved {run}: w {end_of(run.resume(Path(name)))['bits']}"


def main(arguments: list[str]) -> None:
    if arguments == ["--store"]:
        cases = {str(case): run(case, "serial").stored() for case in CASES}
        STORED.write_text(lines_of({"arithmetic": arithmetic()} | cases))
        return
    lines = chain(_lines(arguments or ["serial", "threads", "processes"]), _lines_of_saved())
    for line in lines:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
