"""The options of data files, as open_data takes them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distsvm.cli.parser import ABSENT, Group, Parser
from distsvm.cli.small_files import read_text
from distsvm.data.files import unpacked_name
from distsvm.data.opening import FORMATS, JSONL, TEXT, kind_of_files, open_data
from distsvm.errors import ConfigError
from distsvm.kinds import (
    Constant,
    Kind,
    Plain,
    Several,
    Truth,
    Unfit,
    files,
    names,
    text,
    truth,
    whole,
)  # fmt: skip
from distsvm.model import Model
from distsvm.options import Option, declared, option
from distsvm.oracles.task import Task
from distsvm.uris import check_secretless
from distsvm.wording import Message, message

TABLES = ("svmlight", "parquet")
SENTENCES = ("conll", "conllu")


class ColumnOrName(Plain):
    """The number of a column, or its name."""

    expected = Message("a whole number, or a name")

    def parse(self, text: str) -> int | str:
        try:
            return int(text)
        except ValueError:
            return text

    def from_toml(self, found: Any) -> int | str:
        if not isinstance(found, (int, str)) or isinstance(found, bool):
            raise TypeError
        return found


class TemplateText(Kind):
    """Templates, or @FILE with one a line."""

    def parse(self, text: str) -> str:
        if not text.startswith("@"):
            return text
        try:
            return read_text(text[1:])
        except (OSError, UnicodeDecodeError) as error:
            raise Unfit(message("the file cannot be read ({})", error)) from error


@dataclass
class Reading:
    """What readers of files take beside the paths: the arguments of open_data, by their names.

    Each has the formats that it is for.
    """

    dtype: str = option(
        kind=Constant("float32"), flag="--float32", of=("svmlight",),
        help="svmlight: keep features in half the memory",
    )  # fmt: skip
    label: str = option(
        kind=text, flag="--label-column", metavar="NAME", of=("parquet",),
        usual="label, or y where examples are no rows of features",
        help="Parquet: the column of labels; it is not read for predictions, only kept apart from "
        "the features",
    )  # fmt: skip
    features: str = option(
        kind=text, flag="--features-column", metavar="NAME", of=("parquet",),
        usual="features, if there is one, or x where examples are no rows of features",
        help="Parquet: the column with all features of a row",
    )  # fmt: skip
    columns: list[str] = option(
        kind=names, flag="--feature-columns", metavar="NAME,…", of=("parquet",),
        usual="all columns of numbers but label and weight",
        help="Parquet: one column a feature",
    )  # fmt: skip
    weight: str = option(
        kind=text, flag="--weight-column", metavar="NAME", of=("parquet",),
        help="Parquet: the column of example weights; at a given C, 2 is the example twice",
    )  # fmt: skip
    tag: int | str = option(
        kind=ColumnOrName(), metavar="COLUMN", of=SENTENCES, usual="-1; CoNLL-U: xpos",
        help="CoNLL: the column of the tag, from 0, or from the end if it is negative. CoNLL-U: "
        "its name, such as upos",
    )  # fmt: skip
    word: int = option(
        kind=whole(), metavar="COLUMN", of=("conll",), usual="0",
        help="CoNLL: the column of the word, from 0",
    )  # fmt: skip
    templates: str = option(
        kind=TemplateText(), metavar="TEXT", of=SENTENCES, usual="default",
        help="CoNLL, CoNLL-U: the features of a token, such as 'word[-1..+1]; suffix(1..3)'; or "
        "default, or pos; or @FILE with one template a line (the language is described in "
        "distsvm/data/templates.py)",
    )  # fmt: skip
    hash_bits: int = option(
        kind=whole(), flag="", of=SENTENCES, help="as the option of the task says"
    )
    max_length: int = option(
        kind=whole(least=1), metavar="N", of=("treebank",), usual="none is left out",
        help="trees: leave out sentences of more words, of {validation} too. A model does not keep "
        "it: predict and evaluate take all sentences",
    )  # fmt: skip
    strip_empty: bool = option(
        kind=Truth(both=True), of=("treebank",), usual="yes",
        help="trees: take out empty elements (-NONE-)",
    )  # fmt: skip
    strip_functions: bool = option(
        kind=Truth(both=True), of=("treebank",), usual="yes",
        help="trees: take function tags and indices off labels (NP-SBJ-1 → NP)",
    )  # fmt: skip
    tokens: bool = option(
        kind=truth, of=("text",),
        help="plain text: words have blanks between them already, and are not split further",
    )  # fmt: skip


def _dest(own: Option) -> str:
    """Where the option is parsed to; its name alone might mean something else."""
    return own.key.replace("-", "_") or own.name


def add_data(parser: Parser, *, required_labels: bool = True, trained: bool = False) -> Group:
    """Add --data and how to read it; returns the group for more of the kind.

    With `trained`, a model's options are the defaults. Without `required_labels`, plain text may be
    given too, here, in files, or on standard input.
    """
    also = " What is not given is as it was in training." if trained else ""
    group = parser.group("data", f"How files are read.{also}")
    group.flag(
        "--data", files, required=required_labels, metavar="FILE",
        help="files, folders or patterns, here or elsewhere (s3://bucket/folder/*.svm). Classes: "
        "svmlight (.svm .svmlight .libsvm .txt …), Parquet or Arrow (.parquet .pq .arrow "
        ".feather), .jsonl. Sequences: .conll, .conllu, .svmhmm, .jsonl, Parquet. Trees: in "
        "brackets (.mrg .tree .trees .brackets .ptb). All text may be packed (.gz .bz2 .xz)"
        + ("" if required_labels else ". Sequences and trees over words: .txt, plain text with one "
           "sentence a line, also from standard input (-)"),
    )  # fmt: skip
    if not required_labels:
        group.flag(
            "--text", Several(text), metavar="SENTENCE",
            help="sequences, trees over words: plain sentences, instead of --data. They are split "
            "at blanks, and punctuation at the ends of a word is a word of its own",
        )  # fmt: skip
    group.flag(
        "--format", text, metavar="NAME", default=ABSENT,
        help=f"{', '.join(dict.fromkeys(FORMATS.values()))}, where the names of the files do not "
        "say it",
    )  # fmt: skip
    # A prediction is made for every sentence, and plain text is there to predict on.
    left_out = "tokens" if required_labels else "max_length"
    for name, own in declared(Reading).items():
        if own.flag and name != left_out:
            group.declared(own, dest=_dest(own))
    return group


def n_bytes_found(args: argparse.Namespace, task: Task, options: dict[str, Any]) -> int:
    """The size of the files to train on and to validate with: looked for, and not yet read."""
    n_bytes = 0
    for paths in (args.data, args.validation):
        if paths is not None:
            n_bytes += open_data(paths, tables=task.tables, **options).n_bytes or 0
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
    given = [own for own in declared(Reading).values() if hasattr(args, _dest(own))]
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
    for own in given:
        if kind not in own.of:
            flag = own.flag or f"--{own.name.replace('_', '-')}"
            raise ConfigError(f"{flag} is for {' and '.join(own.of)} files, these are {kind}")
    options = {own.name: getattr(args, _dest(own)) for own in given}
    return options | ({} if format is None else {"format": format})


def _all_end(paths: Sequence[str], *endings: str) -> bool:
    return all(unpacked_name(path).endswith(endings) for path in paths)


def _kind(
    args: argparse.Namespace,
    given: list[Option],
    formats: tuple[str, ...],
    model: Model | None,
) -> tuple[str, str | None]:
    """What the files are, and the format to name for it, None where their own names do."""
    format = getattr(args, "format", None)
    plain = hasattr(args, "text") and _all_end(args.data, TEXT)
    if format is None:
        # Options of one table format say that the files are of it.
        meant = [own.of[0] for own in given if own.of[0] in TABLES]
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
