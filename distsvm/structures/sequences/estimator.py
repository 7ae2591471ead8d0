"""SequenceTagger: a tag for every token of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distsvm.errors import ConfigError
from distsvm.estimators.compiled import REQUIRED, CompiledEstimator, weighted_share
from distsvm.estimators.low_rank import LowRankArguments
from distsvm.estimators.task_arguments import declared_task
from distsvm.feature_maps.options import low_rank_map, options_with_kernel
from distsvm.options import declared, documented, usual
from distsvm.structures.sequences.answers import best_tags, ranked_tags, tag_scores, tags_of
from distsvm.structures.sequences.oracle import SequenceOracle
from distsvm.structures.sequences.tag_scores import TagScores
from distsvm.structures.sequences.task import SequenceTask
from distsvm.workers.shard_worker import ShardWorker


@documented(declared(SequenceTask).values(), options_with_kernel().values())
@dataclass(kw_only=True, eq=False, repr=False)
class SequenceTagger(LowRankArguments, CompiledEstimator):
    """A tagger of sequences (Viterbi search, transitions of first or second order), certified.

    X is a list of sequences, each a list of tokens, each a dict of features to values or a list of
    feature names, as python-crfsuite takes them; y is a list of lists of str. Or X names CoNLL,
    CoNLL-U or SVM-HMM files, which hold the tags.

    With a kernel function, tokens are dicts of numbers, and the emissions of tags are low-rank
    functions of them: the gap is certified for that low-rank problem.

    Parameters
    ----------
    {}
    {}
    data_options : dict, optional
        For files, what their reader takes: format, tag, word, templates; see open_data. Files for
        prediction are read alike.
    C, C_per_example, eps, rel_gap, max_rounds, max_seconds, rescaling, penalty, solver,
    solver_options,
    cache_size, executor, n_workers, n_shards, n_blocks, random_state, verbose, run_dir :
        As in MulticlassSVC. In the defaults of C and eps, Δ̄ is the mean length of a sequence for
        Hamming loss.

    Attributes
    ----------
    task_ : SequenceTask
        With its tags and features.
    classes_ : array of str
        The tags, in increasing order.
    w_, n_iter_, result_, model_ :
        As in StructuralSVM.
    """

    task_class = SequenceTask

    loss: str = usual(SequenceTask, "losses")
    loss_scale: float = usual(SequenceTask, "loss_scale")
    order: int = usual(SequenceTask, "order")
    allowed: Any = usual(SequenceTask, "allowed")
    min_count: int = usual(SequenceTask, "min_count")
    hash_bits: int | None = usual(SequenceTask, "hash_bits")
    unfit: str = usual(SequenceTask, "unfit")
    transition_scale: float = usual(SequenceTask, "transition_scale")
    transition_features: str | None = usual(SequenceTask, "transition_features")
    tag_weight: Any = usual(SequenceTask, "tag_weight")
    kernel: Any = None

    def _task(self) -> SequenceTask:
        features = None if self.kernel is None else low_rank_map(vars(self))
        return declared_task(SequenceTask, self, features=features)

    @property
    def classes_(self) -> np.ndarray:
        assert isinstance(self.task_, SequenceTask)
        return self.task_.tags()

    def predict_n_best(self, X: Any, k: int) -> list[list[tuple[list[str], float]]]:
        """For each sequence the k best taggings with their scores ⟨w, Ψ(x, ŷ)⟩, best first.

        Fewer where a sequence has fewer.
        """
        if not (isinstance(k, (int, np.integer)) and k >= 1):
            raise ConfigError("k", k, "a whole number ≥ 1")
        check_is_fitted(self)
        oracle = self.model_.bound_here(X)
        if oracle is not None:
            assert isinstance(oracle, SequenceOracle)
            return ranked_tags(oracle, self.model_.view, int(k))
        parts = self._over(X, None, partial(best_tags, k=int(k)))
        return [ranked for part in parts for ranked in part]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of tokens with the right tag, with the weights of their sequences."""
        parts = self._over(X, REQUIRED if y is None else y, _tokens_right)
        right, lengths = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return weighted_share(right, lengths, sample_weight)

    def evaluate(self, X: Any, y: Any = None) -> TagScores:
        """Token accuracy and sequence accuracy, and entities where all tags are BIO.

        Returns
        -------
        TagScores
            accuracy, exact, and entities (None unless BIO) with precision, recall and f1, of all
            types together; by_type has those of each.
        """
        return reduce(add, self._over(X, REQUIRED if y is None else y, tag_scores))


def _tokens_right(worker: ShardWorker, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many tags of each sequence are right, and how many it has."""
    gold, predicted = tags_of(worker, w)
    total = np.concatenate([[0], np.cumsum(gold.codes.values == predicted.codes.values)])
    starts = gold.codes.starts
    return total[starts[1:]] - total[starts[:-1]], gold.codes.lengths
