"""Alignments: which of some sequences is like a native one, and which of their letters pair up."""

from distsvm.oracles.structure import FileFormat, Structure

_HOME = "distsvm.structures.alignments"

STRUCTURE = Structure(
    name="alignments",
    title="alignments",
    tasks={"align": f"{_HOME}.task:AlignmentTask"},
    estimators=(f"{_HOME}.estimator:SequenceAligner",),
    others=(f"{_HOME}.alignment:Alignment",),
    formats={
        "fasta": FileFormat(
            f"{_HOME}.readers.fasta:FastaData", (".fasta", ".fa", ".afa"), objects=True
        ),
        "stockholm": FileFormat(
            f"{_HOME}.readers.stockholm:StockholmData", (".sto", ".stk", ".stockholm"), objects=True
        ),
    },
    reads=("jsonl", "fasta", "stockholm"),
    options=f"{_HOME}.options:OPTIONS",
    predictions=f"{_HOME}.predictions:PREDICTIONS",
    scores=f"{_HOME}.scores:SCORES",
    inspection=f"{_HOME}.inspection:INSPECTION",
    answers=f"{_HOME}.service:ANSWERS",
    picture=f"{_HOME}.drawing:picture",
    problems=f"{_HOME}.problems:problems",
)
