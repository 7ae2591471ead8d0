"""The one place that chooses numba's options."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit, types

ENGINE = Path(__file__).parent
_folders: set[Path] = set()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function without the interpreter's lock, so that threads are real.

    Compiled code is kept on disk, so that only the first run of a machine compiles.
    """
    _forget_once(function)
    return _for_all_values(njit(cache=True, nogil=True)(function))


def summing_kernel(function: Callable[..., Any]) -> Any:
    """As `kernel`, for sums of finite numbers alone, in the order that is fastest."""
    _forget_once(function)
    fast = {"reassoc", "contract", "nsz"}
    return _for_all_values(njit(cache=True, nogil=True, fastmath=fast)(function))


def inner_kernel(function: Callable[..., Any]) -> Any:
    """As `kernel`, for a function that other kernels alone call; Python is refused.

    What makes arguments of Python objects is a large part of the code to compile, above all where
    an argument is a tuple of many arrays.
    """
    _forget_once(function)
    options = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    dispatcher = _for_all_values(njit(**options)(function))

    def refuse(*args: Any, **kws: Any) -> None:
        raise TypeError(f"{function.__name__} is called by other kernels alone")

    # Not the dispatcher's own, which would let Python find code that has no way in.
    dispatcher.add_overload = lambda compiled: dispatcher.overloads.update(
        {tuple(compiled.signature.args): compiled}
    )
    dispatcher._compile_for_args = refuse
    return dispatcher


def _for_all_values(dispatcher: Any) -> Any:
    """The kernel, compiled once for a type of argument.

    Where another kernel passes 0 or False as it stands, numba compiles once more for that value.
    """
    template = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: template(
        [types.unliteral(arg) for arg in args],
        {name: types.unliteral(arg) for name, arg in kws.items()},
    )
    return dispatcher


def _forget_once(function: Callable[..., Any]) -> None:
    folder = Path(function.__code__.co_filename).parent
    if folder not in _folders:
        _folders.add(folder)
        forget_stale_code(folder, ENGINE)


def forget_stale_code(folder: Path, engine: Path) -> None:
    """Remove a folder's compiled code from disk if the source of a kernel of its own or of the
    engine has changed since it was compiled.

    numba looks only at the file of the function that is called, not at those of the functions that
    this one calls: without this, an edited kernel may go on running as it was. A structure's
    kernels call those of the engine and of their own folder.
    """
    sources = hashlib.blake2b(digest_size=16)
    for path in [*sorted(engine.glob("*.py")), *sorted(folder.glob("*.py"))]:
        sources.update(path.read_bytes())
    cache = folder / "__pycache__"
    stamp = cache / "kernels.digest"
    with suppress(OSError):  # a folder that cannot be written to cannot be edited either
        if not stamp.exists() or stamp.read_text() != sources.hexdigest():
            for path in cache.glob("*.nb[ic]"):
                path.unlink(missing_ok=True)
            cache.mkdir(exist_ok=True)
            stamp.write_text(sources.hexdigest())
