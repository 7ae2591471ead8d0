"""Classes: binary (Ψ = ½yx) and multiclass (Ψ = x ⊗ Λ(y)), for dense and sparse rows.

Both are Ψ(x, y) = x ⊗ Λ(y), Λ(y) the code of class y: one number for binary, a unit vector for
multiclass unless codes are given.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from distsvm import checks
from distsvm.data.features import DenseRows, Rows, SparseRows, as_rows, frozen
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.feature_maps import FeatureMap
from distsvm.feature_maps.base import same_map
from distsvm.kernels.codes import Codes, codes_of
from distsvm.kinds import number, truth
from distsvm.messages import Summary, feature_name
from distsvm.options import checked, option
from distsvm.oracles.label_weights import weights_of_labels
from distsvm.oracles.shared_options import loss_scale_option
from distsvm.oracles.task import LATER, PENALTIES, Circumstances, Task
from distsvm.structures.classes.kernels.losses import Losses
from distsvm.structures.classes.option_kinds import ClassWeight, LossChoice
from distsvm.structures.classes.oracle import ClassOracle
from distsvm.structures.classes.predictor import ClassPredictor
from distsvm.structures.classes.scan import summarise
from distsvm.structures.classes.sequential_form import CRAMMER_SINGER
from distsvm.vectors import SparseVector
from distsvm.wording import Setting, Value, message

log = logging.getLogger(__name__)

BAD_RANGE = 1e3
RANGED_COLUMNS = 1 << 22
MOST_PAIRED = 3000
"""Classes up to which distances of all pairs of codes are computed."""
HALVES = np.array([[-0.5], [0.5]])
"""Λ of two classes, so that ψ = yx."""


@dataclass(frozen=True, eq=False)
class ClassTask(Task):
    """Predict one of some classes from a row of features.

    w has shape (n_features + 1, r), feature by feature, flattened; its last row is the intercept
    (always there, and without effect where `intercept_scaling` is 0).

    Parameters
    ----------
    losses, loss_scale, intercept_scaling, scale, class_weight :
        What their fields declare.
    classes : array of labels, or None
        None takes the labels that the data has, in increasing order.
    features : FeatureMap, optional
        What maps every row; then `n_features` counts what the map gives. See distsvm.feature_maps.
    """

    losses: Any = option(
        "zero-one", kind=LossChoice(), flag="--loss", metavar="LOSS", argument="loss",
        help="zero-one, Δ(y, ŷ) = [y ≠ ŷ]; or a cost matrix, one row a true class and one column a "
        "predicted one, in increasing order of labels (in a file with commas or spaces between "
        "them)",
    )  # fmt: skip
    loss_scale: float = loss_scale_option()
    intercept_scaling: float = option(
        1.0, kind=number(least=0), metavar="V",
        help="the value of the constant feature whose weight is the intercept; 0 for none",
    )  # fmt: skip
    scale: bool = option(
        False, kind=truth,
        help="divide every feature by its largest absolute value in the training data; the model "
        "keeps the divisors",
    )  # fmt: skip
    class_weight: Any = option(
        None, kind=ClassWeight(), metavar="WEIGHTS",
        help="balanced, or a weight for each of some labels: multiplies the weights of a class's "
        "examples",
    )  # fmt: skip
    classes: np.ndarray | None = None
    # Known after prepare():
    n_features: int = 0
    index_base: int = 0
    scaler: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    features: FeatureMap | None = field(default=None, metadata=LATER)

    rescalings: ClassVar[frozenset[str]] = frozenset({"margin", "slack"})
    compiled: ClassVar[bool] = True
    string_inputs: ClassVar[bool] = False
    tables: ClassVar[bool] = True
    suited_solver: ClassVar[str] = "sequential-dual"
    capabilities: ClassVar[frozenset[str]] = frozenset({"planes", "steps", "sequential"})
    enumerates: ClassVar[bool] = True
    SOME_COLUMNS: ClassVar[int] = 32
    MANY_COLUMNS: ClassVar[int] = 100
    """From here on one block of the sequential dual method, or of multi-plane, is faster than cuts,
    whose number grows with the columns that matter (benchmarks/sequential_dual.py auto)."""

    def choose_solver(self, here: Circumstances) -> str:
        """As measured: steps of the dual for one block of many columns in memory, else cuts."""
        if self.splits:
            return "one-slack"
        found = here.n_columns if self.features is None else self.features.n_features
        n_columns = math.inf if found is None else found
        if n_columns < self.SOME_COLUMNS or here.limited or not here.one_block:
            return "one-slack"
        try:
            self.check_formulation(CRAMMER_SINGER, here.rescaling)
        except ConfigError:
            return "one-slack" if n_columns < self.MANY_COLUMNS else "multi-plane"
        return self.suited_solver

    def check_formulation(self, formulation: str, rescaling: str) -> None:
        """Refuse what the sequential dual method cannot do with this task."""
        given = Setting("formulation", formulation)
        if not self.zero_one:
            if formulation != CRAMMER_SINGER:
                raise ConfigError(
                    message("{} and {loss}: a cost matrix is for {}", given, Value(CRAMMER_SINGER))
                )
            if rescaling == "slack":
                raise ConfigError(
                    message(
                        "{}, {} and {loss}: a cost matrix is for {}",
                        Setting("solver", "sequential-dual"),
                        Setting("rescaling", rescaling),
                        Setting("rescaling", "margin"),
                    )
                )

    # --- what prepare() learns -------------------------------------------------------------

    def scan(self, shard: Shard) -> Summary:
        checked(self, "intercept_scaling")
        if not isinstance(shard.x, (DenseRows, SparseRows)):
            raise DataError(
                f"{shard.source}: the inputs are no rows of features; give an array or a sparse "
                "matrix of shape (examples, columns)"
            )
        # Ranges take a vector of the length of a row; where rows are huge, only if they are needed.
        n_columns = getattr(shard.x, "n_columns", 0)
        found = summarise(shard, ranges=self.scale or n_columns <= RANGED_COLUMNS)
        if self.features is None or self.features.is_prepared:
            return found
        labels = None if shard.y is None or not self.splits else np.asarray(shard.y)
        seen = self.features.sees(shard.x, shard.first, labels, weight=shard.weight)
        return replace(found, seen=seen)

    @property
    def splits(self) -> bool:
        """Whether each mapped feature is for one class alone.

        Two classes with one function span the same with the basis inputs of either class.
        """
        return False

    def prepare(self, summary: Summary) -> ClassTask:
        labels = summary.labels
        if labels is None:
            raise DataError("the data has no labels")
        classes = labels if self.classes is None else np.unique(np.asarray(self.classes))
        unknown = labels[~np.isin(labels, classes)]
        if unknown.size:
            label = unknown.tolist()[0]
            raise DataError(replace(self, classes=classes).why_unseen(label))
        self._check_classes(classes)
        # A file that never uses column 0 counts from 1.
        base = 1 if 1 <= summary.least_column < summary.n_columns else 0
        n_features = summary.n_columns - base
        if n_features < 1:
            raise DataError("the data has no features at all")
        features, scaler = self.features, None
        if features is None:
            scaler = self._scaler(summary, base)
        else:
            features = self._map_of(features, summary, base)
            n_features = features.n_features
        task = replace(
            self,
            classes=_plain_labels(classes),
            n_features=n_features,
            index_base=base,
            scaler=scaler,
            features=features,
            class_weights=self._weights_of(classes, summary),
        )
        task.loss_table()  # refuses a matrix that does not fit
        task.sparse_codes()  # and codes
        return task

    def _map_of(self, features: FeatureMap, summary: Summary, base: int) -> FeatureMap:
        """Return the map, made from what was seen of the rows unless it is made already."""
        if self.scale:
            raise ConfigError(
                message(
                    "{}: a kernel function takes the features as they are; scale them before",
                    Setting("scale", True),
                )
            )
        if not features.is_prepared:
            features = features.prepared(summary.seen.shifted(base))
        elif features.n_columns < summary.n_columns - base:
            raise DataError(
                f"the data has {summary.n_columns - base} features, the feature map takes "
                f"{features.n_columns}"
            )
        return features

    def _check_classes(self, classes: np.ndarray) -> None:
        if classes.dtype.kind not in "biufUSO":
            raise DataError(f"the classes are of type {classes.dtype}, expected numbers or texts")
        if classes.size < 2:
            raise DataError(
                f"the data has one class, {classes.tolist()[0]!r}; at least two classes are needed"
            )

    def _scaler(self, summary: Summary, base: int) -> np.ndarray | None:
        if summary.largest is None:
            return None
        largest = summary.largest[base:]
        used = largest[largest > 0]
        if self.scale:
            return 1.0 / np.where(largest > 0, largest, 1.0)
        if used.size and used.max() > BAD_RANGE * used.min():
            wide, narrow = (
                int(np.argmax(largest)),
                int(np.argmin(np.where(largest > 0, largest, np.inf))),
            )
            log.warning(
                message(
                    "badly scaled features: {} reaches {}, {} only {}; training may be slow and "
                    "the small ones ignored. {} divides each by its largest absolute value",
                    feature_name(summary.columns, base + wide),
                    f"{largest[wide]:.3g}",
                    feature_name(summary.columns, base + narrow),
                    f"{largest[narrow]:.3g}",
                    Setting("scale", True),
                )
            )
        return None

    def _weights_of(self, classes: np.ndarray, summary: Summary) -> np.ndarray | None:
        if self.class_weight is None:
            return None
        assert summary.labels is not None
        assert summary.counts is not None
        counts = np.zeros(classes.size)
        counts[np.searchsorted(classes, summary.labels)] = summary.counts
        given = checked(self, "class_weight")
        return weights_of_labels("class_weight", given, classes, counts, summary.weight)

    def check_loaded(self) -> None:
        if not isinstance(self.classes, np.ndarray) or self.classes.ndim != 1:
            raise ValueError("the classes are no vector of labels")
        if self.classes.dtype.kind == "f":
            checks.finite("classes", self.classes.astype(np.float64))
        checks.increasing("classes", self.classes)
        self._check_classes(self.classes)
        checks.whole("n_features", self.n_features, least=1)
        checks.whole("index_base", self.index_base)
        checks.number("intercept_scaling", self.intercept_scaling)
        for name, size in (("scaler", self.n_features), ("class_weights", self.classes.size)):
            if getattr(self, name) is not None:
                checks.finite(name, getattr(self, name), size)
        if self.features is not None and self.features.n_features != self.n_features:
            raise ValueError(f"{self.n_features} features, the feature map gives others")
        self.loss_table()
        self.sparse_codes()

    # --- the structure ---------------------------------------------------------------------

    @property
    def labels(self) -> np.ndarray:
        """The classes, once they are known."""
        if self.classes is None:
            raise ConfigError("the task is not prepared: its classes are not known yet")
        return self.classes

    def code_table(self) -> np.ndarray | None:
        """Λ(y) of each class, shape (k, r); None where it is the unit vector of y, and r = k."""
        return None

    def sparse_codes(self) -> Codes | None:
        """Λ(y) of each class as sparse rows; None where it is the unit vector of y."""
        table = self.code_table()
        return None if table is None else codes_of(table)

    def code_norms(self) -> tuple[np.ndarray, np.ndarray]:
        """‖Λ(y)‖² and max_ŷ ‖Λ(y) − Λ(ŷ)‖² of each class; of many classes an upper bound."""
        codes, k = self.sparse_codes(), self.labels.size
        if codes is None:
            return np.ones(k), np.full(k, 2.0)
        rows = sparse.csr_array((codes.values, codes.columns, codes.starts), (k, self.n_codes))
        own = np.asarray(rows.power(2).sum(axis=1))
        if k > MOST_PAIRED:  # ‖a − b‖² ≤ ‖a‖² + ‖b‖² where no product is negative
            apart = own + own.max()
            return own, apart if (codes.values >= 0).all() else 2.0 * apart
        apart = [(own[y] + own - 2 * (rows @ rows[[y]].toarray()[0])).max() for y in range(k)]
        return own, np.maximum(np.array(apart), 0.0)

    @property
    def n_codes(self) -> int:
        """r, the length of a class's code."""
        codes = self.code_table()
        return self.labels.size if codes is None else codes.shape[1]

    @property
    def dim(self) -> int:  # type: ignore[override]
        return (self.n_features + 1) * self.n_codes

    @property
    def n_columns(self) -> int:
        """Columns of the rows as they are given: `n_features` unless they are mapped."""
        return self.n_features if self.features is None else self.features.n_columns

    @property
    def growth(self) -> float:  # type: ignore[override]
        return 1.0 if self.features is None else self.features.growth

    @property
    def certified_for(self) -> str:  # type: ignore[override]
        return "" if self.features is None else self.features.certified_for

    def map_facts(self) -> dict[str, Any] | None:
        return None if self.features is None else self.features.facts()

    def mapped(self, rows: Rows) -> Rows:
        """Return rows, whose columns count from 0, as the kernels take them."""
        return rows if self.features is None else self.features.transform(rows)

    @property
    def zero_one(self) -> float:
        """The loss of every mistake, or 0 where a matrix says it."""
        return float(self.loss_scale) if isinstance(self.losses, str) else 0.0

    @property
    def penalties(self) -> frozenset[str]:
        return PENALTIES

    @property
    def largest_loss(self) -> float:  # type: ignore[override]
        return self.zero_one or float(self.loss_table().max())

    def loss_table(self) -> np.ndarray:
        """Δ(y, ŷ) for all pairs of classes, shape (k, k); none where zero_one says it all."""
        checked(self, "loss_scale")
        k = self.labels.size
        if isinstance(self.losses, str):
            if self.losses != "zero-one":
                raise ConfigError("loss", self.losses, LossChoice.expected)
            return np.zeros((0, 0))
        try:
            matrix = np.asarray(self.losses, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                message("{loss}: the cost matrix is not one of numbers: {}", error)
            ) from error
        if matrix.shape != (k, k):
            raise ConfigError(
                message("{loss}: the cost matrix has shape {}, expected {}", matrix.shape, (k, k))
            )
        if not np.isfinite(matrix).all() or (matrix < 0).any():
            raise ConfigError(
                message("{loss}: the cost matrix has an entry that is negative or not finite")
            )
        if np.diag(matrix).any():
            raise ConfigError(message("{loss}: the cost matrix has a diagonal that is not 0"))
        if not matrix.any():
            raise ConfigError(message("{loss}: the cost matrix is all 0"))
        return self.loss_scale * matrix

    def loss_matrix(self) -> np.ndarray:
        """Δ(y, ŷ) for all pairs of classes, shape (k, k)."""
        table = self.loss_table()
        return table if table.size else self.zero_one * (1.0 - np.eye(self.labels.size))

    def all_losses(self) -> Losses:
        """Δ as the kernels take it; `zero_one` and `loss_table` are parts of it."""
        none = np.zeros(0, np.int32)
        nodes = dict.fromkeys(("node", "order", "first", "stop", "above"), none)
        return Losses(
            zero_one=self.zero_one, matrix=frozen(self.loss_table()), height=np.zeros(0), **nodes
        )

    def feature_scale(self) -> np.ndarray:
        """What each feature is multiplied by, shape (n_features + 1,); last the constant one."""
        scale = np.ones(self.n_features + 1)
        if self.scaler is not None:
            scale[:-1] = self.scaler
        scale[-1] = self.intercept_scaling
        return scale

    def weights(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(V, bias) with scores X @ V + bias of the features as they are, shapes (d, r), (r,)."""
        V = w.reshape(self.n_features + 1, -1)
        inner = V[:-1] if self.scaler is None else V[:-1] * self.scaler[:, None]
        return inner, V[-1] * self.intercept_scaling

    def per_class(self, products: np.ndarray) -> np.ndarray:
        """Products with the codes' columns, shape (…, r), as one number a class, shape (…, k)."""
        codes = self.code_table()
        return products if codes is None else products @ codes.T

    def joint_features(self, x: Any, y: Any) -> SparseVector:
        given: Any = np.asarray(x, dtype=np.float64)
        if self.features is not None:
            given = self.features.transform(as_rows(given[None])).values[0]
        row = np.append(given, 1.0) * self.feature_scale()
        number, codes = self._number(y), self.code_table()
        own = (np.arange(self.n_codes) == number) * 1.0 if codes is None else codes[number]
        psi = np.outer(row, own).ravel()
        index = np.flatnonzero(psi)
        return SparseVector(index, psi[index], self.dim)

    def loss(self, y: Any, y_hat: Any) -> float:
        truth, other = self._number(y), self._number(y_hat)
        if self.zero_one:
            return 0.0 if truth == other else self.zero_one
        return float(self.loss_table()[truth, other])

    def decode(self, w: np.ndarray, x: Any) -> Any:
        oracle = self.oracle(self.shard([x]), "margin")
        return oracle.public(oracle.decode(oracle.view(w), np.zeros(1, np.int64)))[0]

    def separate(self, w: np.ndarray, x: Any, y: Any, rescaling: str) -> Any:
        oracle = self.oracle(self.shard([x], [y]), rescaling)
        oracle.check_fit()
        found = oracle.separate(oracle.view(w), np.zeros(1, np.int64))
        return oracle.public(found.planes.output)[0]

    def shard(self, inputs: Sequence[Any], outputs: Sequence[Any] | None = None) -> Shard:
        return Shard(
            as_rows(np.asarray(inputs)), None if outputs is None else np.asarray(outputs), None
        )

    def oracle(self, shard: Shard, rescaling: str) -> ClassOracle:
        return ClassOracle(self, shard, rescaling)

    def predictor(self, w: np.ndarray) -> ClassPredictor:
        return ClassPredictor(self, w)

    def carry(self, w: np.ndarray, earlier: Task) -> np.ndarray:
        """w of an earlier task of this kind, with zeros for features and classes it had not."""
        if not isinstance(earlier, type(self)):
            raise ConfigError(
                message(
                    "{start}: the earlier model is for {}, this task is {}",
                    type(earlier).__name__,
                    type(self).__name__,
                )
            )
        if (self.features, earlier.features) != (None, None):
            if not same_map(self.features, earlier.features):
                raise ConfigError(message("{start}: the earlier model has another feature map"))
        elif earlier.n_features > self.n_features:
            raise ConfigError(
                message(
                    "{start}: the earlier model has {} features, this data {}",
                    earlier.n_features,
                    self.n_features,
                )
            )
        lost = earlier.labels[~np.isin(earlier.labels, self.labels)]
        if lost.size:
            raise ConfigError(
                message("{start}: class {} of the earlier model is not in this data", repr(lost[0]))
            )
        return self._carried(w, earlier)

    def _carried(self, w: np.ndarray, earlier: ClassTask) -> np.ndarray:
        raise NotImplementedError

    def _number(self, y: Any) -> int:
        numbers, unseen = self.encode(np.array([y]))
        if unseen.size:
            raise DataError(self.why_unseen(y))
        return int(numbers[0])

    def encode(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of each label's class, and the labels that are none.

        The latter are numbered behind the classes: label j of them has the number k + j.
        """
        labels = self.labels
        kinds = {
            "text" if kind in "US" else "numbers" for kind in (labels.dtype.kind, y.dtype.kind)
        }
        if y.size and len(kinds) > 1 and "O" not in (labels.dtype.kind, y.dtype.kind):
            raise DataError(
                f"{self.why_unseen(y.tolist()[0])}: one is text, the others are numbers"
            )
        place = np.minimum(np.searchsorted(labels, y), labels.size - 1)
        other = labels[place] != y
        unseen, number = np.unique(y[other], return_inverse=True)
        place[other] = labels.size + number
        return place.astype(np.int32), _plain_labels(unseen)

    def why_unseen(self, label: Any) -> str:
        """What is wrong with a label that is no class."""
        return f"label {label!r} is not among the classes {_shown(self.labels)}"


@dataclass(frozen=True, eq=False)
class MulticlassTask(ClassTask):
    """k classes, a weight vector for each: Ψ(x, y) has x in the place of class y.

    Parameters
    ----------
    codes : array of shape (k, r), or None
        Λ(y) of each class in the order of the classes: then Ψ(x, y) = x ⊗ Λ(y), and classes whose
        codes have something in common share weights. None for unit vectors, a weight vector for
        each class alone. With the nodes of a tree of classes as columns, and 1 where a node is
        above a class, it is a taxonomy.
    """

    codes: Any = field(default=None, metadata=LATER)

    @property
    def splits(self) -> bool:
        return self.features is not None and self.features.is_split

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"planes"}) if self.splits else ClassTask.capabilities

    def oracle(self, shard: Shard, rescaling: str) -> ClassOracle:
        if not self.splits:
            return super().oracle(shard, rescaling)
        from distsvm.structures.classes.pairs import PairOracle

        return PairOracle(self, shard, rescaling)

    def code_table(self) -> np.ndarray | None:
        if self.codes is None:
            return None
        if self.splits:
            raise ConfigError(
                message("codes and {}: expected shared", Setting("basis_reading", "pairs"))
            )
        try:
            codes = np.asarray(self.codes, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"codes: not an array of numbers: {error}") from error
        k = self.labels.size
        if codes.ndim != 2 or codes.shape[0] != k or not codes.size:
            raise ConfigError(
                f"codes: the array has shape {codes.shape}, expected ({k}, length of a code)"
            )
        if not np.isfinite(codes).all():
            raise ConfigError("codes: the array has an entry that is not finite")
        return codes

    @property
    def has_codes(self) -> bool:
        """Whether classes have features other than the class itself."""
        return self.codes is not None

    def check_formulation(self, formulation: str, rescaling: str) -> None:
        super().check_formulation(formulation, rescaling)
        if self.has_codes:
            raise ConfigError(
                message(
                    "{} and codes: the solver is for classes with a weight vector each",
                    Setting("solver", "sequential-dual"),
                )
            )

    def _carried(self, w: np.ndarray, earlier: ClassTask) -> np.ndarray:
        old = w.reshape(earlier.n_features + 1, -1)
        new = np.zeros((self.n_features + 1, self.n_codes))
        columns = self._carried_columns(earlier)
        new[: earlier.n_features, columns] = old[:-1]
        new[-1, columns] = old[-1]
        return new.ravel()

    def _carried_columns(self, earlier: ClassTask) -> np.ndarray:
        """Where the columns of an earlier task's codes are among these."""
        places = np.searchsorted(self.labels, earlier.labels)
        codes, before = self.code_table(), earlier.code_table()
        if codes is None and before is None:
            return places
        if codes is None or before is None or not np.array_equal(codes[places], before):
            raise ConfigError(message("{start}: the classes of the earlier model have other codes"))
        return np.arange(codes.shape[1])


@dataclass(frozen=True, eq=False)
class BinaryTask(ClassTask):
    """Two classes, the lower −1 and the higher +1: Ψ(x, y) = ½yx, so that ψ = yx."""

    def code_table(self) -> np.ndarray | None:
        return HALVES

    def _check_classes(self, classes: np.ndarray) -> None:
        super()._check_classes(classes)
        if classes.size != 2:
            raise DataError(
                f"the data has {classes.size} classes {_shown(classes)}, a binary task takes two"
            )

    def check_formulation(self, formulation: str, rescaling: str) -> None:
        super().check_formulation(formulation, rescaling)
        if formulation != CRAMMER_SINGER:
            raise ConfigError(
                message(
                    "{}: of two classes there is one problem; expected a multiclass task",
                    Setting("formulation", formulation),
                )
            )

    def _carried(self, w: np.ndarray, earlier: ClassTask) -> np.ndarray:
        new = np.zeros(self.n_features + 1)
        new[: earlier.n_features], new[-1] = w[:-1], w[-1]
        return new


def _plain_labels(classes: np.ndarray) -> np.ndarray:
    """Whole numbers as integers, though a file's labels are all read as floats."""
    exact = 2.0**53
    if classes.dtype.kind == "f" and (np.abs(classes) <= exact).all() and not (classes % 1).any():
        return classes.astype(np.int64)
    return classes


def _shown(classes: np.ndarray) -> str:
    shown = ", ".join(repr(c) for c in classes[:8].tolist())
    return f"[{shown}, … ({classes.size} in all)]" if classes.size > 8 else f"[{shown}]"
