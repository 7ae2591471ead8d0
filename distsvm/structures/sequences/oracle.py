"""The oracle of sequence tagging: the best paths of many sequences, in compiled code."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from distsvm import checks
from distsvm.data.features import SparseRows, frozen
from distsvm.data.ragged import Ragged, offsets, spread
from distsvm.data.shard import Names, Shard
from distsvm.errors import DataError
from distsvm.kernels import rows as row_kernels
from distsvm.messages import Planes
from distsvm.oracles.bound import MOST_SEQUENCES, power_of_two
from distsvm.oracles.climber import Flat
from distsvm.oracles.listed import PlaneParts
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.packing import Numbering
from distsvm.oracles.search import Separation
from distsvm.structures.sequences.kernels import (
    path_parts,
    step_features,
    viterbi,
    viterbi_counts,
    viterbi_many,
    viterbi_planes,
    viterbi_tokens,
)
from distsvm.structures.sequences.packing import broken_rules, packed, steps_of, tokens_of, truth_of
from distsvm.structures.sequences.rows import TagRows
from distsvm.structures.sequences.totals import SequenceTotal
from distsvm.structures.sequences.view import Chain, View, chain_view
from distsvm.structures.sequences.weights_of_tags import counted
from distsvm.vectors import add_into

if TYPE_CHECKING:
    from distsvm.structures.sequences.task import SequenceTask

PIECE_BYTES = 4 << 20
CALL_WORK = 0.3
"""The cost of a product in the search, whose reads are side by side, over one in a climber."""
COMMON = 0.01
"""Share of the tokens: blocks change a feature of this share in one direction, a rare one apart
(measured on English tags)."""
COUNT_BYTES = 1 << 30
"""Limit of the memory of the search by the number of wrong tags for one sequence."""
NO_STARTS = frozen(np.zeros(1, np.int64))

Prices = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""A chain of kernels/viterbi.py."""


