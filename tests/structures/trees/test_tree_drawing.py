"""Pictures of trees have every node, and stay within the width."""

import xml.etree.ElementTree as ElementTree

from distsvm.structures.trees.drawing import draw_tree, tree_svg, trees_svg
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.tree import Tree

PICTURE = """\
        S
  ┌─────┴──────┐
  NP           VP
┌─┴──┐      ┌──┴──┐
DT   NN    VBD    NP
a   tree  found   │
                 PRP
                 it"""


def test_a_small_picture():
    tree = Tree.parse("(S (NP (DT a) (NN tree)) (VP (VBD found) (NP (PRP it))))")
    assert draw_tree(tree) == PICTURE


def test_wide_trees_become_lists():
    tree = Tree.parse("(S (NP (DT a) (NN tree)) (VP (VBD fell)))")
    assert draw_tree(tree, width=10) == (
        "S\n├─ NP\n│  ├─ DT a\n│  └─ NN tree\n└─ VP\n   └─ VBD fell"
    )


def test_pictures_have_every_node():
    for tree in make_treebank(30):
        text = draw_tree(tree)
        for node in tree.nodes():
            assert node.label in text
            assert (node.word or "") in text
        for text in (draw_tree(tree), draw_tree(tree, width=5)):
            assert all(line == line.rstrip() for line in text.splitlines())


def test_svg_is_well_formed_and_escaped():
    tree = Tree.parse('(S (NP (N <a>&b)) (VP (V é) (N "c")))')
    root = ElementTree.fromstring(tree_svg(tree))
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(texts) == sorted(["S", "NP", "VP", "N", "V", "N", "<a>&b", "é", '"c"'])
    lines = list(root.iter("{http://www.w3.org/2000/svg}line"))
    assert len(lines) == 5 + 3  # branches, and a line to each word
    width = float(root.attrib["width"])
    assert all(0 <= float(line.attrib["x1"]) <= width for line in lines)


def test_many_trees_stand_one_below_the_other():
    trees = make_treebank(3, seed=2)
    root = ElementTree.fromstring(trees_svg(trees))
    parts = list(root)
    heights = [int(part.get("height")) for part in parts]
    assert [int(part.get("y")) for part in parts] == [0, heights[0], sum(heights[:2])]
    assert int(root.get("height")) == sum(heights)
    assert int(root.get("width")) == max(int(part.get("width")) for part in parts)
    assert trees_svg(trees[:1]).count("<title>") == 1
