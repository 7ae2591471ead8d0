"""The options of readers that belong to no structure, by their names in open_data."""

from __future__ import annotations

from dataclasses import dataclass

from distsvm.kinds import Constant, names, text, truth
from distsvm.options import option


@dataclass
class SvmlightOptions:
    """The options of SvmlightData."""

    dtype: str = option(
        kind=Constant("float32"), flag="--float32",
        help="svmlight: keep features in half the memory",
    )  # fmt: skip


@dataclass
class ParquetOptions:
    """The options of ParquetData and ParquetValues."""

    label: str = option(
        kind=text, flag="--label-column", metavar="NAME",
        usual="label, or y where examples are no rows of features",
        help="Parquet: the column of labels; for predictions it is not read, and is no feature",
    )  # fmt: skip
    features: str = option(
        kind=text, flag="--features-column", metavar="NAME",
        usual="features, if there is one, or x where examples are no rows of features",
        help="Parquet: the column with all features of a row",
    )  # fmt: skip
    columns: list[str] = option(
        kind=names, flag="--feature-columns", metavar="NAME,…",
        usual="all columns of numbers but label and weight",
        help="Parquet: one column a feature",
    )  # fmt: skip
    weight: str = option(
        kind=text, flag="--weight-column", metavar="NAME",
        help="Parquet: the column of example weights; at a given C, 2 counts an example twice",
    )  # fmt: skip


@dataclass
class TextOptions:
    """The options of TextData."""

    tokens: bool = option(
        kind=truth,
        help="plain text: blanks separate the words, which are not split further",
    )  # fmt: skip
