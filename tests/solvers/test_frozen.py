"""The θ rule: what lost blocks had goes on to count, and no dual value is lost."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distsvm.cuts.bounds import Target
from distsvm.messages import Ascended, Holding, Regain
from distsvm.risks.blocks import BlockRisk
from distsvm.solvers.base import Problem
from distsvm.solvers.frozen import Frozen
from distsvm.solvers.multi_plane import MultiPlane, MultiPlaneOptions

DIM = 4


class ScriptedBlocks(BlockRisk):
    """Blocks whose planes are given; each answer says how α moved since the last."""

    dim, n_blocks, total_weight = DIM, 3, 3.0

    def __init__(self, seed, lose):
        self.rng = np.random.default_rng(seed)
        self.planes = self.rng.normal(size=(self.n_blocks, 3, DIM))
        self.loss = self.rng.uniform(size=(self.n_blocks, 3))
        self.lose = lose  # round → blocks
        self.duals = []

    def hold(self, C, memory_mb, seed):
        self.size = C / self.total_weight
        self.alpha = np.zeros((self.n_blocks, 3))
        self.before = self.alpha.copy()
        self.number = [0] * self.n_blocks

    def _holding(self, k):
        a, b = self.before[k] @ self.planes[k], float(self.before[k] @ self.loss[k])
        return Holding(a, b, self.number[k])

    def ascend(self, w, point, todo):
        regain = todo.regain or Regain(frozenset(), 1.0, None)
        for k in range(self.n_blocks):
            taken = regain.taken if k in regain.blocks else todo.taken
            self.alpha[k] = self.before[k] + taken * (self.alpha[k] - self.before[k])
        for k in self.lose.get(todo.number, ()):
            self.alpha[k], self.number[k] = 0.0, 0
        lost = [todo.number > 1 and number == 0 for number in self.number]
        self.before = self.alpha.copy()
        self.number = [todo.number] * self.n_blocks
        answers = []
        for k in range(self.n_blocks):
            at = regain.w if k in regain.blocks and regain.w is not None else w
            values = self.loss[k] - self.planes[k] @ at
            target = np.zeros(3)
            if values.max() > 0:  # the Frank-Wolfe corner, a fifth of the way
                target[values.argmax()] = self.size
            self.alpha[k] += 0.2 * (target - self.alpha[k])
            change = self.alpha[k] - self.before[k]
            upper = max(
                0.0, (self.loss[k] - self.planes[k] @ (w if point is None else point)).max()
            )
            answers.append(Ascended(
                u=change @ self.planes[k], linear=float(change @ self.loss[k]), gain=0.0,
                holding=self._holding(k) if todo.ask == "all" else None, upper=upper, exact=True,
                gap=1.0, held_gap=0.0, n_calls=1, n_visits=1, n_planes=1, n_support=1,
                n_refused=0, n_bytes=0, work=1.0, lost=lost[k],
            ))  # fmt: skip
        return answers

    def back_up(self):
        return False

    def holdings(self):
        return [self._holding(k) for k in range(self.n_blocks)]


@given(
    seed=st.integers(0, 10_000),
    lose=st.dictionaries(
        st.integers(2, 30), st.sets(st.integers(0, 2), min_size=1), max_size=4
    ),
)  # fmt: skip
def test_the_dual_never_falls_and_is_that_of_feasible_planes(seed, lose):
    blocks = ScriptedBlocks(seed, lose)
    solver = MultiPlane(Problem(5.0, Target(1e-9)))
    state = solver.begin(blocks, None)
    rounds = solver.rounds(blocks, state)
    last = 0.0
    for _ in range(40):
        record = next(rounds)
        assert state.dual >= last - 1e-9
        last = state.dual
        assert np.isclose(state.square, state.w @ state.w)
        assert record.dual <= record.best_primal + 1e-9  # so no α beyond its simplex


def test_rounds_that_only_regain_what_workers_lost_are_no_end():
    every_round = {number: {0, 1, 2} for number in range(20, 60)}
    blocks = ScriptedBlocks(0, every_round)
    solver = MultiPlane(Problem(5.0, Target(1e-9)), MultiPlaneOptions(ask_share=1.0))
    state = solver.begin(blocks, None)
    rounds = solver.rounds(blocks, state)
    duals = []
    for _ in range(200):
        duals.append(next(rounds).dual)
        assert not state.stalled
    assert duals[25] == duals[55] < duals[-1]  # nothing moved meanwhile, and later it did


@given(seed=st.integers(0, 10_000))
def test_frozen_and_live_parts_add_up_to_w(seed):
    rng = np.random.default_rng(seed)
    vectors, numbers = rng.normal(size=(3, DIM)), rng.normal(size=3)
    w, linear = vectors.sum(axis=0), float(numbers.sum())
    now = [Holding(vectors[0], float(numbers[0]), 1), Holding(np.zeros(DIM), 0.0, 0),
           Holding(vectors[2], float(numbers[2]), 1)]  # fmt: skip
    frozen = Frozen.of(w, linear, now, frozenset({1}))
    assert np.allclose(frozen.a.w, vectors[1])
    assert np.isclose(frozen.b, numbers[1])
    assert np.allclose(frozen.apart.w, frozen.a.w)
    restored = Frozen.from_arrays(frozen.arrays())
    assert restored.blocks == frozen.blocks
    assert np.array_equal(restored.apart.w, frozen.apart.w)
