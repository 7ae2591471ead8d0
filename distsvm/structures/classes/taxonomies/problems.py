"""A small problem for `distsvm warm-up` that uses every kernel of taxonomies alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distsvm.structures.classes.taxonomies.synthetic import make_taxonomy_data
from distsvm.structures.classes.taxonomies.task import TaxonomyTask

N = 12  # examples: compilation depends on types, not on sizes


def problems(
    name: str, folder: Path
) -> Iterator[tuple[TaxonomyTask, Any, tuple[dict[str, Any], ...] | None]]:
    # The kernels of classes, which have problems of their own, are the same ones with other codes.
    yield TaxonomyTask(losses="tree"), make_taxonomy_data(N, 4, (2, 2)), None
