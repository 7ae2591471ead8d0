"""TaxonomyTask: classes that share features Λ(y), such as the nodes of a tree above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from distsvm import checks
from distsvm.data.features import frozen
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.kernels.codes import Codes, codes_of
from distsvm.kinds import Listed, choice, number
from distsvm.messages import Summary
from distsvm.options import checked, option
from distsvm.structures.classes.kernels.losses import Losses, common_nodes
from distsvm.structures.classes.task import ClassTask, MulticlassTask
from distsvm.structures.classes.taxonomies.codes import (
    gloss_codes,
    of_length_one,
    similarity_codes,
    tree_codes,
)
from distsvm.structures.classes.taxonomies.option_kinds import (
    Glosses,
    Similarities,
    TaxonomyChoice,
    TreeLossChoice,
)
from distsvm.structures.classes.taxonomies.taxonomy import SEPARATOR, Taxonomy
from distsvm.wording import Setting, message

MOST_TABLED = 2048
"""Classes up to which the tree loss is a table of all pairs, which is the faster form."""
TREE, FLAT = "tree", "flat"
OWN = (
    "taxonomy", "class_features", "depth_weights", "glosses", "similarities", "own_weight",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class TaxonomyTask(MulticlassTask):
    """k classes with features of their own: Ψ(x, y) = x ⊗ Λ(y), ‖Λ(y)‖ = 1.

    Labels are nodes of the taxonomy: by name where one node has it, or by path, such as
    comp/graphics. Every leaf is a class, and so is every inner node that the data has as a label;
    classes without examples are predicted from their features. Without a taxonomy, the paths in the
    labels make one.

    Parameters
    ----------
    losses, loss_scale, taxonomy, class_features, depth_weights, glosses, similarities, own_weight,
    intercept_scaling, scale, class_weight :
        What their fields declare. Glosses and similarities take the place of `class_features`.
    codes : array of shape (k, r), or None
        Any other Λ(y), in increasing order of labels; its rows are divided by their lengths.
    classes : array of labels, or None
        None: those above.
    """

    losses: Any = option(
        "zero-one", kind=TreeLossChoice(), flag="--loss", metavar="LOSS", argument="loss",
        help="zero-one; tree, the height of the lowest node above both classes, which is the "
        "longest way down from it to a leaf: 1 for siblings whose parent has only leaves; or a "
        "cost matrix, as for classes",
    )  # fmt: skip
    taxonomy: Any = option(
        None, kind=TaxonomyChoice(), metavar="FILE", usual="the paths in the labels",
        help="the tree of classes; labels are its nodes, by name or by path",
    )  # fmt: skip
    class_features: str = option(
        TREE, kind=choice(TREE, FLAT), metavar="KIND",
        help="tree: a feature for each node above a class, and one for the class; flat: one for "
        "the class alone",
    )  # fmt: skip
    depth_weights: Any = option(
        None, kind=Listed(number(above=0), "numbers", "β,β,…"), metavar="NUMBERS", usual="1",
        help="β of nodes by depth, from below the root; the last is for all deeper ones. Every "
        "class's features have length 1 in the end",
    )  # fmt: skip
    glosses: Any = option(
        None, kind=Glosses(), metavar="FILE", usual="none",
        help="texts about the classes: the words of a class's text, by tf-idf, are its features",
    )  # fmt: skip
    similarities: Any = option(
        None, kind=Similarities(), metavar="FILE", usual="none",
        help="a positive semidefinite matrix of similarities of the classes, whose factor gives "
        "their features",
    )  # fmt: skip
    own_weight: float = option(
        1.0, kind=number(least=0), metavar="V",
        help="the weight of a class's own feature beside those of its gloss, which have length 1; "
        "0 for none",
    )  # fmt: skip
    # Known after prepare(), or from a taxonomy that was given:
    nodes: np.ndarray | None = None
    parents: np.ndarray | None = None
    # Known after prepare():
    places: np.ndarray | None = None
    """The node of each class."""
    code_values: np.ndarray | None = field(default=None, repr=False)
    code_columns: np.ndarray | None = field(default=None, repr=False)
    code_starts: np.ndarray | None = field(default=None, repr=False)
    code_width: int = 0

    def __post_init__(self) -> None:
        for name in OWN:
            object.__setattr__(self, name, checked(self, name))
        sources = [n for n in ("glosses", "similarities", "codes") if getattr(self, n) is not None]
        if len(sources) > 1:
            raise ConfigError(
                message(
                    "{} and {} both say what features classes have; expected one of them",
                    *(Setting(name, "…") for name in sources[:2]),
                )
            )
        if self.taxonomy is not None:
            # As arrays, which workers and files take.
            object.__setattr__(self, "nodes", self.taxonomy.names)
            object.__setattr__(self, "parents", self.taxonomy.parents)
            object.__setattr__(self, "taxonomy", None)

    # --- what prepare() learns -------------------------------------------------------------

    def scan(self, shard: Shard) -> Summary:
        summary = super().scan(shard)
        if self.nodes is not None and self.places is None and summary.labels is not None:
            for label in summary.labels.tolist():
                try:
                    self._node_of(label)
                except DataError as error:
                    row = int(np.flatnonzero(np.asarray(shard.y) == label)[0])
                    raise DataError(f"{shard.names[row]}: {error}") from None
        return summary

    def prepare(self, summary: Summary) -> TaxonomyTask:
        if summary.labels is None:
            raise DataError("the data has no labels")
        labels, known = summary.labels.tolist(), self
        if self.nodes is None:
            names = [*labels, *self._named_classes()]
            tree = Taxonomy.of_paths(_path_of(label) for label in names)
            known = replace(self, nodes=tree.names, parents=tree.parents)
        if known.places is None:
            known = known._with_classes(labels)
        # Each label by its class's own name.
        numbers, unseen = known.encode(summary.labels)
        if unseen.size:
            raise DataError(known.why_unseen(unseen.tolist()[0]))
        kept = np.unique(numbers)
        counts = None if summary.counts is None else np.bincount(numbers, summary.counts)[kept]
        canonical = replace(summary, labels=known.labels[kept], counts=counts)
        return super(TaxonomyTask, known).prepare(canonical)  # type: ignore[return-value]

    def _named_classes(self) -> list[str]:
        """The classes that glosses or similarities name."""
        if self.glosses is not None:
            return list(self.glosses)
        names = None if self.similarities is None else self.similarities[0]
        return [] if names is None else list(names)

    def _with_classes(self, labels: Sequence[Any]) -> TaxonomyTask:
        """Add classes, with their nodes and features, to a task that knows its taxonomy."""
        given = labels if self.classes is None else np.asarray(self.classes).tolist()
        label_of: dict[int, Any] = {}
        for label in given:
            label_of.setdefault(self._node_of(label), label)
        if self.classes is None:
            for name in self._named_classes():
                node = self._node_of(name)
                label_of.setdefault(node, _like(labels, name))
            for node in self.tree.leaves.tolist():
                label_of.setdefault(node, _like(labels, self.tree.label(node)))
        nodes = np.fromiter(label_of, np.int64)
        try:
            classes, first = np.unique(np.array(list(label_of.values())), return_index=True)
        except TypeError as error:
            raise DataError(f"labels of different kinds ({error})") from error
        known = replace(self, classes=classes, places=nodes[first].astype(np.int32))
        codes = known._made_codes()
        if codes is None:
            return known
        (values, columns, starts), width = codes
        return replace(
            known, code_values=values, code_columns=columns, code_starts=starts, code_width=width
        )

    def _made_codes(self) -> tuple[Codes, int] | None:
        """Λ and its width from glosses, similarities or a table; None for nodes of the tree."""
        k = self.labels.size
        if self.codes is not None:
            table = super().code_table()
            assert table is not None
            return of_length_one(codes_of(table)), table.shape[1]
        if self.glosses is not None:
            texts = [""] * k
            for name, text in self.glosses.items():
                texts[self._class_named(name, "glosses")] = text
            return gloss_codes(texts, self.own_weight)
        if self.similarities is None:
            return None
        names, matrix = self.similarities
        if len(matrix) != k:
            raise ConfigError(
                message("{similarities}: {} rows, but there are {} classes", len(matrix), k)
            )
        if names is not None:
            order = np.array([self._class_named(name, "similarities") for name in names])
            matrix = matrix[np.ix_(np.argsort(order), np.argsort(order))]
        return similarity_codes(matrix)

    def _class_named(self, name: str, parameter: str) -> int:
        number = self._class_of_node[self._node_of(name)]
        if number < 0:
            raise DataError(f"{parameter}: {name!r} is no class of the taxonomy")
        return int(number)

    def check_loaded(self) -> None:
        if self.nodes is None or self.parents is None or self.places is None:
            raise ValueError("the task has no taxonomy")
        self.tree.check()
        k = 0 if self.classes is None else self.classes.size
        checks.within("places", self.places, 1, self.tree.size, k)
        if np.unique(self.places).size < k:
            raise ValueError("places names a node twice")
        if self._given_codes is not None:
            values, columns, starts = self._given_codes
            checks.whole("code_width", self.code_width, least=1)
            checks.finite("code_values", values)
            checks.within("code_columns", columns, 0, self.code_width, values.size)
            checks.starts("code_starts", starts, values.size, k)
            row = np.repeat(np.arange(k), np.diff(starts))
            if starts[0] or starts[-1] != values.size:
                raise ValueError("code_starts does not cut all values into rows")
            checks.increasing("code_columns", row * self.code_width + columns)
        super().check_loaded()

    # --- the structure ---------------------------------------------------------------------

    @cached_property
    def tree(self) -> Taxonomy:
        """The taxonomy, once it is known."""
        if self.nodes is None or self.parents is None:
            raise ConfigError("the task is not prepared: its taxonomy is not known yet")
        return Taxonomy(self.nodes, self.parents)

    @property
    def _given_codes(self) -> Codes | None:
        if self.code_values is None or self.code_columns is None or self.code_starts is None:
            return None
        return Codes(self.code_values, self.code_columns, self.code_starts)

    @property
    def has_codes(self) -> bool:
        sources = (self.glosses, self.similarities, self.codes)
        return self.class_features == TREE or any(source is not None for source in sources)

    @property
    def is_tree(self) -> bool:
        """Whether the features of classes are nodes."""
        return self.has_codes and self._given_codes is None

    @cached_property
    def _codes(self) -> Codes | None:
        if not self.has_codes:
            return None
        assert self.places is not None
        given = self._given_codes
        if given is not None:
            return given
        return tree_codes(self.tree, self.places, self.depth_weights or (1.0,))

    def sparse_codes(self) -> Codes | None:
        return self._codes

    def code_table(self) -> np.ndarray | None:
        """Λ of all classes as a table; the searches take `sparse_codes`."""
        return None if self._codes is None else self._code_rows.toarray()

    @property
    def _code_rows(self) -> sparse.csr_array:
        assert self._codes is not None
        values, columns, starts = self._codes
        return sparse.csr_array((values, columns, starts), (self.labels.size, self.n_codes))

    @property
    def n_codes(self) -> int:
        if not self.has_codes:
            return self.labels.size
        return self.tree.size - 1 if self.is_tree else self.code_width

    def per_class(self, products: np.ndarray) -> np.ndarray:
        if self._codes is None:
            return products
        return (self._code_rows @ products.reshape(-1, self.n_codes).T).T.reshape(
            *products.shape[:-1], self.labels.size
        )

    # --- losses ----------------------------------------------------------------------------

    @property
    def zero_one(self) -> float:
        is_tree = isinstance(self.losses, str) and self.losses == TREE
        return 0.0 if is_tree else super().zero_one

    @property
    def has_tree_loss(self) -> bool:
        return isinstance(self.losses, str) and self.losses == TREE

    @property
    def largest_loss(self) -> float:  # type: ignore[override]
        if not self.has_tree_loss:
            return super().largest_loss
        assert self.places is not None
        return float(self._heights(self.places.min(), self.places.max()))

    def loss_table(self) -> np.ndarray:
        return self._tree_table if self.has_tree_loss else super().loss_table()

    @cached_property
    def _tree_table(self) -> np.ndarray:
        assert self.places is not None
        k = self.labels.size
        if k > MOST_TABLED:
            return np.zeros((0, 0))
        rows, columns = np.indices((k, k)).reshape(2, -1)
        table = self._heights(self.places[rows], self.places[columns]).reshape(k, k)
        np.fill_diagonal(table, 0.0)
        return table

    def _heights(self, a: Any, b: Any) -> np.ndarray:
        """The heights of the lowest nodes above both, times the loss's scale."""
        return self.loss_scale * self.tree.height[self.common(a, b)]

    def common(self, a: Any, b: Any) -> np.ndarray:
        """The lowest node that is at or above both a and b, for nodes or arrays of them."""
        first, second = np.broadcast_arrays(np.asarray(a, np.int32), np.asarray(b, np.int32))
        out = np.empty(first.size, np.int32)
        above = frozen(np.asarray(self.tree.parents, np.int32))
        common_nodes(above, frozen(first.ravel()), frozen(second.ravel()), out)
        return out.reshape(first.shape)

    def all_losses(self) -> Losses:
        losses = super().all_losses()
        if not self.has_tree_loss or losses.matrix.size:
            return losses
        assert self.places is not None
        order = np.argsort(self.places).astype(np.int32)
        places = self.places[order]
        first = np.searchsorted(places, np.arange(self.tree.size))
        stop = np.searchsorted(places, self.tree.end)
        above = np.asarray(self.tree.parents, np.int32)
        return losses._replace(
            node=frozen(self.places), order=frozen(order), first=frozen(first.astype(np.int32)),
            stop=frozen(stop.astype(np.int32)), above=frozen(above),
            height=frozen(self.loss_scale * self.tree.height),
        )  # fmt: skip

    def loss(self, y: Any, y_hat: Any) -> float:
        if not self.has_tree_loss:
            return super().loss(y, y_hat)
        assert self.places is not None
        truth, other = self._number(y), self._number(y_hat)
        return 0.0 if truth == other else float(self._heights(*self.places[[truth, other]]))

    def check_formulation(self, formulation: str, rescaling: str) -> None:
        super().check_formulation(formulation, rescaling)
        n_classes = 0 if self.places is None else self.places.size
        if self.has_tree_loss and n_classes > MOST_TABLED:
            raise ConfigError(
                message(
                    "{} and {loss}: a table of the losses of {} classes is too large",
                    Setting("solver", "sequential-dual"),
                    n_classes,
                )
            )

    # --- labels ----------------------------------------------------------------------------

    @cached_property
    def _class_of_node(self) -> np.ndarray:
        """The class of each node; −1 where it is none."""
        assert self.places is not None
        numbers = np.full(self.tree.size, -1, np.int32)
        numbers[self.places] = np.arange(self.places.size)
        return numbers

    @cached_property
    def class_paths(self) -> list[str]:
        """The path of each class."""
        assert self.places is not None
        return [self.tree.paths[node] for node in self.places.tolist()]

    def _node_of(self, label: Any) -> int:
        node = self.tree.find(_text_of(label))
        if node is None:
            raise DataError(f"label {label!r} is no node of the taxonomy")
        return node

    def encode(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        numbers, others = super().encode(y)
        if not others.size:
            return numbers, others
        # Other names of nodes that are classes; what is left is numbered behind them.
        found = [self.tree.find(_text_of(label)) for label in others.tolist()]
        classes = np.array([-1 if node is None else self._class_of_node[node] for node in found])
        is_other = classes < 0
        k = self.labels.size
        classes[is_other] = k + np.arange(np.count_nonzero(is_other))
        late = numbers >= k
        numbers[late] = classes[numbers[late] - k]
        return numbers, others[is_other]

    def _carried_columns(self, earlier: ClassTask) -> np.ndarray:
        if not (
            isinstance(earlier, TaxonomyTask)
            and earlier.is_tree
            and self.is_tree
            and (earlier.depth_weights or [1.0]) == (self.depth_weights or [1.0])
        ):
            return super()._carried_columns(earlier)
        # A node's column has the same meaning in every tree that has its path.
        known = {path: node for node, path in enumerate(self.tree.paths)}
        nodes = [known.get(path) for path in earlier.tree.paths[1:]]
        if None in nodes:
            raise ConfigError(
                message("{start}: the earlier model has a node that this taxonomy has not")
            )
        return np.array(nodes, np.int64) - 1


def _text_of(label: Any) -> str:
    """A label as a node is called: whole numbers without a point."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _path_of(label: Any) -> list[str]:
    names = _text_of(label).split(SEPARATOR)
    if not all(names):
        raise DataError(f"label {label!r}: expected a path, such as comp/graphics, of names")
    return names


def _like(labels: Sequence[Any], name: str) -> Any:
    """The label of a class without examples, of the kind of these labels."""
    if not labels or isinstance(labels[0], str):
        return name
    try:
        return type(labels[0])(name)
    except ValueError:
        raise DataError(
            f"the labels are numbers, but the class {name!r} of the taxonomy is none"
        ) from None
