"""The kill drill: train on a Ray cluster, kill a node, cut another's link, and compare.

    python cluster/drill/kill_drill.py [--nodes 3]

Starts a head and some nodes in network namespaces of this machine, and a driver beside the head.
After two rounds one node is killed with SIGKILL while the workers search; two rounds later the
link of another is taken down. The drill passes if the run ends by itself with an exact
certificate and with the same bits of w, after as many rounds and oracle calls, as a serial run
without faults: no example was dropped or counted twice.

Exit codes: 0 passed, 1 failed, 3 this machine cannot do it (the reason is printed).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import socket
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from namespaces import Lab, why_not

if TYPE_CHECKING:
    from distsvm.solvers.base import Round
    from distsvm.training.result import TrainResult

PASSED, FAILED, CANNOT = 0, 1, 3
FIRST_FAULT, SECOND_FAULT = 2, 4  # after these rounds
PATIENCE_S = 120.0  # for the nodes to come up
# Without caches nothing is lost with a worker that a new one cannot find again.
PROBLEM: dict[str, Any] = {"n_shards": 8, "cache_size": 0, "solver": "one-slack"}
SAME = ("digest", "primal", "dual", "n_rounds", "n_oracle_calls")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--nodes", type=int, default=3, help="nodes beside the head, at least 2")
    parser.add_argument("--driver", nargs=2, metavar=("HEAD", "DATA"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.driver:
        return drive(*args.driver, n_workers=args.nodes)
    if args.nodes < 2:
        parser.error("--nodes: expected at least 2, one to kill and one to go on")
    reason = why_not()
    if reason:
        print(f"no drill on this machine: {reason}")
        return CANNOT
    return drill(args.nodes)


def drill(n_nodes: int) -> int:
    """Run the faults and print what came of them."""
    # Every node can hold all workers, so that one node left is enough.
    with Lab(n_nodes + 1, n_cpus=n_nodes) as lab:
        data = lab.folder / "data"
        write_data(data)
        alone = serial_optimum(data)
        print(f"serial, no faults: {shown(alone)}", flush=True)
        nodes = [lab.start(node) for node in range(n_nodes + 1)]
        driver = lab.run(
            0,
            [sys.executable, __file__, "--nodes", str(n_nodes), "--driver", lab.head, str(data)],
        )
        assert driver.stdin is not None
        assert driver.stdout is not None
        began = time.monotonic()
        result = None
        for line in driver.stdout:
            event = json.loads(line) if line.startswith("{") else {}  # else it is Ray that speaks
            if event.get("number", 0) <= SECOND_FAULT + 1:
                say(began, line)
            if event.get("event") == "end":
                result = event
            elif event.get("number") == FIRST_FAULT:
                driver.stdin.write("\n")
                driver.stdin.flush()  # so that the workers search when it happens
                killed = busiest(lab, range(1, n_nodes + 1))
                say(began, f"node {killed} has {lab.n_actors(killed)} workers: SIGKILL to all of")
                say(began, f"its {lab.kill(killed)} processes")
            elif event.get("number") == SECOND_FAULT:
                cut = busiest(lab, [n for n in range(1, n_nodes + 1) if n != killed])
                say(began, f"node {cut} has {lab.n_actors(cut)} workers: its link goes down")
                lab.unplug(cut)
                driver.stdin.write("\n")
                driver.stdin.flush()
        code = driver.wait()
        say(began, f"the driver ended with code {code}")
        wrong = verdict(alone, result, code)
    for node in nodes:
        node.wait()  # all were killed when the lab closed
    for complaint in wrong:
        print(f"FAILED: {complaint}")
    if not wrong:
        print("passed: the same bits as without faults, certified")
    return FAILED if wrong else PASSED


def busiest(lab: Lab, nodes: Iterable[int]) -> int:
    return max(nodes, key=lab.n_actors)


def say(began: float, text: str) -> None:
    print(f"{time.monotonic() - began:6.1f} s  {text.rstrip()}", flush=True)


def verdict(alone: dict, result: dict | None, code: int) -> list[str]:
    """What is wrong, nothing if the drill passed."""
    if result is None or code:
        return [f"the driver ended with code {code} and without a result"]
    wrong = []
    if result["certificate"] != "exact" or result["stop_reason"] != "eps":
        wrong.append(f"certificate {result['certificate']}, stopped by {result['stop_reason']}")
    for name in SAME:
        if result[name] != alone[name]:
            wrong.append(f"{name} is {result[name]}, {alone[name]} without faults")
    if result["n_restarts"] < 2:
        wrong.append(f"{result['n_restarts']} workers built again, expected one a fault or more")
    return wrong


def shown(result: dict) -> str:
    return f"{result['dual']:.9g} ≤ optimum ≤ {result['primal']:.9g} ({result['certificate']})"


def write_data(folder: Path) -> None:
    from distsvm.data.synthetic import make_sparse_multiclass, write_parts

    X, y = make_sparse_multiclass(20_000, 5_000, 10, seed=1)
    write_parts(folder, X, y, n_files=4)


def serial_optimum(data: Path) -> dict:
    import distsvm

    return facts(distsvm.train(distsvm.MulticlassTask(), str(data), executor="serial", **PROBLEM))


def drive(head: str, data: str, n_workers: int) -> int:
    """The driver's side: train, tell of every round, and wait for the faults."""
    import distsvm
    from distsvm.training.callbacks import Callback

    def tell(event: str, **values: object) -> None:
        print(json.dumps({"event": event, **values}), flush=True)

    class Teller(Callback):
        def on_round(self, record: Round) -> None:
            tell("round", number=record.number, kind=record.kind, gap=record.gap)
            if record.number in (FIRST_FAULT, SECOND_FAULT):
                sys.stdin.readline()

    tell("cluster", n_nodes=await_nodes(head, n_workers + 1))
    result = distsvm.train(
        distsvm.MulticlassTask(), data, executor="ray", n_workers=n_workers, callbacks=[Teller()],
        executor_options={"address": head, "placement_timeout_s": 120}, **PROBLEM,
    )  # fmt: skip
    tell("end", **facts(result))
    return 0


def await_nodes(head: str, n_nodes: int) -> int:
    """Join the cluster as soon as all of its nodes are there."""
    import ray

    host, _, port = head.rpartition(":")
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            break
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
    ray.init(address=head, log_to_driver=False, logging_level="ERROR")
    while sum(node["Alive"] for node in ray.nodes()) < n_nodes:
        if time.monotonic() > until:
            raise TimeoutError(f"{n_nodes} nodes were not there after {PATIENCE_S:g} s")
        time.sleep(0.2)
    return n_nodes


def facts(result: TrainResult) -> dict:
    names = ("certificate", "stop_reason", "primal", "dual", "n_rounds", "n_oracle_calls")
    return {name: getattr(result, name) for name in names} | {
        "digest": hashlib.blake2b(result.model.w.tobytes(), digest_size=8).hexdigest(),
        "n_restarts": sum(one.n_restarts for one in result.activity),
    }


if __name__ == "__main__":
    sys.exit(main())
