"""A task that a user has written runs from the command line, and its code only when named."""

import json
import sys

import numpy as np
import pytest

from distsvm.cli import main
from distsvm.structures.own import predictions as own

CODE = """
from __future__ import annotations
from dataclasses import dataclass
import zlib
import numpy as np
import distsvm
from distsvm.structures.trees.tree import Tree


@dataclass(frozen=True)
class RootLabel(distsvm.Task):
    dim: int = 64

    def joint_features(self, x, y):
        found = np.zeros(self.dim)
        for word, _ in x:
            found[place(self.dim, word, y.label)] += 1
        return found

    def loss(self, y, y_hat):
        return float(y.label != y_hat.label)

    def decode(self, w, x):
        return max(flat(x), key=lambda tree: w @ self.joint_features(x, tree))

    def separate(self, w, x, y, rescaling):
        def value(tree):
            return self.loss(y, tree) + w @ self.joint_features(x, tree)
        return max(flat(x), key=value)

    def encode_output(self, y):
        return str(y)

    def decode_output(self, text):
        return Tree.parse(text)


def flat(x):
    leaves = tuple(Tree(tag, word=word) for word, tag in x)
    return [Tree(label, leaves) for label in "AB"]


def place(dim, word, label):
    return zlib.crc32(f"{word} {label}".encode()) % dim
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with the task's code and some trees, which is the current one."""
    rng = np.random.default_rng(0)
    words = [rng.integers(0, 9, 3) for _ in range(30)]
    lines = [f"({'AB'[w.sum() % 2]} {' '.join(f'(t {i})' for i in w)})" for w in words]
    (tmp_path / "data.mrg").write_text("\n".join(lines) + "\n")
    (tmp_path / "mine.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRAIN = ["train", "--task", "mine.py:RootLabel", "--data", "data.mrg",
         "--run-dir", "r", "--C", "10", "--eps", "0.01"]  # fmt: skip


def test_it_is_trained_in_other_processes_and_resumed(home, capsys):
    words = [*TRAIN, "--task-options", "dim=32", "--executor", "processes", "--workers", "2"]
    assert main([*words, "--max-rounds", "2", "-q"]) == 7
    assert "mine" not in sys.modules
    run = json.loads((home / "r" / "run.json").read_text())
    assert (run["task"]["task"], run["task"]["fields"]["dim"]) == ("mine.RootLabel", 32)
    go_on = ["resume", "r", "--max-rounds", "none", "-q"]
    capsys.readouterr()
    assert main(go_on) == 6  # code is never taken from what a folder says
    assert "give its code with --task FILE.py:CLASS" in capsys.readouterr().err
    assert main([*go_on, "--task", "mine.py:RootLabel"]) == 0
    assert json.loads((home / "r" / "result.json").read_text())["stop_reason"] == "eps"


def test_one_command_begins_a_run_and_takes_it_up_again(home, capsys):
    words = [*TRAIN, "--executor", "serial", "--resume"]
    assert main([*words, "--max-rounds", "2"]) == 7
    again = "distsvm resume r --task mine.py:RootLabel --max-rounds N"
    assert again in capsys.readouterr().err
    assert main([*words, "--max-rounds", "4"]) == 7
    assert main([*words, "--max-rounds", "4", "--C", "11"]) == 6
    assert "belongs to a run with --C 10.0, not 11.0" in capsys.readouterr().err
    assert main(words) == 0
    rounds = map(json.loads, (home / "r" / "history.jsonl").read_text().splitlines())
    assert [record["number"] for record in rounds][:4] == [1, 2, 3, 4]
    assert main([*TRAIN, "--executor", "serial", "-q"]) == 2  # without the wish to go on


