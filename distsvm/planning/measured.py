"""The numbers of a plan that a real run has measured."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

from distsvm import checks
from distsvm.errors import DAMAGE, CheckpointError
from distsvm.planning.cost import NUMBER, SPARSE
from distsvm.solvers.round import Round
from distsvm.storage import Place, Where, place, read_json
from distsvm.training.run_folder import RunFolder


def measured(run_dir: Where) -> dict[str, float]:
    """Return the fields of a Problem that the run in this folder has measured.

    `examples` and `dim` are in run.json, `oracle_s` comes from the history, and `example_bytes`,
    `cuts` and `nonzeros` are in result.json, which a run has once it has ended. A fact that the
    run lacks has no key: examples of plain Python tasks are not measured in bytes, and a solver
    that keeps no cuts has neither of the last two.
    """
    path = place(run_dir)
    if not (path / "run.json").is_file():
        raise CheckpointError(f"{path} is not the folder of a run: it has no run.json")
    folder = RunFolder(path)
    used = folder.read().get("used", {})
    found = {
        "examples": _number(path / "run.json", used, "n_examples"),
        "dim": _number(path / "run.json", used, "dim"),
    }
    if calls := list(_seconds_a_call(folder.history())):
        found["oracle_s"] = median(calls)
    if (path / "result.json").is_file():
        found |= _of_result(path / "result.json", found["examples"], found["dim"])
    return {name: value for name, value in found.items() if value > 0}


def _seconds_a_call(history: list[Round]) -> Iterator[float]:
    """Yield workers' seconds in the oracle for one call, of each fresh round after the first.

    The busy time of all workers counts, so the number of workers has no influence. The first round
    of a session does not count: its busy time includes loading and compiling.
    """
    for before, after in pairwise(history):
        calls = after.n_oracle_calls - before.n_oracle_calls
        busy_s = sum(after.busy_s) - sum(before.busy_s)
        spent = {
            phase: after.seconds.get(phase, 0.0) - before.seconds.get(phase, 0.0)
            for phase in ("oracle", "cache")
        }
        same_session = len(after.busy_s) == len(before.busy_s) and busy_s > 0
        if after.kind == "fresh" and calls > 0 and same_session and spent["oracle"] > 0:
            yield busy_s * spent["oracle"] / sum(spent.values()) / calls


def _of_result(path: Place, examples: float, dim: float) -> dict[str, float]:
    """Return the bytes of an example, and number and size of the driver's cuts."""
    result = read_json(path, CheckpointError)
    memory = result.get("memory") if isinstance(result, dict) else None
    if not isinstance(memory, dict):
        raise CheckpointError(f"{path} is damaged: its memory is {memory!r:.40}")
    n_cuts = _number(path, result, "n_cuts")
    found = {"cuts": n_cuts}
    if examples > 0:
        found["example_bytes"] = _number(path, memory, "data") / examples
    if n_cuts > 0:
        # The bytes of the cuts include the matrix of their products.
        n_bytes = _number(path, memory, "cuts") / n_cuts - NUMBER * n_cuts
        if n_bytes < NUMBER * dim:
            found["nonzeros"] = n_bytes / SPARSE
    return found


def _number(path: Place, facts: dict[str, Any], name: str) -> float:
    """Return a number ≥ 0 of an untrusted file; 0 where it is missing."""
    value = facts.get(name, 0)
    try:
        checks.number(name, value)
        if value < 0:
            raise ValueError(f"{name} is {value!r:.40}, expected a number ≥ 0")
    except DAMAGE as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    return value
