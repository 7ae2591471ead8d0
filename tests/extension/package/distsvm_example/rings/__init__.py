"""Rings: a label 0 or 1 for every site of a ring, where neighbours may like to be equal."""

from distsvm.oracles.structure import FileFormat, Structure

_HOME = "distsvm_example.rings"

STRUCTURE = Structure(
    name="rings",
    title="rings",
    tasks={"ring": f"{_HOME}.task:RingTask"},
    estimators=(f"{_HOME}.estimator:RingLabeller",),
    formats={"rings": FileFormat(f"{_HOME}.files:RingData", (".rings",), objects=True)},
    reads=("rings", "jsonl"),
    options=f"{_HOME}.command_line:OPTIONS",
    inspection=f"{_HOME}.command_line:INSPECTION",
    problems=f"{_HOME}.problems:problems",
)
