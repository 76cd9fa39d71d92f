"""Find anchors that repeat, and pairs of their places."""

import numpy as np

from twinset.compiled import kernel
from twinset.compiled.bytes_kernels import U


@kernel("void(uint64[::1], uint64, uint64[::1], uint64[::1])")
def mark_seen(hashes, mask, once, twice):  # type: ignore[no-untyped-def]
    """Set a bit in `once` for each hash, and in `twice` for those whose bit was set. Sizes: (mask + 1) / 64."""
    for h in hashes:
        bit = h & mask
        word, one = bit >> U(6), U(1) << (bit & U(63))
        if once[word] & one:
            twice[word] |= one
        else:
            once[word] |= one


@kernel("void(uint64[::1], uint64, uint64[::1], boolean[::1])")
def is_marked(hashes, mask, marks, out):  # type: ignore[no-untyped-def]
    """out[i]: whether the bit of hashes[i] is set."""
    for i in range(len(hashes)):
        bit = hashes[i] & mask
        out[i] = (marks[bit >> U(6)] >> (bit & U(63))) & U(1) != U(0)


@kernel("int64(uint64[::1], int64[::1])")
def group_starts(hashes, starts):  # type: ignore[no-untyped-def]
    """Starts of the groups of equal hashes, which are sorted, and the end of the last; return their number."""
    count = 0
    for i in range(len(hashes)):
        if i == 0 or hashes[i] != hashes[i - 1]:
            starts[count] = i
            count += 1
    starts[count] = len(hashes)
    return count


@kernel("void(int64[::1], uint32[::1], int64, boolean, int64, int64, uint8[::1])")
def classify(starts, documents, border, within, crowd, most_places, kinds):  # type: ignore[no-untyped-def]
    """Kind of each group: 0 nothing to pair, 1 few documents, 2 a crowd.

    Documents of a group are ascending. Below `border` are those of the one side; without sides it is 0.
    """
    for g in range(len(kinds)):
        first, last = starts[g], starts[g + 1]
        distinct = 0
        own = False
        other = False
        for i in range(first, last):
            distinct += i == first or documents[i] != documents[i - 1]
            own |= documents[i] < border
            other |= documents[i] >= border
        if border > 0:
            useful = own and other
        else:
            useful = distinct > 1 or (within and last - first > 1)
        crowded = distinct > crowd or last - first > most_places
        kinds[g] = 0 if not useful else 2 if crowded else 1


@kernel(
    "int64(int64[::1], uint32[::1], uint32[::1], int64[::1], int64[::1], int64, boolean, int64, uint8[::1],"
    "int64[::1], uint32[:, ::1])"
)
def pair_places(
    starts, documents, places, before, distance, border, within, reach, kinds, state, out
):  # type: ignore[no-untyped-def]
    """Pairs of places with equal anchors, of groups of kind 1; return how many were written, at most len(out).

    A pair is left out where both places follow places of one other group at one distance up to `reach`: that pair
    leads to the same run. before[i]: the group of the anchor before place i in its document, -1 for none;
    distance[i]: how many words it stands before. state (group, i): where to go on, updated; all is done when its first
    number is the number of groups. Rows: left and right document, left and right place.
    """
    count = 0
    room = len(out)
    g, begin = state[0], state[1]
    while g < len(kinds):
        first, last = starts[g], starts[g + 1]
        if kinds[g] == 1:
            i = max(first, begin)
            while i < last:
                if count + last - i > room:
                    state[0], state[1] = g, i
                    return count
                for j in range(i + 1, last):
                    same = documents[i] == documents[j]
                    if same and not within:
                        continue
                    if border > 0 and (documents[i] < border) == (documents[j] < border):
                        continue
                    if before[i] >= 0 and before[i] == before[j] and distance[i] == distance[j] <= reach:
                        continue
                    out[count, 0] = documents[i]
                    out[count, 1] = documents[j]
                    out[count, 2] = places[i]
                    out[count, 3] = places[j]
                    count += 1
                i += 1
        g += 1
        begin = np.int64(0)
    state[0], state[1] = g, 0
    return count
