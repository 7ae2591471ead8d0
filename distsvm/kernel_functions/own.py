"""Kernel functions that users write: callables of two blocks of rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distsvm.data.features import Rows
from distsvm.errors import ConfigError, ModelError
from distsvm.kernel_functions.function import KernelFunction, Matrix, Right, matrix

OwnFunction = Callable[[Matrix, Matrix], np.ndarray]

_registered: dict[str, OwnFunction] = {}


def register_kernel(function: OwnFunction) -> OwnFunction:
    """Let models name this function in their files; returns it, and so serves as a decorator.

    A file never makes this process import code, so a function has to be known before a model that
    uses it is loaded. The name is 'module:Name'.
    """
    name = _name_of(function)
    if name is None:
        raise ConfigError(
            "kernel", function, "a function that a module has by name, to be found again"
        )
    _registered[name] = function
    return function


def _name_of(function: Any) -> str | None:
    """Return 'module:Name'; as a decorator runs, the module does not have the function yet."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    return f"{module}:{name}" if module and name and "<" not in name else None


def reference_of(function: Any) -> str | None:
    """Return 'module:Name' if the module has this very function by this name."""
    reference = _name_of(function)
    if reference is None:
        return None
    module, _, name = reference.partition(":")
    try:
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
    except (KeyError, AttributeError):
        return None
    return reference if found is function else None


@dataclass(frozen=True)
class Own(KernelFunction):
    """A function of two blocks of rows, (m, d) and (k, d), that returns their (m, k) values.

    The blocks are arrays, or CSR matrices where the data is sparse.
    """

    name: ClassVar[str] = "own"
    function: OwnFunction

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ConfigError("kernel", self.function, "a function of two blocks of rows")
        if (name := reference_of(self.function)) is not None:
            _registered[name] = self.function

    def _values(self, A: Rows, right: Right) -> np.ndarray:
        found = self.function(matrix(A, right.dtype), matrix(right.rows, right.dtype))
        return np.asarray(found, right.dtype)

    def diagonal(self, A: Rows, numbers: np.ndarray | None = None) -> np.ndarray:
        rows = (A.rows(i, i + 1) for i in range(A.n_rows))
        return np.array([self.block(row, row)[0, 0] for row in rows])

    def to_json(self) -> dict[str, Any]:
        name = reference_of(self.function)
        if name is None:
            raise ModelError(
                f"the kernel function {getattr(self.function, '__qualname__', self.function)!r} "
                "cannot be written to a file: no module has it by name. Define it at the top of a "
                "module that can be imported"
            )
        return {"name": self.name, "function": name}


def registered(name: Any) -> OwnFunction:
    """Return the function of a saved 'module:Name'; a ModelError if it is not registered."""
    if not isinstance(name, str) or name not in _registered:
        raise ModelError(
            f"the model uses the kernel function {name!r}; no code is imported because a file "
            "names it: import it yourself and call distsvm.register_kernel(function) first"
        )
    return _registered[name]
