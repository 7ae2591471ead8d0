"""The options of data files, as open_data takes them."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.readers import names
from distsvm.data import Dataset, open_data, open_inputs
from distsvm.errors import ConfigError

# Dest of each option to the argument of open_data and of the readers.
_PARQUET = {
    "label_column": "label",
    "features_column": "features",
    "feature_columns": "columns",
    "weight_column": "weight",
}


def add_data(
    parser: argparse.ArgumentParser, *, required_labels: bool = True
) -> argparse._ArgumentGroup:
    """Add --data and how to read it; returns the group for more of the kind."""
    group = parser.add_argument_group("data")
    absent = argparse.SUPPRESS
    group.add_argument(
        "--data", required=True, nargs="+", metavar="FILE",
        help="files, folders or patterns: svmlight (.svm .svmlight .libsvm .txt …, also .gz), "
        "Parquet or Arrow (.parquet .pq .arrow .feather)",
    )  # fmt: skip
    group.add_argument(
        "--format", metavar="NAME", default=absent,
        help="svmlight or parquet, where the names of the files do not say it",
    )  # fmt: skip
    group.add_argument(
        "--float32", dest="dtype", action="store_const", const="float32", default=absent,
        help="svmlight: keep features in half the memory",
    )  # fmt: skip
    label = "" if required_labels else "; it is not read, only kept apart from the features"
    group.add_argument(
        "--label-column", metavar="NAME", default=absent,
        help=f"Parquet: the column of labels. Default: label{label}",
    )  # fmt: skip
    group.add_argument(
        "--features-column", metavar="NAME", default=absent,
        help="Parquet: the column with all features of a row. Default: features, if there is one",
    )  # fmt: skip
    group.add_argument(
        "--feature-columns", type=names, metavar="NAME,…", default=absent,
        help="Parquet: one column a feature. Default: all columns of numbers but label and weight",
    )  # fmt: skip
    group.add_argument(
        "--weight-column", metavar="NAME", default=absent,
        help="Parquet: the column of example weights; a weight of 2 is the example twice",
    )  # fmt: skip
    return group


def data_options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of open_data that were given; a column's name means Parquet."""
    options = {name: getattr(args, dest) for dest, name in _PARQUET.items() if hasattr(args, dest)}
    format = getattr(args, "format", None)
    if options and "dtype" in args:
        raise ConfigError("--float32 is for svmlight files, columns are for Parquet files")
    if options and format in ("svmlight", "libsvm"):
        raise ConfigError(f"--format {format} has no columns to name")
    if "dtype" in args:
        options["dtype"] = args.dtype
    if options:
        format = format or ("svmlight" if "dtype" in args else "parquet")
    return options | ({} if format is None else {"format": format})


def labelled_data(args: argparse.Namespace) -> Dataset:
    """The files with their labels."""
    return open_data(args.data, **data_options(args))


def unlabelled_data(args: argparse.Namespace) -> Dataset:
    """The files without labels, whether they have some or not."""
    return open_inputs(args.data, **data_options(args))
