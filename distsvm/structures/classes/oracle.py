"""The oracle of classes: all classes of many rows, in compiled code."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from distsvm import checks
from distsvm.data.features import DenseRows, Rows, SparseRows, frozen
from distsvm.data.ragged import offsets, spread
from distsvm.data.shard import Names, Shard
from distsvm.errors import DataError
from distsvm.kernels import rows as row_kernels
from distsvm.kernels.codes import Codes, class_scores
from distsvm.messages import Planes
from distsvm.oracles.bound import MOST_ROWS, power_of_two
from distsvm.oracles.climber import Flat
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.packing import Numbering
from distsvm.oracles.search import Separation
from distsvm.structures.classes.climber import (
    ClassClimber,
    ClassVectors,
    ClassView,
    DenseClassClimber,
    SparseClassClimber,
)
from distsvm.structures.classes.kernels import climb_held as climb_classes
from distsvm.structures.classes.kernels import scoring as class_kernels
from distsvm.structures.classes.kernels.climb_whole import ClassProblem
from distsvm.structures.classes.kernels.losses import losses_of_pairs
from distsvm.structures.classes.kernels.steps import Coding

if TYPE_CHECKING:
    from distsvm.structures.classes.sequential import SequentialBlock
    from distsvm.structures.classes.task import ClassTask

PIECE_BYTES = 4 << 20
SCORE_BYTES = 64 << 20
"""The most that the scores of a piece take where classes are many."""
NO_CODES = Codes(np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int64))
DENSE_CODES = 0.5
"""Codes with more entries than this part of all are multiplied as a dense table."""
CALL_WORK = 0.2
"""A product of the search over all classes, in terms of one of a climber's."""


