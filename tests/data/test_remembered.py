"""What a model remembers of its training files, and when other files are read alike."""

import pytest

from distsvm.data.remembered import plain_options, recalled, remembered
from distsvm.data.templates import POS
from distsvm.errors import ConfigError


@pytest.fixture
def paths(tmp_path):
    found = {}
    for name in ("a.conll", "a.conllu", "a.svm", "a.txt", "a.svmhmm"):
        (tmp_path / name).write_text("")
        found[name] = str(tmp_path / name)
    return found


def test_data_in_memory_is_not_remembered(paths):
    assert remembered([[1], [2]], {}) is None
    notes = remembered(paths["a.conll"], {"templates": POS})
    assert recalled(notes, [[["f"]]], {}) == {}


def test_options_are_kept_in_jsons_terms_and_weights_are_not(paths):
    notes = remembered(paths["a.conll"], {"templates": POS, "tag": 2, "weight": "w"})
    assert notes == {"kind": "conll", "options": {"templates": str(POS), "tag": 2}}
    assert plain_options({"dtype": float}) == {"dtype": "float64"}


def test_given_options_win(paths):
    notes = remembered([paths["a.conll"]], {"templates": "pos", "tag": 2})
    assert recalled(notes, paths["a.conll"], {"tag": 3}) == {"templates": "pos", "tag": 3}
    assert recalled(None, paths["a.conll"], {"tag": 3}) == {"tag": 3}


def test_the_columns_of_training_count_unless_others_are_named(tmp_path):
    path = str(tmp_path / "a.conll")
    (tmp_path / "a.conll").write_text("\n# DT x\nthe DT x\n")
    notes = remembered(path, {"tag": 2})
    assert notes["options"] == {"tag": 2, "n_columns": 3}
    assert recalled(notes, path, {})["n_columns"] == 3
    assert recalled(notes, path, {"tag": 2})["n_columns"] == 3
    assert "n_columns" not in recalled(notes, path, {"tag": 1})


def test_a_filter_of_training_is_not_taken_over(tmp_path):
    path = tmp_path / "a.mrg"
    path.write_text("")
    notes = remembered(str(path), {"max_length": 15, "strip_empty": False})
    assert recalled(notes, str(path), {}) == {"strip_empty": False}
    assert recalled(notes, str(path), {"max_length": 40})["max_length"] == 40


def test_a_named_format_counts_for_other_files(paths):
    notes = remembered(paths["a.txt"], {"format": "conll", "tag": 2})
    assert recalled(notes, paths["a.txt"], {}) == {"format": "conll", "tag": 2}
    with pytest.raises(ConfigError, match="format='x'"):
        recalled(notes, paths["a.txt"], {"format": "x"})


def test_another_format_takes_over_the_features_alone(paths):
    notes = remembered(paths["a.conllu"], {"templates": "pos", "tag": "upos"})
    assert recalled(notes, paths["a.conll"], {}) == {"templates": "pos"}
    assert recalled(notes, paths["a.svmhmm"], {}) == {}
    assert recalled(notes, paths["a.txt"], {"format": "conll"}) == {
        "templates": "pos", "format": "conll",
    }  # fmt: skip
