"""The worker's part of solvers with kernel values: stored products with cuts, and draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from distsvm.data.features import Rows
from distsvm.data.ragged import spread
from distsvm.kernel_functions.function import KernelFunction
from distsvm.kernel_functions.joint import Expansion, JointKernel
from distsvm.messages import Missing, Mixture, Planes, Searched, Share
from distsvm.workers.part import NoPart
from distsvm.workers.shard_worker import ShardWorker


class Draw(NamedTuple):
    """Examples drawn with replacement, each with a probability in proportion to c_i.

    Parameters
    ----------
    n : int
        The number of draws from this shard.
    key : tuple of int
        The seed of the generator: that of the run, round, shard, redraw.
    among : "all" or "candidates"
    """

    n: int
    key: tuple[int, ...]
    among: str = "candidates"

    def rows(self, weight: np.ndarray) -> np.ndarray:
        """Return the places that are drawn, of examples with these weights."""
        if not self.n:
            return np.zeros(0, np.int64)
        edges = np.cumsum(weight)
        at = np.random.default_rng(self.key).random(self.n) * edges[-1]
        return np.minimum(np.searchsorted(edges, at, side="right"), weight.size - 1)


@dataclass(frozen=True)
class KernelPartMaker:
    """Makes parts; `stored` says whether products of all atoms with each cut are kept."""

    stored: bool

    def __call__(self, worker: ShardWorker) -> KernelPart:
        return KernelPart(worker, self.stored)


class Products:
    """⟨a_k, K(x_t, ·) ⊗ ·⟩ of some atoms with cuts, each computed once.

    Parameters
    ----------
    kernel : JointKernel
    atoms : Rows
    """

    def __init__(self, kernel: JointKernel, atoms: Rows) -> None:
        self._kernel, self._atoms = kernel, atoms
        self._known: dict[int, np.ndarray] = {}
        self.n_values = 0

    def of(self, number: int, cut: Expansion) -> np.ndarray:
        """Return the products with the cut of this number, shape (atoms, r)."""
        if number not in self._known:
            self._known[number] = cut.scores(self._kernel.function, self._atoms)
            self.n_values += self._atoms.n_rows * cut.anchors.n_rows
        return self._known[number]

    def sum(self, cuts: dict[int, Expansion], point: Mixture) -> np.ndarray:
        """Return Σ α·products."""
        total = np.zeros((self._atoms.n_rows, self._kernel.n_codes))
        for number, alpha in zip(point.ids, point.alpha.tolist(), strict=True):
            if alpha > 0:
                total += alpha * self.of(number, cuts[number])
        return total

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget the products with all other cuts."""
        for number in self._known.keys() - set(numbers):
            del self._known[number]

    def spent(self) -> int:
        """Return the number of kernel values computed since the last call."""
        found, self.n_values = self.n_values, 0
        return found


class Looked(NamedTuple):
    """The planes of some examples at one w, in the order of `rows`, and their atoms' products.

    `places` are the products' rows of the atoms of these examples, in order.
    """

    asked: tuple[Any, ...]
    planes: Planes
    value: np.ndarray
    rows: np.ndarray
    products: Products
    places: np.ndarray
    draws: np.ndarray


