"""The oracle of parse trees: CKY over a packed shard, many sentences in one compiled call."""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distsvm import checks
from distsvm.data.features import frozen
from distsvm.data.ragged import Ragged, RaggedSlots, offsets, spread
from distsvm.data.shard import Names, Shard
from distsvm.errors import DataError
from distsvm.kernels.climb import Held
from distsvm.messages import Planes
from distsvm.oracles.climber import Flat, SparseClimber, fill_sparse_gram
from distsvm.oracles.oracle import Oracle, Separation
from distsvm.structures.trees.kernels import cky, cky_brackets, cky_rows, cky_words, climb_trees
from distsvm.structures.trees.kernels.cky_tables import Weights
from distsvm.structures.trees.rows import (
    Sentence,
    TreeRows,
    as_sentence,
    as_tree,
    check_leaves,
    check_rows,
    decode,
    encode,
    row_length,
    unknown_labels,
)
from distsvm.structures.trees.tree import Tree
from distsvm.wording import Setting, message

if TYPE_CHECKING:
    from distsvm.structures.trees.task import ParseTask

log = logging.getLogger(__name__)

KINDS = {
    "zero-one": cky_rows.ZERO_ONE,
    "brackets": cky_rows.BRACKETS,
    "f1": cky_rows.F1,
    "f1-brackets": cky_rows.F1_BRACKETS,
}
MAX_WORDS = 10
"""The longest sentence that f1-brackets is trained on."""
PIECE = 64
CALL_WORK = 100.0
"""Of a search over n words, by n³, in products of a climber."""
NO_TAG = "X"
"""The tag in a fallback tree of a word that can have none."""


class ParseView(NamedTuple):
    """w in the grammar's terms, and ⟨w, Ψ(x, y)⟩ of every sentence's true tree."""

    weights: Weights
    true_scores: np.ndarray


