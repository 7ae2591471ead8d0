"""CKY: binary steps a second and sentences a second by length; then against NLTK's ViterbiParser.

Run: python benchmarks/cky_speed.py               (about 5 minutes; --quick: under a minute)

Both sides parse tags with the PCFG of the Penn Treebank sample's training trees. A relaxation is a
binary step tried over a span and a split whose two parts are both possible. Times are those of one
core, as the processor counted them for the thread, because a shared machine's clock is too noisy.

NLTK gets the same rules with the same probabilities (n-ary rules and tags as terminals are its own
manner, too), from sentences of at most 15 words so that it comes to an end. It closes unary rules
without a limit, we take chains without a symbol twice; a symbol twice never makes a product of
probabilities larger, so that the best scores must be equal, with the limit on chains set above the
length of any of them.

Wanted: at least 300 times as fast, with the same best scores.
"""

from __future__ import annotations

import argparse
import logging
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from support import machine, peer, penn, table, verdict

from distsvm.kernels.options import kernel
from distsvm.structures.trees.kernels.cky_chart import (
    Costs,
    count_slots,
    fill,
    make_chart,
    make_items,
)
from distsvm.structures.trees.kernels.cky_rows import cell_of
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import TOP, Tree
from distsvm.vectors import dot

WANTED = 300
MAX_CHAIN = 30
LENGTHS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 25), (26, 30), (31, 40))
PEER_LENGTHS = ((1, 3), (4, 6), (7, 8), (9, 10), (11, 12))
SAME = 1e-9  # of log-probabilities: rounding


@kernel
def count_relaxations(tables, weights, words, word_starts, out):
    """out[i] = binary steps (step, span, split) of sentence i with both children possible."""
    n_symbols = tables.n_tags + tables.n_phrases
    for s in range(out.size):
        sentence = words[word_starts[s] : word_starts[s + 1]]
        n_words = sentence.size
        n_cells = cell_of(0, n_words + 1)
        chart = make_chart(n_cells, n_cells, n_symbols, tables.n_phrases)
        labels = np.full(n_cells, -1, np.int64)
        count_slots(n_words, labels, False, chart.first)
        costs = Costs(0.0, 0.0, 0.0, 0.0, True)
        items, _ = fill(
            tables, weights, sentence, labels, costs, False, chart, make_items(1 << 16), 1 << 40
        )
        total = 0
        for j in range(2, n_words + 1):
            for i in range(j - 1):
                for k in range(i + 1, j):
                    left, right = cell_of(i, k), cell_of(k, j)
                    scores = chart.top[right]
                    for a in range(chart.n_active[left]):
                        symbol = chart.active[left, a]
                        for e in range(tables.row_starts[symbol], tables.row_starts[symbol + 1]):
                            total += scores[tables.step_right[e]] != -np.inf
                    for t in range(chart.item_start[left], chart.item_stop[left]):
                        symbol = items.symbol[t]
                        for e in range(tables.row_starts[symbol], tables.row_starts[symbol + 1]):
                            total += scores[tables.step_right[e]] != -np.inf
        out[s] = total


def grammar_of(trees: list[Tree], max_chain: int = MAX_CHAIN) -> ParseTask:
    task = ParseTask(max_chain=max_chain)
    shard = task.shard([tree.sentence() for tree in trees], trees)
    return task.prepare(task.scan(shard))


def within(trees: list[Tree], lengths: tuple[int, int], most: int) -> list[Any]:
    sentences = [tree.sentence() for tree in trees]
    return [x for x in sentences if lengths[0] <= len(x) <= lengths[1]][:most]


def core_s(function: Callable[[], object], repeats: int) -> float:
    """Seconds of this thread, the median of some calls."""
    times = []
    for _ in range(repeats):
        started = time.thread_time()
        function()
        times.append(time.thread_time() - started)
    return statistics.median(times)


# --- our own speed ---------------------------------------------------------------------------


def speed_table(trees: list[Tree], test: list[Tree], most: int) -> None:
    task = grammar_of(trees, max_chain=4)
    w, rows = task.likelihood_weights(), []
    for lengths in LENGTHS:
        sentences = within(test, lengths, most)
        oracle = task.oracle(task.shard(sentences), "margin")
        view, which = oracle.view(w), np.arange(oracle.n)
        oracle.decode(view, which[:1])
        seconds = core_s(lambda: oracle.decode(view, which), 5)  # noqa: B023 (called at once)
        known = np.flatnonzero([oracle.words.row(i).min() >= 0 for i in which])
        words, work = oracle.words[known], np.zeros(known.size, np.int64)
        count_relaxations(oracle.tables, view.weights, words.values, words.starts, work)
        rows.append(
            (f"{lengths[0]}–{lengths[1]}", oracle.n, f"{oracle.n / seconds:,.0f}",
             f"{1e3 * seconds / oracle.n:.3f}", f"{work.mean():,.0f}",
             f"{work.sum() / seconds / 1e6:.0f}")
        )  # fmt: skip
    tables = task.grammar.tables
    print(
        f"At most 40 words: {task.dim:,} rules, {tables.step_left.size:,} binary steps, "
        f"{tables.chain_top.size:,} chains"
    )
    table(
        ("words", "sentences", "a second", "ms each", "relaxations each", "millions a second"), rows
    )
    print()


