"""The result of a training run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from distsvm.errors import ConfigError
from distsvm.executors.base import Activity
from distsvm.model import Model
from distsvm.registry import solvers
from distsvm.solvers.round import Round
from distsvm.wording import Setting, message
from distsvm.workers.support import Support, SupportTable


def no_support(name: str) -> str:
    """Return why a run of this solver does not tell the outputs with α > 0."""
    solver = solvers().get(name)
    why = "it is not known here" if solver is None else solver.why_no_support
    if not why:
        return (
            "the outputs with α > 0 are not known: workers were lost with planes of the last "
            "round, or an output has no form in JSON (encode_output)"
        )
    telling = ", ".join(sorted(k for k, one in solvers().items() if not one.why_no_support))
    return message(
        "no single output has an α in a run of {}: {}; expected a run of {}",
        Setting("solver", name), why, telling,
    )  # fmt: skip


def _own_column(name: str) -> property:
    """Return a property with a column of the solver's own, 0 for solvers without it."""
    return property(lambda result: int(result.own.get(name, 0)))


@dataclass(frozen=True, eq=False)
class TrainResult:
    """A model, and the proof of how close to the optimum it is.

    Parameters
    ----------
    model : Model
        With the w of the best certified primal.
    certificate : str
        The kind of primal and gap: "exact", "upper bound" (the oracle only bounds its maximum; or
        no w has been certified yet and the model is w = 0, where no loss is above the largest),
        "estimate" (the primal is the upper end of a 95% confidence interval of P(w), from a sample
        of the examples), or "none".
    primal, dual, gap : float
        P(w) of the model, the best dual value, and their difference: the optimum lies between.
    stop_reason : str
        "eps", "rel_gap", "max_rounds", "max_seconds", "validation" (no lower loss there),
        "precision" (rounding allows no more), "own rule" (the method's own rule, without a gap that
        is small enough), or "interrupted".
    n_rounds, n_oracle_calls, n_cache_hits : int
        An oracle call searches all outputs of one example, also within a visit of the dual ascent;
        a cache hit searches only planes in memory.
    n_planes : int
        Planes in the workers' memory at the end.
    n_cuts, n_support_cuts, n_support_planes, n_refused_planes : int
        Columns of one solver each (see `own`), 0 for others: cuts at the end and those with α > 0;
        planes in memory with α > 0, and planes refused because plane_memory_mb was full (refusals
        cost rounds; every bound stays true).
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
        The values that the run used; None for a rule of the gap that it did not have.
    activity : list of Activity
        The work of each worker.
    best_validation : dict or None
        Round, loss and accuracy of the lowest validation loss.
    n_examples : int
    n_dropped : int
        Unfit examples that were left out (see Task.unfit); all other values are about the rest.
    n_checkpoints, checkpoint_bytes : int
        Written in this session, and the size of the last of them.
    support_planes : SupportTable or None
        The planes with α > 0 after the last round, where the solver has such; `support` returns
        them with outputs as the user knows them.
    notes : list of str
        Unusual events of this session: lost workers, moved shards, fewer workers than requested,
        lost planes.
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
    support_planes: SupportTable | None = None

    def support(self, n: int | None = None) -> list[Support]:
        """Return the n planes with the largest α after the last round, or all with α > 0.

        Of a block with more than 10,000 of them there are those with the largest α;
        `n_support_planes` counts all.

        They make up the w of the last dual value. The model's w is that of the best primal value,
        which may be of another round. A solver whose α belong to cuts of all examples has none.
        """
        if self.support_planes is None:
            raise ConfigError(message("support: {}", no_support(self.solver)))
        decoded = self.model.task.decode_output
        return [
            plane._replace(output=decoded(json.loads(plane.output)))
            for plane in self.support_planes.lines(n)
        ]

    @property
    def solver(self) -> str:
        """The name of the solver."""
        return self.history[-1].solver

    @property
    def own(self) -> dict[str, float]:
        """The solver's own columns of the last round, by name."""
        return self.history[-1].own

    @property
    def certified_for(self) -> str:
        """The problem that the certificate is about, such as "the low-rank problem".

        Empty where it is the problem of the inputs themselves.
        """
        return self.model.task.certified_for

    n_cuts = _own_column("n_cuts")
    n_support_cuts = _own_column("n_support_cuts")
    n_support_planes = _own_column("n_support_planes")
    n_refused_planes = _own_column("n_refused_planes")

    @property
    def in_words(self) -> str:
        """The certificate and its cost, in one sentence."""
        about = f", certified for {self.certified_for}" if self.certified_for else ""
        upper = f"≤ {self.primal:.6g} ({self.certificate}{about})"
        if self.certificate == "estimate":
            upper = f"≤ {self.primal:.6g} with a confidence of 95% (estimate)"
        return (
            f"{self.dual:.6g} ≤ optimum {upper}, gap "
            f"{self.gap:.3g}, after {self.n_rounds} rounds, {self.n_oracle_calls} oracle calls and "
            f"{self.seconds['total']:.2f} s"
        )

    def __repr__(self) -> str:
        rules = {"eps": self.eps, "rel_gap": self.rel_gap}
        wanted = ", ".join(
            f"{name}={value:.3g}" for name, value in rules.items() if value is not None
        )
        return (
            f"TrainResult of {type(self.model.task).__name__} on {self.n_examples} examples, "
            f"C={self.C:.6g}, {wanted}\n  {self.in_words}\n"
            f"  stop_reason={self.stop_reason!r}, {len(self.notes)} notes"
        )

    def summary(self) -> dict[str, Any]:
        """Return everything but model and history as values of JSON."""
        left_out = ("model", "history", "activity", "support_planes")
        data = {k: v for k, v in self.__dict__.items() if k not in left_out}
        return data | self.own | {
            "solver": self.solver,
            "certified_for": self.certified_for,
            "map": self.model.task.map_facts(),
            "activity": [
                {"worker": a.worker, "shards": list(a.shards), "busy_s": a.busy_s,
                 "n_restarts": a.n_restarts}
                for a in self.activity
            ]
        }  # fmt: skip
