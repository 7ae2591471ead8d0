"""PlaneAlgebra: what solvers do with planes that were found. One method is enough for all of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from distsvm.data.features import frozen
from distsvm.kernels import flat_vectors
from distsvm.messages import Planes
from distsvm.oracles.bound import Bound
from distsvm.oracles.climber import Climber, Flat, HeldVectors
from distsvm.oracles.listed import ListedVectors, PlaneParts
from distsvm.oracles.totals import DenseTotal, Total


class PlaneAlgebra(Bound):
    """Values, sums and products of planes (p, q), all made from `flat`, which writes p down.

    A structure gives `features`, and has the whole algebra; or, where p = Ψ(x, y) − Ψ(x, ŷ) is
    cheaper at once, `flat` and `norms`. It overrides another method only where a profile says so.
    """

    # --- the flat map ----------------------------------------------------------------------

    def features(self, rows: np.ndarray, outputs: Any) -> Flat:
        """Ψ(x, ŷ) of each of these examples and outputs, as index, value and starts.

        Requires one output a row. Ensures int64 indices in 0 … dim − 1 in any order, finite float64
        values, and int64 starts of length m + 1 from 0 on; an index may come more than once, and
        then its values add up.
        """
        raise NotImplementedError(f"{type(self).__name__} gives neither `features` nor `flat`")

    def flat(self, planes: Planes) -> Flat:
        """p of each plane, ψ = Ψ(x, y) − Ψ(x, ŷ) or q·ψ, in the form that `features` has.

        Reads row, output and q of the planes, and not their loss. Ensures the same entries in the
        same order for the same plane, whichever others it is asked with.
        """
        truth = self.features(planes.row, self.truths(planes.row))
        found = self.features(planes.row, planes.output)
        factor = planes.q if self.slack else np.ones(len(planes))
        return flat_vectors.differences(
            *map(frozen, truth), *map(frozen, found), frozen(factor), self.dim
        )

    # --- values and sums -------------------------------------------------------------------

    def values(self, view: Any, planes: Planes) -> np.ndarray:
        """q − ⟨p, w⟩ of each plane, at any w and long after the plane was found."""
        if not len(planes):
            return np.empty(0)
        index, value, starts = self.flat(planes)
        if not index.size:
            return planes.q.copy()
        products = np.append(value * self.w_of(view)[index], 0.0)
        sums = np.add.reduceat(products, starts[:-1])
        sums[np.diff(starts) == 0] = 0.0  # reduceat gives an empty run its neighbour's value
        return planes.q - sums

    def accumulate(self, planes: Planes, weights: np.ndarray, out: np.ndarray) -> None:
        """out += Σ weight·p, for an array `out` of length dim."""
        if len(planes):
            index, value, starts = self.flat(planes)
            np.add.at(out, index, value * np.repeat(weights, np.diff(starts)))

    def total(self, dim: int) -> Total:
        """Return an empty sum of planes, of length dim; an override may be of another form."""
        return DenseTotal(dim, self)

    # --- the dual ascent -------------------------------------------------------------------

    def vectors(self, max_bytes: float) -> HeldVectors:
        """Room for p of the planes of a stock that may take so much memory with all it has."""
        return ListedVectors(self, max_bytes)

    def parts(self, planes: Planes) -> PlaneParts:
        """Return each p as a signed sum of parts that the planes of its example share.

        A part is a run of weights. By default each weight that `flat` names is one; a structure
        whose planes share runs of many weights names the runs.
        """
        index, value, starts = self.flat(planes)
        one_each = np.arange(index.size + 1)
        return PlaneParts(starts, index, value, np.full(index.size, -1), one_each, index)

    def part_values(self) -> np.ndarray:
        """What PlaneParts.at points into."""
        return np.empty(0)

    def times_of(self, index: np.ndarray) -> np.ndarray | None:
        """Return the factor of a change of each of these weights in `climb_beside`; None: 1."""
        return None

    def climber(self, w: np.ndarray, sigma: float) -> Climber:
        """As HeldVectors.climber, over all outputs; where n_outputs says how many there are."""
        raise NotImplementedError(f"{type(self).__name__} does not enumerate outputs")

    def feature_shares(self) -> np.ndarray | None:
        """Return the share of the shard with each feature, for `climb_beside`; None without use."""
        return None

    def climb_beside(self, n_blocks: int, shares: np.ndarray | None = None) -> None:
        """Before any climber: the number of blocks that will climb at once, this one included.

        Oracles that know which features the blocks have in common count those features' changes
        more than once, in climbers and Gram matrices; see Task.weighs_features. `shares` are the
        feature_shares of the block, where that is more than this shard. Most count all alike.
        """

    # --- sizes -----------------------------------------------------------------------------

    def norms(self) -> tuple[np.ndarray, float | None]:
        """‖Ψ(x_i, y_i)‖² of each example, and max ‖ψ_i(ŷ)‖² over all outputs, None if not known.

        The first decides the default of C; the second the bound of rounds that the theory has.
        """
        norms = np.empty(self.n)
        for rows in self.chunks(np.arange(self.n)):
            features = self.features(rows, self.truths(rows))
            norms[rows] = flat_vectors.square_norms(*map(frozen, features), self.dim)
        return norms, None

    def size(self, weights: np.ndarray) -> tuple[float, float | None]:
        """Return Σ weight_i·‖Ψ(x_i, y_i)‖², and max ‖ψ_i(ŷ)‖² over all outputs, None if unknown."""
        norms, square_radius = self.norms()
        return float(weights @ norms), square_radius
