"""An option is declared in one place, of which flags, keys, checks and the page are made."""

import ast
import dataclasses
import inspect
import json
import pickle
import runpy
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import distsvm
from distsvm.cli import main
from distsvm.cli.data_options import data_options
from distsvm.cli.parts import Options
from distsvm.cli.program import build_parser, parse
from distsvm.cli.tasks import make_task
from distsvm.cli.words import SHELL, TOML
from distsvm.data.formats import file_formats, reader_options
from distsvm.data.synthetic import make_multiclass
from distsvm.data.writers import write_svmlight
from distsvm.errors import ConfigError
from distsvm.executors.options import RayOptions
from distsvm.executors.recovery import Limits
from distsvm.kinds import Choice, Kind, Number, Or, Truth, number, text, whole
from distsvm.options import built, check_fields, declared, option, refuse_unknown
from distsvm.oracles.structure import FileFormat, Structure, imported
from distsvm.registry import SOLVERS, STRUCTURES
from distsvm.solvers.base import Solver
from distsvm.solvers.options import SolverOptions, options_of_solvers
from distsvm.structures.classes.task import MulticlassTask
from distsvm.training.config import TrainConfig, all_options
from distsvm.training.train import train
from distsvm.wording import Form, Message, Name, Setting, message, message_of

PACKAGE = Path(distsvm.__file__).parent
PAGE = runpy.run_path(str(PACKAGE.parent / "docs" / "options_page.py"))
filled, sections, tables = PAGE["filled"], PAGE["sections"], PAGE["tables"]
OF_TRAINING = {
    "TrainConfig", "Limits", "RayOptions", "OneSlackOptions", "MultiPlaneOptions",
    "SequentialDualOptions", "NSlackOptions", "SampledCutsOptions",
}  # fmt: skip
EVERYWHERE = [own for options in sections().values() for own in options if own.flag]
TABLES = tables()
CHECKED = [*all_options().values(), *declared(RayOptions).values()]


