"""Rules of multi-plane tried one by one: oracle passes and visits until the gap is certified.

Run: python benchmarks/pass_rules.py              (about 25 minutes; --quick: about 4 minutes)

UD English EWT (gap/C 0.1), Penn trees of at most 15 words (gap/C 1) and 1,000 classes (gap 0.1% of
the primal value), one block, so that nothing depends on threads. Everything is counted: passes are
oracle calls over examples, certifying ones included, and for classes passes over all examples, as a
visit there is a call. Each figure is the mean over the seeds. Rules that are not distsvm's are
patched in here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from support import machine, penn, table, ud_ewt
from tagging import TEMPLATES

from distsvm import MulticlassTask, Task, train
from distsvm.messages import Ascent
from distsvm.oracles.climber import Climber, Visits
from distsvm.solvers import multi_plane
from distsvm.solvers.multi_plane import MultiPlane
from distsvm.solvers.multi_plane_state import MultiPlaneState
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.task import ParseTask
from distsvm.workers import ascent
from distsvm.workers.ascent import BlockAscent

HELD_SHARE = 0.5
CHOSEN, ASK = BlockAscent._chosen, BlockAscent._ask_some


# --- rules that were tried ---------------------------------------------------------------------


def drawn_by_gap(self: BlockAscent, todo: Ascent) -> np.ndarray:
    """Examples drawn without replacement, in proportion to their shares of the gap."""
    n = min(self.oracle.n, int(np.ceil(todo.share * self.oracle.n)))
    draw = np.random.default_rng([*self._seed(0), 1]).exponential(size=self.oracle.n)
    race = draw / np.maximum(self.share, 1e-100)  # 0 for those that were never asked
    return np.argsort(race, kind="stable")[:n]


def held_first(self: BlockAscent, todo: Ascent) -> np.ndarray:
    """Those that were chosen, without those whose held planes show half of their gap already."""
    chosen = CHOSEN(self, todo)
    left = chosen[self.stock.held.gap[chosen] <= HELD_SHARE * self.share[chosen]]
    return left if left.size else chosen


def one_batch_behind(
    self: BlockAscent, climber: Climber, chosen: np.ndarray, todo: Ascent
) -> tuple[int, Visits]:
    """Each batch is asked before the steps of the one before it: they could go on at once."""
    batches = [chosen[i : i + ascent.BATCH] for i in range(0, chosen.size, ascent.BATCH)]
    n, total, waiting = 0, Visits(), None
    for batch in [*batches, None]:
        answer = None if batch is None else self.oracle.separate(climber.view(), batch)
        if waiting is not None:
            self._insert(waiting)
            rows = waiting.planes.row
            n, total = n + rows.size, total.plus(self.stock.visit(climber, rows, todo.tol))
            self.share[rows] = self.stock.held.gap[rows]
        waiting = answer
    return n, total


def by_shares(self: MultiPlane, state: MultiPlaneState) -> float:
    """The estimate of the gap by the examples' shares alone."""
    return state.unseen * state.gap


Patches = Callable[[], Iterator[Any]]


def constant(module: Any, name: str, value: float) -> Patches:
    def patches() -> Iterator[Any]:
        yield patch.object(module, name, value)

    return patches


def method(owner: type, name: str, other: Callable[..., Any]) -> Patches:
    def patches() -> Iterator[Any]:
        yield patch.object(owner, name, other)

    return patches


def many_steps() -> Iterator[Any]:
    """Ten times the steps in a visit: what exact solutions of an example's dual would bring."""
    for name, module in list(sys.modules.items()):
        if name.startswith("distsvm.") and hasattr(module, "MAX_STEPS"):
            yield patch.object(module, "MAX_STEPS", 10 * module.MAX_STEPS)


def nothing() -> Iterator[Any]:
    yield from ()


