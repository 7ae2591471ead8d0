"""A run whose first worker to come so far takes more memory than there is; told as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from faulty import CONFIG, INPUTS, OUTPUTS, Faulty, rounds

from distsvm import train


def start_ray(n_bytes: int) -> None:
    """A Ray of our own that kills workers once so much more memory is in use than now."""
    import psutil
    import ray

    memory = psutil.virtual_memory()
    threshold = (memory.total - memory.available + n_bytes) / memory.total
    config: dict[str, Any] = {"memory_usage_threshold": threshold, "memory_monitor_refresh_ms": 100}
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, log_to_driver=False,
        logging_level="ERROR", object_store_memory=100_000_000, _system_config=config,
    )  # fmt: skip


if __name__ == "__main__":
    folder, executor, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    if executor == "ray":
        start_ray(2 * 2**30)
    result = train(
        Faulty(folder=folder, how="starve"), INPUTS, OUTPUTS, executor=executor, n_workers=2,
        cache_size=0, executor_options=options, **CONFIG,
    )  # fmt: skip
    facts = {
        "w": result.model.w.tolist(), "rounds": rounds(result), "notes": result.notes,
        "shards": [list(a.shards) for a in result.activity],
    }  # fmt: skip
    print(json.dumps(facts))  # noqa: T201
