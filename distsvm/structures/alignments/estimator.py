"""SequenceAligner: which candidate is the homologue, and how it aligns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.estimators.compiled import REQUIRED, CompiledEstimator, weighted_share
from distsvm.estimators.task_arguments import declared_task
from distsvm.estimators.training import warn_if_cut_short
from distsvm.options import declared, documented, usual
from distsvm.structures.alignments.answers import found
from distsvm.structures.alignments.latent import train_in_turns
from distsvm.structures.alignments.matrix import matrix_text
from distsvm.structures.alignments.task import AlignmentTask


@documented([own for name, own in declared(AlignmentTask).items() if name != "reference"])
@dataclass(kw_only=True, eq=False, repr=False)
class SequenceAligner(CompiledEstimator):
    """Learns the scores of alignment from native sequences, homologues and decoys.

    X is a list of (native, candidates) and y a list of Alignment, or of numbers of candidates where
    alignments are not known; X may name FASTA, Stockholm or JSONL files, which hold both.

    Parameters
    ----------
    {}
    alternations : int, default 10
        Where alignments of homologues are not given: how often they are found again, as the best
        ones under the model, and the model is trained again.
    data_options : dict, optional
        For files, what their reader takes: format="fasta".
    C, C_per_example, eps, rel_gap, max_rounds, max_seconds, rescaling, solver, solver_options,
    cache_size, executor, n_workers, n_shards, n_blocks, random_state, verbose, run_dir :
        As in MulticlassSVC. The loss residues has margin rescaling only.

    Attributes
    ----------
    task_ : AlignmentTask
    matrix_ : array of shape (k, k)
        The scores of pairs of letters, in the order of task_.letters.
    gap_scores_ : (float, float)
        Of the first letter of a run of letters alone, and of each that follows.
    objectives_ : list of float
        The objective after each training, where alignments were not given: it does not rise. The
        last is an upper bound.
    w_, n_iter_, result_, model_ :
        As in StructuralSVM, of the last training.
    """

    task_class = AlignmentTask

    loss: str = usual(AlignmentTask, "losses")
    loss_scale: float = usual(AlignmentTask, "loss_scale")
    alignment: str = usual(AlignmentTask, "alignment")
    gaps: str = usual(AlignmentTask, "gaps")
    symmetric: bool = usual(AlignmentTask, "symmetric")
    alphabet: str = usual(AlignmentTask, "alphabet")
    alternations: int = 10

    def _task(self) -> AlignmentTask:
        return declared_task(AlignmentTask, self, reference=None)

    def _train(self, task: Any, data: Any, **data_options: Any) -> None:
        turns = train_in_turns(
            task, data, most=self.alternations, data_options=data_options, **self._config()
        )
        result = turns.result
        warn_if_cut_short(result)
        self.result_, self.model_, self.n_iter_ = result, result.model, result.n_rounds
        self.objectives_ = list(turns.objectives)
        trained: Any = result.model.task
        self.matrix_: np.ndarray = trained.matrix(result.model.w)
        self.gap_scores_ = tuple(result.model.w[list(trained.gap_features)].tolist())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the (weighted) share of homologues that are found among their decoys."""
        right = np.concatenate(self._over(X, REQUIRED if y is None else y, found))
        return weighted_share(right, np.ones(right.size), sample_weight)

    def matrix_text(self, scale: float | None = None) -> str:
        """Return the scores of pairs as text in BLAST's format, which Biopython and parasail read.

        `scale` as in distsvm.structures.alignments.matrix.matrix_text.
        """
        trained: Any = self.task_
        return matrix_text(trained, self.w_, scale)
