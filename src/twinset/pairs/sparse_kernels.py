"""Cosines of sparse vectors in float64, summed by ascending column."""

import math

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.pairs.vectors_kernels import keep_best


@kernel("void(int64[::1], float32[::1], float64[::1])")
def squares(offsets, values, lengths):  # type: ignore[no-untyped-def]
    """Squared length of each vector: offsets int64 (n + 1), values float32, lengths float64 (n), written."""
    for row in range(len(lengths)):
        total = 0.0
        for at in range(offsets[row], offsets[row + 1]):
            total += np.float64(values[at]) * np.float64(values[at])
        lengths[row] = total


@inlined
def clipped(product, left_square, right_square):  # type: ignore[no-untyped-def]
    """The cosine of two vectors of a known product and known squared lengths."""
    return min(max(product / math.sqrt(left_square * right_square), -1.0), 1.0)


@kernel(
    "int64(int64[::1], uint32[::1], float32[::1], float64[::1], uint32[::1], uint32[::1], float64, int64[::1],"
    "float64[::1])"
)
def similar(
    offsets, columns, values, squares, lefts, rights, threshold, kept, scores
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Write the pairs with a cosine of at least the threshold to kept, their cosines to scores; return their number.

    offsets, columns, values, squares: vectors, none of them empty, columns ascending; lefts and rights uint32 (m), kept
    int64 and scores float64 (m), written.
    """
    count = 0
    for i in range(len(lefts)):
        one, one_end = offsets[lefts[i]], offsets[lefts[i] + 1]
        two, two_end = offsets[rights[i]], offsets[rights[i] + 1]
        product = 0.0
        while one < one_end and two < two_end:
            if columns[one] == columns[two]:
                product += np.float64(values[one]) * np.float64(values[two])
                one += 1
                two += 1
            elif columns[one] < columns[two]:
                one += 1
            else:
                two += 1
        score = clipped(product, squares[lefts[i]], squares[rights[i]])
        if score >= threshold:
            kept[count], scores[count] = i, score
            count += 1
    return count


@kernel(
    "int64(int64[::1], uint32[::1], float32[::1], float64[::1], int64, float64, float64[::1], uint32[::1],"
    "float64[::1])"
)
def like(offsets, columns, values, squares, query, threshold, spread, rows, scores):  # type: ignore[no-untyped-def]
    """Write all vectors with a cosine of at least the threshold with one of them, itself included; return their number.

    spread float64 (columns): zeros, left so. rows uint32 and scores float64 (n), written.
    """
    count = 0
    for at in range(offsets[query], offsets[query + 1]):
        spread[columns[at]] = values[at]
    for row in range(len(squares)):
        product = 0.0
        for at in range(offsets[row], offsets[row + 1]):
            product += spread[columns[at]] * np.float64(values[at])
        score = clipped(product, squares[query], squares[row])
        if score >= threshold:
            rows[count], scores[count] = row, score
            count += 1
    for at in range(offsets[query], offsets[query + 1]):
        spread[columns[at]] = 0.0
    return count


@kernel(
    "void(int64[::1], uint32[::1], float32[::1], float64[::1], int64[::1], int64[::1], uint32[::1], float64[::1],"
    "uint32[:, ::1], float64[:, ::1], int64[::1])"
)
def nearest(
    offsets, columns, values, squares, queries, starts, candidates, spread, numbers, scores, counts
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the best candidates of each query, best first, ties by number; counts: their number.

    queries int64: positions; candidates of query q: candidates[starts[q]:starts[q+1]], without repeats. spread
    float64 (columns): zeros, left so. numbers uint32 and scores float64 (queries, k), written; scores are negated.
    """
    for q in range(len(queries)):
        query, count = queries[q], 0
        for at in range(offsets[query], offsets[query + 1]):
            spread[columns[at]] = values[at]
        for place in range(starts[q], starts[q + 1]):
            row = candidates[place]
            product = 0.0
            for at in range(offsets[row], offsets[row + 1]):
                product += spread[columns[at]] * np.float64(values[at])
            score = -clipped(product, squares[query], squares[row])
            count = keep_best(numbers[q], scores[q], count, row, score)
        for at in range(offsets[query], offsets[query + 1]):
            spread[columns[at]] = 0.0
        counts[q] = count
