"""The options of classes: cost matrix, intercept, scaling and class weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.cli.parser import ABSENT, Group
from distsvm.cli.parts import Options
from distsvm.cli.small_files import read_text
from distsvm.errors import ConfigError
from distsvm.feature_maps.options import (
    OF_BASES,
    check_named,
    low_rank_map,
    options_with_kernel,
    without_map,
)
from distsvm.kinds import Constant
from distsvm.options import declared
from distsvm.oracles.task import Task
from distsvm.structures.classes.kernel_task import KernelBinaryTask, KernelMulticlassTask
from distsvm.structures.classes.task import BinaryTask, ClassTask, MulticlassTask

WITH_KERNEL: dict[type[Task], type[Task]] = {
    BinaryTask: KernelBinaryTask,
    MulticlassTask: KernelMulticlassTask,
}
"""What a task becomes where a kernel function is named."""


def add(group: Group) -> None:
    group.flag(
        "--no-intercept", Constant(0.0), "no constant feature", dest="intercept_scaling",
        default=ABSENT,
    )  # fmt: skip


def make(
    task_class: type[Task], given: dict[str, Any], words: Sequence[str] = ("zero-one",)
) -> Task:
    """Return the task; losses that are none of these words are the file of a cost matrix."""
    if given.get("losses", "zero-one") not in words:
        given = {**given, "losses": cost_matrix(given["losses"], words)}
    check_named(given)
    if OF_BASES.keys() & given.keys():
        made: dict[str, Any] = {"features": low_rank_map(given)}
        return task_class(**without_map(given), **made)
    task_class = WITH_KERNEL.get(task_class, task_class) if "kernel" in given else task_class
    return task_class(**given)


def files(given: dict[str, Any], words: Sequence[str] = ("zero-one",)) -> dict[str, Path]:
    losses = given.get("losses", "zero-one")
    return {} if losses in words else {"losses": Path(losses)}


def cost_matrix(path: str, words: Sequence[str] = ("zero-one",)) -> np.ndarray:
    """Return the matrix in a file of numbers with commas or blanks between them."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise ConfigError(
            f"--loss {path}: expected {', '.join(words)}, or a file with a cost matrix; there is "
            "no such file"
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
        raise ConfigError(f"--loss {path}: the file has no numbers")
    return np.array(rows)


OPTIONS = Options({**declared(ClassTask), **options_with_kernel()}, add=add, make=make, files=files)
