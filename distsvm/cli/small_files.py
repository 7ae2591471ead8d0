"""Text files that options name. They are read whole, so their size is limited."""

from __future__ import annotations

from pathlib import Path

LARGEST = 1 << 26


def read_text(path: str, largest: int = LARGEST) -> str:
    """Return the text of a file; an OSError for a pipe, a device, or more than `largest` bytes."""
    from distsvm.storage import opened_file, read_whole  # loads NumPy, which help does not need

    with opened_file(Path(path)) as file:
        content = read_whole(file, largest)
    if content is None:
        raise OSError(f"it is larger than {largest} bytes")
    return content.decode("utf-8")
