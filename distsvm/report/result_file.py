"""The facts of result.json, with the types of all values checked."""

from __future__ import annotations

import math
from typing import Any

from distsvm import checks
from distsvm.errors import DAMAGE, CheckpointError
from distsvm.storage import Place, read_json

# JSON has no infinity: null stands for a bound that was never found.
UNKNOWN = {"primal": math.inf, "dual": -math.inf, "gap": math.inf}


def read_result(path: Place) -> dict[str, Any] | None:
    """Return the checked facts of result.json; None where the file does not exist."""
    if not path.exists():
        return None
    data = read_json(path, CheckpointError)
    try:
        return _checked(data)
    except DAMAGE as error:
        shown = f"it has no {error}" if isinstance(error, KeyError) else error
        raise CheckpointError(f"{path} is damaged: {shown}") from error


def _checked(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ValueError("it is not an object")
    bounds = {
        name: unknown if data[name] is None else _number(name, data[name])
        for name, unknown in UNKNOWN.items()
    }
    names = ("C", "eps", "rel_gap", "bound_on_rounds")  # earlier versions wrote no rel_gap
    limits = {name: None if data.get(name) is None else _number(name, data[name]) for name in names}
    texts = {name: _text(name, data[name]) for name in ("certificate", "stop_reason")}
    texts["certified_for"] = _text("certified_for", data.get("certified_for", ""))
    checks.whole("n_rounds", data["n_rounds"])
    seconds = {str(name): _number(f"seconds of {name}", s) for name, s in data["seconds"].items()}
    if "total" not in seconds:
        raise ValueError("seconds has no total")
    return {
        **bounds, **limits, **texts, "n_rounds": data["n_rounds"], "seconds": seconds,
        "activity": [_activity(one) for one in data["activity"]],
        "best_validation": _best(data.get("best_validation")),
    }  # fmt: skip


def _activity(one: Any) -> dict[str, Any]:
    for name in ("worker", "n_restarts"):
        checks.whole(f"{name} of the activity", one[name])
    if not isinstance(one["shards"], list):
        raise ValueError(f"shards is {one['shards']!r:.40}, expected a list")
    return {
        "worker": one["worker"], "n_restarts": one["n_restarts"],
        "n_shards": len(one["shards"]), "busy_s": _number("busy_s", one["busy_s"]),
    }  # fmt: skip


def _best(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    return {name: _number(name, found[name]) for name in ("round", "loss")}


def _number(name: str, value: Any) -> float:
    """Return a number, finite or not."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.40}, expected a number")
    return float(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r:.40}, expected text")
    return value
