"""Trees: brackets are read, written and stripped, and what is wrong is named by its place."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.errors import DataError
from distsvm.structures.trees.tree import Tree, parse_trees, placed_trees, strip, strip_function

names = st.text("ABXY-=$'.#é", min_size=1, max_size=4)
leaves = st.builds(lambda tag, word: Tree(tag, word=word), names, names)
trees = st.recursive(
    leaves,
    lambda inner: st.builds(Tree, names, st.lists(inner, min_size=1, max_size=4).map(tuple)),
)


@given(trees)
def test_trees_come_back_exactly_from_text(tree):
    assert Tree.parse(str(tree)) == tree
    assert Tree.parse(f"( {tree} )") == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert hash(Tree.parse(str(tree))) == hash(tree)
    assert str(Tree.parse(str(tree).replace(" (", "\n\t ("))) == str(tree)


@given(st.lists(trees, max_size=4))
def test_many_trees_with_comments_and_blank_lines(several):
    text = "*x*x*\n# a comment (with brackets\n\n" + "\n\n%%\n".join(f"( {t} )" for t in several)
    assert list(parse_trees(text)) == several


@given(trees)
def test_spans_and_leaves_agree(tree):
    for label, start, stop in tree.spans():
        assert 0 <= start < stop <= len(tree.leaves())
        assert label
    assert len(tree.spans()) + len(tree.leaves()) == len(list(tree.nodes()))


def test_penn_trees_are_stripped():
    text = """
    ( (S (NP-SBJ-1 (-NONE- *) ) (VP (VBD said) (SBAR (-NONE- 0) (S=2 (NP (-NONE- *T*-1))
      (VP (-LRB- -LRB-) (NP|X (NN-HD x)))))) (. .)) )
    """
    assert str(strip(Tree.parse(text))) == (
        "(S (VP (VBD said) (SBAR (S (VP (-LRB- -LRB-) (NP|X (NN x)))))) (. .))"
    )
    assert strip(Tree.parse("(NP (-NONE- *))")) is None
    assert str(strip(Tree.parse("(ROOT (S (N a) (V b)))"))) == "(S (N a) (V b))"
    assert str(strip(Tree.parse("(TOP (N a))"))) == "(TOP (N a))"
    kept = "(S (NP-SBJ (-NONE- *)) (V b))"
    assert str(strip(Tree.parse(f"(ROOT {kept})"), empty=False, functions=False)) == kept


def test_function_tags():
    given = ["NP-SBJ", "NP=2", "NP-TMP-3", "-LRB-", "-NONE-", "PRP$", "=", "WHNP-1=2"]
    kept = ["NP", "NP", "NP", "-LRB-", "-NONE-", "PRP$", "=", "WHNP"]
    assert [strip_function(label) for label in given] == kept


def test_an_outer_bracket_with_several_trees_is_top():
    assert str(Tree.parse("( (S (N a)) (. .) )")) == "(TOP (S (N a)) (. .))"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("(S (N a)\n", "line 1, column 1", "never closed"),
        ("(S (N a))\n (S (N a)", "line 2, column 2", "never closed"),
        ("(S (N a)))", "line 1, column 10", "without its opening"),
        ("(S (N a))\nword", "line 2, column 1", "'word' outside"),
        ("(S (N a)) # no comment", "line 1, column 11", "'#' outside"),
        ("\n  ()", "line 2, column 3", "empty tree"),
        ("(S (NP) (N a))", "line 1, column 4", "empty tree"),
        ("(S (N a) b)", "line 1, column 10", "'b' stands beside"),
        ("(S b (N a))", "line 1, column 1", "'b' stands beside"),
        ("(N a b)", "line 1, column 6", "second word"),
        ("(S ((N a)))", "line 1, column 4", "without a label"),
    ],
)
def test_bad_brackets_are_named_by_line_and_column(text, place, message):
    with pytest.raises(DataError, match=message) as error:
        list(placed_trees(text, "some.mrg"))
    assert f"some.mrg, {place}:" in str(error.value)


def test_a_node_has_children_or_a_word():
    for children, word in [((), None), ((Tree("N", word="a"),), "b")]:
        with pytest.raises(DataError, match="either"):
            Tree("S", children, word)
    with pytest.raises(DataError, match="2 trees"):
        Tree.parse("(N a) (N b)")
