"""`distsvm plan`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict

from distsvm.cli import exits
from distsvm.cli.formatting import count, counted, pairs, share, size, table
from distsvm.cli.formatting import seconds as longer
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.errors import ConfigError
from distsvm.kinds import Number, amounts, number, whole
from distsvm.planning.cost import (
    MEASURED,
    RANGES,
    Plan,
    Problem,
    economical,
    fastest,
    overridden,
    plan,
)
from distsvm.planning.measured import measured

NEEDED = {
    "examples": ("--examples", "it has no number of examples"),
    "dim": ("--dim", "it has no length of w"),
    "oracle_s": ("--oracle-ms", "it has no fresh round after its first, so no time of a call"),
}
NEEDED_OF_RUN = {
    "example_bytes": ("--example-bytes", "it has no result with the bytes of its examples"),
}
PHASES = {
    "oracle": "the oracle, on every worker",
    "calls": "requests and answers",
    "w": "w to all nodes",
    "cuts": "cuts home to the driver",
    "algebra": "the driver's products",
}


def add_arguments(parser: Parser) -> None:
    parser.usage = (
        "distsvm plan RUN_DIR [--workers K] [options]\n"
        "       distsvm plan --examples N --dim D --oracle-ms T [--workers K] [options]"
    )
    parser.description = (
        "What a fresh round of 1-slack training would cost on a Ray cluster: time, memory and\n"
        "network, by a formula (distsvm/planning/cost.py) from constants that benchmarks/plan.py\n"
        "measures. The network's speed is assumed; give your own. The problem is that of a run,\n"
        "whose folder has its dimensions, oracle time and bytes; options replace these numbers.\n"
        "Without a run, options give all of them."
    )
    parser.add_argument(
        "run_dir", nargs="?", metavar="RUN_DIR", help="the folder of a run, on a part of the data"
    )
    what = parser.group("the problem")
    what.flag(
        "--examples", _in("examples"), metavar="N", help="their number. Default: that of the run"
    )
    what.flag("--dim", _in("dim"), metavar="D", help="length of w. Default: that of the run")
    what.flag(
        "--oracle-ms", _in("oracle_s", unit=1000), metavar="T",
        help="milliseconds of one oracle call on one core. Default: the median over the fresh "
        "rounds of the run",
    )  # fmt: skip
    what.flag(
        "--nonzeros", _in("nonzeros"), metavar="N",
        help="nonzero entries of a worker's summed cut. Default: the mean over the run's cuts; "
        "without a run all, a dense cut",
    )  # fmt: skip
    what.flag(
        "--example-bytes", _in("example_bytes"), metavar="B",
        help="memory of one packed example. Default: that of the run; without a run 1000",
    )  # fmt: skip
    what.flag(
        "--cuts", _in("cuts", whole), metavar="N",
        help="cuts in the working set. Default: those of the run if it has cuts, else 100",
    )  # fmt: skip
    what.flag(
        "--rounds", _in("rounds", whole), metavar="N",
        help="also show the time of this number of fresh rounds",
    )  # fmt: skip
    where = parser.group("the cluster")
    where.flag(
        "--workers", _in("workers", whole), metavar="K",
        help="number of workers. Default: that with the shortest round",
    )  # fmt: skip
    where.flag(
        "--workers-per-node", _in("workers_per_node", whole), default=8, metavar="N",
        help="workers on one node",
    )  # fmt: skip
    where.flag(
        "--constants", amounts, default={}, metavar="NAME=N,…",
        help="own measurements, in seconds, bytes and bytes a second. Default: "
        + ", ".join(f"{name}={value:g}" for name, value in asdict(MEASURED).items()),
    )  # fmt: skip


def _in(name: str, kind: Callable[..., Number] = number, unit: float = 1) -> Number:
    """Return the kind of a number in its range; `unit` of them are one of the library's units."""
    least, most = RANGES[name]
    return kind(least=unit * least, most=unit * most)


