"""A real cluster of several nodes: one lost, one gained, the head lost."""

from __future__ import annotations

import numpy as np
import psutil
import pytest
from drills import lose_a_node_and_the_head
from faulty import CONFIG, INPUTS, OUTPUTS
from toy_tasks import ToyChain

from distsvm import train


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.drill
def test_a_node_lost_a_node_gained_and_the_head_lost(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    seen = lose_a_node_and_the_head(tmp_path)
    assert seen["code"] != 0  # it ended without an answer, and did not hang
    assert not seen["token_told"], seen["err"]

    config = {**CONFIG, "eps": 1e-7, "cache_size": 0, "executor": "serial"}
    whole = train(ToyChain(), INPUTS, OUTPUTS, **config)
    assert seen["stage"] == "joined", seen["notes"]
    assert np.array_equal(seen["w"], whole.model.w)
    assert seen["n_oracle_calls"] == whole.n_oracle_calls
    assert sorted(s for shards in seen["shards"] for s in shards) == [0, 1, 2, 3]
    assert [len(shards) for shards in seen["shards"]].count(2) == 2

    left = [psutil.Process(pid) for pid in seen["actors"] if psutil.pid_exists(pid)]
    assert not psutil.wait_procs(left, timeout=60)[1]
    resumed = train(
        ToyChain(), INPUTS, OUTPUTS, run_dir=tmp_path / "run", resume=True, checkpoint_rounds=1,
        checkpoint_share=1,
        **config,
    )  # fmt: skip
    assert np.array_equal(resumed.model.w, whole.model.w)
