"""The outputs with α > 0: those of every solver with planes make up the dual value."""

import json

import numpy as np
import pytest
from penalty_references import STRUCTURES, _features

from distsvm import MulticlassTask, train
from distsvm.cli import main
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import ConfigError

C = 6.0


def dual_of(result, task, inputs, outputs, rescaling, penalty):
    """D of the α that the result tells, from Ψ and Δ of each output."""
    w, linear, taken = np.zeros(task.dim), 0.0, np.zeros(len(inputs))
    for example, output, alpha, loss in result.support():
        x, y = inputs[example], outputs[example]
        assert alpha > 0
        assert np.isclose(loss, task.loss(y, output))
        q = np.sqrt(loss) if penalty == "quadratic" else loss
        psi = _features(task, x, y) - _features(task, x, output)
        w += alpha * (q if rescaling == "slack" else 1.0) * psi
        linear += alpha * q
        taken[example] += alpha
    cost = taken @ taken * len(inputs) / C if penalty == "quadratic" else 0.0
    if penalty == "linear":
        assert (taken <= C / len(inputs) * (1 + 1e-9)).all()
    return linear - 0.5 * (w @ w + cost)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("penalty", ["linear", "quadratic"])
@pytest.mark.parametrize(
    ("solver", "own"), [("n-slack", {"n_shards": 3}), ("multi-plane", {"n_blocks": 2})]
)
@pytest.mark.parametrize("name", STRUCTURES)
def test_it_makes_up_the_dual_value(name, solver, own, penalty, rescaling):
    task, inputs, outputs, _ = STRUCTURES[name](0)
    result = train(
        task, inputs, outputs, C=C, eps=1e-3, solver=solver, penalty=penalty, rescaling=rescaling,
        executor="serial", **own,
    )  # fmt: skip
    planes = result.support()
    assert [plane.alpha for plane in planes] == sorted((p.alpha for p in planes), reverse=True)
    assert result.support(2) == planes[:2]
    found = dual_of(result, result.model.task, inputs, outputs, rescaling, penalty)
    # The planes are those after the last round, whose steps may have raised the dual once more.
    assert result.dual - 1e-9 <= found <= result.primal + 1e-9


def noisy():
    return make_multiclass(60, 5, 3, noise=0.3, seed=1)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("n_blocks", [1, 2])
def test_the_sequential_dual_tells_its_own(n_blocks, rescaling):
    X, y = noisy()
    result = train(
        MulticlassTask(loss_scale=3.0), X, y, C=C, eps=1e-4, solver="sequential-dual",
        rescaling=rescaling, n_blocks=n_blocks, executor="serial",
    )  # fmt: skip
    found = dual_of(result, result.model.task, X, y, rescaling, "linear")
    assert np.isclose(found, result.dual, rtol=1e-9)


def test_planes_in_processes_are_those_of_one_process():
    X, y = noisy()
    given = {"C": C, "eps": 1e-3, "solver": "multi-plane", "n_blocks": 2}
    alone = train(MulticlassTask(), X, y, executor="serial", **given)
    others = train(MulticlassTask(), X, y, executor="processes", n_workers=2, **given)
    assert alone.support() == others.support()


def test_planes_on_disk_are_told_too(tmp_path):
    path = tmp_path / "train.svm"
    from distsvm.data.writers import write_svmlight

    X, y = noisy()
    write_svmlight(str(path), X, y)
    given = {"C": C, "eps": 1e-3, "solver": "multi-plane", "executor": "serial"}
    inside = train(MulticlassTask(), str(path), **given)
    outside = train(
        MulticlassTask(), str(path), worker_memory_mb=200, cache_dir=tmp_path / "packed", **given
    )
    assert {p[:2] for p in inside.support()} == {p[:2] for p in outside.support()}


@pytest.mark.parametrize("solver", ["n-slack", "multi-plane", "sequential-dual"])
def test_a_run_folder_tells_it(tmp_path, capsys, solver):
    X, y = noisy()
    result = train(
        MulticlassTask(), X, y, C=C, eps=1e-3, solver=solver, executor="serial",
        run_dir=tmp_path / "run",
    )  # fmt: skip
    planes = result.support()
    assert main(["inspect", str(tmp_path / "run"), "--support", "--top", "2"]) == 0
    told = capsys.readouterr().out
    assert f"example {planes[1].example}" in told
    assert f"{len(planes)} outputs with α > 0" in told
    assert main(["inspect", str(tmp_path / "run"), "--support", "--top", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["support"][0]["example"] == planes[0].example
    assert record["n_support_planes"] == len(planes)


def test_a_resumed_run_tells_the_same(tmp_path):
    X, y = noisy()
    given = {"C": C, "eps": 1e-3, "solver": "multi-plane", "executor": "serial"}
    whole = train(MulticlassTask(), X, y, run_dir=tmp_path / "run", **given)
    again = train(MulticlassTask(), X, y, run_dir=tmp_path / "run", resume=True, **given)
    assert again.support() == whole.support()


def test_cuts_have_no_outputs_of_their_own(tmp_path, capsys):
    X, y = noisy()
    result = train(
        MulticlassTask(), X, y, C=C, solver="one-slack", executor="serial", run_dir=tmp_path / "r"
    )
    with pytest.raises(ConfigError, match="a cut is the sum of one plane of every example"):
        result.support()
    assert main(["inspect", str(tmp_path / "r"), "--support"]) != 0
    assert "a cut is the sum of one plane" in capsys.readouterr().err


def test_a_damaged_file_is_named(tmp_path, capsys):
    X, y = noisy()
    train(
        MulticlassTask(), X, y, C=C, solver="multi-plane", executor="serial", run_dir=tmp_path / "r"
    )
    (tmp_path / "r" / "support.npz").write_bytes(b"no arrays")
    assert main(["inspect", str(tmp_path / "r"), "--support"]) != 0
    assert "support.npz" in capsys.readouterr().err
