"""The risk of examples in terms of kernel values: points are coefficients of examples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from distsvm.cuts.cut import Cut
from distsvm.data.features import Rows
from distsvm.data.ragged import offsets
from distsvm.errors import ConfigError
from distsvm.kernel_functions.joint import Expansion, joined
from distsvm.messages import Missing, Mixture, Searched
from distsvm.risks.base import Risk, Workers
from distsvm.risks.kernel_cut import KernelVector
from distsvm.risks.true_dual import DualPoint, true_dual
from distsvm.wording import Setting, message
from distsvm.workers.kernel_part import Draw


class KernelRisk(Risk):
    """Searches and draws at w = Σ α·a, and products of cuts.

    The array of a point has the codes of all atoms of the training data, in the order of shards,
    and then the explicit features: w = Σ_t K(x_t, ·) ⊗ c_t, and most c_t are 0.

    Attributes
    ----------
    function : KernelFunction
    total_weight : float
        Σ c_i.
    n_examples, n_atoms, n_codes, n_explicit : int
    """

    def __init__(self, workers: Workers) -> None:
        super().__init__(workers)
        if len(workers.blocks) > 1:
            raise ConfigError(
                message(
                    "{}: cuts of kernel values have one slack; expected 1",
                    Setting("n_blocks", len(workers.blocks)),
                )
            )
        self._hosts = range(workers.blocks[0].stop)
        found = workers.executor.run("on_part", "sizes", shards=self._hosts)
        form = workers.executor.run("on_part", "form", shards=[0])[0]
        self.function, self.n_codes, self.n_explicit = form
        sizes = np.array([own[:2] for own in found], np.int64)
        self._examples, self._atoms = offsets(sizes[:, 0]), offsets(sizes[:, 1])
        self.n_examples, self.n_atoms = int(self._examples[-1]), int(self._atoms[-1])
        self._weights = np.array([own[2] for own in found])
        self.total_weight = workers.total_weight
        self.dim = self.n_atoms * self.n_codes + self.n_explicit
        self._known: dict[int, Expansion] = {}
        self.n_values = 0

    # --- searches and draws ----------------------------------------------------------------

    def search(self, point: Mixture) -> tuple[Searched, np.ndarray]:
        """Search all examples; return the sums, and Σ c_i of each shard's candidates."""
        found = self._ask(point, "search", [()] * len(self._hosts))
        self.n_values += sum(own.n_values for own in found)
        return reduce(add, found), np.array([own.candidates for own in found])

    def draws(self, seed: int, number: int, redraw: int, r: int, among: np.ndarray | None = None
              ) -> list[Draw]:  # fmt: skip
        """Return a draw of r examples: how many from each shard, and their seeds.

        They are drawn among candidates, whose weights by shard are given, or among all examples.
        """
        weights = self._weights if among is None else among
        rng = np.random.default_rng((seed, number, redraw))
        counts = rng.multinomial(r, weights / weights.sum())
        kind = "all" if among is None else "candidates"
        return [
            Draw(int(count), (seed, number, shard, redraw), kind)
            for shard, count in enumerate(counts)
        ]

    def sample(self, point: Mixture, draws: Sequence[Draw]) -> Searched:
        """Return sums over draws."""
        found: list[Searched] = self._ask(point, "sample", [(draw,) for draw in draws])
        self.n_values += sum(own.n_values for own in found)
        return reduce(add, found)

    # --- cuts ------------------------------------------------------------------------------

    def cut(
        self, number: int, point: Mixture, draws: Sequence[Draw] | None, scale: float, b: float
    ) -> Cut:
        """Return the cut of these draws, or of all candidates; `scale` multiplies its planes."""
        each = [(draw, scale) for draw in self._each(draws)]
        shares = self._ask(point, "share", each)
        a: Any = KernelVector.of(number, draws is None, shares, self._examples, self._atoms)
        return Cut(a, b)

    def gram_row(
        self, point: Mixture, draws: Sequence[Draw] | None, scale: float, cut: Cut,
        cuts: Sequence[Cut],
    ) -> np.ndarray:  # fmt: skip
        """Return the products of a new cut, found at this point, with cuts, itself the last."""
        new: Any = cut.a
        vectors: list[Any] = [other.a for other in cuts]
        ids = tuple(vector.number for vector in vectors)
        self._know(vectors)
        each = [(draw, scale, ids, {new.number: new.expansion}) for draw in self._each(draws)]
        found = self._ask(point, "gram", each)
        self.n_values += sum(n_values for _, n_values in found)
        row = sum((row for row, _ in found), np.zeros(len(ids)))
        explicit = new.expansion.explicit
        return row + [vector.expansion.explicit @ explicit for vector in vectors]

    def weights(self, cuts: Sequence[Cut], alpha: np.ndarray) -> np.ndarray:
        """Return the array of w = Σ α·a."""
        w = self.zero()
        split = self.dim - self.n_explicit
        table, explicit = w[:split].reshape(self.n_atoms, self.n_codes), w[split:]
        for cut, share in zip(cuts, alpha.tolist(), strict=True):
            if share > 0:
                a: Any = cut.a
                table[a.number_of_atom] += share * a.expansion.codes
                explicit += share * a.expansion.explicit
        return w

    def know(self, cuts: Sequence[Cut]) -> None:
        """Set the cuts in use; a part that lacks some gets them when it is asked."""
        self._known = {}
        self._know([cut.a for cut in cuts])  # type: ignore[misc]

    def _know(self, vectors: Sequence[KernelVector]) -> None:
        self._known |= {vector.number: vector.expansion for vector in vectors}

    # --- models ----------------------------------------------------------------------------

    def expansion(self, w: np.ndarray) -> Expansion:
        """Return the anchors and codes of a point's array."""
        table = w[: self.dim - self.n_explicit].reshape(self.n_atoms, self.n_codes)
        atoms = np.flatnonzero(table.any(axis=1))
        return Expansion(self._rows(atoms, True), table[atoms], w[self.dim - self.n_explicit :])

    def inputs(self, atoms: np.ndarray) -> Rows:
        """Return these atoms, whose numbers increase, as the left side of blocks."""
        return self._rows(atoms, False)

    def _rows(self, atoms: np.ndarray, right: bool) -> Rows:
        ends = np.searchsorted(atoms, self._atoms)
        which = [
            (atoms[low:high] - first, right)
            for low, high, first in zip(ends[:-1], ends[1:], self._atoms, strict=False)
        ]
        run = self._workers.executor.run
        return joined(run("on_part", "atoms", shards=self._hosts, each=which))

    def dual(
        self, cuts: Sequence[Cut], alpha: np.ndarray, C: float, n_sweeps: int
    ) -> DualPoint | None:
        """Return a point of the dual of all examples from the support of α; see true_dual."""
        vectors: list[Any] = [cut.a for cut in cuts]
        share = C / self.total_weight
        found = true_dual(self.function, vectors, alpha, share, n_sweeps, self.inputs)
        self.n_values += 0 if found is None else found.n_values
        return found

    def search_at(self, found: DualPoint, number: int, point: Mixture) -> Searched:
        """Search all examples at a point of the dual, while parts keep the cuts of `point`.

        `number` is that of no cut.
        """
        self._known[number] = found.expansion
        alpha = np.append(np.zeros(len(point.ids)), 1.0)
        return self.search(Mixture(point.number, (*point.ids, number), alpha))[0]

    def array(self, found: DualPoint) -> np.ndarray:
        """Return the array of a point of the dual."""
        w = self.zero()
        split = self.dim - self.n_explicit
        w[:split].reshape(self.n_atoms, self.n_codes)[found.number] = found.expansion.codes
        w[split:] = found.expansion.explicit
        return w

    def sent(self, w: np.ndarray) -> Any:
        return self.expansion(w)

    def model(self, task: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
        return task.of_expansion(self.expansion(w))

    def _each(self, draws: Sequence[Draw] | None) -> Sequence[Draw | None]:
        return [None] * len(self._hosts) if draws is None else draws

    # --- calls -----------------------------------------------------------------------------

    def _ask(self, point: Mixture, method: str, each: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every part, and send cuts to those that lack some."""
        executor = self._workers.executor
        found: dict[int, Any] = {}
        waiting = list(self._hosts)
        while waiting:
            answers = executor.run(
                "on_part", "ask", point, method, shards=waiting, each=[each[s] for s in waiting]
            )
            found |= dict(zip(waiting, answers, strict=True))
            lacking = {s: own.ids for s, own in found.items() if isinstance(own, Missing)}
            waiting = list(lacking)
            if waiting:
                sent = [({number: self._known[number] for number in lacking[s]},) for s in waiting]
                executor.run("on_part", "learn", shards=waiting, each=sent)
        return [found[s] for s in self._hosts]