class KernelPart(NoPart):
    """Searches one shard at w = Σ α·a, where a cut is an Expansion that the driver sends once.

    Cuts and products may be lost at any time: the part then answers which cuts are missing, and
    gets them again.
    """

    def __init__(self, worker: ShardWorker, stored: bool) -> None:
        oracle: Any = worker.oracle
        self._worker, self.oracle = worker, oracle
        self.kernel: JointKernel = oracle.joint_kernel()
        self._cuts: dict[int, Expansion] = {}
        self._stored = Products(self.kernel, self.kernel.atoms) if stored else None
        self._looked: dict[str, Looked] = {}

    def sizes(self) -> tuple[int, int, float]:
        """Return the numbers of examples and atoms, and Σ c_i."""
        return self.oracle.n, self.kernel.atoms.n_rows, float(self._worker.weight.sum())

    def form(self) -> tuple[KernelFunction, int, int]:
        """Return the kernel function, r and n_explicit."""
        return self.kernel.function, self.kernel.n_codes, self.kernel.n_explicit

    def learn(self, cuts: dict[int, Expansion]) -> None:
        """Take cuts by their numbers."""
        self._cuts.update(cuts)

    def ask(self, point: Mixture, method: str, *args: Any) -> Any:
        """Call a method at this w; return Missing if the part lacks cuts of it."""
        missing = tuple(number for number in point.ids if number not in self._cuts)
        if missing:
            return Missing(missing)
        for number in self._cuts.keys() - set(point.ids):
            del self._cuts[number]
        if self._stored is not None:
            self._stored.keep(point.ids)
        return getattr(self, method)(point, *args)

    def atoms(self, which: np.ndarray, right: bool) -> Rows:
        """Return atoms of the shard as the right or the left side of blocks."""
        return self.kernel.anchors(which) if right else self.kernel.atoms.take(which)

    # --- the search ------------------------------------------------------------------------

    def search(self, point: Mixture) -> Searched:
        """Search all examples."""
        with self._worker.limited():
            if self.oracle.is_late():
                return Searched(late=True)
        looked, c = self._all(point), self._worker.weight
        wrong = looked.planes.q > 0
        found = self._sums(looked, c)
        return replace(
            found,
            candidates=float(c[wrong].sum()),
            n_candidates=int(np.count_nonzero(wrong & (c > 0))),
        )

    def sample(self, point: Mixture, draw: Draw) -> Searched:
        """Search the examples that are drawn, or sum what the search of all found for them."""
        looked = self._of(point, draw)
        found = self._sums(looked, _counts(looked))
        return found if draw.among == "all" else replace(found, n_calls=0)

    def share(self, point: Mixture, draw: Draw | None, scale: float) -> Share:
        """Return the planes of these draws, or of all candidates, with their weights."""
        looked = self._of(point, draw)
        weight = self._worker.weight if draw is None else _counts(looked)
        kept = np.flatnonzero((weight > 0) & (looked.planes.q > 0))
        planes = looked.planes.take(kept)
        entries = self.kernel.entries(planes)
        number, place = np.unique(entries.atom, return_inverse=True)
        return Share(
            example=planes.row, key=self.oracle.keys(planes.output), weight=scale * weight[kept],
            q=planes.q, c=self._worker.weight[planes.row], starts=entries.starts,
            atom=place.ravel(), codes=entries.codes, explicit=entries.explicit, number=number,
            anchors=self.kernel.anchors(number),
        )  # fmt: skip

    def gram(self, point: Mixture, draw: Draw | None, scale: float, ids: tuple[int, ...],
             new: dict[int, Expansion]) -> tuple[np.ndarray, int]:  # fmt: skip
        """Return ⟨share, a⟩ of each of these cuts without explicit features, and the values spent.

        The products with the atoms are stored, or those of this round's draws.
        """
        self._cuts.update(new)
        looked = self._of(point, draw)
        share = self.share(point, draw, scale)
        table = np.zeros(self.kernel.atoms.n_rows, np.int64)
        table[spread(self.kernel.starts[looked.rows], self._lengths(looked.rows))] = looked.places
        places = table[share.number[share.atom]]
        weight = np.repeat(share.weight, np.diff(share.starts))[:, None] * share.codes
        row = [
            float(np.sum(weight * looked.products.of(number, self._cuts[number])[places]))
            for number in ids
        ]
        return np.array(row), looked.products.spent()

    # --- what was found --------------------------------------------------------------------

    def _of(self, point: Mixture, draw: Draw | None) -> Looked:
        if draw is None:
            return self._all(point)
        if draw.among == "candidates":
            looked = self._all(point)
            wrong = self._worker.weight * (looked.planes.q > 0)
            return looked._replace(draws=draw.rows(wrong))
        asked = (point.number, point.ids, point.alpha.tobytes(), draw)
        if asked != getattr(self._looked.get("drawn"), "asked", None):
            rows, draws = np.unique(draw.rows(self._worker.weight), return_inverse=True)
            atoms = spread(self.kernel.starts[rows], self._lengths(rows))
            products = Products(self.kernel, self.kernel.atoms.take(atoms))
            self._looked["drawn"] = self._looking(
                asked, point, rows, products, np.arange(atoms.size), draws.ravel()
            )
        return self._looked["drawn"]

    def _all(self, point: Mixture) -> Looked:
        asked = (point.number, point.ids, point.alpha.tobytes())
        if asked != getattr(self._looked.get("all"), "asked", None):
            products = self._stored or Products(self.kernel, self.kernel.atoms)
            rows, atoms = np.arange(self.oracle.n), np.arange(self.kernel.atoms.n_rows)
            none = np.zeros(0, np.int64)
            self._looked["all"] = self._looking(asked, point, rows, products, atoms, none)
        return self._looked["all"]

    def _looking(
        self, asked: tuple[Any, ...], point: Mixture, rows: np.ndarray, products: Products,
        places: np.ndarray, draws: np.ndarray,
    ) -> Looked:  # fmt: skip
        explicit = np.zeros(self.kernel.n_explicit)
        for number, alpha in zip(point.ids, point.alpha.tolist(), strict=True):
            explicit += alpha * self._cuts[number].explicit
        found = self.kernel.separate(products.sum(self._cuts, point), explicit, rows)
        return Looked(asked, found.planes, found.value, rows, products, places, draws)

    def _sums(self, looked: Looked, weight: np.ndarray) -> Searched:
        value = looked.value
        return Searched(
            value=float(weight @ value), square=float(weight @ value**2),
            q=float(weight @ looked.planes.q), n_calls=looked.rows.size,
            n_values=looked.products.spent(),
        )  # fmt: skip

    def _lengths(self, rows: np.ndarray) -> np.ndarray:
        return self.kernel.starts[rows + 1] - self.kernel.starts[rows]


def _counts(looked: Looked) -> np.ndarray:
    """Return how often each of the examples was drawn."""
    return np.bincount(looked.draws, minlength=looked.rows.size).astype(np.float64)
