"""The one place that chooses numba's options."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from numba import njit

# nogil so that threads are real; cached on disk so that only the first run of a machine compiles.
kernel = njit(cache=True, nogil=True)
# For sums of finite numbers alone: the compiler may add them up in the order that is fastest.
summing_kernel = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


def forget_stale_code(folder: Path) -> None:
    """Remove compiled code from disk if any kernel's source has changed since it was compiled.

    numba looks only at the file of the function that is called, not at those of the functions that
    this one calls: without this, an edited kernel may go on running as it was.
    """
    sources = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.glob("*.py")):
        sources.update(path.read_bytes())
    cache = folder / "__pycache__"
    stamp = cache / "kernels.digest"
    with suppress(OSError):  # a folder that cannot be written to cannot be edited either
        if not stamp.exists() or stamp.read_text() != sources.hexdigest():
            for path in cache.glob("*.nb[ic]"):
                path.unlink(missing_ok=True)
            cache.mkdir(exist_ok=True)
            stamp.write_text(sources.hexdigest())


forget_stale_code(Path(__file__).parent)
