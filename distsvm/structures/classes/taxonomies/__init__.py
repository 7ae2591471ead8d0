"""Taxonomies: classes with features of their own, such as the nodes of a tree above them.

They are classes with another Λ(y), so they live in the folder of classes and share its search.
"""

from distsvm.oracles.structure import Structure

_HOME = "distsvm.structures.classes.taxonomies"

STRUCTURE = Structure(
    name="taxonomies",
    title="taxonomies",
    tasks={"taxonomy": f"{_HOME}.task:TaxonomyTask"},
    estimators=(f"{_HOME}.estimator:TaxonomyClassifier",),
    others=(f"{_HOME}.taxonomy:Taxonomy",),
    reads=("svmlight", "parquet", "jsonl"),
    options=f"{_HOME}.options:OPTIONS",
    predictions=f"{_HOME}.predictions:PREDICTIONS",
    scores=f"{_HOME}.scores:SCORES",
    inspection=f"{_HOME}.inspection:INSPECTION",
    problems=f"{_HOME}.problems:problems",
    form="distsvm.structures.classes.linear:LinearForm",
    labels=("classes",),
)
