"""`distsvm predict`."""

from __future__ import annotations

import argparse
import io
import time
from contextlib import nullcontext

from distsvm.cli import exits
from distsvm.cli.data_options import add_data, data_options
from distsvm.cli.formatting import counted, seconds
from distsvm.cli.models import add_model, read_model
from distsvm.cli.options import WHERE, add_place, check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.predictions import add_writers, make_writer
from distsvm.cli.streaming import over_pieces
from distsvm.cli.targets import written_file
from distsvm.cli.task_options import formats_of
from distsvm.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "distsvm predict --model DIR --data FILE … --output FILE [options]\n"
        "       distsvm predict CONFIG.toml [options]"
    )
    add_model(parser)
    group = parser.add_argument_group("output of predictions")
    group.add_argument(
        "--output", metavar="FILE",
        help="one prediction a line, in the order of the data; - for standard output. Classes: the "
        "label. Sequences: the tags, with blanks between them. Trees: in brackets. Tasks "
        "of your own: JSON",
    )  # fmt: skip
    add_writers(group)
    add_data(parser, required_labels=False, trained=True)
    add_place(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    started, n = time.perf_counter(), 0
    place = given_config(args, WHERE)
    check_config(place)
    model = read_model(args.model, args.task)
    writer = make_writer(args, model, output)
    target = args.output or ("-" if writer.on_screen else None)
    if target is None and not hasattr(args, "svg"):
        raise ConfigError("--output is missing: where to write the predictions, - for here")
    data = model.inputs(args.data, **data_options(args, formats_of(model.task), model))
    pieces = model.pieces(data)
    doing = "" if target == "-" else "predicting"  # the screen is for the predictions then
    results = over_pieces(writer.function, model, pieces, place, output, doing=doing)
    nowhere = nullcontext(io.StringIO())
    with nowhere if target is None else written_file(target, output) as file:
        file.write(writer.head)
        for piece, found in zip(pieces, results, strict=True):
            for text in writer.texts(piece, found):
                file.write(text)
                n += 1
    others = writer.finish()
    elapsed_s = time.perf_counter() - started
    if target != "-":
        files = [*([] if target is None else [target]), *others]
        facts = {"n_examples": n, "output": target, "files": files, "seconds": elapsed_s}
        output.record("result", facts)
        output.say(f"{counted(n, 'prediction')} in {seconds(elapsed_s)}: {', '.join(files)}")
    return exits.DONE
