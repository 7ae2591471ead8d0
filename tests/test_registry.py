"""What other packages add: found by entry points, and one that is broken breaks nothing else."""

import logging

import pytest
from installing import EXTENSION, installed

from distsvm import registry
from distsvm.cli.words import SHELL
from distsvm.errors import ConfigError


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of sys.path, with the extension beside it."""
    monkeypatch.syspath_prepend(str(EXTENSION))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    monkeypatch.undo()
    registry.refresh()


def write_points(site, group, **points):
    """Entry points of a package that is called broken."""
    info = site / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    registry.refresh()


def test_a_package_that_is_installed_in_a_running_process_is_found_until_it_is_removed(site):
    before = [*registry.solvers()], [*registry.structures()], [*registry.task_classes()]
    assert SHELL.name("step") == "step"
    with installed(site):
        assert [*registry.solvers()] == [*before[0], "frank-wolfe"]
        assert [*registry.structures()] == [*before[1], "rings"]
        assert [*registry.task_classes()] == [*before[2], "ring"]
        assert SHELL.name("step") == "--step"
    after = [*registry.solvers()], [*registry.structures()], [*registry.task_classes()]
    assert after == before
    assert SHELL.name("step") == "step"


def test_no_entry_point_is_asked_where_a_built_in_structure_is_meant(site, caplog):
    write_points(site, "distsvm.structures", bad="no_such_module_at_all:S")
    assert registry.task_classes()["binary"].__name__ == "BinaryTask"
    assert registry.structure_of(registry.task_classes()["sequence"]).name == "sequences"
    assert not caplog.records
    assert "bad" not in registry.structures()
    assert "'bad'" in caplog.text


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("no_such_module_at_all:S", "cannot be loaded: ModuleNotFoundError"),
        ("json:no_such_name", "cannot be loaded: AttributeError"),
        ("json:loads", "is of type function, expected Solver"),
    ],
)
def test_a_broken_solver_is_an_error_by_its_name_and_one_warning_otherwise(
    site, caplog, value, what
):
    write_points(site, "distsvm.solvers", bad=value)
    found = rf"the solver 'bad' of the package broken \(distsvm.solvers: {value}\) {what}"
    with pytest.raises(ConfigError, match=found):
        registry.solver_named("bad")
    with caplog.at_level(logging.WARNING):
        assert "bad" not in registry.solvers()
        assert "one-slack" in registry.solvers()
    assert len([r for r in caplog.records if "'bad'" in r.getMessage()]) == 1


def test_an_entry_point_does_not_take_the_place_of_a_built_in_one(site, caplog):
    write_points(site, "distsvm.structures", trees="json:loads")
    assert registry.structures()["trees"].tasks.keys() == {"parse"}
    assert "distsvm has this structure itself" in caplog.text
