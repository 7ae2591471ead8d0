"""Low-rank maps from the options of kernel functions and of bases, in Python and in a shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from distsvm.errors import ConfigError
from distsvm.feature_maps.low_rank import LowRank
from distsvm.kernel_functions import kernel_function
from distsvm.kernel_functions.options import KernelOptions
from distsvm.options import Option, declared
from distsvm.wording import Name, message

OF_KERNELS = declared(KernelOptions)
OF_BASES = declared(LowRank)


def options_with_kernel() -> dict[str, Option]:
    """Return all of them for a task without: the kernel function has no default there."""
    options = {**OF_KERNELS, **OF_BASES}
    return {
        name: own if name == "kernel" else replace(own, help=message("with {kernel}: {}", own.help))
        for name, own in options.items()
    }


def check_named(given: Mapping[str, Any]) -> None:
    """Refuse options of a kernel function that is not named."""
    if given.get("kernel") is None:
        for name in [*OF_KERNELS, *OF_BASES]:
            if name != "kernel" and name in given:
                raise ConfigError(message("{} needs {kernel}, the kernel function", Name(name)))


def low_rank_map(given: Mapping[str, Any]) -> LowRank:
    """Return the map of the options among these; those that are absent have their defaults."""
    of_kernel = {name: own for name, own in given.items() if name in OF_KERNELS}
    of_basis = {name: own for name, own in given.items() if name in OF_BASES}
    return LowRank(kernel_function(**of_kernel), **of_basis)


def without_map(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the other options."""
    return {n: own for n, own in given.items() if n not in (*OF_KERNELS, *OF_BASES)}
