"""`distsvm inspect`."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from distsvm.cli import exits
from distsvm.cli.formatting import asked_for, count, counted, pairs, seconds, size, small, value
from distsvm.cli.models import add_task_code, read_model
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.parts import Inspection, add_parts, check_model_flags, helps, part_of
from distsvm.cli.strongest import listed
from distsvm.cli.summary import CERTIFICATES, REASONS, about_rows, in_words, own_rows
from distsvm.errors import DAMAGE, ConfigError, DistSVMError, ModelError
from distsvm.kinds import truth, whole
from distsvm.model import Model
from distsvm.oracles.description import describe
from distsvm.registry import solvers, structure_of
from distsvm.risks.plane_set import support_of
from distsvm.solvers.round import Round
from distsvm.storage import Place, place, read_json
from distsvm.training.checkpoint import checkpoint_folders, read_checkpoint
from distsvm.training.config import TrainConfig
from distsvm.training.result import no_support
from distsvm.training.run_folder import RunFolder
from distsvm.training.run_state import read_state
from distsvm.workers.support import SupportTable


def add_arguments(parser: Parser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a model, a checkpoint or a run")
    parser.general.flag(
        "--top", whole(), default=10, metavar="N",
        help=f"number of the largest weights for and against to show. {helps(Inspection)}",
    )  # fmt: skip
    parser.general.flag(
        "--support", truth, default=False,
        help="of a run: show the outputs with α > 0 at its end, the largest α first; --top is "
        "their number. n-slack has them before its end and in checkpoints, too; one-slack has none",
    )  # fmt: skip
    add_parts(parser.group("of one structure only"), Inspection)
    add_task_code(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    folder = place(args.folder)
    kind = kind_of(folder)
    if args.support and kind == "model":
        raise ConfigError(f"--support: {folder} is a model, expected a run or a checkpoint")
    try:
        if args.support:
            facts, lines = _support(folder, kind, args.top, output)
        elif kind == "run":
            facts, lines = _run(folder, output)
        elif kind == "checkpoint":
            facts, lines = _checkpoint(folder, output)
        else:
            facts, lines = _model(folder, args, output)
    except DistSVMError:
        raise
    except DAMAGE as error:
        raise ModelError(f"{folder} is damaged: {error!r}") from error
    output.record("result", {"kind": kind, "path": str(folder), **facts})
    if output.json:
        return exits.DONE
    output.show(f"{output.style.bold(kind)} {folder}", *lines)
    return exits.DONE


def kind_of(folder: Place) -> str:
    """Return "model", "checkpoint" or "run", which the files of the folder name."""
    if not folder.exists():
        raise ModelError(f"{folder} does not exist")
    if (folder / "run.json").exists():
        return "run"
    if (folder / "manifest.json").exists():
        manifest = read_json(folder / "manifest.json", ModelError)
        kind = manifest.get("kind") if isinstance(manifest, dict) else None
        if kind in ("distsvm model", "distsvm checkpoint"):
            return kind.removeprefix("distsvm ")
    raise ModelError(f"{folder} holds neither a model nor a checkpoint nor a run of distsvm")


# --- a model -------------------------------------------------------------------------------


def _model(
    folder: Place, args: argparse.Namespace, output: Output
) -> tuple[dict[str, Any], list[str]]:
    model = read_model(folder, args.task)
    task, w = model.task, model.w
    name, contents = describe(task)[0]["task"], part_of(structure_of(task), Inspection)
    check_model_flags(args, contents)
    facts: dict[str, Any] = {
        "task": name, "dim": task.dim, "norm": float(np.linalg.norm(w)),
        "n_nonzero": int(np.count_nonzero(w)), "facts": model.facts,
        **contents.facts(args, model),
    }  # fmt: skip
    rows = [
        ("task", name),
        *contents.rows(facts),
        ("dim", f"{count(task.dim)}, {count(facts['n_nonzero'])} of them not 0"),
        ("‖w‖", value(facts["norm"])),
        *_file_rows(model),
        *_certificate_rows(model),
    ]
    more = contents.lines(facts, output) if args.top > 0 else []
    return facts, [*pairs(rows, output.style, output.width), *more]


def _file_rows(model: Model) -> list[tuple[str, str]]:
    """Return the options with which the model reads files, as training did."""
    notes = model.facts.get("data")
    if notes is None:
        return []
    options = [f"{name}={' '.join(_shown(v).split())}" for name, v in notes["options"].items()]
    return [("files", ", ".join([notes["kind"], *options]))]


def _certificate_rows(model: Model) -> list[tuple[str, str]]:
    facts = model.facts
    if "certificate" not in facts:
        return []
    kind = facts["certificate"]
    return [
        ("certificate", f"{kind}: {CERTIFICATES.get(kind, '')}"),
        *about_rows(str(facts.get("certified_for", ""))),
        ("primal", value(facts["primal"])),
        ("dual", value(facts["dual"])),
        ("gap", f"{small(facts['gap'])}; gap/C {small(facts['gap'] / facts['C'])}; asked for: "
                f"{asked_for(facts['eps'], facts.get('rel_gap'))}"),
        ("stopped", f"after {counted(facts['n_rounds'], 'round')}: "
                    f"{REASONS.get(facts['stop_reason'], facts['stop_reason'])}"),
        ("C", value(facts["C"])),
    ]  # fmt: skip


# --- a run and its checkpoints -------------------------------------------------------------


def _run(folder: Place, output: Output) -> tuple[dict[str, Any], list[str]]:
    home = RunFolder(folder)
    run = home.read()
    rounds = home.history()
    config: TrainConfig = run["config"]
    state = read_state(folder)
    state_in_words = in_words(state)
    checkpoints = [found.name for found in checkpoint_folders(folder)]
    facts = {
        "version": run["version"], "config": config.as_dict(), "task": run["task"]["task"],
        "data": run["data"], "validation": run["validation"],
        **state.as_dict(), "state_in_words": state_in_words,
        "last_round": rounds[-1].as_dict() if rounds else None, "checkpoints": checkpoints,
    }  # fmt: skip
    default = TrainConfig().values()
    changed = {
        name: v for name, v in config.as_dict().items()
        if v != default[name] and name != "run_dir"
    }  # fmt: skip
    paths = (run["data"] or {}).get("paths")
    rows = [
        ("state", state_in_words),
        ("task", run["task"]["task"]),
        ("data", "in memory" if paths is None else listed(paths)),
        ("config", ", ".join(f"{k}={_shown(v)}" for k, v in changed.items()) or "all default"),
        *_round_rows(rounds[-1] if rounds else None),
        ("checkpoints", listed(checkpoints) or "none yet"),
    ]
    if (folder / "model").exists():
        rows.append(("model", str(folder / "model")))
    return facts, pairs(rows, output.style, output.width)


def _support(
    folder: Place, kind: str, top: int, output: Output
) -> tuple[dict[str, Any], list[str]]:
    """Return the outputs with α > 0: of which example, their α, and their loss."""
    source, found = _found_support(folder, kind)
    shown = found.lines(top)
    facts = {
        "source": source, "n_support_planes": len(found),
        "support": [plane._asdict() | {"output": json.loads(plane.output)} for plane in shown],
    }  # fmt: skip
    rows = [
        (f"example {plane.example}", f"α {small(plane.alpha)}  loss {small(plane.loss)}  "
         f"{plane.output}")
        for plane in shown
    ]  # fmt: skip
    rows.append(("in all", f"{counted(len(found), 'output')} with α > 0, {source}"))
    return facts, pairs(rows, output.style, output.width)


def _found_support(folder: Place, kind: str) -> tuple[str, SupportTable]:
    """Return the newest outputs with α > 0, and where they were: a checkpoint, or the run's end."""
    newest: Place | None
    if kind == "checkpoint":
        newest, solver = folder, ""
    else:
        home = RunFolder(folder)
        solver = home.read().get("problem", {}).get("config", {}).get("solver", "")
        newest = next(iter(checkpoint_folders(folder)[::-1]), None)
    if newest is not None and (held := support_of(read_checkpoint(newest).arrays)) is not None:
        return f"in {newest.name}", held
    if kind == "checkpoint":
        raise ModelError(
            f"{folder} is no checkpoint of n-slack: runs of other solvers tell the outputs with "
            "α > 0 at their end"
        )
    ended = home.support()
    if ended is not None:
        return f"after round {ended.round}", ended
    known = solvers().get(solver)
    if known is None or known.why_no_support or (folder / "result.json").exists():
        raise ModelError(f"{folder}: {no_support(solver)}")
    raise ModelError(f"{folder} tells the outputs with α > 0 once it has ended or was stopped")


