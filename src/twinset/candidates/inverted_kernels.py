"""Join bottom-k sketches that share a low hash."""

import numpy as np

from twinset.compiled import inlined, kernel


@inlined
def meeting(left, right, k, spare, hash):  # type: ignore[no-untyped-def]
    """Of the k smallest hashes of the union of two sketches: how many both have, and how many there are.

    (0, 0) where `hash` is not the first common one, or as soon as more than `spare` are not shared.
    """
    i, j, shared, seen = 0, 0, 0, 0
    while seen < k and (i < len(left) or j < len(right)):
        if j == len(right) or (i < len(left) and left[i] < right[j]):
            i += 1
        elif i == len(left) or right[j] < left[i]:
            j += 1
        else:
            if shared == 0 and left[i] != hash:
                return 0, 0
            shared += 1
            i += 1
            j += 1
        seen += 1
        if seen - shared > spare:
            return 0, 0
    return shared, seen


@kernel(
    "int64(uint64[::1], uint32[::1], uint32[::1], int64[::1], uint64[::1], int64[::1], int64, float64, int64,"
    "uint32[::1], uint32[::1], uint32[::1], uint32[::1])"
)
def join(
    hashes, owners, ranks, state, values, starts, k, threshold, border, lefts, rights, shared, seen
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the pairs of sketches whose estimate reaches the threshold, each once, at their first common hash.

    hashes uint64, sorted, and owners uint32, ascending among equal hashes: the low hashes and their sketches; ranks
    uint32: number of smaller hashes in the sketch. Sketch i is values[starts[i]:starts[i + 1]]. Owners below `border`
    pair only with those from it on (border < 0: any). Fills lefts, rights, shared and seen and returns the number of
    pairs; when they are full, state is [start of run, member] to resume from, else state[0] is -1.
    """
    spare = np.int64((1.0 - threshold) * k * (1.0 + 1e-9) + 1e-9)
    count = 0
    at, member = state[0], state[1]
    total = len(hashes)
    while at < total:
        hash = hashes[at]
        end = at + 1
        while end < total and hashes[end] == hash:
            end += 1
        for this in range(at + member, end):
            if count + (end - at) > len(lefts):
                state[0] = at
                state[1] = this - at
                return count
            one, rank = np.int64(owners[this]), np.int64(ranks[this])
            left = values[starts[one] : starts[one + 1]]
            for other in range(this + 1, end):
                # Hashes before the first common one are not shared.
                if rank + np.int64(ranks[other]) > spare:
                    continue
                two = np.int64(owners[other])
                if border >= 0 and (one >= border or two < border):
                    continue
                common, among = meeting(left, values[starts[two] : starts[two + 1]], k, spare, hash)
                if among > 0 and common / among >= threshold:
                    lefts[count] = one
                    rights[count] = two
                    shared[count] = common
                    seen[count] = among
                    count += 1
        member = 0
        at = end
    state[0] = -1
    return count
