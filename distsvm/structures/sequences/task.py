"""Sequence tagging: emissions of sparse token features, and transitions of first or second order.

Ψ(x, y) counts: for every token its features in the place of its tag, one for every pair of
neighbouring tags, one for the first tag and one for the last; in second order also one for the
first two tags, and one for every three tags in a row. Chosen features of a token also stand in the
place of its tag and the next one. All but the emissions count transition_scale (η) times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from distsvm import checks
from distsvm.data.features import SparseRows, frozen
from distsvm.data.shard import Shard
from distsvm.data.templates import hashed_columns
from distsvm.errors import ConfigError, DataError
from distsvm.feature_maps import FeatureMap
from distsvm.feature_maps.base import same_map
from distsvm.kinds import choice, number, text, whole
from distsvm.messages import Summary
from distsvm.options import checked, declared, option
from distsvm.oracles.label_weights import LabelWeight, weights_of_labels
from distsvm.oracles.shared_options import loss_scale_option, unfit_option
from distsvm.oracles.task import LATER, PENALTIES, Task
from distsvm.structures.sequences import step_columns
from distsvm.structures.sequences.names import Names
from distsvm.structures.sequences.oracle import SequenceOracle
from distsvm.structures.sequences.packing import packed, tokens_of
from distsvm.structures.sequences.predictor import TagPredictor
from distsvm.structures.sequences.rows import SequenceRows, pack_sequences, pack_tags
from distsvm.structures.sequences.rules import Rules, forbidden_pairs
from distsvm.structures.sequences.seen_tokens import in_columns_of, tokens_seen
from distsvm.structures.sequences.summary import SequenceSummary, summarise_sequences
from distsvm.vectors import SparseVector
from distsvm.wording import Setting, message

MAX_LABELS = int(np.iinfo(np.int16).max)
MAX_BITS = 30


class Parts(NamedTuple):
    """The parts of w (or of a sum like it), each a view of it.

    `pairs` (the first two tags) and `triples` are empty in first order.
    """

    emissions: np.ndarray  # (n_features, L): a feature's weights are one run of memory
    transitions: np.ndarray  # (L, L): [before, after]
    start: np.ndarray  # (L,)
    end: np.ndarray  # (L,)
    pairs: np.ndarray  # (L, L) or (0, L)
    triples: np.ndarray  # (L, L, L): [before that, before, after]; or (0, L, L)
    steps: np.ndarray  # (n_steps, L, L): [feature of the token before, before, after]


@dataclass(frozen=True, eq=False)
class SequenceTask(Task):
    """A tag for every token of a sequence.

    w is emissions (n_features, L), transitions (L, L), start (L), end (L), in second order pairs
    (L, L) and triples (L, L, L), and steps (n_steps, L, L) of n_steps features on transitions,
    flattened one after another: its length is n_features·L + L² + 2L + n_steps·L², in second order
    + L² + L³.

    Parameters
    ----------
    losses, loss_scale, order, allowed, min_count, hash_bits, unfit, transition_scale,
    transition_features, tag_weight :
        What their fields declare; for `allowed` see forbidden_pairs.
    labels : array of str, or None
        None takes the tags that the data has, in increasing order.
    features : FeatureMap, optional
        What maps the features of every token; then `n_features` counts what the map gives, and the
        dictionary has its columns. See distsvm.feature_maps.
    """

    losses: str = option(
        "hamming", kind=choice("hamming", "zero-one"), flag="--loss", metavar="LOSS",
        argument="loss", help="hamming, the number of wrong tags; or zero-one, 1 if any is wrong",
    )  # fmt: skip
    loss_scale: float = loss_scale_option()
    order: int = option(
        1, kind=choice(1, 2), metavar="N",
        help="how many tags before it a tag's transition weight looks at",
    )  # fmt: skip
    allowed: Any = option(
        None, kind=Rules(), metavar="RULES", usual="none",
        help="hard constraints in training and prediction; bio: I-X only after B-X or I-X",
    )  # fmt: skip
    min_count: int = option(
        1, kind=whole(least=1), metavar="N",
        help="named features that occur less often in the training data are left out",
    )  # fmt: skip
    hash_bits: int | None = option(
        None, kind=whole(1, MAX_BITS), metavar="B", usual="a dictionary",
        help="hash named features to 2^B columns instead of making a dictionary of them",
    )  # fmt: skip
    labels: np.ndarray | None = None
    unfit: str = unfit_option()
    transition_scale: float = option(
        1.0, kind=number(least=0), metavar="ETA", later=True,
        help="η, which multiplies all features of the order of tags (transitions, first and last "
        "tags): a larger one regularises their weights less",
    )  # fmt: skip
    transition_features: str | None = option(
        None, kind=text, metavar="FEATURES", usual="none", later=True,
        help="features of a token that have a weight for each pair of its tag and the next one, "
        "too: names or templates with ; between them, such as 'bias; shape', or columns of "
        "numbered features, such as '0; 3..7'",
    )  # fmt: skip
    tag_weight: Any = option(
        None, kind=LabelWeight(number(above=0), "> 0"), metavar="WEIGHTS", later=True,
        help="balanced, or a weight for each of some tags: what a wrong tag costs in the hamming "
        "loss, by the true tag (1 for tags without one)",
    )  # fmt: skip
    # Known after prepare(); the names of the features only where there is a dictionary:
    n_features: int = 0
    name_bytes: np.ndarray | None = None
    name_starts: np.ndarray | None = None
    longest: int = 1
    mean_length: float = 0.0
    features: FeatureMap | None = field(default=None, metadata=LATER)
    step_columns: np.ndarray | None = field(default=None, metadata=LATER)
    tag_weights: np.ndarray | None = field(default=None, metadata=LATER)
    mean_cost: float = field(default=0.0, metadata=LATER)

    rescalings: ClassVar[frozenset[str]] = frozenset({"margin", "slack"})
    penalties: ClassVar[frozenset[str]] = PENALTIES
    compiled: ClassVar[bool] = True
    string_inputs: ClassVar[bool] = False
    suited_solver: ClassVar[str] = "multi-plane"
    weighs_features: ClassVar[bool] = True

    # --- what prepare() learns -------------------------------------------------------------

    def scan(self, shard: Shard) -> SequenceSummary:
        shard = packed(shard)
        found = summarise_sequences(shard)
        if self.features is None or self.features.is_prepared:
            return found
        return replace(found, seen=tokens_seen(self.features, shard.x))  # type: ignore[arg-type]

    def packed(self, shard: Shard) -> Shard:
        return packed(shard)

    def check(self, shard: Shard) -> None:
        packed(shard)

    def prepare(self, summary: Summary) -> SequenceTask:
        assert isinstance(summary, SequenceSummary)
        self.check_settings()
        found = summary.labels
        if found is None or not found.size:
            raise DataError("the data has no tags")
        labels = found if self.labels is None else np.unique(np.asarray(self.labels, dtype=str))
        if labels.size > MAX_LABELS:
            raise DataError(f"the data has {labels.size} tags, at most {MAX_LABELS} are possible")
        assert summary.counts is not None
        mean = float(summary.counts.sum()) / summary.weight if summary.weight > 0 else 0.0
        task = replace(self, labels=labels, longest=max(1, summary.longest), mean_length=mean)
        unknown = found[~np.isin(found, labels)]
        if unknown.size:
            raise DataError(f"tag {str(unknown[0])!r} is not among the tags {task.shown_labels()}")
        task.forbidden()  # refuses rules that are none
        if self.tag_weight is not None:
            task = task._with_weights(summary)
        if self.features is None:
            return task._with_features(summary)._with_steps()
        if self.transition_features is not None:
            raise ConfigError(
                message("{transition_features} chooses features of the tokens, which {kernel} maps")
            )
        if self.features.is_prepared:
            return replace(task, n_features=self.features.n_features)
        return (
            replace(task, features=None)._with_features(summary)._with_map(self.features, summary)
        )

    def _with_map(self, features: FeatureMap, summary: SequenceSummary) -> SequenceTask:
        """Return the task with the map that is made from what was seen of all tokens."""
        if features.is_split:
            raise ConfigError("basis_reading", "pairs", "shared, for sequences")
        made = features.prepared(in_columns_of(self, summary.seen))
        return replace(self, features=made, n_features=made.n_features)

    def _with_weights(self, summary: SequenceSummary) -> SequenceTask:
        assert summary.labels is not None
        assert summary.counts is not None
        labels, given = self.tags(), checked(self, "tag_weight")
        counts = np.zeros(labels.size)
        counts[np.searchsorted(labels, summary.labels)] = summary.counts
        if not isinstance(given, str):
            given = {str(tag): weight for tag, weight in given.items()}
        weights = weights_of_labels("tag_weight", given, labels, counts, float(counts.sum()))
        mean = float(counts @ weights) / summary.weight if summary.weight > 0 else 0.0
        return replace(self, tag_weights=weights, mean_cost=mean)

    def _with_steps(self) -> SequenceTask:
        """Return the task with the columns of the features on transitions."""
        chosen = self.transition_features
        if chosen is None:
            return self
        if self.dictionary is not None:
            columns = step_columns.columns_by_name(chosen, self.dictionary.tolist())
        else:
            columns = step_columns.columns_by_number(chosen, self.n_features)
        step_columns.check_size(columns.size, self.tags().size)
        return replace(self, step_columns=columns)

    def _with_features(self, summary: SequenceSummary) -> SequenceTask:
        """Return the task with columns of features: by dictionary, hash, or number."""
        named = [part for part in summary.named if len(part)]
        if named and summary.n_numbered:
            raise DataError("some of the data has names for features, some has only numbers")
        if self.hash_bits is not None:
            n_features = 1 << self.hash_bits
            if summary.n_columns > n_features:
                raise DataError(
                    message(
                        "the data has feature numbers up to {}, {} has room for {}",
                        summary.n_columns - 1,
                        Setting("hash_bits", self.hash_bits),
                        n_features,
                    )
                )
            return replace(self, n_features=n_features)
        if summary.n_numbered:
            if self.min_count > 1:
                raise ConfigError(
                    message("{min_count} needs features with names; these have only numbers")
                )
            return replace(self, n_features=summary.n_columns, name_bytes=None, name_starts=None)
        features = summary.features()
        kept = np.flatnonzero(features.counts >= self.min_count)
        if not kept.size:
            n = Setting("min_count", self.min_count)
            raise DataError(message("the data has no features that occur {} times", n))
        names = features.names if kept.size == len(features) else features.names[kept]
        names = names.in_order()
        return replace(self, n_features=kept.size, name_bytes=names.data, name_starts=names.starts)

    def check_settings(self) -> None:
        """Refuse options that are wrong for all data."""
        for name in declared(type(self)):
            checked(self, name)
        if self.transition_features is not None and self.hash_bits is not None:
            raise ConfigError(
                message(
                    "{transition_features} chooses features by name or number, which {hash_bits} "
                    "does not keep"
                )
            )
        if self.tag_weight is not None and self.losses != "hamming":
            raise ConfigError(message("{tag_weight} is for {}", Setting("loss", "hamming")))

    def check_loaded(self) -> None:
        for name in ("order", "min_count", "n_features", "longest"):
            checks.whole(name, getattr(self, name))
        for name in ("loss_scale", "mean_length", "mean_cost", "transition_scale"):
            checks.number(name, getattr(self, name))
        if self.hash_bits is not None:
            checks.whole("hash_bits", self.hash_bits)
        self.check_settings()
        labels = checks.vector("labels", self.labels, "U")
        if not 0 < labels.size <= MAX_LABELS:
            raise ValueError(f"{labels.size} tags, expected 1 to {MAX_LABELS}")
        checks.increasing("labels", labels)
        self.forbidden()
        if self.features is not None and self.features.n_features != self.n_features:
            raise ValueError(f"{self.n_features} features, the feature map gives others")
        if self.tag_weights is not None:
            weights = checks.finite("tag_weights", self.tag_weights, labels.size)
            if (weights <= 0).any():
                raise ValueError("tag_weights has a number that is not above 0")
        if self.step_columns is not None:
            columns = checks.vector("step_columns", self.step_columns, "i8")
            checks.within("step_columns", columns, 0, self.n_features)
            checks.increasing("step_columns", columns)
            step_columns.check_size(columns.size, labels.size)
        if self.hash_bits is not None and self.n_columns != 1 << self.hash_bits:
            raise ValueError(f"{self.n_columns} features with hash_bits={self.hash_bits}")
        if self.name_bytes is None and self.name_starts is None:
            return
        data = checks.vector("name_bytes", self.name_bytes, "u1")
        starts = checks.vector("name_starts", self.name_starts, "i8", self.n_columns + 1)
        if starts[0] != 0 or starts[-1] != data.size or (np.diff(starts) < 0).any():
            raise ValueError("name_starts does not cut name_bytes into names")

    @property
    def n_columns(self) -> int:
        """Features of tokens as they are given: `n_features` unless they are mapped."""
        return self.n_features if self.features is None else self.features.n_columns

    @property
    def growth(self) -> float:  # type: ignore[override]
        return 1.0 if self.features is None else 3.0 * self.features.growth  # columns beside values

    @property
    def certified_for(self) -> str:  # type: ignore[override]
        return "" if self.features is None else self.features.certified_for

    def map_facts(self) -> dict[str, Any] | None:
        return None if self.features is None else self.features.facts()

    def mapped(self, tokens: SparseRows) -> SparseRows:
        """Return tokens as the kernels take them: rows that store every feature, where mapped.

        Values are float64, for which the kernels are compiled anyway.
        """
        if self.features is None:
            return tokens
        values = self.features.transform(tokens).values.astype(np.float64)
        n, k = values.shape
        columns = np.tile(np.arange(k, dtype=np.int32), n)
        entries = np.arange(0, n * k + 1, k, dtype=np.int64)
        return SparseRows(frozen(values.reshape(-1)), frozen(columns), frozen(entries), k)

    # --- tags and features as numbers ------------------------------------------------------

    def tags(self) -> np.ndarray:
        """Return the tags, in the order of their numbers."""
        if self.labels is None:
            raise ConfigError("the task is not prepared: its tags are not known yet")
        return self.labels

    @cached_property
    def dictionary(self) -> Names | None:
        """The names of the features in the order of their columns; None where it has none."""
        if self.name_bytes is None or self.name_starts is None:
            return None
        return Names(self.name_bytes, self.name_starts)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def places(self, x: SequenceRows) -> np.ndarray:
        """Return the task's column of each column of these rows, −1 where it has none."""
        if x.names is None:
            if self.dictionary is not None:
                raise DataError("the features have only numbers, the model knows them by name")
            own = np.arange(x.tokens.n_columns)
            return np.where(own < self.n_columns, own, -1)
        if self.dictionary is not None and self.hash_bits is None:
            return self.dictionary.find(x.encoded_names)
        return self.columns_of(x.names.tolist())

    def columns_of(self, names: list[str]) -> np.ndarray:
        """Return the column of each of these names, −1 where it has none."""
        if self.hash_bits is not None:
            return hashed_columns(names, self.hash_bits)
        if self.dictionary is None:
            raise DataError("the features have names, the model knows them only by number")
        return self.dictionary.find(Names.of(names))

    def tag_places(self, names: Any) -> np.ndarray:
        """Return the number of each of these tags, −1 where the task does not have it."""
        labels, names = self.tags(), np.asarray(names).astype(str)
        place = np.minimum(np.searchsorted(labels, names), labels.size - 1)
        return np.where(labels[place] == names, place, -1)

    def forbidden(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forbidden pairs (L, L), first tags (L,) and last tags (L,)."""
        return forbidden_pairs(self.allowed, self.tags().tolist())

    def shown_labels(self) -> str:
        labels = self.tags().tolist()
        shown = ", ".join(map(repr, labels[:8]))
        return f"[{shown}, … ({len(labels)} in all)]" if len(labels) > 8 else f"[{shown}]"

    # --- the task --------------------------------------------------------------------------

    @property
    def _shapes(self) -> list[tuple[int, ...]]:
        n = self.tags().size
        more = n if self.order == 2 else 0
        return [
            (self.n_features, n), (n, n), (n,), (n,), (more, n), (more, n, n), (self.n_steps, n, n)
        ]  # fmt: skip

    @property
    def n_steps(self) -> int:
        """The number of features on transitions."""
        return 0 if self.step_columns is None else self.step_columns.size

    @property
    def n_chain(self) -> int:
        """The number of weights of the order of tags, without those of features on transitions."""
        return sum(math.prod(shape) for shape in self._shapes[1:-1])

    @cached_property
    def step_place(self) -> np.ndarray | None:
        """The number of each column among step_columns, −1 where it is none; None without any."""
        if self.step_columns is None:
            return None
        place = np.full(self.n_features, -1, np.int32)
        place[self.step_columns] = np.arange(self.n_steps)
        return place

    @property
    def dim(self) -> int:  # type: ignore[override]
        return sum(math.prod(shape) for shape in self._shapes)

    @property
    def largest_loss(self) -> float:  # type: ignore[override]
        """The loss of the longest sequence of the training data with every tag wrong."""
        most = 1.0 if self.tag_weights is None else float(self.tag_weights.max())
        return self.loss_scale * (most * self.longest if self.losses == "hamming" else 1)

    @property
    def loss_unit(self) -> float:
        """The mean loss of a sequence of the training data with every tag wrong."""
        mean = self.mean_length if self.tag_weights is None else self.mean_cost
        if self.losses == "hamming" and mean > 0:
            return self.loss_scale * mean
        return self.largest_loss

    def parts(self, w: np.ndarray) -> Parts:
        """Return views of the parts of w."""
        views, start = [], 0
        for shape in self._shapes:
            size = math.prod(shape)
            views.append(w[start : start + size].reshape(shape))
            start += size
        return Parts(*views)

    def joint_features(self, x: Any, y: Any) -> SparseVector:
        codes = self._codes(y)
        rows = pack_sequences([x])
        if len(codes) != rows.tokens.n_rows:
            raise DataError(f"{len(codes)} tags for {rows.tokens.n_rows} tokens")
        tokens, _ = tokens_of(rows, self, Shard(rows, None, None))  # type: ignore[arg-type]
        values, own, entries = tokens.arrays()
        steps = self.step_place
        counts: dict[int, float] = {}
        firsts = np.cumsum([0, *(math.prod(shape) for shape in self._shapes)]).tolist()

        def count(part: str, *index: int, value: float = 1.0) -> None:
            number = Parts._fields.index(part)
            place = firsts[number] + int(np.ravel_multi_index(index, self._shapes[number]))
            value *= 1.0 if part == "emissions" else self.transition_scale
            counts[place] = counts.get(place, 0.0) + value

        for t, code in enumerate(codes):
            for e in range(entries[t], entries[t + 1]):
                count("emissions", own[e], code, value=float(values[e]))
                if steps is not None and steps[own[e]] >= 0 and t + 1 < len(codes):
                    count("steps", steps[own[e]], code, codes[t + 1], value=float(values[e]))
        for before, after in pairwise(codes):
            count("transitions", before, after)
        if codes:
            count("start", codes[0])
            count("end", codes[-1])
        if self.order == 2:
            if len(codes) > 1:
                count("pairs", codes[0], codes[1])
            for i in range(2, len(codes)):
                count("triples", codes[i - 2], codes[i - 1], codes[i])
        return SparseVector.of(counts, self.dim)

    def loss(self, y: Any, y_hat: Any) -> float:
        a, b = self._codes(y), self._codes(y_hat)
        if len(a) != len(b):
            raise DataError(f"{len(b)} tags for {len(a)} tokens")
        if self.tag_weights is not None:
            wrong_ones = [i for i, j in zip(a, b, strict=True) if i != j]
            return float(self.loss_scale * self.tag_weights[wrong_ones].sum())
        wrong = sum(i != j for i, j in zip(a, b, strict=True))
        return self.loss_scale * (wrong if self.losses == "hamming" else min(wrong, 1))

    def _codes(self, y: Any) -> list[int]:
        codes = self.tag_places(list(y)).tolist() if len(y) else []
        if -1 in codes:
            tag = list(y)[codes.index(-1)]
            raise DataError(f"tag {tag!r} is not among the tags {self.shown_labels()}")
        return codes

    def decode(self, w: np.ndarray, x: Any) -> list[str]:
        oracle = self.oracle(self.shard([x]), "margin")
        return oracle.public(oracle.decode(oracle.view(w), np.zeros(1, np.int64)))[0]

    def separate(self, w: np.ndarray, x: Any, y: Any, rescaling: str) -> list[str]:
        oracle = self.oracle(self.shard([x], [y]), rescaling)
        oracle.check_fit()
        found = oracle.separate(oracle.view(w), np.zeros(1, np.int64))
        return oracle.public(found.planes.output)[0]

    def shard(self, inputs: Sequence[Any], outputs: Sequence[Any] | None = None) -> Shard:
        x = pack_sequences(inputs)
        return Shard(x, None if outputs is None else pack_tags(outputs), None)  # type: ignore[arg-type]

    def of_words(self, words: Sequence[str]) -> Sequence[str]:
        return words

    def oracle(self, shard: Shard, rescaling: str) -> SequenceOracle:
        return SequenceOracle(self, shard, rescaling)

    def predictor(self, w: np.ndarray) -> TagPredictor | None:
        if self.dictionary is None and self.hash_bits is None:
            return None  # features without names are those of files
        return TagPredictor(self, w)

    def cost(self, x: Any) -> float:
        """Return T·L², or T·L³ in second order; T alone before the tags are known."""
        n = 1 if self.labels is None else self.labels.size
        return float(max(1, len(x)) * n ** (self.order + 1))

    def carry(self, w: np.ndarray, earlier: Task) -> np.ndarray:
        """Return w of an earlier task of this kind, with zeros for its missing features and tags.

        Features that it had and the new data has not are left out.
        """
        if not isinstance(earlier, SequenceTask):
            raise ConfigError(
                message(
                    "{start}: the earlier model is for {}, this task is {}",
                    type(earlier).__name__,
                    type(self).__name__,
                )
            )
        if not same_map(self.features, earlier.features):
            raise ConfigError(message("{start}: the earlier model has another feature map"))
        if earlier.order > self.order:
            raise ConfigError(
                message(
                    "{start}: the earlier model has order {}, this {}", earlier.order, self.order
                )
            )
        places = self.tag_places(earlier.tags())
        if (places < 0).any():
            lost = str(earlier.tags()[places < 0][0])
            raise ConfigError(
                message("{start}: tag {} of the earlier model is not in this data", repr(lost))
            )
        new = np.zeros(self.dim)
        old_parts, new_parts = earlier.parts(w), self.parts(new)
        columns = self._columns_of(earlier)
        kept = np.flatnonzero(columns >= 0)
        new_parts.emissions[np.ix_(columns[kept], places)] = old_parts.emissions[kept]
        # Scores stay what they were, whatever the scales of the features are.
        ratio = earlier.transition_scale / self.transition_scale if self.transition_scale else 0.0
        for old, part in zip(old_parts[1:-1], new_parts[1:-1], strict=True):
            if old.size:
                part[np.ix_(*[places] * part.ndim)] = ratio * old
        if earlier.step_columns is not None:
            own = columns[earlier.step_columns]
            steps = np.full(own.size, -1) if self.step_place is None else self.step_place[own]
            kept = np.flatnonzero((own >= 0) & (steps >= 0))
            new_parts.steps[np.ix_(steps[kept], places, places)] = ratio * old_parts.steps[kept]
        return new

    def _columns_of(self, earlier: SequenceTask) -> np.ndarray:
        """Return the own column of each of the earlier task's features, −1 where it has none."""
        if self.hash_bits != earlier.hash_bits:
            raise ConfigError(
                message(
                    "{start}: the earlier model has {}, this {}",
                    Setting("hash_bits", earlier.hash_bits),
                    self.hash_bits,
                )
            )
        if (self.dictionary is None) != (earlier.dictionary is None):
            raise ConfigError(
                message("{start}: one model knows features by name, the other by number")
            )
        if self.features is not None:
            return np.arange(self.n_features)
        if self.dictionary is not None and earlier.dictionary is not None:
            return self.dictionary.find(earlier.dictionary)
        own = np.arange(earlier.n_features)
        return np.where(own < self.n_features, own, -1)
