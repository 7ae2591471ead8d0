"""Structural SVMs with a certificate, from a laptop to a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distsvm.version import __version__

if TYPE_CHECKING:
    from distsvm.data import open_data
    from distsvm.errors import DistSVMError
    from distsvm.estimators.structural import StructuralSVM
    from distsvm.kernel_functions.own import register_kernel
    from distsvm.model import Model, load_model
    from distsvm.oracles.task import Bounded, Task
    from distsvm.structures.alignments.alignment import Alignment
    from distsvm.structures.alignments.estimator import SequenceAligner
    from distsvm.structures.alignments.task import AlignmentTask
    from distsvm.structures.classes.estimator import BinarySVC, MulticlassSVC
    from distsvm.structures.classes.kernel_estimator import KernelSVC
    from distsvm.structures.classes.kernel_task import KernelBinaryTask, KernelMulticlassTask
    from distsvm.structures.classes.task import BinaryTask, MulticlassTask
    from distsvm.structures.classes.taxonomies.estimator import TaxonomyClassifier
    from distsvm.structures.classes.taxonomies.task import TaxonomyTask
    from distsvm.structures.classes.taxonomies.taxonomy import Taxonomy
    from distsvm.structures.sequences.estimator import SequenceTagger
    from distsvm.structures.sequences.task import SequenceTask
    from distsvm.structures.trees.estimator import TreeParser
    from distsvm.structures.trees.task import ParseTask
    from distsvm.structures.trees.tree import Tree
    from distsvm.training.callbacks import Callback
    from distsvm.training.path import path
    from distsvm.training.path_result import PathResult
    from distsvm.training.result import TrainResult
    from distsvm.training.train import resume, train
    from distsvm.vectors import SparseVector

# Loaded when first used, so that `import distsvm` is quick and needs no optional package. For the
# tasks and estimators of structures see distsvm.registry.public_names.
_HOME = {
    "Bounded": "distsvm.oracles.task:Bounded",
    "Callback": "distsvm.training.callbacks:Callback",
    "DistSVMError": "distsvm.errors:DistSVMError",
    "Model": "distsvm.model:Model",
    "PathResult": "distsvm.training.path_result:PathResult",
    "SparseVector": "distsvm.vectors:SparseVector",
    "StructuralSVM": "distsvm.estimators.structural:StructuralSVM",
    "Task": "distsvm.oracles.task:Task",
    "TrainResult": "distsvm.training.result:TrainResult",
    "load_model": "distsvm.model:load_model",
    "open_data": "distsvm.data:open_data",
    "path": "distsvm.training.path:path",
    "register_kernel": "distsvm.kernel_functions.own:register_kernel",
    "resume": "distsvm.training.train:resume",
    "train": "distsvm.training.train:train",
}

__all__ = [
    "Alignment",
    "AlignmentTask",
    "BinarySVC",
    "BinaryTask",
    "Bounded",
    "Callback",
    "DistSVMError",
    "KernelBinaryTask",
    "KernelMulticlassTask",
    "KernelSVC",
    "Model",
    "MulticlassSVC",
    "MulticlassTask",
    "ParseTask",
    "PathResult",
    "SequenceAligner",
    "SequenceTagger",
    "SequenceTask",
    "SparseVector",
    "StructuralSVM",
    "Task",
    "Taxonomy",
    "TaxonomyClassifier",
    "TaxonomyTask",
    "TrainResult",
    "Tree",
    "TreeParser",
    "__version__",
    "load_model",
    "open_data",
    "path",
    "register_kernel",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'distsvm' has no attribute {name!r}")
    from distsvm.oracles.structure import imported
    from distsvm.registry import public_names

    return imported(_HOME.get(name) or public_names()[name])


def __dir__() -> list[str]:
    return __all__
