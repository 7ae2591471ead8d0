"""Parse sentences: learn the weights of a grammar's rules for good F1, and draw a parse.

The maximum-likelihood PCFG of the same grammar is there to compare with; this treebank is made up
from so few rules that neither is far ahead. Run it: python examples/parse_trees.py [FILE.svg]
"""

import sys
import tempfile
from pathlib import Path

from distsvm import TreeParser
from distsvm.data.synthetic_trees import make_treebank
from distsvm.data.tree_drawing import draw_tree, tree_svg
from distsvm.structures.trees.tree_scores import score_trees

if __name__ == "__main__":
    trees = make_treebank(900, max_length=15, seed=0)
    train, test = trees[:600], trees[600:]

    parser = TreeParser(loss="f1").fit(train)
    result = parser.result_
    print(f"certificate {result.certificate}: {result.dual:.3f} ≤ optimum ≤ {result.primal:.3f}")
    print(f"{result.n_rounds} rounds, {result.n_oracle_calls} CKY searches")

    sentences = [tree.sentence() for tree in test]
    baseline = score_trees(test, parser.baseline_.predict(sentences))
    scores = parser.evaluate(test)
    for name, score in (("PCFG", baseline), ("distsvm", scores)):
        print(f"test, {name:7}: F1 {score.f1:.4f}, exact match {score.exact_match:.4f}")

    tree = parser.predict([sentences[1]])[0]
    print("\n" + draw_tree(tree))
    path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "tree.svg")
    path.write_text(tree_svg(tree), encoding="utf-8")
    print(f"\nthe same as a drawing: {path}")
