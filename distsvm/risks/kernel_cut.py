"""Cuts as coefficients of examples, and the working set of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distsvm import checks
from distsvm.cuts.cut import Cut
from distsvm.cuts.working_set import WorkingSet
from distsvm.data.features import DenseRows, Rows, SparseRows
from distsvm.data.ragged import offsets
from distsvm.kernel_functions.joint import Expansion, joined
from distsvm.messages import Share


@dataclass(frozen=True, eq=False)
class KernelVector:
    """The vector of a cut, Σ weight·p over planes, whose p are codes of atoms.

    Parameters
    ----------
    number : int
        Of the cut in its run.
    exact : bool
        Whether the cut bounds the risk for every w: its planes are those of all examples.
    example, key, weight, q, c : arrays of shape (m,)
        Of each plane: its example's number in the order of shards, its output, its weight in the
        sum, q, and c_i.
    starts, atom, codes, explicit : arrays
        p of each plane, as in Entries; atoms by their place in `rows`.
    number_of_atom : int64 array
        The number of each of the rows' atoms, in the order of shards.
    rows : Rows
        The atoms as the right side of blocks.
    """

    number: int
    exact: bool
    example: np.ndarray
    key: np.ndarray
    weight: np.ndarray
    q: np.ndarray
    c: np.ndarray
    starts: np.ndarray
    atom: np.ndarray
    codes: np.ndarray
    explicit: np.ndarray
    number_of_atom: np.ndarray
    rows: Rows

    @classmethod
    def of(
        cls, number: int, exact: bool, shares: Sequence[Share], examples: np.ndarray,
        atoms: np.ndarray,
    ) -> KernelVector:  # fmt: skip
        """Return the cut of these shares, one a shard; `examples` and `atoms` are their firsts."""
        places = offsets(np.array([share.number.size for share in shares]))
        lengths = np.concatenate([np.diff(share.starts) for share in shares])

        def all_of(name: str, firsts: np.ndarray | None = None) -> np.ndarray:
            parts = [getattr(share, name) for share in shares]
            if firsts is not None:
                parts = [part + first for part, first in zip(parts, firsts, strict=False)]
            return np.concatenate(parts)

        return cls(
            number, exact, all_of("example", examples), all_of("key"), all_of("weight"),
            all_of("q"), all_of("c"), offsets(lengths), all_of("atom", places), all_of("codes"),
            all_of("explicit"), all_of("number", atoms), joined([s.anchors for s in shares]),
        )  # fmt: skip

    def __len__(self) -> int:
        return self.weight.size

    @property
    def nbytes(self) -> int:
        arrays = (getattr(self, name) for name in _ARRAYS)
        return self.rows.nbytes + sum(array.nbytes for array in arrays)

    @cached_property
    def expansion(self) -> Expansion:
        """The sum of the planes."""
        codes = np.zeros((self.rows.n_rows, self.codes.shape[1]))
        weight = np.repeat(self.weight, np.diff(self.starts))
        np.add.at(codes, self.atom, weight[:, None] * self.codes)
        return Expansion(self.rows, codes, self.weight @ self.explicit)


_ARRAYS = ("example", "key", "weight", "q", "c", "starts", "atom", "codes", "explicit",
           "number_of_atom")  # fmt: skip
_INTEGERS = ("example", "key", "starts", "atom", "number_of_atom")


class KernelSet(WorkingSet):
    """A working set whose cuts have KernelVectors."""

    def vectors(self) -> list[KernelVector]:
        """Return the vectors of the cuts."""
        return [cut.a for cut in self.cuts]  # type: ignore[misc]

    @property
    def norm2(self) -> float:
        """‖Σ α·a‖²."""
        return max(0.0, float(self.alpha @ (self.gram @ self.alpha)))

    def arrays(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {
            "cut_b": self.b, "gram": self.gram.copy(), "alpha": self.alpha, "idle": self.idle,
            "cut_number": np.array([a.number for a in self.vectors()], np.int64),
            "cut_exact": np.array([a.exact for a in self.vectors()], bool),
        }  # fmt: skip
        for j, a in enumerate(self.vectors()):
            found |= {f"cut_{j}_{name}": getattr(a, name) for name in _ARRAYS}
            rows, notes = a.rows.to_arrays()
            found |= {f"cut_{j}_rows_{name}": array for name, array in rows.items()}
            if notes:
                found[f"cut_{j}_n_columns"] = np.array(notes["n_columns"])
        return found

    @classmethod
    def restored(
        cls, limit: np.ndarray, arrays: Mapping[str, np.ndarray], n_examples: int, n_atoms: int,
        n_codes: int, n_explicit: int,
    ) -> KernelSet:  # fmt: skip
        """Return the set from the result of `arrays`, which may come from an untrusted file."""
        working = cls(limit)
        b = checks.finite("cut_b", arrays["cut_b"])
        m = b.size
        checks.array("gram", arrays["gram"], "f8", (m, m))
        alpha = checks.finite("alpha", arrays["alpha"], m)
        numbers = checks.vector("cut_number", arrays["cut_number"], "i", m)
        exact = checks.vector("cut_exact", arrays["cut_exact"], "b", m)
        if (
            np.unique(numbers).size < m
            or (alpha < 0).any()
            or not np.isfinite(arrays["gram"]).all()
        ):
            raise ValueError("a cut is there twice, has α < 0, or products that are not finite")
        for j in range(m):
            own = {name: arrays[f"cut_{j}_{name}"] for name in _ARRAYS}
            rows = _rows(arrays, j)
            _check(own, rows, n_examples, n_atoms, n_codes, n_explicit)
            a: Any = KernelVector(int(numbers[j]), bool(exact[j]), rows=rows, **own)
            working.add(Cut(a, float(b[j])), arrays["gram"][j, : j + 1])
        working.alpha = alpha
        working.idle = checks.vector("idle", arrays["idle"], "i", m)
        return working


def _rows(arrays: Mapping[str, np.ndarray], j: int) -> Rows:
    named = {
        name.removeprefix(f"cut_{j}_rows_"): array
        for name, array in arrays.items()
        if name.startswith(f"cut_{j}_rows_")
    }
    if "dense" in named:
        values = named["dense"]
        if values.ndim != 2 or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise ValueError(f"cut_{j}_rows is no array of finite numbers")
        return DenseRows(values)
    n_columns = int(checks.array("n_columns", arrays[f"cut_{j}_n_columns"], "i", ()))
    return SparseRows.from_arrays(named, {"n_columns": n_columns, "zero_based": True})


def _check(
    own: dict[str, np.ndarray], rows: Rows, n_examples: int, n_atoms: int, n_codes: int,
    n_explicit: int,
) -> None:  # fmt: skip
    m = own["weight"].size
    for name in _INTEGERS:
        checks.vector(name, own[name], "i")
    for name in ("weight", "q", "c"):
        checks.finite(name, own[name], m)
    checks.within("example", own["example"], 0, n_examples, m)
    checks.vector("key", own["key"], "i", m)
    checks.starts("starts", own["starts"], own["atom"].size, m)
    checks.within("atom", own["atom"], 0, rows.n_rows)
    checks.within("number_of_atom", own["number_of_atom"], 0, n_atoms, rows.n_rows)
    checks.array("codes", own["codes"], "f8", (own["atom"].size, n_codes))
    checks.array("explicit", own["explicit"], "f8", (m, n_explicit))
    if not (np.isfinite(own["codes"]).all() and np.isfinite(own["explicit"]).all()):
        raise ValueError("a cut has codes that are not finite")
    if (own["c"] < 0).any() or (own["weight"] < 0).any():
        raise ValueError("a cut has weights below 0")
