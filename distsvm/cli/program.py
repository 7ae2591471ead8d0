"""The program: runs a verb, and turns every error into one line and an exit code."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from distsvm.cli import exits
from distsvm.cli.config_file import add_config_file, take_config
from distsvm.cli.output import LogLines, Output, swallow
from distsvm.cli.parser import ABSENT, Parser
from distsvm.cli.words import SHELL
from distsvm.errors import ConfigError, DistSVMError, nearest
from distsvm.kinds import Count, truth
from distsvm.version import __version__
from distsvm.wording import message_of

VERBS = {
    "train": "train a model until its gap is certified",
    "path": "train at several values of C and choose the best",
    "resume": "resume a run from its last checkpoint",
    "predict": "predict the outputs of data, in order",
    "evaluate": "scores on data with outputs: accuracy, loss, confusions, F1",
    "inspect": "show a model, checkpoint or run folder",
    "report": "draw a run as one HTML file",
    "runs": "list the runs in a folder: gap, state, age",
    "plan": "predict time, memory and network of a round on a cluster",
    "submit": "train on a Ray cluster, as a job",
    "status": "show the state of a run or a job",
    "logs": "show the output of a job",
    "stop": "end a run or a job after its current round",
    "service": "serve the runs in a folder over HTTP: begin, watch, stop, resume, ask",
    "serve": "serve models over HTTP: predict alone",
    "warm-up": "compile the kernels of all structures and keep them on disk",
    "demo": "train on scikit-learn's digits and check the certificate",
}

DESCRIPTION = """\
Structural SVMs with a certificate: min_w ½‖w‖² + C·R(w), R(w) the mean hinge loss.
Every run gives an upper bound on the distance of its objective from the optimum."""

CONFIGURED = ("train", "path", "predict", "evaluate")
"""Verbs whose options may stand in a file."""

EXAMPLE = """\
example:
  distsvm train --task multiclass --data train.svm --model m
  distsvm train train.toml --C 10       (the options of a file, and another C)
  distsvm predict --model m --data new.svm --output labels.txt

'distsvm VERB --help' shows the options of a verb.
"""


def build_parser(verb: str | None) -> Parser:
    """Return the parser with the options of one verb; the modules of others are not imported."""
    parser = Parser(
        prog="distsvm",
        description=DESCRIPTION,
        epilog=f"{EXAMPLE}\n{exits.EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"distsvm {__version__}")
    _add_globals(parser)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    for name, summary in VERBS.items():
        own = verbs.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=exits.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == verb:
            if name in CONFIGURED:
                add_config_file(own)
            _module(name).add_arguments(own)
            parser.set_defaults(own=own)
        _add_globals(own)
    return parser


def _module(verb: str) -> ModuleType:
    return importlib.import_module(f"distsvm.cli.{verb.replace('-', '_')}")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments of a command, with the parser of its verb as `own`.

    Values of a configuration file count where the command line has none. Words behind the verb are
    `behind`. Options that `submit` lacks are those of train, parsed as `inner`.
    """
    place = next((i for i, word in enumerate(argv) if not word.startswith("-")), len(argv))
    verb, behind = (argv[place] if place < len(argv) else None), argv[place + 1 :]
    parser = build_parser(verb)
    own = parser.get_default("own")
    configured = verb in CONFIGURED and behind and not behind[0].startswith("-")
    if own is not None and verb != "submit":
        _check_known(own, behind)
    if configured:
        take_config(behind[0], own)
    elif verb == "submit":
        take_config(parser.parse_known_args(argv)[0].config, own, sending=True)
    args, rest = parser.parse_known_args(argv)
    args.behind = behind
    if verb == "submit":
        args.inner = parse(["train", args.config, *rest])
    elif rest:
        own.error(f"unrecognized arguments: {' '.join(rest)}")
    elif verb in CONFIGURED and args.config is not None and not configured:
        own.error(f"{args.config}: a configuration stands right behind the verb")
    if configured and place:  # options before the verb replace those of the file, too
        before = Parser(add_help=False)
        _add_globals(before)
        vars(args).update(vars(before.parse_known_args(argv[:place])[0]))
    return args


def _check_known(parser: Parser, words: Sequence[str]) -> None:
    """Refuse an unknown option, before argparse reports others as missing because of it."""
    known = parser.known
    for word in words:
        flag = word.partition("=")[0]
        if flag == "--":
            return
        if flag.startswith("--") and flag not in known:
            parser.error(f"unrecognized arguments: {flag}{nearest(flag, known)}")


def _add_globals(parser: Parser) -> None:
    # Without defaults, so that they can stand before the verb as well as behind it.
    group = parser.group("output")
    group.flag(
        "--json", truth, default=ABSENT,
        help="one JSON object a line instead of text (train: one a round, path: one a value; then "
        "the result)",
    )  # fmt: skip
    group.flag("--quiet", truth, "no progress, no summaries", short="-q", default=ABSENT)
    group.flag(
        "--verbose", Count(), short="-v", default=ABSENT,
        help="log every fresh round and show tracebacks; twice: every round, and details",
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        if not argv:
            build_parser(None).print_help()
            return exits.USAGE
        args = parse(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else exits.USAGE
    except ConfigError as error:
        Output().error(message_of(error).worded(SHELL))
        return exits.USAGE
    verbose: int = getattr(args, "verbose", 0)
    output = Output(json=getattr(args, "json", False), quiet=getattr(args, "quiet", False))
    with _logging(output, verbose):
        return _guarded(args, output, verbose)


def _guarded(args: argparse.Namespace, output: Output, verbose: int) -> int:
    try:
        code = _module(args.verb).run(args, output)
        output.stdout.flush()
        return code
    except KeyboardInterrupt:
        output.screen.clear()
        output.note("interrupted")
        return exits.INTERRUPTED
    except BrokenPipeError:
        swallow(output.stdout)  # such as `distsvm inspect | head`
        return exits.UNEXPECTED
    except Exception as error:
        output.screen.clear()
        if verbose:
            output.raw_error(traceback.format_exc())
        code, text = exits.code_of_error(error), str(error)
        if isinstance(error, DistSVMError):
            text = message_of(error).worded(SHELL)
        elif not isinstance(error, OSError):
            text = f"unexpected {type(error).__name__}: {error}"
            text += "" if verbose else " (--verbose shows where)"
        output.record("error", {"kind": type(error).__name__, "message": text, "exit_code": code})
        output.error(text)
        return code


@contextmanager
def _logging(output: Output, verbose: int) -> Iterator[None]:
    """Write the library's log through `output` alone, while the command runs."""
    log, handler = logging.getLogger("distsvm"), LogLines(output)
    others = logging.getLogger("py.warnings")
    before = log.level, log.propagate
    log.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    log.propagate = False
    log.addHandler(handler)
    # Warnings of other packages would break the live display.
    logging.captureWarnings(True)
    others.addHandler(handler)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        others.removeHandler(handler)
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]
