"""Group windows around crowded anchors: pair the rare windows, link the others to their first occurrence.

A *class* is a set of places with equal surroundings: members[class_starts[c]:class_starts[c+1]], the best first. A
*window* v is a window of a class: its distance from the first window of the class is v - window_starts[class].
"""

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U

NONE = 0xFFFFFFFF


@kernel("void(int64[::1], uint32[::1], uint32[::1], int64, int64[:, ::1])")
def first_members(class_starts, members, documents, border, out):  # type: ignore[no-untyped-def]
    """out[c]: the first member of class c, below the border and from it on; -1 for none. members: rows of documents."""
    for c in range(len(class_starts) - 1):
        out[c, 0] = out[c, 1] = -1
        for i in range(class_starts[c], class_starts[c + 1]):
            side = 1 if documents[members[i]] >= border else 0
            if out[c, side] < 0:
                out[c, side] = i
            if out[c, 0] >= 0 and out[c, 1] >= 0:
                break


@inlined
def keep_first(rank, documents, first, members, member, shift, best):  # type: ignore[no-untyped-def]
    """Put the document and place of a member into `best` if it comes earlier; best: document, place."""
    if member >= 0:
        row = members[member]
        document, place = documents[row], first[row] + shift
        if best[0] == NONE or (rank[document], place) < (rank[best[0]], best[1]):
            best[0] = document
            best[1] = place


