"""`distsvm plan`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict

from distsvm.cli import exits
from distsvm.cli.formatting import count, pairs, seconds, share, size, table
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.errors import ConfigError
from distsvm.kinds import Number, amounts, number, whole
from distsvm.planning.constants import MEASURED
from distsvm.planning.cost import RANGES, Plan, Problem, economical, fastest, overridden, plan

PHASES = {
    "oracle": "the oracle, on every worker",
    "calls": "requests and answers",
    "w": "w to all nodes",
    "cuts": "cuts home to the driver",
    "algebra": "the driver's products",
}


def add_arguments(parser: Parser) -> None:
    parser.usage = "distsvm plan --examples N --dim D --oracle-ms T [--workers K] [options]"
    parser.description = (
        "What a fresh round of 1-slack training would cost on a Ray cluster: time, memory and\n"
        "network, by a formula (distsvm/planning/cost.py) from constants that benchmarks/plan.py\n"
        "measures. The network's speed is assumed; give your own."
    )
    what = parser.group("the problem")
    what.flag("--examples", _in("examples"), "how many", required=True, metavar="N")
    what.flag("--dim", _in("dim"), required=True, metavar="D", help="length of w")
    what.flag(
        "--oracle-ms", _in("oracle_s", unit=1000), required=True, metavar="T",
        help="milliseconds of one oracle call on one core (the run's report has them)",
    )  # fmt: skip
    what.flag(
        "--nonzeros", _in("nonzeros"), metavar="N",
        help="of a worker's summed cut. Default: all, a dense cut",
    )  # fmt: skip
    what.flag(
        "--example-bytes", _in("example_bytes"), default=1000.0, metavar="B",
        help="memory of one packed example",
    )  # fmt: skip
    what.flag(
        "--cuts", _in("cuts", whole), default=100, metavar="N",
        help="in the working set",
    )  # fmt: skip
    what.flag(
        "--rounds", _in("rounds", whole), metavar="N",
        help="say what so many fresh rounds take, too",
    )  # fmt: skip
    where = parser.group("the cluster")
    where.flag(
        "--workers", _in("workers", whole), metavar="K",
        help="Default: those with the shortest round",
    )  # fmt: skip
    where.flag(
        "--workers-per-node", _in("workers_per_node", whole), default=8, metavar="N",
        help="how many live on a node",
    )  # fmt: skip
    where.flag(
        "--constants", amounts, default={}, metavar="NAME=N,…",
        help="your own measurements, in seconds, bytes and bytes a second. Default: "
        + ", ".join(f"{name}={value:g}" for name, value in asdict(MEASURED).items()),
    )  # fmt: skip


def _in(name: str, kind: Callable[..., Number] = number, unit: float = 1) -> Number:
    """The kind of numbers that can be planned for, in so many units a one of the library's."""
    least, most = RANGES[name]
    return kind(least=unit * least, most=unit * most)


def run(args: argparse.Namespace, output: Output) -> int:
    constants = overridden(MEASURED, args.constants)
    problem = Problem(
        args.examples, args.dim, args.oracle_ms / 1000, args.example_bytes, args.nonzeros,
        args.cuts,
    )  # fmt: skip
    if args.workers is not None and args.workers > args.examples:
        raise ConfigError(f"--workers {args.workers}: expected at most one for each example")
    best = fastest(problem, args.workers_per_node, constants)
    thrifty = economical(problem, args.workers_per_node, constants)
    wanted = best
    if args.workers is not None:
        wanted = plan(problem, args.workers, args.workers_per_node, constants)
    output.record("plan", {
        "problem": asdict(problem), "plan": wanted.as_dict(), "fastest": best.as_dict(),
        "economical": thrifty.as_dict(), "constants": asdict(constants), "rounds": args.rounds,
    })  # fmt: skip
    total = wanted.seconds["round"]
    output.show(
        f"a fresh round with {count(wanted.workers)} workers on {count(wanted.nodes)} nodes",
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


def _rows(
    args: argparse.Namespace, wanted: Plan, best: Plan, thrifty: Plan
) -> list[tuple[str, str]]:
    memory, network = wanted.memory, wanted.network
    rows = [
        ("memory", f"driver {_bytes(memory['driver'])}, worker {_bytes(memory['worker'])}, "
                   f"node {_bytes(memory['node'])}"),
        ("network", f"{_bytes(network['down'])} down and {_bytes(network['up'])} up a round"),
        ("start", f"{seconds(wanted.start_s)} for the workers"),
        ("fastest", f"{count(best.workers)} workers, {seconds(best.seconds['round'])} a round"),
        ("economical", f"{count(thrifty.workers)} workers, {seconds(thrifty.seconds['round'])} a "
                       f"round, {100 * thrifty.efficiency:.0f} % of it in the oracle"),
    ]  # fmt: skip
    if args.rounds is not None:
        rounds = seconds(args.rounds * wanted.seconds["round"])
        rows.insert(0, ("rounds", f"{count(args.rounds)} in {rounds}"))
    return rows


def _bytes(n: float) -> str:
    return size(round(n))
