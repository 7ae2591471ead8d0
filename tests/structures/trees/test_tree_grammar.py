"""Grammars: one feature a rule, whatever the binary form; numbers depend on the rules alone."""

import numpy as np
import pytest
from parse_enumeration import grammar_of

from distsvm.errors import DataError
from distsvm.structures.trees.grammar import Grammar, chains_of, rules_of
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.tree import Tree


def test_rules_and_chains_of_a_tree():
    tree = Tree.parse("(S (NP (NP (N a))) (VP (V b) (NP (D c) (N d))))")
    assert rules_of(tree) == {
        "TOP -> S": 1, "S -> NP VP": 1, "NP -> NP": 1, "NP -> 'N'": 1, "VP -> 'V' NP": 1,
        "NP -> 'D' 'N'": 1,
    }  # fmt: skip
    assert chains_of(tree) == {"NP => NP => 'N'"}
    assert rules_of(Tree.parse("(TOP (S (N a) (N b)))")) == {"TOP -> S": 1, "S -> 'N' 'N'": 1}
    assert rules_of(Tree.parse("(N a)")) == {"TOP -> 'N'": 1}
    assert rules_of(Tree.parse("('' '')")) == {"TOP -> ''''": 1}


def test_prefixes_are_shared_and_only_last_steps_have_a_rule():
    grammar = Grammar.of(["A -> 'x' 'y' 'z'", "B -> 'x' 'y' 'w'", "A -> 'x' 'y'", "TOP -> A"])
    assert len(grammar.prefix_number) == 1
    assert sorted(grammar.step_rule.tolist()) == [-1, 0, 1, 2]
    for step in np.flatnonzero(grammar.step_rule >= 0):
        lhs = grammar.rules[grammar.step_rule[step]].split()[0]
        assert grammar.label(grammar.tables.step_result[step]) == lhs


def test_chains_are_simple_short_or_seen():
    rules = ["TOP -> A", "A -> B", "B -> A", "A -> A", "B -> 'x'"]
    grammar = Grammar.of(rules, ["A => A => B"], max_chain=2)
    names = {" ".join(map(grammar.label, chain)) for chain in grammar.chains if len(chain) > 1}
    assert names == {"TOP A", "A B", "B A", "B x", "TOP A B", "A B x", "A A B"}


def test_a_loop_is_a_chain_only_where_it_was_seen_as_one():
    longer = Tree.parse("(S (NP (NP (N a))) (VP (V b) (N c)))")
    alone = Tree.parse("(S (NP (NP (N a) (N b))) (VP (V b) (N c)))")
    other = Tree.parse("(S (NP (NP (D c) (N a))) (VP (V b) (N c)))")
    assert chains_of(alone) == {"NP => NP"}
    for trees, allowed in (([longer], False), ([longer, alone], True)):
        rules = set().union(*map(rules_of, [*trees, other]))
        chains = set().union(*map(chains_of, trees))
        grammar = Grammar.of(rules, chains)
        np_ = grammar.symbol(("NP", False))
        assert ((np_, np_) in grammar.chain_number) == allowed
        assert grammar.why_outside(longer) == "the tree is in the grammar"
        assert ("NP => NP" in grammar.why_outside(other)) != allowed


def test_numbers_do_not_depend_on_the_order_of_trees():
    trees = make_treebank(50)
    one, two = grammar_of(trees), grammar_of(trees[::-1])
    assert one.rules == two.rules
    assert one.chains == two.chains
    for a, b in zip(one.tables, two.tables, strict=True):
        np.testing.assert_array_equal(a, b)


def test_phrases_with_quotes_are_refused():
    with pytest.raises(DataError, match="quotes"):
        rules_of(Tree.parse("(S ('X (N a) (N b)) (N c))"))
