"""Small problems for `distsvm warm-up` that together use every kernel of taxonomies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from distsvm.structures.classes.taxonomies.synthetic import make_taxonomy_data
from distsvm.structures.classes.taxonomies.task import TaxonomyTask

N = 12  # examples: compilation depends on types, not on sizes


def problems(
    name: str, folder: Path
) -> Iterator[tuple[TaxonomyTask, Any, tuple[dict[str, Any], ...] | None]]:
    X, y = make_taxonomy_data(N, 4, (2, 2))
    rows = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    for table in (X, X.astype(np.float32), rows):
        yield TaxonomyTask(), (table, y), None
        yield TaxonomyTask(losses="tree", class_features="flat"), (table, y), None
