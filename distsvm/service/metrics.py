"""Numbers of the service in Prometheus's text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from distsvm.service.models import Named

STATES = ("waiting", "starting", "running", "finished", "stopped", "failed", "lost", "damaged")

NAMES = {
    "distsvm_service_runs": ("gauge", "runs by state"),
    "distsvm_service_gap": ("gauge", "certified gap of runs that run"),
    "distsvm_service_round": ("gauge", "rounds of runs that run"),
    "distsvm_service_requests_total": ("counter", "requests by status"),
    "distsvm_service_predicted_total": ("counter", "inputs that a loaded model has answered"),
    "distsvm_service_prediction_calls_total": (
        "counter", "calls of a loaded model, each for all requests that waited"
    ),
}  # fmt: skip


def page(
    runs: Iterable[Mapping[str, Any]], requests: Mapping[int, int],
    models: Sequence[tuple[Named, int, int]],
) -> str:  # fmt: skip
    """Return the page of metrics: of runs, of requests by status, and of loaded models."""
    states: Counter[str] = Counter()
    gaps, rounds = [], []
    for run in runs:
        states[run["state"]] += 1
        if run["state"] == "running":
            labels = {"run": run["name"]}
            gaps += [(labels, run["gap"])] if run.get("gap") is not None else []
            rounds += [(labels, run["round"])] if run.get("round") is not None else []
    found = {
        "distsvm_service_runs": [({"state": state}, states[state]) for state in STATES],
        "distsvm_service_gap": gaps,
        "distsvm_service_round": rounds,
        "distsvm_service_requests_total": [
            ({"status": str(status)}, n) for status, n in sorted(requests.items())
        ],
        "distsvm_service_predicted_total": [
            ({"model": one.name, "version": one.version}, n) for one, _, n in models
        ],
        "distsvm_service_prediction_calls_total": [
            ({"model": one.name, "version": one.version}, n) for one, n, _ in models
        ],
    }
    lines = []
    for name, (kind, help) in NAMES.items():
        lines += [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(labels)} {value}" for labels, value in found[name]]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    shown = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{shown}}}" if shown else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
