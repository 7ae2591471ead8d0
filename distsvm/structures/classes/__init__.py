"""Classes: one label a row of features, binary and multiclass."""

from distsvm.oracles.structure import Structure

_HOME = "distsvm.structures.classes"

STRUCTURE = Structure(
    name="classes",
    title="classes",
    tasks={
        "binary": f"{_HOME}.task:BinaryTask",
        "multiclass": f"{_HOME}.task:MulticlassTask",
        "kernel-binary": f"{_HOME}.kernel_task:KernelBinaryTask",
        "kernel-multiclass": f"{_HOME}.kernel_task:KernelMulticlassTask",
    },
    estimators=(
        f"{_HOME}.estimator:BinarySVC",
        f"{_HOME}.estimator:MulticlassSVC",
        f"{_HOME}.kernel_estimator:KernelSVC",
    ),
    reads=("svmlight", "parquet", "jsonl"),
    options=f"{_HOME}.options:OPTIONS",
    predictions=f"{_HOME}.predictions:PREDICTIONS",
    scores=f"{_HOME}.scores:SCORES",
    inspection=f"{_HOME}.inspection:INSPECTION",
    problems=f"{_HOME}.problems:problems",
    form=f"{_HOME}.linear:LinearForm",
    labels=("classes",),
)
