"""Solvers side by side: oracle passes and time until the gap is small, on tagging and parsing.

Run: python benchmarks/solvers.py                 (up to 58 minutes; --quick: up to 8 minutes)

UD English EWT (XPOS tags, C = 1,000) and the Penn Treebank sample (at most 15 words; zero-one loss
scaled to 100, and F1 loss scaled to 100). A pass is one oracle call for every example; the passes
that certify are counted. Each method runs until gap/C, in units of the mean loss, is at the
smallest threshold, or until its limit of passes or seconds: `> limit 80.0` marks one that had not
been at this threshold after 80 passes (or seconds), where it was stopped.

"all" asks the oracle about all examples at one w whenever it asks; without that word most rounds
ask only about the examples with the largest shares of the gap. Block Frank–Wolfe is in
benchmarks/frank_wolfe.py. Below the tables are the ratios that were wanted; a ratio to a method
that was stopped at its limit is a bound.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from frank_wolfe import Certified, FrankWolfe
from support import limited, machine, penn, table, ud_ewt, verdict
from tagging import TEMPLATES

from distsvm import Callback, Task, train
from distsvm.solvers.round import Round
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.task import ParseTask
from distsvm.training.callbacks import RunStart

ONE_SLACK: dict[str, Any] = {"solver": "one-slack"}
FRANK_WOLFE = "block Frank–Wolfe"
BLOCKS = (1, 2, 8, 32)
MAX_PASSES = 500.0


def ascent(n_blocks: int, ask: str = "") -> str:
    """Return the name of the multi-plane solver with this number of blocks."""
    return f"multi-plane, {n_blocks} block{'s' * (n_blocks > 1)}{ask}"


ALL = ", all"
METHODS: dict[str, dict[str, Any]] = {
    "1-slack, no cache": ONE_SLACK | {"cache_size": 0, "stabilise": 1.0},
    "1-slack, cache": ONE_SLACK | {"cache_size": 10, "stabilise": 1.0},
    "1-slack, stabilised": ONE_SLACK | {"cache_size": 0},
    FRANK_WOLFE: {},
}
for n_blocks in BLOCKS:
    own = {"solver": "multi-plane", "n_blocks": n_blocks}
    METHODS |= {ascent(n_blocks, ALL): own | {"ask_share": 1.0}, ascent(n_blocks): own}


@dataclass(frozen=True)
class Problem:
    """What to train, on what, and the gaps to wait for.

    Parameters
    ----------
    few : a little of the data, to compile on
    limits_s : of the multi-plane solver, and of what it is compared with
    """

    name: str
    task: Task
    data: tuple[Any, ...]
    few: tuple[Any, ...]
    C: float
    thresholds: tuple[float, ...]
    limits_s: tuple[float, float]


def problems(folder: str, quick: bool) -> Iterator[Problem]:
    n = 600 if quick else 12_544
    few, data = (
        ConlluData(ud_ewt(folder, "train", m, f"{m}-of-"), templates=TEMPLATES) for m in (40, n)
    )
    limits = (15.0, 15.0) if quick else (120.0, 240.0)
    yield Problem(
        "tagging", SequenceTask(), (data,), (few,), 1_000.0 * n / 12_544, (1.0, 0.1, 0.01), limits
    )
    trees, _ = penn(folder, 15)
    sentences = [tree.sentence() for tree in trees]
    C, limits = 0.5 * len(trees) * 100.0, (8.0, 8.0) if quick else (45.0, 60.0)
    for name, loss in (("parsing, zero-one", "zero-one"), ("parsing, F1", "f1")):
        yield Problem(
            name, ParseTask(loss, 100.0), (sentences, trees), (sentences[:40], trees[:40]), C,
            (10.0, 1.0, 0.1), limits,
        )  # fmt: skip


# --- runs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Effort:
    """Passes or seconds until a threshold; or those at the limit, short of it."""

    amount: float
    reached: bool = True

    def __str__(self) -> str:
        return limited(f"{self.amount:.1f}", self.reached)


@dataclass(frozen=True)
class Run:
    """What one method needed for each threshold."""

    passes: list[Effort]
    seconds: list[Effort]
    last: float

    @classmethod
    def of(cls, found: Sequence[Certified], n: int, problem: Problem) -> Run:
        passes, seconds = [], []
        for threshold in problem.thresholds:
            there = [one for one in found if one.gap <= threshold * problem.C]
            one, reached = (there or found[-1:])[0], bool(there)
            passes.append(Effort(one.n_calls / n, reached))
            seconds.append(Effort(one.seconds, reached))
        return cls(passes, seconds, found[-1].gap / problem.C)


class PassLimit(Callback):
    """Ends a run after MAX_PASSES passes."""

    def on_start(self, start: RunStart) -> None:
        self.n = start.n_examples

    def on_round(self, record: Round) -> bool:
        return record.n_oracle_calls >= MAX_PASSES * self.n


def run(problem: Problem, name: str) -> Run:
    is_ascent, least = name.startswith("multi-plane"), problem.thresholds[-1]
    limit_s = problem.limits_s[0 if is_ascent else 1]
    if name == FRANK_WOLFE:
        method = FrankWolfe(problem.task, problem.data, problem.C)
        return Run.of(method.run(problem.thresholds, MAX_PASSES, limit_s), method.n, problem)
    result = train(
        problem.task, *problem.data, C=problem.C, eps=least, max_seconds=limit_s,
        callbacks=[PassLimit()], **METHODS[name],
    )  # fmt: skip
    # What a run ends with counts, certified or not: it is how far the limit let it go.
    found = [
        Certified(record.n_oracle_calls, record.elapsed_s - result.seconds["load"], record.gap)
        for record in result.history
        if record.kind == "fresh" or record is result.history[-1]
    ]
    return Run.of(found, result.n_examples, problem)


def compile_all(problem: Problem, names: Sequence[str]) -> None:
    """The first run of every kernel compiles it."""
    for name in names:
        if name == FRANK_WOLFE:
            FrankWolfe(problem.task, problem.few, problem.C).run(problem.thresholds, 1, 60.0)
        else:
            train(problem.task, *problem.few, C=problem.C, max_rounds=4, **METHODS[name])


# --- ratios ----------------------------------------------------------------------------------


def ratio(above: Effort, below: Effort) -> tuple[str, float, float]:
    """above / below as text, and between what it lies."""
    if not (above.amount > 0 and below.amount > 0):
        return "unknown", 0.0, float("inf")
    value = above.amount / below.amount
    if above.reached and below.reached:
        return f"{value:.2f}", value, value
    if below.reached:
        return f"> {value:.2f}", value, float("inf")
    return (f"< {value:.2f}", 0.0, value) if above.reached else ("unknown", 0.0, float("inf"))


def compare(runs: dict[str, Run], what: str, above: str, below: str, wanted: str) -> None:
    """Print a ratio at the middle threshold, and whether it is as wanted ('≥ 5', '≤ 1.5', '')."""
    if above not in runs or below not in runs:
        return
    efforts = [getattr(runs[name], what)[1] for name in (above, below)]
    text, least, most = ratio(*efforts)
    line = f"  {what} of {above} / {below}: {text}"
    if wanted:
        sign, number = wanted.split()
        yes, no = least >= float(number), most < float(number)
        if sign == "≤":
            yes, no = most <= float(number), least > float(number)
        line += f" (wanted {wanted}: {verdict(yes, known=no)})"
    print(line)


def wanted_ratios(problem: Problem, runs: dict[str, Run]) -> None:
    print(f"\n{problem.name}, at gap/C = {problem.thresholds[1]:g}:")
    say = partial(compare, runs, below=ascent(8))
    if problem.name == "tagging":
        say("passes", "1-slack, no cache", wanted="≥ 5")
        say("passes", "1-slack, cache", wanted="≥ 2")
        say("seconds", "1-slack, cache", wanted="≥ 5")
    else:
        say("passes", "1-slack, cache", wanted="≥ 3")
    limit = "≤ 1.5" if problem.name == "tagging" else ""
    for ask in ("", ALL):
        compare(runs, "passes", ascent(8, ask), ascent(1, ALL), limit)
    print("  Gain of the selection of examples for the oracle:")
    for n_blocks in BLOCKS:
        compare(runs, "passes", ascent(n_blocks, ALL), ascent(n_blocks), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="600 sentences, short limits")
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    parser.add_argument(
        "--methods", default="", help="only methods whose name contains one of these; by ';'"
    )
    parser.add_argument(
        "--peer-seconds", type=float, help="limit of what multi-plane is compared with"
    )
    args = parser.parse_args()
    names = [name for name in METHODS if any(part in name for part in args.methods.split(";"))]
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems(folder, args.quick):
            if args.only not in problem.name:
                continue
            if args.peer_seconds is not None:
                problem = replace(problem, limits_s=(problem.limits_s[0], args.peer_seconds))
            compile_all(problem, names)
            print(f"\n{problem.name}: passes, then seconds, to gap/C of …", flush=True)
            runs = {name: run(problem, name) for name in names}
            head = [f"{threshold:g}" for threshold in problem.thresholds]
            table(
                ["method", *head, *(f"{h}: s" for h in head), "last gap/C"],
                [[name, *r.passes, *r.seconds, f"{r.last:.3g}"] for name, r in runs.items()],
            )
            wanted_ratios(problem, runs)


if __name__ == "__main__":
    main()
