"""Sequences: a tag for every token."""

from distsvm.oracles.structure import FileFormat, Structure

_HOME = "distsvm.structures.sequences"
_FEATURES = ("templates", "hash_bits")
_OPTIONS = f"{_HOME}.options:SentenceOptions"

STRUCTURE = Structure(
    name="sequences",
    title="sequences",
    tasks={"sequence": f"{_HOME}.task:SequenceTask"},
    estimators=(f"{_HOME}.estimator:SequenceTagger",),
    formats={
        "conll": FileFormat(
            f"{_HOME}.readers.conll:ConllData",
            (".conll",),
            features=_FEATURES,
            layout=("tag", "word", "separator", "comment"),
            learnt=("n_columns",),
            options=_OPTIONS,
        ),
        "conllu": FileFormat(
            f"{_HOME}.readers.conllu:ConlluData",
            (".conllu",),
            features=_FEATURES,
            options=_OPTIONS,
        ),
        "svmhmm": FileFormat(f"{_HOME}.readers.svmhmm:SvmHmmData", (".svmhmm",)),
    },
    reads=("conll", "conllu", "svmhmm", "jsonl", "parquet", "text"),
    options=f"{_HOME}.options:OPTIONS",
    predictions=f"{_HOME}.predictions:PREDICTIONS",
    scores=f"{_HOME}.scores:SCORES",
    inspection=f"{_HOME}.inspection:INSPECTION",
    answers=f"{_HOME}.service:ANSWERS",
    problems=f"{_HOME}.problems:problems",
    words=f"{_HOME}.words:features_of_words",
    shard_arrays={"sequences": f"{_HOME}.rows:SequenceRows", "tags": f"{_HOME}.rows:TagRows"},
    labels=("labels",),
)
