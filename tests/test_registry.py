"""Structures are found by name, also those of other packages; what is wrong with one is said."""

import logging
from dataclasses import dataclass
from importlib import metadata

import pytest
from installing import EXTENSION, installed
from toy_tasks import ToyChain

from distsvm import MulticlassTask, Task, errors
from distsvm.cli.words import SHELL
from distsvm.data.formats import file_format, formats_read
from distsvm.data.opening import kind_of_files
from distsvm.oracles.description import describe, rebuild
from distsvm.oracles.structure import FileFormat, Structure, reference_of
from distsvm.registry import (
    STRUCTURES,
    Registry,
    own_structure,
    solvers,
    structure_of,
    structures,
    task_classes,
)

BUILT_IN = ["classes", "sequences", "trees", "alignments", "taxonomies"]
CHAINS = Structure(
    name="chains",
    title="chains",
    tasks={"chain": reference_of(ToyChain), "binary": reference_of(ToyChain)},
    formats={"chains": FileFormat("toy_tasks:none", (".chain",), objects=True)},
)


@pytest.fixture
def registry(monkeypatch):
    """A registry whose entry points are made up; returns what gives it some."""

    def given(**points):
        found = [metadata.EntryPoint(name, value, "distsvm.structures")
                 for name, value in points.items()]  # fmt: skip
        monkeypatch.setattr(metadata, "entry_points", lambda group: found)
        made = Registry(
            "distsvm.structures", "structure", "distsvm.oracles.structure:Structure",
            STRUCTURES._built_in,
        )  # fmt: skip
        monkeypatch.setattr("distsvm.registry.STRUCTURES", made)
        monkeypatch.setattr("distsvm.data.formats.STRUCTURES", made)
        return made

    return given


def test_built_in_structures_come_first_and_save_the_names_that_they_always_had():
    assert list(structures())[:5] == BUILT_IN
    names = ["binary", "multiclass", "kernel-binary", "kernel-multiclass"]
    names += ["sequence", "parse", "align", "taxonomy"]
    assert list(task_classes())[:8] == names
    for name, cls in task_classes().items():
        assert describe(cls())[0]["task"] == name
        assert structure_of(cls) is structure_of(cls())


def test_a_task_is_of_the_structure_of_a_class_above_it_and_saves_its_own_name():
    @dataclass(frozen=True, eq=False)
    class Mine(MulticlassTask):
        pass

    assert structure_of(Mine).name == "classes"
    assert describe(Mine())[0]["task"].endswith("Mine")
    assert structure_of(ToyChain()) is own_structure()


def test_another_package_adds_a_structure_with_its_tasks_and_formats(registry, tmp_path):
    registry(chains="test_registry:CHAINS")
    assert structures()["chains"] is CHAINS
    assert structure_of(ToyChain()) is CHAINS
    assert "chains" in formats_read(own_structure())
    (tmp_path / "a.chain").write_text("")
    assert kind_of_files(tmp_path / "a.chain") == "chains"
    assert file_format("chains") is CHAINS.formats["chains"]
    description, arrays = describe(ToyChain(n_labels=3))
    assert description["task"] == "chain"
    assert rebuild(description, arrays) == ToyChain(n_labels=3)


def test_another_package_cannot_take_a_name_that_is_built_in(registry, caplog):
    registry(classes="test_registry:CHAINS", chains="test_registry:CHAINS")
    with caplog.at_level(logging.WARNING):
        assert structures()["classes"].title == "classes"
    assert "the structure 'classes' of" in caplog.text
    assert task_classes()["binary"] is not ToyChain


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_package:X", "cannot be loaded: ModuleNotFoundError"),
        ("test_registry:GONE", "cannot be loaded: AttributeError"),
        ("toy_tasks:ToyChain", "is of type ABCMeta, expected Structure"),
    ],
)
def test_a_broken_entry_point_is_an_error_by_name_and_one_warning_otherwise(
    registry, caplog, value, reason
):
    found = registry(broken=value)
    with caplog.at_level(logging.WARNING):
        assert list(structures()) == list(structures()) == BUILT_IN
    (told,) = caplog.messages
    assert "the structure 'broken' of an unnamed package" in told
    assert f"(distsvm.structures: {value})" in told
    assert reason in told
    with pytest.raises(errors.ConfigError, match=reason):
        found["broken"]
    with pytest.raises(errors.ConfigError, match=reason):
        task_classes()["broken"]
    with pytest.raises(KeyError):
        task_classes()["unknown"]


def test_no_entry_point_is_loaded_where_a_built_in_structure_is_meant(registry, caplog):
    registry(broken="no_such_package:X")
    assert structure_of(task_classes()["sequence"]).name == "sequences"
    assert not caplog.messages


def test_a_package_installed_in_a_running_process_is_found_until_it_is_removed(
    tmp_path, monkeypatch
):
    def found():
        return [*solvers()], [*structures()], [*task_classes()], SHELL.name("step")

    monkeypatch.syspath_prepend(str(EXTENSION))
    monkeypatch.syspath_prepend(str(tmp_path))
    before = found()
    assert before[-1] == "step"
    with installed(tmp_path):
        assert found() == (
            [*before[0], "frank-wolfe"], [*before[1], "rings"], [*before[2], "ring"], "--step"
        )  # fmt: skip
    assert found() == before


def test_what_shows_the_warning_may_ask_for_all_structures_itself(registry):
    registry(broken="no_such_package:X")
    told = []

    class Asking(logging.Handler):
        def emit(self, record):
            told.append(list(structures()))

    handler = Asking()
    logging.getLogger("distsvm").addHandler(handler)
    try:
        structures()
    finally:
        logging.getLogger("distsvm").removeHandler(handler)
    assert told == [BUILT_IN]


def test_a_saved_task_that_no_structure_has_is_named():
    with pytest.raises(errors.ModelError, match=r"task 'x\.Y', which is not built in; pass its"):
        rebuild({"task": "x.Y", "fields": {}}, {})
    assert issubclass(ToyChain, Task)
