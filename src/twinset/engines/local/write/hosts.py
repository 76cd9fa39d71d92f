"""Write the table of pairs of hosts: mirror sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.pages.hosts import host_of
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.sort_pairs import Rows
from twinset.engines.local.steps.sketch import READ
from twinset.engines.local.write.table_file import TableFile
from twinset.errors import SourceError
from twinset.pairs.hosts import HostPairs, share_of
from twinset.schema import HOSTS
from twinset.wording import counted


class HostTable:
    """Counts pairs of pages by hosts while they are written."""

    def __init__(self, corpus: Corpus, column: str) -> None:
        self.names, self.hosts = page_hosts(corpus, column)
        read = (corpus.status == READ) & (self.hosts >= 0)
        self._pages = np.bincount(self.hosts[read], minlength=len(self.names)).astype(np.int64)
        self.without = int(np.count_nonzero((corpus.status == READ) & (self.hosts < 0)))
        self._pairs = HostPairs(self.hosts)

    def counting(self, portions: Iterable[Rows]) -> Iterator[Rows]:
        """Count pairs, and hand them on."""
        for rows in portions:
            self._pairs.add(rows)
            yield rows

    def table(self) -> pa.Table:
        """Return the pairs of hosts."""
        rows = self._pairs.table(self._pages)
        names = pa.array(self.names, pa.string())
        left, right = (names.take(pa.array(rows[:, side])) for side in (0, 1))
        counts = [pa.array(rows[:, at]) for at in range(2, 7)]
        return pa.table([left, right, *counts, pa.array(share_of(rows))], schema=HOSTS)

    def write(self, path: Path) -> None:
        """Write the table to a file."""
        with TableFile(path, HOSTS) as file:
            file.write(self.table())

    @property
    def about(self) -> dict[str, Any]:
        """What the summary says: the hosts, the pairs of hosts, and the pages that have none."""
        return {"hosts": len(self.names), "pairs": self.table().num_rows, "pages_without_host": self.without}


def page_hosts(corpus: Corpus, column: str) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The hosts by first appearance, and the number of each page's host, -1 where its URL has none.

    column: that of the URLs, empty for the ids.
    """
    urls = corpus.names.column(column) if column else corpus.names.all()
    hosts = np.empty(corpus.documents, np.int64)
    numbers: dict[str, int] = {}
    first = 0
    for piece in urls.chunks:
        distinct = pc.dictionary_encode(piece.cast(pa.large_string()))
        known = [None if url is None else host_of(url, plain=bool(column)) for url in distinct.dictionary.to_pylist()]
        codes = np.array([-1 if host is None else numbers.setdefault(host, len(numbers)) for host in known] + [-1])
        places = pc.fill_null(distinct.indices, len(known)).to_numpy(zero_copy_only=False)
        hosts[first : first + len(piece)] = codes[places]
        first += len(piece)
    if not numbers and corpus.documents:
        _refuse(urls, column)
    return list(numbers), hosts


def _refuse(urls: pa.ChunkedArray, column: str) -> None:
    example = next((url for url in urls.to_pylist() if url), "")
    where = f"no value of the column {column!r}" if column else f"none of {counted(len(urls), 'id')}"
    raise SourceError(
        f"--hosts: {where} is a URL with a host, such as {str(example)[:100]!r}; name the column of the URLs: "
        "--hosts COLUMN"
    )
