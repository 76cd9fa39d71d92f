"""The results of runs.

Modules that only some methods need are imported by these methods, so that a run does not wait for them.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from twinset.engines.base import Output
from twinset.engines.local.write.result import join_tables
from twinset.engines.progress import Progress, Silent
from twinset.errors import StateError
from twinset.options import DedupOptions
from twinset.options.place import Place
from twinset.results.stored import StoredResult
from twinset.schema import pairs_schema
from twinset.wording import counted

if TYPE_CHECKING:
    from twinset.pairs.explain.codes_and_vectors import CodeDifference as CodeDifference
    from twinset.pairs.explain.codes_and_vectors import VectorDifference as VectorDifference
    from twinset.pairs.explain.shared import Explanation as Explanation
    from twinset.pairs.explain.words import Passage as Passage
    from twinset.results.explain import Account as Account

_LAZY = {
    "Account": "results.explain", "CodeDifference": "pairs.explain.codes_and_vectors",
    "VectorDifference": "pairs.explain.codes_and_vectors", "Part": "pairs.explain.words",
    "Explanation": "pairs.explain.shared",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"twinset.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class PairsResult:
    """Pairs of similar documents: `.pairs` (an Arrow table), `.summary` (plain numbers) and `.plan`."""

    def __init__(
        self, summary: dict[str, Any], plan: Any, path: Path | None, pairs: pa.Table | None, measure: str = "jaccard"
    ) -> None:
        self.summary, self.plan, self.path = summary, plan, path
        self._pairs, self._schema = pairs, pairs_schema(measure)

    @cached_property
    def pairs(self) -> pa.Table:
        """All pairs, read from the output file if there is one."""
        if self._pairs is not None:
            return self._pairs
        if self.path is None:
            return self._schema.empty_table()
        if self.path.suffix == ".csv":
            kinds = pa.csv.ConvertOptions(column_types=self._schema, strings_can_be_null=False)
            return pa.csv.read_csv(self.path, convert_options=kinds)
        if self.path.suffix in (".jsonl", ".ndjson"):
            return _read_json_lines(self.path, self._schema)
        return pq.read_table(self.path)

    def __repr__(self) -> str:
        pairs, documents = (counted(self.summary[f"{name}s"], name) for name in ("pair", "document"))
        return f"<PairsResult: {pairs} of {documents}>"


def _read_json_lines(path: Path, schema: pa.Schema) -> pa.Table:
    from pyarrow import json

    if path.stat().st_size == 0:
        return schema.empty_table()
    options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    return json.read_json(path, parse_options=options)


class DedupResult:
    """A clean collection: `.kept`, `.removed`, `.clusters`, `.pairs` (Arrow tables), `.summary` and `.plan`."""

    def __init__(self, summary: dict[str, Any], plan: Any, path: Path | None) -> None:
        self.summary, self.plan, self.path = summary, plan, path
        self._tables: dict[str, pa.Table] = {}
        self._recorded: StoredResult | None = None
        self._rows: Callable[[], pa.Table] | None = None

    @classmethod
    def of(cls, output: Output, sources: tuple[object, ...], options: DedupOptions) -> "DedupResult":
        """Make the result of a run; without a folder, a recut reads the sources again."""
        result = cls(output.summary, output.plan, output.path)
        if output.path is None:
            result._tables = dict(output.tables)
            stored = {name: table for name, table in output.tables.items() if name != "kept"}
            result._recorded = StoredResult.from_tables(output.summary, stored, (*sources, *options.against))
            result._recorded.earlier_texts = _read_index_texts
        return result

    def _table(self, name: str) -> pa.Table:
        if name not in self._tables and self._recorded is not None:
            self._tables[name] = self._recorded.table(name)
        elif name not in self._tables and self.path is not None:
            self._tables[name] = pq.read_table(self.path / f"{name}.parquet")
        return self._tables[name]

    @property
    def recorded(self) -> StoredResult:
        """The records of the run: documents by number, and their texts from the sources."""
        if self._recorded is None:
            if self.path is None:
                raise StateError("this result has no tables and no folder; run dedup again")
            self._recorded = StoredResult(self.path)
            self._recorded.earlier_texts = _read_index_texts
        return self._recorded

    def rethreshold(
        self, threshold: float | None = None, *, output: Any = None, progress: Progress | None = None, **options: Any
    ) -> "DedupResult":
        """Recut the scored pairs at another threshold or policy; the result equals that of a fresh run.

        Nothing is compared again. Without `output`, the new tables are in memory, and texts are read only for
        `cluster="components"` and for policies that name a column; `.kept` has ids if this result is a folder,
        otherwise the rows, read from the same objects or files on first use.

        Parameters
        ----------
        threshold
            At least the floor of this result; by default its own threshold. Items with a distance take `distance`
            instead, up to the floor.
        output
            A folder or a file for the new result, as `dedup` would write it.
        progress
            Receives the progress of the run.
        **options
            The options of `twinset recut`, as keyword arguments: `keep`, `cluster`, `rows`, `source`, `force`, …

        Returns
        -------
        DedupResult

        Examples
        --------
        >>> import twinset
        >>> rose = "a rose is a rose is a rose in any garden of the town"
        >>> done = twinset.dedup([rose, rose + " hall", "something else"], shingle="word:3", threshold=0.7)
        >>> done.summary["kept"], done.rethreshold(0.95).summary["kept"]
        (2, 3)
        """
        from twinset.options.results import RecutOptions
        from twinset.results.recut import Recut
        from twinset.results.stored_corpus import kept_tables

        checked = RecutOptions.of(threshold=threshold, **options)
        recorded = self.recorded.but(moved=checked.source)
        place = Place.of(output)
        target = place.folder if place else None
        with Recut(recorded, checked, place, progress or Silent()) as recut:
            clusters, reasons = recut.cut()
            made, summary = recut.write(clusters, reasons)
            result = DedupResult(summary, self.plan, target)
            if target is None:
                tables = {name: pq.read_table(made / f"{name}.parquet") for name in ("removed", "clusters")}
                result._recorded = recorded.but(summary=summary, tables=tables)
                if recorded.in_memory:
                    result._rows = lambda: join_tables(kept_tables(recorded, clusters.kept))
            recut.finish(made)
        return result

    def explain(self, id: str, other: str | None = None, *, source: Sequence[object] = ()) -> "Account":
        """Explain why a document was removed or kept, with its cluster and the differences.

        Parameters
        ----------
        id
            The document.
        other
            A document to compare it with; by default the kept one of its cluster, or the least similar removed one.
        source
            The current sources, in their original order, if they have moved.

        Returns
        -------
        Account
            With `.state`, `.cluster`, `.members`, and `.explanation` of the two texts.

        Examples
        --------
        >>> import twinset
        >>> rose = "a rose is a rose is a rose in any garden of the town"
        >>> found = twinset.dedup({"a": rose, "b": rose + " hall"}, shingle="word:3").explain("b")
        >>> found.state, found.cluster, found.explanation.left_only
        ('removed', 'a', ('the town hall',))
        """
        from twinset.results.explain import account

        return account(self.recorded.but(moved=source), id, other)

    def report(self, path: Any, **options: Any) -> Path:
        """Write one self-contained, searchable HTML page of the result.

        Parameters
        ----------
        path
            A file that ends in .html.
        **options
            The options of `twinset report`, as keyword arguments: `clusters`, `rows`, `texts`, `source`, `force`.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import twinset
        >>> rose = "a rose is a rose is a rose in any garden of the town"
        >>> done = twinset.dedup({"a": rose, "b": rose + " hall"}, shingle="word:3")
        >>> done.report("roses.html").name
        'roses.html'
        """
        from twinset.options.results import ReportOptions
        from twinset.report.page import write_report

        checked = ReportOptions.of(**options)
        return write_report(self.recorded.but(moved=checked.source), path, checked)

    @property
    def pairs(self) -> pa.Table:
        """Pairs of distinct contents, and one row for each identical copy."""
        return self._table("pairs")

    @property
    def removed(self) -> pa.Table:
        """Each removed document with the kept one, and their scores."""
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
        """The kept rows with their columns; only ids if the result is a folder, which has the rows in kept/."""
        if "kept" not in self._tables and self._rows is not None:
            self._tables["kept"] = self._rows()
        if "kept" not in self._tables:
            self._tables["kept"] = self.clusters.filter(pc.field("kept")).select(["id"])
        return self._tables["kept"]

    def __repr__(self) -> str:
        summary = self.summary
        return f"<DedupResult: {summary['kept']:,} of {counted(summary['documents'], 'document')} kept>"


def _read_index_texts(recorded: StoredResult, ids: list[str]) -> list[str | None]:
    """Read the texts of documents of the run's index, as they are now."""
    from twinset.index.index import Index  # loads a database: only where needed

    target, folder = str(recorded.options.index), recorded.summary["timings"].get("folder")
    if "://" not in target and folder and os.path.exists(os.path.join(folder, target)):
        target = os.path.join(folder, target)
    with Index.open(target, read_only=True) as index:
        stored_ids = [id for id in ids if id in index] if index.settings.options.store == "text" else []
        texts = dict(zip(stored_ids, index.texts(stored_ids), strict=True)) if stored_ids else {}
    return [texts.get(id) for id in ids]


def open_result(folder: Any, source: Sequence[object] = ()) -> DedupResult:
    """Open the result of an earlier `dedup` or `recut`.

    Parameters
    ----------
    folder
        The folder, or the file of kept rows. Its tables are checked against their digests; damage raises `StateError`.
    source
        The current sources, in their original order, if they have moved. Methods that need texts read them.

    Returns
    -------
    DedupResult

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> made = twinset.dedup([rose, rose + " hall", "something else"], shingle="word:3", output="OUT")
    >>> twinset.open_result("OUT").removed["because_of"].to_pylist()
    ['0']
    """
    recorded = StoredResult(folder, source)
    recorded.earlier_texts = _read_index_texts
    result = DedupResult(recorded.summary, recorded.plan, recorded.folder)
    result._recorded = recorded
    return result


@dataclass(frozen=True)
class Comparison:
    """Two texts compared exactly, and the estimate from sketches."""

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
        """Return the comparison as plain values."""
        return asdict(self)
