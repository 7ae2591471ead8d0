"""Compiled loops over rings: ring i has the sites starts[i] … starts[i + 1] − 1."""

import numpy as np

from distsvm.kernels.options import kernel


@kernel
def search(features, starts, w, truth, cost, out):
    """Write the labels of each ring that maximise its score, the lowest of those that are equal.

    Σ_t y_t·⟨w, (features_t, 1)⟩ + w[-1]·[y_t = y_{t+1}] + cost·[y_t ≠ truth_t], t modulo n;
    `truth` is empty, and then left out, for predictions.
    """
    d, attraction = w.size - 2, w[-1]
    for i in range(starts.size - 1):
        first, n = starts[i], starts[i + 1] - starts[i]
        # best[h, t, b]: the most that sites t … n − 1 give if site t has label b, site 0 label h.
        best = np.empty((2, n, 2))
        for t in range(n - 1, -1, -1):
            gain = w[d]  # of label 1 over label 0
            for j in range(d):
                gain += features[first + t, j] * w[j]
            if truth.size:
                gain += cost[i] * (1 - 2 * truth[first + t])
            for h in range(2):
                for b in range(2):
                    if t == n - 1:
                        rest = attraction if b == h else 0.0
                    else:
                        rest = max(best[h, t + 1, b] + attraction, best[h, t + 1, 1 - b])
                    best[h, t, b] = b * gain + rest
        h = 0 if best[0, 0, 0] >= best[1, 0, 1] else 1
        label = h
        out[first] = h
        for t in range(1, n):
            zero = best[h, t, 0] + (attraction if label == 0 else 0.0)
            one = best[h, t, 1] + (attraction if label == 1 else 0.0)
            label = 0 if zero >= one else 1
            out[first + t] = label


@kernel
def joint_features(features, starts, labels, out):
    """Add Ψ of each ring to its row: sums over sites of label 1, their number, equal neighbours."""
    d = features.shape[1]
    for i in range(starts.size - 1):
        first, end = starts[i], starts[i + 1]
        for t in range(first, end):
            if labels[t]:
                for j in range(d):
                    out[i, j] += features[t, j]
                out[i, d] += 1.0
            if labels[t] == labels[t + 1 if t + 1 < end else first]:
                out[i, d + 1] += 1.0
