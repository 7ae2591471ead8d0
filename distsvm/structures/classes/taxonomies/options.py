"""The options of taxonomies: those of classes, and the files of what classes have in common."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from distsvm.cli.parts import Options
from distsvm.options import declared
from distsvm.structures.classes import options as classes
from distsvm.structures.classes.taxonomies.task import TaxonomyTask

LOSSES = ("zero-one", "tree")
FILES = ("taxonomy", "glosses", "similarities")


def files(given: dict[str, Any]) -> dict[str, Path]:
    named = {name: Path(given[name]) for name in FILES if given.get(name) is not None}
    return classes.files(given, LOSSES) | named


OPTIONS = Options(declared(TaxonomyTask), make=partial(classes.make, words=LOSSES), files=files)
