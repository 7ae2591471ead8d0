"""A function of each shard of some files, in order, on any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from distsvm.cli.output import Output
from distsvm.cli.progress import COMPILING
from distsvm.data import Dataset
from distsvm.kernels.compiling import on_first_compile
from distsvm.model import Model


def over_shards(
    function: Callable[..., Any],
    model: Model,
    data: Dataset,
    place: dict[str, Any],
    output: Output,
) -> Iterator[Any]:
    """function(worker, w) of each shard, in order; few shards are in memory at a time.

    Parameters
    ----------
    function : a function of a module, so that it can be sent to processes
    place : executor, n_workers and executor_options, as given_config gives them
    """
    with on_first_compile(lambda: output.note(COMPILING)):
        results = model.over_pieces(function, model.pieces(data), **place)
        with closing(results):  # type: ignore[type-var]
            yield from results
