"""Blocks of lines read at once hold what the lines hold one by one, and the same is refused."""

import random

import pytest

from distsvm.data.readers import lines
from distsvm.errors import DataError
from distsvm.structures.sequences.readers import column_lines
from distsvm.structures.sequences.readers.column_blocks import read_block
from distsvm.structures.sequences.readers.conll import ConllData
from distsvm.structures.sequences.readers.conllu import ConlluData

WORDS = ["a", "b", "ab", "é漢", "😀", "#", "1", "-DOC", "it's", " x", "\u00a0"]
BAD = ["", "\t\t", " ", "-DOCSTART- -X-", "1\ta", "é\t" * 12, "x-1\ta" + "\tb" * 8]


def conllu(draw):
    """A sentence, now and then with a line that is no word, or without any word."""
    rows = ["# text"] * draw.randint(0, 2)
    for number in range(draw.choice([0, 1, 1, 2, 3, 9])):
        if draw.random() < 0.2:
            rows.append(f"{number}{draw.choice('-.')}3\t" + "\t".join(draw.choices(WORDS, k=9)))
        rows.append(f"{number}\t" + "\t".join(draw.choices(WORDS, k=9)))
    return rows


def columns(draw):
    return ["\t".join(draw.choices(WORDS, k=3)) for _ in range(draw.choice([0, 1, 2, 5]))]


def found_in(path, make, n_shards):
    """All that the shards hold, or the error."""
    try:
        found = []
        for spec in make(path).specs(n_shards):
            shard = spec.load()
            found.append([
                *(array.tolist() for array in shard.x.tokens.arrays()), shard.x.starts.tolist(),
                shard.x.names.tolist(), shard.y.codes.values.tolist(), shard.y.names.tolist(),
                spec.words(),
            ])  # fmt: skip
        return found
    except DataError as error:
        return str(error)


READERS = {
    "conllu": (conllu, lambda path: ConlluData(path, templates="word; column(2)[-1]; shape")),
    "tabs": (columns, lambda path: ConllData(path, separator="\t", templates="word; suffix(1)")),
    "comments": (
        columns,
        lambda path: ConllData(path, separator="\t", comment="#", templates="word", tag=1),
    ),
}


@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("reader", READERS)
def test_blocks_and_lines_give_the_same(reader, bad, tmp_path, monkeypatch):
    written, make = READERS[reader]
    path, taken, n_good = tmp_path / "a.txt", [], 0

    def watched(*given):
        taken.append(read_block(*given) is not None)
        return read_block(*given)

    for seed in range(40):
        draw = random.Random(seed)
        rows = [row for _ in range(draw.randint(1, 9)) for row in (*written(draw), "")]
        rows = rows or [""]
        if bad:
            rows.insert(draw.randrange(len(rows)), draw.choice(BAD))
        end = draw.choice(["\n", "\n", "\r\n"])
        path.write_bytes((end.join(rows) + draw.choice(["", end])).encode())
        with monkeypatch.context() as patch:
            patch.setattr(lines, "BLOCK_BYTES", draw.choice([1, 200, 1 << 20]))
            patch.setattr(column_lines, "read_block", watched)
            at_once = found_in(path, make, 1 + seed % 2)
        with monkeypatch.context() as patch:
            patch.setattr(column_lines, "read_block", lambda *_: None)
            assert at_once == found_in(path, make, 1 + seed % 2)
        n_good += not isinstance(at_once, str)
    assert n_good > 5
    assert sum(taken) > 20
