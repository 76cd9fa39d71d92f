"""What a run hands over: objects that answer questions."""

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from twinset.plan import Plan
from twinset.schema import PAIRS


class PairsResult:
    """Pairs of similar documents: `.pairs` (an Arrow table), `.summary` (plain numbers) and `.plan`."""

    def __init__(self, summary: dict[str, Any], plan: Plan, path: Path | None, pairs: pa.Table | None) -> None:
        self.summary, self.plan, self.path = summary, plan, path
        self._pairs = pairs

    @cached_property
    def pairs(self) -> pa.Table:
        """All pairs, read from the output file if there is one."""
        if self._pairs is not None:
            return self._pairs
        if self.path is None:
            return PAIRS.empty_table()
        if self.path.suffix == ".csv":
            kinds = pa.csv.ConvertOptions(column_types=PAIRS, strings_can_be_null=False)
            return pa.csv.read_csv(self.path, convert_options=kinds)
        if self.path.suffix in (".jsonl", ".ndjson"):
            return _json_lines(self.path)
        return pq.read_table(self.path)

    def __repr__(self) -> str:
        return f"<PairsResult: {self.summary['pairs']:,} pairs of {self.summary['documents']:,} documents>"


def _json_lines(path: Path) -> pa.Table:
    if path.stat().st_size == 0:
        return PAIRS.empty_table()
    options = pa.json.ParseOptions(explicit_schema=PAIRS, unexpected_field_behavior="error")
    return pa.json.read_json(path, parse_options=options)


class DedupResult:
    """A clean collection: `.kept`, `.removed`, `.clusters`, `.pairs` (Arrow tables), `.summary` and `.plan`."""

    def __init__(self, summary: dict[str, Any], plan: Plan, path: Path | None) -> None:
        self.summary, self.plan, self.path = summary, plan, path
        self._tables: dict[str, pa.Table] = {}

    def load(self, folder: Path, kept: pa.Table) -> None:
        """Take the tables out of a folder that will not last."""
        for name in ("pairs", "removed", "clusters", "empty", "unreadable"):
            self._tables[name] = pq.read_table(folder / f"{name}.parquet", memory_map=False)
        self._tables["kept"] = kept

    def _table(self, name: str) -> pa.Table:
        if name not in self._tables and self.path is not None:
            self._tables[name] = pq.read_table(self.path / f"{name}.parquet")
        return self._tables[name]

    @property
    def pairs(self) -> pa.Table:
        """Pairs of distinct contents, and one row for each identical copy."""
        return self._table("pairs")

    @property
    def removed(self) -> pa.Table:
        """Each removed document with the kept one it resembles, and how much."""
        return self._table("removed")

    @property
    def clusters(self) -> pa.Table:
        """The cluster of each document, named after the kept one."""
        return self._table("clusters")

    @property
    def empty(self) -> pa.Table:
        """Documents without any token; they are kept."""
        return self._table("empty")

    @property
    def unreadable(self) -> pa.Table:
        """Rows that could not be read, with the reason."""
        return self._table("unreadable")

    @property
    def kept(self) -> pa.Table:
        """The kept rows with their columns.

        Ids only where the result is a folder on disk (the rows are in its kept/).
        """
        if "kept" not in self._tables:
            self._tables["kept"] = self.clusters.filter(pc.field("kept")).select(["id"])
        return self._tables["kept"]

    @staticmethod
    def joined(tables: list[pa.Table]) -> pa.Table:
        """Tables as one: with all columns where they agree, else with those that all have."""
        if not tables:
            return pa.table({"id": pa.array([], pa.string()), "text": pa.array([], pa.string())})
        if all(table.schema.equals(tables[0].schema) for table in tables):
            return pa.concat_tables(tables)
        common = [name for name in tables[0].column_names if all(name in table.column_names for table in tables)]
        return pa.concat_tables([table.select(common) for table in tables], promote_options="permissive")

    def __repr__(self) -> str:
        summary = self.summary
        return f"<DedupResult: {summary['kept']:,} of {summary['documents']:,} documents kept>"


@dataclass(frozen=True)
class Comparison:
    """Two texts compared exactly, and what a sketch would have estimated."""

    similarity: float
    distance: float
    left_in_right: float
    right_in_left: float
    estimate: float
    standard_error: float
    shared: int
    left_shingles: int
    right_shingles: int
    shingle: str
    n_hashes: int

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return asdict(self)
