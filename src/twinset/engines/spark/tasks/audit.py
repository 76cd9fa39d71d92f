"""Compare the documents of a sample exactly with the rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import content_digests, group_salts
from twinset.engines.spark.tasks.rows import digests_as_binary
from twinset.engines.spark.tasks.settings import Batches, Settings, TaskOptions, open_block, opened
from twinset.pairs.audit.inverted import Inverted
from twinset.pairs.sets import Sets
from twinset.schema import Hashes, Places, Shingles

__all__ = ["COLUMNS", "DIGEST", "LoadedSample", "compare_with_sample", "load_sample"]

COLUMNS = "place int, digest binary, id string, shared bigint, size bigint, own_size bigint, once boolean"
"""`digest` is that of the row's content, which is not that of the sampled one; `once` is false for one of the two rows
in which two sampled contents meet."""
DIGEST = "twinset_digest"
"""The column of digests in a sample, beside those of the items."""


@dataclass(frozen=True)
class LoadedSample:
    """The shingle sets of the sampled documents, and the hash of their `by` column."""

    sets: Sets
    groups: Hashes

    def part(self, first: int, last: int) -> Sets:
        """Return the sets of documents first to last - 1."""
        return Sets(self.sets.hashes, self.sets.starts[first : last + 1], self.sets.sizes[first:last])


def load_sample(rows: pa.Table, work: TaskOptions) -> LoadedSample:
    """Make the sets of some documents, in their order."""
    _, block = open_block(rows, work.options)
    found = shingled(block.texts, work.options, work.options.seed).portions
    portions = [replace(portion, hashes=portion.hashes.copy()) for portion in found]
    counts = np.zeros(rows.num_rows, np.int64)
    for portion in portions:
        counts[portion.rows] = np.diff(portion.offsets)
    sets = Sets.with_room(counts)
    for portion in portions:
        sets.fill(portion, np.arange(len(portion.rows)), portion.rows)
    return LoadedSample(sets, group_salts(block, work.options))


@lru_cache(maxsize=1)
def _table_of(
    stream: bytes, job: str, options: tuple[tuple[str, object], ...], least: float
) -> tuple[LoadedSample, Inverted, pa.Array]:
    """Return the sets of a sample, their table and their digests, made once in a process."""
    work = opened({"job": job, "options": options})
    rows = pa.ipc.open_stream(stream).read_all()
    loaded = load_sample(rows.drop_columns([DIGEST]), work)
    return loaded, Inverted.of(loaded.sets).with_rare(least), rows[DIGEST].combine_chunks()


def compare_with_sample(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield each row and sampled content at the minimum similarity, with their shared shingles and sizes.

    The first column of the rows is the id. The sample is a stream of Arrow with a column of digests and the items.
    """
    work, least = opened(settings), settings["least"]
    loaded, table, sampled = _table_of(settings["sample"], settings["job"], settings["options"], least)
    for batch in batches:
        given = pa.Table.from_batches([batch])
        _, block = open_block(given.remove_column(0), work.options)
        groups = group_salts(block, work.options)
        for portion in shingled(block.texts, work.options, work.options.seed).portions:
            rows = np.flatnonzero(table.meets(portion))
            if not len(rows):
                continue
            sets = Sets.with_room(np.diff(portion.offsets)[rows])
            sets.fill(portion, rows, np.arange(len(rows)))
            numbers = portion.rows[rows]
            for matches, _ in table.matches(sets, least):
                at, place = matches[:, 0], matches[:, 1]
                same = groups[numbers[at]] == loaded.groups[place]
                at, place, shared = at[same], place[same], matches[same, 2]
                if not len(at):
                    continue
                digests = _digests_of(portion, rows[at]) ^ groups[numbers[at]][:, None]
                near = {
                    "place": pa.array(place.astype(np.int32)),
                    "digest": digests_as_binary(digests),
                    "id": batch.column(0).take(pa.array(numbers[at])),
                    "shared": pa.array(shared.astype(np.int64)),
                    "size": pa.array(sets.sizes[at].astype(np.int64)),
                    "own_size": pa.array(loaded.sets.sizes[place].astype(np.int64)),
                }
                yield _of_other_contents(near, sampled)


def _digests_of(portion: Shingles, chosen: Places) -> Hashes:
    """Return the digests of some rows of a portion."""
    rows, of = np.unique(chosen, return_inverse=True)
    starts, ends = portion.offsets[rows], portion.offsets[rows + 1]
    hashes = np.concatenate([portion.hashes[start:end] for start, end in zip(starts, ends, strict=True)])
    offsets = np.concatenate([[0], np.cumsum(ends - starts)])
    return content_digests(Shingles(np.arange(len(rows)), offsets, hashes))[of]


def _of_other_contents(near: dict[str, pa.Array], sampled: pa.Array) -> pa.RecordBatch:
    """Return the rows whose content is not the sampled one itself, with the column `once`."""
    own = sampled.take(near["place"])
    lesser = pc.less(own, near["digest"])
    once = pc.or_(lesser, pc.invert(pc.is_in(near["digest"], value_set=sampled)))
    rows = pa.record_batch([*near.values(), once], names=[*near, "once"])
    return rows.filter(pc.not_equal(own, near["digest"]))
