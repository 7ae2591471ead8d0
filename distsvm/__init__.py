"""Structural SVMs with a certificate, from a laptop to a Ray cluster."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from distsvm.version import __version__

if TYPE_CHECKING:
    from distsvm.data import open_data
    from distsvm.errors import DistSVMError
    from distsvm.estimators.structural import StructuralSVM
    from distsvm.model import Model, load_model
    from distsvm.oracles.task import Bounded, Task
    from distsvm.structures.classes.estimator import BinarySVC, MulticlassSVC
    from distsvm.structures.classes.task import BinaryTask, MulticlassTask
    from distsvm.structures.sequences.estimator import SequenceTagger
    from distsvm.structures.sequences.task import SequenceTask
    from distsvm.structures.trees.estimator import TreeParser
    from distsvm.structures.trees.task import ParseTask
    from distsvm.training.callbacks import Callback
    from distsvm.training.path import path
    from distsvm.training.path_result import PathResult
    from distsvm.training.result import TrainResult
    from distsvm.training.train import resume, train
    from distsvm.vectors import SparseVector

# Loaded when first used, so that `import distsvm` is quick and needs no optional package.
_HOME = {
    "BinarySVC": "structures.classes.estimator",
    "BinaryTask": "structures.classes.task",
    "Bounded": "oracles.task",
    "Callback": "training.callbacks",
    "DistSVMError": "errors",
    "Model": "model",
    "MulticlassSVC": "structures.classes.estimator",
    "MulticlassTask": "structures.classes.task",
    "ParseTask": "structures.trees.task",
    "PathResult": "training.path_result",
    "SequenceTagger": "structures.sequences.estimator",
    "SequenceTask": "structures.sequences.task",
    "SparseVector": "vectors",
    "StructuralSVM": "estimators.structural",
    "Task": "oracles.task",
    "TrainResult": "training.result",
    "TreeParser": "structures.trees.estimator",
    "load_model": "model",
    "open_data": "data",
    "path": "training.path",
    "resume": "training.train",
    "train": "training.train",
}

__all__ = [
    "BinarySVC",
    "BinaryTask",
    "Bounded",
    "Callback",
    "DistSVMError",
    "Model",
    "MulticlassSVC",
    "MulticlassTask",
    "ParseTask",
    "PathResult",
    "SequenceTagger",
    "SequenceTask",
    "SparseVector",
    "StructuralSVM",
    "Task",
    "TrainResult",
    "TreeParser",
    "__version__",
    "load_model",
    "open_data",
    "path",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"distsvm.{_HOME[name]}"), name)
    raise AttributeError(f"module 'distsvm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
