"""Long texts, and how the tests read a column of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from twinset.documents.parquet.long_reading import LongReading
from twinset.documents.parquet.long_values import long_columns

ROWS = 500


def texts(seed: int) -> list[str]:
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijé漢", k=chance.randint(1, 12))) for _ in range(300)]
    found = [" ".join(chance.choices(words, k=chance.randint(60, 400))) for _ in range(ROWS)]
    found[7], found[8], found[9] = "", "a" * 70_000, "xy" * 9_000
    return found


def read(path: Path, name: str = "text", groups: list[int] | None = None) -> Any:
    metadata, schema = pq.read_metadata(path), pq.read_schema(path)
    reading = LongReading(path, metadata, long_columns(metadata, schema))
    wanted = list(range(metadata.num_row_groups)) if groups is None else groups
    return reading.read(name, wanted, schema.field(name).type)
