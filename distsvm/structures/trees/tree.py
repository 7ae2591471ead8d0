"""Constituent trees: the type, their bracketed text, and removal of what parsers ignore."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from distsvm.errors import DataError

TOP = "TOP"
"""The label above the sentence: of an outer bracket without a label, and every start symbol."""
OUTER = {TOP, "ROOT", "S1"}  # labels above the sentence in treebanks
EMPTY_TAG = "-NONE-"
_TOKEN = re.compile(r"[()]|[^\s()]+")
_IGNORED = re.compile(r"(?:#|%|\*x\*|;;)[^\n]*")


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Tree:
    """A node: a phrase with children, or a word under its part-of-speech tag.

    Parameters
    ----------
    label : str
        The phrase's label, or the word's tag; neither blank nor with spaces or brackets.
    children : tuple of Tree
        Empty for a word.
    word : str, or None for a phrase

    Notes
    -----
    `str(tree)` is its bracketed text on one line, which Tree.parse reads. Trees may have any depth:
    no method recurses.
    """

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    def __post_init__(self) -> None:
        if bool(self.children) == (self.word is not None):
            raise DataError(f"the node {self.label!r} must have either children or a word")

    @classmethod
    def parse(cls, text: str) -> Tree:
        """Return the one tree of a text."""
        trees = list(parse_trees(text))
        if len(trees) != 1:
            raise DataError(f"the text has {len(trees)} trees, expected one")
        return trees[0]

    @property
    def is_word(self) -> bool:
        return self.word is not None

    def nodes(self) -> Iterator[Tree]:
        """Yield all nodes, parents before children, left before right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def leaves(self) -> list[Tree]:
        return [node for node in self.nodes() if node.is_word]

    def sentence(self) -> tuple[tuple[str, str], ...]:
        """Return the words with their tags, as a parser takes them: ((word, tag), …)."""
        return tuple((leaf.word or "", leaf.label) for leaf in self.leaves())

    def spans(self) -> list[tuple[str, int, int]]:
        """Return (label, start, stop) of every phrase, children before parents."""
        found: list[tuple[str, int, int]] = []
        starts: list[int] = []
        place = 0
        for node, leaving in walk(self):
            if node.is_word:
                place += 1
            elif leaving:
                found.append((node.label, starts.pop(), place))
            else:
                starts.append(place)
        return found

    def __str__(self) -> str:
        parts: list[str] = []
        for node, leaving in walk(self):
            if node.is_word:
                parts.append(f" ({node.label} {node.word})")
            else:
                parts.append(")" if leaving else f" ({node.label}")
        return "".join(parts)[1:]

    def __repr__(self) -> str:
        return f"Tree.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Tree.parse, (str(self),))  # compact; pickle's default recurses


def strip(tree: Tree, empty: bool = True, functions: bool = True) -> Tree | None:
    """Return the tree without empty elements and function tags; None if no words are left.

    `empty` removes leaves with the tag -NONE-, and phrases that lose all children. `functions`
    removes the function tags of labels. TOP, ROOT or S1 above one phrase is always removed; other
    unary chains stay.
    """

    def rebuilt(node: Tree, children: list[Tree | None]) -> Tree | None:
        label = strip_function(node.label) if functions else node.label
        if node.is_word:
            return None if empty and label == EMPTY_TAG else Tree(label, word=node.word)
        kept = tuple(child for child in children if child is not None)
        return Tree(label, kept) if kept else None

    above: list[list[Tree | None]] = [[]]
    for node, leaving in walk(tree):
        if node.is_word:
            above[-1].append(rebuilt(node, []))
        elif leaving:
            children = above.pop()
            above[-1].append(rebuilt(node, children))
        else:
            above.append([])
    whole = above[0][0]
    if whole is not None and whole.label in OUTER and len(whole.children) == 1:
        inner = whole.children[0]
        return whole if inner.is_word else inner
    return whole


def strip_function(label: str) -> str:
    """Return NP for NP-SBJ-1 and NP=2; labels that begin with a dash, as -LRB-, stay."""
    if label[0] in "-=":
        return label
    return re.split(r"[-=]", label, maxsplit=1)[0]


def parse_trees(text: str) -> Iterator[Tree]:
    """Yield the trees of a bracketed text, in order; see placed_trees."""
    return (tree for _, tree in placed_trees(text))


def placed_trees(
    text: str, source: str = "text", first_line: Callable[[], int] = lambda: 1
) -> Iterator[tuple[int, Tree]]:
    """Yield the trees of a bracketed text, in order, each after the place where it begins.

    An outer bracket without a label, as in Penn's files, is removed if it has one tree, and is
    labelled TOP otherwise. Between trees, blank lines and lines that begin with #, %, ;; or *x* are
    skipped. Other text there, unbalanced or empty brackets, and words beside brackets are refused
    with source, line and column; only then `first_line` gives the number of the text's first line.
    """

    def error(place: int, message: str) -> DataError:
        line = text.count("\n", 0, place)
        column = place - text.rfind("\n", 0, place)
        return DataError(f"{source}, line {first_line() + line}, column {column}: {message}")

    open_nodes: list[_OpenNode] = []
    place = 0
    while match := _TOKEN.search(text, place):
        token, place = match[0], match.end()
        if token == "(":
            open_nodes.append(_OpenNode(match.start()))
        elif not open_nodes:
            comment = _IGNORED.match(text, match.start())
            if comment and not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip():
                place = comment.end()
                continue
            found = "a closing bracket without its opening one" if token == ")" else repr(token)
            raise error(match.start(), f"found {found} outside of all trees")
        elif token == ")":
            node = open_nodes.pop()
            if node.word is not None and node.children:
                raise error(node.place, f"the word {node.word!r} stands beside brackets")
            if node.word is None and not node.children:
                raise error(node.place, "an empty tree: a bracket without children or a word")
            if open_nodes:
                if not node.label:
                    raise error(node.place, "a bracket without a label inside of a tree")
                open_nodes[-1].children.append(node.close())
            elif node.label or len(node.children) > 1:
                yield node.place, node.close()
            else:
                yield node.place, node.children[0]
        else:
            _add_token(open_nodes[-1], token, error, match.start())
    if open_nodes:
        raise error(open_nodes[0].place, "this bracket is never closed")


@dataclass(slots=True)
class _OpenNode:
    """A node whose closing bracket is not read yet."""

    place: int
    label: str = ""
    word: str | None = None
    children: list[Tree] = field(default_factory=list)

    def close(self) -> Tree:
        return Tree(self.label or TOP, tuple(self.children), self.word)


def _add_token(
    node: _OpenNode, token: str, error: Callable[[int, str], DataError], place: int
) -> None:
    if node.children:
        raise error(place, f"the word {token!r} stands beside brackets")
    if not node.label:
        node.label = token
    elif node.word is None:
        node.word = token
    else:
        raise error(place, f"{token!r} is a second word in one bracket, expected one")


def walk(tree: Tree) -> Iterator[tuple[Tree, bool]]:
    """Yield each phrase twice, before (False) and after (True) its children; each word once."""
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    while stack:
        node, leaving = stack.pop()
        yield node, leaving
        if not leaving and not node.is_word:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
