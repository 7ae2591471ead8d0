"""Bracketed treebanks, cut into shards at tree boundaries and parsed by the workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, BinaryIO, ClassVar

import numpy as np

from distsvm.data.files import (
    Paths,
    find_files,
    line_number,
)
from distsvm.data.readers.lines import Part, Starts, cut_files, described, text_bytes
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.readers.sentences import texts
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.kinds import whole
from distsvm.structures.trees import STRUCTURE
from distsvm.structures.trees.tree import Tree, placed_trees, strip
from distsvm.wording import Setting, message

logger = logging.getLogger(__name__)

MIN_BYTES = 1 << 15  # of a shard, unless the number of shards is given


class TreebankData:
    """Trees in bracketed text, such as the Penn Treebank's .mrg files.

    An example is x = ((word, tag), …) and y = Tree.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Of folders the files .mrg, .tree, .trees, .brackets, .ptb, also compressed; compressed
        files are never cut.
    strip_empty : bool, default True
        Remove empty elements (leaves with the tag -NONE-), and phrases of nothing else.
    strip_functions : bool, default True
        Remove function tags and indices of labels: NP-SBJ-1 → NP.
    max_length : int, optional
        Longer sentences are left out and counted (Shard.n_left_out).
    labelled : bool
        False gives sentences alone, for prediction, and all of them: max_length is then refused.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        strip_empty: bool = True,
        strip_functions: bool = True,
        max_length: int | None = None,
        labelled: bool = True,
    ) -> None:
        if max_length is not None and max_length < 1:
            raise ConfigError("max_length", max_length, whole(least=1).expected)
        if max_length is not None and not labelled:
            raise ConfigError(
                message(
                    "{}: every sentence gets a prediction, none can be left out",
                    Setting("max_length", max_length),
                )
            )
        self.paths = find_files(paths, STRUCTURE.formats["treebank"].endings)
        self.strip_empty, self.strip_functions = strip_empty, strip_functions
        self.max_length, self.labelled = max_length, labelled

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def unlabelled(self) -> TreebankData:
        """Return the same sentences without their trees."""
        return TreebankData(
            self.paths, strip_empty=self.strip_empty, strip_functions=self.strip_functions,
            max_length=self.max_length, labelled=False,
        )  # fmt: skip

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[TreebankSpec]:
        """Return how to load each of n_shards shards of about equal bytes; see cut_files.

        A cut is only where a line begins with a bracket after a complete tree.
        """
        options = (self.strip_empty, self.strip_functions, self.max_length, self.labelled)
        runs = cut_files(self.paths, n_shards, _tree_starts, "trees", MIN_BYTES)
        return [TreebankSpec(run, *options) for run in runs]


@dataclass(frozen=True)
class TreebankSpec(TextSpec):
    """The parts of files that make up one shard."""

    parts: tuple[Part, ...]
    strip_empty: bool = True
    strip_functions: bool = True
    max_length: int | None = None
    labelled: bool = True

    in_arrays: ClassVar[bool] = False

    @property
    def growth(self) -> float:
        return 20.0  # a tree is many Python objects

    def starts(self) -> Starts:
        return _tree_starts

    def locate(self, row: int) -> str | None:
        kept = (where for where, sentence, _ in self._trees() if self._is_kept(sentence))
        where = next(islice(kept, row, None), None)
        return None if where is None else where()

    def load(self) -> Shard:
        inputs: list[Any] = []
        outputs: list[Any] = []
        n_left_out = 0
        for _, sentence, tree in self._trees():
            if self._is_kept(sentence):
                inputs.append(sentence)
                outputs.append(tree)
            else:
                n_left_out += 1
        if not inputs and self.max_length is not None:
            raise DataError(
                message(
                    "{}: no sentence of at most {} words ({max_length}); take fewer shards "
                    "({n_shards}), or longer sentences",
                    described(self.parts),
                    self.max_length,
                )
            )
        return Shard(
            inputs, outputs if self.labelled else None, None, source=described(self.parts),
            n_left_out=n_left_out,
        )  # fmt: skip

    def _is_kept(self, sentence: Any) -> bool:
        return self.max_length is None or len(sentence) <= self.max_length

    def _trees(self) -> Iterator[tuple[Callable[[], str], Any, Tree]]:
        """Yield a function that returns file and line, the sentence, and the stripped tree."""
        for part in self.parts:
            # A whole part as text: its trees are much larger.
            first_line = partial(line_number, part.path, part.start)
            text = "".join(text.decode() for _, text in texts(part))
            for place, parsed in placed_trees(text, part.path, first_line):
                where = partial(_where, part, text, place)
                tree = strip(parsed, self.strip_empty, self.strip_functions)
                if tree is None:
                    raise DataError(f"{where()}: the tree has only empty elements: {parsed}")
                yield where, tree.sentence(), tree


def _where(part: Part, text: str, place: int) -> str:
    """Return file and line of a place in the text of a part."""
    line = line_number(part.path, part.start) + text.count("\n", 0, place)
    return f"{part.path}, line {line}"


def _tree_starts(file: BinaryIO, spacing: int, place: int) -> Iterator[int]:
    """Yield `place`, and brackets at the beginning of a line outside all trees; see Starts."""
    yield place
    last = place
    first: int | None = None  # the first bracket; a part before it would have no trees
    offset, depth, before = place, 0, ord("\n")
    while block := file.read(1 << 20):
        text = np.frombuffer(block, dtype=np.uint8)
        opening = text == ord("(")
        if first is None and opening.any():
            first = offset + int(opening.argmax())
        depths = depth + np.cumsum(opening.astype(np.int64) - (text == ord(")")))
        line_begins = np.append(before, text[:-1]) == ord("\n")
        for found in (offset + np.flatnonzero(opening & line_begins & (depths == 1))).tolist():
            if found - last >= spacing and found != first:
                last = found
                yield found
        offset, depth, before = offset + text.size, int(depths[-1]), int(text[-1])
