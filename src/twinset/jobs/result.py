"""The results of runs.

Modules that only some methods need are imported by these methods, so that a run does not wait for them.
"""

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twinset.documents.frames import one_frame, take_rows
from twinset.engines.base import Output
from twinset.engines.progress import ProgressChoice, reporting
from twinset.errors import OptionError, StateError
from twinset.options import DedupOptions
from twinset.options.place import result_folder
from twinset.results.describe import dedup_as_html, describe_dedup
from twinset.results.judged import JudgedResult, id_of
from twinset.results.open_recorded import open_recorded, read_index_texts
from twinset.results.stored import StoredResult, read_summary
from twinset.system.addresses import is_address

if TYPE_CHECKING:
    from twinset.jobs.passages import PassagesResult
    from twinset.pairs.explain.codes_and_vectors import CodeDifference as CodeDifference
    from twinset.pairs.explain.codes_and_vectors import VectorDifference as VectorDifference
    from twinset.pairs.explain.shared import Explanation as Explanation
    from twinset.pairs.explain.words import Stretch as Stretch
    from twinset.results.explain import Account as Account

_LAZY = {
    "Account": "results.explain", "CodeDifference": "pairs.explain.codes_and_vectors",
    "VectorDifference": "pairs.explain.codes_and_vectors", "Stretch": "pairs.explain.words",
    "Explanation": "pairs.explain.shared",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"twinset.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class DedupResult(JudgedResult):
    """A clean collection: `.kept`, `.mask`, `.removed`, `.clusters`, `.pairs`, `.summary` and `.plan`."""

    def __init__(self, summary: dict[str, Any], plan: Any, path: Path | None) -> None:
        self.summary, self.plan, self.path = summary, plan, path
        self._tables: dict[str, pa.Table] = {}
        self._recorded: StoredResult | None = None
        self._held: object = None
        self._frame: Any = None
        self._ids_only = False
        self._named: frozenset[object] = frozenset()

    @classmethod
    def of(cls, output: Output, sources: tuple[object, ...], options: DedupOptions) -> "DedupResult":
        """Make the result of a run; without a folder, a recut reads the sources again."""
        result = cls(output.summary, output.plan, output.path)
        result._frame, result._tables, result._held = one_frame(sources), dict(output.tables), output.held
        result._named = frozenset(filter(is_address, (*sources, *options.against)))
        if output.path is None and output.recorded:
            stored = {name: table for name, table in output.tables.items() if name != "kept"}
            given = output.sources or (*sources, *options.against)
            result._recorded = StoredResult.from_tables(output.summary, stored, given)
            result._recorded.held = output.held
            result._recorded.earlier_texts = read_index_texts
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
                raise StateError("this result has no records on this machine, which explain, report and recut need")
            self._recorded = StoredResult(self.path)
            self._recorded.named = self._named
            self._recorded.earlier_texts = read_index_texts
        return self._recorded

    def recut(
        self, threshold: float | None = None, *, output: Any = None, progress: ProgressChoice = None,
        **options: Any,
    ) -> "DedupResult":  # fmt: skip
        """Recut the scored pairs at another threshold or policy; the result equals that of a fresh run.

        Nothing is compared again. Without `output`, the new tables are in memory, and texts are read only for
        `cluster="components"` and for policies that name a column; `.kept` has ids if this result is a folder,
        otherwise the rows, read from the same objects or files on first use. `rethreshold` is another name for this
        method.

        Parameters
        ----------
        threshold
            At least the floor of this result; by default its own threshold. Items with a distance take `distance`
            instead, up to the floor.
        output
            A folder or a file for the new result, as `dedup` would write it.
        progress
            As for `dedup`.
        **options
            The options of `twinset recut`, as keyword arguments: `keep`, `cluster`, `rows`, `verdicts`, `source`, …

        Returns
        -------
        DedupResult

        Examples
        --------
        >>> import twinset
        >>> rose = "a rose is a rose is a rose in any garden of the town"
        >>> done = twinset.dedup([rose, rose + " hall", "something else"], shingle="word:3", threshold=0.7)
        >>> done.summary["kept"], done.recut(0.95).summary["kept"]
        (2, 3)
        """
        from twinset.options.results import RecutOptions
        from twinset.results.recut import Recut

        checked = RecutOptions.of(threshold=threshold, **options)
        recorded = self.recorded.but(moved=checked.source)
        with reporting(progress) as reporter, Recut(recorded, checked, output, reporter) as recut:
            clusters, reasons = recut.cut()
            made, summary = recut.write(clusters, reasons)
            result = DedupResult(summary, self.plan, None)
            result._frame = self._frame
            result._named = recorded.named | frozenset(filter(is_address, checked.source))
            if output is None:
                tables = {name: pq.read_table(made / f"{name}.parquet") for name in ("removed", "clusters")}
                result._recorded = recorded.but(summary=summary, tables=tables)
                result._ids_only = not recorded.in_memory
            result.path, result._held = recut.finish(made)
        return result

    rethreshold = recut

    def explain(self, id: str | int, other: str | int | None = None, *, source: Sequence[object] = ()) -> "Account":
        """Explain why a document was removed or kept, with its cluster and the differences.

        Parameters
        ----------
        id
            The id of the document; ids are strings, and a whole number stands for its digits.
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

        named = id_of("id", id), None if other is None else id_of("other", other)
        return account(self.recorded.but(moved=source), *named)

    def report(self, path: Any, **options: Any) -> Path:
        """Write one self-contained, searchable HTML page of the result; or with `card` what `card` returns.

        Parameters
        ----------
        path
            A file that ends in .html; with `card` in .md.
        **options
            The options of `twinset report`, as keyword arguments: `clusters`, `rows`, `texts`, `source`, `card`,
            `force`.

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

    def card(self) -> str:
        """Describe the run for the card of a data set: the section Deduplication, as Markdown.

        Returns
        -------
        str
            Counts, clusters, recall, options and the command that repeats the run; the same for the same result.

        Examples
        --------
        >>> import twinset
        >>> rose = "a rose is a rose is a rose in any garden of the town"
        >>> done = twinset.dedup({"a": rose, "b": rose + " hall"}, shingle="word:3")
        >>> print(done.card().splitlines()[0])
        ## Deduplication
        """
        from twinset.report.card.sections import dedup_card

        return dedup_card(self.recorded)

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

    @cached_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Which rows of the sources are kept, in input order: `frame[result.mask]` selects them."""
        from twinset.results.kept_rows import kept_documents, kept_rows_mask

        return kept_rows_mask(self.recorded, kept_documents(self.recorded))

    @property
    def kept(self) -> Any:
        """The kept rows with their columns: a frame if the source is one, otherwise an Arrow table.

        With ``flag=True`` it has all rows, with the columns `cluster`, `duplicate_of` and `similarity`.
        """
        if "kept" not in self._tables:
            self._tables["kept"] = self._read_kept()
        return self._tables["kept"]

    def _read_kept(self) -> Any:
        from twinset.results import kept_rows

        recorded = self.recorded
        flagged, grouped = recorded.options.flag, recorded.options.group is not None
        if self._frame is not None and not flagged:
            return take_rows(self._frame, self.mask)
        if self._frame is not None and not grouped:
            return take_rows(self._frame, kept_rows.readable(recorded), kept_rows.flag_columns(recorded))
        if self._ids_only:
            return self.clusters.filter(pc.field("kept")).select(["id"])
        return kept_rows.read_sources(recorded) if recorded.in_memory else kept_rows.read_folder(recorded)

    def __repr__(self) -> str:
        return f"<DedupResult: {describe_dedup(self.summary)}>"

    def _repr_html_(self) -> str:
        return dedup_as_html(self.summary, self.removed)


def open_result(folder: Any, source: Sequence[object] = ()) -> "DedupResult | PassagesResult":
    """Open the result of an earlier `dedup`, `recut` or `find_passages`.

    Parameters
    ----------
    folder
        The folder, or the file of kept rows or of passages. Damaged tables raise `StateError`.
    source
        The current sources, in their original order, if they have moved. Methods that need texts read them.

    Returns
    -------
    DedupResult or PassagesResult

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> made = twinset.dedup([rose, rose + " hall", "something else"], shingle="word:3", output="OUT")
    >>> twinset.open_result("OUT").removed["because_of"].to_pylist()
    ['0']
    """
    summary = read_summary(result_folder(folder))
    if "passages" in summary:
        from twinset.jobs.passages import PassagesResult  # loads kernels: only where needed

        return PassagesResult.open(folder, source)
    if "removed" not in summary:
        raise OptionError(f"{folder} is a result of pairs, without clusters; name one of dedup, or review it")
    recorded = open_recorded(folder, source)
    result = DedupResult(recorded.summary, recorded.plan, recorded.folder)
    result._recorded = recorded
    return result


def open_dedup(folder: Any) -> DedupResult:
    """Open the result of an earlier `dedup` or `recut`."""
    result = open_result(folder)
    if not isinstance(result, DedupResult):
        raise OptionError(f"{folder} is a result of passages, without clusters; name one of dedup")
    return result


def recut(
    result: Any, threshold: float | None = None, *, output: Any = None, progress: ProgressChoice = None,
    **options: Any,
) -> DedupResult:  # fmt: skip
    """Recut a result at another threshold or policy, without comparing documents again.

    Parameters
    ----------
    result
        A `DedupResult`, or the folder of one.
    threshold, output, progress, **options
        As for `DedupResult.recut`.

    Returns
    -------
    DedupResult

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> done = twinset.dedup([rose, rose + " hall", "something else"], shingle="word:3", threshold=0.7)
    >>> twinset.recut(done, 0.95)
    <DedupResult: 3 of 3 documents kept; recall 1.0000>
    """
    done = result if isinstance(result, DedupResult) else open_dedup(result)
    return done.recut(threshold, output=output, progress=progress, **options)
