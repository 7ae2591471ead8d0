"""AlignmentOracle: dynamic programming over all candidates of a shard, many pairs in one call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distsvm import checks
from distsvm.data.features import frozen
from distsvm.data.ragged import Ragged, offsets, spread
from distsvm.data.shard import Names, Shard
from distsvm.oracles.climber import Flat
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.packing import Numbering
from distsvm.oracles.search import Separation
from distsvm.structures.alignments.alignment import (
    NATIVE_ALONE,
    OTHER_ALONE,
    PAIR,
    Alignment,
    Sequences,
    as_sequences,
)
from distsvm.structures.alignments.kernels import pairs, rows

if TYPE_CHECKING:
    from distsvm.structures.alignments.scoring import Scoring
    from distsvm.structures.alignments.task import AlignmentTask

PIECE = 64
CELL_WORK = 1.0
"""Of a cell of the search, in products of a climber."""
NUMBERS = {PAIR: rows.PAIR, NATIVE_ALONE: rows.X_ALONE, OTHER_ALONE: rows.Y_ALONE}
COLUMNS = {number: column for column, number in NUMBERS.items()}
UNKNOWN = -1
"""In the place of a row's first column: the alignment is still to be found."""


class AlignmentView(NamedTuple):
    """w, and the scores that it gives as the search takes them."""

    w: np.ndarray
    scoring: Scoring


