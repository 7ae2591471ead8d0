"""Code of a user's own task, named as FILE.py:CLASS."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from distsvm.errors import ConfigError
from distsvm.oracles.task import Task


def named(name: str) -> bool:
    """Whether this names a class in a file."""
    return ".py:" in name


def file_of(name: str) -> Path:
    """The file that holds the class."""
    return Path(name.rpartition(":")[0])


def load_class(name: str) -> type[Task]:
    """The class that FILE.py:CLASS names; its code is run."""
    path, class_name = file_of(name), name.rpartition(":")[2]
    if not path.is_file():
        raise ConfigError(f"--task {name}: there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module  # where dataclasses look for the names of types
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"--task {name}: {type(error).__name__}: {error}") from error
    finally:
        # Not left there: what is in no module that others could import travels by value.
        del sys.modules[path.stem]
        if before is not None:
            sys.modules[path.stem] = before
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ConfigError(f"--task {name}: {path} has no class {class_name} that is a distsvm.Task")
    return found
