"""Alignments that are not given: best alignments and certified training in turn.

Of each example F(w) has max(0, Δ − score of the homologue + best score of a decoy), where the
homologue's score is that of its best alignment: F is not convex. With the alignments held that are
best under one w it is convex, never below F, and equal to F at this w. So a training that begins at
this w ends with an F that is not larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from distsvm.structures.alignments.task import AlignmentTask
from distsvm.training.result import TrainResult
from distsvm.training.train import train


@dataclass(frozen=True)
class Alternation:
    """What training in turns gives.

    Parameters
    ----------
    results : tuple of TrainResult
        Of each training; the last is that of the model.
    objectives : tuple of float
        F at the w of each training but the last, then an upper bound of F at the last w: that of
        its training. They do not rise.
    """

    results: tuple[TrainResult, ...]
    objectives: tuple[float, ...]

    @property
    def result(self) -> TrainResult:
        return self.results[-1]


def train_in_turns(
    task: AlignmentTask,
    data: Any,
    *,
    most: int = 10,
    least_fall: float = 1e-3,
    data_options: Mapping[str, Any] | None = None,
    **config: Any,
) -> Alternation:
    """Train, find the best alignments of homologues under the model, and train again.

    Parameters
    ----------
    task : AlignmentTask
    data, data_options, config :
        As in distsvm.train. A run_dir gets a number from the second training on: `run`, `run-2`.
    most : int
        Trainings after the first; none where all alignments are given.
    least_fall : float
        Stop when a training lowers F by less than this share of it.
    """
    options = dict(data_options or {})
    results = [train(task, data, data_options=options, **config)]
    objectives: list[float] = []
    # C and eps stay what they came to, as their defaults depend on the alignments.
    first = results[0]
    run_dir = config.pop("run_dir", None)
    config = {name: value for name, value in config.items() if name != "C_per_example"}
    config |= {"C": first.C, "eps": first.eps, "rel_gap": first.rel_gap}
    for number in range(2, most + 2):
        model = results[-1].model
        if not getattr(model.task, "n_unknown", 0):
            break
        if run_dir is not None:
            config["run_dir"] = f"{run_dir}-{number}"
        assert isinstance(model.task, AlignmentTask)
        held = replace(task, letters=model.task.letters, reference=model.w)
        result = train(held, data, data_options=options, start=model, **config)
        results.append(result)
        # The first round is at the last w, with the alignments that are best under it.
        before = result.history[0].primal
        assert before is not None
        objectives.append(before)
        if before - result.primal <= least_fall * before:
            break
    return Alternation(tuple(results), (*objectives, results[-1].primal))
