"""ParseOracle: CKY search over a shard, many sentences in one compiled call."""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distsvm import checks
from distsvm.data.features import frozen
from distsvm.data.ragged import Ragged, offsets
from distsvm.data.shard import Names, Shard
from distsvm.errors import DataError
from distsvm.messages import Planes
from distsvm.oracles.climber import Flat
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.packing import Numbering
from distsvm.oracles.search import Separation
from distsvm.structures.trees.kernels import (
    cky,
    cky_brackets,
    cky_many,
    cky_rows,
    climb_trees,
    span_features,
)
from distsvm.structures.trees.kernels.cky_tables import Weights
from distsvm.structures.trees.kernels.span_features import Spans
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
PENALTY_NUMBERS = {"linear": cky.LINEAR, "quadratic": cky.QUADRATIC, "hard": cky.HARD}
MAX_WORDS = 10
"""The longest sentence in training with f1-brackets."""
PIECE = 64
CALL_WORK = 100.0
"""The work of a search over n words, divided by n³, in products of a climber."""
NO_WEIGHTS = frozen(np.zeros(0))
NO_TAG = "X"
"""The tag, in a flat tree, of a word without tags."""


class ParseView(NamedTuple):
    """w in the grammar's terms, ⟨w, Ψ(x, y)⟩ of true trees, and the weights of span features."""

    weights: Weights
    true_scores: np.ndarray
    pairs: np.ndarray


