"""What a training run gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from distsvm.executors.base import Activity
from distsvm.model import Model
from distsvm.solvers.round import Round


@dataclass(frozen=True, eq=False)
class TrainResult:
    """A model, and the proof of how close to the optimum it is.

    Parameters
    ----------
    model : Model
        With the w of the best certified primal.
    certificate : str
        What primal and gap are: "exact", "upper bound" (the oracle only bounds its maximum; or no w
        has been certified yet and the model is w = 0, where no loss is above the largest), or
        "none".
    primal, dual, gap : float
        P(w) of the model, the best dual value, and their difference: the optimum lies between.
    stop_reason : str
        "eps", "rel_gap", "max_rounds", "max_seconds", "validation" (no lower loss there),
        "precision" (rounding allows no more), or "interrupted".
    n_rounds, n_oracle_calls, n_cache_hits : int
        An oracle call searches all outputs of one example, also within a visit of the dual ascent;
        a cache hit looks only at planes that are held.
    n_planes : int
        Planes that the workers held at the end.
    n_cuts, n_support_cuts, n_support_planes, n_refused_planes : int
        Columns of one solver each (see `own`), 0 for others: cuts at the end and those with α > 0;
        held planes with α > 0, and how many were refused on the way because plane_memory_mb was
        full (they cost rounds, and no bound is any less true).
    bound_on_rounds : int or None
        The theory's bound on the number of rounds, where it holds: one-slack with one block,
        stabilise=1 and no line search, until the gap is C·eps, if max ‖ψ‖ is known.
    seconds : dict of phase to float
        load, oracle, cache, qp, cuts, checkpoints (of this session, with a run_dir), other, total.
    memory : dict of str to int
        Bytes of the packed examples ("data") and of the plane caches ("planes") of all workers,
        and of the driver's cuts ("cuts"); objects of Python tasks are not counted.
    history : list of Round
    C, eps, rel_gap : float
        As they were used. None stands for a rule of the gap that the run did not have.
    activity : list of Activity
        What each worker did.
    best_validation : dict or None
        Round, loss and accuracy of the lowest validation loss.
    n_examples : int
    n_dropped : int
        Examples that were left out because the task cannot be trained on them (see Task.unfit);
        everything else is about those that were not.
    n_checkpoints, checkpoint_bytes : int
        Written in this session, and the size of the last of them.
    notes : list of str
        What was out of the ordinary in this session: workers lost, shards moved, fewer workers
        than were asked for, planes lost.
    """

    model: Model
    certificate: str
    primal: float
    dual: float
    gap: float
    stop_reason: str
    n_rounds: int
    n_oracle_calls: int
    n_cache_hits: int
    n_planes: int
    bound_on_rounds: int | None
    seconds: dict[str, float]
    memory: dict[str, int]
    history: list[Round]
    C: float
    eps: float | None
    activity: list[Activity]
    n_examples: int
    best_validation: dict[str, Any] | None = None
    n_dropped: int = 0
    rel_gap: float | None = None
    n_checkpoints: int = 0
    checkpoint_bytes: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def solver(self) -> str:
        """The name of the solver."""
        return self.history[-1].solver

    @property
    def own(self) -> dict[str, float]:
        """The solver's own columns of the last round, by name."""
        return self.history[-1].own

    @property
    def n_cuts(self) -> int:
        return int(self.own.get("n_cuts", 0))

    @property
    def n_support_cuts(self) -> int:
        return int(self.own.get("n_support_cuts", 0))

    @property
    def n_support_planes(self) -> int:
        return int(self.own.get("n_support_planes", 0))

    @property
    def n_refused_planes(self) -> int:
        return int(self.own.get("n_refused_planes", 0))

    @property
    def in_words(self) -> str:
        """The certificate and what it took, in one sentence."""
        return (
            f"{self.dual:.6g} ≤ optimum ≤ {self.primal:.6g} ({self.certificate}), gap "
            f"{self.gap:.3g}, after {self.n_rounds} rounds, {self.n_oracle_calls} oracle calls and "
            f"{self.seconds['total']:.2f} s"
        )

    def __repr__(self) -> str:
        rules = {"eps": self.eps, "rel_gap": self.rel_gap}
        wished = ", ".join(
            f"{name}={value:.3g}" for name, value in rules.items() if value is not None
        )
        return (
            f"TrainResult of {type(self.model.task).__name__} on {self.n_examples} examples, "
            f"C={self.C:.6g}, {wished}\n  {self.in_words}\n"
            f"  stop_reason={self.stop_reason!r}, {len(self.notes)} notes"
        )

    def summary(self) -> dict[str, Any]:
        """Everything but model and history, in JSON's terms."""
        left_out = ("model", "history", "activity")
        data = {k: v for k, v in self.__dict__.items() if k not in left_out}
        return data | self.own | {
            "solver": self.solver,
            "activity": [
                {"worker": a.worker, "shards": list(a.shards), "busy_s": a.busy_s,
                 "n_restarts": a.n_restarts}
                for a in self.activity
            ]
        }  # fmt: skip
