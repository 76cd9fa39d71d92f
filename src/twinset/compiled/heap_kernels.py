"""Pieces that searches for the nearest share: the best k so far, and positions by size."""

from twinset.compiled import inlined


@inlined
def is_worse(score, rank, other, other_rank):  # type: ignore[no-untyped-def]
    """Whether a neighbour comes after another: less similar, or as similar and later in the order of ties."""
    return score < other or (score == other and rank > other_rank)


@inlined
def keep_best(scores, positions, shared, ranks, count, k, score, position, overlap):  # type: ignore[no-untyped-def]
    """Insert a neighbour into the best k so far, a heap with the worst at its root; return their number."""
    rank = ranks[position]
    if count < k:
        at = count
        count += 1
        while at > 0:
            up = (at - 1) >> 1
            if not is_worse(score, rank, scores[up], ranks[positions[up]]):
                break
            scores[at], positions[at], shared[at] = scores[up], positions[up], shared[up]
            at = up
    elif is_worse(scores[0], ranks[positions[0]], score, rank):
        at = 0
        while 2 * at + 1 < count:
            down = 2 * at + 1
            right = down + 1
            if right < count and is_worse(
                scores[right], ranks[positions[right]], scores[down], ranks[positions[down]]
            ):
                down = right
            if not is_worse(scores[down], ranks[positions[down]], score, rank):
                break
            scores[at], positions[at], shared[at] = scores[down], positions[down], shared[down]
            at = down
    else:
        return count
    scores[at], positions[at], shared[at] = score, position, overlap
    return count


@inlined
def position_above(sizes, limit):  # type: ignore[no-untyped-def]
    """The first position of ascending sizes with a size above the limit."""
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high) >> 1
        if sizes[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low
