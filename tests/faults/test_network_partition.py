"""A real partition: a node whose network is gone, while its processes live on."""

from __future__ import annotations

import numpy as np
import pytest
from drill_lab import why_not
from drills import cut_a_node_off
from faulty import CONFIG, INPUTS, OUTPUTS
from toy_tasks import ToyChain

from distsvm import train


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.drill
def test_a_node_cut_off_from_the_network_is_missed_long_before_ray_says_so():
    pytest.importorskip("ray", reason="Ray is not installed")
    reason = why_not()
    if reason:
        pytest.skip(reason)
    seen = cut_a_node_off(timeout_s=5.0)
    expected = train(ToyChain(), INPUTS, OUTPUTS, executor="serial", cache_size=0, **CONFIG)
    assert np.array_equal(seen["w"], expected.model.w)
    assert seen["n_oracle_calls"] == expected.n_oracle_calls
    words = ("no sign of life", "no answer after")
    assert any(word in note for note in seen["notes"] for word in words), seen["notes"]
