"""Files of text that options name: read whole, so that they must have an end, and a near one."""

from __future__ import annotations

from pathlib import Path

LARGEST = 1 << 26


def read_text(path: str, largest: int = LARGEST) -> str:
    """The text of a file; an OSError for a pipe, a device, or more bytes than the largest."""
    from distsvm.storage import (  # here, as it loads NumPy, which help does not need
        opened_file,
        read_whole,
    )

    with opened_file(Path(path)) as file:
        content = read_whole(file, largest)
    if content is None:
        raise OSError(f"it is larger than {largest} bytes")
    return content.decode("utf-8")
