"""A run whose first worker to come so far takes more memory than there is; told as JSON."""

from __future__ import annotations

import json
import sys

from faulty import CONFIG, INPUTS, OUTPUTS, Faulty, rounds
from scarce_memory import start_ray

from distsvm import train

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
