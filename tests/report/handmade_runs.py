"""Runs written by hand: every field of a history under control, nothing trained."""

import json
import math

from distsvm.solvers.round import Round
from distsvm.training.config import TrainConfig


def record(number, **changes):
    """Round `number` of a well-behaved run, with changes."""
    gap = 1000.0 * 0.9**number
    seconds = 0.5 + 0.1 * number
    values = {
        "number": number, "kind": "fresh", "primal": 100 + gap / 2, "best_primal": 100 + gap / 2,
        "dual": 100 - gap / 2, "gap": gap, "risk": 0.1, "w_norm": 3.0,
        "n_oracle_calls": 500 * number, "n_cache_hits": 0, "n_planes": 0,
        "elapsed_s": seconds, "busy_s": (0.4 * seconds, 0.6 * seconds),
        "seconds": {"oracle": 0.05 * number, "cache": 0.0, "qp": 0.01 * number, "cuts": 0.0},
    }  # fmt: skip
    own = {
        "violation": gap / 1200, "slack": 0.1, "n_cuts": min(number, 60),
        "n_support_cuts": min(number, 20), "qp_iterations": 4, "qp_gap": 1e-4,
    }  # fmt: skip
    own |= {name: changes.pop(name) for name in own.keys() & changes.keys()}
    return Round(**{"solver": "one-slack", "own": own} | values | changes)


def result_of(history, **changes):
    """The result.json of a run that ended with this history."""
    last = history[-1]
    busy_s = enumerate(last.busy_s)
    return {
        "certificate": "exact", "primal": last.best_primal, "dual": last.dual, "gap": last.gap,
        "stop_reason": "eps", "n_rounds": last.number, "n_oracle_calls": last.n_oracle_calls,
        "n_cache_hits": last.n_cache_hits, **last.own, "bound_on_rounds": 12345,
        "C": 1000.0, "eps": 0.01,
        "seconds": {"load": 0.3, **last.seconds, "other": 0.2, "total": last.elapsed_s},
        "best_validation": None,
        "activity": [
            {"worker": i, "shards": [i], "busy_s": s, "n_restarts": int(i == 1)} for i, s in busy_s
        ],
    } | changes  # fmt: skip


def write_run(folder, history=30, result=True, config=None, **run):
    """Write a run's folder; `result` is True, False, or changes to result.json."""
    if isinstance(history, int):
        history = [record(number) for number in range(1, history + 1)]
    folder.mkdir(exist_ok=True)
    described = {
        "kind": "distsvm run", "format": 1, "version": "0.1.0",
        "config": TrainConfig.from_dict(config or {"C": 1000.0, "eps": 0.01}).as_dict(),
        "task": {"task": "multiclass", "fields": {"losses": "zero-one", "scale": False}},
        "data": None, "validation": None,
    } | run  # fmt: skip
    (folder / "run.json").write_text(json.dumps(described))
    lines = [json.dumps(r.as_dict()) + "\n" for r in history]
    (folder / "history.jsonl").write_text("".join(lines))
    if result:
        changes = {} if result is True else result
        (folder / "result.json").write_text(json.dumps(result_of(history, **changes)))
    return folder


def odd_history():
    """Rounds with everything that floats can be: no certificate at first, NaN, zero, below zero."""
    return [
        record(1, kind="cached", primal=None, best_primal=math.inf, gap=math.inf, dual=0.0),
        record(2, kind="cached", primal=None, best_primal=math.inf, gap=math.inf, dual=-math.inf),
        record(3, violation=math.nan, dual=math.nan, gap=math.nan),
        record(4, violation=-1.0, kind="refreshed", n_cache_hits=500),
        record(5, violation=0.0, gap=0.0, dual=100.0, best_primal=100.0, w_norm=math.nan),
    ]
