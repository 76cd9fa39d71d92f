"""Long values put together as Parquet writes them: each after its length."""

import numpy as np
import numpy.typing as npt

from twinset.compiled import kernel

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]


@kernel("int64(read(uint8), read(int64), int64[::1], uint8[::1], int64)")
def plain_values(data: Bytes, upto: Numbers, rows: Numbers, out: Bytes, at: int) -> int:
    """Write some values, each after its length in four bytes.

    `data` uint8: the values; `upto` int64[n + 1]: where each begins, and where the last ends; `rows` int64[m]: which;
    `out` uint8, written from `at` on. Gives where the written ends.
    """
    for row in rows:
        size = upto[row + 1] - upto[row]
        for k in range(4):
            out[at + k] = (size >> (8 * k)) & 255
        at += 4
        to, begin = np.uint64(at), np.uint64(upto[row])
        for k in range(np.uint64(size)):
            out[to + k] = data[begin + k]
        at += size
    return at