def _checkpoint(folder: Place, output: Output) -> tuple[dict[str, Any], list[str]]:
    checkpoint = read_checkpoint(folder)
    files: list[Place] = [*folder.iterdir()]
    n_bytes = sum(file.stat().st_size or 0 for file in files)
    planes = sum(file.name.startswith("planes-") for file in files)
    facts: dict[str, Any] = {
        "number": checkpoint.number, "elapsed_s": checkpoint.elapsed_s,
        "problem": checkpoint.problem, "n_bytes": n_bytes, "n_plane_files": planes,
        "seconds": checkpoint.seconds, "notes": checkpoint.notes,
    }  # fmt: skip
    run_dir = folder.absolute().parent.parent
    record = None
    if (run_dir / "run.json").exists():
        found = [r for r in RunFolder(run_dir).history() if r.number == checkpoint.number]
        record = found[0] if found else None
        facts["run"] = str(run_dir)
    facts["round"] = None if record is None else record.as_dict()
    rows = [
        ("after round", count(checkpoint.number)),
        ("after", f"{seconds(checkpoint.elapsed_s)} of training"),
        ("task", str(checkpoint.problem.get("task", "?"))),
        ("size", f"{size(n_bytes)}, planes of {counted(planes, 'shard')}"),
        *_round_rows(record),
    ]
    return facts, pairs(rows, output.style, output.width)


def _round_rows(record: Round | None) -> list[tuple[str, str]]:
    if record is None:
        return [("rounds", "none yet")]
    return [
        ("round", f"{count(record.number)} ({record.kind}), {seconds(record.elapsed_s)}"),
        ("primal", value(record.best_primal)),
        ("dual", value(record.dual)),
        ("gap", small(record.gap)),
        ("oracle", counted(record.n_oracle_calls, "call")),
        *own_rows(record),
    ]


def _shown(setting: Any) -> str:
    return setting if isinstance(setting, str) else json.dumps(setting)
