"""The options of data files, as open_data takes them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distsvm.cli.readers import Reader, names, of_type, whole
from distsvm.cli.small_files import read_text
from distsvm.data.files import unpacked_name
from distsvm.data.opening import FORMATS, JSONL, TEXT, kind_of_files, open_data
from distsvm.errors import ConfigError
from distsvm.model import Model
from distsvm.oracles.task import Task
from distsvm.uris import check_secretless


def _column(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _templates(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return read_text(text[1:])
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"{text[1:]} cannot be read ({error})") from error


column = Reader(_column, "a whole number, or a name", of_type(int, str))
templates = Reader(_templates, "text", of_type(str))

TABLES = ("svmlight", "parquet")
SENTENCES = ("conll", "conllu")


@dataclass(frozen=True)
class Reading:
    """An option of a reader: its flag, where it is parsed to, its name there, and its formats."""

    flag: str
    dest: str
    name: str
    formats: tuple[str, ...]


READING = (
    Reading("--float32", "dtype", "dtype", ("svmlight",)),
    Reading("--label-column", "label_column", "label", ("parquet",)),
    Reading("--features-column", "features_column", "features", ("parquet",)),
    Reading("--feature-columns", "feature_columns", "columns", ("parquet",)),
    Reading("--weight-column", "weight_column", "weight", ("parquet",)),
    Reading("--tag", "tag", "tag", SENTENCES),
    Reading("--word", "word", "word", ("conll",)),
    Reading("--templates", "templates", "templates", SENTENCES),
    Reading("--hash-bits", "hash_bits", "hash_bits", SENTENCES),
    Reading("--max-length", "max_length", "max_length", ("treebank",)),
    Reading("--strip-empty", "strip_empty", "strip_empty", ("treebank",)),
    Reading("--strip-functions", "strip_functions", "strip_functions", ("treebank",)),
    Reading("--tokens", "tokens", "tokens", ("text",)),
)


def add_data(
    parser: argparse.ArgumentParser, *, required_labels: bool = True, trained: bool = False
) -> argparse._ArgumentGroup:
    """Add --data and how to read it; returns the group for more of the kind.

    With `trained`, a model's options are the defaults. Without `required_labels`, plain text may be
    given too, here, in files, or on standard input.
    """
    also = " What is not given is as it was in training." if trained else ""
    group = parser.add_argument_group("data", f"How files are read.{also}")
    absent = argparse.SUPPRESS
    group.add_argument(
        "--data", required=required_labels, nargs="+", metavar="FILE",
        help="files, folders or patterns, here or elsewhere (s3://bucket/folder/*.svm). Classes: "
        "svmlight (.svm .svmlight .libsvm .txt …), Parquet or Arrow (.parquet .pq .arrow "
        ".feather), .jsonl. Sequences: .conll, .conllu, .svmhmm, .jsonl, Parquet. Trees: in "
        "brackets (.mrg .tree .trees .brackets .ptb). All text may be packed (.gz .bz2 .xz)"
        + ("" if required_labels else ". Sequences and trees over words: .txt, plain text with one "
           "sentence a line, also from standard input (-)"),
    )  # fmt: skip
    if not required_labels:
        _add_text(group)
    group.add_argument(
        "--format", metavar="NAME", default=absent,
        help=f"{', '.join(dict.fromkeys(FORMATS.values()))}, where the names of the files do not "
        "say it",
    )  # fmt: skip
    _add_tables(group, required_labels)
    _add_sentences(group)
    _add_trees(group, required_labels)
    return group


def _add_text(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--text", nargs="+", metavar="SENTENCE",
        help="sequences, trees over words: plain sentences, instead of --data. They are split at "
        "blanks, and punctuation at the ends of a word is a word of its own",
    )  # fmt: skip
    group.add_argument(
        "--tokens", action="store_true", default=argparse.SUPPRESS,
        help="plain text: words have blanks between them already, and are not split further",
    )  # fmt: skip


def _add_tables(group: argparse._ArgumentGroup, required_labels: bool) -> None:
    absent = argparse.SUPPRESS
    group.add_argument(
        "--float32", dest="dtype", action="store_const", const="float32", default=absent,
        help="svmlight: keep features in half the memory",
    )  # fmt: skip
    label = "" if required_labels else "; it is not read, only kept apart from the features"
    group.add_argument(
        "--label-column", metavar="NAME", default=absent,
        help=f"Parquet: the column of labels. Default: label, or y where "
        f"examples are no rows of features{label}",
    )  # fmt: skip
    group.add_argument(
        "--features-column", metavar="NAME", default=absent,
        help="Parquet: the column with all features of a row. Default: features, if there is one, "
        "or x where examples are no rows of features",
    )  # fmt: skip
    group.add_argument(
        "--feature-columns", type=names, metavar="NAME,…", default=absent,
        help="Parquet: one column a feature. Default: all columns of numbers but label and weight",
    )  # fmt: skip
    group.add_argument(
        "--weight-column", metavar="NAME", default=absent,
        help="Parquet: the column of example weights; at a given C, 2 is the example twice",
    )  # fmt: skip


def _add_sentences(group: argparse._ArgumentGroup) -> None:
    absent = argparse.SUPPRESS
    group.add_argument(
        "--tag", type=column, metavar="COLUMN", default=absent,
        help="CoNLL: the column of the tag, from 0, or from the end if it is negative. Default: -1."
        " CoNLL-U: its name, such as upos. Default: xpos",
    )  # fmt: skip
    group.add_argument(
        "--word", type=whole, metavar="COLUMN", default=absent,
        help="CoNLL: the column of the word, from 0. Default: 0",
    )  # fmt: skip
    group.add_argument(
        "--templates", type=templates, metavar="TEXT", default=absent,
        help="CoNLL, CoNLL-U: the features of a token, such as 'word[-1..+1]; suffix(1..3)'; or "
        "default, or pos; or @FILE with one template a line (the language is described in "
        "distsvm/data/templates.py). Default: default",
    )  # fmt: skip


def _add_trees(group: argparse._ArgumentGroup, required_labels: bool) -> None:
    absent = argparse.SUPPRESS
    if required_labels:  # a prediction is made for every sentence
        group.add_argument(
            "--max-length", type=whole, metavar="N", default=absent,
            help="trees: leave out sentences of more words, of --validation too. A model does not "
            "keep it: predict and evaluate take all sentences. Default: none is left out",
        )  # fmt: skip
    group.add_argument(
        "--strip-empty", action=argparse.BooleanOptionalAction, default=absent,
        help="trees: take out empty elements (-NONE-). Default: yes",
    )  # fmt: skip
    group.add_argument(
        "--strip-functions", action=argparse.BooleanOptionalAction, default=absent,
        help="trees: take function tags and indices off labels (NP-SBJ-1 → NP). Default: yes",
    )  # fmt: skip


def n_bytes_found(args: argparse.Namespace, task: Task, options: dict[str, Any]) -> int:
    """The size of the files to train on and to validate with: looked for, and not yet read."""
    n_bytes = 0
    for files in (args.data, args.validation):
        if files is not None:
            n_bytes += open_data(files, tables=task.tables, **options).n_bytes or 0
    return n_bytes


def data_options(
    args: argparse.Namespace, formats: tuple[str, ...], model: Model | None = None
) -> dict[str, Any]:
    """The arguments of open_data that were given; what does not fit the files is refused by name.

    Parameters
    ----------
    formats : the formats that the task reads
        Trees are in brackets unless all files are named as JSONL, or, to predict on, as plain text
        (.txt); otherwise the names decide.
    model : Model, optional
        Its training files' format comes before that.
    """
    for path in (*args.data, *(getattr(args, "validation", None) or ())):
        check_secretless(path)  # before any error can name it
    given = [option for option in READING if hasattr(args, option.dest)]
    kind, format = _kind(args, given, formats, model)
    if kind not in formats:
        raise ConfigError(
            f"--data {args.data[0]}: {kind} is no format of the task; expected "
            f"{' or '.join(formats)} files (--format says what files are, whatever their names)"
        )
    if kind == "text" and not hasattr(args, "text"):
        raise ConfigError(
            f"--data {args.data[0]}: plain text has no true outputs; it can only be predicted on"
        )
    for option in given:
        if kind not in option.formats:
            raise ConfigError(
                f"{option.flag} is for {' and '.join(option.formats)} files, these are {kind}"
            )
    options = {option.name: getattr(args, option.dest) for option in given}
    return options | ({} if format is None else {"format": format})


def _all_end(paths: Sequence[str], *endings: str) -> bool:
    return all(unpacked_name(path).endswith(endings) for path in paths)


def _kind(
    args: argparse.Namespace,
    given: list[Reading],
    formats: tuple[str, ...],
    model: Model | None,
) -> tuple[str, str | None]:
    """What the files are, and the format to name for it, None where their own names do."""
    format = getattr(args, "format", None)
    plain = hasattr(args, "text") and _all_end(args.data, TEXT)
    if format is None:
        # Options of one table format say that the files are of it.
        meant = [option.formats[0] for option in given if option.formats[0] in TABLES]
        format = meant[0] if meant else None
    if format is None and formats[0] == "treebank":  # trees in brackets have files of any name
        format = "text" if plain else "jsonl" if _all_end(args.data, *JSONL) else "treebank"
    noted = None if model is None else model.facts.get("data")
    if format is None and noted is not None:
        format = noted["options"].get("format")
    if format is None and plain and "text" in formats:
        format = "text"
    kind = kind_of_files(args.data, format, tables="svmlight" in formats)
    assert kind is not None
    return kind, format
