"""The scikit-learn face: estimators whose constructor only stores and whose fit checks."""

from __future__ import annotations

from distsvm.estimators.classes import BinarySVC, MulticlassSVC
from distsvm.estimators.parse import TreeParser
from distsvm.estimators.sequence import SequenceTagger
from distsvm.estimators.structural import StructuralSVM

__all__ = ["BinarySVC", "MulticlassSVC", "SequenceTagger", "StructuralSVM", "TreeParser"]
