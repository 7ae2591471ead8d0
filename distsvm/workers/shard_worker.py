"""One shard at work: oracle and plane cache in, sums out."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import reduce
from itertools import islice
from operator import add
from typing import Any

import numpy as np

from distsvm.data.keeping import Keeping, load
from distsvm.data.packed import files_of
from distsvm.data.readers.lines import described
from distsvm.data.shard import ShardSpec
from distsvm.errors import DAMAGE, CheckpointError, DataError, StoreError
from distsvm.messages import Ascended, Ascent, Facts, Holding, Planes, Score, Summary, Sums
from distsvm.oracles.climber import Live
from distsvm.oracles.oracle import Oracle, Separation
from distsvm.oracles.task import Task
from distsvm.storage import place
from distsvm.workers import chain
from distsvm.workers.ascent import BlockAscent
from distsvm.workers.cache import PlaneCache
from distsvm.workers.pieced_ascent import PiecedAscent
from distsvm.workers.pieces import PiecedOracle, pack_pieces

log = logging.getLogger(__name__)


class ShardWorker:
    """Loads one shard, binds a task to it and answers rounds; a rebuilt one has an empty cache.

    With limited memory the shard stays on disk, and is worked through in pieces; see
    distsvm.workers.pieces.
    """

    def __init__(self, spec: ShardSpec, keeping: Keeping | None = None) -> None:
        self._keeping = keeping = keeping or Keeping()
        self._store = keeping.store()
        self._spec, self._specs = spec, keeping.pieces(spec)
        self.n_left_out = 0
        if self._specs:
            self._source = described(files_of(spec))
        else:
            self.shard = load(spec, self._store)
            self._source, self.n_left_out = self.shard.source, self.shard.n_left_out
            if not self.shard.n:
                raise DataError(f"an empty shard: {self.shard.source} has no examples")

    def scan(self, task: Task) -> Summary:
        """What the task wants to know of the data before it is bound."""
        if not self._specs:
            return task.scan(self.shard)
        parts = (task.scan(load(spec, self._store, mapped=False)) for spec in self._specs)
        return reduce(add, parts)

    def attach(
        self,
        task: Task,
        rescaling: str = "margin",
        cache_size: int = 0,
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
        self.cache = PlaneCache(self.oracle, cache_size)
        self._dim = task.dim
        self._round: int | None = None
        self._answers: list[Separation] = []
        self._turn, self._ends_at = 0, math.inf
        self._chain = chain.Chain()
        self.ascent: BlockAscent | PiecedAscent | None = None
        return self.oracle.unseen()

    def bind(
        self, task: Task, rescaling: str, cache_size: int, fingerprint: bool, first: int
    ) -> Facts:
        """Get ready for rounds, and tell what the run has to know of this shard.

        Examples that the task cannot be trained on are refused, or left out if it says so.
        """
        self.attach(task, rescaling, cache_size, first)
        n_dropped = self._drop_unfit(task, cache_size)
        factor = self.oracle.class_weights()
        self.weight = self.own_weight if factor is None else self.own_weight * factor
        square_norm, square_radius = self.oracle.size(self.weight)
        return Facts(
            n_examples=self.oracle.n,
            n_dropped=n_dropped,
            n_weighted=int(np.count_nonzero(self.weight)),
            weight=float(self.weight.sum()),
            square_norm=square_norm,
            square_radius=square_radius,
            data_bytes=self.oracle.n_bytes,
            plane_bytes=self.cache.n_bytes,
            fingerprint=self.fingerprint() if fingerprint else "",
        )

    def _drop_unfit(self, task: Task, cache_size: int) -> int:
        """Refuse the first unfit example by name, or drop all of them and return their number."""
        unfit = self.oracle.unfit()
        if task.unfit == "error":
            for row, reason in unfit.items():
                raise DataError(
                    f'{self.oracle.names[row]}: {reason}; unfit="drop" leaves such examples out'
                )
        if unfit:
            kept = np.delete(np.arange(self.oracle.n), list(unfit))
            self.oracle = self.oracle.take(kept)
            self.own_weight = self.own_weight[kept]
            self.cache = PlaneCache(self.oracle, cache_size)
        return len(unfit)

    # --- rounds ----------------------------------------------------------------------------

    def limit(self, ends_at: float) -> None:
        """Ask no more from this time on, in seconds since the epoch: answers say they are late."""
        self._ends_at = ends_at

    @contextmanager
    def _limited(self) -> Iterator[None]:
        self.oracle.ends_at = self._ends_at
        try:
            yield
        finally:
            self.oracle.ends_at = math.inf

    def fresh(self, w: np.ndarray) -> Sums:
        """The exact round: the oracle on every example at w."""
        self._round, self._answers = None, []  # of another C, whose rounds had the same numbers
        view, tally = self.oracle.view(w), Tally(self)
        with self._limited():
            for rows in self.oracle.in_time(self.oracle.chunks(np.arange(self.oracle.n))):
                tally.add_fresh(self._ask(view, rows))
        return tally.sums(n_calls=tally.n_fresh, late=tally.n_fresh < self.oracle.n)

    def cached(self, w: np.ndarray) -> Sums:
        """A cut from the caches alone."""
        view, tally = self.oracle.view(w), Tally(self)
        for rows in self.oracle.chunks(np.arange(self.oracle.n)):
            tally.add_cached(*self.cache.best(view, rows))
        return tally.sums(n_calls=0)

    def refresh(self, w: np.ndarray, round_number: int, fraction: float) -> Sums:
        """The oracle on the next `fraction` of the examples, the caches for those not yet asked.

        Calls with one round number belong to one w; each asks examples that were not asked before
        and uses the earlier answers again. Once all were asked the sums are those of an exact
        round, and n_fresh says so. Rounds take turns, so that every example is asked in time.
        """
        n, view, tally = self.oracle.n, self.oracle.view(w), Tally(self)
        if round_number != self._round:
            self._round, self._answers = round_number, []
        n_asked = sum(len(answer.planes) for answer in self._answers)
        wanted = (self._turn + np.arange(min(n - n_asked, int(np.ceil(fraction * n))))) % max(1, n)
        n_more = 0
        with self._limited():
            for rows in self.oracle.in_time(self.oracle.chunks(wanted)):
                self._answers.append(self._ask(view, rows))
                n_more += len(self._answers[-1].planes)
        self._turn = int((self._turn + n_more) % max(1, n))  # all examples may be left out
        waiting = np.ones(n, dtype=bool)
        for answer in self._answers:
            waiting[answer.planes.row] = False
            tally.add_fresh(answer)
        for rows in self.oracle.chunks(np.flatnonzero(waiting)):
            tally.add_cached(*self.cache.best(view, rows))
        return tally.sums(n_calls=n_more, late=n_more < wanted.size)

    def _ask(self, view: Any, rows: np.ndarray) -> Separation:
        answer = self.oracle.separate(view, rows)
        self.cache.insert(answer.planes)
        return answer

    # --- dual ascent -----------------------------------------------------------------------

    def hold(
        self, C_share: float, memory_mb: float, seed: int = 0, n_apart: int = 1, block: int = 0
    ) -> None:
        """Begin the dual ascent, with all α at the truths; `C_share` is C / Σc of all examples."""
        self._held = C_share, memory_mb, seed, n_apart, block
        self._begin_ascent()

    def _begin_ascent(self) -> None:
        C_share, memory_mb, seed, n_apart, block = self._held
        if not isinstance(self.oracle, PiecedOracle):
            self.ascent = BlockAscent(
                self.oracle, self.weight, C_share, self._dim, memory_mb, seed, block, n_apart
            )
            return
        assert self._store is not None
        memory_mb = min(memory_mb, self._keeping.piece_mb)
        self.ascent = PiecedAscent(
            self.oracle, self._store.folder, self.weight, C_share, self._dim, memory_mb, seed,
            block, n_apart,
        )  # fmt: skip

    def rescale(self, C_share: float, factor: float, taken: float) -> None:
        """Go on with the dual ascent at another C; see BlockAscent.rescale."""
        assert self.ascent is not None, "hold() comes first"
        self._held = C_share, *self._held[1:]
        self.ascent.rescale(C_share, factor, taken)

    def ascend(
        self, w: np.ndarray, point: np.ndarray | None, todo: Ascent, live: Live | None = None
    ) -> Ascended:
        """One round of the dual ascent; see BlockAscent.round."""
        assert self.ascent is not None, "hold() comes first"
        if self.ascent.number not in (0, todo.number - 1):
            self.ascent.fall_behind()  # it was given the planes of an earlier round
        regain = todo.regain
        if regain is not None and self._held[-1] in regain.blocks:
            todo = replace(todo, taken=regain.taken)
            if regain.w is not None:
                w, point = regain.w, w if point is None else point  # P is still asked for at w
        with self._limited():
            return self.ascent.round(w, point, todo, live)

    def holding(self) -> Holding:
        """Σ α·p and Σ α·q before the last round's changes."""
        assert self.ascent is not None, "hold() comes first"
        return self.ascent.holding()

    # --- predictions -----------------------------------------------------------------------

    def predict(self, w: np.ndarray) -> Any:
        """The predicted outputs of all examples, as the user knows them."""
        view = self.oracle.view(w)
        return self.oracle.public(self.oracle.decode(view, np.arange(self.oracle.n)))

    def evaluate(self, w: np.ndarray, limited: bool = False) -> Score:
        """Loss and accuracy of w's predictions; if limited, of those made before time is over."""
        view, total = self.oracle.view(w), Score(0, 0.0, 0.0, 0)
        with self._limited() if limited else nullcontext():
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
        return dict(self._learned())

    def copy(self) -> dict[str, np.ndarray] | None:
        """As carry; None where memory is limited and the planes of all pieces may not fit."""
        return None if self._specs else self.carry()

    def take_up(self, state: dict[str, np.ndarray]) -> bool:
        """Go on with what `carry` gave; False where that was of a shard in other pieces."""
        return self._take_up(iter(state.items()))

    def _learned(self) -> Iterator[tuple[str, np.ndarray]]:
        own = self.cache if self.ascent is None else self.ascent
        yield "turn", np.array(self._turn)
        yield from own.state().items()

    def _take_up(self, named: Iterator[tuple[str, np.ndarray]]) -> bool:
        own = self.cache if self.ascent is None else self.ascent
        turn = dict(islice(named, 1))["turn"]
        if not own.restore(named):
            log.warning("the planes are of a shard in other pieces, and are left out")
            return False
        self._turn = int(turn)
        return True

    def save_planes(self, path: str, earlier: tuple[str, str | None] | None = None) -> str:
        """Write the planes to a file, and return its digest.

        Planes that the file `earlier`, given by path and digest, has are not written again.
        """
        own = self.cache if self.ascent is None else self.ascent
        return self._chain.write(path, earlier, own, {"turn": np.array(self._turn)})

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


class Tally:
    """The sums of one round of one shard, as they grow."""

    def __init__(self, worker: ShardWorker) -> None:
        self._worker = worker
        self._a = worker.oracle.total(worker._dim)
        self._b = self._upper = 0.0
        self.n_fresh = self._n_hits = 0
        self._exact = True

    def add_fresh(self, answer: Separation) -> None:
        self._add(answer.planes, answer.upper)
        self.n_fresh += len(answer.planes)
        self._exact &= answer.exact

    def add_cached(self, planes: Planes, values: np.ndarray) -> None:
        self._add(planes, values)
        self._n_hits += len(planes)

    def sums(self, n_calls: int, late: bool = False) -> Sums:
        return Sums(
            a=self._a.vector(),
            b=self._b,
            upper=self._upper,
            n_fresh=self.n_fresh,
            n_calls=n_calls,
            n_hits=self._n_hits,
            n_planes=self._worker.cache.n_planes,
            exact=self._exact,
            late=late,
        )

    def _add(self, planes: Planes, upper: np.ndarray) -> None:
        weight = self._worker.weight[planes.row]
        self._a.add(planes, weight)
        self._b += float(weight @ planes.loss)
        self._upper += float(weight @ upper)
