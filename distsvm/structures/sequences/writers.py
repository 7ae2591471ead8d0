"""Writing sentences as files that the readers give back exactly."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from distsvm.data.writers import opened_for_writing
from distsvm.errors import DataError


def write_conll(
    path: str | os.PathLike[str], sentences: Iterable[tuple[Sequence[str], Sequence[str] | None]]
) -> None:
    """Write sentences as CoNLL columns, word and tag with a tab between them, blank lines between.

    Parameters
    ----------
    path : path
        Compressed if the name ends in .gz.
    sentences : pairs (words, tags)
        Words alone are written where tags is None.
    """
    with opened_for_writing(path) as out:
        for i, (words, tags) in enumerate(sentences):
            if tags is not None and len(tags) != len(words):
                raise DataError(f"sentence {i}: {len(tags)} tags for {len(words)} words")
            if not words:
                raise DataError(f"sentence {i} has no words")
            for text in (*words, *(tags or ())):
                if len(text.encode().split()) != 1 or text.encode().split()[0] != text.encode():
                    raise DataError(f"sentence {i}: {text!r} is empty or has blanks in it")
            columns = [words] if tags is None else [words, tags]
            rows = ["\t".join(row) + "\n" for row in zip(*columns, strict=True)]
            out.write(("".join(rows) + "\n").encode())
