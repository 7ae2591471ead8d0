"""Learning to align: errors, planes, and speed beside Biopython and parasail.

Run: python benchmarks/alignment.py errors [--samples 10] [--sizes 1 2 4 10 20 40 80] [--C 10]
     python benchmarks/alignment.py planes [--samples 3]   (against the number of examples and eps)
     python benchmarks/alignment.py speed  [--repeats 9]   (about half a minute)
Two workers against one: python benchmarks/two_workers.py --task alignment

errors and planes: the synthetic model of the paper (20 letters, length 50, 10 decoys). The error is
the share of test examples in which a decoy wins, of 200 in each sample. SVM2 has squared slacks,
SVM1 the hinge loss, both one C for the mean of all examples. The generative model has
log P(a, b) / (P(a)·P(b)), with one added to each count of a pair in the given alignments, and a gap
score that is given. Published figures are those of an SVM with squared slacks, whose C has another
unit.

speed: local alignment with affine gaps of pairs of equal length, scores alone and with the
alignment, in cells a second on one core. All programs find the same scores of the same pairs, in
turns; ratios are medians over the turns. Wanted: 4 times Biopython, and parasail's scalar routine.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from support import interleaved, machine, median_ratio, peer, table, use_cores, verdict

from distsvm import AlignmentTask, TrainResult, train
from distsvm.data.ragged import Ragged, offsets
from distsvm.data.shard import Shard
from distsvm.structures.alignments.kernels import pairs
from distsvm.structures.alignments.scoring import Scoring
from distsvm.structures.alignments.synthetic import LETTERS, make_alignments

PUBLISHED = {
    1: ("74.3", "47.0", "7.8"), 2: ("–", "–", "13.9"), 4: ("28.0", "14.4", "31.9"),
    10: ("10.2", "7.1", "58.9"), 20: ("–", "–", "95.2"), 40: ("2.3", "3.0", "157.2"),
    80: ("1.9", "2.8", "252.7"),
}  # fmt: skip
"""By examples: error of the generative model and of the SVM, and constraints of the SVM."""
N_TEST = 200
OPEN, EXTEND = -11, -1


# --- errors and planes ---------------------------------------------------------------------


def trained(n: int, seed: int, C: float, eps: float, penalty: str = "linear") -> TrainResult:
    task = AlignmentTask(alphabet=LETTERS)
    data = make_alignments(n, seed=1000 * seed + n)
    return train(
        task, *data, C=C, eps=eps, solver="n-slack", executor="serial", n_blocks=1,
        penalty=penalty,
    )  # fmt: skip


def errors_of(results: Sequence[TrainResult]) -> str:
    """Return the test errors of one run a sample."""
    return spread([error(r.model.task, r.model.w, seed) for seed, r in enumerate(results)])


def error(task: AlignmentTask, w: np.ndarray, seed: int) -> float:
    """Return the percentage of test examples in which a decoy scores at least as much."""
    inputs, outputs = make_alignments(N_TEST, seed=1000 * seed + 999)
    oracle = task.oracle(Shard(inputs, None, None), "margin")
    scores = oracle.candidate_scores(oracle.view(w), np.arange(oracle.n))
    wrong = 0
    for i, y in enumerate(outputs):
        own = scores.row(i)
        wrong += np.delete(own, y.candidate).max() >= own[y.candidate]
    return 100.0 * wrong / N_TEST


def generative(n: int, seed: int, gap: float) -> tuple[AlignmentTask, np.ndarray]:
    """Return the log odds of the pairs in n given alignments."""
    inputs, outputs = make_alignments(n, seed=1000 * seed + n)
    number = {letter: k for k, letter in enumerate(LETTERS)}
    counts, single = np.ones((20, 20)), np.ones(20)
    for x, y in zip(inputs, outputs, strict=True):
        for i, j in y.pairs():
            counts[number[x.native[i]], number[x.candidates[y.candidate][j]]] += 1
        for text in (x.native, *x.candidates):
            np.add.at(single, [number[letter] for letter in text], 1)
    share = single / single.sum()
    odds = np.log(counts / counts.sum()) - np.log(np.outer(share, share))
    return AlignmentTask(letters=LETTERS), np.append(odds.ravel(), gap)


def spread(values: Sequence[float]) -> str:
    """Return mean and standard error."""
    if len(values) < 2:
        return f"{values[0]:.1f}"
    return f"{statistics.mean(values):.1f}±{statistics.stdev(values) / len(values) ** 0.5:.1f}"


def held(results: Sequence[TrainResult]) -> tuple[str, str, str]:
    """Return planes held, those with α > 0, and searches, of runs in the mean."""
    last = [result.history[-1] for result in results]
    support = [record.value("n_support_planes") or 0.0 for record in last]
    return (
        spread([record.n_planes for record in last]),
        spread(support),
        spread([result.n_oracle_calls for result in results]),
    )


def errors(args: argparse.Namespace) -> None:
    rows = []
    for n in args.sizes:
        hinge, squared = (
            [trained(n, seed, args.C, args.eps, penalty) for seed in range(args.samples)]
            for penalty in ("linear", "quadratic")
        )
        odds = [error(*generative(n, seed, args.gap), seed) for seed in range(args.samples)]
        published = PUBLISHED.get(n, ("–", "–", "–"))
        svm = errors_of(squared), errors_of(hinge)
        sizes = held(squared)[:2] + held(hinge)[:2]
        rows.append((n, *svm, spread(odds), *sizes, *published))
    print(f"{args.samples} samples, C={args.C:g}, eps={args.eps:g}, gap score {args.gap:g}")
    table(
        ("n", "SVM2 error %", "SVM1 error %", "generative %", "SVM2: planes", "support",
         "SVM1: planes", "support", "published: generative", "SVM2", "|S|"),
        rows,
    )  # fmt: skip


def planes(args: argparse.Namespace) -> None:
    cases = [(n, args.eps) for n in args.sizes] + [(20, eps) for eps in (1, 0.3, 0.1, 0.03, 0.01)]
    rows = []
    for n, eps in cases:
        for penalty, name in (("quadratic", "SVM2"), ("linear", "SVM1")):
            results = [trained(n, seed, args.C, eps, penalty) for seed in range(args.samples)]
            rows.append((n, f"{eps:g}", name, *held(results)))
    print(f"{args.samples} samples, C={args.C:g}")
    table(("n", "eps", "", "planes", "support", "searches"), rows)


# --- speed ---------------------------------------------------------------------------------


class Pairs:
    """Pairs of random sequences of one length, and whole numbers as scores."""

    def __init__(self, n: int, length: int) -> None:
        rng = np.random.default_rng(0)
        self.cells = n * length**2
        self.x, self.y = (
            Ragged.of(list(rng.integers(0, 20, (n, length))), np.uint8) for _ in range(2)
        )
        # Symmetric, as parasail's striped routines read the matrix the other way round.
        half = np.tril(rng.integers(-4, 2, (20, 20)), -1)
        self.matrix = (half + half.T + np.diag(rng.integers(4, 10, 20))).astype(float)
        self.texts = [
            ["".join(LETTERS[k] for k in part.row(i)) for i in range(n)]
            for part in (self.x, self.y)
        ]
        self.each = np.arange(n)
        self.starts = offsets(1 + self.x.lengths + self.y.lengths)

    def ours(self, dtype: type) -> list[float]:
        scoring = Scoring.of(self.matrix.astype(dtype), OPEN, EXTEND, True)
        out = np.empty(self.each.size, dtype)
        pairs.scores(*scoring, *self._letters(), self.each, self.each, self.each, out)
        return out.tolist()

    def ours_traced(self) -> list[float]:
        scoring = Scoring.of(self.matrix, OPEN, EXTEND, True)
        out, best = np.empty(self.starts[-1], np.int16), np.empty(self.each.size)
        pairs.align(
            *scoring, *self._letters(), self.each, self.each, self.each, None, None, 1.0,
            np.zeros(self.each.size, np.int64), out, self.starts, best,
        )  # fmt: skip
        return best.tolist()

    def _letters(self) -> tuple[Any, ...]:
        return self.x.values, self.x.starts, self.y.values, self.y.starts

    def each_pair(self, function: Callable[[str, str], float]) -> list[float]:
        return [function(a, b) for a, b in zip(*self.texts, strict=True)]


def biopython(found: Pairs) -> dict[str, Callable[[], list[float]]]:
    align = peer("Bio.Align")
    aligner = align.PairwiseAligner(mode="local", open_gap_score=OPEN, extend_gap_score=EXTEND)
    aligner.substitution_matrix = align.substitution_matrices.Array(LETTERS, 2, found.matrix)
    return {
        "Biopython": lambda: found.each_pair(aligner.score),
        "Biopython, alignment": lambda: found.each_pair(lambda a, b: aligner.align(a, b)[0].score),
    }


def parasails(found: Pairs) -> dict[str, Callable[[], list[float]]]:
    parasail = peer("parasail")
    matrix = parasail.matrix_create(LETTERS, 1, -1)
    for i in range(20):
        for j in range(20):
            matrix.set_value(i, j, int(found.matrix[i, j]))

    def run(name: str) -> Callable[[], list[float]]:
        function = getattr(parasail, name)
        return lambda: found.each_pair(lambda a, b: function(a, b, -OPEN, -EXTEND, matrix).score)

    return {
        "parasail scalar": run("sw"),
        "parasail striped": run("sw_striped_16"),
        "parasail scalar, alignment": run("sw_trace"),
        "parasail striped, alignment": run("sw_trace_striped_16"),
    }


def speed(args: argparse.Namespace) -> None:
    use_cores(1)
    for length, n in ((50, 640), (300, 128)):
        found = Pairs(n, length)
        functions: dict[str, Callable[[], list[float]]] = {
            "distsvm, float64": lambda found=found: found.ours(np.float64),
            "distsvm, float32": lambda found=found: found.ours(np.float32),
            "distsvm, alignment": found.ours_traced,
            **biopython(found),
            **parasails(found),
        }
        expected = found.ours(np.float64)
        for name, function in functions.items():
            assert function() == expected, name
        times = interleaved(functions, args.repeats)
        rows = []
        for name, own in times.items():
            ours = "distsvm, alignment" if "alignment" in name else "distsvm, float64"
            ratio = median_ratio(own, times[ours])
            wanted = {"Biopython": 4.0, "parasail scalar": 1.0}.get(name.partition(",")[0])
            rows.append(
                (name, f"{found.cells / statistics.median(own) / 1e9:.3f}", f"{ratio:.2f}",
                 "" if wanted is None else f"≥ {wanted:g}: {verdict(ratio >= wanted)}")
            )  # fmt: skip
        print(f"{n} pairs of length {length}, medians of {args.repeats} turns")
        table(("program", "10⁹ cells a second", "its time / ours", "wanted"), rows)
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("errors", "planes", "speed"))
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(PUBLISHED))
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--gap", type=float, default=-1.0)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    print(machine())
    {"errors": errors, "planes": planes, "speed": speed}[args.what](args)


if __name__ == "__main__":
    main()
