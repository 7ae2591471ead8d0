"""`distsvm path`."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from distsvm.cli.data_options import add_data, data_options, loading_words
from distsvm.cli.display import watched
from distsvm.cli.exits import DONE, INTERRUPTED, STOPPED_EARLY, code_of_end
from distsvm.cli.formatting import count, pairs, seconds, small, table
from distsvm.cli.options import add_config, check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.targets import check_model_target
from distsvm.cli.tasks import add_task, make_task
from distsvm.errors import ConfigError
from distsvm.kinds import Listed, files, number, text, truth, whole
from distsvm.report.path_chart import checked_target, write_path_chart
from distsvm.training.config import all_options
from distsvm.training.path import path
from distsvm.training.path_result import PathPoint, PathResult

N_VALUES = 13
# A path of several runs does not have these options.
LEFT_OUT = {
    "C", "C_per_example", "patience", "run_dir", "checkpoint_rounds", "checkpoint_seconds",
    "checkpoint_share", "keep_checkpoints",
}  # fmt: skip
FIELDS = all_options().keys() - LEFT_OUT


def add_arguments(parser: Parser) -> None:
    parser.usage = (
        "distsvm path --task TASK --data FILE … [--validation FILE …|--cv K] [options]\n"
        "       distsvm path CONFIG.toml [options]"
    )
    parser.description = (
        "Train at several values of C, each from the end of the one before and to its own\n"
        "certificate; and choose the one with the lowest mean loss on other data."
    )
    add_task(parser)
    data = add_data(parser)
    data.flag(
        "--validation", files, metavar="FILE",
        help="data of the same kind: every value's model is scored on it. The lowest mean loss is "
        "chosen; of equal ones, that of the smallest C",
    )  # fmt: skip
    data.flag(
        "--cv", whole(least=2), metavar="K",
        help="instead of --validation: score on each of K folds, trained on the rest; choose by "
        "the mean, and train at that C on all data. The files are read into memory",
    )  # fmt: skip
    data.flag("--no-refit", truth, help="with --cv: choose only, and train no model")
    values = parser.group(
        "values of C", "Trained in increasing order. Default: 13, from 0.001 to 1000 times --C's "
        "default in 'distsvm train'.",
    )  # fmt: skip
    values.flag(
        "--Cs",
        Listed(number(above=0), "numbers > 0", "numbers > 0"),
        metavar="C,…",
        help="all values, such as 0.1,1,10",
    )
    values.flag("--from", number(above=0), dest="lowest", metavar="C", help="the smallest value")
    values.flag("--to", number(above=0), dest="highest", metavar="C", help="the largest value")
    values.flag(
        "--count", whole(least=1), metavar="N",
        help=f"number of values, each the same multiple of the one before. Default: {N_VALUES}",
    )  # fmt: skip
    written = parser.group("what is written")
    written.flag("--model", text, metavar="DIR", help="write the chosen model to this folder")
    written.flag("--force", truth, help="replace a model that is there")
    written.flag(
        "--plot", text, metavar="FILE", help="draw loss, accuracy and oracle calls: .svg or .html"
    )
    add_config(parser, FIELDS)


def run(args: argparse.Namespace, output: Output) -> int:
    config = given_config(args, FIELDS)
    values = values_of_C(args)
    if args.model is not None:
        if args.validation is None and args.cv is None:
            raise ConfigError("--model needs --validation or --cv: nothing would be chosen")
        if args.no_refit:
            raise ConfigError("--model and --no-refit: there would be no model")
        check_model_target(args.model, args.force)
    if args.plot is not None:
        checked_target(args.plot)
    check_config(config)
    task = make_task(args)
    options = data_options(args, task)
    result, _ = watched(
        output,
        f"distsvm path {args.task}",
        lambda callbacks: path(
            task, args.data, Cs=values, validation=args.validation, cv=args.cv,
            refit=not args.no_refit, data_options=options, callbacks=callbacks, **config,
        ),
        doing=loading_words(args, task, options),
        max_seconds=config.get("max_seconds"),
    )  # fmt: skip
    return _finish(args, output, result)


def values_of_C(args: argparse.Namespace) -> list[float] | None:
    """Return the given values; None for the default ones."""
    ends = (args.lowest, args.highest)
    if args.Cs is not None:
        if ends != (None, None) or args.count is not None:
            raise ConfigError("--Cs gives all values: leave out --from, --to and --count")
        return args.Cs
    if ends == (None, None) and args.count is None:
        return None
    if args.lowest is None or args.highest is None:
        raise ConfigError("--from and --to belong together")
    n = N_VALUES if args.count is None else args.count
    if args.lowest > args.highest:
        raise ConfigError(f"--from {args.lowest:g} --to {args.highest:g}: expected 0 < from ≤ to")
    return np.geomspace(args.lowest, args.highest, n).tolist()


def _finish(args: argparse.Namespace, output: Output, result: PathResult) -> int:
    """Write model, plot and summary, and return the exit code."""
    if args.model is not None and result.model is not None:
        result.model.save(args.model)
    if args.plot is not None and result.points:
        write_path_chart(result, args.plot)
    code = _code(result)
    places = {"model": args.model if result.model is not None else None, "plot": args.plot}
    output.record("path", result.summary() | places | {"exit_code": code})
    output.say(*_table(result, output), "")
    output.say(*pairs(_rows(result, places), output.style, output.width))
    return code


def _table(result: PathResult, output: Output) -> list[str]:
    rows = []
    for i, point in enumerate(result.points):
        row = [
            f"{point.C:.6g}", small(point.gap / point.C), point.stop_reason,
            count(point.n_rounds), count(point.n_oracle_calls), seconds(point.seconds),
        ]  # fmt: skip
        if point.validation_loss is not None and point.validation_accuracy is not None:
            row.append(_with_error(point.validation_loss, point.loss_error))
            row.append(_with_error(point.validation_accuracy, point.accuracy_error))
            row.append("chosen" if i == result.best else "")
        rows.append(row)
    head = ["C", "gap/C", "stopped by", "rounds", "oracle calls", "time"]
    if rows and len(rows[0]) > len(head):
        head += ["loss", "accuracy", ""]
    return table(head, rows, output.style) if rows else []


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.4g}" if error is None else f"{value:.4g} ± {error:.2g}"


def _rows(result: PathResult, places: dict[str, Any]) -> list[tuple[str, str]]:
    if result.C is None:
        chosen = "nothing: there is no --validation and no --cv to choose by"
        if result.interrupted:
            chosen = "nothing: interrupted before all values were scored"
    else:
        chosen = f"C = {result.C:.6g}, by {result.chosen_by}"
    calls = f"{count(result.n_oracle_calls)} calls"
    rows = [("chosen", chosen), ("oracle", calls), ("time", seconds(result.seconds))]
    if result.refit:
        last = result.refit[-1]
        rows.append(("refit", f"gap/C {small(last.gap / last.C)} ({last.stop_reason})"))
    return rows + [(name, str(place)) for name, place in places.items() if place is not None]


def _code(result: PathResult) -> int:
    if result.interrupted:
        return INTERRUPTED
    single: list[PathPoint] = []
    for point in (*result.points, *result.refit):
        single += point.folds or (point,)
    codes = {code_of_end(point.stop_reason, point.eps, point.rel_gap) for point in single}
    return STOPPED_EARLY if STOPPED_EARLY in codes else DONE
