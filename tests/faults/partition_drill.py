"""Run as a program inside a network namespace: train on the cluster at ADDRESS.

Says "round N" after every round, and waits for a line on standard input after round 3, by when the
network is no longer what it was. The last line is what it saw, as JSON.
"""

from __future__ import annotations

import json
import logging
import sys
import time

import ray
from drills import Losses
from faulty import CONFIG, INPUTS, OUTPUTS
from toy_tasks import ToyChain

from distsvm import Callback, train


class Talk(Callback):
    def __init__(self) -> None:
        self.cut_s = self.moved_s = 0.0

    def on_round(self, record) -> None:
        print("round", record.number, flush=True)  # noqa: T201
        if record.number == 3:
            sys.stdin.readline()
            self.cut_s = time.monotonic()
        elif record.note and not self.moved_s:
            self.moved_s = time.monotonic()


def main(address: str, node_ip: str, worker_timeout_s: float) -> None:
    logging.basicConfig(level=logging.WARNING)
    ray.init(address=address, _node_ip_address=node_ip, log_to_driver=False, logging_level="ERROR")
    talk, losses = Talk(), Losses()
    logging.getLogger("distsvm.executors.crew").addFilter(losses)
    result = train(
        ToyChain(), INPUTS, OUTPUTS, executor="ray", n_workers=2, cache_size=0, callbacks=[talk],
        executor_options={"worker_timeout_s": worker_timeout_s}, **CONFIG,
    )  # fmt: skip
    seen = {
        "w": result.model.w.tolist(), "notes": result.notes,
        "n_oracle_calls": result.n_oracle_calls, "noticed_s": losses.noticed_s - talk.cut_s,
        "recovered_s": talk.moved_s - talk.cut_s,
    }  # fmt: skip
    print(json.dumps(seen), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