class ClassOracle(Oracle):
    """Enumerates the classes of many rows in compiled code."""

    task: ClassTask
    n_outputs: int

    def __init__(self, task: ClassTask, shard: Shard, rescaling: str) -> None:
        super().__init__(task, shard, rescaling)
        self.rows = task.mapped(_shifted(shard.x, task, shard))  # type: ignore[arg-type]
        self.truth: np.ndarray | None = None
        self.others: list[Any] = []  # true labels that are no classes; see ClassTask.encode
        if shard.y is not None:
            truth, others = task.encode(np.asarray(shard.y))
            self.truth, self.others = frozen(truth), others.tolist()
        self.weight = shard.weight
        self.zero_one, self.matrix = task.zero_one, frozen(task.loss_table())
        self._losses = self._searched = task.all_losses()
        codes = task.sparse_codes()
        self.unit = codes is None
        self.codes = NO_CODES if codes is None else Codes(*map(frozen, codes))
        self._table = _dense_codes(self.codes, task.n_codes)
        self.n_outputs = task.labels.size
        self.scale = frozen(task.feature_scale())
        self._measure()

    def _measure(self) -> None:
        self.extent = sum(array.nbytes for array in self.rows.arrays()[:2])
        self.piece = self.piece_of(self.extent / max(1, self.n))

    def piece_of(self, mean_extent: float) -> int:
        # A piece's rows and its scores both stay in the cache, and it has more rows than classes.
        k, r = self.task.labels.size, self.task.n_codes
        fitting = PIECE_BYTES / max(8 * k, mean_extent)
        rows = max(256, 4 * r, min(MOST_ROWS, fitting))
        return power_of_two(min(rows, max(1, SCORE_BYTES / (8 * max(k, r)))))

    def view(self, w: np.ndarray) -> ClassView:
        V, bias = self.task.weights(w)
        return ClassView(frozen(V), frozen(bias))

    def scores(self, view: ClassView, rows: np.ndarray) -> np.ndarray:
        """⟨w, Ψ(x, ŷ)⟩ of every class, shape (m, k)."""
        V, bias, change = view
        out = np.empty((rows.size, bias.size))
        if isinstance(self.rows, DenseRows):
            row_kernels.dense_products(self.rows.values, frozen(rows), V, bias, out)
        elif change is None:
            row_kernels.sparse_products(*self.sparse(), frozen(rows), V, bias, out)
        else:
            climb_classes.changed_products(*self.sparse(), frozen(rows), V, *change, out)
            out += bias
        if self.unit:
            return out
        if self._table is not None:
            return out @ self._table.T
        scores = np.empty((rows.size, self.n_outputs))
        class_scores(out, self.codes, scores)
        return scores

    def separate(self, view: Any, rows: np.ndarray) -> Separation:
        return self.separate_scores(self.scores(view, rows), rows)

    def separate_scores(self, scores: np.ndarray, rows: np.ndarray) -> Separation:
        """The most violated classes, given ⟨w, Ψ(x, ŷ)⟩ of every class, shape (m, k)."""
        output, q, value = (
            np.empty(rows.size, np.int32),
            np.empty(rows.size),
            np.empty(rows.size),
        )
        class_kernels.most_violated(
            scores,
            self.truths(rows),
            self._searched,
            self.slack,
            output,
            q,
            value,
        )
        loss = q if self.q_is_loss else self.losses(rows, output)
        return Separation(Planes(rows, output, q, loss), value, value, exact=True)

    def penalise(self, penalty: str) -> None:
        super().penalise(penalty)
        self._searched = self._losses._replace(
            zero_one=float(self.q_of(np.array(self.zero_one))),
            matrix=frozen(self.q_of(self.matrix)),
            height=frozen(self.q_of(self._losses.height)),
        )

    def least_losses(self, rows: np.ndarray) -> np.ndarray:
        if self.zero_one:
            return np.full(rows.size, self.zero_one)
        tabled = self.matrix if self.matrix.size else self._losses.height
        return np.full(rows.size, tabled[tabled > 0].min(initial=np.inf))

    def features(self, rows: np.ndarray, outputs: Any) -> Flat:
        """Return the row, scaled and with the constant feature, times the class's code."""
        n_codes, last = self.task.n_codes, self.scale.size - 1
        if isinstance(self.rows, DenseRows):
            columns = np.tile(np.arange(last + 1), rows.size)
            lengths = np.full(rows.size, last + 1)
            ones = np.ones((rows.size, 1))
            values = np.concatenate([self.rows.values[rows], ones], axis=1).ravel()
        else:
            all_values, all_columns, starts = self.sparse()
            lengths = np.diff(starts)[rows] + 1
            ends = np.cumsum(lengths)
            columns, values = np.full(lengths.sum(), last), np.ones(lengths.sum())
            inner = np.ones(columns.size, bool)
            inner[ends - 1] = False
            places = spread(starts[rows], lengths - 1)
            columns[inner], values[inner] = all_columns[places], all_values[places]
        values = values * self.scale[columns]
        number = np.repeat(np.asarray(outputs, np.int64), lengths)
        if self.unit:
            return columns * n_codes + number, values, offsets(lengths)
        # Every entry of a row by every entry of the class's code.
        n_entries = np.diff(self.codes.starts)
        inner = spread(self.codes.starts[number], n_entries[number])
        index = np.repeat(columns * n_codes, n_entries[number]) + self.codes.columns[inner]
        value = np.repeat(values, n_entries[number]) * self.codes.values[inner]
        return index, value, offsets(lengths * n_entries[np.asarray(outputs, np.int64)])

    def values(self, view: Any, planes: Planes) -> np.ndarray:
        values = np.empty(len(planes))
        rows, first = _runs(planes.row)
        # All classes of a row at once: one matrix product is cheaper than picking columns.
        for start in range(0, rows.size, self.piece):
            piece = rows[start : start + self.piece]
            inside = slice(first[start], first[start + piece.size])
            place = np.repeat(np.arange(piece.size), np.diff(first[start : start + piece.size + 1]))
            class_kernels.plane_values(
                self.scores(view, piece), frozen(place), self.truths(planes.row[inside]),
                frozen(planes.output[inside]), frozen(planes.q[inside]), self.slack,
                values[inside],
            )  # fmt: skip
        return values

    def accumulate(self, planes: Planes, weights: np.ndarray, out: np.ndarray) -> None:
        coefficients = weights * planes.q if self.slack else weights
        given = (
            frozen(planes.row), self.scale, self.truths(planes.row), frozen(planes.output),
            frozen(coefficients), self.codes, self.unit, out.reshape(self.scale.size, -1),
        )  # fmt: skip
        if isinstance(self.rows, DenseRows):
            row_kernels.dense_sums(self.rows.values, *given)
        else:
            row_kernels.sparse_sums(*self.sparse(), *given)

    def climber(self, w: np.ndarray, sigma: float) -> ClassClimber:
        dense = isinstance(self.rows, DenseRows)
        return (DenseClassClimber if dense else SparseClassClimber)(self, w, sigma)

    def vectors(self, max_bytes: float) -> ClassVectors:
        return ClassVectors(self)

    def sequential(
        self, formulation: str, weight: np.ndarray, C_share: float, seed: int, block: int,
        n_apart: int = 1, team: Any = None, shrinking: str = "gap",
    ) -> SequentialBlock:  # fmt: skip
        """Return a block of the sequential dual method; see there."""
        from distsvm.structures.classes.sequential import SequentialBlock

        return SequentialBlock(
            self, formulation, weight, C_share, seed, block, n_apart, team, shrinking
        )

    def call_work(self) -> float:
        return CALL_WORK * float(self.rows.costs().mean()) * self.task.n_codes

    @property
    def coding(self) -> Coding:
        """The classes as the climbing kernels take them."""
        return Coding(self._all_truth(), self.codes, self.unit, self.slack)

    @property
    def problem(self) -> ClassProblem:
        """The dual over all classes as the kernels take it."""
        return ClassProblem(self.coding, self._losses, self.square_norms)

    def outputs(self, numbers: np.ndarray) -> np.ndarray:
        return numbers.astype(np.int32)

    @cached_property
    def square_norms(self) -> np.ndarray:
        """‖x_i‖² of every row, scaled and with the constant feature."""
        norms = np.empty(self.n)
        if isinstance(self.rows, DenseRows):
            row_kernels.dense_square_norms(self.rows.values, self.scale, norms)
        else:
            row_kernels.sparse_square_norms(*self.sparse(), self.scale, norms)
        return frozen(norms + self.scale[-1] ** 2)

    def decode(self, view: Any, rows: np.ndarray) -> np.ndarray:
        pieces = (rows[start : start + self.piece] for start in range(0, rows.size, self.piece))
        best = [np.argmax(self.scores(view, piece), axis=1).astype(np.int32) for piece in pieces]
        return np.concatenate(best) if best else np.zeros(0, np.int32)

    def losses(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        truth, found = self.truths(rows), np.full(rows.size, self.task.largest_loss)
        known = truth < self.n_outputs
        own = np.empty(np.count_nonzero(known))
        pairs = frozen(truth[known]), frozen(np.asarray(outputs, np.int32)[known])
        losses_of_pairs(self._losses, *pairs, own)
        found[known] = own
        return found

    def correct(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        return self.truths(rows) == outputs  # a cost matrix may forgive some mistakes

    def public(self, outputs: Any) -> np.ndarray:
        return self.task.labels[outputs]

    def unfit(self) -> dict[int, str]:
        rows, labels = self._unseen_rows()
        return dict(zip(rows.tolist(), map(self.task.why_unseen, labels), strict=True))

    def unseen(self) -> Counter[str]:
        return Counter(map(str, self._unseen_rows()[1]))

    def _unseen_rows(self) -> tuple[np.ndarray, list[Any]]:
        """Return the rows whose true labels are no classes, and these labels."""
        if self.truth is None:
            return np.zeros(0, np.int64), []
        rows = np.flatnonzero(self.truth >= self.n_outputs)
        codes = self.truth[rows] - self.n_outputs
        return rows, [self.others[code] for code in codes.tolist()]

    @property
    def numbering(self) -> Numbering:
        return Numbering(self.n_outputs, np.int32)

    def truths(self, rows: np.ndarray) -> np.ndarray:
        return frozen(self._all_truth()[rows])

    def contents(self, start: int, stop: int) -> Iterable[np.ndarray | None]:
        values, *places = self.rows.rows(start, stop).arrays()
        truth, weight = (None if a is None else a[start:stop] for a in (self.truth, self.weight))
        return (values, *(place.astype(np.int64) for place in places), truth, weight)

    def arrays(self) -> dict[str, np.ndarray]:
        rows = self.rows.arrays()
        known = {"truth": self.truth, "weight": self.weight}
        return {
            **dict(zip(("values", "columns", "starts"), rows, strict=False)),
            **{name: array for name, array in known.items() if array is not None},
        }

    def over(
        self, arrays: dict[str, np.ndarray], names: Names, unfit: Sequence[int] = ()
    ) -> ClassOracle:
        new = copy.copy(self)
        vars(new).pop("square_norms", None)
        given = {name: frozen(array) for name, array in arrays.items()}
        if "columns" in given:
            places = given["columns"], given["starts"]
            checks.within("columns", places[0], 0, self.task.n_features, given["values"].size)
            checks.starts("starts", places[1], places[0].size)
            new.rows = SparseRows(given["values"], *places, self.task.n_features)
        else:
            n_rows = len(given["values"])
            checks.array("values", given["values"], "f", (n_rows, self.task.n_features))
            new.rows = DenseRows(given["values"])
        if "truth" in given:
            truth = checks.vector("truth", given["truth"], "i", new.rows.n_rows)
            checks.within("truth", np.delete(truth, unfit), -1, self.task.labels.size)
        new.n, new.names = new.rows.n_rows, names
        new.truth, new.weight = given.get("truth"), given.get("weight")
        new._measure()
        return new

    def beside(self, rows: Rows) -> ClassOracle:
        """Return an oracle like this one of other rows, which have no labels."""
        new: ClassOracle = object.__new__(type(self))  # as copy.copy, in a fifth of its time
        vars(new).update(vars(self))
        if isinstance(rows, DenseRows):
            new.rows = DenseRows(frozen(rows.values))
        else:
            values, columns, starts = map(frozen, rows.arrays())
            new.rows = SparseRows(values, columns, starts, rows.n_columns)
        new.n, new.names = rows.n_rows, Names(range(rows.n_rows), 0)
        new.truth, new.weight = None, None
        new._measure()
        return new

    def class_weights(self) -> np.ndarray | None:
        weights = self.task.class_weights
        return None if weights is None else weights[self._all_truth()]

    def norms(self) -> tuple[np.ndarray, float | None]:
        own, apart = self.task.code_norms()
        truth = self._all_truth()
        return self.square_norms * own[truth], float(
            (self.square_norms * apart[truth]).max(initial=0.0)
        )

    @property
    def n_bytes(self) -> int:
        return self.rows.nbytes + (0 if self.truth is None else self.truth.nbytes)

    def _all_truth(self) -> np.ndarray:
        if self.truth is None:
            raise DataError("the examples have no labels")
        return self.truth

    def sparse(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, columns and starts of sparse rows."""
        assert isinstance(self.rows, SparseRows)
        return self.rows.values, self.rows.columns, self.rows.starts


def _shifted(x: Rows, task: ClassTask, shard: Shard) -> Rows:
    """Return the rows with columns counted from 0, refused if they do not fit the task."""
    if isinstance(x, DenseRows):
        if x.n_columns != task.n_columns:
            raise DataError(
                f"the data ({shard.source}) has {x.n_columns} features, expected {task.n_columns}"
            )
        return DenseRows(frozen(x.values))
    base = 0 if x.zero_based else task.index_base
    if x.n_columns - base > task.n_columns:
        raise DataError(
            f"the data ({shard.source}) has {x.n_columns - base} features, "
            f"expected {task.n_columns}"
        )
    columns = x.columns
    if base:
        if columns.size and columns.min() < base:
            raise DataError(
                f"the data ({shard.source}) has a column {columns.min()}, but the data that the "
                f"model was trained on counts columns from {base}"
            )
        columns = columns - base
    return SparseRows(frozen(x.values), frozen(columns), frozen(x.starts), task.n_columns)


def _dense_codes(codes: Codes, r: int) -> np.ndarray | None:
    """Λ as a table of shape (k, r) where few of its entries are 0."""
    k = codes.starts.size - 1
    if codes.values.size <= DENSE_CODES * k * r:
        return None
    table = np.zeros((k, r))
    table[np.repeat(np.arange(k), np.diff(codes.starts)), codes.columns] = codes.values
    return frozen(table)


def _runs(row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of runs of equal ones, the starts of the runs, and the last end."""
    starts = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]])[: row.size])
    return row[starts], np.append(starts, row.size)
