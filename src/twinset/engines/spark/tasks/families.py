"""List the documents of each family of candidates, in one task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from twinset.engines.spark.tasks.rows import NumberedEnds, digests_as_binary
from twinset.engines.spark.tasks.settings import Batches, Settings
from twinset.schema import Hashes, Places
from twinset.system.arrays import offsets_of

__all__ = ["COLUMNS", "list_families"]

COLUMNS = "family bigint, block bigint, digest binary, first string, tokens bigint, partners array<binary>"


def list_families(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the documents of each block of a family, with their partners in it.

    Rows are (digest, partner, first, tokens), as in `NumberedEnds`. `family_shingles` are those of a family that is not
    cut into pieces.
    """
    given = list(batches)
    if not sum(batch.num_rows for batch in given):
        return
    table = pa.Table.from_batches(given)
    ends = NumberedEnds.of(table)
    nodes, left, right = ends.digests, ends.left, ends.right
    tokens = np.asarray(table.column("tokens"))[ends.rows]
    family = _families(len(nodes), left, right)
    block = _blocks(family, left, right, nodes, tokens, settings["family_shingles"])
    places, of = _distinct_rows(np.concatenate([[family, block, left], [family, block, right]], axis=1))
    of_left = of[: len(left)]
    partners = nodes[right[np.lexsort((right, of_left))]]
    offsets = offsets_of(np.bincount(of_left, minlength=len(places))).astype(np.int32)
    found = np.concatenate([left, right])[places]
    columns = [
        pa.array(np.tile(family, 2)[places]),
        pa.array(np.tile(block, 2)[places]),
        digests_as_binary(nodes[found]),
        table.column("first").combine_chunks().take(pa.array(ends.rows[found])),
        pa.array(tokens[found]),
        pa.ListArray.from_arrays(pa.array(offsets), digests_as_binary(partners)),
    ]
    yield pa.record_batch(columns, names=["family", "block", "digest", "first", "tokens", "partners"])


def _families(count: int, left: Places, right: Places) -> Places:
    """Return the family of each pair: the least of the candidates of both documents, which have numbers in order."""
    least = np.arange(count)
    np.minimum.at(least, right, left)
    found: Places = np.minimum(least[left], least[right])
    return found


def _blocks(family: Places, left: Places, right: Places, nodes: Hashes, tokens: Places, family_shingles: int) -> Places:
    """Return the block of each pair: its two pieces of the family, which has one piece if it is small."""
    both = np.stack([np.tile(family, 2), np.concatenate([left, right])])
    members = both[:, _distinct_rows(both)[0]]
    total = np.zeros(len(nodes), np.int64)
    np.add.at(total, members[0], tokens[members[1]])
    pieces = np.maximum(1, -(-total // family_shingles))[family]
    one, other = ((nodes[end, 1] % pieces.astype(np.uint64)).astype(np.int64) for end in (left, right))
    block: Places = np.minimum(one, other) * pieces + np.maximum(one, other)
    return block


def _distinct_rows(columns: Places) -> tuple[Places, Places]:
    """Return the place of one of each distinct row, in their order, and the number of each given row.

    `columns` (c, n) are the values of the rows, those that count most first.
    """
    order = np.lexsort(columns[::-1])
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (columns[:, order[1:]] != columns[:, order[:-1]]).any(axis=0)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(starts) - 1
    return order[starts], numbers
