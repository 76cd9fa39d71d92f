"""Count the words that passages cover, and the documents that contain a passage."""

import numpy as np

from twinset.compiled import kernel
from twinset.compiled.bytes_kernels import U


@kernel("void(uint64[::1], uint32[::1], uint32[::1], uint64[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1])")
def count_holders(keys, ends, others, ask_keys, ask_ends, reach, stamps, counts):  # type: ignore[no-untyped-def]
    """counts[i]: number of documents that contain span i: its own, and others with a span of it that contains span i.

    keys: documents and first words, sorted; ends: last words (exclusive). reach[j]: the largest end up to span j of its
    document. stamps uint32, a place per document, 0: scratch.
    """
    for i in range(len(ask_keys)):
        document = ask_keys[i] >> U(32)
        at = np.searchsorted(keys, ask_keys[i], side="right") - 1
        stamps[document] = i + 1
        count = 1
        while at >= 0 and keys[at] >> U(32) == document and reach[at] >= ask_ends[i]:
            if ends[at] >= ask_ends[i] and stamps[others[at]] != i + 1:
                stamps[others[at]] = i + 1
                count += 1
            at -= 1
        counts[i] = count


@kernel("void(uint64[::1], uint32[::1], uint32[::1])")
def largest_ends(keys, ends, reach):  # type: ignore[no-untyped-def]
    """reach[j]: the largest of the ends of the spans up to j of the document of span j."""
    for j in range(len(keys)):
        reach[j] = ends[j]
        if j > 0 and keys[j] >> U(32) == keys[j - 1] >> U(32):
            reach[j] = max(reach[j], reach[j - 1])


@kernel("void(uint32[::1], uint32[::1], uint32[::1], uint32[::1])")
def covered_words(documents, starts, ends, out):  # type: ignore[no-untyped-def]
    """Add to out[d] the number of words that spans of document d cover; sorted by document and first word."""
    end = U(0)
    for i in range(len(documents)):
        if i == 0 or documents[i] != documents[i - 1]:
            end = U(0)
        begin = max(U(starts[i]), end)
        if U(ends[i]) > begin:
            out[documents[i]] += U(ends[i]) - begin
            end = U(ends[i])


@kernel("void(uint32[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1])")
def most_covered(documents, others, starts, ends, most, by):  # type: ignore[no-untyped-def]
    """most[d]: the largest number of words of document d that spans shared with one other cover; by[d]: that other.

    Sorted by document, other and first word; the lesser other wins ties. by[d] stays where there is none.
    """
    end = U(0)
    total = U(0)
    for i in range(len(documents)):
        if i == 0 or documents[i] != documents[i - 1] or others[i] != others[i - 1]:
            end = U(0)
            total = U(0)
        begin = max(U(starts[i]), end)
        if U(ends[i]) > begin:
            total += U(ends[i]) - begin
            end = U(ends[i])
        if total > U(most[documents[i]]):
            most[documents[i]] = total
            by[documents[i]] = others[i]
