"""Measured costs of Ray and of processes, from which every plan is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Costs of one round on Ray. `python benchmarks/plan.py` measures them again.

    The defaults are what it printed for 8 actors on a busy machine with 2 cores. They are right in
    their order of magnitude. The speed of the network is not measured but assumed.

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
