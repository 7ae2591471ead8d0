"""A function of each shard of some files, in order, on any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from distsvm.blas import one_thread
from distsvm.cli.output import Output
from distsvm.cli.progress import COMPILING
from distsvm.data import Dataset
from distsvm.data.shard import ShardSpec
from distsvm.executors import make_executor
from distsvm.kernels.compiling import on_first_compile
from distsvm.model import Model
from distsvm.workers.shard_worker import ShardWorker


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
    specs = data.specs(None)
    name = place.get("executor", "auto") if len(specs) > 1 else "serial"
    n_workers = place.get("n_workers") if len(specs) > 1 else None
    options = place.get("executor_options", {}) if len(specs) > 1 else {}
    executor = make_executor(name, n_workers, compiled=model.task.compiled, **options)
    with one_thread(), executor, on_first_compile(lambda: output.note(COMPILING)):
        results = executor.map(_call, specs, function, model.task, model.w)
        with closing(results):  # type: ignore[type-var]
            yield from results


def _call(spec: ShardSpec, function: Callable[..., Any], task: Any, w: Any) -> Any:
    worker = ShardWorker(spec)
    worker.scan(task)  # the same checks as in training
    worker.attach(task)
    return function(worker, w)
