"""Split bytes into rows, and gather kept rows."""

import numpy as np
import numpy.typing as npt

from twinset.compiled import kernel

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

_QUOTE, _LF, _CR = 34, 10, 13
FIELD_START, IN_FIELD, QUOTED, QUOTE_SEEN, AFTER_CR = 0, 1, 2, 3, 4


@kernel("int64(read(uint8), uint8, int64[::1], int64[::1], int64[::1])")
def scan_separated(data: Bytes, delimiter: np.uint8, state: Numbers, ends: Numbers, fields: Numbers) -> int:
    """Find where records of separated values end; resumable.

    `data` uint8[n]; `state` int64[3]: position, mode, fields finished in the open record, all updated; `ends` int64[m]:
    position after each record; `fields` int64[m]: its number of fields, 0 for a blank line. Returns the number of
    records, at most m. A quote counts only at the start of a field, a doubled one inside quotes is one quote (RFC
    4180); LF, CR LF and CR end a record.
    """
    i, mode, done = state[0], state[1], state[2]
    n, found = data.size, 0
    while i < n and found < ends.size:
        c = data[i]
        if mode == AFTER_CR:
            if c == _LF:
                i += 1
            ends[found] = i
            fields[found] = done
            found += 1
            mode, done = FIELD_START, 0
            continue
        if mode == QUOTED:
            while i < n and data[i] != _QUOTE:
                i += 1
            if i < n:
                mode = QUOTE_SEEN
                i += 1
            continue
        if mode == QUOTE_SEEN:
            if c == _QUOTE:
                mode = QUOTED
                i += 1
                continue
            mode = IN_FIELD
        if mode == FIELD_START and c == _QUOTE:
            mode = QUOTED
            i += 1
            continue
        blank = mode == FIELD_START and done == 0 and c in (_LF, _CR)
        while i < n and data[i] != delimiter and data[i] != _LF and data[i] != _CR:
            i += 1
            mode = IN_FIELD
        if i == n:
            break
        c = data[i]
        i += 1
        if c == delimiter:
            done += 1
            mode = FIELD_START
        elif c == _LF:
            ends[found] = i
            fields[found] = 0 if blank else done + 1
            found += 1
            mode, done = FIELD_START, 0
        else:
            mode = AFTER_CR
            done = 0 if blank else done + 1
    state[0], state[1], state[2] = i, mode, done
    return found


@kernel("int64(read(uint8), int64[::1], int64[::1], int64, uint8, uint8[::1], int32[::1])")
def take_field(
    data: Bytes,
    starts: Numbers,
    ends: Numbers,
    column: int,
    delimiter: np.uint8,
    out: Bytes,
    offsets: npt.NDArray[np.int32],
) -> int:
    """Copy one column's values, unquoted, out of records of separated values.

    `data` uint8[n]; `starts`, `ends` int64[r]: the records; `out` uint8, large enough for them all; `offsets` int32[r +
    1] as in Arrow. Returns the bytes written. An empty record has an empty value.
    """
    o = 0
    offsets[0] = 0
    for r in range(starts.size):
        i, end = starts[r], ends[r]
        for field in range(column + 1):
            copy = field == column
            if i < end and data[i] == _QUOTE:
                i += 1
                while i < end:
                    c = data[i]
                    if c == _QUOTE:
                        if i + 1 < end and data[i + 1] == _QUOTE:
                            i += 1
                        else:
                            i += 1
                            break
                    if copy:
                        out[o] = c
                        o += 1
                    i += 1
            while i < end and data[i] != delimiter and data[i] != _LF and data[i] != _CR:
                if copy:
                    out[o] = data[i]
                    o += 1
                i += 1
            i += 1
        offsets[r + 1] = o
    return o


@kernel("int64(read(uint8), int64[::1], int64[::1], boolean[::1], uint8[::1])")
def gather_rows(data: Bytes, starts: Numbers, ends: Numbers, chosen: npt.NDArray[np.bool_], out: Bytes) -> int:
    """Copy the rows `data[starts[r]:ends[r]]` with `chosen[r]` into `out`, without gaps; return the bytes written."""
    o = 0
    for r in range(starts.size):
        if chosen[r]:
            for i in range(starts[r], ends[r]):
                out[o] = data[i]
                o += 1
    return o
