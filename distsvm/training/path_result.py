"""The result of a path of C: a point for each value, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from distsvm.messages import Score
from distsvm.model import Model
from distsvm.training.result import TrainResult

OF_RESULT = (
    "C", "eps", "rel_gap", "certificate", "primal", "dual", "gap", "stop_reason", "n_rounds",
    "n_oracle_calls",
)  # fmt: skip
"""Fields of a point that are those of its run's result."""


@dataclass(frozen=True)
class PathPoint:
    """One value of C: its certificate, its cost, and the score of its model.

    Parameters
    ----------
    C, eps, rel_gap : float
        As in TrainResult.
    certificate, primal, dual, gap, stop_reason :
        As in TrainResult. With folds: the weakest certificate, the means over the folds (so that
        the mean of their optima lies between), and all reasons.
    n_rounds, n_oracle_calls, seconds :
        The cost of this value after the one before it, without loading; sums over folds.
    validation_loss, validation_accuracy : float or None
        Mean loss and accuracy on the validation data, or their means over the folds.
    loss_error, accuracy_error : float or None
        Standard errors of those means over the folds.
    folds : tuple of PathPoint
        The points that were trained without each fold; empty where there are no folds.
    """

    C: float
    eps: float | None
    certificate: str
    primal: float
    dual: float
    gap: float
    stop_reason: str
    n_rounds: int
    n_oracle_calls: int
    seconds: float
    validation_loss: float | None = None
    validation_accuracy: float | None = None
    loss_error: float | None = None
    accuracy_error: float | None = None
    folds: tuple[PathPoint, ...] = ()
    rel_gap: float | None = None

    @classmethod
    def of(cls, result: TrainResult, score: Score | None) -> PathPoint:
        return cls(
            **{name: getattr(result, name) for name in OF_RESULT},
            seconds=result.seconds["total"] - result.seconds["load"],
            validation_loss=None if score is None else score.mean_loss,
            validation_accuracy=None if score is None else score.accuracy,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class PathResult:
    """The points of a path in increasing order of C, and the one that was chosen.

    Parameters
    ----------
    points : list of PathPoint
        Those before an interruption; with folds, all or none.
    best : int or None
        The number of the chosen point: the lowest validation loss, of equals the smallest C.
        None without validation data and folds.
    model : Model or None
        Of the chosen point; with folds, trained on all data (None without refit).
    chosen_by : str or None
        "validation", or for example "5 folds"; None where nothing was chosen.
    load_s : float
        Seconds of loading, which the points' do not include.
    refit : list of PathPoint
        With folds: the points on all data, up to the chosen C.
    interrupted : bool
        Whether a callback ended it before all values were done.
    """

    points: list[PathPoint]
    best: int | None
    model: Model | None
    chosen_by: str | None
    load_s: float
    refit: list[PathPoint] = field(default_factory=list)
    interrupted: bool = False

    @property
    def C(self) -> float | None:
        """The chosen value."""
        return None if self.best is None else self.points[self.best].C

    @property
    def n_oracle_calls(self) -> int:
        """Of all values together, folds and refit included."""
        return sum(point.n_oracle_calls for point in (*self.points, *self.refit))

    @property
    def seconds(self) -> float:
        return self.load_s + sum(point.seconds for point in (*self.points, *self.refit))

    def __repr__(self) -> str:
        chosen = "none chosen" if self.C is None else f"chosen C={self.C:.6g} by {self.chosen_by}"
        return (
            f"PathResult of {len(self.points)} values of C, {chosen}\n"
            f"  {self.n_oracle_calls} oracle calls, {self.seconds:.2f} s"
            + (", interrupted" if self.interrupted else "")
        )

    def summary(self) -> dict[str, Any]:
        """Return everything but the model as values of JSON."""
        return {
            "C": self.C, "best": self.best, "chosen_by": self.chosen_by,
            "interrupted": self.interrupted, "n_oracle_calls": self.n_oracle_calls,
            "load_s": self.load_s, "seconds": self.seconds,
            "points": [point.as_dict() for point in self.points],
            "refit": [point.as_dict() for point in self.refit],
        }  # fmt: skip


def lowest_loss(points: Sequence[PathPoint]) -> int | None:
    """Return the number of the point with the lowest validation loss, the first of equals."""
    known = [(point.validation_loss, i) for i, point in enumerate(points)]
    losses = [(loss, i) for loss, i in known if loss is not None]
    return min(losses)[1] if losses else None


def across_folds(folds: Sequence[Sequence[PathPoint]]) -> list[PathPoint]:
    """Return one point for each value that all folds have."""
    return [_joined(points) for points in zip(*folds, strict=False)]


def _joined(points: Sequence[PathPoint]) -> PathPoint:
    exact = all(point.certificate == "exact" for point in points)
    reasons = dict.fromkeys(point.stop_reason for point in points)

    def mean(name: str) -> float:
        return float(np.mean([getattr(point, name) for point in points]))

    def error(name: str) -> float:
        spread = np.std([getattr(point, name) for point in points], ddof=1)
        return float(spread / np.sqrt(len(points)))

    return PathPoint(
        C=points[0].C, eps=points[0].eps, rel_gap=points[0].rel_gap,
        certificate="exact" if exact else "upper bound",
        primal=mean("primal"), dual=mean("dual"), gap=mean("gap"), stop_reason=", ".join(reasons),
        n_rounds=sum(point.n_rounds for point in points),
        n_oracle_calls=sum(point.n_oracle_calls for point in points),
        seconds=sum(point.seconds for point in points),
        validation_loss=mean("validation_loss"), validation_accuracy=mean("validation_accuracy"),
        loss_error=error("validation_loss"), accuracy_error=error("validation_accuracy"),
        folds=tuple(points),
    )  # fmt: skip
