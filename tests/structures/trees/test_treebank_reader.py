"""Treebanks are cut at trees only: every tree is in one shard, in order."""

import gzip
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm.errors import ConfigError, DataError
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.treebank import TreebankData


def loaded(data, n_shards):
    shards = [pickle.loads(pickle.dumps(spec)).load() for spec in data.specs(n_shards)]
    assert all(shard.n == len(shard.y) for shard in shards)
    return [shard.y for shard in shards]


def joined(data, n_shards):
    return [tree for part in loaded(data, n_shards) for tree in part]


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 100), st.booleans())
def test_shards_hold_every_tree_once_in_order(tmp_path_factory, n, n_shards, seed, spread):
    trees = make_treebank(n, seed=seed)
    path = tmp_path_factory.mktemp("trees") / "some.mrg"
    write_treebank(path, trees)
    if spread:  # one tree over many lines, some of which begin with a bracket
        path.write_text("# head\n" + path.read_text().replace(" (NP", "\n(NP"))
    parts = loaded(TreebankData(path), n_shards)
    assert [tree for part in parts for tree in part] == trees
    assert len(parts) == min(n, n_shards)
    assert all(parts)


def test_parts_are_balanced_by_bytes(tmp_path):
    for number in range(5):
        write_treebank(tmp_path / f"{number}.mrg", make_treebank(40 + 60 * number, seed=number))
    data = TreebankData(tmp_path)
    sizes = [sum(part.n_bytes for part in spec.parts) for spec in data.specs(4)]
    assert max(sizes) < 1.25 * min(sizes)
    assert sum(sizes) == data.n_bytes


def test_folders_packed_files_and_patterns(tmp_path):
    trees = make_treebank(30)
    write_treebank(tmp_path / "a.tree", trees[:10])
    (tmp_path / "b.brackets.gz").write_bytes(
        gzip.compress("".join(f"{tree}\n" for tree in trees[10:]).encode())
    )
    (tmp_path / "README").write_text("not a tree")
    assert joined(TreebankData(tmp_path), 2) == trees
    assert joined(TreebankData(str(tmp_path / "*.tree")), 1) == trees[:10]
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "README").write_text("not a tree")
    with pytest.raises(DataError, match=r"no \.mrg"):
        TreebankData(tmp_path / "only")


def test_stripping_lengths_and_inputs_alone(tmp_path):
    path = tmp_path / "t.mrg"
    path.write_text("( (S (NP-SBJ (N dogs) (-NONE- *)) (V run)) )\n( (S (N a) (N b) (V c)) )\n")
    (shard,) = [spec.load() for spec in TreebankData(path).specs(1)]
    assert shard.y[0] == Tree.parse("(S (NP (N dogs)) (V run))")
    assert shard.x[0] == (("dogs", "N"), ("run", "V"))
    (full,) = [spec.load() for spec in TreebankData(path, strip_empty=False).specs(1)]
    assert full.y[0] == Tree.parse("(S (NP (N dogs) (-NONE- *)) (V run))")
    (named,) = [spec.load() for spec in TreebankData(path, strip_functions=False).specs(1)]
    assert named.y[0] == Tree.parse("(S (NP-SBJ (N dogs)) (V run))")
    raw = TreebankData(path, strip_empty=False, strip_functions=False)
    (same,) = [spec.load() for spec in raw.unlabelled().specs(1)]
    assert same.x[0] == (("dogs", "N"), ("*", "-NONE-"), ("run", "V"))
    (short,) = [spec.load() for spec in TreebankData(path, max_length=2).specs(1)]
    assert short.n == 1
    with pytest.raises(DataError, match=r"t\.mrg.*no sentence of at most 1 words.*n_shards"):
        TreebankData(path, max_length=1).specs(1)[0].load()
    (alone,) = [spec.load() for spec in TreebankData(path).unlabelled().specs(1)]
    assert alone.y is None
    assert alone.x == shard.x


def test_errors_name_file_line_and_column_in_any_part(tmp_path):
    path = tmp_path / "bad.mrg"
    lines = [f"( {tree} )" for tree in make_treebank(60)]
    lines[47] = lines[47] + ")"
    path.write_text("\n".join(lines) + "\n")
    column = len(lines[47])
    with pytest.raises(DataError, match=rf"bad\.mrg, line 48, column {column}: .*opening"):
        loaded(TreebankData(path), 4)
    path.write_text("( (S (-NONE- *)) )\n")
    with pytest.raises(DataError, match="only empty elements"):
        loaded(TreebankData(path), 1)
    path.write_bytes(b"( (S (N \xff)) )\n")
    with pytest.raises(DataError, match=r"bad.mrg, line 1: found the byte 0xff, expected UTF-8"):
        loaded(TreebankData(path), 1)
    with pytest.raises(ConfigError, match="max_length"):
        TreebankData(path, max_length=0)
    with pytest.raises(ConfigError, match="n_shards"):
        TreebankData(path).specs(0)
