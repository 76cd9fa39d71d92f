"""Parquet files are read back before they are put in place; what is not as written is an error that names the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.documents.reading import opened, write_all
from twinset.documents.parquet import row_groups
from twinset.documents.parquet.read_back import check_written
from twinset.engines.local.write.table_file import TableFile
from twinset.errors import OutputError

TABLE = pa.table({"id": range(10), "text": [f"one text {row}" for row in range(10)]})


def test_a_file_as_it_was_written_passes(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=4)
    check_written(tmp_path / "a.parquet", TABLE.schema, 10, 3)


@pytest.mark.parametrize(
    ("schema", "rows", "groups"),
    [(TABLE.schema, 9, 3), (TABLE.schema, 10, 2), (TABLE.schema.remove(0), 10, 3)],
    ids=["rows", "row groups", "columns"],
)
def test_what_is_not_as_written_is_an_error(tmp_path: Path, schema: Any, rows: int, groups: int) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=4)
    with pytest.raises(OutputError, match=r"a\.parquet"):
        check_written(tmp_path / "a.parquet", schema, rows, groups)


def test_a_file_that_is_cut_short_or_gone_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(OutputError, match=r"a\.parquet"):
        check_written(path, TABLE.schema, 10, 1)
    path.unlink()
    with pytest.raises(OutputError, match=r"a\.parquet"):
        check_written(path, TABLE.schema, 10, 1)


def test_kept_rows_with_a_wrong_footer_are_not_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A footer that lost a row group is what a mistake in joining footers would make."""
    pq.write_table(TABLE, tmp_path / "in.parquet")
    right = row_groups.write_struct

    def wrong(footer: Any) -> bytes:
        footer[4] = (footer[4][0], (footer[4][1][0], []))
        return right(footer)

    monkeypatch.setattr(row_groups, "write_struct", wrong)
    with pytest.raises(OutputError, match=r"in\.parquet"):
        write_all(opened(tmp_path / "in.parquet"), tmp_path / "out")
    with pytest.raises(OutputError, match=r"in\.parquet"):
        twinset.dedup(str(tmp_path / "in.parquet"), output=tmp_path / "result")
    assert not (tmp_path / "result").exists()


def test_a_table_of_ours_that_lacks_a_row_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    file = TableFile(path, TABLE.schema)
    file.write(TABLE)
    file.rows += 1  # a row that was counted and is not in the file
    with pytest.raises(OutputError, match=r"pairs\.parquet"):
        file.close()


@pytest.mark.parametrize("rows", [0, 1, 2**17, 2**17 + 1])
def test_tables_of_any_size_pass(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "clusters.parquet"
    with TableFile(path, pa.schema([("a", pa.int32())])) as file:
        if rows:
            file.write(pa.table({"a": pa.array(range(rows), pa.int32())}))
    assert pq.read_metadata(path).num_rows == rows


def test_no_page_index_is_written(tmp_path: Path) -> None:
    """Its place is behind all row groups, and row groups are moved one by one."""
    pq.write_table(TABLE, tmp_path / "in.parquet", write_page_index=True)
    assert pq.read_metadata(tmp_path / "in.parquet").row_group(0).column(0).has_column_index
    write_all(opened(tmp_path / "in.parquet"), tmp_path / "out")
    column = pq.read_metadata(tmp_path / "out/kept/in.parquet").row_group(0).column(0)
    assert not column.has_column_index
    assert not column.has_offset_index