@kernel(
    "void(int64[::1], int64[::1], int64[::1], int64[::1], uint32[::1], int64[:, ::1], int64[::1], uint32[::1],"
    "uint32[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1], uint32[:, :, ::1])"
)
def count_windows(
    group_starts, order, class_of, window_starts, members, firsts, class_starts, documents, first, rank,
    stamps, n_documents, n_places, out,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """For each group of equal windows: its documents, its places, and the first place on each side.

    order[group_starts[g]:group_starts[g+1]]: the windows of group g. stamps uint32, a place per document, 0: scratch.
    out (groups, 2, 2): document and place, NONE where a side has none.
    """
    for g in range(len(group_starts) - 1):
        distinct = 0
        places = 0
        out[g, :, :] = NONE
        for at in range(group_starts[g], group_starts[g + 1]):
            v = order[at]
            c = class_of[v]
            shift = v - window_starts[c]
            for i in range(class_starts[c], class_starts[c + 1]):
                document = documents[members[i]]
                if stamps[document] != g + 1:
                    stamps[document] = g + 1
                    distinct += 1
            places += class_starts[c + 1] - class_starts[c]
            for side in range(2):
                keep_first(rank, documents, first, members, firsts[c, side], shift, out[g, side])
        n_documents[g] = distinct
        n_places[g] = min(places, NONE)


@inlined
def paired_before(x, y, class_of, window_starts, group_of, crowded):  # type: ignore[no-untyped-def]
    """Whether the windows before x and y are equal and paired, so that these pairs lead to the same runs."""
    if x == window_starts[class_of[x]] or y == window_starts[class_of[y]]:
        return False
    return group_of[x - 1] == group_of[y - 1] and not crowded[group_of[x - 1]]


@kernel(
    "int64(int64, int64, int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], boolean[::1], uint32[::1],"
    "int64[::1], uint32[::1], uint32[::1], int64, boolean, uint32[:, ::1])"
)
def pair_windows(
    begin, end, group_starts, order, class_of, window_starts, group_of, crowded, members, class_starts, documents,
    first, border, within, out,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Pairs of places of the windows that are no crowd, of groups `begin` to `end`; return their number.

    An empty `out` only counts them. Rows: left and right document, left and right place.
    """
    count = 0
    for g in range(begin, end):
        if crowded[g]:
            continue
        for a in range(group_starts[g], group_starts[g + 1]):
            x = order[a]
            for b in range(a, group_starts[g + 1]):
                y = order[b]
                if paired_before(x, y, class_of, window_starts, group_of, crowded):
                    continue
                cx, cy = class_of[x], class_of[y]
                for i in range(class_starts[cx], class_starts[cx + 1]):
                    for j in range(i + 1 if a == b else class_starts[cy], class_starts[cy + 1]):
                        p, q = members[i], members[j]
                        if documents[p] == documents[q] and not within:
                            continue
                        if border > 0 and (documents[p] < border) == (documents[q] < border):
                            continue
                        if len(out) > 0:
                            left = first[p] + (x - window_starts[cx])
                            right = first[q] + (y - window_starts[cy])
                            if (documents[p], left) > (documents[q], right):
                                p, q, left, right = q, p, right, left
                            out[count, 0] = documents[p]
                            out[count, 1] = documents[q]
                            out[count, 2] = left
                            out[count, 3] = right
                        count += 1
    return count


@inlined
def can_tie(document, place, tied_to, tied_place, within, least):  # type: ignore[no-untyped-def]
    """Whether a place may be tied to another one: in another document, or at a place that does not overlap it."""
    if document != tied_to:
        return True
    return within and place >= tied_place + least


@kernel(
    "int64(int64, int64, int64[::1], int64[::1], boolean[::1], uint32[::1], uint32[:, :, ::1], uint32[::1], int64[::1],"
    "uint32[::1], uint32[::1], int64, boolean, int64, boolean, uint32[:, ::1])"
)
def tie_windows(
    begin, end, window_starts, group_of, crowded, n_documents, firsts, members, class_starts, documents, first, border,
    within, least, by_number, out,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Tie the crowded windows of classes `begin` to `end` to their first places; return the number of rows.

    An empty `out` only counts them. Windows that follow each other on both sides are one row: left and right document,
    left and right place, number of windows, documents of the rarest of them. The left document is that of the first
    place, or `by_number` the lesser.
    """
    count = 0
    for c in range(begin, end):
        for side in range(2 if border > 0 else 1):
            v = window_starts[c]
            while v < window_starts[c + 1]:
                g = group_of[v]
                if not crowded[g] or firsts[g, side, 0] == NONE:
                    v += 1
                    continue
                tied_to, tied_place = firsts[g, side, 0], firsts[g, side, 1]
                n = 1
                fewest = n_documents[g]
                while v + n < window_starts[c + 1]:
                    h = group_of[v + n]
                    if not crowded[h] or firsts[h, side, 0] != tied_to or firsts[h, side, 1] != tied_place + U(n):
                        break
                    fewest = min(fewest, n_documents[h])
                    n += 1
                for i in range(class_starts[c], class_starts[c + 1]):
                    document, place = documents[members[i]], first[members[i]] + (v - window_starts[c])
                    if border > 0 and (document >= border) == (side == 1):
                        continue
                    if not can_tie(document, place, tied_to, tied_place, within, least):
                        continue
                    if len(out) > 0:
                        swapped = 1 if by_number and document < tied_to else 0
                        out[count, swapped] = tied_to
                        out[count, 1 - swapped] = document
                        out[count, 2 + swapped] = tied_place
                        out[count, 3 - swapped] = place
                        out[count, 4] = n
                        out[count, 5] = fewest
                    count += 1
                v += n
    return count


@inlined
def put_copy(out, count, tied_to, place, by_rank):  # type: ignore[no-untyped-def]
    """Write a row of one window: the document and place that a place is a copy of, and the place."""
    if len(out) > 0:
        out[count, 0] = by_rank[tied_to >> U(32)]
        out[count, 1] = by_rank[place >> U(32)]
        out[count, 2] = tied_to & U(0xFFFFFFFF)
        out[count, 3] = place & U(0xFFFFFFFF)
        out[count, 4] = 1
        out[count, 5] = 0


@kernel(
    "int64(int64, int64, int64[::1], int64[::1], int64[::1], int64[::1], uint32[::1], int64[::1], uint32[::1],"
    "uint32[::1], uint32[::1], uint32[::1], int64, int64, boolean, uint64[::1], uint64[::1], uint32[:, ::1])"
)
def later_copies(
    begin, end, group_starts, order, class_of, window_starts, members, class_starts, documents, first, rank, by_rank,
    least, copies, everywhere, places, kept, out,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Places of windows after the first `copies`, each with the first place, as in `tie_windows`; return their number.

    A place that overlaps a kept one of its group is no copy. With `everywhere` the first place is listed, too, if it
    has a copy. An empty `out` only counts. by_rank: the document of each rank. Scratch places: the largest group; kept:
    `copies`.
    """
    count = 0
    for g in range(begin, end):
        n = 0
        for at in range(group_starts[g], group_starts[g + 1]):
            v = order[at]
            c = class_of[v]
            for i in range(class_starts[c], class_starts[c + 1]):
                row = members[i]
                places[n] = (U(rank[documents[row]]) << U(32)) | U(first[row] + (v - window_starts[c]))
                n += 1
        places[:n].sort()
        n_kept = 0
        n_later = 0
        for i in range(n):
            overlaps = False
            for j in range(n_kept):
                overlaps |= kept[j] >> U(32) == places[i] >> U(32) and places[i] - kept[j] < U(least)
            if overlaps:
                continue
            if n_kept < copies:
                kept[n_kept] = places[i]
                n_kept += 1
                continue
            if everywhere and n_later == 0:
                put_copy(out, count, places[i], kept[0], by_rank)
                count += 1
            n_later += 1
            put_copy(out, count, kept[0], places[i], by_rank)
            count += 1
    return count


@kernel("int64(uint32[:, ::1])")
def merge_ties(rows):  # type: ignore[no-untyped-def]
    """Merge rows whose windows follow each other or overlap, in place; return their number.

    Rows are sorted by both documents, by right minus left place, and by the left place.
    """
    count = 0
    for i in range(len(rows)):
        if count > 0:
            last = rows[count - 1]
            same = last[0] == rows[i, 0] and last[1] == rows[i, 1]
            same = same and U(last[2]) + U(rows[i, 3]) == U(last[3]) + U(rows[i, 2])
            if same and U(rows[i, 2]) <= U(last[2]) + U(last[4]):
                reach = max(U(last[2]) + U(last[4]), U(rows[i, 2]) + U(rows[i, 4]))
                last[4] = reach - U(last[2])
                last[5] = min(last[5], rows[i, 5])
                continue
        rows[count] = rows[i]
        count += 1
    return count