class AlignmentOracle(Oracle):
    """Sequences as rows of letters' numbers, outputs as rows of numbers (see kernels.rows).

    An alignment of the homologue that is not given is the best one under the task's `reference`.
    """

    task: AlignmentTask
    piece = PIECE
    keeps_examples = True

    def __init__(self, task: AlignmentTask, shard: Shard, rescaling: str) -> None:
        super().__init__(task, shard, rescaling)
        given: Any = shard.x
        inputs = [self.names.call(i, as_sequences, x) for i, x in enumerate(given)]
        encode, call = task.encoded_letters, self.names.call
        native = [call(i, encode, x.native) for i, x in enumerate(inputs)]
        others = [[call(i, encode, c) for c in x.candidates] for i, x in enumerate(inputs)]
        self.examples: dict[str, Any] = {
            "native": Ragged.of(native, np.uint8).frozen(),
            "candidates": Ragged.of([np.concatenate(own) for own in others], np.uint8).frozen(),
            "lengths": Ragged.of([[len(c) for c in own] for own in others], np.int64).frozen(),
        }
        if shard.y is not None:
            outputs = shard.y
            truth = [call(i, self._row, x, outputs[i]) for i, x in enumerate(inputs)]
            self.examples["truth"] = Ragged.of(truth, np.int16)
            self._align_truth()
        if shard.weight is not None:
            self.examples["weight"] = shard.weight

    # --- what belongs to which example -----------------------------------------------------

    @cached_property
    def _first(self) -> np.ndarray:
        """The number of each example's first candidate, when all are numbered."""
        return self.examples["lengths"].starts[:-1]

    @cached_property
    def _starts(self) -> np.ndarray:
        """Where each candidate starts among the letters of all."""
        return frozen(offsets(self.examples["lengths"].values))

    @cached_property
    def _row_lengths(self) -> np.ndarray:
        lengths = self.examples["lengths"]
        longest = np.maximum.reduceat(lengths.values, lengths.starts[:-1])
        return 1 + self.examples["native"].lengths + longest

    @property
    def numbering(self) -> Numbering:
        most = int(self.examples["lengths"].lengths.max())
        return Numbering(max(most, rows.END + 1), np.int16, self._row_lengths)

    def view(self, w: np.ndarray) -> AlignmentView:
        return AlignmentView(w, self.task.scoring(w))

    def w_of(self, view: AlignmentView) -> np.ndarray:
        return view.w

    # --- search ----------------------------------------------------------------------------

    def separate(self, view: AlignmentView, which: np.ndarray) -> Separation:
        truth = self.truths(which)
        if self.task.losses == "residues":
            zero = np.zeros(which.size, np.int64)
            found = self._align(view.scoring, which, zero, truth)
        else:
            found = self._align(view.scoring, which, self._best(view.scoring, which, truth))
        planes = self.planes_of(which, found, self.losses(which, found))
        value = self.values(view, planes)
        better = value > 0  # the truth where nothing is, be it by rounding
        values = np.where(np.repeat(better, found.lengths), found.values, truth.values)
        loss = np.where(better, planes.loss, 0.0)
        planes = self.planes_of(which, Ragged(values, found.starts), loss)
        value = np.where(better, value, 0.0)
        return Separation(planes, value, value, exact=True)

    def least_losses(self, rows: np.ndarray) -> np.ndarray:
        return np.full(rows.size, float(self.task.loss_scale))

    def decode(self, view: AlignmentView, which: np.ndarray) -> Ragged:
        return self._align(view.scoring, which, self._best(view.scoring, which))

    def losses(self, which: np.ndarray, outputs: Ragged) -> np.ndarray:
        truth = self.truths(which)
        wrong = (self.homologues(which) != outputs.values[outputs.starts[:-1]]).astype(np.float64)
        if self.task.losses == "residues":
            rows.misaligned(
                frozen(truth.values), frozen(truth.starts), frozen(outputs.values),
                *self._true_lengths(which), wrong,
            )  # fmt: skip
        return self.task.loss_scale * wrong

    def public(self, outputs: Ragged) -> list[Alignment]:
        return [_alignment(outputs.row(i)) for i in range(len(outputs))]

    def call_work(self) -> float:
        native, letters = self.examples["native"].lengths, self.examples["candidates"].lengths
        return CELL_WORK * float(native @ letters) / max(1, self.n)

    def candidate_scores(self, view: AlignmentView, which: np.ndarray) -> Ragged:
        """Return the score of the best alignment of every candidate of these examples."""
        n = self.examples["lengths"].lengths[which]
        of_x, of_y = np.repeat(which, n), spread(self._first[which], n)
        out = np.empty(of_x.size)
        lengths = self.examples["native"].lengths[of_x], self.examples["lengths"].values[of_y]
        order = np.lexsort((-lengths[1], -lengths[0]))
        pairs.scores(
            *view.scoring, *self._letters(), *map(frozen, (of_x, of_y, order)), out
        )  # fmt: skip
        return Ragged(out, offsets(n))

    def homologues(self, which: np.ndarray) -> np.ndarray:
        """Return the true candidate of each of these examples."""
        truth = self.truths(which)
        return truth.values[truth.starts[:-1]]

    def pair_counts(self, which: np.ndarray, outputs: Ragged) -> np.ndarray:
        """Return pairs of letters in the truth, in outputs of the true candidate, and in both."""
        truth = self.truths(which)
        counts = rows.pair_counts(
            frozen(truth.values), frozen(truth.starts), frozen(outputs.values),
            *self._true_lengths(which),
        )  # fmt: skip
        return np.array(counts)

    # --- the flat map ----------------------------------------------------------------------

    def features(self, which: np.ndarray, outputs: Ragged) -> Flat:
        x = self.examples["native"]
        return rows.features(
            frozen(outputs.values), frozen(outputs.starts), x.values, frozen(x.starts[which]),
            self.examples["candidates"].values, self._starts, frozen(self._first[which]),
            self.task.pair_features, len(self.task.letters), self.task.gap_features,
        )  # fmt: skip

    # --- examples from files ---------------------------------------------------------------

    def check_examples(self, unfit: Sequence[int]) -> None:
        native, lengths = self.examples["native"], self.examples["lengths"]
        letters = self.examples["candidates"]
        for name, part in (("native", native), ("candidates", letters)):
            values = checks.vector(name, part.values, "u1")
            if values.size and values.max() >= len(self.task.letters):
                raise ValueError(f"{name} has a letter outside the alphabet")
        checks.within("lengths", lengths.values, 1, letters.values.size + 1)
        if not (native.lengths.all() and lengths.lengths.all()):
            raise ValueError("an example without a native sequence or without candidates")
        if not np.array_equal(
            np.add.reduceat(lengths.values, lengths.starts[:-1]), letters.lengths
        ):
            raise ValueError("candidates of other lengths than their letters")
        if "truth" in self.examples:
            truth = self.examples["truth"]
            checks.vector("truth", truth.values, "i2")
            if not np.array_equal(truth.lengths, self._row_lengths):
                raise ValueError("alignments of other lengths than the sequences")
            self._check_rows(truth, np.arange(self.n))

    def unpack_outputs(
        self, arrays: dict[str, np.ndarray], row: np.ndarray, q: np.ndarray
    ) -> Ragged:
        outputs = super().unpack_outputs(arrays, row, q)
        self._check_rows(outputs, row)
        return outputs

    def _with(self, examples: Any, names: Names) -> AlignmentOracle:
        new = super()._with(examples, names)
        for name in ("_first", "_starts", "_row_lengths"):
            new.__dict__.pop(name, None)
        return new

    # --- within ----------------------------------------------------------------------------

    def _check_rows(self, outputs: Ragged, which: np.ndarray) -> None:
        misfit = rows.misfit(
            frozen(outputs.values), frozen(outputs.starts),
            frozen(self.examples["native"].lengths[which]), self.examples["lengths"].values,
            frozen(self._first[which]), frozen(self.examples["lengths"].lengths[which]),
            not self.task.is_local,
        )  # fmt: skip
        if misfit >= 0:
            raise ValueError(f"row {misfit} is no alignment of its sequences")

    def _true_lengths(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of letters of the native sequences and their homologues."""
        of_y = self._first[which] + self.homologues(which)
        lengths = self.examples["native"].lengths[which], self.examples["lengths"].values[of_y]
        return frozen(lengths[0]), frozen(lengths[1])

    def _letters(self) -> tuple[np.ndarray, ...]:
        native = self.examples["native"]
        return native.values, native.starts, self.examples["candidates"].values, self._starts

    def _best(self, scoring: Scoring, which: np.ndarray, truth: Ragged | None = None) -> np.ndarray:
        """Return the candidate of highest score (the first of equal ones) but the true one."""
        n = self.examples["lengths"].lengths[which]
        if truth is None and (n == 1).all():
            return np.zeros(which.size, np.int64)
        found = self.candidate_scores(AlignmentView(np.zeros(0), scoring), which)
        if truth is not None:
            found.values[found.starts[:-1] + truth.values[truth.starts[:-1]]] = -np.inf
        most = np.maximum.reduceat(found.values, found.starts[:-1])
        place = np.arange(found.values.size) - np.repeat(found.starts[:-1], n)
        none = np.iinfo(np.int64).max
        place[found.values != np.repeat(most, n)] = none
        return np.minimum.reduceat(place, found.starts[:-1])

    def _align(
        self,
        scoring: Scoring,
        which: np.ndarray,
        candidate: np.ndarray,
        truth: Ragged | None = None,
    ) -> Ragged:
        """Return the best alignments with these candidates; with `truth`, by score plus loss."""
        starts = offsets(self._row_lengths[which])
        out, best = np.empty(starts[-1], np.int16), np.empty(which.size)
        of_y = self._first[which] + candidate
        lengths = self.examples["native"].lengths[which], self.examples["lengths"].values[of_y]
        order = np.lexsort((-lengths[1], -lengths[0]))
        known = (None, None) if truth is None else (frozen(truth.values), frozen(truth.starts))
        pairs.align(
            *scoring, *self._letters(), *map(frozen, (which, of_y, order)), *known,
            self.task.loss_scale, frozen(candidate), out, frozen(starts), best,
        )  # fmt: skip
        return Ragged(out, starts)

    def _row(self, x: Sequences, y: Any) -> np.ndarray:
        """Return the row of a true output; its alignment is UNKNOWN where it is not given."""
        y = self.task.checked_output(x, y)
        row = np.full(1 + len(x.native) + max(map(len, x.candidates)), rows.END, np.int16)
        row[0] = y.candidate
        if y.columns is None:
            row[1] = UNKNOWN
            return row
        columns = [rows.SKIP_X] * y.start + [rows.SKIP_Y] * y.candidate_start
        columns += [NUMBERS[column] for column in y.columns]
        row[1 : 1 + len(columns)] = columns if y.columns else []
        return row

    def _align_truth(self) -> None:
        """Find the alignments that are not known."""
        truth = self.examples["truth"]
        unknown = np.flatnonzero(truth.values[truth.starts[:-1] + 1] == UNKNOWN)
        if unknown.size:
            candidate = truth.values[truth.starts[unknown]].astype(np.int64)
            scoring = self.task.scoring(self.task.reference_weights())
            found = self._align(scoring, unknown, candidate)
            truth.values[spread(truth.starts[unknown], found.lengths)] = found.values
        self.examples["truth"] = truth.frozen()


def _alignment(row: np.ndarray) -> Alignment:
    numbers = row[1:].tolist()
    starts = numbers.count(rows.SKIP_X), numbers.count(rows.SKIP_Y)
    columns = "".join(COLUMNS[number] for number in numbers if number in COLUMNS)
    return Alignment(int(row[0]), columns, *starts)
