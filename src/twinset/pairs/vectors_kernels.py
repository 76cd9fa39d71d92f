"""Cosines and distances of candidate pairs in float64, summed in a fixed order on every machine."""

import math

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.vector_kernels import folded


@inlined
def cosine(left, right, left_square, right_square, terms):  # type: ignore[no-untyped-def]
    """Cosine of two vectors of known squared lengths, clipped to [-1, 1]; -2 where one is zero."""
    if left_square == 0.0 or right_square == 0.0:
        return -2.0
    d = len(left)
    for j in range(d):
        terms[j] = np.float64(left[j]) * np.float64(right[j])
    value = folded(terms, d) / math.sqrt(left_square * right_square)
    return min(max(value, -1.0), 1.0)


@inlined
def distance(left, right, terms):  # type: ignore[no-untyped-def]
    """Euclidean distance of two vectors."""
    d = len(left)
    for j in range(d):
        terms[j] = np.float64(left[j]) - np.float64(right[j])
        terms[j] *= terms[j]
    return math.sqrt(folded(terms, d))


@kernel(
    "int64(Array(float32, 2, 'C', readonly=True), Array(float32, 2, 'C', readonly=True), float64[::1], float64[::1],"
    "uint32[::1], uint32[::1], float64, int64[::1], float64[::1])"
)
def similar(
    left_vectors, right_vectors, left_squares, right_squares, lefts, rights, threshold, kept, scores
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Write the pairs with a cosine of at least the threshold to kept, their cosines to scores; return their number.

    vectors float32 (n, d), squares float64 (n): squared lengths, lefts and rights uint32 (m), kept int64 and scores
    float64 (m), written.
    """
    terms = np.empty(left_vectors.shape[1], np.float64)
    count = 0
    for i in range(len(lefts)):
        a, b = lefts[i], rights[i]
        score = cosine(left_vectors[a], right_vectors[b], left_squares[a], right_squares[b], terms)
        if score >= threshold:
            kept[count], scores[count] = i, score
            count += 1
    return count


@kernel(
    "int64(Array(float32, 2, 'C', readonly=True), Array(float32, 2, 'C', readonly=True), uint32[::1], uint32[::1],"
    "float64, int64[::1], float64[::1])"
)
def near(left_vectors, right_vectors, lefts, rights, radius, kept, scores):  # type: ignore[no-untyped-def]
    """As `similar`, for pairs at most `radius` apart and their distances."""
    terms = np.empty(left_vectors.shape[1], np.float64)
    count = 0
    for i in range(len(lefts)):
        score = distance(left_vectors[lefts[i]], right_vectors[rights[i]], terms)
        if score <= radius:
            kept[count], scores[count] = i, score
            count += 1
    return count


@inlined
def keep_best(numbers, scores, count, number, score):  # type: ignore[no-untyped-def]
    """Insert one into the sorted best so far: smallest score first, ties by number."""
    size = len(numbers)
    if count == size:
        if score > scores[size - 1] or (score == scores[size - 1] and number > numbers[size - 1]):
            return count
        count -= 1
    place = count
    while place > 0 and (score < scores[place - 1] or (score == scores[place - 1] and number < numbers[place - 1])):
        numbers[place], scores[place] = numbers[place - 1], scores[place - 1]
        place -= 1
    numbers[place], scores[place] = number, score
    return count + 1


@kernel(
    "void(Array(float32, 2, 'C', readonly=True), Array(float32, 2, 'C', readonly=True), float64[::1], float64[::1],"
    "int64[::1], uint32[::1], boolean, uint32[::1], uint32[:, ::1], float64[:, ::1], int64[::1])"
)
def nearest(
    queries, vectors, query_squares, squares, offsets, candidates, by_cosine, seen, numbers, scores, counts
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the best candidates of each query, best first; counts: their number.

    Candidates of query q: candidates[offsets[q]:offsets[q+1]], repeats allowed. seen uint32 (vectors), zero: marks
    scored vectors. numbers uint32 and scores float64 (queries, k), written; cosines are stored negated.
    """
    terms = np.empty(vectors.shape[1], np.float64)
    for q in range(len(offsets) - 1):
        count = 0
        for at in range(offsets[q], offsets[q + 1]):
            number = candidates[at]
            if seen[number] == np.uint32(q + 1):
                continue
            seen[number] = np.uint32(q + 1)
            if by_cosine:
                score = -cosine(queries[q], vectors[number], query_squares[q], squares[number], terms)
                if score == 2.0:
                    continue
            else:
                score = distance(queries[q], vectors[number], terms)
            count = keep_best(numbers[q], scores[q], count, number, score)
        counts[q] = count
