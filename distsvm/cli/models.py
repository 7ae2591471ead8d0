"""The model that a verb uses, and the code of a user's own task, named FILE.py:CLASS."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from distsvm.cli.parser import Parser
from distsvm.errors import ConfigError
from distsvm.kinds import path, text
from distsvm.model import Model, load_model
from distsvm.oracles.task import Task
from distsvm.storage import Where


def add_model(parser: Parser) -> None:
    """Add --model and --task."""
    parser.general.flag(
        "--model", path, required=True, metavar="DIR",
        help="folder of the model, or of a run with a model",
    )  # fmt: skip
    add_task_code(parser)


def add_task_code(parser: Parser, of: str = "model") -> None:
    """Add --task, for tasks that are not built in."""
    parser.general.flag(
        "--task", text, metavar="FILE.py:CLASS",
        help=f"the task of the {of}, if it is one of your own: code is never taken from the folder",
    )  # fmt: skip


def read_model(folder: Where, task: str | None) -> Model:
    """Return the model in a folder; `task` is FILE.py:CLASS, or None for a built-in task."""
    if task is not None and not is_own_code(task):
        expected = "FILE.py:CLASS; models of built-in tasks need no --task"
        raise ConfigError(f"--task {task}: expected {expected}")
    return load_model(folder, None if task is None else load_class(task))


def is_own_code(task: str) -> bool:
    return ".py:" in task


def file_of(name: str) -> Path:
    """Return FILE.py of FILE.py:CLASS."""
    return Path(name.rpartition(":")[0])


def load_class(name: str) -> type[Task]:
    """Run the code of FILE.py and return its class CLASS."""
    path, class_name = file_of(name), name.rpartition(":")[2]
    if not path.is_file():
        raise ConfigError(f"--task {name}: there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module  # dataclasses look up the names of types there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"--task {name}: {type(error).__name__}: {error}") from error
    finally:
        # The class is pickled by value only if no importable module has it.
        del sys.modules[path.stem]
        if before is not None:
            sys.modules[path.stem] = before
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ConfigError(f"--task {name}: {path} has no class {class_name} that is a distsvm.Task")
    return found
