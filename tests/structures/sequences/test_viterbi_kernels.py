"""Every search over paths equals enumeration: both orders, ties, −inf, many sequences a call."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm.data.features import frozen
from distsvm.structures.sequences.kernels.viterbi import best_paths, relax
from distsvm.structures.sequences.kernels.viterbi_counts import (
    best_paths_by_count,
    most_violated_by_count,
)
from distsvm.structures.sequences.kernels.viterbi_many import many_best_paths

CASES = st.tuples(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.sampled_from([1, 2]),
    st.sampled_from([0.0, 0.3]),
)


class Problem:
    """Random scores from small integers (ties), some of them −inf (holes)."""

    def __init__(self, case, sure=True):
        seed, self.n_labels, lengths, self.order, holes = case
        self.rng, n = np.random.default_rng(seed), self.n_labels
        self.starts = frozen(np.concatenate([[0], np.cumsum(lengths)]))
        self.emissions = self.draw(sum(lengths), n)
        self.truth = frozen(self.rng.integers(0, n, sum(lengths)).astype(np.int16))
        self.steps, self.start, self.end = (self.draw(n, n), self.draw(n), self.draw(n))
        self.pairs, self.triples = self.draw(n, n), self.draw(n, n, n)
        # Half of the problems have prices of steps that depend on the token.
        self.inputs = self.draw(sum(lengths) if seed % 2 else 0, n, n)
        if holes:
            holey = self.rng.random((n, n)) < holes
            if sure:  # the truth stays possible
                for m in range(len(lengths)):
                    y = self.truth[self.starts[m] : self.starts[m + 1]]
                    holey[y[:-1], y[1:]] = False
            self.steps = np.where(holey, -np.inf, self.steps)
            self.make_more_holes(holes / 2, lengths if sure else [])

    def make_more_holes(self, share, lengths):
        """Tokens that cannot have some label, and labels that cannot be first or last."""
        holey = [self.rng.random(a.shape) < share for a in (self.emissions, self.start, self.end)]
        holey[0][np.arange(self.truth.size), self.truth] &= not lengths
        for m, length in enumerate(lengths):
            if length:
                holey[1][self.truth[self.starts[m]]] = False
                holey[2][self.truth[self.starts[m + 1] - 1]] = False
        self.emissions, self.start, self.end = (
            frozen(np.where(hole, -np.inf, a))
            for hole, a in zip(holey, (self.emissions, self.start, self.end), strict=True)
        )

    def draw(self, *shape):
        return frozen(self.rng.integers(-2, 3, shape).astype(float))

    @property
    def chain(self):
        if self.order == 1:
            table = frozen(self.steps[None])
            return table, table, self.start, self.end, self.inputs
        n = self.n_labels
        table = self.steps[:, None, :] + self.triples.transpose(1, 0, 2)
        opening = np.broadcast_to((self.steps + self.pairs)[:, None, :], (n, n, n))
        return frozen(table), frozen(opening), self.start, self.end, self.inputs

    def sequences(self):
        return [slice(a, b) for a, b in pairwise(self.starts.tolist())]

    def score(self, inside, path):
        if not path:
            return 0.0
        total = self.start[path[0]] + self.end[path[-1]]
        total += sum(self.emissions[inside][t, c] for t, c in enumerate(path))
        total += sum(self.steps[a, b] for a, b in pairwise(path))
        if self.inputs.size:
            total += sum(self.inputs[inside][t][pair] for t, pair in enumerate(pairwise(path)))
        if self.order == 2:
            total += sum(self.triples[path[i - 2 : i + 1]] for i in range(2, len(path)))
            total += self.pairs[path[:2]] if len(path) > 1 else 0.0
        return total

    def paths(self, inside):
        """All paths with their scores and numbers of wrong labels."""
        y = tuple(self.truth[inside].tolist())
        for path in product(range(self.n_labels), repeat=len(y)):
            wrong = sum(a != b for a, b in zip(path, y, strict=True))
            yield path, self.score(inside, path), wrong


@settings(max_examples=80)
@given(CASES, st.sampled_from([0.0, 1.0, 2.5]), st.booleans())
def test_best_paths_equal_enumeration(case, cost, sure):
    problem = Problem(case, sure)
    output = np.full(problem.truth.size, 77, np.int16)
    score = np.empty(problem.starts.size - 1)
    costs = frozen(cost * problem.rng.integers(0, 3, problem.truth.size))
    best_paths(
        problem.emissions, problem.starts, problem.truth, costs, *problem.chain, output, score
    )
    for m, inside in enumerate(problem.sequences()):
        y, own = problem.truth[inside], costs[inside]
        values = {p: s + own[y != p].sum() for p, s, _ in problem.paths(inside)}
        assert score[m] == max(values.values())
        if score[m] > -np.inf:
            assert values[tuple(output[inside].tolist())] == score[m]
        else:
            assert not output[inside].any()


@settings(max_examples=80)
@given(CASES, st.integers(1, 5), st.booleans())
def test_many_best_paths_are_distinct_sorted_and_the_best(case, k, sure):
    problem = Problem(case, sure)
    output = np.empty(k * problem.truth.size, np.int16)
    score = np.empty((problem.starts.size - 1, k))
    many_best_paths(problem.emissions, problem.starts, *problem.chain, k, output, score)
    for m, inside in enumerate(problem.sequences()):
        own = {p: s for p, s, _ in problem.paths(inside)}
        expected = sorted((s for s in own.values() if s > -np.inf), reverse=True)[:k]
        expected += [-np.inf] * (k - len(expected))
        assert score[m].tolist() == expected
        length = inside.stop - inside.start
        rows = output[k * inside.start : k * inside.stop].reshape(k, length).tolist()
        found = [tuple(row) for row, s in zip(rows, expected, strict=True) if s > -np.inf]
        assert len(set(found)) == len(found)
        assert [own[path] for path in found] == expected[: len(found)]


@settings(max_examples=60)
@given(CASES)
def test_best_paths_by_count_equal_enumeration(case):
    problem = Problem(case)
    lengths = np.diff(problem.starts)
    output = np.empty(int((lengths * (lengths + 1)).sum()), np.int16)
    score = np.empty(int((lengths + 1).sum()))
    best_paths_by_count(
        problem.emissions, problem.starts, problem.truth, *problem.chain, output, score
    )
    place = 0
    for m, inside in enumerate(problem.sequences()):
        own = {p: (s, wrong) for p, s, wrong in problem.paths(inside)}
        for h in range(lengths[m] + 1):
            best = max((s for s, wrong in own.values() if wrong == h), default=-np.inf)
            assert score[inside.start + m + h] == best
            path = tuple(output[place : place + lengths[m]].tolist())
            place += lengths[m]
            if best > -np.inf:
                assert own[path] == (best, h)


@settings(max_examples=60)
@given(CASES, st.booleans(), st.sampled_from(["linear", "root", "any"]), st.sampled_from([1, 3]))
def test_most_violated_by_count_equals_enumeration_for_any_loss(case, slack, kind, largest):
    problem = Problem(case)
    units = frozen(problem.rng.integers(1, largest + 1, problem.truth.size))
    counts = np.arange(4.0 * largest + 1)
    losses = {"linear": 2 * counts, "root": np.sqrt(counts), "any": counts * (7 - counts) ** 2}
    losses = frozen(losses[kind])
    output = np.full(problem.truth.size, 77, np.int16)
    most_violated_by_count(
        problem.emissions, problem.starts, problem.truth, units, losses, slack, *problem.chain,
        output,
    )  # fmt: skip
    for inside in problem.sequences():
        y = problem.truth[inside]
        truth = problem.score(inside, tuple(y.tolist()))
        values = {}
        for path, s, _ in problem.paths(inside):
            if s > -np.inf:
                d, loss = s - truth, losses[units[inside][y != path].sum()]
                values[path] = loss * (1 + d) if slack else loss + d
        assert values[tuple(output[inside].tolist())] == pytest.approx(max(values.values()))


@pytest.mark.parametrize("n", [1, 3, 4, 7, 8, 12, 15, 49])
def test_relax_is_exact_for_every_number_of_labels(n):
    rng = np.random.default_rng(n)
    before, prices = rng.standard_normal(n), rng.standard_normal((n, n))
    before[rng.random(n) < 0.3] = -np.inf
    prices[rng.random((n, n)) < 0.3] = -np.inf
    out = np.empty(n)
    relax(before, prices, out)
    assert np.array_equal(out, (before[:, None] + prices).max(axis=0))


def test_ties_go_to_the_lowest_labels():
    zeros = Problem((0, 3, [4, 1], 1, 0.0))
    table = frozen(np.zeros((1, 3, 3)))
    chain = (table, table, frozen(np.zeros(3)), frozen(np.zeros(3)), frozen(np.zeros((0, 3, 3))))
    emissions = frozen(np.zeros((5, 3)))
    output, score = np.empty(5, np.int16), np.empty(2)
    best_paths(emissions, zeros.starts, zeros.truth, frozen(np.zeros(5)), *chain, output, score)
    assert output.tolist() == [0] * 5
    output, score = np.empty(15, np.int16), np.empty((2, 3))
    many_best_paths(emissions, zeros.starts, *chain, 3, output, score)
    again = np.empty_like(output)
    many_best_paths(emissions, zeros.starts, *chain, 3, again, score)
    assert np.array_equal(output, again)
    assert output[:4].tolist() == [0] * 4
    assert output[12:].tolist() == [0, 1, 2]
