"""The options of classes: cost matrix, intercept, scaling and class weights."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.cli.parts import Options
from distsvm.cli.readers import class_weight, number
from distsvm.cli.small_files import read_text
from distsvm.errors import ConfigError
from distsvm.oracles.task import Task

LOSSES = (
    "zero-one (default), Δ(y, ŷ) = [y ≠ ŷ]; or a file with a cost matrix, one row a true class and "
    "one column a predicted one, in increasing order of labels, with commas or spaces between them"
)
FLAGS = {
    "intercept_scaling": "--intercept-scaling",
    "scale": "--scale",
    "class_weight": "--class-weight",
}


def add(group: argparse._ArgumentGroup) -> None:
    absent = argparse.SUPPRESS
    group.add_argument(
        "--intercept-scaling", type=number, metavar="V", default=absent,
        help="the value of the constant feature whose weight is the intercept. Default: 1",
    )  # fmt: skip
    group.add_argument(
        "--no-intercept", dest="intercept_scaling", action="store_const", const=0.0,
        default=absent, help="no constant feature",
    )  # fmt: skip
    group.add_argument(
        "--scale", action="store_true", default=absent,
        help="divide every feature by its largest absolute value in the training data; the model "
        "keeps the divisors",
    )  # fmt: skip
    group.add_argument(
        "--class-weight", type=class_weight, metavar="WEIGHTS", default=absent,
        help="balanced, or LABEL=WEIGHT,…: multiplies the weights of a class's examples",
    )  # fmt: skip


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    _check_amounts(given)
    if given.get("losses", "zero-one") != "zero-one":
        given = {**given, "losses": cost_matrix(given["losses"])}
    return task_class(**given)


def files(given: dict[str, Any]) -> dict[str, Path]:
    losses = given.get("losses", "zero-one")
    return {} if losses == "zero-one" else {"losses": Path(losses)}


def _check_amounts(given: dict[str, Any]) -> None:
    """Refuse what is wrong whatever the data is."""
    intercept = given.get("intercept_scaling", 1.0)
    if not 0 <= intercept < math.inf:
        raise ConfigError(f"--intercept-scaling {intercept}: expected a number ≥ 0")
    weights = given.get("class_weight", "balanced")
    for label, weight in () if isinstance(weights, str) else weights.items():
        if not 0 <= weight < math.inf:
            raise ConfigError(f"--class-weight {label}={weight}: expected a number ≥ 0")


def cost_matrix(path: str) -> np.ndarray:
    """The matrix in a file of numbers with commas or blanks between them."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise ConfigError(
            f"--loss {path}: expected zero-one, or a file with a cost matrix; there is no such file"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--loss {path}: cannot be read ({error})") from error
    rows: list[list[float]] = []
    for i, line in enumerate(text.splitlines()):
        cells = line.partition("#")[0].replace(",", " ").replace(";", " ").split()
        try:
            row = [float(cell) for cell in cells]
        except ValueError as error:
            raise ConfigError(f"--loss {path}, line {i + 1}: {error}") from None
        if row and rows and len(row) != len(rows[0]):
            raise ConfigError(
                f"--loss {path}, line {i + 1}: {len(row)} numbers, expected {len(rows[0])}"
            )
        if row:
            rows.append(row)
    if not rows:
        raise ConfigError(f"--loss {path}: the file holds no numbers")
    return np.array(rows)


OPTIONS = Options(LOSSES, ("losses", "loss_scale"), FLAGS, add, make=make, files=files)
