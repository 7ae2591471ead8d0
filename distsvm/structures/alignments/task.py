"""AlignmentTask: find the homologue of a native sequence, or the alignment of a pair."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from distsvm import checks
from distsvm.data.features import frozen
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.kinds import Kind, choice, text, truth
from distsvm.messages import Summary
from distsvm.options import check_fields, option
from distsvm.oracles.shared_options import loss_scale_option
from distsvm.oracles.task import PENALTIES, Task
from distsvm.structures.alignments.alignment import (
    Alignment,
    Sequences,
    as_alignment,
    as_sequences,
    decoded,
    encoded,
    named,
)
from distsvm.structures.alignments.oracle import AlignmentOracle
from distsvm.structures.alignments.scoring import Scoring
from distsvm.wording import Form, Message, Setting, message

FIRST = np.zeros(1, dtype=np.int64)
MOST_LETTERS = 200
NO_ALIGNMENT = ""
"""Among the labels of a Summary: counts the examples whose alignment is not given."""


class Reference(Kind):
    """A w, which a shell and a file name the model of."""

    expected = Message(Form("an array of length dim, or None", "a model of alignments"))

    def check(self, value: Any) -> Any:
        return value if isinstance(value, np.ndarray) else super().check(value)


@dataclass(frozen=True, eq=False)
class AlignmentTask(Task):
    """Learn the scores by which the homologue of a native sequence aligns better than decoys.

    x is (native, candidates), and y an Alignment of the native sequence and one candidate, the
    homologue, or its number alone. Ψ(x, y) counts the columns of the alignment: a feature for each
    pair of letters, and one (linear) or two (affine) for letters that are alone. The prediction is
    the candidate with the best alignment, and that alignment.

    With the loss zero-one, the outputs in training are the homologue with its given alignment, and
    every decoy with any alignment; other alignments of the homologue are none. With residues, x has
    one candidate, the outputs are all of its alignments, and Δ is `loss_scale` times the number of
    letters of both sequences whose partner differs, or that have one in one alignment only.

    Where the alignment of a homologue is not given, it is the best one under `reference`.

    Parameters
    ----------
    losses, loss_scale, alignment, gaps, symmetric, alphabet :
        What their fields declare.
    reference : array of length dim, optional
        None: equal letters score 1, others −1, letters alone −1 (and the first of a run −2 where
        gaps are affine).
    """

    losses: str = option(
        "zero-one", kind=choice("zero-one", "residues"), flag="--loss", metavar="LOSS",
        argument="loss",
        help="zero-one, whether another candidate than the homologue is found; or residues, how "
        "many letters of a pair of sequences have another partner than in the true alignment",
    )  # fmt: skip
    loss_scale: float = loss_scale_option()
    alignment: str = option(
        "local", kind=choice("local", "global"), metavar="KIND",
        help="local (Smith–Waterman: of parts of both sequences, or of nothing, which scores 0) or "
        "global (Needleman–Wunsch: of all letters)",
    )  # fmt: skip
    gaps: str = option(
        "linear", kind=choice("linear", "affine"), metavar="KIND",
        help="linear: one score for every letter that is alone; affine: one for the first letter "
        "of a run, and one for each that follows",
    )  # fmt: skip
    symmetric: bool = option(
        False, kind=truth,
        help="one score for the pairs (a, b) and (b, a), as matrices of proteins have it. Default: "
        "two",
    )  # fmt: skip
    alphabet: str = option(
        "", kind=text, metavar="LETTERS", usual="those of the training data",
        help="the letters that sequences may have; others are refused",
    )  # fmt: skip
    reference: np.ndarray | None = option(
        None, kind=Reference(), metavar="MODEL", usual="equal letters score 1, others and gaps −1",
        help="the w (in a shell, the model) by which alignments of homologues that are not given "
        "are found",
    )  # fmt: skip
    letters: str = ""  # known after prepare()
    longest: int = 0
    """Letters of a native sequence and a candidate together."""
    n_unknown: int = 0
    """Training examples whose alignment was not given."""

    compiled: ClassVar[bool] = True
    string_inputs: ClassVar[bool] = False
    suited_solver: ClassVar[str] = "multi-plane"

    def __post_init__(self) -> None:
        check_fields(self)
        if len(set(self.alphabet)) < len(self.alphabet):
            raise ConfigError("alphabet", self.alphabet, "letters that differ")
        if isinstance(self.reference, str):
            raise ConfigError("reference", self.reference, "an array of length dim, or None")

    # --- what prepare() learns -------------------------------------------------------------

    def scan(self, shard: Shard) -> Summary:
        """Return the letters as labels; n_columns: the most letters of a pair."""
        if hasattr(shard.x, "n_rows"):
            raise DataError(
                f"{shard.source}: the examples are rows of features, expected sequences"
            )
        found: set[str] = set()
        longest, n_unknown = 0, 0.0
        for i in range(shard.n):
            x = shard.names.call(i, as_sequences, shard.x[i])
            found.update(x.native, *x.candidates)
            longest = max(longest, len(x.native) + max(map(len, x.candidates)))
            if self.alphabet:
                shard.names.call(i, self._check_letters, x, self.alphabet)
            if shard.y is not None:
                y = shard.names.call(i, self.checked_output, x, shard.y[i])
                n_unknown += y.columns is None
        labels = np.array([NO_ALIGNMENT, *sorted(found)])
        counts = np.array([n_unknown, *np.ones(len(found))])
        return replace(super().scan(shard), labels=labels, counts=counts, n_columns=longest)

    def prepare(self, summary: Summary) -> AlignmentTask:
        if summary.labels is None or summary.counts is None:
            raise DataError("the data has no sequences")
        letters = self.letters or self.alphabet or "".join(summary.labels.tolist())
        if len(letters) > MOST_LETTERS:
            raise DataError(
                f"the sequences have {len(letters)} letters, expected at most {MOST_LETTERS}"
            )
        task = replace(
            self, letters=letters, longest=max(self.longest, summary.n_columns),
            n_unknown=int(summary.counts[0]),
        )  # fmt: skip
        if task.reference is not None:
            checks.finite("reference", task.reference, task.dim)
        return task

    def check_loaded(self) -> None:
        if not isinstance(self.letters, str) or len(set(self.letters)) < len(self.letters):
            raise ValueError("letters are no text of letters that differ")
        if not 0 < len(self.letters) <= MOST_LETTERS:
            raise ValueError(f"{len(self.letters)} letters, expected 1 to {MOST_LETTERS}")
        checks.number("loss_scale", self.loss_scale)
        for name in ("longest", "n_unknown"):
            checks.whole(name, getattr(self, name))
        if self.reference is not None:
            checks.finite("reference", self.reference, self.dim)

    # --- w ---------------------------------------------------------------------------------

    @property
    def is_local(self) -> bool:
        return self.alignment == "local"

    @property
    def n_pairs(self) -> int:
        """Features of pairs of letters."""
        k = len(self.letters)
        return k * (k + 1) // 2 if self.symmetric else k * k

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.n_pairs + (2 if self.gaps == "affine" else 1)

    @cached_property
    def pair_features(self) -> np.ndarray:
        """The feature of letters a and b, at a·k + b."""
        k = len(self.letters)
        if not self.symmetric:
            return frozen(np.arange(k * k))
        square = np.zeros((k, k), np.int64)
        square[np.triu_indices(k)] = np.arange(self.n_pairs)
        return frozen(np.maximum(square, square.T).ravel())

    @property
    def gap_features(self) -> tuple[int, int]:
        """The features of the first letter of a run of letters alone, and of the others."""
        return self.n_pairs, self.dim - 1

    def matrix(self, w: np.ndarray) -> np.ndarray:
        """Return the scores of pairs: rows are letters of native sequences, columns others."""
        k = len(self.letters)
        return w[self.pair_features].reshape(k, k)

    def scoring(self, w: np.ndarray) -> Scoring:
        """Return the scores of w as arguments of the search."""
        open_, extend = (float(w[feature]) for feature in self.gap_features)
        return Scoring.of(self.matrix(w), open_, extend, self.is_local)

    def reference_weights(self) -> np.ndarray:
        """Return the w that finds alignments that are not given."""
        if self.reference is not None:
            return self.reference
        w = np.full(self.dim, -1.0)
        w[self.pair_features.reshape(len(self.letters), -1).diagonal()] = 1.0
        if self.gaps == "affine":
            w[self.gap_features[0]] = -2.0
        return w

    @cached_property
    def _number(self) -> np.ndarray:
        """The number of each letter by its code point, MOST_LETTERS for those that are none."""
        codes = [ord(letter) for letter in self.letters]
        numbers = np.full(max(codes) + 2, MOST_LETTERS, np.uint8)
        numbers[codes] = np.arange(len(codes))
        return numbers

    def encoded_letters(self, sequence: str) -> np.ndarray:
        """Return the numbers of the letters."""
        codes = np.frombuffer(sequence.encode("utf-32-le", "surrogatepass"), np.uint32)
        numbers = self._number[np.minimum(codes, self._number.size - 1)]
        wrong = numbers == MOST_LETTERS
        if wrong.any():
            place = int(wrong.argmax())
            raise DataError(
                f"the sequence has the letter {sequence[place]!r} at place {place}, expected "
                f"letters of the alphabet {self.letters!r}"
            )
        return numbers

    def __getstate__(self) -> dict[str, Any]:
        cached = ("pair_features", "_number")  # made again where they are needed
        return {name: value for name, value in vars(self).items() if name not in cached}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    # --- the structure ---------------------------------------------------------------------

    @property
    def rescalings(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"margin"} if self.losses == "residues" else {"margin", "slack"})

    @property
    def penalties(self) -> frozenset[str]:
        """All where every decoy has one loss, so that the best one is the most violated."""
        return PENALTIES if self.losses == "zero-one" else frozenset({"linear"})

    @property
    def largest_loss(self) -> float:  # type: ignore[override]
        return self.loss_scale * (max(1, self.longest) if self.losses == "residues" else 1)

    @property
    def loss_unit(self) -> float:
        return self.largest_loss

    def radius(self) -> float | None:
        """‖ψ‖² ≤ ‖Ψ(x, y)‖² + ‖Ψ(x, ŷ)‖², as counts are not negative; each column has a letter."""
        return math.sqrt(2.0) * self.longest if self.longest else None

    def competes(self, y: Any, y_hat: Any) -> bool:
        if self.losses == "residues" or y == y_hat:
            return True
        return _known(y).candidate != _known(y_hat).candidate

    def joint_features(self, x: Any, y: Any) -> np.ndarray:
        oracle = self.oracle(Shard([x], [y], None), "margin")
        out = np.zeros(self.dim)
        np.add.at(out, oracle.features(FIRST, oracle.truths(FIRST))[0], 1.0)
        return out

    def loss(self, y: Any, y_hat: Any) -> float:
        y, y_hat = _known(y), _known(y_hat)
        if y.candidate != y_hat.candidate:
            return self.largest_loss
        if self.losses == "zero-one":
            return 0.0
        # A pair of one alignment only: each of its letters has another partner, or none, but both
        # alignments may give one letter a partner, which counts once.
        wrong = 0
        for side in (0, 1):
            ours, theirs = (
                {pair[side]: pair[1 - side] for pair in alignment.pairs()}
                for alignment in (y, y_hat)
            )
            wrong += sum(ours.get(i) != theirs.get(i) for i in ours.keys() | theirs.keys())
        return self.loss_scale * wrong

    def decode(self, w: np.ndarray, x: Any) -> Alignment:
        oracle = self.oracle(self.shard([x]), "margin")
        return oracle.public(oracle.decode(oracle.view(w), FIRST))[0]

    def separate(self, w: np.ndarray, x: Any, y: Any, rescaling: str) -> Alignment:
        oracle = self.oracle(self.shard([x], [y]), rescaling)
        return oracle.public(oracle.separate(oracle.view(w), FIRST).planes.output)[0]

    def oracle(self, shard: Shard, rescaling: str) -> AlignmentOracle:
        if rescaling not in self.rescalings:
            given = Setting("rescaling", rescaling)
            raise ConfigError(message("{}: {} loss has margin only", given, self.losses))
        return AlignmentOracle(self, shard, rescaling)

    def encode_output(self, y: Any) -> Any:
        return encoded(y)

    def decode_output(self, data: Any) -> Any:
        return decoded(data)

    def cost(self, x: Any) -> float:
        native, candidates = as_sequences(x)
        return float(len(native)) * sum(map(len, candidates))

    def checked_output(self, x: Sequences, y: Any) -> Alignment:
        """Return the true output, refused where it does not fit its sequences or the loss."""
        y = as_alignment(y, x, not self.is_local)
        n = len(x.candidates)
        if self.losses == "residues" and y.columns is None:
            raise DataError("the alignment is not given, expected one for the loss residues")
        if self.losses == "residues" and n > 1:
            raise DataError(f"the example has {n} candidates, expected one for the loss residues")
        if self.losses == "zero-one" and n < 2:
            raise DataError(
                "the example has no decoys: it has one candidate, expected the homologue and one "
                "decoy or more for the loss zero-one"
            )
        return y

    def _check_letters(self, x: Sequences, letters: str) -> None:
        for name, sequence in named(x):
            wrong = [letter for letter in sequence if letter not in letters]
            if wrong:
                raise DataError(
                    f"the {name} has the letter {wrong[0]!r}, expected letters of the alphabet "
                    f"{letters!r}"
                )

    def carry(self, w: np.ndarray, earlier: Task) -> np.ndarray:
        """Return the earlier scores of gaps and common letters, and zeros for other letters."""
        if not isinstance(earlier, AlignmentTask):
            raise ConfigError(
                message("{start}: the earlier model is for {}", type(earlier).__name__)
            )
        new, old = np.zeros(self.dim), earlier.matrix(w)
        places = {letter: place for place, letter in enumerate(earlier.letters)}
        for a, first in enumerate(self.letters):
            for b, second in enumerate(self.letters):
                if first in places and second in places:
                    feature = self.pair_features[a * len(self.letters) + b]
                    new[feature] = old[places[first], places[second]]
        new[list(self.gap_features)] = w[list(earlier.gap_features)]
        return new


def _known(y: Any) -> Alignment:
    return Alignment(y) if isinstance(y, int) else y
