"""Compare the documents of a sample exactly with the rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import group_salts
from twinset.engines.spark.tasks.settings import Batches, Settings, TaskOptions, open_block, opened
from twinset.pairs.audit.inverted import Inverted
from twinset.pairs.sets import Sets
from twinset.schema import Hashes

__all__ = ["COLUMNS", "LoadedSample", "compare_with_sample", "load_sample"]

COLUMNS = "id string, place int, shared bigint, size bigint, own_size bigint"
_TOKENS = 1 << 20


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
    stream: bytes, job: str, options: tuple[tuple[str, object], ...], count: int, least: float
) -> tuple[LoadedSample, Inverted]:
    """Return the sets of a sample and their table, made once in a process."""
    work = opened({"job": job, "options": options})
    loaded = load_sample(pa.ipc.open_stream(stream).read_all(), work)
    return loaded, Inverted.of(loaded.sets).with_rare(least)


def compare_with_sample(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield each row and sampled document at the minimum similarity, with their shared shingles and sizes."""
    work, least = opened(settings), settings["least"]
    loaded, table = _table_of(settings["sample"], settings["job"], settings["options"], settings["count"], least)
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
                yield pa.record_batch(
                    [
                        batch.column(0).take(pa.array(numbers[at])),
                        pa.array(place.astype(np.int32)),
                        pa.array(shared.astype(np.int64)),
                        pa.array(sets.sizes[at].astype(np.int64)),
                        pa.array(loaded.sets.sizes[place].astype(np.int64)),
                    ],
                    names=["id", "place", "shared", "size", "own_size"],
                )
