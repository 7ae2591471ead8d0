"""What a file claims is checked in one place, before memory or compiled code depends on it."""

import json

import numpy as np
import pytest
from folders import CASES, _sign, copied

from distsvm import MulticlassTask, load_model, train
from distsvm.errors import CheckpointError, DataError, ModelError
from distsvm.training.checkpoint import checkpoint_folders


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Cases with a run of each, made when asked for."""
    home, made = tmp_path_factory.mktemp("claims"), {}

    def run(name):
        if name not in made:
            made[name] = CASES[name](), home / name
            # One checkpoint, whose files of planes are whole.
            made[name][0].train(made[name][1], checkpoint_rounds=100)
        return made[name]

    return run


def change_arrays(path, **changes):
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | {name: change(arrays) for name, change in changes.items()})


def resumed(runs, tmp_path, name, file, **changes):
    case, run = runs(name)
    folder = copied(run, tmp_path / "run")
    change_arrays(checkpoint_folders(folder)[-1] / file, **changes)
    _sign(folder)
    return case.train(folder, resume=True, max_rounds=6)


@pytest.mark.parametrize("n_features", [2**61 + 1, 2**63, 2**64 + 5, 10**30])
@pytest.mark.parametrize("name", ["classes", "sequence"])
def test_a_dimension_beyond_64_bits_is_refused(runs, tmp_path, name, n_features):
    folder = copied(runs(name)[1] / "model", tmp_path / "model")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["fields"]["n_features"] = n_features
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with np.load(folder / "arrays.npz") as file:
        checked = ("task.scaler", "task.name_bytes", "task.name_starts")
        arrays = {key: array for key, array in file.items() if key not in checked}
    np.savez(folder / "arrays.npz", **arrays)  # nothing else contradicts the number
    _sign(folder)
    with pytest.raises(ModelError, match=r"w has shape \(\d+,\), the task has dim \d{19}"):
        load_model(folder)


@pytest.mark.parametrize("dtype", ["M8[D]", "m8[s]", "c16"])
def test_classes_that_are_no_numbers_or_texts_are_refused(runs, tmp_path, dtype):
    case, run = runs("classes")
    folder = copied(run / "model", tmp_path / "model")
    change_arrays(folder / "arrays.npz", **{"task.classes": lambda a: np.arange(3).astype(dtype)})
    _sign(folder)
    with pytest.raises(ModelError, match="expected numbers or texts"):
        load_model(folder)
    outputs = np.asarray(case.outputs).astype(np.int64).astype(dtype)
    with pytest.raises(DataError, match="expected numbers or texts"):
        train(MulticlassTask(), case.inputs, outputs, executor="serial", max_rounds=1)


@pytest.mark.parametrize(
    "bent",
    [
        lambda a: a["cut_dense"].reshape(-1, 1), lambda a: np.array(True),
        lambda a: a["cut_dense"].astype("U1"), lambda a: np.append(a["cut_dense"], True),
    ],
    ids=["matrix", "number", "texts", "longer"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["classes", "sequence-cuts"])
def test_cut_dense_of_a_wrong_shape_or_type_is_refused(runs, tmp_path, name, bent):
    with pytest.raises(CheckpointError, match=r"round-0000000\d is damaged: (cut_dense|gram) "):
        resumed(runs, tmp_path, name, "driver.npz", cut_dense=bent)


@pytest.mark.parametrize("array", ["best_w", "w"])
@pytest.mark.parametrize("name", ["classes", "sequence"])
def test_a_w_that_is_empty_is_refused(runs, tmp_path, name, array):
    with pytest.raises(CheckpointError, match=rf"round-0000000\d is damaged: {array} has 0 values"):
        resumed(runs, tmp_path, name, "driver.npz", **{array: lambda a: np.zeros(0)})


@pytest.mark.parametrize("name", [name for name in CASES if name != "sequence-cuts"])
def test_slots_that_leave_holes_are_refused_by_name(runs, tmp_path, name):
    with pytest.raises(CheckpointError, match=r"planes-00000\.npz does not fit .*slot"):
        resumed(runs, tmp_path, name, "planes-00000.npz", slot=lambda a: a["slot"] + 1)


@pytest.mark.parametrize("name", ["sequence", "trees-planes"])
def test_the_limit_of_planes_is_applied_before_there_is_room_for_them(runs, tmp_path, name):
    def wide(arrays):
        return np.array(20_000)

    with pytest.raises(CheckpointError, match="before has the shape"):
        resumed(runs, tmp_path, name, "planes-00000.npz", size=wide)
    with pytest.raises(CheckpointError, match="which plane_memory_mb does not allow"):
        resumed(
            runs, tmp_path, name, "planes-00000.npz", size=wide,
            before=lambda a: np.zeros((a["before"].shape[0], 20_000)),
        )  # fmt: skip
