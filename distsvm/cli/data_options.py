"""The options of data files, as open_data takes them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from distsvm.cli.readers import names
from distsvm.data import Dataset, open_data
from distsvm.data.readers.parquet import ParquetData
from distsvm.data.readers.tables import opened_table
from distsvm.data.shard import Shard, ShardSpec
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
    options = data_options(args)
    dataset = open_data(args.data, **options)
    if not isinstance(dataset, ParquetData):
        return open_data(args.data, labelled=False, **options)
    # A label column must be named to be told from the features, and may be missing.
    label = options.get("label", "label")
    with opened_table(dataset.paths[0]) as table:
        if label in table.schema.names:
            return Unlabelled(dataset)
    return open_data(args.data, **options | {"label": None})


@dataclass(frozen=True)
class Unlabelled:
    """A data set whose labels nobody should look at, as they may be anything."""

    dataset: Dataset

    def specs(
        self, n_shards: int | None, cost: Callable[[Any], float] | None = None
    ) -> list[ShardSpec]:
        return [UnlabelledSpec(spec) for spec in self.dataset.specs(n_shards, cost)]


@dataclass(frozen=True)
class UnlabelledSpec:
    """How to load a shard without its labels."""

    spec: ShardSpec

    def load(self) -> Shard:
        return replace(self.spec.load(), y=None)
