"""The one place that chooses numba's options."""

from __future__ import annotations

from numba import njit

# nogil so that threads are real; cached on disk so that only the first run of a machine compiles.
kernel = njit(cache=True, nogil=True)