class ParseOracle(Oracle):
    """Sentences and true trees as rows of numbers; outputs are TreeRows."""

    piece = PIECE

    def __init__(self, task: ParseTask, shard: Shard, rescaling: str) -> None:
        self.task, self.source = task, shard.source
        self.names = shard.names
        self.grammar, self.lexicon = task.grammar, task.lexicon
        self.tables = self.grammar.tables
        if self.lexicon is not None:
            starts, tags = self.lexicon.tags.starts, self.lexicon.tags.values
            self.tables = self.tables._replace(word_starts=starts, word_tags=tags)
            self.tag_rule = frozen(self.lexicon.places + np.int32(len(self.grammar.rules)))
        self.slack = rescaling == "slack"
        self.kind, self.scale = KINDS[task.losses], float(task.loss_scale)
        self.n, self.weight = shard.n, shard.weight
        self.sentences = [
            self.names.call(i, as_sentence, x, task.words)
            for i, x in enumerate(shard.x)  # type: ignore[arg-type]
        ]
        self.words = Ragged.of(list(map(self._entries, self.sentences)), np.int32).frozen()
        self.truth: Ragged | None = None
        self._unfit: dict[int, str] = {}
        self._unseen: Counter[str] = Counter()
        if shard.y is not None:
            rows = [self.names.call(i, self._encoded, i, y) for i, y in enumerate(shard.y)]
            self.truth = Ragged.of(rows, np.int32).frozen()
        limit = task.memory_mb * 2**20
        symbols, phrases = len(self.grammar.tags) + len(self.grammar.phrases), self.grammar.phrases
        self.max_slots = int(limit / 2 / cky.slot_bytes(symbols, len(phrases)))
        self.max_items = int(limit / 2 / cky.ITEM_BYTES)

    def view(self, w: np.ndarray) -> ParseView:
        grammar = self.grammar
        chain, best, second = cky_rows.chain_weights(
            frozen(w), *_arrays(grammar.chain_rules), self.tables.chain_pair,
            self.tables.reach_top.size,
        )  # fmt: skip
        step = np.where(grammar.step_rule >= 0, w[np.maximum(grammar.step_rule, 0)], 0.0)
        tag = np.zeros(len(grammar.tags)) if self.lexicon is None else w[self.tag_rule]
        weights = Weights(frozen(step), frozen(chain), frozen(best), frozen(second), frozen(tag))
        scores = np.zeros(self.n)
        if self.truth is not None:
            scores = self._scores(weights, self.truth, np.arange(self.n))
        return ParseView(weights, scores)

    def separate(self, view: ParseView, rows: np.ndarray) -> Separation:
        truth = self._truth(rows)
        output, found, place = self._search(view, rows, cky.SLACK if self.slack else cky.MARGIN)
        if place >= 0:
            raise self._too_large(int(rows[place]))
        loss = np.where(found, self.losses(rows, output), 0.0)
        value = np.where(found, self.values(view, Planes(rows, output, loss)), -1.0)
        # The truth where nothing is better, be it by rounding.
        better = value > 0
        values = np.where(np.repeat(better, output.lengths), output.values, truth.values)
        planes = Planes(rows, TreeRows(values, output.starts, rows), np.where(better, loss, 0.0))
        value = np.where(better, value, 0.0)
        return Separation(planes, value, value, exact=True)

    def values(self, view: ParseView, planes: Planes) -> np.ndarray:
        margin = view.true_scores[planes.row] - self._scores(
            view.weights, planes.output, planes.row
        )
        return planes.loss * (1.0 - margin) if self.slack else planes.loss - margin

    def accumulate(self, planes: Planes, weights: np.ndarray, out: np.ndarray) -> None:
        coefficients = weights * planes.loss if self.slack else weights
        rules = (*_arrays(self.grammar.chain_rules), self.grammar.step_rule)
        truth = self._truth(planes.row)
        cky_rows.add_rules(*_arrays(truth), frozen(coefficients), *rules, out)
        cky_rows.add_rules(*_arrays(planes.output), frozen(-coefficients), *rules, out)
        if self.lexicon is not None:
            for trees, c in ((truth, coefficients), (planes.output, -coefficients)):
                words = _arrays(self.words[planes.row])
                cky_words.add_tag_rules(
                    self.tables, *words, *_arrays(trees), frozen(c), self.tag_rule, out
                )

    def climber(self, w: np.ndarray, sigma: float) -> SparseClimber:
        return SparseClimber(w, sigma, self._flat, self.view)

    def fill_gram(self, held: Held, outputs: Any, rows: np.ndarray, slots: np.ndarray) -> None:
        fill_sparse_gram(held, outputs, rows, slots, self._flat, self.task.dim)

    def call_work(self) -> float:
        lengths = self.words.lengths.astype(np.float64)
        return CALL_WORK * float((lengths**3).sum()) / max(1, self.n)

    def _flat(self, planes: Planes) -> Flat:
        factor = planes.loss if self.slack else np.ones(len(planes))
        no_tags = frozen(np.zeros(0, np.int32))
        return climb_trees.flat_trees(
            *_arrays(self._truth(planes.row)), *_arrays(planes.output),
            *_arrays(self.words[planes.row]), frozen(factor), self.tables,
            *_arrays(self.grammar.chain_rules), self.grammar.step_rule,
            no_tags if self.lexicon is None else self.tag_rule, self.task.dim,
        )  # fmt: skip

    def decode(self, view: ParseView, rows: np.ndarray) -> TreeRows:
        """The best trees; none for a sentence outside the grammar or too long for memory_mb."""
        starts, lengths = offsets(self._row_lengths(rows)), self.words.lengths[rows]
        values = np.full(starts[-1], cky_rows.NO_TREE, np.int32)
        todo = np.flatnonzero(lengths * (lengths + 1) // 2 <= self.max_slots)
        n_large, n_found = rows.size - todo.size, 0
        while todo.size:
            output, found, place = self._search(view, rows[todo], cky.PREDICT)
            # The search goes through the sentences in order, up to the one that is too large.
            n_done = place if place >= 0 else todo.size
            done, todo = todo[:n_done], todo[n_done + 1 :]
            places = spread(starts[done], self._row_lengths(rows[done]))
            values[places] = output.values[: places.size]
            n_found, n_large = n_found + int(found[:n_done].sum()), n_large + (place >= 0)
        for n, why in (
            (rows.size - n_large - n_found, "outside the grammar"),
            (n_large, message("too long for {}", Setting("memory_mb", self.task.memory_mb))),
        ):
            if n:
                text = "{} of {} sentences are {} ({}); their trees are flat"
                log.warning(message(text, n, rows.size, why, self.source))
        return TreeRows(values, starts, rows)

    def losses(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        loss = np.empty(rows.size)
        trees = (*_arrays(self._truth(rows)), *_arrays(outputs))
        if self.kind == cky_rows.F1_BRACKETS:
            cky_brackets.losses(self.scale, self.tables, *trees, loss)
        else:
            cky_rows.losses(self.kind, self.scale, self.tables, *trees, loss)
        return loss

    def correct(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        """Whether the whole tree is right; F1 as it is trained on does not see chains of words."""
        wrong = np.empty(rows.size)
        truth = _arrays(self._truth(rows))
        cky_rows.losses(cky_rows.ZERO_ONE, 1.0, self.tables, *truth, *_arrays(outputs), wrong)
        return wrong == 0

    def public(self, outputs: TreeRows) -> list[Tree]:
        values, starts = outputs.values.tolist(), outputs.starts.tolist()
        trees = []
        for i, number in enumerate(outputs.sentence.tolist()):
            row, sentence = values[starts[i] : starts[i + 1]], self.sentences[number]
            if row[0] == cky_rows.NO_TREE and self.lexicon is not None:
                sentence = self._tagged(number)
            trees.append(decode(self.grammar, row, sentence))
        return trees

    def unfit(self) -> dict[int, str]:
        return self._unfit

    def unseen(self) -> Counter[str]:
        return self._unseen

    def take(self, rows: np.ndarray) -> ParseOracle:
        new = copy.copy(self)
        new.n, new.names = rows.size, self.names.take(rows)
        new.sentences = [self.sentences[row] for row in rows.tolist() if self.sentences]
        new.words = self.words[rows].frozen()
        new.truth = None if self.truth is None else self.truth[rows].frozen()
        new.weight = None if self.weight is None else self.weight[rows]
        place = {row: i for i, row in enumerate(rows.tolist())}
        new._unfit = {place[row]: why for row, why in self._unfit.items() if row in place}
        return new

    def slots(self, size: int) -> RaggedSlots:
        return RaggedSlots(self._row_lengths(np.arange(self.n)), size, np.int32)

    def keys(self, outputs: Ragged) -> np.ndarray:
        return outputs.keys()

    def pack(self, planes: Planes) -> dict[str, np.ndarray]:
        rows = planes.output
        return {
            "row": planes.row, "loss": planes.loss, "values": rows.values, "starts": rows.starts,
        }  # fmt: skip

    def unpack(self, arrays: dict[str, np.ndarray]) -> Planes:
        row, loss = checks.planes(arrays, self.n)
        starts = offsets(self._row_lengths(row))
        if not np.array_equal(arrays["starts"], starts):
            raise ValueError("trees of other lengths than the sentences")
        rows = Ragged(checks.vector("values", arrays["values"], "i", int(starts[-1])), starts)
        check_rows(rows, len(self.grammar.chains), self.grammar.step_rule.size)
        return Planes(row, rows, loss)

    def contents(self, start: int, stop: int) -> Iterable[np.ndarray | None]:
        rows = np.arange(start, stop)
        truth = () if self.truth is None else _arrays(self.truth[rows])
        weight = None if self.weight is None else self.weight[start:stop]
        return (*_arrays(self.words[rows]), *truth, weight)

    def arrays(self) -> dict[str, np.ndarray]:
        known = {"weight": self.weight}
        for name, rows in (("words", self.words), ("truth", self.truth)):
            if rows is not None:
                known |= {name: rows.values, f"{name}_starts": rows.starts}
        return {name: array for name, array in known.items() if array is not None}

    def over(
        self, arrays: dict[str, np.ndarray], names: Names, unfit: Sequence[int] = ()
    ) -> ParseOracle:
        new = copy.copy(self)
        words = checks.within("words", arrays["words"], -1, self.tables.word_starts.size - 1)
        starts = checks.starts("words_starts", arrays["words_starts"], words.size)
        new.words = Ragged(words, starts).frozen()
        new.truth = None
        if "truth" in arrays:
            truth = checks.vector("truth", arrays["truth"], "i4")
            checks.starts("truth_starts", arrays["truth_starts"], truth.size, starts.size - 1)
            new.truth = Ragged(truth, arrays["truth_starts"]).frozen()
            if not np.array_equal(new.truth.lengths, row_length(new.words.lengths)):
                raise ValueError("trees of other lengths than the sentences")
            check_rows(new.truth, len(self.grammar.chains), self.grammar.step_rule.size)
        new.n, new.names, new.weight = len(new.words), names, arrays.get("weight")
        new.sentences, new._unfit = [], {}  # asked for where the words themselves are at hand
        return new

    def norms(self) -> tuple[np.ndarray, float | None]:
        truth = self._all_truth()
        self._check_lengths(np.arange(self.n))
        norms = np.empty(self.n)
        rules = (*_arrays(self.grammar.chain_rules), self.grammar.step_rule)
        cky_rows.square_norms(*_arrays(truth), *rules, self.task.dim, norms)
        if self.lexicon is not None:
            cky_words.add_square_norms(
                self.tables, *_arrays(self.words), *_arrays(truth), self.tag_rule, self.task.dim,
                norms,
            )  # fmt: skip
        return norms, None

    @property
    def n_bytes(self) -> int:
        return self.words.nbytes + (0 if self.truth is None else self.truth.nbytes)

    # --- within ----------------------------------------------------------------------------

    def _check_lengths(self, rows: np.ndarray) -> None:
        long = rows[self.words.lengths[rows] > MAX_WORDS]
        if self.kind == cky_rows.F1_BRACKETS and long.size:
            raise DataError(
                message(
                    "{}: a sentence of {} words; f1-brackets is a reference for at most {}: leave "
                    "out longer ones ({max_length}) or take f1",
                    self.names[long[0]],
                    self.words.lengths[long[0]],
                    MAX_WORDS,
                )
            )

    def _search(
        self, view: ParseView, rows: np.ndarray, mode: int
    ) -> tuple[TreeRows, np.ndarray, int]:
        """Trees, which sentences have one, and the place of the first that is too large, or −1."""
        words = self.words[rows]
        if mode == cky.PREDICT:
            truth = Ragged(np.zeros(0, np.int32), np.zeros(rows.size + 1, np.int64))
        else:
            truth = self._truth(rows)
        starts = offsets(self._row_lengths(rows))
        out, found = np.empty(starts[-1], np.int32), np.empty(rows.size, dtype=bool)
        given = (
            self.tables, view.weights, *_arrays(words), *_arrays(truth),
            frozen(view.true_scores[rows]),
        )  # fmt: skip
        if self.kind == cky_rows.F1_BRACKETS and mode != cky.PREDICT:
            self._check_lengths(rows)
            limit = self.task.memory_mb * 2**20
            max_keys, max_items = limit / cky_brackets.KEY_BYTES, limit / cky_brackets.ITEM_BYTES
            place = cky_brackets.search(
                *given, self.scale, self.slack, int(max_keys / 2), int(max_items / 2), out,
                frozen(starts), found,
            )  # fmt: skip
        else:
            place = cky.search(
                *given, self.kind, self.scale, mode, self.max_slots, self.max_items, out,
                frozen(starts), found,
            )  # fmt: skip
        return TreeRows(out, starts, rows), found, int(place)

    def _too_large(self, row: int) -> DataError:
        return DataError(
            message(
                "{}: a sentence of {} words takes more memory than {} MB; leave out long sentences "
                "({max_length}) or raise {memory_mb}",
                self.names[row],
                f"{self.words.lengths[row]:,}",
                f"{self.task.memory_mb:g}",
            )
        )

    def _scores(self, weights: Weights, trees: Ragged, rows: np.ndarray) -> np.ndarray:
        scores = np.empty(len(trees))
        cky_rows.scores(*_arrays(trees), weights.chain, weights.step, scores)
        if self.lexicon is not None:
            words = _arrays(self.words[rows])
            cky_words.add_tag_scores(self.tables, *words, *_arrays(trees), weights.tag, scores)
        return scores

    def _row_lengths(self, rows: np.ndarray) -> np.ndarray:
        return row_length(self.words.lengths[rows])

    def _all_truth(self) -> Ragged:
        if self.truth is None:
            raise DataError("the examples have no trees")
        return self.truth

    def _truth(self, rows: np.ndarray) -> Ragged:
        return self._all_truth()[rows]

    def _encoded(self, i: int, tree: Any) -> list[int]:
        tree = as_tree(tree)
        check_leaves(self.sentences[i], tree, self.task.words)
        row = encode(self.grammar, tree)
        if cky_rows.UNSEEN in row:
            self._unfit[i] = self.grammar.why_outside(tree)
            self._unseen.update(unknown_labels(self.grammar, tree))
        elif self.lexicon is not None:
            for entry, (word, tag) in zip(self.words.row(i), tree.sentence(), strict=True):
                if self.lexicon.place(int(entry), self.grammar.tag_number[tag]) is None:
                    self._unfit[i] = f"the word {word!r} cannot have the tag {tag!r}"
        return row

    def _entries(self, sentence: Sentence) -> list[int]:
        """The numbers of the words, or of the tags where they are given."""
        if self.lexicon is not None:
            return self.lexicon.entries([word for word, _ in sentence])
        return [self.grammar.tag_number.get(tag, -1) for _, tag in sentence]

    def _tagged(self, number: int) -> Sentence:
        """The sentence with the tag that each word had most often, for a tree without a search."""
        assert self.lexicon is not None
        counts, pairs = self.task.counts, self.lexicon.tags
        tags = []
        for entry in self.words.row(number).tolist():
            start, stop = pairs.starts[entry : entry + 2] if entry >= 0 else (0, 0)
            seen = np.zeros(stop - start) if counts is None else counts[self.tag_rule[start:stop]]
            own = [self.grammar.label(tag) for tag in pairs.values[start:stop].tolist()]
            tags.append(own[int(np.argmax(seen))] if own else NO_TAG)
        return tuple(zip((word for word, _ in self.sentences[number]), tags, strict=True))


def _arrays(rows: Ragged) -> tuple[np.ndarray, np.ndarray]:
    return frozen(rows.values), frozen(rows.starts)
