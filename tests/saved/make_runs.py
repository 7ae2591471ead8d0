"""Write the runs of tests/saved: python tests/saved/make_runs.py FOLDER

Each run is stopped after some rounds, so that its last checkpoint is in the middle of the work.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from saved_problems import PROBLEMS, SOLVERS

import distsvm

ROUNDS = 4


def main(folder: Path) -> None:
    for name, make in PROBLEMS.items():
        for solver in SOLVERS:
            problem, run_dir = make(), folder / f"{name}-{solver}"
            distsvm.train(
                problem.task, problem.inputs, problem.outputs, solver=solver, n_shards=2,
                random_state=1, executor="serial", eps=1e-4, max_rounds=ROUNDS, keep_checkpoints=1,
                run_dir=run_dir, **problem.options,
            )  # fmt: skip
            (run_dir / "state.json").unlink()  # it names this machine


if __name__ == "__main__":
    main(Path(sys.argv[1]))
