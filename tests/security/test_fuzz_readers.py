"""Readers of text meet made-up files: they give examples or a DataError, and nothing else."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutation import fuzz, mutated

from distsvm.data import open_data, open_inputs
from distsvm.errors import DataError, DistSVMError
from distsvm.structures.trees.tree import Tree, parse_trees, strip

SEEDS = {
    "svmlight": b"1 1:0.5 3:-2e-3 # a comment\n-1 qid:3 2:1\n\n2.5 1:1 2:2 700:3\n",
    "conll": b"-DOCSTART- -X- O\n\nWe PRP B-NP\nsaw VBD B-VP\nit PRP B-NP\n\nNo DT O\n",
    "conllu": (
        b"# text = We saw\n1\tWe\twe\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n"
        b"1-2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n2\tsaw\tsee\tVERB\tVBD\t_\t0\troot\t_\t_\n"
        b"2.1\ty\t_\t_\t_\t_\t_\t_\t_\t_\n\n1\tNo\tno\tDET\tDT\t_\t0\troot\t_\t_\n"
    ),
    "svmhmm": b"NN qid:1 1:1 5:0.5\nVB qid:1 2:1\nNN qid:2 1:1 # x\n\n3 qid:2 9:2\n",
    "treebank": (
        b"( (S (NP-SBJ (PRP We)) (VP (VBD saw) (NP (-NONE- *)) (NP (DT the) (NN cat)))) )\n"
        b"# a comment\n(S (NP (DT No)) (VP (VB go)))\n"
    ),
}


@pytest.mark.parametrize("kind", SEEDS)
@pytest.mark.parametrize("labelled", [True, False], ids=["labelled", "inputs"])
def test_made_up_text_gives_examples_or_a_data_error(kind, labelled, tmp_path):
    path = tmp_path / "data.txt"

    def attempt(rng: random.Random) -> None:
        path.write_bytes(mutated(SEEDS[kind] * rng.choice([1, 1, 3]), rng))
        opened = open_data if labelled else open_inputs
        specs = opened(str(path), format=kind).specs(rng.choice([None, 1, 2, 5]))
        for spec in specs:
            shard = spec.load()
            assert shard.n >= 0

    fuzz(attempt, DataError)


def test_made_up_gzip_gives_examples_or_a_data_error(tmp_path):
    import gzip

    path = tmp_path / "data.svm.gz"
    packed = gzip.compress(SEEDS["svmlight"] * 20)

    def attempt(rng: random.Random) -> None:
        path.write_bytes(mutated(packed, rng))
        for spec in open_data(str(path)).specs():
            spec.load()

    fuzz(attempt, DataError)


def test_a_damaged_table_gives_rows_or_a_data_error(tmp_path):
    pytest.importorskip("pyarrow")
    from distsvm.data.writers import write_parquet

    path = tmp_path / "data.parquet"
    write_parquet(str(path), np.eye(4), np.array([0, 1, 0, 1]))
    seed = path.read_bytes()

    def attempt(rng: random.Random) -> None:
        path.write_bytes(mutated(seed, rng))
        for spec in open_data(str(path)).specs():
            spec.load()

    fuzz(attempt, DistSVMError)


@given(st.text(alphabet="() \nab'-%#;*0", max_size=60))
def test_any_brackets_are_trees_or_a_data_error(text):
    try:
        trees = list(parse_trees(text))
    except DataError:
        return
    for tree in trees:
        assert Tree.parse(str(tree)) == tree or tree.label == "TOP"
        strip(tree)


def test_trees_of_any_depth_can_be_read_and_let_go():
    depth = 200_000
    tree = Tree.parse("(X " * depth + "(A b)" + ")" * depth)
    assert len(tree.leaves()) == 1
    assert strip(tree) is not None
