"""Kernel functions from the arguments of users, and from files."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from distsvm.errors import ConfigError, ModelError, nearest
from distsvm.kernel_functions.function import KernelFunction
from distsvm.kernel_functions.named import FUNCTIONS
from distsvm.kernel_functions.own import Own, registered


def kernel_function(
    kernel: Any, gamma: Any = "scale", degree: Any = 3, coef0: Any = 0.0
) -> KernelFunction:
    """Return the kernel function with these parameters, of which it takes those that it has.

    Parameters
    ----------
    kernel : "rbf", "poly", "linear", "laplacian", "precomputed", a KernelFunction, or a callable
        A callable takes two blocks of rows and returns the block of values.
    gamma : float > 0, "scale", "auto" or "median"
    degree : int ≥ 1
    coef0 : float
    """
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    FUNCTIONS["poly"](**given)  # refuses parameters also where the function has none of them
    if isinstance(kernel, KernelFunction):
        return kernel
    if isinstance(kernel, str):
        if kernel not in FUNCTIONS:
            expected = f"one of {', '.join(FUNCTIONS)}, or a function{nearest(kernel, FUNCTIONS)}"
            raise ConfigError("kernel", kernel, expected)
        cls = FUNCTIONS[kernel]
        return cls(**{own.name: given[own.name] for own in fields(cls)})
    if callable(kernel):
        return Own(kernel)
    raise ConfigError("kernel", kernel, f"one of {', '.join(FUNCTIONS)}, or a function")


def read_function(data: Any) -> KernelFunction:
    """Return the kernel function that `to_json` gave this of; the file may be anyone's."""
    if not isinstance(data, dict):
        raise ModelError(f"the kernel function is {data!r}, expected a name and parameters")
    parameters = dict(data)
    name = parameters.pop("name", None)
    if name == Own.name:
        return Own(registered(parameters.get("function")))
    if not isinstance(name, str) or name not in FUNCTIONS:
        raise ModelError(f"the kernel function has the unknown name {name!r}")
    cls = FUNCTIONS[name]
    if set(parameters) != {own.name for own in fields(cls)}:
        raise ModelError(f"the kernel function {name} has other parameters than expected")
    return cls(**parameters)
