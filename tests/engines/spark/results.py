"""A result of Spark in a folder, held against that of one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import twinset
from tests.engines.contract.answers import TABLES, common, in_order
from tests.engines.contract.tables import families

OPTIONS: dict[str, Any] = {"threshold": 0.5, "shingle": "word:2", "keep": "longest"}
PAIRS: dict[str, Any] = {"threshold": 0.5, "shingle": "word:2"}
TABLE = families(11, count=30).drop_columns("seen")  # which Spark writes with another type


def write_source(folder: Path) -> Path:
    """The rows in several files, so that there are several tasks."""
    folder.mkdir()
    size = TABLE.num_rows // 4 + 1
    for number in range(4):
        pq.write_table(TABLE.slice(number * size, size), folder / f"{number}.parquet")
    return folder


def summary_of(output: Path) -> dict[str, Any] | None:
    """The summary of a result, if it is one."""
    lines = [line for path in sorted(output.glob("summary/part-*")) for line in path.read_text("utf-8").splitlines()]
    return json.loads(lines[0]) if lines else None


def is_answer_of_one_machine(output: Path, job: str, **options: Any) -> None:
    """Check that a folder holds what the local engine finds in the same rows."""
    local = getattr(twinset, job)(TABLE, **options)
    for name in TABLES[job]:
        found = pq.read_table(output / name)
        assert _rows(found) == _rows(getattr(local, name)), name
    summary = summary_of(output)
    assert summary is not None
    assert common(summary) == json.loads(json.dumps(common(local.summary)))


def _rows(table: pa.Table) -> list[str]:
    return [repr(sorted(row.items())) for row in in_order(table)]