# --- against NLTK ----------------------------------------------------------------------------


def peer_parser(task: ParseTask, w: np.ndarray) -> Any:
    nltk = peer("nltk")
    productions = []
    for rule, weight in zip(task.grammar.rules, w.tolist(), strict=True):
        left, _, *right = rule.split()
        symbols = [s[1:-1] if s[0] == "'" else nltk.Nonterminal(s) for s in right]
        productions.append(
            nltk.ProbabilisticProduction(nltk.Nonterminal(left), symbols, prob=math.exp(weight))
        )
    return nltk.ViterbiParser(nltk.PCFG(nltk.Nonterminal(TOP), productions))


def peer_score(parser: Any, tags: list[str]) -> float:
    """The best tree's log-probability; −inf without one."""
    try:
        found = next(iter(parser.parse(tags)), None)
    except ValueError:  # a tag that the grammar does not have
        return -math.inf
    return -math.inf if found is None else math.log(found.prob())


def our_scores(task: ParseTask, w: np.ndarray, sentences: list[Any]) -> list[float]:
    oracle = task.oracle(task.shard(sentences), "margin")
    trees = oracle.public(oracle.decode(oracle.view(w), np.arange(oracle.n)))
    flat = [tree.label == TOP for tree in trees]
    return [
        -math.inf if outside else dot(task.joint_features(x, tree), w)
        for x, tree, outside in zip(sentences, trees, flat, strict=True)
    ]


def peer_table(trees: list[Tree], test: list[Tree], most: int) -> None:
    task = grammar_of(trees)
    w, rows, ratios = task.likelihood_weights(), [], []
    parser = peer_parser(task, w)
    n_equal = n_all = 0
    for lengths in PEER_LENGTHS:
        sentences = within(test, lengths, most)
        oracle = task.oracle(task.shard(sentences), "margin")
        which = np.arange(oracle.n)
        oracle.decode(oracle.view(w), which)
        # The weights' tables are part of the work, once for all sentences of a call.
        seconds = core_s(lambda: oracle.decode(oracle.view(w), which), 9)  # noqa: B023
        theirs: list[float] = []
        started = time.thread_time()
        for sentence in sentences:
            theirs.append(peer_score(parser, [tag for _, tag in sentence]))
        peer_s = time.thread_time() - started
        mine = our_scores(task, w, sentences)
        equal = [a == b or abs(a - b) <= SAME * abs(b) for a, b in zip(mine, theirs, strict=True)]
        below = [b - a for a, b, same in zip(mine, theirs, equal, strict=True) if not same]
        n_equal, n_all = n_equal + sum(equal), n_all + len(equal)
        ratios.append(peer_s / seconds)
        rows.append(
            (f"{lengths[0]}–{lengths[1]}", oracle.n, f"{1e3 * peer_s / oracle.n:,.0f}",
             f"{1e3 * seconds / oracle.n:.3f}", f"{ratios[-1]:,.0f}",
             f"{sum(equal)} of {len(equal)}", sum(math.isinf(a) for a in mine),
             f"{max(below):.3g}" if below else "")
        )  # fmt: skip
    longest = max(map(len, task.grammar.chains)) - 1
    assert longest < MAX_CHAIN
    print(
        f"At most 15 words: {task.dim:,} rules, {len(task.grammar.chains):,} chains of at most "
        f"{longest} rules"
    )
    table(
        ("words", "sentences", "NLTK ms", "ours ms", "ratio", "same score", "no tree",
         "NLTK's higher by"),
        rows,
    )  # fmt: skip
    print(
        f"Same best score: {n_equal} of {n_all}; at least {min(ratios):,.0f} times as fast, wanted "
        f"{WANTED}: {verdict(min(ratios) >= WANTED and n_equal == n_all)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sentences")
    args = parser.parse_args()
    logging.getLogger("distsvm").setLevel(logging.ERROR)  # the table counts them
    print(machine())
    peer("nltk")
    with tempfile.TemporaryDirectory() as folder:
        speed_table(*penn(folder, 40), 10 if args.quick else 100)
        peer_table(*penn(folder, 15), 6 if args.quick else 12)


if __name__ == "__main__":
    main()
