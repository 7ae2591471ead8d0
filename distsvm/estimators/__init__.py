"""The scikit-learn face: estimators whose constructor only stores and whose fit checks."""

from __future__ import annotations

from distsvm.estimators.structural import StructuralSVM
from distsvm.structures.classes.estimator import BinarySVC, MulticlassSVC
from distsvm.structures.sequences.estimator import SequenceTagger
from distsvm.structures.trees.estimator import TreeParser

__all__ = ["BinarySVC", "MulticlassSVC", "SequenceTagger", "StructuralSVM", "TreeParser"]
