"""TreeParser: the constituent tree of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from distsvm.errors import ConfigError
from distsvm.estimators.compiled import REQUIRED, CompiledEstimator, weighted_share
from distsvm.estimators.validation import one_by_one
from distsvm.model import Model
from distsvm.options import declared, documented, usual
from distsvm.structures.trees.answers import best_trees
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import TreeScore, tree_scores


@documented(declared(ParseTask).values())
@dataclass(kw_only=True, eq=False, repr=False)
class TreeParser(CompiledEstimator):
    """A parser with a weighted context-free grammar (CKY search), trained to a certified gap.

    X is a list of sentences [(word, tag), …] (or of words, with words=True) and y a list of Tree; X
    may be a list of Tree alone (also for prediction, which looks only at their words and tags), or
    name bracketed treebank files.

    Parameters
    ----------
    {}
    data_options : dict, optional
        For files, the options of their reader: format="treebank", strip_empty, strip_functions,
        max_length. They hold for prediction too, except max_length: every sentence gets a tree.
    C, C_per_example, eps, rel_gap, max_rounds, max_seconds, rescaling, penalty, solver,
    solver_options,
    cache_size, executor, n_workers, n_shards, n_blocks, random_state, verbose, run_dir :
        As in MulticlassSVC. In the defaults of C and eps, Δ̄ is the mean number of brackets in a
        tree for loss="brackets". Brackets have margin rescaling only.

    Attributes
    ----------
    task_ : ParseTask
        The prepared task, with its grammar.
    baseline_ : Model
        The same grammar with the weights of the maximum-likelihood PCFG, for comparison.
    w_, n_iter_, result_, model_ :
        As in StructuralSVM.
    """

    task_class = ParseTask

    loss: str = usual(ParseTask, "losses")
    loss_scale: float = usual(ParseTask, "loss_scale")
    max_chain: int = usual(ParseTask, "max_chain")
    memory_mb: float = usual(ParseTask, "memory_mb")
    words: bool = usual(ParseTask, "words")
    min_word_count: int = usual(ParseTask, "min_word_count")
    unfit: str = usual(ParseTask, "unfit")
    span_features: str | None = usual(ParseTask, "span_features")
    min_span_count: int = usual(ParseTask, "min_span_count")

    @property
    def baseline_(self) -> Model:
        assert isinstance(self.task_, ParseTask)
        notes = {"data": self.model_.facts["data"]} if "data" in self.model_.facts else {}
        return Model(self.task_, self.task_.likelihood_weights(), notes)

    def predict_n_best(self, X: Any, k: int) -> list[list[tuple[Tree, float]]]:
        """Return for each sentence the k best trees with their scores ⟨w, Ψ(x, ŷ)⟩, best first.

        Fewer where a sentence has fewer trees; one flat tree of score −inf where it has none, or
        where the search takes more than memory_mb.
        """
        if not (isinstance(k, (int, np.integer)) and k >= 1):
            raise ConfigError("k", k, "a whole number ≥ 1")
        parts = self._over(X, None, partial(best_trees, k=int(k)))
        return [ranked for part in parts for ranked in part]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return evalb's labelled F1 over all sentences; brackets have the sentences' weights."""
        scores = self._scores(X, y)
        found = [2 * score.n_matched for score in scores]
        brackets = [score.n_true + score.n_predicted for score in scores]
        return weighted_share(found, brackets, sample_weight)

    def evaluate(self, X: Any, y: Any = None) -> TreeScore:
        """Return evalb's labelled precision, recall, f1 and exact_match, and n_outside.

        n_outside counts the flat trees, of sentences outside the grammar or too long for memory_mb.
        """
        return reduce(add, self._scores(X, y))

    def _scores(self, X: Any, y: Any) -> list[TreeScore]:
        parts = self._over(X, REQUIRED if y is None else y, tree_scores)
        return [score for part in parts for score in part]

    def _pair(self, X: Any, y: Any) -> tuple[Sequence[Any], Sequence[Any] | None]:
        examples = one_by_one(X)
        if all(isinstance(x, Tree) for x in examples):
            trees = examples if y is None else one_by_one(y)
            return [tree.sentence() for tree in examples], trees
        return super()._pair(X, y)
