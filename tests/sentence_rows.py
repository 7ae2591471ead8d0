"""Shards of sentences as plain lists, for tests of their readers."""

from itertools import pairwise

import numpy as np


def sentences_of(shards):
    """Every sentence as a list of (tag, features as a dict), over all shards."""
    sentences = []
    for shard in shards:
        x, y = shard.x, shard.y
        assert x.tokens.zero_based
        assert x.starts.dtype == np.int64
        values, columns, ends = x.tokens.arrays()
        names = columns if x.names is None else x.names[columns]
        rows = [
            dict(zip(names[a:b].tolist(), values[a:b].tolist(), strict=True))
            for a, b in pairwise(ends)
        ]
        tags = [None] * len(rows)
        if y is not None:
            assert len(y) == shard.n
            assert (y.codes.starts == x.starts).all()
            tags = [str(y.names[code]) for code in y.codes.values]
        for a, b in pairwise(x.starts):
            sentences.append(list(zip(tags[a:b], rows[a:b], strict=True)))
    return sentences


def words_of(shards):
    """Every sentence as a list of (word, tag), if the templates have `word` first."""
    return [
        [(next(iter(row)).removeprefix("word="), tag) for tag, row in sentence]
        for sentence in sentences_of(shards)
    ]
