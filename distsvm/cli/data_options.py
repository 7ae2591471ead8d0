"""The options of data files: their flags, and the arguments of open_data that they become."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.formatting import size
from distsvm.cli.parser import ABSENT, Group, Parser
from distsvm.cli.parts import all_structures, by_title
from distsvm.data.files import COMPRESSED
from distsvm.data.formats import TEXT, ending_of, file_formats, formats_read, reader_options
from distsvm.data.opening import kind_of_files, open_data
from distsvm.errors import ConfigError
from distsvm.kinds import Several, files, text
from distsvm.model import Model
from distsvm.options import Option
from distsvm.oracles.structure import Structure
from distsvm.oracles.task import Task
from distsvm.registry import structure_of
from distsvm.uris import check_secretless

TABLES = ("svmlight", "parquet")


def _dest(own: Option) -> str:
    """Return the option's destination: its key, as other options may have its name."""
    return own.key.replace("-", "_") or own.name


def add_data(parser: Parser, *, required_labels: bool = True, trained: bool = False) -> Group:
    """Add --data and the options of readers; return their group.

    With `trained`, the help says that a model's options are the defaults. Without
    `required_labels`, plain text is accepted too, by --text, in files, or on standard input.
    """
    also = " Options that are not given are those of training." if trained else ""
    group = parser.group("data", f"How files are read.{also}")
    endings = {one.title: _endings(one, required_labels) for one in all_structures()}
    plain = ", ".join(one.title for one in all_structures() if TEXT in formats_read(one))
    group.flag(
        "--data", files, required=required_labels, metavar="FILE",
        help="files, folders or patterns, here or elsewhere (s3://bucket/folder/*.svm). "
        f"{by_title(endings)}. All text may be compressed ({' '.join(COMPRESSED)})"
        + ("" if required_labels else f". Plain text ({plain}) has one sentence a line, also on "
           "standard input (-)"),
    )  # fmt: skip
    if not required_labels:
        group.flag(
            "--text", Several(text), metavar="SENTENCE",
            help=f"{plain}: plain sentences, instead of --data. They are split at blanks, and "
            "punctuation at the ends of a word is a separate word",
        )  # fmt: skip
    group.flag(
        "--format", text, metavar="NAME", default=ABSENT,
        help=f"{', '.join(file_formats())}. Default: as the names of the files end",
    )  # fmt: skip
    for own in reader_options():
        if own.flag and _fits(own, required_labels):
            group.declared(own, dest=_dest(own))
    return group


def _endings(structure: Structure, labelled: bool) -> str:
    """Return the formats that tasks of the structure read, with their first endings."""
    formats = file_formats()
    return ", ".join(
        f"{name} ({' '.join(list(filter(None, formats[name].endings))[:3])})"
        for name in formats_read(structure)
        if formats[name].labelled or not labelled
    )


def _fits(own: Option, labelled: bool) -> bool:
    """Return whether the option is for data with outputs, or, without, for data to predict on."""
    formats = [file_formats()[name] for name in own.of]
    if labelled:
        return any(one.labelled for one in formats)
    return not all(own.name in one.filters for one in formats)  # every sentence gets a prediction


def loading_words(args: argparse.Namespace, task: Task, options: dict[str, Any]) -> str:
    """Return the words for loading, with the size of the files for training and validation."""
    given = [paths for paths in (args.data, args.validation) if paths is not None]
    n_bytes = sum(open_data(paths, tables=task.tables, **options).n_bytes or 0 for paths in given)
    return f"loading and scanning {size(n_bytes)} of data"


def data_options(
    args: argparse.Namespace, task: Task, model: Model | None = None
) -> dict[str, Any]:
    """Return the given arguments of open_data; refuse those that do not fit the files.

    If the first format that the task reads has files of any name, it is the format, unless all
    files are named as another format of the task. Otherwise the format of the model's training
    files comes first, and the names of the files second.
    """
    for path in (*args.data, *(getattr(args, "validation", None) or ())):
        check_secretless(path)  # before any error can name it
    given = [own for own in reader_options() if hasattr(args, _dest(own))]
    formats = formats_read(structure_of(task))
    kind, format = _kind(args, given, formats, task, model)
    if kind not in formats:
        raise ConfigError(
            f"--data {args.data[0]}: {kind} is no format of the task; expected "
            f"{' or '.join(formats)} files (--format names the format of files with any name)"
        )
    if kind == TEXT and not hasattr(args, "text"):
        raise ConfigError(
            f"--data {args.data[0]}: plain text has no true outputs; it can only be predicted on"
        )
    for own in given:
        if kind not in own.of:
            flag = own.flag or f"--{own.name.replace('_', '-')}"
            raise ConfigError(f"{flag} is for {' and '.join(own.of)} files, these are {kind}")
    options = {own.name: getattr(args, _dest(own)) for own in given}
    return options | ({} if format is None else {"format": format})


def _kind(
    args: argparse.Namespace,
    given: list[Option],
    reads: tuple[str, ...],
    task: Task,
    model: Model | None,
) -> tuple[str, str | None]:
    """Return the files' format, and that for open_data; None where names of files suffice."""
    formats = file_formats()

    def are_all(name: str) -> bool:
        return all(ending_of(path) in formats[name].endings for path in args.data)

    format = getattr(args, "format", None)
    plain = hasattr(args, "text") and TEXT in reads and are_all(TEXT)
    if format is None:
        # An option of a table format decides on that format.
        meant = [own.of[0] for own in given if own.of[0] in TABLES]
        format = meant[0] if meant else None
    if format is None and formats[reads[0]].any_name:
        others = [name for name in reads[1:] if are_all(name) and (plain or name != TEXT)]
        format = others[0] if others else reads[0]
    noted = None if model is None else model.facts.get("data")
    if format is None and noted is not None:
        format = noted["options"].get("format")
    if format is None and plain:
        format = TEXT
    kind = kind_of_files(args.data, format, tables=task.tables)
    assert kind is not None
    return kind, format
