"""What was measured, and where: the numbers that every plan starts from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Costs of one round on Ray. `python benchmarks/plan.py` measures them anew.

    The defaults are what it printed for 8 actors on a machine with 2 cores that others used, too:
    orders of magnitude. There was no network between nodes to be measured; its speed is an
    assumption, to be replaced by your own.

    Parameters
    ----------
    call_s : seconds
        Of the driver, for each worker in each round: its request sent, its answer taken.
    put_bytes_s, gather_bytes_s : bytes a second
        w written once into shared memory; dense answers read and added up by the driver.
    algebra_bytes_s : bytes a second
        The driver's products of the new cut with those that it holds.
    network_bytes_s : bytes a second
        Into and out of one node; assumed (10 Gbit/s).
    start_s : seconds
        To start one worker; they start one after another on a node.
    worker_bytes, driver_bytes : bytes
        Own memory of a process that has no data yet.
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