@pytest.mark.usefixtures("home")
def test_to_go_on_a_folder_is_needed(capsys):
    assert main(["train", "--task", "multiclass", "--data", "x", "--model", "m", "--resume"]) == 2
    assert "--resume needs --run-dir" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "none.py:X"], "there is no file none.py"),
        (["--task", "mine.py:TAGS"], "mine.py has no class TAGS that is a distsvm.Task"),
        (["--task", "broken.py:X"], "ZeroDivisionError: division by zero"),
        (["--task-options", "depth=3"], "depth: RootLabel has no such field; it has dim"),
        (["--loss", "hamming"], "--loss is not for --task mine.py:RootLabel"),
        (["--order", "2"], "--order is for sequences"),
        (
            ["--task", "multiclas"],
            "multiclass, parse, sequence, taxonomy, or FILE",
        ),
        (["--task", "sequence", "--task-options", "a=1"], "--task-options is for tasks of your"),
    ],
)
def test_what_is_wrong_with_it_is_said(home, capsys, words, message):
    (home / "broken.py").write_text("1 / 0")
    assert main([*TRAIN, *words]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def trained(home):
    assert main([*TRAIN, "--executor", "serial", "-q"]) == 0
    return home


def test_it_predicts_evaluates_and_is_inspected(trained, capsys):
    task = ["--task", "mine.py:RootLabel"]
    capsys.readouterr()
    words = ["--data", "data.mrg", "--executor", "processes", "--workers", "2"]
    assert main(["predict", "--model", "r", *task, *words, "--output", "out.jsonl"]) == 0
    lines = (trained / "out.jsonl").read_text().splitlines()
    assert len(lines) == 30
    assert json.loads(lines[0]).startswith(("(A (t", "(B (t"))
    capsys.readouterr()
    assert main(["evaluate", "--model", "r/model", *task, *words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["n_examples"] == 30
    assert result["accuracy"] == pytest.approx(1 - result["mean_loss"])
    assert main(["evaluate", "--model", "r", *task, "--data", "data.mrg"]) == 0
    assert "the share of outputs without loss" in capsys.readouterr().out
    assert main(["inspect", "r/model", *task]) == 0
    assert "positions of w" in capsys.readouterr().out


def test_it_predicts_on_plain_sentences_where_it_takes_words(trained, capsys):
    of_words = "    def of_words(self, words):\n        return [(word, 't') for word in words]\n\n"
    code = CODE.replace("    def loss(", f"{of_words}    def loss(")
    (trained / "words.py").write_text(code)
    words = ["predict", "--model", "r", "--output", "-", "--text", "1 2 3"]
    capsys.readouterr()
    assert main([*words, "--task", "words.py:RootLabel"]) == 0
    told = capsys.readouterr().out
    assert json.loads(told).startswith(("(A (t 1)", "(B (t 1)"))
    (trained / "new.txt").write_text("1 2 3\n")
    words[-2:] = ["--data", "new.txt"]
    assert main([*words, "--task", "words.py:RootLabel"]) == 0
    assert capsys.readouterr().out == told
    assert main([*words, "--task", "mine.py:RootLabel"]) == 2
    assert "RootLabel does not take plain sentences" in capsys.readouterr().err


def test_its_run_is_inspected_and_reported_without_its_code(trained, capsys):
    assert main(["inspect", "r"]) == 0
    assert "mine.RootLabel" in capsys.readouterr().out
    assert main(["report", "r"]) == 0
    assert "mine.RootLabel" in (trained / "r" / "report.html").read_text()


def test_it_is_trained_along_a_path_and_starts_from_a_model(home, capsys):
    words = ["--task", "mine.py:RootLabel", "--data", "data.mrg", "--executor", "serial", "-q"]
    assert main(["path", *words, "--Cs", "1,10", "--cv", "3", "--model", "m"]) == 0
    assert main(["train", *words, "--start", "m", "--model", "n", "--task-options", "dim=64"]) == 0
    assert main(["inspect", "n", "--task", "mine.py:RootLabel", "--names", "x"]) == 2
    assert "--names is only for models of classes" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["predict", "evaluate", "inspect"])
def test_without_its_code_the_option_is_named_and_no_python(trained, capsys, verb):
    words = ["r/model"] if verb == "inspect" else ["--model", "r", "--data", "data.mrg"]
    assert main([verb, *words, *(["--output", "-"] if verb == "predict" else [])]) != 0
    told = capsys.readouterr().err
    assert "--task FILE.py:CLASS" in told
    assert "load_model" not in told
    assert main([verb, *words, "--task", "parse"]) == 2
    assert "--task parse: expected FILE.py:CLASS" in capsys.readouterr().err


def test_outputs_of_any_type_are_written_as_json():
    class Task:
        def encode_output(self, y):
            return sorted(y)

    class Trained:
        task = Task()

    found = [(1, 2), "a\nb", np.array([1.5]), {"a": np.int64(2)}, {2, 1}]
    assert [json.loads(text) for text in own.Outputs(Trained()).texts(None, found)] == [
        [1, 2], "a\nb", [1.5], {"a": 2}, [1, 2],
    ]  # fmt: skip
