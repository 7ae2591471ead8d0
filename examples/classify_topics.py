"""Classify into a tree of topics with few examples each: features of nodes beside none.

The data is made up: the vectors of classes are sums over the nodes above them. With two examples a
class, what siblings share is learned from all of them. Run it: python examples/classify_topics.py
"""

from distsvm import TaxonomyClassifier
from distsvm.data.synthetic import make_taxonomy_data

FEW = 2

if __name__ == "__main__":
    X, y = make_taxonomy_data(2000, 30, (5, 4), noise=2.0, seed=0)
    taken, left = [], dict.fromkeys(y.tolist(), FEW)
    for row, path in enumerate(y.tolist()):
        if left[path]:
            left[path] -= 1
            taken.append(row)
    X_new, y_new = X[1000:], y[1000:]

    print(f"{len(left)} classes in 5 branches, {FEW} examples each\n")
    for features in ("flat", "tree"):
        for loss in ("zero-one", "tree"):
            classifier = TaxonomyClassifier(class_features=features, loss=loss, C_per_example=0.1)
            classifier.fit(X[taken], y[taken])
            result, scores = classifier.result_, classifier.scores(X_new, y_new)
            print(
                f"{features:5s} features, loss {loss:9s} accuracy {scores['accuracy']:.3f}, tree "
                f"loss {scores['tree_loss']:.3f}  ({result.certificate}, {result.n_rounds} rounds)"
            )
    print(f"\npredicted: {classifier.predict(X_new[:3]).tolist()}")
