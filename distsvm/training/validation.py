"""Validation: the best w so far, and the number of others since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from distsvm import checks
from distsvm.cuts.bounds import Bounds
from distsvm.messages import Score


@dataclass
class Watch:
    """The lowest validation loss so far, its w, and the number of others since.

    `best` has its round, loss, accuracy and certified primal; `seen` is the w that was evaluated
    last, and `score` its score.
    """

    best: dict[str, Any] | None = None
    w: np.ndarray | None = None
    n_since: int = 0
    seen: np.ndarray | None = None
    score: Score | None = None

    def look(
        self, number: int, bounds: Bounds, evaluate: Callable[[np.ndarray], Score | None]
    ) -> bool:
        """Evaluate the best w after fresh round `number`, if it is a new one.

        Return False where `evaluate` returns None, because the time limit came first.
        """
        if bounds.w is None or bounds.w is self.seen:
            return True
        score = evaluate(bounds.w)
        if score is None:
            return False
        self.n_since += 1
        self.seen, self.score = bounds.w, score
        if self.best is None or self.score.mean_loss < self.best["loss"]:
            self.best = {
                "round": number,
                "loss": self.score.mean_loss,
                "accuracy": self.score.accuracy,
                "primal": bounds.primal,
                "exact": bounds.exact,
            }
            self.w, self.n_since = bounds.w, 0
        return True

    def notes(self) -> dict[str, Any]:
        """Return the values for a checkpoint, besides w."""
        score = None if self.score is None else asdict(self.score)
        return {"best": self.best, "n_since": self.n_since, "score": score}

    @classmethod
    def from_notes(
        cls, notes: dict[str, Any], w: np.ndarray | None, seen: np.ndarray | None
    ) -> Watch:
        checks.whole("n_since", notes["n_since"])
        for name in ("round", "loss", "accuracy", "primal") if notes["best"] is not None else ():
            checks.number(name, notes["best"][name])
        score = None if notes["score"] is None else Score(**notes["score"])
        for name, value in (notes["score"] or {}).items():
            checks.number(name, value)
        return cls(notes["best"], w, notes["n_since"], seen, score)

    def chosen(self, bounds: Bounds) -> Bounds:
        """Return the bounds with the w of the lowest loss, else with the certified best."""
        if self.best is None:
            return bounds
        return Bounds(self.best["primal"], bounds.dual, self.w, self.best["exact"])
