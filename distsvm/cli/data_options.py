"""The options of data files, as open_data takes them."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.parts import Reading, all_structures, by_title, options_of
from distsvm.cli.readers import names
from distsvm.data.files import PACKED
from distsvm.data.formats import TEXT, ending_of, file_formats, formats_read
from distsvm.data.opening import kind_of_files, open_data
from distsvm.errors import ConfigError
from distsvm.model import Model
from distsvm.oracles.structure import Structure
from distsvm.oracles.task import Task
from distsvm.registry import structure_of
from distsvm.uris import check_secretless

TABLES = ("svmlight", "parquet")
READING = (
    Reading("--float32", "dtype", "dtype", ("svmlight",)),
    Reading("--label-column", "label_column", "label", ("parquet",)),
    Reading("--features-column", "features_column", "features", ("parquet",)),
    Reading("--feature-columns", "feature_columns", "columns", ("parquet",)),
    Reading("--weight-column", "weight_column", "weight", ("parquet",)),
    Reading("--tokens", "tokens", "tokens", (TEXT,)),
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
    endings = {one.title: _endings(one, required_labels) for one in all_structures()}
    plain = [one.title for one in all_structures() if TEXT in formats_read(one)]
    group.add_argument(
        "--data", required=required_labels, nargs="+", metavar="FILE",
        help="files, folders or patterns, here or elsewhere (s3://bucket/folder/*.svm). "
        f"{by_title(endings)}. All text may be packed ({' '.join(PACKED)})"
        + ("" if required_labels else f". Plain text ({', '.join(plain)}) has one sentence a line, "
           "also from standard input (-)"),
    )  # fmt: skip
    if not required_labels:
        _add_text(group, ", ".join(plain))
    group.add_argument(
        "--format", metavar="NAME", default=absent,
        help=f"{', '.join(file_formats())}, where the names of the files do not say it",
    )  # fmt: skip
    _add_tables(group, required_labels)
    for options in dict.fromkeys(map(options_of, all_structures())):
        options.add_reading(group, required_labels)
    return group


def _endings(structure: Structure, labelled: bool) -> str:
    """The formats that tasks of the structure read, with the first of their endings."""
    formats = file_formats()
    return ", ".join(
        f"{name} ({' '.join(list(filter(None, formats[name].endings))[:3])})"
        for name in formats_read(structure)
        if formats[name].labelled or not labelled
    )


def _add_text(group: argparse._ArgumentGroup, titles: str) -> None:
    group.add_argument(
        "--text", nargs="+", metavar="SENTENCE",
        help=f"{titles}: plain sentences, instead of --data. They are split at blanks, and "
        " punctuation at the ends of a word is a word of its own",
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


def n_bytes_found(args: argparse.Namespace, task: Task, options: dict[str, Any]) -> int:
    """The size of the files to train on and to validate with: looked for, and not yet read."""
    n_bytes = 0
    for files in (args.data, args.validation):
        if files is not None:
            n_bytes += open_data(files, tables=task.tables, **options).n_bytes or 0
    return n_bytes


def data_options(
    args: argparse.Namespace, task: Task, model: Model | None = None
) -> dict[str, Any]:
    """The arguments of open_data that were given; what does not fit the files is refused by name.

    Parameters
    ----------
    task : whose examples the files hold
        Where the first format that it reads has files of any name, they are of that unless all are
        named as another that it reads; otherwise the names decide.
    model : Model, optional
        Its training files' format comes before that.
    """
    for path in (*args.data, *(getattr(args, "validation", None) or ())):
        check_secretless(path)  # before any error can name it
    options = dict.fromkeys(map(options_of, all_structures()))
    reading = [*READING, *(option for one in options for option in one.reading)]
    given = [option for option in reading if hasattr(args, option.dest)]
    formats = formats_read(structure_of(task))
    kind, format = _kind(args, given, formats, task, model)
    if kind not in formats:
        raise ConfigError(
            f"--data {args.data[0]}: {kind} is no format of the task; expected "
            f"{' or '.join(formats)} files (--format says what files are, whatever their names)"
        )
    if kind == TEXT and not hasattr(args, "text"):
        raise ConfigError(
            f"--data {args.data[0]}: plain text has no true outputs; it can only be predicted on"
        )
    for option in given:
        if kind not in option.formats:
            raise ConfigError(
                f"{option.flag} is for {' and '.join(option.formats)} files, these are {kind}"
            )
    found = {option.name: getattr(args, option.dest) for option in given}
    return found | ({} if format is None else {"format": format})


def _kind(
    args: argparse.Namespace,
    given: list[Reading],
    reads: tuple[str, ...],
    task: Task,
    model: Model | None,
) -> tuple[str, str | None]:
    """What the files are, and the format to name for it, None where their own names do."""
    formats = file_formats()

    def are_all(name: str) -> bool:
        return all(ending_of(path) in formats[name].endings for path in args.data)

    format = getattr(args, "format", None)
    plain = hasattr(args, "text") and TEXT in reads and are_all(TEXT)
    if format is None:
        # Options of one table format say that the files are of it.
        meant = [option.formats[0] for option in given if option.formats[0] in TABLES]
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
