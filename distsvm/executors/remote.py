"""RemoteExecutor: the base of executors whose workers are other processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from distsvm.executors.assignment import shared_out
from distsvm.executors.base import Activity, Call, Executor, checked_costs
from distsvm.executors.calls import Errand, Peers, Recipe, values
from distsvm.executors.crew import Crew
from distsvm.executors.growth import Growth
from distsvm.executors.recovery import Limits, RecoveryPolicy
from distsvm.executors.transport import Request, Transport
from distsvm.executors.tree import Sum


class RemoteExecutor(Executor):
    """Objects in worker processes; the loss of some workers does not end the run.

    Parameters
    ----------
    n_workers : the number of workers to start
    enough : the number of workers that a start needs; default: all
    follows_room : whether workers beyond n_workers may join when there is room for them
    """

    def __init__(
        self,
        transport: Transport,
        n_workers: int,
        limits: Limits,
        *,
        enough: int | None = None,
        follows_room: bool = False,
    ) -> None:
        self.n_workers = n_workers
        self._transport = transport
        self._limits = limits
        self._enough = n_workers if enough is None else min(enough, n_workers)
        self._follows_room = follows_room
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._crew = Crew(self._transport, RecoveryPolicy(self._limits))
        self._growth = Growth(self._crew, None if self._follows_room else self.n_workers)

    def start(
        self,
        builders: Sequence[Callable[[], Any]],
        costs: Sequence[float] | None = None,
        groups: Sequence[range] | None = None,
    ) -> None:
        crew = self._crew
        crew.settle()
        crew.costs = checked_costs(costs, len(builders))
        crew.groups = groups or [range(len(builders))]
        n_useful = len(shared_out(crew.costs, crew.groups, self.n_workers))
        crew.launch(n_useful, min(self._enough, n_useful))
        workers = crew.active()
        runs = shared_out(crew.costs, crew.groups, min(self.n_workers, len(workers)))
        crew.recipe = Recipe(self._transport.keep(tuple(builders)))
        peers, errands = Peers(len(runs)), []
        for member in crew.members:
            member.shards = ()
        for i, number in enumerate(workers):  # some may be from an earlier start
            member = crew.members[number]
            member.shards = runs[i] if i < len(runs) else ()
            steps = deque(crew.recipe.steps(member.shards))
            if steps:
                errands.append(crew.begin(number, Errand(steps, peers=peers)))
        values(crew.finish(errands))

    @property
    def n_shards(self) -> int:
        return len(self._crew.recipe.builders)

    def _run(self, call: Call) -> list[Any]:
        with self._transport.share(_contiguous(call.args)) as handle:
            return self._results(replace(call, args=handle))

    def _prepare(self, call: Call) -> list[Any]:
        call = replace(call, args=self._transport.keep(_contiguous(call.args)))
        self._crew.recipe.recalled = None
        prepared = self._crew.recipe.prepared
        prepared.append(call)  # before the call: a worker may be lost after its answer
        try:
            return self._results(call)
        except BaseException:
            prepared.remove(call)
            raise

    def _reduce(self, call: Call) -> list[Any]:
        sums = [Sum(len(group)) for group in call.groups or ()]
        with self._transport.share(_contiguous(call.args)) as handle:
            for _, nodes in values(
                self._crew.finish(self._crew.errands_of(replace(call, args=handle)))
            ):
                for total, found in zip(sums, nodes, strict=True):
                    total.add(found)
        return [total.total() for total in sums]

    def map(self, function: Callable[..., Any], items: Iterable[Any], *args: Any) -> Iterator[Any]:
        crew = self._crew
        crew.launch(self.n_workers, self._enough)
        errands: deque[Errand] = deque()
        with self._transport.share((function, *_contiguous(args))) as handle:
            for item in items:
                request = Request("apply", handle, (item,))
                errands.append(crew.begin(crew.idle(), Errand(deque([request]), request)))
                while errands and (errands[0].finished or len(errands) >= 2 * self.n_workers):
                    yield self._mapped(errands.popleft())
            while errands:
                yield self._mapped(errands.popleft())

    def _mapped(self, errand: Errand) -> Any:
        [(_, value)] = values(self._crew.finish([errand]))
        return value

    def recall(
        self, method: str, *, shards: Sequence[int], each: Sequence[tuple[Any, ...]]
    ) -> None:
        self._crew.recipe.recalled = Call(method, (), shards, each)

    def adapt(self) -> None:
        self._growth.step()

    def notes(self) -> list[str]:
        notes, self._crew.notes = self._crew.notes, []
        return notes

    def activity(self) -> list[Activity]:
        return [
            Activity(number, member.shards, member.busy_s, member.n_restarts)
            for number, member in enumerate(self._crew.members)
        ]

    def close(self) -> None:
        self._transport.close()
        self._begin_anew()

    def _results(self, call: Call) -> list[Any]:
        placed: dict[int, Any] = {}
        for errand, results in values(self._crew.finish(self._crew.errands_of(call))):
            placed.update(zip(errand.positions, results or (), strict=True))
        return [placed[i] for i in range(len(call.shards))]


def _contiguous(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with contiguous arrays; NumPy pickles others as writable copies."""
    return tuple(
        arg.copy() if isinstance(arg, np.ndarray) and not arg.flags.forc else arg for arg in args
    )
