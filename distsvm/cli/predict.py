"""`distsvm predict`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from itertools import tee

from distsvm.cli import exits
from distsvm.cli.data_options import add_data, data_options
from distsvm.cli.formatting import count, counted, seconds
from distsvm.cli.models import add_model, read_model
from distsvm.cli.options import add_place, given_place
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.parts import Predictions, add_parts, check_model_flags, helps, part_of
from distsvm.cli.streaming import over_pieces
from distsvm.cli.targets import written_file
from distsvm.data.formats import TEXT
from distsvm.data.shard import ShardSpec
from distsvm.data.words import lines_of, sentences_of
from distsvm.errors import ConfigError
from distsvm.kinds import path
from distsvm.model import Model
from distsvm.registry import structure_of


def add_arguments(parser: Parser) -> None:
    parser.usage = (
        "distsvm predict --model DIR --data FILE … --output FILE [options]\n"
        "       distsvm predict --model DIR --text SENTENCE … --output - [options]\n"
        "       distsvm predict CONFIG.toml [options]"
    )
    add_model(parser)
    group = parser.group("output of predictions")
    group.flag(
        "--output", path, metavar="FILE",
        help="one prediction a line, in the order of the data; - for standard output. "
        f"{helps(Predictions)}. Every example has its line",
    )  # fmt: skip
    add_parts(group, Predictions)
    add_data(parser, required_labels=False, trained=True)
    add_place(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    started, n = time.perf_counter(), 0
    place = given_place(args)
    if (args.text is None) == (args.data is None):
        raise ConfigError("--data or --text is required, and only one of them")
    model = read_model(args.model, args.task)
    predictions = part_of(structure_of(model.task), Predictions)
    check_model_flags(args, predictions)
    writer = predictions.writer(args, model, output)
    target = args.output or ("-" if writer.on_screen else None)
    if target is None and writer.needs_file:
        raise ConfigError("--output is missing: where to write the predictions, - for here")
    pieces = _pieces(args, model)
    # Workers and the writer both need each piece; tee keeps the few between them.
    sent, own = (pieces, pieces) if isinstance(pieces, Sequence) else tee(pieces)
    doing = "" if target == "-" else "predicting"  # progress and predictions would share a screen
    results = over_pieces(writer.function, model, sent, place, output, doing=doing)
    with written_file(target or os.devnull, output) as file:
        file.write(writer.head)
        for found, piece in zip(results, own, strict=True):
            for text in writer.texts(piece, found):
                file.write(text)
                n += 1
    others = writer.finish()
    if writer.n_fallbacks:
        output.note(f"{count(writer.n_fallbacks)} of {counted(n, 'prediction')}: {writer.fallback}")
    elapsed_s = time.perf_counter() - started
    if target != "-":
        files = [*([] if target is None else [target]), *others]
        facts = {"n_examples": n, "n_fallbacks": writer.n_fallbacks,
                 "output": target, "files": files, "seconds": elapsed_s}  # fmt: skip
        output.record("result", facts)
        output.say(f"{counted(n, 'prediction')} in {seconds(elapsed_s)}: {', '.join(files)}")
    return exits.DONE


def _pieces(args: argparse.Namespace, model: Model) -> Iterable[ShardSpec]:
    """Return the examples to predict on; sentences from standard input are read one by one."""
    if args.text is None and "-" not in args.data:
        options = data_options(args, model.task, model)
        return model.pieces(model.inputs(args.data, **options))
    if args.data not in (None, ["-"]):
        raise ConfigError("--data - reads plain sentences from standard input, and nothing else")
    if getattr(args, "format", TEXT) != TEXT:
        raise ConfigError(f"--format {args.format}: --text and --data - are plain text")
    tokens = hasattr(args, "tokens")
    if args.text is not None:
        lines: Iterable[bytes] = [text.encode("utf-8", "surrogateescape") for text in args.text]
        return list(model.sentence_pieces(sentences_of(lines, "--text", tokens)))
    lines = lines_of(sys.stdin.buffer, "standard input")
    return model.sentence_pieces(sentences_of(lines, "standard input", tokens))
