"""Parsing with a weighted context-free grammar: Ψ(x, y) counts the rules of the tree y."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from distsvm import checks
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.kinds import choice, number, text, truth, whole
from distsvm.messages import Summary
from distsvm.options import check_fields, option
from distsvm.oracles.shared_options import loss_scale_option, unfit_option
from distsvm.oracles.task import LATER, PENALTIES, Task
from distsvm.structures.trees.grammar import Grammar, chains_of, n_brackets, rules_of
from distsvm.structures.trees.lexicon import (
    Lexicon,
    is_tag_rule,
    learn_tag_rules,
    tag_of,
    uses_of_words,
)
from distsvm.structures.trees.oracle import KINDS, ParseOracle
from distsvm.structures.trees.rows import as_sentence, as_tree, check_leaves, row_length
from distsvm.structures.trees.span_table import MARK, SpanTable, from_bytes, pairs_of, to_bytes
from distsvm.structures.trees.span_templates import SpanTemplates
from distsvm.structures.trees.tree import Tree
from distsvm.vectors import SparseVector
from distsvm.wording import Setting, Value, message

BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}


@dataclass(frozen=True, eq=False)
class ParseTask(Task):
    """Predict the tree of a sentence.

    x is ((word, tag), …), or tags alone; the grammar is over tags, and words only label the trees.
    With words=True the grammar is over words: x is a list of words (given tags are ignored), and
    tags are predicted too. y is a Tree, or its text. w has one weight for each rule seen, tag rules
    last. grammar.py describes the language, lexicon.py the words. A sentence outside the grammar,
    or too long for memory_mb, gets a flat tree under TOP and a warning.

    Parameters
    ----------
    losses : "f1", "brackets", "zero-one" or "f1-brackets"
        f1: 1 − matched/(n − 1) over the n − 1 spans of two words or more of the tree's binary form
        (see grammar.py), labelled by their whole unary chain, or by the prefix of a rule.
        Both trees have n − 1 of them, so this is 1 − F1. brackets: the number of constituents that
        only one of the trees has; a unary chain without its tag is one constituent. zero-one:
        [y ≠ ŷ], tags included. f1-brackets: 1 − 2·matched/(true + predicted) over the brackets of
        the original trees (all phrases but TOP, equal ones as often as both trees have them; 0
        where neither has one): a reference, trained on sentences of at most 10 words.
    loss_scale, max_chain, memory_mb, words, min_word_count, unfit :
        See their declarations below.
    rules, chains : tuples of str, or None
        Given rules include the tag rules. Default: those of the data.
    """

    losses: str = option(
        "f1", kind=choice(*KINDS), flag="--loss", metavar="LOSS", argument="loss",
        help="f1, 1 − F1 over the spans of binary trees; brackets, the number of labelled ones "
        "that only one of the trees has; zero-one; or f1-brackets, 1 − F1 over the original "
        "brackets, for sentences of at most 10 words",
    )  # fmt: skip
    loss_scale: float = loss_scale_option()
    max_chain: int = option(
        4, kind=whole(least=1), metavar="N",
        help="most rules of a unary chain that does not occur in the training trees",
    )  # fmt: skip
    memory_mb: float = option(
        1024.0, kind=number(above=0, infinite=True), metavar="MB", unit="MiB",
        help="limit of the search's memory (in MiB) for one sentence of n words; it grows as "
        "n² (n³ for f1 with slack rescaling)",
    )  # fmt: skip
    rules: tuple[str, ...] | None = None
    chains: tuple[str, ...] = ()
    unfit: str = unfit_option()
    words: bool = option(
        False, kind=truth,
        help="a grammar over words, which predicts tags too. Default: over the tags of the data",
    )  # fmt: skip
    min_word_count: int = option(
        2, kind=whole(least=1), metavar="N",
        help="with {words}: words with fewer uses in training share the tags of their class (shape "
        "and suffix); a use counts its example's weight over the mean weight",
    )  # fmt: skip
    span_features: str | None = option(
        None, kind=text, metavar="TEMPLATES", usual="none", later=True,
        help="features of a span that have weights with each rule: templates of words at its ends "
        "and next to it, such as 'word[first]; tag[after]; span', or default (tags), or words",
    )  # fmt: skip
    min_span_count: int = option(
        2, kind=whole(least=1), metavar="N", later=True,
        help="with {span_features}: a feature and a rule have a weight if the training trees have "
        "both at one span so often (by weights, as {min_word_count})",
    )  # fmt: skip
    # Set by prepare():
    counts: np.ndarray | None = None
    longest: int = 0
    mean_spans: float = 0.0
    span_pairs: np.ndarray | None = field(default=None, metadata=LATER)

    compiled: ClassVar[bool] = True
    string_inputs: ClassVar[bool] = False
    suited_solver: ClassVar[str] = "multi-plane"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.words and self.templates is not None and self.templates.reads_tags:
            raise ConfigError(
                message(
                    "{span_features}: {} reads tags, which a grammar over words does not get; "
                    "expected templates of words, or {} for these",
                    repr(self.span_features), Value("words"),
                )
            )  # fmt: skip

    def scan(self, shard: Shard) -> Summary:
        """Sum the weights of each rule, chain and tagged word; n_columns is the longest length."""
        if hasattr(shard.x, "n_rows"):
            raise DataError(f"{shard.source}: the examples are rows of features, expected trees")
        weight = np.ones(shard.n) if shard.weight is None else shard.weight
        longest, names = 0, shard.names
        uses: defaultdict[str, float] = defaultdict(float)
        for i in range(shard.n):
            sentence = names.call(i, as_sentence, shard.x[i], self.words)
            longest = max(longest, len(sentence))
            if shard.y is not None and self.rules is None:
                names.call(i, self._count, uses, sentence, shard.y[i], float(weight[i]))
        labels, counts = None, None
        if shard.y is not None:
            # As objects: NumPy pads strings to the longest one.
            labels = np.array(sorted(uses), dtype=object)
            counts = np.array([uses[label] for label in labels.tolist()], dtype=np.float64)
        return Summary(
            n_examples=shard.n, weight=float(weight.sum()), labels=labels, counts=counts,
            n_columns=longest, n_weighted=int(np.count_nonzero(weight)),
        )  # fmt: skip

    def prepare(self, summary: Summary) -> ParseTask:
        if self.rules is not None:
            return replace(self, longest=max(self.longest, summary.n_columns))
        if summary.labels is None or summary.counts is None:
            raise DataError("the data has no trees")
        uses = dict(zip(summary.labels.tolist(), summary.counts.tolist(), strict=True))
        words = {text: uses.pop(text) for text in list(uses) if is_tag_rule(text)}
        pairs = {text: uses.pop(text) for text in list(uses) if text[0] == MARK}
        # Counts are sums of weights, so the threshold is in examples of mean weight. The factor
        # keeps rounding of a sum from making a word rare.
        mean_weight = summary.weight / max(1, summary.n_weighted)
        uses |= learn_tag_rules(words, self.min_word_count * mean_weight * (1 - 1e-9))
        rules = [text for text in uses if is_tag_rule(text) or " -> " in text]
        rules.sort(key=lambda text: (is_tag_rule(text), text))
        spans = n_brackets({rule: uses[rule] for rule in rules if not is_tag_rule(rule)})
        return replace(
            self,
            rules=tuple(rules),
            chains=tuple(sorted(uses.keys() - set(rules))),
            counts=np.array([uses[rule] for rule in rules]),
            span_pairs=self._kept(pairs, self.min_span_count * mean_weight * (1 - 1e-9)),
            longest=summary.n_columns,
            mean_spans=spans / summary.weight if summary.weight > 0 else 0.0,
        )

    def _count(self, uses: defaultdict[str, float], sentence: Any, tree: Any, c: float) -> None:
        tree = as_tree(tree)
        check_leaves(sentence, tree, self.words)
        for rule, n in rules_of(tree).items():
            uses[rule] += c * n
        for chain in chains_of(tree):
            uses[chain] += c
        for use in uses_of_words(tree) if self.words else ():
            uses[use] += c
        if self.templates is not None:
            for pair in pairs_of(tree, self.templates):
                uses[pair] += c

    def _kept(self, pairs: dict[str, float], least: float) -> np.ndarray | None:
        """Return the pairs of features and rules that occur often enough, as bytes."""
        if self.span_features is None:
            return None
        return to_bytes(sorted(pair for pair, n in pairs.items() if n >= least))

    def check_loaded(self) -> None:
        for name in ("rules", "chains"):
            texts = getattr(self, name)
            if not (isinstance(texts, tuple) and all(isinstance(text, str) for text in texts)):
                raise ValueError(f"{name} are no tuple of texts")
        for name in ("longest", "max_chain", "min_word_count"):
            checks.whole(name, getattr(self, name))
        for name in ("loss_scale", "memory_mb", "mean_spans"):
            checks.number(name, getattr(self, name))
        if self.span_pairs is not None:
            checks.vector("span_pairs", self.span_pairs, "u1")
        if self.counts is not None:
            checks.finite("counts", self.counts, self.dim - len(self.span_table.texts))

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the prepared task."""
        if self.rules is None:
            raise ConfigError("the task is not prepared: its grammar is not known yet")
        phrase_rules = [rule for rule in self.rules if not is_tag_rule(rule)]
        return Grammar.of(phrase_rules, self.chains, self.max_chain)

    @cached_property
    def lexicon(self) -> Lexicon | None:
        """The words' tags in the prepared task; None where tags are given."""
        tag_number = self.grammar.tag_number
        rules = [rule for rule in self.rules or () if is_tag_rule(rule)]
        if rules and not self.words:
            raise ConfigError(
                message(
                    "rules: {} is a tag rule, which only {} has", rules[0], Setting("words", True)
                )
            )
        return Lexicon.of(rules, tag_number) if self.words else None

    @cached_property
    def templates(self) -> SpanTemplates | None:
        """The templates of spans."""
        return None if self.span_features is None else SpanTemplates.parse(self.span_features)

    @cached_property
    def span_table(self) -> SpanTable:
        """The pairs of span features and rules of the prepared task."""
        if self.span_pairs is None:
            return SpanTable.none()
        numbers = {rule: number for number, rule in enumerate(self.grammar.rules)}
        return SpanTable.of(from_bytes(self.span_pairs), numbers)

    @property
    def features(self) -> tuple[str, ...]:
        """The rule of each weight: those of phrases, those of tags, then those of span features."""
        tag_rules = () if self.lexicon is None else self.lexicon.rules
        return self.grammar.rules + tag_rules + self.span_table.texts

    @cached_property
    def _rule_number(self) -> dict[str, int]:
        return {rule: number for number, rule in enumerate(self.features)}

    def __getstate__(self) -> dict[str, Any]:
        cached = ("grammar", "lexicon", "templates", "span_table", "_rule_number")  # made again
        return {name: value for name, value in vars(self).items() if name not in cached}

    @property
    def dim(self) -> int:  # type: ignore[override]
        return len(self._rule_number)

    @property
    def rescalings(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"margin"} if self.losses == "brackets" else {"margin", "slack"})

    @property
    def penalties(self) -> frozenset[str]:
        """All where strata are searched or every loss is the same; of brackets no √Δ."""
        if self.losses == "f1-brackets":
            return frozenset({"linear"})
        return frozenset({"linear", "hard"}) if self.losses == "brackets" else PENALTIES

    @property
    def largest_loss(self) -> float:  # type: ignore[override]
        # Every span of both trees could be a constituent.
        n_most = row_length(max(1, self.longest)) if self.losses == "brackets" else 1
        return self.loss_scale * n_most

    @property
    def loss_unit(self) -> float:
        """The mean number of brackets of a training tree for brackets; else the largest loss."""
        if self.losses == "brackets" and self.mean_spans > 0:
            return self.loss_scale * self.mean_spans
        return self.largest_loss

    def likelihood_weights(self) -> np.ndarray:
        """Return the w of the maximum-likelihood PCFG of this grammar: log relative frequencies.

        A tag rule's frequency is the share of the tag's uses with that word, or with a rare word of
        that class. Span features have weight 0.
        """
        if self.counts is None:
            raise ConfigError("the task has no counts of rules: it was not prepared on trees")
        n = len(self.grammar.rules)
        parts = [self.grammar.likelihood_weights(self.counts[:n])]
        if self.lexicon is not None:
            totals = self.grammar.tag_counts(self.counts[:n])
            tags = [self.grammar.tag_number[tag_of(rule)] for rule in self.lexicon.rules]
            parts.append(np.log(self.counts[n:]) - np.log(totals[tags]))
        return np.concatenate([*parts, np.zeros(len(self.span_table.texts))])

    def joint_features(self, x: Any, y: Tree) -> SparseVector:
        numbers = self._rule_number
        uses = rules_of(y)
        known = {numbers[rule]: float(n) for rule, n in uses.items() if rule in numbers}
        if self.lexicon is not None:
            leaves = y.leaves()
            entries = self.lexicon.entries([leaf.word or "" for leaf in leaves])
            for entry, leaf in zip(entries, leaves, strict=True):
                place = self.lexicon.place(entry, self.grammar.tag_number.get(leaf.label))
                if place is not None:
                    number = len(self.grammar.rules) + place
                    known[number] = known.get(number, 0.0) + 1.0
        for pair in () if self.templates is None else pairs_of(y, self.templates):
            if pair in numbers:
                known[numbers[pair]] = known.get(numbers[pair], 0.0) + 1.0
        return SparseVector.of(known, self.dim)

    def loss(self, y: Tree, y_hat: Tree) -> float:
        oracle = self.oracle(self.shard([y.sentence()] * 2, [y, y_hat]), "margin")
        first, second = np.zeros(1, np.int64), np.ones(1, np.int64)
        return float(oracle.losses(first, oracle.truths(second))[0])

    def decode(self, w: np.ndarray, x: Any) -> Tree:
        oracle = self.oracle(self.shard([x]), "margin")
        return oracle.public(oracle.decode(oracle.view(w), np.zeros(1, np.int64)))[0]

    def separate(self, w: np.ndarray, x: Any, y: Tree, rescaling: str) -> Tree:
        oracle = self.oracle(self.shard([x], [y]), rescaling)
        oracle.check_fit()
        found = oracle.separate(oracle.view(w), np.zeros(1, np.int64))
        return oracle.public(found.planes.output)[0]

    def oracle(self, shard: Shard, rescaling: str) -> ParseOracle:
        if rescaling not in self.rescalings:
            given = Setting("rescaling", rescaling)
            raise ConfigError(message("{}: {} loss has margin only", given, self.losses))
        return ParseOracle(self, shard, rescaling)

    def of_words(self, words: Sequence[str]) -> Sequence[str]:
        """Return the words, with brackets as treebanks write them."""
        if not self.words:
            raise ConfigError(
                "the grammar is over tags, which plain sentences do not have; train "
                "one over words, or give sentences with tags"
            )
        if not words:
            raise DataError("a sentence has no words, so that it has no tree")
        return [BRACKETS.get(word, word) for word in words]

    def encode_output(self, y: Tree) -> str:
        return str(y)

    def decode_output(self, data: str) -> Tree:
        return Tree.parse(data)

    def cost(self, x: Any) -> float:
        return float(len(x)) ** 3

    def carry(self, w: np.ndarray, earlier: Task) -> np.ndarray:
        """Return the earlier weights of rules that both grammars have, zeros for other rules."""
        if not isinstance(earlier, ParseTask):
            raise ConfigError(
                message("{start}: the earlier model is for {}", type(earlier).__name__)
            )
        new = np.zeros(self.dim)
        for rule, place in self._rule_number.items():
            old = earlier._rule_number.get(rule)
            if old is not None:
                new[place] = w[old]
        return new
