"""Learn scores of alignment that tell a homologue from decoys, and write them for other programs.

The sequences are made up: a homologue replaces letter c by the next one more often than it keeps
it, so that matrices of proteins, which favour equal letters, are of no use. Run it:
python examples/align_sequences.py [MATRIX]
"""

import sys
import tempfile
from pathlib import Path

from distsvm import SequenceAligner
from distsvm.data.synthetic import make_alignments
from distsvm.structures.alignments.drawing import draw_alignment

if __name__ == "__main__":
    inputs, outputs = make_alignments(40, seed=0)
    test_inputs, test_outputs = make_alignments(200, seed=1)

    aligner = SequenceAligner(C=40.0, eps=0.1).fit(inputs, outputs)
    result = aligner.result_
    print(f"certificate {result.certificate}: {result.dual:.3f} ≤ optimum ≤ {result.primal:.3f}")
    print(f"{result.n_rounds} rounds, {result.n_oracle_calls} searches among decoys")
    print(
        f"test: {aligner.score(test_inputs, test_outputs):.4f} of homologues found, 0.09 by chance"
    )
    first, others = aligner.gap_scores_
    print(f"a letter alone scores {first:.3f}")

    found = aligner.predict(test_inputs[:1])[0]
    print(f"\n{draw_alignment(test_inputs[0], found)}")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "matrix.txt")
    path.write_text(aligner.matrix_text(), encoding="utf-8")
    print(f"\nthe scores of pairs, as BLAST has them: {path}")
