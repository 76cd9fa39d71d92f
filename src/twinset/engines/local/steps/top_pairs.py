"""Keep the most similar documents of each document."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from twinset.engines.local.budget import Budget
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.schema import Shares
from twinset.system.scratch import Spool


def most_similar(
    portions: Iterator[Rows], top: int, similarity: Callable[[Rows], Shares], documents: int, scratch: Path,
    budget: Budget, *, one_sided: bool,
) -> Iterator[Rows]:  # fmt: skip
    """Yield the `top` most similar of each document, the document as left; ties by input order.

    With `one_sided` (one source against another), only for documents on the left side.
    """
    both = Spool(scratch / "both", "<u4", 3)
    for rows in portions:
        both.append(rows, budget.pairs)
        if not one_sided:
            both.append(rows[:, [1, 0, 2]], budget.pairs)
    both.close()
    for rows in sorted_portions(both, documents, budget.pairs):
        order = np.lexsort((rows[:, 1], -similarity(rows), rows[:, 0]))
        rows = rows[order]
        firsts = np.flatnonzero(np.diff(rows[:, 0], prepend=rows[0, 0] + 1))
        ranks = np.arange(len(rows)) - np.repeat(firsts, np.diff(np.append(firsts, len(rows))))
        yield rows[ranks < top]
    both.remove()
