"""The best alignment of many pairs at once: each pair is a lane, and lanes lie side by side.

Cell (i, j) is the place behind i letters of x and j letters of y. The last column of an alignment
that ends there is a pair of letters (M), a letter of x alone (X) or a letter of y alone (Y), or the
alignment begins there. A run of n letters alone scores open + (n − 1)·extend. Then, with
e = max(M, floor):

    M(i, j) = S[x_i, y_j] + H(i − 1, j − 1)         P = max(e, Y),  Q = max(e, X),  H = max(P, X)
    X(i + 1, j) = max(P(i, j) + open, X(i, j) + extend)
    Y(i, j + 1) = max(Q(i, j) + open, Y(i, j) + extend)

floor is 0 for local alignment, which may begin anywhere, and −∞ for global alignment. A run is
opened from other states alone, so that this is the maximum for scores of any sign.

Every lane does the same operations, whatever its neighbours are: its result has the same bits
anywhere. The type of S decides whether sums are made in float32 or float64.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel

LANES = 64
"""The most lanes of a call."""
BEGAN, P_IS_Y, Q_IS_X, H_IS_X, X_GOES_ON, Y_GOES_ON = (np.uint8(1 << bit) for bit in range(6))
"""What a cell's trace says: that nothing but the floor was before M, and which was the larger."""
NO = np.uint8(0)


@kernel
def fill(S, width, open_, extend, floor, x, nx, y, ny, extra, best, where, trace):
    """Write the score of each lane's best alignment to `best`.

    S is flat, with `width` entries a row; the letter width − 1 stands before every sequence and
    scores 0. x and y are flat, too: a row a place, a column a lane; nx falls from lane to lane.
    `extra` is None, or what pairs score beside S, in the form of x and y: (of x_i, of y_j, the
    place j that x_i belongs to, what that pair scores). `where` and `trace` are None, or get the
    cell in which the best alignment ends, and the choices at every cell.
    """
    lanes = nx.size
    rows, columns = x.size // lanes, y.size // lanes
    none, zero = S.dtype.type(-np.inf), S.dtype.type(0.0)
    # One array for what belongs to a column, one for what belongs to a lane: fewer arrays, fewer
    # checks before each loop over lanes. Columns: H, the next X, score of the pair, 0 or −∞ where
    # the lane has ended. Lanes: H of the diagonal, the next Y, the best score, its cell.
    of_columns = np.full(columns * 4 * LANES, none, S.dtype)
    of_lanes = np.full(4 * LANES, none, S.dtype)
    for j in range(columns):
        for k in range(lanes):
            of_columns[(4 * j + 3) * LANES + k] = zero if j <= ny[k] else none
    offset = np.zeros(LANES, np.uint32)
    active = lanes
    for i in range(rows):
        while nx[active - 1] < i:
            active -= 1
        for k in range(active):
            of_lanes[k] = zero if i == 0 else none
            of_lanes[LANES + k] = none
            offset[k] = x[i * lanes + k] * width
        for j in range(columns):
            a, at = 4 * LANES * j, (i * columns + j) * lanes
            for k in range(active):
                of_columns[a + 2 * LANES + k] = S[offset[k] + y[j * lanes + k]]
            if extra is not None:
                for k in range(active):
                    more = extra[0][i * lanes + k] + extra[1][j * lanes + k]
                    if extra[2][i * lanes + k] == j:
                        more += extra[3][i * lanes + k]
                    of_columns[a + 2 * LANES + k] += more
            place = S.dtype.type(i * columns + j)
            for k in range(active):
                m = of_lanes[k] + of_columns[a + 2 * LANES + k]
                next_x, next_y = of_columns[a + LANES + k], of_lanes[LANES + k]
                e = m if m > floor else floor
                p = next_y if next_y > e else e
                q = next_x if next_x > e else e
                h = next_x if next_x > p else p
                open_x, longer_x = p + open_, next_x + extend
                open_y, longer_y = q + open_, next_y + extend
                of_lanes[k] = of_columns[a + k]
                of_columns[a + k] = h
                of_columns[a + LANES + k] = longer_x if longer_x > open_x else open_x
                of_lanes[LANES + k] = longer_y if longer_y > open_y else open_y
                ended, most = h + of_columns[a + 3 * LANES + k], of_lanes[2 * LANES + k]
                of_lanes[2 * LANES + k] = ended if ended > most else most
                if trace is not None:
                    last = of_lanes[3 * LANES + k]
                    of_lanes[3 * LANES + k] = place if ended > most else last
                    trace[at + k] = np.uint8(
                        (BEGAN if m <= floor else NO)
                        | (P_IS_Y if next_y > e else NO)
                        | (Q_IS_X if next_x > e else NO)
                        | (H_IS_X if next_x > p else NO)
                        | (X_GOES_ON if longer_x > open_x else NO)
                        | (Y_GOES_ON if longer_y > open_y else NO)
                    )
        if floor < zero:  # global: the last cell counts
            for k in range(active):
                if nx[k] == i:
                    of_lanes[2 * LANES + k] = of_columns[4 * LANES * ny[k] + k]
                    of_lanes[3 * LANES + k] = i * columns + ny[k]
    for k in range(lanes):
        best[k] = of_lanes[2 * LANES + k]
        if where is not None:
            where[k] = int(of_lanes[3 * LANES + k])