class ParseOracle(Oracle):
    """Sentences and true trees as rows of numbers; outputs are TreeRows."""

    task: ParseTask
    piece = PIECE
    keeps_examples = True

    def __init__(self, task: ParseTask, shard: Shard, rescaling: str) -> None:
        super().__init__(task, shard, rescaling)
        self.source = shard.source
        self.grammar, self.lexicon = task.grammar, task.lexicon
        self.tables = self.grammar.tables
        self.tag_rule = frozen(np.zeros(0, np.int32))  # given tags have no rules
        if self.lexicon is not None:
            starts, tags = self.lexicon.tags.starts, self.lexicon.tags.values
            self.tables = self.tables._replace(word_starts=starts, word_tags=tags)
            self.tag_rule = frozen(self.lexicon.places + np.int32(len(self.grammar.rules)))
        self.rule_arrays = (
            *_arrays(self.grammar.chain_rules), self.grammar.step_rule, self.tag_rule
        )  # fmt: skip
        self.kind, self.scale = KINDS[task.losses], float(task.loss_scale)
        self.sentences = [
            self.names.call(i, as_sentence, x, task.words)
            for i, x in enumerate(shard.x)  # type: ignore[arg-type]
        ]
        words = list(map(self._entries, self.sentences))
        examples: dict[str, np.ndarray | Ragged] = {"words": Ragged.of(words, np.int32).frozen()}
        self.table, templates = task.span_table, task.templates
        self.n_templates = 0 if templates is None else len(templates.combinations)
        if templates is not None:
            number = self.table.number
            found = [
                templates.numbers(one, lambda name: number.get(name, -1))  # type: ignore[arg-type]
                for one in self.sentences
            ]
            examples["spans"] = Ragged.of(found, np.int32).frozen()
        self.examples = examples
        self._unfit: dict[int, str] = {}
        self._unseen: Counter[str] = Counter()
        if shard.y is not None:
            rows = [self.names.call(i, self._encoded, i, y) for i, y in enumerate(shard.y)]
            examples["truth"] = Ragged.of(rows, np.int32).frozen()
        if shard.weight is not None:
            examples["weight"] = shard.weight
        self.limit = limit = min(task.memory_mb * 2**20, 2.0**62)  # kernels take integers
        symbols, phrases = len(self.grammar.tags) + len(self.grammar.phrases), self.grammar.phrases
        self.max_slots = int(limit / 2 / cky.slot_bytes(symbols, len(phrases)))
        self.max_items = int(limit / 2 / cky.ITEM_BYTES)

    @property
    def words(self) -> Ragged:
        """The numbers of each sentence's words, or of its given tags."""
        return self.examples["words"]  # type: ignore[return-value]

    @property
    def truth(self) -> Ragged | None:
        return self.examples.get("truth")  # type: ignore[return-value]

    @property
    def numbering(self) -> Numbering:
        high = max(len(self.grammar.chains), self.grammar.step_rule.size)
        return Numbering(high, np.int32, self._row_lengths(np.arange(self.n)))

    def _spans(self, pair_weight: np.ndarray, rows: np.ndarray) -> Spans:
        """Return these sentences' features of spans with the weights of pairs."""
        table = self.table
        own = self.examples["spans"][rows] if self.n_templates else _no_rows(rows.size)
        return Spans(
            self.n_templates, table.pair_starts, table.pair_rule, pair_weight,
            *_arrays(self.grammar.chain_rules), self.grammar.step_rule, len(self.grammar.rules),
            *_arrays(own),
        )  # fmt: skip

    def view(self, w: np.ndarray) -> ParseView:
        grammar = self.grammar
        chain, best, second = cky_rows.chain_weights(
            frozen(w), *_arrays(grammar.chain_rules), self.tables.chain_pair,
            self.tables.reach_top.size,
        )  # fmt: skip
        step = np.where(grammar.step_rule >= 0, w[np.maximum(grammar.step_rule, 0)], 0.0)
        tag = np.zeros(len(grammar.tags)) if self.lexicon is None else w[self.tag_rule]
        # All but `tag` of the kind of arrays that kernels make for the weights of one span.
        weights = Weights(step, chain, best, second, frozen(tag))
        view = ParseView(weights, np.zeros(self.n), frozen(w[w.size - self.table.pair_rule.size :]))
        if self.truth is not None:
            every = np.arange(self.n)
            view = view._replace(true_scores=self._scores(view, self.truth, every))
        return view

    def separate(self, view: ParseView, rows: np.ndarray) -> Separation:
        truth = self.truths(rows)
        output, state = self._search(view, rows, cky.SLACK if self.slack else cky.MARGIN)
        if (state == cky_rows.TOO_LARGE).any():
            raise self._too_large(int(rows[np.argmin(state)]))
        found = state == 1
        loss = np.where(found, self.losses(rows, output), 0.0)
        value = np.where(found, self.values(view, self.planes_of(rows, output, loss)), -1.0)
        # Where nothing is better, also by rounding, the plane is the truth's.
        better = value > 0
        values = np.where(np.repeat(better, output.lengths), output.values, truth.values)
        found_or_true = TreeRows(values, output.starts, rows)
        planes = self.planes_of(rows, found_or_true, np.where(better, loss, 0.0))
        value = np.where(better, value, 0.0)
        return Separation(planes, value, value, exact=True)

    @property
    def _penalty(self) -> int:
        return cky.LINEAR if self.q_is_loss else PENALTY_NUMBERS[self.penalty]

    def least_losses(self, rows: np.ndarray) -> np.ndarray:
        if self.kind != cky_rows.F1:
            return np.full(rows.size, self.scale)
        return self.scale / np.maximum(1, self.words.lengths[rows] - 1)

    def values(self, view: ParseView, planes: Planes) -> np.ndarray:
        margin = view.true_scores[planes.row] - self._scores(view, planes.output, planes.row)
        return planes.q * (1.0 - margin) if self.slack else planes.q - margin

    def accumulate(self, planes: Planes, weights: np.ndarray, out: np.ndarray) -> None:
        coefficients = weights * planes.q if self.slack else weights
        words = _arrays(self.words[planes.row])
        for trees, c in ((self.truths(planes.row), coefficients), (planes.output, -coefficients)):
            cky_rows.add_rules(
                self.tables, *words, *_arrays(trees), frozen(c), *self.rule_arrays, out
            )
            if self.table.pair_rule.size:
                first = out.size - self.table.pair_rule.size
                spans = self._spans(NO_WEIGHTS, planes.row)
                span_features.add_uses(spans, *_arrays(trees), frozen(c), first, out)

    def call_work(self) -> float:
        lengths = self.words.lengths.astype(np.float64)
        return CALL_WORK * float((lengths**3).sum()) / max(1, self.n)

    def flat(self, planes: Planes) -> Flat:
        factor = planes.q if self.slack else np.ones(len(planes))
        return self._rules(planes.row, self.truths(planes.row), planes.output, factor)

    def features(self, rows: np.ndarray, outputs: Ragged) -> Flat:
        return self._rules(rows, outputs, _no_rows(rows.size), np.ones(rows.size))

    def _rules(self, rows: np.ndarray, trees: Ragged, others: Ragged, factor: np.ndarray) -> Flat:
        """Return factor·(rules of the tree − rules of the other) for each row."""
        return climb_trees.flat_trees(
            *_arrays(trees), *_arrays(others), *_arrays(self.words[rows]), frozen(factor),
            self.tables, self._spans(NO_WEIGHTS, rows), *self.rule_arrays, self.dim,
        )  # fmt: skip

    def decode(self, view: ParseView, rows: np.ndarray) -> TreeRows:
        """Return the best trees, NO_TREE for sentences outside the grammar or too long."""
        output, state = self._search(view, rows, cky.PREDICT)
        self._warn(state)
        return output

    def _warn(self, state: np.ndarray) -> None:
        """Log how many sentences have no tree, by what a search found."""
        for n, why in (
            (np.count_nonzero(state == 0), "outside the grammar"),
            (
                np.count_nonzero(state == cky_rows.TOO_LARGE),
                message("too long for {}", Setting("memory_mb", self.task.memory_mb)),
            ),
        ):
            if n:
                text = "{} of {} sentences are {} ({}); their trees are flat"
                log.warning(message(text, n, state.size, why, self.source))

    def n_best(self, view: ParseView, rows: np.ndarray, k: int) -> tuple[TreeRows, Ragged]:
        """Return the k best distinct trees of each sentence, best first, and their scores.

        Row i of the scores is of sentence i, with fewer than k where it has fewer trees; a sentence
        without any has one flat tree with the score −inf. The trees of all follow one another.
        """
        lengths = np.repeat(self._row_lengths(rows), k)
        starts = offsets(lengths)
        out, found = np.empty(starts[-1], np.int32), np.empty(rows.size, np.int8)
        score = np.empty((rows.size, k))
        cky_many.search(
            self.tables, view.weights, self._spans(view.pairs, rows), *_arrays(self.words[rows]),
            k, int(self.limit / cky_brackets.KEY_BYTES / 2),
            int(self.limit / cky_brackets.ITEM_BYTES / 2), out, frozen(starts), score, found,
        )  # fmt: skip
        self._warn(found)
        kept = score > -np.inf
        kept[:, 0] = True
        trees = TreeRows(out, starts, np.repeat(rows, k))[np.flatnonzero(kept)]
        return trees, Ragged(score[kept], offsets(kept.sum(axis=1)))

    def losses(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        loss = np.empty(rows.size)
        trees = (*_arrays(self.truths(rows)), *_arrays(outputs))
        cky_rows.losses(self.kind, self.scale, self.tables, *trees, loss)
        return loss

    def correct(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        """Return whether the whole tree is right, with chains over one word, which F1 ignores."""
        wrong = np.empty(rows.size)
        truth = _arrays(self.truths(rows))
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

    def public_of(self, planes: Planes) -> list[Tree]:
        rows = TreeRows(planes.output.values, planes.output.starts, planes.row)
        return (self if self.sentences else self._with_numbers()).public(rows)

    def _with_numbers(self) -> ParseOracle:
        """Return the same oracle with numbers in the place of words that were not read."""
        new = copy.copy(self)
        new.sentences = [
            tuple((f"word {k + 1}", self._tag_of(number)) for k, number in enumerate(row))
            for row in (self.words.row(i).tolist() for i in range(self.n))
        ]
        return new

    def _tag_of(self, number: int) -> str:
        """Return the given tag with this number; the tags of words are in the trees."""
        return "" if self.lexicon is not None else self.grammar.label(number)

    def unfit(self) -> dict[int, str]:
        return self._unfit

    def unseen(self) -> Counter[str]:
        return self._unseen

    def take(self, rows: np.ndarray) -> ParseOracle:
        new = super().take(rows)
        new.sentences = [self.sentences[row] for row in rows.tolist() if self.sentences]
        place = {row: i for i, row in enumerate(rows.tolist())}
        new._unfit = {place[row]: why for row, why in self._unfit.items() if row in place}
        return new

    def truths(self, rows: np.ndarray) -> Ragged:
        if self.truth is None:
            raise DataError("the examples have no trees")
        return self.truth[rows]

    def pack_outputs(self, outputs: Ragged) -> dict[str, np.ndarray]:
        return {"values": outputs.values, "starts": outputs.starts}

    def unpack_outputs(
        self, arrays: dict[str, np.ndarray], row: np.ndarray, q: np.ndarray
    ) -> Ragged:
        starts = offsets(self._row_lengths(row))
        if not np.array_equal(arrays["starts"], starts):
            raise ValueError("trees of other lengths than the sentences")
        rows = Ragged(checks.vector("values", arrays["values"], "i", int(starts[-1])), starts)
        check_rows(rows, len(self.grammar.chains), self.grammar.step_rule.size)
        return rows

    def over(
        self, arrays: dict[str, np.ndarray], names: Names, unfit: Sequence[int] = ()
    ) -> ParseOracle:
        new = super().over(arrays, names, unfit)
        new.sentences, new._unfit = [], {}  # only oracles with the words themselves use them
        return new

    def check_examples(self, unfit: Sequence[int]) -> None:
        checks.within("words", self.words.values, -1, self.tables.word_starts.size - 1)
        if self.n_templates:
            spans: Ragged = self.examples["spans"]  # type: ignore[assignment]
            checks.within("spans", spans.values, -1, self.table.pair_starts.size - 1)
            n = self.words.lengths
            if not np.array_equal(spans.lengths, n * (n + 1) // 2 * self.n_templates):
                raise ValueError("features of other spans than the sentences have")
        if self.truth is None:
            return
        checks.vector("truth", self.truth.values, "i4")
        if not np.array_equal(self.truth.lengths, row_length(self.words.lengths)):
            raise ValueError("trees of other lengths than the sentences")
        check_rows(self.truth, len(self.grammar.chains), self.grammar.step_rule.size)

    def norms(self) -> tuple[np.ndarray, float | None]:
        """Return the norms; the radius is a bound from the number of rules of n words."""
        self._check_lengths(np.arange(self.n))
        norms, _ = super().norms()
        n_words, longest = self.words.lengths, self.grammar.chain_rules.lengths.max(initial=0)
        most = np.maximum(2 * n_words - 1, 0) * longest + np.maximum(n_words - 1, 0)
        most = most * (1 + self.n_templates)  # every rule with its span's features
        if self.lexicon is not None:
            most = most + n_words
        return norms, float((norms + most.astype(np.float64) ** 2).max(initial=0.0))

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

    def _search(self, view: ParseView, rows: np.ndarray, mode: int) -> tuple[TreeRows, np.ndarray]:
        """Return the trees, and of each 1 if it was found, 0 if there is none, or TOO_LARGE."""
        words = self.words[rows]
        truth = _no_rows(rows.size) if mode == cky.PREDICT else self.truths(rows)
        starts = offsets(self._row_lengths(rows))
        out, found = np.empty(starts[-1], np.int32), np.empty(rows.size, np.int8)
        spans = self._spans(view.pairs, rows)
        given = (
            self.tables, view.weights, spans, *_arrays(words), *_arrays(truth),
            frozen(view.true_scores[rows]),
        )  # fmt: skip
        if self.kind == cky_rows.F1_BRACKETS and mode != cky.PREDICT:
            self._check_lengths(rows)
            cky_brackets.search(
                *given, self.scale, self.slack, int(self.limit / cky_brackets.KEY_BYTES / 2),
                int(self.limit / cky_brackets.ITEM_BYTES / 2), out, frozen(starts), found,
            )  # fmt: skip
        else:
            cky.search(
                *given, self.kind, self.scale, mode, self._penalty, self.max_slots, self.max_items,
                out, frozen(starts), found,
            )  # fmt: skip
        return TreeRows(out, starts, rows), found

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

    def _scores(self, view: ParseView, trees: Ragged, rows: np.ndarray) -> np.ndarray:
        scores, weights = np.empty(len(trees)), view.weights
        cky_rows.scores(
            self.tables, *_arrays(self.words[rows]), *_arrays(trees), weights.chain, weights.step,
            weights.tag[: self.tag_rule.size], scores,
        )  # fmt: skip
        if view.pairs.size:
            span_features.add_scores(self._spans(view.pairs, rows), *_arrays(trees), scores)
        return scores

    def _row_lengths(self, rows: np.ndarray) -> np.ndarray:
        return row_length(self.words.lengths[rows])

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
        """Return the numbers of the words, or of the given tags."""
        if self.lexicon is not None:
            return self.lexicon.entries([word for word, _ in sentence])
        return [self.grammar.tag_number.get(tag, -1) for _, tag in sentence]

    def _tagged(self, number: int) -> Sentence:
        """Return the sentence with each word's most frequent tag, for a flat tree."""
        assert self.lexicon is not None
        counts, pairs = self.task.counts, self.lexicon.tags
        tags = []
        for entry in self.words.row(number).tolist():
            start, stop = pairs.starts[entry : entry + 2] if entry >= 0 else (0, 0)
            seen = np.zeros(stop - start) if counts is None else counts[self.tag_rule[start:stop]]
            own = [self.grammar.label(tag) for tag in pairs.values[start:stop].tolist()]
            tags.append(own[int(np.argmax(seen))] if own else NO_TAG)
        return tuple(zip((word for word, _ in self.sentences[number]), tags, strict=True))


def _no_rows(n: int) -> Ragged:
    """Return n empty rows."""
    return Ragged(np.zeros(0, np.int32), np.zeros(n + 1, np.int64))


def _arrays(rows: Ragged) -> tuple[np.ndarray, np.ndarray]:
    return frozen(rows.values), frozen(rows.starts)
