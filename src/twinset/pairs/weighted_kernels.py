"""Common weight of two weighted sets, summed in hash order."""

import numpy as np

from twinset.compiled import inlined, kernel


@inlined
def add(total, lost, x):  # type: ignore[no-untyped-def]
    """Compensated sum (Neumaier 1974): the sum, and the accumulated rounding error."""
    new = total + x
    if abs(total) >= abs(x):
        lost += (total - new) + x
    else:
        lost += (x - new) + total
    return new, lost


@kernel("void(float64[::1], int64[::1], float64[::1])")
def totals(weights, offsets, out):  # type: ignore[no-untyped-def]
    """out[i]: the sum of weights[offsets[i]:offsets[i + 1]]."""
    for i in range(len(out)):
        total, lost = 0.0, 0.0
        for j in range(offsets[i], offsets[i + 1]):
            total, lost = add(total, lost, weights[j])
        out[i] = total + lost


@kernel(
    "void(uint32[::1], uint32[::1], int64[::1], uint64[::1], float64[::1], float64[::1], float64, float64[::1],"
    "float64[::1])"
)
def overlaps(lefts, rights, offsets, hashes, weights, sums, threshold, shared, similarity):  # type: ignore[no-untyped-def]
    """shared[i]: Σ min of the weights of the sets lefts[i] and rights[i]; similarity[i]: Σ min / Σ max.

    Both are 0 where the similarity is below `threshold`.

    lefts, rights uint32; set j has hashes[offsets[j]:offsets[j + 1]], ascending, with weights that sum to sums[j].
    """
    for i in range(len(lefts)):
        left, right = np.int64(lefts[i]), np.int64(rights[i])
        shared[i], similarity[i] = 0.0, 0.0
        least, most = min(sums[left], sums[right]), max(sums[left], sums[right])
        if least < threshold * most * (1.0 - 1e-9) or least == 0.0:
            continue
        # J >= t means an overlap of at least t/(1+t) (A+B); the rest of either set may be missing
        needed = threshold / (1.0 + threshold) * (least + most) * (1.0 - 1e-9)
        spare_left, spare_right = sums[left] - needed, sums[right] - needed
        total, lost = 0.0, 0.0
        a, a_end = offsets[left], offsets[left + 1]
        b, b_end = offsets[right], offsets[right + 1]
        while a < a_end and b < b_end and spare_left >= 0.0 and spare_right >= 0.0:
            if hashes[a] == hashes[b]:
                x, y = weights[a], weights[b]
                total, lost = add(total, lost, min(x, y))
                spare_left -= max(x - y, 0.0)
                spare_right -= max(y - x, 0.0)
                a += 1
                b += 1
            elif hashes[a] < hashes[b]:
                spare_left -= weights[a]
                a += 1
            else:
                spare_right -= weights[b]
                b += 1
        if spare_left < 0.0 or spare_right < 0.0:
            continue
        common = total + lost
        score = common / (least + (most - common))
        if score >= threshold:
            shared[i], similarity[i] = common, score
