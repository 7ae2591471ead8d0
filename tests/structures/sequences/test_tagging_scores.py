"""Scores of tags against counts by hand, as conlleval makes them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.data.ragged import Ragged
from distsvm.errors import DataError
from distsvm.structures.sequences.rows import TagRows
from distsvm.structures.sequences.tag_scores import EntityCounts, TagScores, is_bio, score_tags


def score(gold, predicted):
    return score_tags([g.split() for g in gold], [p.split() for p in predicted])


def test_an_example_counted_by_hand():
    scores = score(
        ["B-PER I-PER O B-LOC O", "O B-ORG I-ORG I-ORG", "B-LOC B-LOC"],
        ["B-PER I-PER O B-ORG O", "O B-ORG I-ORG O", "B-LOC B-LOC"],
    )
    assert (scores.n_sequences, scores.n_exact) == (3, 1)
    assert (scores.n_tokens, scores.n_correct) == (11, 9)
    assert scores.by_type == {
        "PER": EntityCounts(1, 1, 1),
        "LOC": EntityCounts(3, 2, 2),
        "ORG": EntityCounts(1, 2, 0),
    }
    assert scores.entities == EntityCounts(5, 5, 3)
    assert scores.accuracy == 9 / 11
    assert scores.exact == 1 / 3
    assert scores.entities.precision == scores.entities.recall == scores.entities.f1 == 0.6
    assert scores.by_type["ORG"].f1 == 0.0
    assert scores.by_type["LOC"].f1 == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        ("I-A I-A O I-A", [(0, 1, "A"), (3, 3, "A")]),
        ("I-A B-A I-A", [(0, 0, "A"), (1, 2, "A")]),
        ("B-A I-B I-B", [(0, 0, "A"), (1, 2, "B")]),
        ("B-A B-A", [(0, 0, "A"), (1, 1, "A")]),
        ("O I-A I-B O", [(1, 1, "A"), (2, 2, "B")]),
        ("B I O B", [(0, 1, ""), (3, 3, "")]),
        ("B-a-b I-a-b I-a-c", [(0, 1, "a-b"), (2, 2, "a-c")]),
        ("S-A S-A B-A E-A I-A O", [(0, 0, "A"), (1, 1, "A"), (2, 3, "A"), (4, 4, "A")]),
        ("B-A E-A E-A", [(0, 1, "A"), (2, 2, "A")]),
    ],
)
def test_entities_begin_and_end_as_in_conlleval(tags, entities):
    # Against predictions that mark these entities one by one in clear BIO.
    clear = ["O"] * len(tags.split())
    for first, last, type_ in entities:
        tail = f"-{type_}" if type_ else ""
        clear[first : last + 1] = ["B" + tail] + ["I" + tail] * (last - first)
    counts = score([tags], [" ".join(clear)]).entities
    assert counts == EntityCounts(len(entities), len(entities), len(entities))


def test_entities_end_with_their_sentence():
    counts = score(["B-A I-A", "I-A O"], ["B-A I-A", "B-A O"]).entities
    assert counts == EntityCounts(2, 2, 2)
    assert score(["O B-A", "O"], ["O B-A", "I-A"]).entities == EntityCounts(1, 2, 1)


def test_a_match_needs_both_ends_and_the_type():
    for guess in ("O B-A I-A I-A", "B-A I-A I-A O", "O B-B I-B O", "O B-A O O", "O B-A B-A O"):
        assert score(["O B-A I-A O"], [guess]).entities.n_correct == 0


def slow_entities(tags):
    """endOfChunk and startOfChunk of conlleval, one token after another."""
    found, first = [], None
    before, its_type = "O", ""
    for t, tag in enumerate([*tags, "O"]):
        kind, _, type_ = tag.partition("-")
        ends = before != "O" and (kind in "BO" or type_ != its_type)
        begins = kind != "O" and (kind == "B" or before == "O" or type_ != its_type)
        if ends:
            found.append((first, t - 1, its_type))
        if begins:
            first = t
        before, its_type = kind, type_
    return found


rows = st.lists(
    st.lists(st.tuples(*[st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])] * 2), max_size=8),
    max_size=6,
)


@given(rows, st.integers(0, 6))
def test_counts_equal_conlleval_token_by_token_and_add_over_shards(pairs, cut):
    gold = [[g for g, _ in row] for row in pairs]
    guess = [[p for _, p in row] for row in pairs]
    scores = score_tags(gold, guess)
    expected = np.zeros(3, dtype=int)
    for g, p in zip(gold, guess, strict=True):
        one, other = set(slow_entities(g)), set(slow_entities(p))
        expected += [len(one), len(other), len(one & other)]
    assert scores.entities == EntityCounts(*expected.tolist())
    assert scores.n_exact == sum(g == p for g, p in zip(gold, guess, strict=True))
    parts = score_tags(gold[:cut], guess[:cut]) + score_tags(gold[cut:], guess[cut:])
    assert parts == scores == TagScores() + scores


def test_tags_that_are_not_bio_have_no_entities():
    scores = score(["NN VB", "DT"], ["NN NN", "DT"])
    assert scores.by_type is None
    assert scores.entities is None
    assert scores.accuracy == 2 / 3
    assert (scores + score(["O"], ["O"])).entities is None
    assert not is_bio(["O", "NN"])
    assert is_bio(["O", "B-X"])


def test_codes_with_their_own_names_are_compared_by_name():
    gold = TagRows(Ragged.of([[0, 1], [2]], np.int32), np.array(["O", "B-X", "I-X"], dtype=object))
    guess = TagRows(Ragged.of([[1, 0], [1]], np.int32), np.array(["B-X", "O"]))
    scores = score_tags(gold, guess)
    assert (scores.n_tokens, scores.n_correct, scores.n_exact) == (3, 2, 1)
    assert scores.entities == EntityCounts(2, 1, 1)


def test_different_lengths_are_refused_with_the_sequence():
    with pytest.raises(DataError, match="1 predicted sequences for 2 gold ones"):
        score(["O", "O"], ["O"])
    with pytest.raises(DataError, match="sequence 1: 2 predicted tags for 1 gold ones"):
        score(["O", "O"], ["O", "O O"])
