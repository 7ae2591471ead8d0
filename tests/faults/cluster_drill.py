"""Run as a program: a cluster on this machine that loses a node, gains one, and loses its head.

Writes what it saw to FOLDER/seen.json, and then must end by itself, because the head is gone.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import ray
from drills import Losses
from faulty import CONFIG, INPUTS, OUTPUTS
from ray.cluster_utils import Cluster
from toy_tasks import ToyChain

from distsvm import Callback, train
from distsvm.executors import growth

OPTIONS = {"executor": "ray", "n_workers": 2, "cache_size": 0, **CONFIG, "eps": 1e-7}
SYSTEM = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 5000,
    "health_check_failure_threshold": 3,
    "gcs_rpc_server_reconnect_timeout_s": 3,
}
PATIENCE_S = 5.0  # after each round while somebody is expected


class Nodes(Callback):
    """Removes a node after round 3, adds another when its worker is missed, and waits for it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.victim = cluster, cluster.add_node(num_cpus=1)
        cluster.add_node(num_cpus=1)
        self.stage, self.times = "whole", {}

    def on_round(self, record) -> None:
        note = record.note or ""
        if record.number == 3:
            # found before: an actor whose raylet was killed is nobody's child for its last seconds
            orphans = workers(self.victim.all_processes["raylet"][0].process.pid)
            self.reach("killed")
            self.cluster.remove_node(self.victim, allow_graceful=False)
            assert not psutil.wait_procs(orphans, timeout=60)[1], "an actor outlives its node"
            self.reach("removed")
        elif self.stage == "removed" and "others take over" in note:
            self.reach("moved")
            self.cluster.add_node(num_cpus=1)
            self.reach("added")
        elif self.stage == "added" and "joined" in note:
            self.reach("joined")
        elif self.stage == "added":
            wait_until(lambda: states().count("ALIVE") >= 2)

    def reach(self, stage: str) -> None:
        self.stage = stage
        self.times[stage] = time.monotonic()


def wait_until(so: Callable[[], bool]) -> None:
    """Rounds are too short for actors to end or to be started within the few that are left."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and not so():
        threading.Event().wait(0.1)


def states() -> list[str]:
    return [actor["State"] for actor in ray.state.actors().values()]


def workers(parent: int | None = None) -> list[psutil.Process]:
    """The processes of our actors, of all nodes or below one process."""
    found = []
    for process in psutil.Process(parent).children(recursive=True):
        with suppress(psutil.Error):
            if "HostActor" in " ".join(process.cmdline()):
                found.append(process)
    return found


class Behead(Callback):
    """Kills the head after round 5, and waits for the end that must come from outside."""

    def __init__(self, cluster: Cluster, seen: Path, facts: dict) -> None:
        self.cluster, self.seen, self.facts = cluster, seen, facts

    def on_round(self, record) -> None:
        if record.number == 5:
            self.facts["actors"] = [process.pid for process in workers()]
            self.seen.write_text(json.dumps(self.facts))
            self.cluster.head_node.kill_gcs_server()
            threading.Event().wait()


def main(folder: Path) -> None:
    logging.basicConfig(level=logging.WARNING)
    growth.LOOK_EVERY_S = 0.0
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": SYSTEM}
    )
    nodes = Nodes(cluster)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    losses = Losses()
    logging.getLogger("distsvm.executors.crew").addFilter(losses)
    limits = {"worker_timeout_s": 15.0, "placement_timeout_s": 60.0}
    result = train(
        ToyChain(), INPUTS, OUTPUTS, executor_options=limits, callbacks=[nodes], **OPTIONS
    )
    nodes.times["noticed"] = losses.noticed_s
    facts = {
        "w": result.model.w.tolist(), "primal": result.primal, "dual": result.dual,
        "n_oracle_calls": result.n_oracle_calls, "notes": result.notes, "stage": nodes.stage,
        "shards": [list(a.shards) for a in result.activity],
        "seconds": {stage: s - nodes.times["killed"] for stage, s in nodes.times.items()},
    }  # fmt: skip
    behead = Behead(cluster, folder / "seen.json", facts)
    train(
        ToyChain(), INPUTS, OUTPUTS, executor_options=limits, callbacks=[behead],
        run_dir=folder / "run", checkpoint_rounds=1, checkpoint_share=1, **OPTIONS,
    )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
