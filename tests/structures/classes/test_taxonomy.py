"""A taxonomy is the tree that its paths, parents or nested names say; others are refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm import Taxonomy
from distsvm.errors import DataError
from distsvm.structures.classes.kernels.losses import common_nodes
from distsvm.structures.classes.taxonomies.files import (
    read_glosses,
    read_similarities,
    read_taxonomy,
)

NESTED = {"comp": {"graphics": None, "sys": ["ibm", "mac"]}, "misc": {}, "rec": ["autos"]}
PATHS = ["", "comp", "comp/graphics", "comp/sys", "comp/sys/ibm", "comp/sys/mac", "misc", "rec",
         "rec/autos"]  # fmt: skip
PARENTS = [("mac", "sys"), ("graphics", "comp"), ("sys", "comp"), ("comp", "top"), ("misc", "top"),
           ("ibm", "sys"), ("autos", "rec"), ("rec", "top")]  # fmt: skip


def drawn_tree(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    pairs = [(f"n{node}", f"n{rng.integers(node)}") for node in range(1, n)]
    return Taxonomy.of_parents([pairs[i] for i in rng.permutation(len(pairs))])


def ways(tree):
    """The nodes at or above each node, by walking."""
    found = []
    for node in range(tree.size):
        way = [node]
        while way[-1]:
            way.append(int(tree.parents[way[-1]]))
        found.append(way)
    return found


@pytest.mark.parametrize("with_root", [False, True])
def test_all_forms_of_a_taxonomy_make_the_same_tree(tmp_path, with_root):
    rows = [f"{a}\t{b}" for a, b in PARENTS] + (["top"] if with_root else [])
    (tmp_path / "tree.tsv").write_text("# a comment\n" + "\n".join(rows) + "\n\n")
    (tmp_path / "tree.csv").write_text("\n".join(row.replace("\t", ", ") for row in rows))
    (tmp_path / "tree.json").write_text(json.dumps(NESTED))
    trees = [
        Taxonomy.of_nested(NESTED), Taxonomy.of_parents(PARENTS),
        Taxonomy.of_paths(path.split("/") for path in PATHS[:0:-1]),
        *(read_taxonomy(str(tmp_path / f"tree.{end}")) for end in ("tsv", "csv", "json")),
    ]  # fmt: skip
    for tree in trees:
        tree.check()
        assert tree.paths == PATHS
        assert tree.depth.tolist() == [0, 1, 2, 2, 3, 3, 1, 1, 2]
        assert tree.height.tolist() == [3, 2, 0, 1, 0, 0, 0, 1, 0]
        assert [tree.paths[leaf] for leaf in tree.leaves] == [
            "comp/graphics", "comp/sys/ibm", "comp/sys/mac", "misc", "rec/autos",
        ]  # fmt: skip


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_depth_height_ranges_and_common_nodes_are_those_of_walks(seed):
    tree = drawn_tree(seed)
    tree.check()
    above = ways(tree)
    for node in range(tree.size):
        below = [z for z in range(tree.size) if node in above[z]]
        assert below == list(range(node, tree.end[node]))
        assert tree.height[node] == max(above[z].index(node) for z in below)
        assert tree.depth[node] == len(above[node]) - 1
        assert tree.ancestors(node) == above[node][-2::-1]
        assert node == 0 or tree.find(tree.label(node)) == tree.find(tree.paths[node]) == node
    pairs = np.indices((tree.size, tree.size), dtype=np.int32).reshape(2, -1)
    met = np.empty(pairs.shape[1], np.int32)
    common_nodes(tree.parents, *pairs, met)
    walked = [max(set(above[a]) & set(above[b])) for a, b in pairs.T]
    assert met.tolist() == walked


def test_a_name_that_several_nodes_have_needs_its_path():
    tree = Taxonomy.of_nested({"a": ["x", "y"], "b": ["x"]})
    assert tree.find("y") == tree.find("a/y")
    assert tree.find("z") is None
    assert tree.label(tree.find("b/x")) == "b/x"
    with pytest.raises(DataError, match="'x' is the name of several nodes, 'a/x' and 'b/x'"):
        tree.find("x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nb\tc\nc\ta\n", r"line \d: node '[abc]' is below itself: a cycle"),
        ("a\ttop\nb\tc\nc\tb\n", r"line [23]: node '[bc]' is below itself: a cycle"),
        ("a\tb\nc\td\n", "line 2: several roots, 'b' and 'd'"),
        ("a\tb\na\tc\n", "line 2: node 'a' has two parents"),
        ("a\tb\tc\n", "line 1: .* expected a node and its parent"),
        ("\tb\n", "line 1: .* expected a node and its parent"),
        ("# nothing\n", "the file has no nodes"),
        ("top\n", "no nodes below its root"),
    ],
)
def test_lists_of_parents_that_are_no_tree_are_refused(tmp_path, text, message):
    path = tmp_path / "tree.tsv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_taxonomy(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 3}', "below a is 3, expected an object or a list"),
        ('{"a": ["x", "x"]}', "two nodes of the same name below a"),
        ('{"a": [], "a": []}', "two nodes of the same name, 'a'"),
        ('{"a": [["x"]]}', "has no text as name"),
        ("{}", "no nodes below its root"),
        ('{"a":\n', r"tree.json, line 2"),
        ("[" * 100_000, "too deep"),
    ],
)
def test_nested_names_that_are_no_tree_are_refused(tmp_path, text, message):
    path = tmp_path / "tree.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_taxonomy(str(path))


@pytest.mark.parametrize("parents", [[-1, 0, 3, 1], [0, 0, 1, 1], [-1, 1, 0, 0], [-1, 0, 0, 1]])
def test_arrays_that_are_no_walk_through_a_tree_are_refused(parents):
    tree = Taxonomy(np.array(["", "a", "b", "c"]), np.array(parents, np.int32))
    with pytest.raises(ValueError, match="tree"):
        tree.check()


def test_files_of_glosses_and_similarities_are_read_and_checked(tmp_path):
    path = tmp_path / "texts.tsv"
    path.write_text("a\tone two\nb\tthree\n")
    assert read_glosses(str(path)) == {"a": "one two", "b": "three"}
    for text, message in (("a\n", "line 1"), ("a\tx\n\na\ty\n", "line 3: a second gloss")):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_glosses(str(path))
    path.write_text("b\ta\nb\t1\t0.5\na\t0.5\t1\n")
    names, matrix = read_similarities(str(path))
    assert (names, matrix.tolist()) == (["b", "a"], [[1, 0.5], [0.5, 1]])
    wrong = {
        "a,b\n1,2\n1\n": "line 3: 1 numbers, expected 2",
        "a,b\n1,x\n": "line 2: could not convert",
        "a,b\n1,0\n": "1 rows of numbers",
        "a,b\nb,1,0\na,0,1": "line 2: the row of 'b', expected 'a'",
    }
    for text, message in wrong.items():
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_similarities(str(path))
    with pytest.raises(DataError, match="cannot be read"):
        read_taxonomy(str(tmp_path / "none"))
