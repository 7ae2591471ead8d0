"""A run's folder holds what its result says, and no other run is written over it."""

import json

import numpy as np
import pytest
from run_examples import INPUTS, go
from toy_tasks import ToyChain

import distsvm
from distsvm import load_model, train
from distsvm.errors import ConfigError


def test_the_files_of_a_folder_agree_with_the_result(tmp_path):
    result = go(tmp_path / "run")
    names = {p.name for p in (tmp_path / "run").iterdir()}
    assert names == {
        "data.json", "run.json", "history.jsonl", "checkpoints", "model", "result.json",
        "state.json",
    }  # fmt: skip
    told = json.loads((tmp_path / "run" / "result.json").read_text())
    assert told["gap"] == result.gap
    lines = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert len(lines) == result.n_rounds
    assert json.loads(lines[-1])["dual"] == result.dual
    model = load_model(tmp_path / "run" / "model", task=ToyChain)
    assert np.array_equal(model.w, result.model.w)


def test_old_checkpoints_go_and_no_pickle_is_written(tmp_path):
    go(tmp_path / "run", checkpoint_rounds=3, checkpoint_share=1, keep_checkpoints=2)
    folders = sorted((tmp_path / "run" / "checkpoints").iterdir())
    assert len(folders) == 2
    for path in (tmp_path / "run").rglob("*.npz"):
        with np.load(path, allow_pickle=False) as file:
            assert all(file[name].dtype != object for name in file)


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    go(tmp_path / "run")
    with pytest.raises(ConfigError, match="has a run already"):
        go(tmp_path / "run")


def test_an_impossible_run_folder_is_refused_before_the_data_is_read(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be made"):
        train(ToyChain(), object(), run_dir=tmp_path / "file" / "run")


def test_a_loaded_model_of_any_task_predicts_the_same(tmp_path):
    result = go(tmp_path / "run", max_rounds=4)
    result.model.save(tmp_path / "model")
    with pytest.raises(distsvm.errors.ModelError, match="pass its class"):
        load_model(tmp_path / "model")
    model = load_model(tmp_path / "model", task=ToyChain)
    assert model.predict(INPUTS) == result.model.predict(INPUTS)
    assert model.facts["gap"] == result.gap
