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
    """Loads one shard, binds a task to it, and hosts the part of a solver that answers rounds.

    With limited memory the shard stays on disk, and is worked through in pieces; see
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
        """What the task wants to know of the data before it is bound."""
        if not self._specs:
            self.shard = task.packed(self.shard)
            return task.scan(self.shard)
        parts = (task.scan(load(spec, self._store, mapped=False)) for spec in self._specs)
        return reduce(add, parts)

    def check(self, task: Task) -> None:
        """Refuse what `scan` refuses; the shard is in memory."""
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

        Its first example is number `first` of all, if that is known. The shard itself is let go:
        what the oracle needs of it, it has. `keep_outputs` keeps the outputs as they were given,
        for scores that compare those.
        """
        self.outputs = None
        self._digest: str | None = None
        # A thread has one piece open, and code in Python holds the interpreter lock.
        self.team = self._team if task.compiled and not self._specs else Team()
        if self._specs:
            assert self._store is not None
            self._keeping = replace(self._keeping, dim=task.dim)
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
        """Get ready for rounds, and tell what the run has to know of this shard.

        Examples that the task cannot be trained on are refused, or left out if it says so.
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
        """Ask no more from this time on, in seconds since the epoch: answers say they are late."""
        self._ends_at = ends_at

    def on_part(self, method: str, *args: Any) -> Any:
        """Call a method of the solver's part."""
        return getattr(self.part, method)(*args)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Within it, the oracle answers until the time is over."""
        self.oracle.ends_at = self._ends_at
        try:
            yield
        finally:
            self.oracle.ends_at = math.inf

    # --- predictions -----------------------------------------------------------------------

    def predict(self, w: np.ndarray) -> Any:
        """The predicted outputs of all examples, as the user knows them."""
        view = self.oracle.view(w)
        return self.oracle.public(self.oracle.decode(view, np.arange(self.oracle.n)))

    def evaluate(self, w: np.ndarray, limited: bool = False) -> Score:
        """Loss and accuracy of w's predictions; if limited, of those made before time is over."""
        view, total = self.oracle.view(w), Score(0, 0.0, 0.0, 0)
        with self.limited() if limited else nullcontext():
            for rows in self.oracle.in_time(self.oracle.chunks(np.arange(self.oracle.n))):
                outputs = self.oracle.decode(view, rows)
                total += self._score(rows[: len(outputs)], outputs)
        return total

    def score(self, outputs: Any) -> Score:
        """Loss and accuracy of these outputs of all examples, as the oracle's decode gives them."""
        return self._score(np.arange(self.oracle.n), outputs)

    def _score(self, rows: np.ndarray, outputs: Any) -> Score:
        weight = self.own_weight[rows]
        loss = float(weight @ self.oracle.losses(rows, outputs))
        n_correct = int(np.count_nonzero(self.oracle.correct(rows, outputs)))
        return Score(rows.size, float(weight.sum()), loss, n_correct)

    # --- checkpoints -----------------------------------------------------------------------

    def fingerprint(self) -> str:
        """A digest of the examples."""
        if self._digest is None:
            self._digest = self.oracle.fingerprint()
        return self._digest

    def expect(self, digest: str) -> None:
        """Refuse examples with another digest: they were read again, and are not the same.

        Bounds of the rounds before hold for the examples that were read first, so a run that went
        on with others would certify what is not true.
        """
        if self.fingerprint() != digest:
            raise DataError(
                f"{self._source} changed during the run: a worker that was built again has read "
                "other examples from it than were read at first"
            )

    def carry(self) -> dict[str, np.ndarray]:
        """What a worker has to be given that takes over this shard with all its planes."""
        return dict(self.part.state())

    def copy(self) -> dict[str, np.ndarray] | None:
        """As carry; None where memory is limited and the planes of all pieces may not fit."""
        return None if self._specs else self.carry()

    def take_up(self, state: dict[str, np.ndarray]) -> bool:
        """Go on with what `carry` gave; False where that was of a shard in other pieces."""
        return self._take_up(iter(state.items()))

    def piece_room(self) -> tuple[str, float]:
        """A folder for what a piece leaves there, and the MB that one piece may take in memory."""
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

        Planes that the file `earlier`, given by path and digest, has are not written again.
        """
        return self._chain.write(path, earlier, self.part)

    def load_planes(self, path: str, digest: str | None) -> bool:
        """Take up the planes that `save_planes` wrote; False where they are of other pieces.

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
        """As load_planes, in the middle of a run, which goes on where they are out of reach."""
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
