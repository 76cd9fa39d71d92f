"""Extend pairs of equal places to maximal runs of equal words, and join runs over small gaps.

Words of document d: words[starts[d]:starts[d] + lengths[d]]. A run: left and right document, first word left and right,
number of words.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U


@inlined
def extend(words, left, right, n_left, n_right, i, j):  # type: ignore[no-untyped-def]
    """First words (i, j) and length of the maximal run through equal words i and j."""
    back = 0
    while back < i and back < j and words[left + i - back - 1] == words[right + j - back - 1]:
        back += 1
    i -= back
    j -= back
    n = back
    while i + n < n_left and j + n < n_right and words[left + i + n] == words[right + j + n]:
        n += 1
    return i, j, n


@inlined
def only_crowds(document, first, last, keys, lasts):  # type: ignore[no-untyped-def]
    """Whether crowded anchors keep all windows `first` to `last` of a document.

    keys uint64, sorted: a document and a window, from which on a crowded anchor keeps windows, up to lasts.
    """
    at = np.searchsorted(keys, (U(document) << U(32)) | U(first), side="right") - 1
    while at >= 0 and at < len(keys):
        if keys[at] >> U(32) != U(document) or np.int64(keys[at] & U(0xFFFFFFFF)) > first or lasts[at] < first:
            return False
        first = np.int64(lasts[at]) + 1
        if first > last:
            return True
        at += 1
    return False


@kernel(
    "int64(uint64[::1], int64[::1], uint32[::1], uint32[:, ::1], int64, uint64[::1], uint32[::1], uint32[:, ::1])"
)
def maximal_runs(words, starts, lengths, hits, least, keys, lasts, out):  # type: ignore[no-untyped-def]
    """Maximal runs of at least `least` words through pairs of places; return their number.

    Hits (n, 4): documents and places, sorted by the documents, by right minus left place, and by the left place. Runs
    whose windows are all kept by crowded anchors, as `keys` and `lasts` say, are left out.
    """
    count = 0
    end = 0
    for h in range(len(hits)):
        a, b = hits[h, 0], hits[h, 1]
        i, j = np.int64(hits[h, 2]), np.int64(hits[h, 3])
        same = h > 0 and a == hits[h - 1, 0] and b == hits[h - 1, 1]
        if same and j - i == np.int64(hits[h - 1, 3]) - np.int64(hits[h - 1, 2]) and i < end:
            continue
        i, j, n = extend(words, starts[a], starts[b], np.int64(lengths[a]), np.int64(lengths[b]), i, j)
        end = i + n
        kept = min(n, j - i) if a == b else n
        if kept >= least and not (len(keys) > 0 and only_crowds(a, i, i + n - least, keys, lasts)):
            out[count, 0] = a
            out[count, 1] = b
            out[count, 2] = i
            out[count, 3] = j
            out[count, 4] = kept
            count += 1
    return count


@inlined
def next_run(words, left, right, n_left, n_right, i, j, run, gap):  # type: ignore[no-untyped-def]
    """Nearest run of at least `run` words from (i, j) on, at most `gap` words away on each side: its place, or -1.

    Nearest: fewest words between, on both sides together; then fewest on the left.
    """
    for between in range(2 * gap + 1):
        for p in range(max(0, between - gap), min(between, gap) + 1):
            x, y = i + p, j + between - p
            if x + run > n_left or y + run > n_right:
                continue
            n = 0
            while n < run and words[left + x + n] == words[right + y + n]:
                n += 1
            if n == run:
                return x, y
    return -1, -1


@inlined
def run_before(words, left, right, i, j, least_right, run, gap):  # type: ignore[no-untyped-def]
    """As `next_run`, for the run that ends nearest before (i, j) and begins at least_right or later: its end, or -1."""
    for between in range(2 * gap + 1):
        for p in range(max(0, between - gap), min(between, gap) + 1):
            x, y = i - p, j - (between - p)
            if x < run or y < least_right + run:
                continue
            n = 0
            while n < run and words[left + x - n - 1] == words[right + y - n - 1]:
                n += 1
            if n == run:
                return x, y
    return -1, -1


@inlined
def add_run(runs, count, i, j, n):  # type: ignore[no-untyped-def]
    runs[count, 0] = i
    runs[count, 1] = j
    runs[count, 2] = n


@kernel(
    "int64(uint64[::1], int64, int64, int64, int64, int64, int64, int64, int64, boolean, int64[:, ::1])"
)
def chain(words, left, right, n_left, n_right, i, j, run, gap, same, runs):  # type: ignore[no-untyped-def]
    """Runs joined with the maximal run through (i, j), in no order; return their number, or -1 if `runs` is too small.

    With `same` both sides are one document, and the chain ends where its sides would overlap.
    """
    i, j, n = extend(words, left, right, n_left, n_right, i, j)
    if same:
        n = min(n, j - i)
        n_left = j
    count = 1
    add_run(runs, 0, i, j, n)
    x, y = i + n, j + n
    while True:
        x, y = next_run(words, left, right, n_left, n_right, x, y, run, gap)
        if x < 0:
            break
        n = run
        while x + n < n_left and y + n < n_right and words[left + x + n] == words[right + y + n]:
            n += 1
        if count == len(runs):
            return -1
        add_run(runs, count, x, y, n)
        count += 1
        x, y = x + n, y + n
    least_right = 0
    for r in range(count if same else 0):
        least_right = max(least_right, runs[r, 0] + runs[r, 2])
    x, y = i, j
    while True:
        x, y = run_before(words, left, right, x, y, least_right, run, gap)
        if x < 0:
            break
        n = run
        while n < x and n < y - least_right and words[left + x - n - 1] == words[right + y - n - 1]:
            n += 1
        if count == len(runs):
            return -1
        x, y = x - n, y - n
        add_run(runs, count, x, y, n)
        count += 1
    return count


@kernel("int64(uint32[:, ::1], uint32[:, ::1], boolean[::1])")
def inside_runs(ties, runs, out):  # type: ignore[no-untyped-def]
    """out[i]: whether tie i is a part of a run; both sorted by documents, right minus left place, left place.

    Runs on one diagonal do not overlap. Return how many are.
    """
    at = 0
    count = 0
    for i in range(len(ties)):
        a, b = ties[i, 0], ties[i, 1]
        shift = np.int64(ties[i, 3]) - np.int64(ties[i, 2])
        while at < len(runs):
            run_shift = np.int64(runs[at, 3]) - np.int64(runs[at, 2])
            end = np.int64(runs[at, 2]) + np.int64(runs[at, 4])
            before = (np.int64(runs[at, 0]), np.int64(runs[at, 1]), run_shift, end)
            if before <= (np.int64(a), np.int64(b), shift, np.int64(ties[i, 2])):
                at += 1
            else:
                break
        out[i] = False
        if at < len(runs) and runs[at, 0] == a and runs[at, 1] == b:
            same = np.int64(runs[at, 3]) - np.int64(runs[at, 2]) == shift
            ends = np.int64(ties[i, 2]) + np.int64(ties[i, 4]) <= np.int64(runs[at, 2]) + np.int64(runs[at, 4])
            out[i] = same and runs[at, 2] <= ties[i, 2] and ends
        count += out[i]
    return count
