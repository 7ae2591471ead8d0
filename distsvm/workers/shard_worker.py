"""One shard at work: oracle and plane cache in, sums out."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from distsvm.data.keeping import Keeping, load
from distsvm.data.packed import files_of
from distsvm.data.readers.lines import described
from distsvm.data.shard import ShardSpec
from distsvm.errors import DAMAGE, CheckpointError, DataError, StoreError
from distsvm.messages import Facts, Score, Summary
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.task import Task
from distsvm.storage import place
from distsvm.team import Team
from distsvm.wording import Setting, message
from distsvm.workers import chain
from distsvm.workers.part import NoPart, PartMaker, WorkerPart
from distsvm.workers.pieces import PiecedOracle, pack_pieces

log = logging.getLogger(__name__)


class ShardWorker:
    """Loads one shard, binds a task to it, and hosts a solver's part, whose methods rounds call.

    With limited memory the shard stays on disk, and the worker reads it in pieces; see
    distsvm.workers.pieces.

    Attributes
    ----------
    oracle : Oracle
    weight : float64 array of shape (n,)
        c_i, class weights included; known once the task is bound.
    dim : int
        The length of w.
    team : Team
        The threads that share the work on the examples.
    """

    def __init__(self, spec: ShardSpec, keeping: Keeping | None = None) -> None:
        self._keeping = keeping = keeping or Keeping()
        self._store = keeping.store()
        self._spec, self._specs = spec, keeping.pieces(spec)
        self.n_left_out = 0
        self.team = self._team = Team()
        if self._specs:
            self._source = described(files_of(spec))
        else:
            self.shard = load(spec, self._store)
            self._source, self.n_left_out = self.shard.source, self.shard.n_left_out
            if not self.shard.n:
                raise DataError(f"an empty shard: {self.shard.source} has no examples")

    def use_team(self, team: Team) -> None:
        """Share the work with these threads, where the shard is in memory and the task compiled."""
        self._team = team

    def scan(self, task: Task) -> Summary:
        """Return the shard's summary for the task's `prepare`."""
        if not self._specs:
            self.shard = task.packed(self.shard)
            return task.scan(self.shard)
        parts = (task.scan(load(spec, self._store, mapped=False)) for spec in self._specs)
        return reduce(add, parts)

    def check(self, task: Task) -> None:
        """Refuse a shard that `scan` refuses; requires a shard in memory."""
        self.shard = task.packed(self.shard)
        task.check(self.shard)

    def attach(
        self,
        task: Task,
        rescaling: str = "margin",
        first: int | None = None,
        *,
        keep_outputs: bool = False,
    ) -> Counter[str]:
        """Pack the shard for a task, and return the true labels that the task does not know.

        Its first example is number `first` of all, if that is known. Only the oracle stays in
        memory, and not the shard. `keep_outputs` also keeps the outputs as they were given, for
        scores that compare those.
        """
        self.outputs = None
        self._digest: str | None = None
        # Pieces are open one at a time, and tasks in Python hold the interpreter lock.
        self.team = self._team if task.compiled and not self._specs else Team()
        if self._specs:
            assert self._store is not None
            self._keeping = replace(self._keeping, dim=task.dim, growth=task.growth)
            self._specs = self._keeping.pieces(self._spec)  # smaller ones beside long vectors
            frame, pieces = pack_pieces(task, rescaling, self._specs, self._store)
            pieced = PiecedOracle(frame, pieces, first, getattr(self._spec, "locate", None))
            self.oracle: Oracle = pieced
            self.own_weight = pieced.weights()
        else:
            shard = self.shard if first is None else replace(self.shard, first=first)
            del self.shard
            self.outputs = shard.y if keep_outputs else None
            self.oracle = task.oracle(shard, rescaling)
            self.own_weight = np.ones(shard.n) if shard.weight is None else shard.weight
        self.dim, self.weight, self._ends_at = task.dim, self.own_weight, math.inf
        self.part: WorkerPart = NoPart()
        self._chain = chain.Chain()
        return self.oracle.unseen()

    def bind(
        self, task: Task, rescaling: str, make_part: PartMaker, fingerprint: bool, first: int
    ) -> Facts:
        """Prepare for rounds, and return the run's facts about this shard.

        Unfit examples are refused or dropped, as the task's `unfit` says.
        """
        self.attach(task, rescaling, first)
        n_dropped = self._drop_unfit(task)
        factor = self.oracle.class_weights()
        self.weight = self.own_weight if factor is None else self.own_weight * factor
        square_norm, square_radius = self.oracle.size(self.weight)
        self.part = make_part(self)
        return Facts(
            n_examples=self.oracle.n,
            n_dropped=n_dropped,
            n_weighted=int(np.count_nonzero(self.weight)),
            weight=float(self.weight.sum()),
            square_norm=square_norm,
            square_radius=square_radius,
            data_bytes=self.oracle.n_bytes,
            plane_bytes=self.part.n_bytes,
            fingerprint=self.fingerprint() if fingerprint else "",
        )

    def _drop_unfit(self, task: Task) -> int:
        """Refuse the first unfit example by name, or drop all of them and return their number."""
        unfit = self.oracle.unfit()
        if task.unfit == "error":
            for row, reason in unfit.items():
                raise DataError(
                    message(
                        "{}: {}; {} leaves such examples out",
                        self.oracle.names[row],
                        reason,
                        Setting("unfit", "drop"),
                    )
                )
        if unfit:
            kept = np.delete(np.arange(self.oracle.n), list(unfit))
            self.oracle = self.oracle.take(kept)
            self.own_weight = self.own_weight[kept]
        return len(unfit)

    # --- rounds ----------------------------------------------------------------------------

    def limit(self, ends_at: float) -> None:
        """Set the time limit, in seconds since the epoch; later results are marked as late."""
        self._ends_at = ends_at

    def on_part(self, method: str, *args: Any) -> Any:
        """Call a method of the solver's part."""
        return getattr(self.part, method)(*args)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Apply the time limit to the oracle within this context."""
        self.oracle.ends_at = self._ends_at
        try:
            yield
        finally:
            self.oracle.ends_at = math.inf

    # --- predictions -----------------------------------------------------------------------

    def predict(self, w: np.ndarray) -> Any:
        """Return the predicted outputs of all examples in the user's form."""
        view = self.oracle.view(w)
        return self.oracle.public(self.oracle.decode(view, np.arange(self.oracle.n)))

    def evaluate(self, w: np.ndarray, limited: bool = False) -> Score:
        """Return loss and accuracy of w's predictions; if limited, up to the time limit."""
        view, total = self.oracle.view(w), Score(0, 0.0, 0.0, 0)
        with self.limited() if limited else nullcontext():
            for rows in self.oracle.in_time(self.oracle.chunks(np.arange(self.oracle.n))):
                outputs = self.oracle.decode(view, rows)
                total += self._score(rows[: len(outputs)], outputs)
        return total

    def score(self, outputs: Any) -> Score:
        """Return loss and accuracy of all examples' outputs, which are in the oracle's form."""
        return self._score(np.arange(self.oracle.n), outputs)

    def _score(self, rows: np.ndarray, outputs: Any) -> Score:
        weight = self.own_weight[rows]
        loss = float(weight @ self.oracle.losses(rows, outputs))
        n_correct = int(np.count_nonzero(self.oracle.correct(rows, outputs)))
        return Score(rows.size, float(weight.sum()), loss, n_correct)

    # --- checkpoints -----------------------------------------------------------------------

    def fingerprint(self) -> str:
        """Return a digest of the examples."""
        if self._digest is None:
            self._digest = self.oracle.fingerprint()
        return self._digest

    def expect(self, digest: str) -> None:
        """Refuse examples with another digest than at their first reading.

        Bounds of earlier rounds hold for the examples that were read first, so with others the
        run's certificate would be false.
        """
        if self.fingerprint() != digest:
            raise DataError(
                f"{self._source} changed during the run: a rebuilt worker has read other examples "
                "from it than the first worker"
            )

    def carry(self) -> dict[str, np.ndarray]:
        """Return the arrays with which another worker can take over this shard and its planes."""
        return dict(self.part.state())

    def copy(self) -> dict[str, np.ndarray] | None:
        """Return `carry()`; None if memory is limited, as the planes of all pieces may not fit."""
        return None if self._specs else self.carry()

    def take_up(self, state: dict[str, np.ndarray]) -> bool:
        """Restore the result of `carry`; return False if its shard had other pieces."""
        return self._take_up(iter(state.items()))

    def piece_room(self) -> tuple[str, float]:
        """Return a folder for the files of pieces, and the MB that one piece may take in memory."""
        if self._store is None:
            raise RuntimeError("a shard in memory has no pieces")
        return self._store.folder, self._keeping.piece_mb

    def _take_up(self, named: Iterator[tuple[str, np.ndarray]]) -> bool:
        if not self.part.restore(named):
            log.warning("the planes are of a shard in other pieces, and are left out")
            return False
        return True

    def save_planes(self, path: str, earlier: tuple[str, str | None] | None = None) -> str:
        """Write the planes to a file, and return its digest.

        Planes that are in the file `earlier`, a path and a digest, are not written again.
        """
        return self._chain.write(path, earlier, self.part)

    def load_planes(self, path: str, digest: str | None) -> bool:
        """Restore the planes that `save_planes` wrote; return False if their pieces differ.

        The digest is None for planes that were not written.
        """
        if digest is None:
            return False
        try:
            return self._take_up(chain.read(path, digest, self.oracle))
        except CheckpointError:
            raise
        except DAMAGE as error:
            raise CheckpointError(f"{path} does not fit this shard: {error}") from error

    def recall_planes(self, path: str, digest: str | None) -> bool:
        """Call `load_planes` during a run; a missing or unreachable file is only a warning."""
        if digest is None:
            return False
        try:
            if not place(path).exists():
                log.warning("a shard goes on without its planes: %s does not exist", path)
                return False
            return self.load_planes(path, digest)
        except StoreError as error:
            log.warning("a shard goes on without its planes: %s", error)
            return False