def declarations():
    """The class and the field of every call of `option` in the package."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for field in node.body if isinstance(node, ast.ClassDef) else ():
                call = getattr(field, "value", None)
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "option":
                    found.append((node.name, field.target.id))
    return found


def test_every_option_of_training_is_declared_once():
    names = [name for cls, name in declarations() if cls in OF_TRAINING]
    assert sorted(names) == sorted(set(names))
    assert set(names) == {own.name for own in CHECKED}


def test_an_argument_with_the_name_of_an_option_has_its_default():
    assert Limits().min_workers == RayOptions().min_workers


@pytest.mark.parametrize("own", EVERYWHERE, ids=lambda own: own.flag)
def test_every_option_is_in_help_files_and_the_page(own):
    parser = build_parser("predict" if own.name == "tokens" else "train").get_default("own")
    assert own.key in parser.flags
    assert own.flag in parser.format_help()
    assert f"`{own.flag}`" in TABLES


def test_the_page_in_the_docs_is_the_one_that_is_made():
    text = (PACKAGE.parent / "docs" / "options.md").read_text(encoding="utf-8")
    assert text == filled(text), "python docs/options_page.py < docs/options.md prints the new page"
    assert TABLES in text


# --- checks --------------------------------------------------------------------------------


def refused_text(kind):
    """A text that a kind refuses on the command line; None if it takes every text."""
    if isinstance(kind, Truth) or type(kind) is Kind:
        return None
    kind = kind.kind if isinstance(kind, Or) else kind
    if isinstance(kind, (Number, Choice)):
        return "-1"
    return next((text for text in ("", "://", "=") if refuses(kind, text)), None)


def refuses(kind, text):
    try:
        kind.read(text)
    except ValueError:
        return True
    return False


KINDED = [own for own in CHECKED if type(own.kind) is not Kind]
REFUSING = [own for own in CHECKED if own.flag and refused_text(own.kind) is not None]


@pytest.mark.parametrize("own", REFUSING, ids=lambda own: own.flag)
def test_every_check_refuses_in_the_words_of_shell_and_file(own, capsys, tmp_path):
    words = ["train", "--task", "multiclass", "--data", "a", "--model", "m"]
    text = refused_text(own.kind)
    assert main([*words, f"{own.flag}={text}"]) == 2
    said = capsys.readouterr().err
    assert f"{own.flag} " in said
    assert f"expected {own.kind.expected.worded(SHELL)}" in said
    path = tmp_path / "my.toml"
    path.write_text(f"{own.key} = [[]]\n")
    with pytest.raises(ConfigError) as told:
        parse(["train", str(path), *words[1:]])
    assert f"{own.key} = [[]]: expected {own.kind.expected.worded(TOML)}" in str(told.value)


@pytest.mark.parametrize("own", KINDED, ids=lambda own: own.name)
def test_every_check_refuses_in_the_words_of_python(own):
    cls = RayOptions if own.name in declared(RayOptions) else None
    with pytest.raises(ConfigError) as told:
        built(cls, {own.name: object}) if cls else TrainConfig.from_dict({own.name: object})
    assert str(told.value) == f"{own.name}={object!r}: expected {own.kind.expected}"
    assert (told.value.parameter, told.value.expected) == (own.name, own.kind.expected)


@pytest.mark.parametrize("value", [True, "3", None, float("nan"), float("inf"), 2.5, -1])
def test_a_whole_number_is_nothing_else(value):
    with pytest.raises(ValueError):
        whole(least=0).check(value)
    assert whole(least=0).check(2.0) == 2


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="unknown parameter 'stabilize'; the nearest is 'stab"):
        TrainConfig.from_dict({"stabilize": 1.0})
    with pytest.raises(ConfigError, match="unknown parameter 'max_failure'"):
        built(RayOptions, {"max_failure": 1})
    refuse_unknown({"a"}, {"a", "b"})


# --- the options of solvers ----------------------------------------------------------------


def test_an_option_of_a_solver_is_given_by_its_name_or_in_solver_options():
    flat = TrainConfig.from_dict({"cache_size": 5, "ask_share": 0.3})
    assert flat == TrainConfig(solver_options={"cache_size": 5})
    assert flat.options_of("one-slack").cache_size == 5
    assert flat.solvers_named() == ["one-slack"]
    assert TrainConfig.from_dict(flat.as_dict()) == flat
    assert set(flat.values()) == set(all_options()) - {"solver_options"}
    with pytest.raises(ConfigError, match="cache_size, which is also given by itself"):
        TrainConfig.from_dict({"cache_size": 5, "solver_options": {"cache_size": 4}})


def add_package(monkeypatch, registry, name, found):
    """As if a package were installed that has this under this name."""
    point = EntryPoint(name, f"{__name__}:{found}", "of a test")
    monkeypatch.setattr(registry, "_points", {name: point})
    monkeypatch.setattr(registry, "_loaded", {})


@dataclasses.dataclass(frozen=True)
class Added(SolverOptions):
    step: float = option(0.5, kind=number(above=0), metavar="S", help="of the solver; see {C}")


class AddedSolver(Solver):
    Options = Added


def test_a_solver_of_another_package_has_flags_keys_and_checks(monkeypatch, tmp_path):
    add_package(monkeypatch, SOLVERS, "added", "AddedSolver")
    assert options_of_solvers()["step"].default == 0.5
    config = TrainConfig.from_dict({"step": 2, "solver": "added"})
    assert config.options_of("added") == Added(2.0)
    with pytest.raises(ConfigError, match="step=-1: expected a number > 0"):
        TrainConfig.from_dict({"step": -1})
    words = ["train", "--task", "multiclass", "--data", "a"]
    assert parse([*words, "--step", "3"]).step == 3.0
    assert (
        "of the solver; see --C. Default: 0.5"
        in build_parser("train").get_default("own").format_help()
    )
    path = tmp_path / "my.toml"
    path.write_text("step = 4")
    assert parse(["train", str(path), *words[1:]]).step == 4.0


def test_options_of_another_solver_are_refused_with_a_named_solver(tmp_path, capsys):
    config = TrainConfig.from_dict({"ask_share": 0.4, "solver": "one-slack"})
    with pytest.raises(ConfigError) as told:
        train(MulticlassTask(), np.eye(4), np.arange(4), **config.as_dict())
    assert str(told.value) == "ask_share is for solver='multi-plane', and this run's is one-slack"
    data = tmp_path / "a.svm"
    data.write_text("1 1:1\n2 2:1\n")
    words = ["--task", "multiclass", "--data", str(data), "--executor", "serial"]
    said = "--cache-size is for --solver one-slack, and this run's is multi-plane"
    for verb in ("train", "path"):
        model = ["--model", str(tmp_path / "m")] if verb == "train" else []
        wrong = ["--solver", "multi-plane", "--cache-size", "5"]
        assert main([verb, *words, *model, *wrong]) == 2
        assert said in capsys.readouterr().err
    right = ["--solver", "one-slack", "--cache-size", "5", "--model", str(tmp_path / "m")]
    assert main(["train", *words, *right]) == 0


def test_a_run_that_has_options_of_another_solver_is_resumed(tmp_path):
    """Earlier versions ignored such options, so that their run folders may have them."""
    write_svmlight(tmp_path / "a.svm", *make_multiclass(30, 4, 3, seed=0))
    run = str(tmp_path / "run")
    words = ["--task", "multiclass", "--data", str(tmp_path / "a.svm"), "--run-dir", run]
    assert main(["train", *words, "--solver", "one-slack", "--max-rounds", "2"]) == 7
    path = tmp_path / "run" / "run.json"
    stored = json.loads(path.read_text())
    stored["config"]["ask_share"] = 0.25
    path.write_text(json.dumps(stored))
    assert main(["resume", run, "--max-rounds", "1000"]) == 0


# --- the options of structures and of their files ------------------------------------------


@dataclasses.dataclass(frozen=True)
class AddedTask(MulticlassTask):
    rung_cost: float = option(1.0, kind=number(least=0), metavar="G", help="of the task")


ADDED_OPTIONS = Options(declared(AddedTask))


@dataclasses.dataclass
class AddedReading:
    wood: str = option(kind=text, metavar="WOOD", help="of the reader")


ADDED = Structure(
    name="ladders",
    title="ladders",
    tasks={"ladder": f"{__name__}:AddedTask"},
    formats={
        "rungs": FileFormat(f"{__name__}:no", (".rungs",), options=f"{__name__}:AddedReading")
    },
    reads=("rungs", "jsonl"),
    options=f"{__name__}:ADDED_OPTIONS",
)


def test_a_structure_of_another_package_has_flags_for_its_task_and_files(
    monkeypatch, tmp_path, capsys
):
    add_package(monkeypatch, STRUCTURES, "ladders", "ADDED")
    monkeypatch.chdir(tmp_path)
    Path("a.rungs").write_text("")
    words = ["train", "--task", "ladder", "--data", "a.rungs", "--model", "m"]
    args = parse([*words, "--rung-cost", "2", "--loss-scale", "3", "--wood", "oak"])
    task = make_task(args)
    assert (type(task), task.rung_cost, task.loss_scale) == (AddedTask, 2.0, 3.0)
    assert data_options(args, task) == {"wood": "oak"}
    assert main([*words, "--rung-cost", "-1"]) == 2
    assert "--rung-cost -1: expected a number ≥ 0" in capsys.readouterr().err
    assert main([*words, "--tag", "1"]) == 2
    assert "--tag is for conll and conllu files, these are rungs" in capsys.readouterr().err
    assert make_task(parse([*words, "--scale"])).scale is True  # as classes have it, too
    assert main([*words[:2], "binary", *words[3:], "--rung-cost", "1"]) == 2
    assert "--rung-cost is for ladders, not for --task binary" in capsys.readouterr().err
    assert "`--wood`" in tables()


@dataclasses.dataclass(frozen=True)
class RivalTask(MulticlassTask):
    price: float = option(1.0, flag="--rung-cost", kind=number(), metavar="P", help="of another")


RIVAL_OPTIONS = Options(declared(RivalTask))
RIVAL = Structure(
    name="rivals",
    title="rivals",
    tasks={"rival": f"{__name__}:RivalTask"},
    options=f"{__name__}:RIVAL_OPTIONS",
)


def test_two_structures_with_one_flag_for_different_fields_are_refused(monkeypatch, capsys):
    points = {
        name: EntryPoint(name, f"{__name__}:{found}", "of a test")
        for name, found in (("ladders", "ADDED"), ("rivals", "RIVAL"))
    }
    monkeypatch.setattr(STRUCTURES, "_points", points)
    monkeypatch.setattr(STRUCTURES, "_loaded", {})
    assert main(["train", "--task", "rival", "--data", "a", "--model", "m"]) == 2
    assert (
        "--rung-cost is declared twice: for 'rung_cost' (task: ladders only) and for 'price' "
        "(task: rivals only); one of them needs another flag"
    ) in capsys.readouterr().err


def test_an_option_of_a_reader_names_its_formats():
    found = {own.name: own.of for own in reader_options()}
    assert found["tag"] == ("conll", "conllu")
    assert found["word"] == ("conll",)
    assert found["max_length"] == ("treebank",)
    assert {name for of in found.values() for name in of} <= file_formats().keys()


# --- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "python", "shell"),
    [
        (ConfigError("max_cuts", 2, "more"), "max_cuts=2: expected more", "--max-cuts 2: expected"),
        (ConfigError("run_dir", "a b", "x"), "run_dir='a b'", "--run-dir 'a b'"),
        (ConfigError("C", None, "x"), "C=None", "--C none"),
        (ConfigError("cs", 1, "x"), "cs=1", "cs=1"),
        (ConfigError("class_weight", {1: -1.0}, "x"), "class_weight={1: -1.0}", "weight 1=-1.0"),
        (ConfigError(message("{C} and {C_per_example}")), "C and C_per_example", "--C and --C-per"),
        (ConfigError(message("{}: {C}", "{eps} C=1")), "{eps} C=1: C", "{eps} C=1: --C"),
        (ConfigError(Message(Setting("scale", True))), "scale=True", "--scale"),
        (ConfigError(Message(Form("here", "there"))), "here", "there"),
        (ConfigError("C=1 as it is"), "C=1 as it is", "C=1 as it is"),
    ],
)
def test_a_message_is_worded_by_whoever_shows_it(said, python, shell):
    assert str(said).startswith(python)
    assert shell in message_of(said).worded(SHELL)


def test_an_error_keeps_its_parts_on_the_way_between_processes():
    error = pickle.loads(pickle.dumps(ConfigError("C", lambda: 0, "a number")))
    assert error.parameter == "C"
    assert message_of(error).worded(SHELL).startswith("--C <function")
    inner = message("shard {}: {}", 3, message_of(error))
    assert inner.worded(SHELL).startswith("shard 3: --C ")
    assert Name("C") not in inner.parts


def test_a_field_is_kept_as_it_was_checked():
    made = object.__new__(Added)
    object.__setattr__(made, "step", 3)
    check_fields(made)
    assert made.step == 3.0
    assert isinstance(made.step, float)


def test_options_of_files_name_the_arguments_of_their_readers():
    for own in reader_options():
        for format in own.of:
            reader = imported(file_formats()[format].reader)
            assert own.name in inspect.signature(reader).parameters


def test_declarations_need_no_numpy():
    code = "import sys, distsvm.options; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
