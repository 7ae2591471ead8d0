"""What solvers declare about themselves: places and penalties that they support, and warm-up."""

import numpy as np
import pytest

from distsvm import MulticlassTask, train
from distsvm.errors import ConfigError
from distsvm.oracles.task import PENALTIES
from distsvm.registry import solvers
from distsvm.training.config import TrainConfig

X, y = np.eye(4), np.arange(4)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"n_blocks": 2}, "n_blocks=2 with solver='n-slack': this solver has no blocks"),
        ({"worker_memory_mb": 500}, "this solver needs the examples in memory"),
    ],
)
@pytest.mark.parametrize("how", [{"solver": "n-slack"}, {"penalty": "quadratic"}, {"batch": 7}])
def test_what_a_solver_lacks_is_refused_whether_it_is_named_or_chosen(how, given, text):
    with pytest.raises(ConfigError, match=text):
        train(MulticlassTask(), X, y, executor="serial", **how, **given)


def test_a_named_solver_is_checked_before_there_is_data():
    with pytest.raises(ConfigError, match="no blocks"):
        TrainConfig(solver="n-slack", n_blocks=3)
    assert TrainConfig(solver="n-slack", n_blocks=1).n_blocks == 1


def test_auto_finds_a_solver_for_every_penalty():
    for penalty in PENALTIES:
        able = [one for one in solvers().values() if penalty in one.auto_penalties]
        assert able
        assert all(penalty in one.penalties for one in able)


def test_warm_up_has_options_of_the_solver_itself():
    for name, solver in solvers().items():
        for settings in solver.warm_up:
            config = TrainConfig.from_dict({"solver": name} | settings)
            config.check_options_of(name)
