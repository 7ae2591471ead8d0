"""The planes of a shard in a chain of files, so that unchanged planes are written once.

The newest file has the α, ages and shares of the gap of all planes, but only the planes of examples
whose planes have changed since the previous file. It has the digests of the earlier files, which
lie beside it, as hard links to those of the previous checkpoint. Without hard links, as in stores,
every file is whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from distsvm import checks
from distsvm.data.ragged import Ragged, offsets
from distsvm.errors import CheckpointError
from distsvm.messages import Planes
from distsvm.oracles.oracle import Oracle
from distsvm.storage import Place, place, read_each, write_each
from distsvm.workers.part import Keeper, WorkerPart

LONGEST = 8
"""Files of a chain; the next one is whole again."""
MOST = 0.5
"""The next file is also whole if planes of more than this part of the examples have changed."""
WASTE = 1
"""The next file is also whole if the later files have more than WASTE times the first's planes."""


class Link(NamedTuple):
    """A file of a chain."""

    digest: str
    n_planes: int


class Chain:
    """The files to which the planes of one keeper were last written."""

    def __init__(self) -> None:
        self._keeper: Keeper | None = None
        self._links: list[Link] = []

    def write(self, path: str, earlier: tuple[str, str | None] | None, part: WorkerPart) -> str:
        """Write a file, and return its digest.

        Parameters
        ----------
        earlier : path and digest of the file in the checkpoint before, if there is one
        """
        keeper, first = part.keeper, {"turn": np.array(part.turn)}
        links = self._links if self._keeper is keeper else []
        goes_on = earlier is not None and _goes_on(links, earlier[1], keeper)
        if not (goes_on and earlier and _linked(earlier[0], path, links)):
            links = []
        self._links = []  # none until all is written
        if links:
            assert keeper.changed is not None
            rows = np.flatnonzero(keeper.changed)
            parts = np.array([link.digest for link in links])
            state = keeper.state(rows)
            digest = write_each(
                place(path), (first | {"parts": parts, "rows": rows} | dict(state)).items()
            )
        else:
            state = keeper.state()
            digest = write_each(place(path), _both(first, state))
        if keeper.changed is not None and "slot" in state:
            self._keeper, self._links = keeper, [*links, Link(digest, state["slot"].size)]
            keeper.changed[:] = False
        return digest


def read(path: str, digest: str, oracle: Oracle) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of a whole file one by one, or the merged arrays of a chain of files."""
    named = read_each(place(path), CheckpointError, digest)
    begin = list(islice(named, 2))
    if len(begin) < 2 or begin[1][0] != "parts":
        yield from begin
        yield from named
        return
    newest = dict(named)
    parts = checks.vector("parts", begin[1][1], "U")
    if not 0 < parts.size < LONGEST:
        raise ValueError(f"{parts.size} files before it, expected 1 to {LONGEST - 1}")
    states = [
        dict(read_each(_part(path, number), CheckpointError, str(part)))
        for number, part in enumerate(parts)
    ]
    yield begin[0]
    yield from _merged(oracle, [*states, newest]).items()


def _both(
    first: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    yield from first.items()
    yield from state.items()  # read one by one where they are on a disk


def _part(path: str, number: int) -> Place:
    """Return the place of a chain's earlier file, which is beside its newest one."""
    newest = place(path)
    return newest.parent / f"before-{number}-{newest.name}"


def _goes_on(links: list[Link], digest: str | None, keeper: Keeper) -> bool:
    """Return whether another file may follow these; the last must have this digest."""
    if not links or digest != links[-1].digest or len(links) >= LONGEST:
        return False
    assert keeper.changed is not None
    if keeper.changed.mean() > MOST:
        return False
    return sum(link.n_planes for link in links[1:]) <= WASTE * links[0].n_planes


def _linked(earlier: str, path: str, links: list[Link]) -> bool:
    """Link the earlier files beside the new one; return whether that worked."""
    if not isinstance(place(path), Path):
        return False
    olds = [*(_part(earlier, number) for number in range(len(links) - 1)), place(earlier)]
    made: list[Any] = []
    try:
        for number, old in enumerate(olds):
            new = _part(path, number)
            os.link(old, new)  # type: ignore[arg-type]
            made.append(new)
    except OSError:  # a file system without links, or a file that is gone
        for new in made:
            new.unlink()
        return False
    return True


def _merged(oracle: Oracle, states: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the newest state, with the planes that only earlier ones have."""
    *_, newest = states
    latest = np.zeros(oracle.n, dtype=np.int64)
    for number, state in enumerate(states[1:], 1):
        latest[checks.within("rows", state["rows"], 0, oracle.n)] = number
    parts: list[Planes] = []
    slots, grams = [], []
    for number, state in enumerate(states):
        planes = oracle.unpack(state)
        checks.slots(planes.row, state["slot"], len(planes))
        kept = np.flatnonzero(latest[planes.row] == number)
        parts.append(planes.take(kept))
        slots.append(state["slot"][kept])
        if "gram" in newest:
            example, count = np.unique(planes.row, return_counts=True)
            gram = checks.finite("gram", state["gram"], int((count**2).sum()))
            which = np.flatnonzero(latest[example] == number)
            grams.append((example[which], Ragged(gram, offsets(count**2))[which]))
    row, q, loss = (
        np.concatenate([getattr(planes, name) for planes in parts]) for name in ("row", "q", "loss")
    )
    order = np.argsort(row, kind="stable")
    planes = Planes(row, _joined([planes.output for planes in parts]), q, loss).take(order)
    found = newest | oracle.pack(planes) | {"slot": np.concatenate(slots)[order]}
    if "gram" in newest:
        example = np.concatenate([example for example, _ in grams])
        found["gram"] = _joined([gram for _, gram in grams])[np.argsort(example)].values
    return found


def _joined(outputs: list[Any]) -> Any:
    if not isinstance(outputs[0], Ragged):
        return np.concatenate(outputs)
    lengths = np.concatenate([rows.lengths for rows in outputs])
    return Ragged(np.concatenate([rows.values for rows in outputs]), offsets(lengths))
