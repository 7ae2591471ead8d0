"""The facts of runs for lists and for `distsvm status`, from their folders alone."""

from __future__ import annotations

from typing import Any

from distsvm import checks
from distsvm.cli.formatting import asked_for, count, seconds, small
from distsvm.cli.summary import in_words
from distsvm.errors import DAMAGE, CheckpointError
from distsvm.report.result_file import read_result
from distsvm.storage import Place, place, read_manifest
from distsvm.stores import StorePath
from distsvm.training.run_folder import FORMAT
from distsvm.training.run_state import last_round, read_state

HEAD = ("run", "task", "state", "round", "gap", "gap/C", "asked for", "last sign")


def is_run(folder: Place) -> bool:
    return (folder / "run.json").is_file()


def seen_folder(word: str) -> Place | None:
    """Return the folder or URI that a word names; None if the word can only name a job."""
    folder = place(word)
    return folder if isinstance(folder, StorePath) or folder.is_dir() else None


def checked_run(folder: Place) -> Place:
    """Return the folder; refuse one that is not that of a run."""
    if not folder.is_dir():
        raise CheckpointError(f"{folder} does not exist")
    if not is_run(folder):
        raise CheckpointError(f"{folder} is not the folder of a run: it has no run.json")
    return folder


def runs_below(home: Place) -> list[Place]:
    """Return the folders of runs in a folder and its subfolders, but not inside of runs."""
    if not home.is_dir():
        raise CheckpointError(f"{home} is not a folder")
    if is_run(home):
        return [home]
    found: list[Place] = []
    for path in _inside(home):
        if path.is_dir() and not path.is_symlink():
            found += [path] if is_run(path) else [p for p in _inside(path) if is_run(p)]
    return found


def _inside(folder: Place) -> list[Place]:
    return sorted(folder.iterdir(), key=str)


def facts_of(folder: Place) -> dict[str, Any]:
    """Return the main facts of a run; a damaged file is a CheckpointError that names it."""
    path = checked_run(folder) / "run.json"
    run = read_manifest(path, "run", FORMAT, CheckpointError)
    try:
        task, used = str(run["task"]["task"]), run.get("used") or {}
        for name in ("C", "eps", "rel_gap", "n_examples"):
            if used.get(name) is not None:
                checks.number(name, used[name])
    except DAMAGE as error:
        raise CheckpointError(f"{path} is damaged: {error!r:.80}") from error
    state = read_state(folder)
    if state.damage is not None:
        raise CheckpointError(state.damage)
    record = last_round(folder)
    # C, eps and rel_gap of the last session that ended replace those of the first.
    used = used | (read_result(folder / "result.json") or {})
    return {
        "path": str(folder), "task": task, **state.as_dict(),
        "state_in_words": in_words(state),
        "round": None if record is None else record.number,
        "primal": None if record is None else record.best_primal,
        "dual": None if record is None else record.dual,
        "gap": None if record is None else record.gap,
        "C": used.get("C"), "eps": used.get("eps"), "rel_gap": used.get("rel_gap"),
        "n_examples": used.get("n_examples"),
        "elapsed_s": None if record is None else record.elapsed_s,
    }  # fmt: skip


def rows_of(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the facts of one run as rows of name and value."""
    rows = [("run", facts["path"]), ("state", facts["state_in_words"]), ("task", facts["task"])]
    if facts["round"] is None:
        return [*rows, ("rounds", "none yet")]
    return [
        *rows,
        ("round", f"{count(facts['round'])}, {seconds(facts['elapsed_s'])} of training"),
        (
            "gap",
            f"{_known(facts['gap'])}; gap/C {_gap_over_C(facts)}; asked for: {_asked_for(facts)}",
        ),
    ]


def cells_of(facts: dict[str, Any]) -> list[str]:
    """Return the facts of one run as a row under HEAD, without its name."""
    number = "–" if facts["round"] is None else count(facts["round"])
    return [
        facts["task"], facts["state"], number, _known(facts["gap"]),
        _gap_over_C(facts), _asked_for(facts), seconds(facts["age_s"]),
    ]  # fmt: skip


def _gap_over_C(facts: dict[str, Any]) -> str:
    return small(facts["gap"] / facts["C"]) if facts["gap"] is not None and facts["C"] else "–"


def _asked_for(facts: dict[str, Any]) -> str:
    return asked_for(facts["eps"], facts["rel_gap"])


def _known(x: float | None) -> str:
    return "–" if x is None else small(x)