ENUMERATED = "1,000 classes"
RULES: dict[str, tuple[Patches, dict[str, Any]]] = {
    "as it is": (nothing, {}),
    "certify after 1 pass": (constant(multi_plane, "FULL_AFTER", 1 - 1e-9), {}),
    "certify after 2 passes": (constant(multi_plane, "FULL_AFTER", 2 - 1e-9), {}),
    "certify after 3 passes": (constant(multi_plane, "FULL_AFTER", 3 - 1e-9), {}),
    "near by shares alone": (method(MultiPlane, "_estimated_gap", by_shares), {}),
    "ask 15%": (nothing, {"ask_share": 0.15}),
    "ask 30%": (nothing, {"ask_share": 0.3}),
    "ask 50%": (nothing, {"ask_share": 0.5}),
    "ask 75%": (nothing, {"ask_share": 0.75}),
    "drawn by the gap": (method(BlockAscent, "_chosen", drawn_by_gap), {}),
    "drawn by the gap, ask 50%": (method(BlockAscent, "_chosen", drawn_by_gap), {"ask_share": 0.5}),
    "held planes first": (method(BlockAscent, "_chosen", held_first), {}),
    "500 steps a visit": (many_steps, {}),
    "batches of 64": (constant(ascent, "BATCH", 64), {}),
    "batches of 128": (constant(ascent, "BATCH", 128), {}),
    "one batch behind": (method(BlockAscent, "_ask_some", one_batch_behind), {}),
}
OF_CALLS = ("ask ", "drawn", "held", "500", "batch", "one batch")
"""Rules that change nothing where a visit is a call."""


# --- problems and runs -------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What to train, and until when."""

    name: str
    task: Task
    data: tuple[Any, ...]
    options: dict[str, Any]


def problems(folder: str, quick: bool) -> Iterator[Problem]:
    for n in (600,) if quick else (600, 2_000):
        data = ConlluData(ud_ewt(folder, "train", n, f"{n}-of-"), templates=TEMPLATES)
        C = 1_000.0 * n / 12_544
        yield Problem(f"tags, {n:,}", SequenceTask(), (data,), {"C": C, "eps": 0.1})
    trees, _ = penn(folder, 15)
    trees = trees[:800] if quick else trees
    sentences, C = [tree.sentence() for tree in trees], 50.0 * len(trees)
    for name, loss in (("trees, zero-one", "zero-one"), ("trees, F1", "f1")):
        yield Problem(name, ParseTask(loss, 100.0), (sentences, trees), {"C": C, "eps": 1.0})
    rng, n = np.random.default_rng(0), 3_000 if quick else 6_000
    centres, y = rng.normal(size=(1_000, 400)), rng.integers(0, 1_000, n)
    X = (centres[y] + 2.5 * rng.normal(size=(n, 400))).astype(np.float32)
    yield Problem(ENUMERATED, MulticlassTask(), (X, y), {"C_per_example": 1e-3, "rel_gap": 1e-3})


def counted(problem: Problem, rule: str, seeds: int, limit_s: float) -> list[str]:
    """A row of the table."""
    patches, options = RULES[rule]
    found = []
    for seed in range(seeds):
        with ExitStack() as stack:
            for one in patches():
                stack.enter_context(one)
            result = train(
                problem.task, *problem.data, solver="multi-plane", executor="serial",
                max_seconds=limit_s, random_state=seed, **problem.options | options,
            )  # fmt: skip
        n, last = result.n_examples, result.history[-1]
        n_fresh = sum(record.kind == "fresh" for record in result.history)
        reached = result.stop_reason in ("eps", "rel_gap")
        share = result.gap / (result.primal if "rel_gap" in problem.options else result.C)
        found.append((last.n_oracle_calls / n, n_fresh, last.n_cache_hits / n, share, reached))
    passes, n_fresh, visits, share, reached = np.mean(found, axis=0)
    mark = "" if reached == 1 else " (limit)"
    return [rule + mark, f"{passes:.1f}", f"{n_fresh:.1f}", f"{visits:.0f}", f"{share:.2g}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less data, one seed")
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    parser.add_argument("--rules", default="", help="only rules with one of these; by ';'")
    parser.add_argument("--seeds", type=int, help="runs of each rule (3; --quick: 1)")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a run may take")
    args = parser.parse_args()
    seeds = args.seeds or (1 if args.quick else 3)
    names = [name for name in RULES if any(part in name for part in args.rules.split(";"))]
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems(folder, args.quick):
            if args.only not in problem.name:
                continue
            own = names
            if problem.name == ENUMERATED:
                own = [name for name in names if not name.startswith(OF_CALLS)]
            count = partial(counted, problem, seeds=seeds, limit_s=args.limit)
            print(f"\n{problem.name}", flush=True)
            rows = [count(name) for name in own]
            table(["rule", "passes", "certifying", "visits / n", "gap"], rows)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
