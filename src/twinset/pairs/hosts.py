"""Count near-duplicate pages by pairs of hosts, to find mirror sites."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twinset.schema import Numbers

Rows = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.int64]

_NONE = np.zeros(0, np.int64)


class HostPairs:
    """Counts pairs of pages by the hosts of both; `hosts` is the number of each page's host, -1 for none.

    Hosts are numbered by first appearance. Pages without a host, and pairs within one, are not counted.

    Examples
    --------
    >>> import numpy as np
    >>> counts = HostPairs(np.array([0, 0, 1, 1, 1]))
    >>> counts.add(np.array([[0, 1], [0, 2], [1, 2]], np.uint32))
    >>> counts.table(np.array([2, 3])).tolist()  # left, right, their pages, pairs, pages with a near-duplicate
    [[0, 1, 2, 3, 2, 2, 1]]
    """

    def __init__(self, hosts: Codes) -> None:
        self._hosts = hosts.astype(np.int64)
        self._count = int(hosts.max(initial=-1)) + 1
        self._pairs, self._counts = _NONE, _NONE  # pairs of hosts as one number, ascending, and their pairs of pages
        self._matched = _NONE  # pages and the other host as one number, ascending: each once

    def add(self, rows: Rows | Numbers) -> None:
        """Count some pairs; each pair of pages is to be given once."""
        left, right = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        one, other = self._hosts[left], self._hosts[right]
        across = (one != other) & (one >= 0) & (other >= 0)
        left, right, one, other = left[across], right[across], one[across], other[across]
        keys, counts = np.unique(np.minimum(one, other) * self._count + np.maximum(one, other), return_counts=True)
        merged, places = np.unique(np.concatenate([self._pairs, keys]), return_inverse=True)
        total = np.zeros(len(merged), np.int64)
        np.add.at(total, places, np.concatenate([self._counts, counts]))
        self._pairs, self._counts = merged, total
        matched = np.concatenate([left * self._count + other, right * self._count + one])
        self._matched = np.union1d(self._matched, matched)

    def table(self, pages: Codes) -> Codes:
        """Return a row for each pair of hosts, those with the largest share of matched pages first.

        pages: the number of pages of each host.
        A row has the numbers of both hosts, their pages, the pairs, and the pages of each with a near-duplicate on the
        other. The share is the larger one of both hosts; ties are ordered by pairs, then by the numbers of the hosts.
        """
        if not len(self._pairs):
            return np.zeros((0, 7), np.int64)
        left, right = np.divmod(self._pairs, self._count)
        page, other = np.divmod(self._matched, self._count)
        owners, counts = np.unique(self._hosts[page] * self._count + other, return_counts=True)
        in_left = counts[np.searchsorted(owners, left * self._count + right)]
        in_right = counts[np.searchsorted(owners, right * self._count + left)]
        rows = np.stack([left, right, pages[left], pages[right], self._counts, in_left, in_right], axis=1)
        order = np.lexsort((right, left, -self._counts, -share_of(rows)))
        return rows[order]


def share_of(rows: Codes) -> npt.NDArray[np.float64]:
    """The larger share of a host's pages that have a near-duplicate on the other host.

    >>> share_of(np.array([[0, 1, 2, 3, 2, 2, 1]])).tolist()
    [1.0]
    """
    shares: npt.NDArray[np.float64] = np.maximum(rows[:, 5] / rows[:, 2], rows[:, 6] / rows[:, 3])
    return shares
