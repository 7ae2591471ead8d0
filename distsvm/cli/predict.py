"""`distsvm predict`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from distsvm.cli import exits
from distsvm.cli.data_options import add_data, unlabelled_data
from distsvm.cli.formatting import counted, seconds
from distsvm.cli.options import WHERE, add_place, check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.streaming import over_shards
from distsvm.cli.targets import written_file
from distsvm.errors import ConfigError
from distsvm.model import load_model
from distsvm.tasks.base import Task
from distsvm.tasks.class_oracle import ClassOracle
from distsvm.tasks.classes import ClassTask
from distsvm.workers.shard_worker import ShardWorker


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "distsvm predict --model DIR --data FILE … --output FILE [options]"
    parser.add_argument("--model", required=True, metavar="DIR", help="folder of the model")
    parser.add_argument(
        "--output", required=True, metavar="FILE",
        help="one predicted label a line, in the order of the data; - for standard output",
    )  # fmt: skip
    parser.add_argument(
        "--scores", action="store_true",
        help="write a table with tabs instead: a head line, then the label and the score "
        "⟨w, Ψ(x, ŷ)⟩ of every class",
    )  # fmt: skip
    add_data(parser, required_labels=False)
    add_place(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    started, n = time.perf_counter(), 0
    place = given_config(args, WHERE)
    check_config(place)
    model = load_model(args.model)
    if args.scores and not isinstance(model.task, ClassTask):
        raise ConfigError("--scores is only for models of classes")
    data = unlabelled_data(args)
    shards = over_shards(
        _scored if args.scores else ShardWorker.predict, model, data, place, output
    )
    with written_file(args.output, output) as file:
        if args.scores:
            file.write("\t".join(["label", *map(as_text, model.task.labels.tolist())]) + "\n")  # type: ignore[attr-defined]
        for found in shards:
            lines = list(_scored_lines(*found) if args.scores else _lines(model.task, found))
            file.write("".join(f"{line}\n" for line in lines))
            n += len(lines)
    elapsed_s = time.perf_counter() - started
    if args.output != "-":
        facts = {"n_examples": n, "output": args.output, "seconds": elapsed_s}
        output.record("result", facts)
        output.say(f"{counted(n, 'prediction')} in {seconds(elapsed_s)}: {args.output}")
    return exits.DONE


def as_text(label: Any) -> str:
    """A label as files hold it; an output that is not a label, as JSON."""
    return str(label) if isinstance(label, (str, int, float, bool)) else json.dumps(label)


def _scored(worker: ShardWorker, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    oracle = worker.oracle
    assert isinstance(oracle, ClassOracle)
    scores = oracle.scores(oracle.view(w), np.arange(oracle.n))
    return oracle.public(np.argmax(scores, axis=1)), scores


def _lines(task: Task, outputs: Sequence[Any] | np.ndarray) -> Iterator[str]:
    if isinstance(outputs, np.ndarray):
        return map(as_text, outputs.tolist())
    return (as_text(task.encode_output(output)) for output in outputs)


def _scored_lines(labels: np.ndarray, scores: np.ndarray) -> Iterator[str]:
    for label, row in zip(labels.tolist(), scores.tolist(), strict=True):
        yield "\t".join([as_text(label), *(f"{score!r}" for score in row)])
