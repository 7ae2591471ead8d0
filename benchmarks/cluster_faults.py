"""Faults of whole nodes, of the head and of the driver: seconds to notice and to recover.

Run: python benchmarks/cluster_faults.py        (about 2 minutes; needs Ray, and for the last
                                                 fault the right to make namespaces)

Real Ray clusters of three nodes on this machine: the drills of tests/faults. A node is killed and
another joins; the head is killed, which ends the driver, and the run is resumed; a node is cut off
from the network.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from support import HERE, machine, table

TESTS = HERE.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "faults")]

from drill_lab import why_not  # noqa: E402
from drills import cut_a_node_off, lose_a_node_and_the_head  # noqa: E402
from faulty import CONFIG, INPUTS, OUTPUTS  # noqa: E402
from toy_tasks import ToyChain  # noqa: E402

from distsvm import train  # noqa: E402

TIMEOUT_S = 5.0


def main() -> None:
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seen = lose_a_node_and_the_head(folder)
        began = time.perf_counter()
        config = {**CONFIG, "eps": 1e-7, "cache_size": 0, "executor": "serial"}
        run = {
            "run_dir": folder / "run",
            "resume": True,
            "checkpoint_rounds": 1,
            "checkpoint_share": 1,
        }
        train(ToyChain(), INPUTS, OUTPUTS, **run, **config)
        resumed_s = time.perf_counter() - began
    seconds = {stage: f"{s:.1f}" for stage, s in seen["seconds"].items()}
    rows = [
        ("a node is killed", seconds["noticed"], seconds["moved"], "others take over"),
        ("a node is added", "", f"{seen['seconds']['joined'] - seen['seconds']['added']:.1f}",
         "a worker joins and takes over shards"),
        ("the head is killed", f"{seen['ended_s']:.1f}", f"{resumed_s:.1f}",
         "the driver ends; resumed on one machine"),
    ]  # fmt: skip
    reason = why_not()
    if reason:
        rows.append(("the network is cut", "", "", f"cannot be had here: {reason}"))
    else:
        cut = cut_a_node_off(TIMEOUT_S)
        rows.append(("the network is cut", f"{cut['noticed_s']:.1f}", f"{cut['recovered_s']:.1f}",
                     "others take over"))  # fmt: skip
    print(f"worker_timeout_s: 15 for the node, {TIMEOUT_S:g} for the network; Ray gives a lost "
          "head 3 s here, 60 s unless set")  # fmt: skip
    table(["fault", "noticed s", "recovered s", "what was done"], rows)


if __name__ == "__main__":
    main()
