"""Messages add up field by field, as their rules say."""

import numpy as np

from distsvm.messages import Facts, Holding, Score, Summary


def facts(n, radius, mark):
    return Facts(n, 1, n, 2.0 * n, 3.0, radius, 10, 20, mark)


def test_facts_add_up_and_the_radius_is_the_largest_known_one():
    total = facts(3, 4.0, "a") + facts(5, 9.0, "b")
    assert vars(total) == vars(Facts(8, 2, 8, 16.0, 6.0, 9.0, 20, 40, "ab"))
    assert (facts(3, None, "a") + facts(5, 9.0, "b")).square_radius is None


def test_labels_of_two_summaries_are_joined_with_their_counts():
    first = Summary(2, 2.0, np.array([1, 3]), np.array([1.0, 1.0]), 1, 2, np.array([5.0, 1.0]))
    other = Summary(3, 3.0, np.array([2, 3]), np.array([2.0, 1.0]), 0, 3, np.array([1.0, 2.0, 4.0]))
    total = first + other
    assert total.labels.tolist() == [1, 2, 3]
    assert total.counts.tolist() == [1.0, 2.0, 2.0]
    assert total.largest.tolist() == [5.0, 2.0, 4.0]
    assert (total.n_examples, total.least_column, total.n_columns) == (5, 0, 3)
    unlabelled = first + Summary(1, 1.0)
    assert unlabelled.labels is None
    assert unlabelled.counts is None
    assert unlabelled.largest is None


def test_the_round_of_a_sum_of_holdings_is_that_of_the_first():
    total = Holding(np.ones(2), 1.0, 0) + Holding(np.ones(2), 2.0, 7)
    assert (total.a.tolist(), total.b, total.number) == ([2.0, 2.0], 3.0, 0)


def test_scores_keep_their_type_when_they_add_up():
    total = Score(2, 2.0, 1.0, 1) + Score(2, 6.0, 1.0, 2)
    assert (total.mean_loss, total.accuracy) == (0.25, 0.75)
