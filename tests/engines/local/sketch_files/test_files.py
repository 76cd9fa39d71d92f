"""Files of sketches: what was written comes back, and whatever is damaged or foreign is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twinset.engines.local.sketch_files.files import Scheme, SketchBatch, SketchSource, SketchWriter, open_sketches
from twinset.errors import OptionError, SourceError, StateError, TwinsetError
from twinset.options.sketch import METADATA, holds_sketches
from twinset.schema import Shingles
from twinset.sketches.bottom_k import BottomK, bottom_k

ITEMS = {"kind": "text", "shingle": "word:5", "bag": False}
SLOTS = Scheme("fss", 16, 1, ITEMS)
BOTTOM = Scheme("bottom-k", 16, 1, ITEMS)
schemes = pytest.mark.parametrize("scheme", [SLOTS, BOTTOM], ids=["fss", "bottom-k"])


def batch(scheme: Scheme, rows: int, seed: int = 1) -> SketchBatch:
    rng = np.random.default_rng(seed)
    ids = pa.array([f"{seed}-é{row}" for row in range(rows)], pa.string())
    counts = pa.array([None if row % 5 == 4 else row for row in range(rows)], pa.uint32())
    if not scheme.bottom:
        return SketchBatch(ids, rng.integers(0, 2**32, (rows, 16), np.uint32), counts)
    offsets = np.cumsum([0, *rng.integers(0, 30, rows)])
    hashes = rng.integers(1, 2**64, int(offsets[-1]), np.uint64)
    return SketchBatch(ids, bottom_k(Shingles(np.arange(rows), offsets, hashes), 16), counts)


def written(path: Path, scheme: Scheme, *batches: SketchBatch) -> Path:
    with SketchWriter(path, scheme) as writer:
        for one in batches:
            writer.write_batch(one)
    return path


def table(path: Path, scheme: Scheme) -> pa.Table:
    return pa.concat_tables([one.table(scheme) for one in SketchSource(path).batches()])


@schemes
def test_what_was_written_comes_back(tmp_path: Path, scheme: Scheme) -> None:
    made = [batch(scheme, 40), batch(scheme, 7, seed=2)]
    path = written(tmp_path / "one.parquet", scheme, *made)
    assert holds_sketches(path)
    assert SketchSource(path).scheme == scheme
    assert table(path, scheme).equals(pa.concat_tables([one.table(scheme) for one in made]))
    assert pq.read_table(path).column_names == ["id", "sketch", "shingles"]


@schemes
def test_portions_do_not_matter(tmp_path: Path, scheme: Scheme, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinset.engines.local.sketch_files.files._GROUP_BYTES", 1)  # row groups of 64
    whole = batch(scheme, 500)
    parts = []
    for start in range(0, 500, 37):
        rows = np.arange(start, min(start + 37, 500))
        found = whole.sketches
        if isinstance(found, BottomK):
            begin = found.starts[rows[0]]
            piece = BottomK(
                16, found.starts[rows[0] : rows[-1] + 2] - begin, found.values[begin : found.starts[rows[-1] + 1]]
            )
            parts.append(SketchBatch(whole.ids[rows[0] : rows[-1] + 1], piece, whole.shingles[rows[0] : rows[-1] + 1]))
        else:
            parts.append(SketchBatch(whole.ids.take(rows), found[rows], whole.shingles.take(rows)))
    one = written(tmp_path / "one.parquet", scheme, whole)
    other = written(tmp_path / "other.parquet", scheme, *parts)
    assert one.read_bytes() == other.read_bytes()
    assert pq.read_metadata(one).num_row_groups == 8


@schemes
def test_no_sketches_at_all(tmp_path: Path, scheme: Scheme) -> None:
    path = written(tmp_path / "none.parquet", scheme)
    assert list(SketchSource(path).batches()) == []


@schemes
def test_damage_is_noticed_wherever_it_is(tmp_path: Path, scheme: Scheme) -> None:
    """One byte in eleven is changed, in turn: either the file says the same, or it is refused; never another answer."""
    path = written(tmp_path / "one.parquet", scheme, batch(scheme, 12))
    expected, whole = table(path, scheme), path.read_bytes()
    refused: list[str] = []
    for place in range(0, len(whole), 11):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            assert table(path, scheme).equals(expected), place
        except TwinsetError as error:
            refused.append(str(error))
    assert all("one.parquet" in reason for reason in refused)
    assert len(refused) > len(whole) / 11 / 3


@schemes
def test_a_file_that_was_cut_short(tmp_path: Path, scheme: Scheme) -> None:
    path = written(tmp_path / "one.parquet", scheme, batch(scheme, 12))
    whole = path.read_bytes()
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(TwinsetError, match=r"one\.parquet"):
            table(path, scheme)


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"id": ["a"]}), path)
    assert not holds_sketches(path)
    with pytest.raises(SourceError, match=r"foreign\.parquet: not a file of sketches"):
        SketchSource(path)
    path.write_text("no Parquet at all")
    with pytest.raises(StateError, match=r"foreign\.parquet is damaged, or not a file of sketches"):
        SketchSource(path)
    with pytest.raises(SourceError, match="there is no such file"):
        SketchSource(tmp_path / "nothing.parquet")


def test_other_versions_and_nonsense(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    said = json.loads(SLOTS.packed)
    for change, message in (
        ({"version": 2}, "was written by a newer version"),
        ({"version": "x"}, "is damaged"),
        ({"n_hashes": -4}, "is damaged"),
        ({"more": 1}, "is damaged"),
        ({"n_hashes": 17}, "its columns do not match its scheme"),
    ):
        packed = json.dumps({**said, **change}, sort_keys=True).encode()
        pq.write_table(batch(SLOTS, 3).table(SLOTS).replace_schema_metadata({METADATA: packed}), path)
        with pytest.raises(StateError, match=message):
            SketchSource(path)
    pq.write_table(batch(SLOTS, 3).table(SLOTS).replace_schema_metadata({METADATA: b"["}), path)
    with pytest.raises(StateError, match="is damaged"):
        SketchSource(path)


def test_rows_of_another_hand(tmp_path: Path) -> None:
    """Without a seal, or with sketches that are not in order, it is not what `sketch` wrote."""
    path = tmp_path / "one.parquet"
    pq.write_table(batch(SLOTS, 3).table(SLOTS), path)
    with pytest.raises(StateError, match="its rows are not those that were written"):
        table(path, SLOTS)
    wrong = BottomK(16, np.array([0, 3]), np.array([5, 9, 7], np.uint64))
    few = SketchBatch(pa.array(["a"]), wrong, pa.array([3], pa.uint32()))
    pq.write_table(few.table(BOTTOM), path)
    with pytest.raises(StateError, match="a sketch is not in order"):
        table(path, BOTTOM)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (Scheme("kperm", 16, 1, ITEMS), "sketch is fss in one and kperm in the other"),
        (Scheme("fss", 32, 1, ITEMS), "n_hashes is 16 in one and 32 in the other"),
        (Scheme("fss", 16, 2, ITEMS), "seed is 1 in one and 2 in the other"),
        (Scheme("fss", 16, 1, {**ITEMS, "shingle": "char:9"}), "shingle is word:5 in one and char:9 in the"),
        (Scheme("fss", 16, 1, {"kind": "sets", "bag": False}), "the kind of item is text in one and sets in the"),
        (Scheme("fss", 16, 1, ITEMS, hash_scheme=0), "version of the hashes is 1 in one and 0 in the other"),
    ],
)
def test_other_sketches_are_not_taken_together(tmp_path: Path, other: Scheme, reason: str) -> None:
    one = written(tmp_path / "one.parquet", SLOTS, batch(SLOTS, 3))
    two = written(
        tmp_path / "two.parquet",
        other,
        SketchBatch(pa.array([], pa.string()), np.empty((0, other.n_hashes), np.uint32), pa.array([], pa.uint32())),
    )
    with pytest.raises(OptionError, match=reason):
        open_sketches((one, two))
    assert [source.rows for source in open_sketches((one, one))] == [3, 3]
