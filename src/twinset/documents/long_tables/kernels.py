"""Group the rows of long tables: renumber groups, gather their elements, sort them and drop repeats."""

from twinset.compiled import kernel


@kernel("int64(int32[::1], int32[::1], int64[::1])")
def first_seen(codes, new, firsts):  # type: ignore[no-untyped-def]
    """Renumber codes in place by first appearance; negative ones stay.

    new (k): filled with -1; becomes the new number of each code, -1 where it never appears. firsts (k): the first row
    of each new number. Returns their number.
    """
    count = 0
    for row in range(len(codes)):
        code = codes[row]
        if code < 0:
            continue
        if new[code] < 0:
            new[code] = count
            firsts[count] = row
            count += 1
        codes[row] = new[code]
    return count


@kernel("void(int32[::1], int64[::1])")
def count_rows(codes, counts):  # type: ignore[no-untyped-def]
    """Add the rows of each code to counts."""
    for row in range(len(codes)):
        counts[codes[row]] += 1


@kernel("void(int32[::1], read(uint64), int64[::1], uint64[::1])")
def bring_together(codes, values, places, out):  # type: ignore[no-untyped-def]
    """Group values by code, stably; places (k): the next position of each code, advanced."""
    for row in range(len(codes)):
        code = codes[row]
        out[places[code]] = values[row]
        places[code] += 1


@kernel("void(uint64[::1], int64[::1], boolean, int64, int64, int64[::1])")
def sort_sets(elements, offsets, bag, first, last, counts):  # type: ignore[no-untyped-def]
    """Sort the elements of sets first to last - 1 in place; repeats are dropped from sets and kept in bags.

    Set i is elements[offsets[i]:offsets[i+1]]; counts[i]: elements left, at its start.
    """
    for i in range(first, last):
        start, end = offsets[i], offsets[i + 1]
        if end - start > 1:
            elements[start:end].sort()
        at = start
        for j in range(start, end):
            if bag or j == start or elements[j] != elements[at - 1]:
                elements[at] = elements[j]
                at += 1
        counts[i] = at - start


@kernel("void(uint64[::1], float64[::1], int64[::1], int64, int64, int64[::1])")
def sort_weighted(elements, weights, offsets, first, last, counts):  # type: ignore[no-untyped-def]
    """Sort the elements of weighted sets in place; the weights of equal ones add up, and zeros are dropped.

    Equal elements are added in ascending order of weight, so that the sum does not depend on the order of the rows.
    Shell sort: in place on two arrays at once, and fast on the short runs of most groups.
    """
    for i in range(first, last):
        start, end = offsets[i], offsets[i + 1]
        gap = 1
        while gap < (end - start) // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for j in range(start + gap, end):
                element, weight = elements[j], weights[j]
                k = j
                while k - gap >= start:
                    before = elements[k - gap]
                    if before < element or (before == element and weights[k - gap] <= weight):
                        break
                    elements[k] = before
                    weights[k] = weights[k - gap]
                    k -= gap
                elements[k] = element
                weights[k] = weight
            gap //= 3
        at = start
        j = start
        while j < end:
            element, total = elements[j], 0.0
            while j < end and elements[j] == element:
                total += weights[j]
                j += 1
            if total > 0.0:
                elements[at] = element
                weights[at] = total
                at += 1
        counts[i] = at - start


@kernel("void(read(uint64), read(uint64), int64[::1], int64[::1], uint64[::1])")
def pack_sets(elements, weights, starts, counts, out):  # type: ignore[no-untyped-def]
    """Concatenate sets in `out`: set i is counts[i] elements from starts[i] on.

    weights: the bits of the weights, each written after its element; empty for plain sets.
    """
    weighted = len(weights) > 0
    at = 0
    for i in range(len(starts)):
        for j in range(starts[i], starts[i] + counts[i]):
            out[at] = elements[j]
            at += 1
            if weighted:
                out[at] = weights[j]
                at += 1
