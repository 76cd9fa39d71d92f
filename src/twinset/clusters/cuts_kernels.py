"""Spans of words to cut, without overlaps."""

import numpy as np

from twinset.compiled import kernel


@kernel("int64(uint32[:, ::1], int64, uint32[:, ::1])")
def cut_spans(copies, least, out):  # type: ignore[no-untyped-def]
    """See `cuts.cut_spans`; copies are sorted by the document that is cut and the place in it. Return the number."""
    count = 0
    document = np.int64(-1)
    end = np.int64(0)
    for i in range(len(copies)):
        if copies[i, 1] != document:
            document = np.int64(copies[i, 1])
            end = 0
        start = np.int64(copies[i, 3])
        stop = start + np.int64(copies[i, 4]) + least - 1
        begin = max(start, end)
        if begin >= stop:
            continue
        out[count, 0] = document
        out[count, 1] = begin
        out[count, 2] = stop
        out[count, 3] = copies[i, 0]
        out[count, 4] = np.int64(copies[i, 2]) + (begin - start)
        count += 1
        end = stop
    return count