def run(args: argparse.Namespace, output: Output) -> int:
    constants = overridden(MEASURED, args.constants)
    problem = _problem(args)
    if args.workers is not None and args.workers > problem.examples:
        raise ConfigError(f"--workers {args.workers}: expected at most one for each example")
    best = fastest(problem, args.workers_per_node, constants)
    thrifty = economical(problem, args.workers_per_node, constants)
    wanted = best
    if args.workers is not None:
        wanted = plan(problem, args.workers, args.workers_per_node, constants)
    output.record("plan", {
        "problem": asdict(problem), "plan": wanted.as_dict(), "fastest": best.as_dict(),
        "economical": thrifty.as_dict(), "constants": asdict(constants), "rounds": args.rounds,
        "run": args.run_dir,
    })  # fmt: skip
    total = wanted.seconds["round"]
    workers, nodes = counted(wanted.workers, "worker"), counted(wanted.nodes, "node")
    output.show(
        *([] if args.run_dir is None else [_in_words(problem, args.run_dir), ""]),
        f"a fresh round with {workers} on {nodes}",
        *table(
            ["", "time", "of the round"],
            [[words, seconds(wanted.seconds[name]), share(wanted.seconds[name], total)]
             for name, words in PHASES.items()] + [["round", seconds(total), ""]],
            output.style,
        ),
        "",
        *pairs(_rows(args, wanted, best, thrifty), output.style, output.width),
    )  # fmt: skip
    return exits.DONE


def _problem(args: argparse.Namespace) -> Problem:
    """Return the problem of the run, with given options in place of the run's numbers."""
    run = {} if args.run_dir is None else measured(args.run_dir)
    oracle_s = None if args.oracle_ms is None else args.oracle_ms / 1000
    given = {
        "examples": args.examples, "dim": args.dim, "oracle_s": oracle_s, "cuts": args.cuts,
        "example_bytes": args.example_bytes, "nonzeros": args.nonzeros,
    }  # fmt: skip
    facts = run | {name: value for name, value in given.items() if value is not None}
    needed = NEEDED if args.run_dir is None else NEEDED | NEEDED_OF_RUN
    missing = {flag: why for name, (flag, why) in needed.items() if name not in facts}
    if missing and args.run_dir is None:
        raise ConfigError(
            "plan needs the folder of a run, or --examples, --dim and --oracle-ms; missing: "
            + ", ".join(missing)
        )
    if missing:
        reasons = "; ".join(f"{why}: give {flag}" for flag, why in missing.items())
        raise ConfigError(f"{args.run_dir} lacks numbers that a plan needs: {reasons}")
    return Problem(**facts)


def _in_words(problem: Problem, run_dir: str) -> str:
    return (
        f"as in {run_dir}: {count(round(problem.examples))} examples of "
        f"{_bytes(problem.example_bytes)}, dim {count(round(problem.dim))}, "
        f"{1000 * problem.oracle_s:.3g} ms a call"
    )


def _rows(
    args: argparse.Namespace, wanted: Plan, best: Plan, thrifty: Plan
) -> list[tuple[str, str]]:
    memory, network = wanted.memory, wanted.network
    rows = [
        ("memory", f"driver {_bytes(memory['driver'])}, worker {_bytes(memory['worker'])}, "
                   f"node {_bytes(memory['node'])}"),
        ("network", f"{_bytes(network['down'])} down and {_bytes(network['up'])} up a round"),
        ("start", f"{seconds(wanted.start_s)} for the workers"),
        ("fastest", _number_of_workers(best)),
        ("economical", f"{_number_of_workers(thrifty)}, {100 * thrifty.efficiency:.0f} % of it in "
                       "the oracle"),
    ]  # fmt: skip
    if args.rounds is not None:
        rounds = seconds(args.rounds * wanted.seconds["round"])
        rows.insert(0, ("rounds", f"{count(args.rounds)} in {rounds}"))
    return rows


def _number_of_workers(one: Plan) -> str:
    return f"{counted(one.workers, 'worker')}, {seconds(one.seconds['round'])} a round"


def seconds(s: float) -> str:
    """Return a duration; phases of small problems take milliseconds or less."""
    return longer(s) if s >= 0.1 or s == 0 else f"{1000 * s:.3g} ms"


def _bytes(n: float) -> str:
    return size(round(n))
