"""Find words that moved: a run that was deleted in one place and added in another."""

from collections.abc import Iterable, Sequence

LEAST = 5
"""Minimum words of a run that counts as moved."""

TRIED = 8
"""Maximum places compared for a run: it bounds the time for texts that repeat themselves."""


def moved_runs(
    left: Sequence[int],
    right: Sequence[int],
    deleted: Iterable[tuple[int, int]],
    added: Iterable[tuple[int, int]],
) -> list[tuple[int, int, int]]:
    """Match runs of equal items in the deleted spans of the left sequence and the added spans of the right one.

    A run is its start on the left, its start on the right and its length. Runs do not overlap, and are in the order of
    the left sequence. The time is linear: each place that is compared either extends a run or is dropped.

    Examples
    --------
    >>> moved_runs([7, 1, 2, 3, 4, 5, 8, 9], [8, 9, 6, 1, 2, 3, 4, 5], [(0, 6)], [(2, 8)])
    [(1, 3, 5)]
    """
    ends: dict[int, int] = {}
    places: dict[tuple[int, ...], list[int]] = {}
    for first, stop in added:
        for place in range(first, stop - LEAST + 1):
            ends[place] = stop
            places.setdefault(tuple(right[place : place + LEAST]), []).append(place)
    for listed in places.values():
        listed.reverse()  # the first place is taken first, from the end of the list
    taken = bytearray(len(right))
    runs: list[tuple[int, int, int]] = []
    for first, stop in deleted:
        at = first
        while at + LEAST <= stop:
            length, place = 0, 0
            for one in _free(places.get(tuple(left[at : at + LEAST]), []), taken):
                count = LEAST
                most = min(stop - at, ends[one] - one)
                while count < most and not taken[one + count] and left[at + count] == right[one + count]:
                    count += 1
                if count > length:
                    length, place = count, one
            if length:
                runs.append((at, place, length))
                taken[place : place + length] = b"\1" * length
            at += max(length, 1)
    return runs


def _free(places: list[int], taken: bytearray) -> list[int]:
    """The first places whose words are not taken; those that are taken are dropped for good."""
    free: list[int] = []
    while places and len(free) < TRIED:
        place = places.pop()
        # A taken run has at least as many words, so it reaches one of both ends.
        if not taken[place] and not taken[place + LEAST - 1]:
            free.append(place)
    places.extend(reversed(free))
    return free
