"""Trees: the constituents of a sentence, found with a weighted context-free grammar."""

from distsvm.oracles.structure import FileFormat, Structure

_HOME = "distsvm.structures.trees"

STRUCTURE = Structure(
    name="trees",
    title="trees",
    tasks={"parse": f"{_HOME}.task:ParseTask"},
    estimators=(f"{_HOME}.estimator:TreeParser",),
    others=(f"{_HOME}.tree:Tree",),
    formats={
        "treebank": FileFormat(
            f"{_HOME}.treebank:TreebankData",
            (".mrg", ".tree", ".trees", ".brackets", ".ptb"),
            objects=True,
            any_name=True,
            filters=("max_length",),
            options=f"{_HOME}.options:TreebankOptions",
        )
    },
    reads=("treebank", "jsonl", "text"),
    options=f"{_HOME}.options:OPTIONS",
    predictions=f"{_HOME}.predictions:PREDICTIONS",
    scores=f"{_HOME}.scores:SCORES",
    inspection=f"{_HOME}.inspection:INSPECTION",
    answers=f"{_HOME}.service:ANSWERS",
    problems=f"{_HOME}.problems:problems",
)