class SequenceOracle(Oracle):
    """Searches the paths of many sequences in compiled code."""

    task: SequenceTask

    def __init__(self, task: SequenceTask, shard: Shard, rescaling: str) -> None:
        shard = packed(shard)
        super().__init__(task, shard, rescaling)
        self.tokens, self.starts = tokens_of(shard.x, task, shard)  # type: ignore[arg-type]
        self.truth: Ragged | None = None
        self._others: list[str] = []  # true tags that are not the task's; see truth_of
        if shard.y is not None:
            self.truth, self._others = truth_of(shard.y, task, shard)  # type: ignore[arg-type]
        self.weight = shard.weight
        self.lengths = np.diff(self.starts)
        self.hamming = task.losses == "hamming"
        self.n_labels = n_labels = task.tags().size
        self.no_bias = frozen(np.zeros(n_labels))
        self.no_step_bias = frozen(np.zeros(n_labels * n_labels if task.n_steps else 0))
        self.no_steps = frozen(np.zeros((0, n_labels, n_labels)))
        self.forbidden = task.forbidden()
        # Of a wrong tag, by the true one; the last is that of tags that the task does not know.
        weights = np.ones(n_labels) if task.tag_weights is None else task.tag_weights
        self.costs = frozen(task.loss_scale * np.append(weights, 1.0))
        self._measure()
        self._times: tuple[np.ndarray, float] | None = None
        self._by_count = False
        self._choose_search()

    def _measure(self) -> None:
        self.extent = int(self.starts[-1])
        self.piece = self.piece_of(self.extent / max(1, self.n))
        self.step_tokens = steps_of(self.tokens, self.starts, self.task)

    def piece_of(self, mean_extent: float) -> int:
        # A piece's emission scores stay in the processor's cache.
        width = self.n_labels * (1 + self.n_labels if self.task.n_steps else 1)
        fitting = PIECE_BYTES / (8 * width * max(1.0, mean_extent))
        return power_of_two(min(MOST_SEQUENCES, fitting))

    def penalise(self, penalty: str) -> None:
        super().penalise(penalty)
        self._choose_search()

    def _choose_search(self) -> None:
        """Search by the number of wrong tags where q does not split over tokens."""
        splits = not self.slack and self.q_is_loss
        self._by_count = self.hamming and not splits and self.truth is not None
        if self._by_count:
            units, unit = counted(self.costs[:-1] / self.task.loss_scale)
            self.units, self.unit = frozen(np.append(units, 1)), unit * self.task.loss_scale
            self._check_memory()

    def _check_memory(self) -> None:
        n_states = self.n_labels**self.task.order
        codes = self._known(self.all_truth().values)
        counts = self.units[codes] if codes.size else codes.astype(np.int64)
        ends = self.starts[1:]
        # Token t of a sequence has a row for every sum of the units up to t.
        total = np.append(0, np.cumsum(counts))
        rows = np.append(0, np.cumsum(total[1:]))
        n_rows = rows[ends] - rows[self.starts[:-1]] + self.lengths * (1 - total[self.starts[:-1]])
        n_bytes = 8 * n_states * n_rows
        large = np.flatnonzero(n_bytes > COUNT_BYTES)
        if large.size:
            i = int(large[0])
            raise DataError(
                f"{self.names[i]}: {self.lengths[i]} tokens; {self._wanted()} of the "
                f"Hamming loss would take {n_bytes[i] / 2**30:.1f} GB for it, the limit is "
                f"{COUNT_BYTES / 2**30:.0f} GB; use {self._instead()} or cut the sequence"
            )

    def _wanted(self) -> str:
        return "slack rescaling" if self.slack else "the quadratic penalty"

    def _instead(self) -> str:
        return "margin rescaling" if self.q_is_loss else "the linear penalty, margin rescaling"

    # --- scores ----------------------------------------------------------------------------

    def view(self, w: np.ndarray) -> View:
        emissions = frozen(self.task.parts(w).emissions)
        parts, scale = self.chain_parts(w[emissions.size :]), self.task.transition_scale
        steps = parts.steps.reshape(-1, self.n_labels**2)
        U = frozen(steps if scale == 1 else scale * steps)
        return View(emissions, chain_view(parts, self.forbidden, scale), U)

    def chain_parts(self, chain: np.ndarray) -> Chain:
        """Return views of the parts of w (or of a vector of its form) behind the emissions."""
        return Chain(*replace(self.task, n_features=0).parts(chain)[1:])

    def scores(self, view: View, rows: np.ndarray) -> tuple[np.ndarray, Prices, np.ndarray]:
        """Return scores of all tags of the tokens, (n_tokens, L), the chain, and the starts."""
        lengths = self.lengths[rows]
        tokens = spread(self.starts[rows], lengths)
        return *self._scores_of(view, tokens), frozen(offsets(lengths))

    def _scores_of(self, view: View, tokens: np.ndarray) -> tuple[np.ndarray, Prices]:
        tokens, out = frozen(tokens), np.empty((tokens.size, self.n_labels))
        row_kernels.sparse_products(*self.sparse(), tokens, view.V, self.no_bias, out)
        steps = self.no_steps
        if self.step_tokens is not None:
            own = np.empty((tokens.size, self.no_step_bias.size))
            given = (*self.step_tokens.arrays(), tokens, view.U, self.no_step_bias)
            row_kernels.sparse_products(*given, own)
            steps = frozen(own.reshape(-1, self.n_labels, self.n_labels))
        return frozen(out), (*view.chain, steps)

    def separate(self, view: View, rows: np.ndarray) -> Separation:
        emissions, chain, starts = self.scores(view, rows)
        truth = frozen(self.all_truth()[rows].values)
        output = np.empty(truth.size, np.int16)
        if not self.hamming:
            output = self._best_but_truth(chain, emissions, starts, truth)
        elif self._by_count:
            units = self.units[truth]
            most = self.lengths[rows].max(initial=0) * units.max(initial=1)
            q_of_count = frozen(self.q_of(self.unit * np.arange(most + 1)))
            viterbi_counts.most_violated_by_count(
                emissions, starts, truth, frozen(units), q_of_count, self.slack, *chain, output
            )
        else:
            viterbi.best_paths(
                emissions, starts, truth, frozen(self.costs[truth]), *chain, output,
                np.empty(rows.size),
            )  # fmt: skip
        found = Ragged(output, starts)
        loss, value = self.losses(rows, found), np.empty(rows.size)
        q = self.q_of(loss)
        viterbi_planes.path_values(emissions, starts, truth, output, q, self.slack, *chain, value)
        if q is not loss:
            loss[q == 0] = 0.0
        return Separation(Planes(rows, found, q, loss), value, value, exact=True)

    def least_losses(self, rows: np.ndarray) -> np.ndarray:
        return np.full(rows.size, self.costs[:-1].min())

    def _best_but_truth(
        self, chain: Prices, emissions: np.ndarray, starts: np.ndarray, truth: np.ndarray
    ) -> np.ndarray:
        """Return the best path that is not the truth; the truth where there is no other."""
        paths, scores = _many(chain, emissions, starts, 2)
        m = starts.size - 1
        best = paths[np.arange(0, 2 * m, 2)].values
        right = _wrong(best, truth, starts) == 0
        chosen = paths[np.arange(0, 2 * m, 2) + right].values
        alone = right & (scores[:, 1] == -np.inf)
        return np.where(np.repeat(alone, np.diff(starts)), truth, chosen)

    def values(self, view: View, planes: Planes) -> np.ndarray:
        values = np.empty(len(planes))
        paths = (
            self.starts, self.all_truth().values, frozen(planes.row),
            frozen(planes.output.starts), frozen(planes.output.values),
        )  # fmt: skip
        viterbi_planes.plane_values(
            *self.sparse(), *paths, frozen(planes.q), self.slack, view.V, *view.chain, values
        )
        if self.step_tokens is not None:
            margins = np.empty(len(planes))
            step_features.step_margins(
                *self.step_tokens.arrays(), *paths, view.U, self.n_labels, margins
            )
            values -= planes.q * margins if self.slack else margins
        return values

    def accumulate(self, planes: Planes, weights: np.ndarray, out: np.ndarray) -> None:
        total = self.total(out.size)
        total.add(planes, weights)
        add_into(out, 1.0, total.vector())

    def feature_shares(self) -> np.ndarray:
        own = self.tokens.columns[slice(*self.tokens.starts[[0, -1]])]
        return np.bincount(own, minlength=self.task.n_features) / max(1, self.extent)

    def climb_beside(self, n_blocks: int, shares: np.ndarray | None = None) -> None:
        self._times = None
        if n_blocks > 1:
            share = self.feature_shares() if shares is None else shares
            times = 1.0 + (n_blocks - 1) * share / (share + COMMON)
            self._times = times, float(n_blocks)

    def times_of(self, index: np.ndarray) -> np.ndarray | None:
        if self._times is None:
            return None
        features, chain = self._times
        return np.append(features, chain)[np.minimum(index // self.n_labels, features.size)]

    def parts(self, planes: Planes) -> PlaneParts:
        factors = planes.q if self.slack else np.ones(len(planes))
        return PlaneParts(*path_parts.parts_of_paths(
            *self.sparse(), self.starts, self.all_truth().values, frozen(planes.row),
            frozen(planes.output.starts), frozen(planes.output.values), frozen(factors),
            self.task.n_features, self.n_labels, self.task.order == 2, self.task.transition_scale,
            *self._sparse_steps(), self.task.n_chain,
        ))  # fmt: skip

    def part_values(self) -> np.ndarray:
        if self.step_tokens is None:
            return self.tokens.values
        return np.concatenate([self.tokens.values, self.step_tokens.values])

    def flat(self, planes: Planes) -> Flat:
        starts, _, factor, at, entries, weights = self.parts(planes)
        lengths = np.diff(entries)
        place = spread(np.maximum(at, 0), lengths)
        given = np.repeat(at >= 0, lengths)
        value = np.ones(weights.size)
        value[given] = self.part_values()[place[given]]
        return weights, value * np.repeat(factor, lengths), entries[starts]

    def call_work(self) -> float:
        n_tokens, n_entries = float(self.starts[-1]), float(self.tokens.starts[-1])
        steps = self.n_labels ** (self.task.order + 1)
        n_steps = 0.0 if self.step_tokens is None else float(self.step_tokens.starts[-1])
        work = n_entries * self.n_labels + n_tokens * steps + n_steps * self.n_labels**2
        return CALL_WORK * work / max(1, self.n)

    def total(self, dim: int) -> SequenceTotal:
        return SequenceTotal(self)

    # --- predictions -----------------------------------------------------------------------

    def decode(self, view: View, rows: np.ndarray) -> Ragged:
        output = np.empty(int(self.lengths[rows].sum()), np.int16)
        done = 0
        for piece in self.chunks(rows):
            emissions, chain, starts = self.scores(view, piece)
            self._fill_best(chain, emissions, starts, piece, output[done : done + starts[-1]])
            done += int(starts[-1])
        return Ragged(output, offsets(self.lengths[rows]))

    def decode_all(self, view: View) -> Ragged:
        output = np.empty(self.extent, np.int16)
        for first in range(0, self.n, self.piece):
            rows = np.arange(first, min(first + self.piece, self.n))
            starts = self.starts[first : first + rows.size + 1]
            a, b = starts[0], starts[-1]
            emissions, chain = self._scores_of(view, np.arange(a, b))
            self._fill_best(chain, emissions, frozen(starts - a), rows, output[a:b])
        return Ragged(output, self.starts)

    def _fill_best(
        self, chain: Prices, emissions: np.ndarray, starts: np.ndarray, rows: np.ndarray,
        output: np.ndarray,
    ) -> None:  # fmt: skip
        """Write the best paths of these sequences to `output`."""
        no_truth, score = frozen(np.zeros(output.size, np.int16)), np.empty(rows.size)
        no_costs = frozen(np.zeros(output.size))
        viterbi.best_paths(emissions, starts, no_truth, no_costs, *chain, output, score)
        self._check_possible(rows, score)

    def n_best(self, view: View, rows: np.ndarray, k: int) -> tuple[Ragged, Ragged]:
        """Return the k best distinct outputs of each sequence, best first, and their scores.

        Row i of the scores is of example i, with fewer than k where it has fewer outputs. The
        outputs of all examples follow one another, each example's as many as its scores.
        """
        outputs, scores = [], []
        for piece in self.chunks(rows):
            emissions, chain, starts = self.scores(view, piece)
            paths, score = _many(chain, emissions, starts, k)
            self._check_possible(piece, score[:, 0])
            kept = score > -np.inf
            outputs.append(paths[np.flatnonzero(kept)])
            scores.append(Ragged(score[kept], offsets(kept.sum(axis=1))))
        return _joined(outputs, np.int16), _joined(scores, np.float64)

    def _check_possible(self, rows: np.ndarray, score: np.ndarray) -> None:
        none = rows[score == -np.inf]
        if none.size:
            raise DataError(
                f"{self.names[none[0]]}: the constraints allow no tag sequence of "
                f"{self.lengths[none[0]]} tokens"
            )

    def losses(self, rows: np.ndarray, outputs: Ragged) -> np.ndarray:
        truth = self.all_truth()[rows]
        if self.task.tag_weights is not None:
            costs = self.costs[self._known(truth.values)] * (outputs.values != truth.values)
            return np.bincount(np.repeat(np.arange(rows.size), truth.lengths), costs, rows.size)
        wrong = _wrong(outputs.values, truth.values, outputs.starts)
        return self.task.loss_scale * (wrong if self.hamming else np.minimum(wrong, 1)).astype(
            np.float64
        )

    def _known(self, codes: np.ndarray) -> np.ndarray:
        """The codes of tags, one more than the last for all that the task does not know."""
        return np.minimum(codes, self.n_labels)

    def public(self, outputs: Ragged) -> list[list[str]]:
        tags = self.task.tags()[outputs.values].tolist()
        return [tags[a:b] for a, b in pairwise(outputs.starts.tolist())]

    def beside(self, tokens: SparseRows, starts: np.ndarray) -> SequenceOracle:
        """Return the oracle of other sequences, which have no tags, with this one's task."""
        new: SequenceOracle = object.__new__(type(self))  # as copy.copy, in a fifth of its time
        vars(new).update(vars(self))
        new.tokens, new.starts = tokens, frozen(starts)
        new.lengths, new.n = np.diff(new.starts), starts.size - 1
        new.names, new.truth, new.weight = Names(range(new.n), 0), None, None
        new._measure()
        return new

    # --- what cannot be trained on ---------------------------------------------------------

    def unfit(self) -> dict[int, str]:
        if self.truth is None:
            return {}
        found = broken_rules(self.truth, self.task)
        tokens, tags = self._unseen_tokens()
        rows = np.searchsorted(self.starts, tokens, side="right") - 1
        for row, tag in reversed(list(zip(rows.tolist(), tags, strict=True))):
            found[row] = f"tag {tag!r} is not among the tags {self.task.shown_labels()}"
        return dict(sorted(found.items()))

    def unseen(self) -> Counter[str]:
        return Counter(self._unseen_tokens()[1])

    def true_tags(self) -> TagRows:
        """Return the true tags, including those that the task does not have."""
        return TagRows(self.all_truth(), np.append(self.task.tags(), self._others))

    def _unseen_tokens(self) -> tuple[np.ndarray, list[str]]:
        """Return the tokens whose true tags the task does not have, and these tags."""
        if self.truth is None:
            return np.zeros(0, np.int64), []
        tokens = np.flatnonzero(self.truth.values >= self.n_labels)
        codes = self.truth.values[tokens] - self.n_labels
        return tokens, [self._others[code] for code in codes.tolist()]

    def take(self, rows: np.ndarray) -> SequenceOracle:
        lengths = self.lengths[rows]
        which = spread(self.starts[rows], lengths)
        entries = np.diff(self.tokens.starts)[which]
        place = spread(self.tokens.starts[which], entries)
        new = copy.copy(self)
        new.tokens = SparseRows(
            frozen(self.tokens.values[place]), frozen(self.tokens.columns[place]),
            frozen(offsets(entries)), self.tokens.n_columns,
        )  # fmt: skip
        new.starts, new.lengths, new.n = frozen(offsets(lengths)), lengths, rows.size
        new.step_tokens = steps_of(new.tokens, new.starts, self.task)
        new.names = self.names.take(rows)
        new.truth = None if self.truth is None else self.truth[rows].frozen()
        new.weight = None if self.weight is None else self.weight[rows]
        return new

    # --- planes, for caches and files ------------------------------------------------------

    @property
    def numbering(self) -> Numbering:
        return Numbering(self.n_labels, np.int16, self.lengths)

    def truths(self, rows: np.ndarray) -> Ragged:
        return self.all_truth()[rows]

    def contents(self, start: int, stop: int) -> Iterable[np.ndarray | None]:
        first, last = self.starts[start], self.starts[stop]
        values, columns, entries = self.tokens.rows(first, last).arrays()
        truth = None if self.truth is None else self.truth.values[first:last]
        weight = None if self.weight is None else self.weight[start:stop]
        # Values may be kept as small whole numbers where all of a shard's are.
        return (
            values.astype(np.float64), columns.astype(np.int64), entries.astype(np.int64),
            self.starts[start : stop + 1] - first, truth, weight,
        )  # fmt: skip

    def arrays(self) -> dict[str, np.ndarray]:
        values, columns, entries = self.tokens.arrays()
        known = {"truth": None if self.truth is None else self.truth.values, "weight": self.weight}
        return {
            "values": values, "columns": columns, "entries": entries, "starts": self.starts,
            **{name: array for name, array in known.items() if array is not None},
        }  # fmt: skip

    def over(
        self, arrays: dict[str, np.ndarray], names: Names, unfit: Sequence[int] = ()
    ) -> SequenceOracle:
        given = {name: frozen(array) for name, array in arrays.items()}
        new = copy.copy(self)
        entries = given["values"], given["columns"], given["entries"]
        checks.within("columns", entries[1], 0, self.task.n_features, entries[0].size)
        checks.starts("entries", entries[2], entries[1].size)
        checks.starts("starts", given["starts"], entries[2].size - 1)
        if "truth" in given:
            fit = np.ones(given["starts"].size - 1, dtype=bool)
            fit[list(unfit)] = False
            truth = checks.vector("truth", given["truth"], "i", int(given["starts"][-1]))
            known = truth[np.repeat(fit, np.diff(given["starts"]))]
            checks.within("truth", known, -1, self.task.tags().size)
        new.tokens, new.starts = SparseRows(*entries, self.task.n_features), given["starts"]
        new.lengths, new.n, new.names = np.diff(new.starts), new.starts.size - 1, names
        new.truth = Ragged(given["truth"], new.starts) if "truth" in given else None
        new.weight = given.get("weight")
        new._measure()
        return new

    def norms(self) -> tuple[np.ndarray, float | None]:
        """Return the norms; the radius is a bound that no output may reach."""
        norms, tags = np.empty(self.n), self.all_truth().values
        viterbi_tokens.square_norms(*self.sparse(), self.starts, tags, self.n_labels, norms)
        chain = 2.0 * (self.lengths > 0)  # the first tag and the last
        chain += self._step_counts(1)
        if self.task.order == 2:
            chain += (self.lengths > 1) + self._step_counts(2)  # the first two, and three in a row
        if self.step_tokens is not None:
            own, n = np.empty(self.n), self.n_labels
            # The last token of a sequence has no features here, whatever follows it.
            pairs = tags.astype(np.int64) * n + np.append(tags[1:], np.int16(0))
            viterbi_tokens.square_norms(
                *self.step_tokens.arrays(), self.starts, frozen(pairs), n * n, own
            )
            chain += own
        return norms + self.task.transition_scale**2 * chain, self._square_radius()

    def _square_radius(self) -> float:
        """Return a bound of ‖ψ‖² over all paths: features of any sign, and counts of steps, ≥ 0."""
        tokens = _sums_of_sizes(self.tokens, self.starts)
        steps = np.maximum(self.lengths - 1.0, 0.0)
        # A token is at two labels at most; both paths have a first and a last tag, and T − 1 steps
        # that may all be of one kind.
        chain = 2.0 * steps**2 + 4.0 * (self.lengths > 0)
        if self.task.order == 2:
            chain += 2.0 * (self.lengths > 1) + 2.0 * np.maximum(self.lengths - 2.0, 0.0) ** 2
        if self.step_tokens is not None:
            chain += 2.0 * _sums_of_sizes(self.step_tokens, self.starts) ** 2
        bound = 2.0 * tokens**2 + self.task.transition_scale**2 * chain
        return float(bound.max(initial=0.0))

    def _step_counts(self, order: int) -> np.ndarray:
        """Return Σ (the number of times of each run of `order` + 1 tags)² for each sequence."""
        tags = self.all_truth().values.astype(np.int64)
        owner = np.repeat(np.arange(self.n), self.lengths)
        inside = np.flatnonzero(owner[order:] == owner[:-order])
        code = owner[inside]
        for k in range(order + 1):
            code = code * self.n_labels + tags[inside + k]
        code, counts = np.unique(code, return_counts=True)
        squares = counts.astype(np.float64) ** 2
        return np.bincount(code // self.n_labels ** (order + 1), squares, self.n)

    @property
    def n_bytes(self) -> int:
        truth = 0 if self.truth is None else self.truth.values.nbytes
        return self.tokens.nbytes + self.starts.nbytes + truth

    # --- what the methods above share ------------------------------------------------------

    def all_truth(self) -> Ragged:
        """Return the true tags; refuse examples without tags."""
        if self.truth is None:
            raise DataError("the examples have no tags")
        return self.truth

    def sparse(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return values, columns and entries' starts of the tokens."""
        return self.tokens.values, self.tokens.columns, self.tokens.starts

    def _sparse_steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `sparse` of the tokens' features on transitions; no tokens where there are none."""
        if self.step_tokens is None:
            return self.tokens.values[:0], self.tokens.columns[:0], NO_STARTS
        return self.step_tokens.values, self.step_tokens.columns, self.step_tokens.starts


def _sums_of_sizes(tokens: SparseRows, starts: np.ndarray) -> np.ndarray:
    """Σ_t ‖x_t‖ of each sequence."""
    squares = np.append(tokens.values[: tokens.starts[-1]].astype(np.float64) ** 2, 0.0)
    sums = np.add.reduceat(squares, tokens.starts[:-1]) if tokens.starts.size > 1 else np.zeros(0)
    sums[np.diff(tokens.starts) == 0] = 0.0
    totals = np.append(0.0, np.cumsum(np.sqrt(sums)))
    return totals[starts[1:]] - totals[starts[:-1]]


def _many(
    chain: Prices, emissions: np.ndarray, starts: np.ndarray, k: int
) -> tuple[Ragged, np.ndarray]:
    """Return the k best paths of each sequence, k rows each, and scores (m, k), −inf for none."""
    output = np.empty(k * emissions.shape[0], np.int16)
    score = np.empty((starts.size - 1, k))
    viterbi_many.many_best_paths(emissions, starts, *chain, k, output, score)
    return Ragged(output, offsets(np.repeat(np.diff(starts), k))), score


def _wrong(paths: np.ndarray, truth: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the number of labels of each sequence that differ."""
    total = offsets(paths != truth)
    return total[starts[1:]] - total[starts[:-1]]


def _joined(parts: list[Ragged], dtype: type) -> Ragged:
    values = np.concatenate([np.zeros(0, dtype), *(part.values for part in parts)])
    lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
    return Ragged(values, offsets(lengths))
