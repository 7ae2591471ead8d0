"""Pictures of trees: with lines in the terminal, and as SVG."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from distsvm.structures.trees.tree import Tree, walk

GAP = 2  # columns between neighbours

_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')

CHAR, LEVEL, MARGIN = 8.5, 46.0, 14.0  # of the SVG, in pixels


def draw_tree(tree: Tree, width: int | None = None) -> str:
    """Return the tree as text: from the top down, or an indented list if that exceeds `width`.

    Lines have no trailing spaces.
    """
    block = _block(tree)
    if width is not None and block.width > width:
        return _indented(tree)
    return "\n".join(line.rstrip() for line in block.lines)


@dataclass
class _Block:
    """A rectangle of the picture: lines of one width, and the column below the parent's line."""

    lines: list[str]
    width: int
    anchor: int


def _block(tree: Tree) -> _Block:
    rows: list[list[_Block]] = [[]]
    for node, leaving in walk(tree):
        if node.is_word:
            rows[-1].append(_word(node))
        elif not leaving:
            rows.append([])
        else:
            children = rows.pop()
            rows[-1].append(_phrase(node.label, children))
    return rows[0][0]


def _word(node: Tree) -> _Block:
    word = node.word or ""
    width = max(_columns(node.label), _columns(word))
    return _Block([_centred(node.label, width), _centred(word, width)], width, (width - 1) // 2)


def _phrase(label: str, children: list[_Block]) -> _Block:
    anchors, column = [], 0
    for child in children:
        anchors.append(column + child.anchor)
        column += child.width + GAP
    width = column - GAP
    height = max(len(child.lines) for child in children)
    lines = [
        (" " * GAP).join(
            child.lines[i] if i < len(child.lines) else " " * child.width for child in children
        )
        for i in range(height)
    ]
    first, last = anchors[0], anchors[-1]
    anchor = (first + last) // 2
    line = [" "] * width
    line[first : last + 1] = "─" * (last - first + 1)
    for place in anchors:
        line[place] = "┬"
    line[first], line[last] = "┌", "┐"
    line[anchor] = "┼" if anchor in anchors else "┴"
    if len(anchors) == 1:
        line[anchor] = "│"
    elif anchor == first:
        line[anchor] = "├"
    # The label is centred over the anchor; a longer label widens the block.
    size = _columns(label)
    start = anchor - (size - 1) // 2
    left, right = max(0, -start), max(0, start + size - width)
    padded = [" " * left + text + " " * right for text in ["".join(line), *lines]]
    width += left + right
    title = " " * (start + left) + label
    title += " " * (width - _columns(title))
    return _Block([title, *padded], width, anchor + left)


def _indented(tree: Tree) -> str:
    lines = []
    stack: list[tuple[Tree, str, str]] = [(tree, "", "")]
    while stack:
        node, before, after = stack.pop()
        lines.append(f"{before}{node.label} {node.word}" if node.is_word else before + node.label)
        last = len(node.children) - 1
        for i in range(last, -1, -1):
            branch, below = ("└─ ", "   ") if i == last else ("├─ ", "│  ")
            stack.append((node.children[i], after + branch, after + below))
    return "\n".join(lines)


def tree_svg(tree: Tree) -> str:
    """Return the tree as an SVG document in the colour of the text around it."""
    depth = deepest = 0
    for node, leaving in walk(tree):
        if not node.is_word:
            depth += -1 if leaving else 1
            deepest = max(deepest, depth)
    bottom = MARGIN + LEVEL * (deepest + 1)
    place = MARGIN
    texts: list[str] = []
    lines: list[str] = []
    points: list[list[tuple[float, float]]] = [[]]
    for node, leaving in walk(tree):
        y = MARGIN + LEVEL * depth
        if node.is_word:
            size = CHAR * max(_columns(node.label), _columns(node.word or ""), 2)
            x = place + size / 2
            place += size + CHAR
            texts += [_text(x, y, node.label, "tag"), _text(x, bottom, node.word or "", "word")]
            lines.append(_line(x, y + 6, x, bottom - 14, "word"))
            points[-1].append((x, y))
        elif not leaving:
            points.append([])
            depth += 1
        else:
            depth -= 1
            y -= LEVEL
            below = points.pop()
            x = (below[0][0] + below[-1][0]) / 2
            texts.append(_text(x, y, node.label, "phrase"))
            lines += [_line(x, y + 6, cx, cy - 14, "branch") for cx, cy in below]
            points[-1].append((x, y))
    width, height = place - CHAR + MARGIN, bottom + MARGIN
    sentence = escape(" ".join(leaf.word or "" for leaf in tree.leaves()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" font-family="sans-serif" '
        f'font-size="14" text-anchor="middle" fill="currentColor">\n<title>{sentence}</title>\n'
        "<style>line{stroke:currentColor;stroke-opacity:.55}.word{font-style:italic}"
        "line.word{stroke-dasharray:2 3;stroke-opacity:.35}.phrase{font-weight:600}</style>\n"
        + "\n".join(lines + texts)
        + "\n</svg>\n"
    )


def trees_svg(trees: Sequence[Tree]) -> str:
    """Return the trees, one below the other, as one SVG document."""
    drawn, height, width = [], 0, 0
    for tree in trees:
        text = tree_svg(tree)
        found = _SIZE.search(text)
        assert found is not None
        drawn.append(text.replace("<svg ", f'<svg y="{height}" ', 1))
        width, height = max(width, int(found[1])), height + int(found[2])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">\n{"".join(drawn)}</svg>\n'
    )


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _line(x: float, y: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _columns(text: str) -> int:
    """Return the number of columns that a text takes in a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _centred(text: str, width: int) -> str:
    left = (width - _columns(text)) // 2
    return " " * left + text + " " * (width - left - _columns(text))
