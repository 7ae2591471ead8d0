"""The cost of a fresh round, as a formula of the problem and the cluster."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from distsvm.errors import ConfigError
from distsvm.kinds import number
from distsvm.wording import Message, message

NUMBER = 8  # bytes of a float64
SPARSE = 12  # bytes of a position and a value in a sparse vector
DRIVER_VECTORS = 4  # of length dim that the 1-slack driver has beside its cuts
WORKER_VECTORS = 2  # a worker's sum, and its answer in transit
ECONOMICAL = 0.8
MOST_WORKERS = 1_000_000
# Limits of a plan: sums of larger numbers overflow.
RANGES: dict[str, tuple[float, float]] = {
    "examples": (1, 1e15),
    "dim": (1, 1e15),
    "oracle_s": (1e-12, 1e9),
    "example_bytes": (1, 1e15),
    "nonzeros": (1, 1e15),
    "cuts": (1, 1e9),
    "workers": (1, MOST_WORKERS),
    "workers_per_node": (1, MOST_WORKERS),
    "rounds": (1, 1e15),
    "constants": (1e-15, 1e18),
}


@dataclass(frozen=True)
class Constants:
    """Costs of one round on Ray. `python benchmarks/plan.py` measures them again.

    The defaults are its results for 8 actors on a busy machine with 2 cores: only their order of
    magnitude is right. The speed of the network is not measured but assumed.

    Parameters
    ----------
    call_s : seconds
        Driver's time for each worker in each round: sending the request, taking the answer.
    put_bytes_s, gather_bytes_s : bytes a second
        Speed of writing w into shared memory, and of reading and adding dense answers.
    algebra_bytes_s : bytes a second
        Speed of the driver's products of the new cut with the cuts of the working set.
    network_bytes_s : bytes a second
        Speed into and out of one node; assumed (10 Gbit/s).
    start_s : seconds
        Time to start one worker; workers of a node start one after another.
    worker_bytes, driver_bytes : bytes
        Memory of a process without data.
    """

    call_s: float = 2.9e-3
    put_bytes_s: float = 5.3e9
    gather_bytes_s: float = 5.7e8
    algebra_bytes_s: float = 3.2e9
    network_bytes_s: float = 1.25e9
    start_s: float = 2.5
    worker_bytes: float = 68e6
    driver_bytes: float = 62e6


MEASURED = Constants()


@dataclass(frozen=True)
class Problem:
    """The work of a round.

    Parameters
    ----------
    examples : int
    dim : int
        Length of w.
    oracle_s : float
        Seconds of one oracle call on one core.
    example_bytes : float
        Memory of one packed example.
    nonzeros : int, optional
        Entries of a worker's summed cut; dim unless given. The smaller of sparse and dense is sent.
    cuts : int
        In the driver's working set.
    """

    examples: float
    dim: float
    oracle_s: float
    example_bytes: float = 1000.0
    nonzeros: float | None = None
    cuts: int = 100

    def __post_init__(self) -> None:
        for name in ("examples", "dim", "oracle_s", "example_bytes", "cuts"):
            _check(name, getattr(self, name))
        if self.nonzeros is not None:
            _check("nonzeros", self.nonzeros)

    @property
    def cut_bytes(self) -> float:
        """Size of a summed cut in messages and in memory."""
        nonzeros = self.dim if self.nonzeros is None else min(self.nonzeros, self.dim)
        return min(NUMBER * self.dim, SPARSE * nonzeros)


@dataclass(frozen=True)
class Plan:
    """Cost of a fresh round with a number of workers.

    Parameters
    ----------
    seconds : dict
        By phase: oracle, calls, w (to all nodes), cuts (home to the driver), algebra; and round,
        their sum, because the driver does nothing else while it waits.
    network : dict
        Bytes a round: down to all nodes, up to the driver.
    memory : dict
        Bytes: driver, worker, and node (its workers and the shared memory that they use).
    efficiency : float
        The oracle's share of the round.
    """

    workers: int
    nodes: int
    seconds: dict[str, float]
    network: dict[str, float]
    memory: dict[str, float]
    efficiency: float
    start_s: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan(
    problem: Problem, workers: int, workers_per_node: int = 8, constants: Constants = MEASURED
) -> Plan:
    """Return the cost of a fresh round of 1-slack training on Ray.

    Every worker asks the oracle about its n/K examples. A round takes

        round = n·oracle/K + K·call + |w|·(1/put + ⌈log₂ N⌉/network)
                + K·|cut|·(1/gather + [N > 1]/network) + m·|cut|/algebra

    with K workers on N nodes and m cuts: w travels from node to node as in a tree, and the
    workers' sums go to the driver one by one.
    """
    _check("workers", workers)
    _check("workers_per_node", workers_per_node)
    nodes = -(-workers // workers_per_node)
    hops = math.ceil(math.log2(nodes)) if nodes > 1 else 0
    w, cut, up = NUMBER * problem.dim, problem.cut_bytes, workers * problem.cut_bytes
    seconds = {
        "oracle": problem.examples * problem.oracle_s / workers,
        "calls": workers * constants.call_s,
        "w": w * (1 / constants.put_bytes_s + hops / constants.network_bytes_s),
        "cuts": up * (1 / constants.gather_bytes_s + (nodes > 1) / constants.network_bytes_s),
        "algebra": problem.cuts * cut / constants.algebra_bytes_s,
    }
    seconds["round"] = sum(seconds.values())
    data = problem.examples * problem.example_bytes / workers
    worker = constants.worker_bytes + data + WORKER_VECTORS * w
    on_node = min(workers, workers_per_node)
    return Plan(
        workers=workers, nodes=nodes, seconds=seconds,
        network={"down": (nodes - 1) * w, "up": up if nodes > 1 else 0.0},
        memory={
            "driver": constants.driver_bytes + DRIVER_VECTORS * w + (problem.cuts + 2) * cut,
            "worker": worker,
            "node": on_node * (worker + cut) + w,
        },
        efficiency=seconds["oracle"] / seconds["round"],
        start_s=on_node * constants.start_s,
    )  # fmt: skip


def fastest(problem: Problem, workers_per_node: int, constants: Constants = MEASURED) -> Plan:
    """Return the plan with the shortest round."""
    candidates = _candidates(problem, workers_per_node, constants)
    return min(candidates, key=lambda one: one.seconds["round"])


def economical(problem: Problem, workers_per_node: int, constants: Constants = MEASURED) -> Plan:
    """Return the plan with the most workers that spend four fifths of a round in the oracle.

    If there is none, return the plan with one worker.
    """
    found = list(_candidates(problem, workers_per_node, constants))
    good = [one for one in found if one.efficiency >= ECONOMICAL]
    return max(good, key=lambda one: one.workers, default=found[0])


def overridden(constants: Constants, changes: dict[str, float]) -> Constants:
    """Return the constants with some of them replaced."""
    for name, value in changes.items():
        if not hasattr(constants, name):
            known = ", ".join(asdict(constants))
            raise ConfigError(
                message("{constants}: there is no {}; there are {}", repr(name), known)
            )
        _check("constants", value, message("{constants}: {}", name))
    return replace(constants, **changes)


def _check(name: str, value: float, shown: Message | None = None) -> None:
    least, most = RANGES[name]
    if not least <= value <= most:
        kind = number(least=least, most=most)
        raise ConfigError(message("{}={}: expected {}", shown or name, value, kind.expected))


def _candidates(problem: Problem, workers_per_node: int, constants: Constants) -> list[Plan]:
    """Return plans for 1 worker to one for each example, each with about 2 % more than the last."""
    most = int(min(problem.examples, MOST_WORKERS))
    numbers, number = [], 1
    while number <= most:
        numbers.append(number)
        number = max(number + 1, round(number * 1.02))
    return [plan(problem, k, workers_per_node, constants) for k in numbers]
