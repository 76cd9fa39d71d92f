"""Read a result folder of `dedup`: its tables, its documents by number, and their texts from the sources.

Every table is checked against its digest in `summary.json`, and `summary.json` against its own, so that damage raises
an error that names the file.
"""

import copy
import difflib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twinset.engines.local.steps.sketch import UNREADABLE as UNREADABLE_ROW
from twinset.engines.local.write.summary import sha256_of, summary_check
from twinset.engines.local.write.table_file import TableFile
from twinset.errors import OptionError, StateError, TwinsetError
from twinset.options import DedupOptions
from twinset.options.place import missing_result, result_folder
from twinset.plan import Plan
from twinset.plan.from_summary import AnyPlan, plan_from_summary
from twinset.results.reopen_sources import ReopenedSources
from twinset.schema import (
    CLUSTERS,
    EMPTY,
    HASH_SCHEME,
    SOURCES,
    UNREADABLE,
    Hashes,
    documents_schema,
    pairs_schema,
    removed_schema,
)
from twinset.system.disk import flush
from twinset.system.scratch import cannot_write
from twinset.verdicts.basis import basis_of
from twinset.wording import quoted, reason

SUMMARY = "summary.json"
SCHEMAS = {
    "clusters": CLUSTERS, "empty": EMPTY, "unreadable": UNREADABLE, "sources": SOURCES,
}  # fmt: skip
_MAX_SIMILAR, _MAX_COMPARED = 3, 5000


class StoredResult:
    """The result folder of an earlier run.

    Parameters
    ----------
    folder
        The folder that `dedup` or `recut` wrote, or the file of kept rows beside its folder of details.
    moved
        The present sources, in the order of the SOURCE arguments, those compared against last; empty if unchanged.
    """

    command: ClassVar[str] = "dedup"
    """The command that wrote the folder."""
    earlier_texts: Callable[["StoredResult", list[str]], list[str | None]] | None = None
    """Returns the texts of documents of an index; set by callers that can open one."""
    held: object = None
    """Whatever must live as long as the sources."""
    named: frozenset[object] = frozenset()
    """Addresses that the caller named for the run; others are not fetched."""

    def __init__(self, folder: Path | str, moved: Sequence[object] = ()) -> None:
        self.folder = result_folder(folder)
        self.summary = read_summary(self.folder)
        self.moved = tuple(moved)
        self._tables: dict[str, pa.Table] = {}
        self.in_memory = False
        self.options, self.plan = self._read_options()

    @classmethod
    def from_tables(
        cls, summary: dict[str, Any], tables: dict[str, pa.Table], sources: Sequence[object]
    ) -> Self:
        """Make a result that is in memory only, with its sources."""
        result = cls.__new__(cls)
        result.folder, result.summary, result.moved, result._tables = Path(), summary, tuple(sources), tables
        result.in_memory = True
        result.options, result.plan = result._read_options()
        return result

    def but(
        self, *, summary: dict[str, Any] | None = None, tables: dict[str, pa.Table] | None = None,
        moved: Sequence[object] = (),
    ) -> Self:  # fmt: skip
        """Copy the result with another summary, other tables, or moved sources."""
        result = copy.copy(self)
        result._tables = {**self._tables, **(tables or {})}
        if summary is not None:
            result.summary = summary
            result.options, result.plan = result._read_options()
            result.__dict__.pop("earlier_ids", None)
        if moved:
            result.moved = tuple(moved)
            result.__dict__.pop("sources", None)
        return result

    def _read_options(self) -> tuple[DedupOptions, AnyPlan]:
        """Read the options and the plan from the summary."""
        try:
            if self.summary["hash_scheme"] != HASH_SCHEME:
                raise KeyError("hash_scheme")
            options = DedupOptions.of(**self._given_options())
            return options, plan_from_summary(options, self.summary["plan"])
        except (TwinsetError, KeyError, TypeError) as error:
            raise self._damaged(SUMMARY, f"it is of another version of Twinset, or damaged ({error})") from error

    def _given_options(self) -> dict[str, Any]:
        """Return the options of the run as keyword arguments."""
        values = self.summary["options"].items()
        return {name: tuple(value) if isinstance(value, list) else value for name, value in values}

    def _damaged(self, name: str, why: str) -> StateError:
        return StateError(f"{self.folder / name}: {why}; run {self.command} again")

    @property
    def sketched(self) -> Plan:
        """The plan of a run over sets; raises `OptionError` for other kinds of items."""
        if not isinstance(self.plan, Plan):
            raise OptionError(f"{self.folder} is a result of {self.options.item_flag}, which has no sketches")
        return self.plan

    def schema(self, name: str) -> pa.Schema:
        """Return the columns of a table."""
        if name == "removed":
            return removed_schema(self.options.measure, judged=self.options.verdicts is not None)
        if name == "documents":
            return documents_schema(ordered_by_size=self.options.measure == "containment")
        return SCHEMAS.get(name) or pairs_schema(self.options.measure)

    def table(self, name: str) -> pa.Table:
        """Read a table of the folder, such as ``"pairs"``, and check it."""
        if name not in self._tables:
            file = f"{name}.parquet"
            digest = self.summary.get("files", {}).get(file)
            if digest is None:
                raise self._damaged(SUMMARY, f"it does not name {file}: not a result of {self.command}, or damaged")
            self._tables[name] = _read_table(self.folder / file, digest, self.schema(name), self.command)
        return self._tables[name]

    def forget(self, name: str) -> None:
        """Free a table that was read from the folder; it is read again where it is needed."""
        if not self.in_memory:
            self._tables.pop(name, None)
            for part in ("ids", "digests") if name == "documents" else ():
                self.__dict__.pop(part, None)

    def has(self, name: str) -> bool:
        """Whether the result has this table."""
        return name in self._tables or f"{name}.parquet" in self.summary.get("files", {})

    def batches(self, name: str, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Yield some columns of a table, `rows` rows at a time, after checking the file."""
        if name in self._tables:
            table = self._tables[name].select(columns)
            yield from (table.slice(start, rows) for start in range(0, table.num_rows, rows))
            return
        path = self.folder / f"{name}.parquet"
        _check_digest(path, self.summary["files"].get(path.name))
        try:
            file = pq.ParquetFile(path)
            _check_columns(path, file.schema_arrow, self.schema(name))
            for batch in file.iter_batches(rows, columns=list(columns)):
                yield pa.Table.from_batches([batch])
        except (pa.ArrowException, ValueError, OSError) as error:
            raise StateError(f"{path} cannot be read ({reason(error)}); run {self.command} again") from error

    def copy(self, name: str, folder: Path) -> None:
        """Copy the file of a table into a folder."""
        file = f"{name}.parquet"
        if self.in_memory:
            with TableFile(folder / file, self.schema(name)) as out:
                out.write(self._tables[name])
            return
        _check_digest(self.folder / file, self.summary["files"].get(file))
        try:
            shutil.copyfile(self.folder / file, folder / file)
            with open(folder / file, "rb") as result:
                flush(result.fileno())
        except OSError as error:
            raise cannot_write(folder / file, error) from error

    @property
    def documents(self) -> pa.Table:
        """Row i is document number i; those compared against come last."""
        return self.table("documents")

    @property
    def pairs(self) -> pa.Table:
        """All scored pairs, down to the floor."""
        return self.table("pairs")

    @property
    def removed(self) -> pa.Table:
        """Each removed document, with the reason."""
        return self.table("removed")

    @property
    def clusters(self) -> pa.Table:
        """The cluster of each document."""
        return self.table("clusters")

    @property
    def own(self) -> int:
        """The number of documents of the sources themselves; later numbers belong to the source compared against."""
        return int(self.summary["documents"])

    @cached_property
    def ids(self) -> pa.Array:
        """The ids by number, contiguous."""
        ids = self.documents["id"].cast(pa.large_string())
        return ids.combine_chunks() if ids.num_chunks != 1 else ids.chunk(0)

    @cached_property
    def digests(self) -> Hashes:
        """The digests of the contents by number (n, 2): as bytes, those that verdicts are tied to."""
        chunks = [np.zeros(0, "<u8")]
        for chunk in filter(len, self.documents["digest"].chunks):
            words = np.frombuffer(chunk.buffers()[1], "<u8")
            chunks.append(words[2 * chunk.offset : 2 * (chunk.offset + len(chunk))])
        return np.concatenate(chunks).reshape(-1, 2)

    @property
    def basis(self) -> str:
        """How the contents were compared; stored with each verdict on them."""
        return basis_of(self.options)

    @cached_property
    def earlier_ids(self) -> pa.Array:
        """The documents of an index that caused removals; they are numbered after those of the run."""
        if not self.has("earlier"):
            return pa.array([], pa.large_string())
        table = self.table("earlier")
        other = pc.not_equal(table["left"], table["right"])
        near = pc.and_(other, pc.greater_equal(table["similarity"], self.options.threshold))
        return pc.unique(table["left"].filter(near)).cast(pa.large_string())

    def numbers_of(self, ids: pa.Array | pa.ChunkedArray, first: int = 0) -> Any:
        """Return the numbers of documents by id, from number `first` on; the first of equal ids counts.

        Unreadable rows are excluded, since their ids may equal others.
        """
        read = np.asarray(self.documents["status"])[first:] != UNREADABLE_ROW
        known = self.ids.slice(first)
        found = pc.index_in(ids.cast(pa.large_string()), value_set=known if read.all() else known.filter(read))
        if found.null_count:
            raise self._damaged("documents.parquet", "it lacks documents that other tables name")
        places = np.asarray(found).astype(np.int64)
        return (places if read.all() else np.flatnonzero(read)[places]) + first

    def find(self, id: str) -> int:
        """Return the number of a document by id: of the sources first, then of those compared against."""
        wanted = pa.scalar(id, pa.large_string())
        place = int(pc.index(self.ids, wanted).as_py())
        if place < 0 and (beyond := int(pc.index(self.earlier_ids, wanted).as_py())) >= 0:
            place = len(self.ids) + beyond
        if place < 0:
            self._refuse_skipped(id)
            near = self._similar_ids(id)
            guess = f"did you mean {' or '.join(map(quoted, near))}?" if near else "ids are in documents.parquet"
            where = "this result" if self.in_memory else self.folder
            raise OptionError(f"there is no document {quoted(id)} in {where}; {guess}")
        return place

    def _refuse_skipped(self, id: str) -> None:
        """Say why a file of the sources is not a document."""
        for name, why in self.summary.get("skipped", ()):
            if name == id or name.endswith(f"/{id}"):
                where = "this result" if self.in_memory else self.folder
                raise OptionError(f"{quoted(id)} is not a document of {where}: {name} was skipped: {why}")

    def _similar_ids(self, id: str) -> list[str]:
        """Return a few similar ids, among a limited number; a number may be that of a row, as in ``table:7``."""
        rows = self.ids.filter(pc.ends_with(self.ids, f":{id}")) if id.isdecimal() else self.ids.slice(0, 0)
        if len(rows):
            return [str(one) for one in rows.slice(0, _MAX_SIMILAR).to_pylist()]
        containing = self.ids.filter(pc.match_substring(self.ids, id, ignore_case=True)) if id else self.ids
        if len(containing):
            return [str(one) for one in containing.slice(0, _MAX_SIMILAR).to_pylist()]
        parts = id.split("/")
        below = self.ids.filter(pc.is_in(self.ids, pa.array(["/".join(parts[i:]) for i in range(len(parts))])))
        if len(below):
            return [str(one) for one in below.slice(0, _MAX_SIMILAR).to_pylist()]
        alike = self.ids.filter(pc.starts_with(self.ids, id[:2]))
        return difflib.get_close_matches(id, alike.slice(0, _MAX_COMPARED).to_pylist(), n=_MAX_SIMILAR)

    @cached_property
    def sources(self) -> ReopenedSources:
        """The reopened sources."""
        sources = ReopenedSources(
            self.options, self.table("sources"), self.summary["input"], self.summary["timings"], self.moved,
            self.folder, self._ids_of,
        )  # fmt: skip
        sources.named = self.named
        return sources

    def _ids_of(self, part: int) -> list[str]:
        rows = pc.equal(self.documents["part"], pa.scalar(part, pa.uint32()))
        return [str(one) for one in self.documents["id"].filter(rows).to_pylist()]

    def texts(self, numbers: Sequence[int]) -> list[str | None]:
        """Read the texts of some documents from the sources, or from the index; None if missing.

        Raises `SourceError` if a source is missing, has changed, or was an object in memory.
        """
        wanted = np.asarray(numbers, np.int64)
        beyond = wanted - len(self.ids)
        if (beyond >= 0).any():
            run_texts = iter(self.texts(wanted[beyond < 0].tolist()))
            index_texts = iter(self._read_index_texts(beyond[beyond >= 0]))
            return [next(run_texts if place < 0 else index_texts) for place in beyond.tolist()]
        return self._read_by_part(wanted, self.sources.texts)

    def packed(self, numbers: Sequence[int]) -> list[bytes | None]:
        """Read some items in packed form from the sources; None if missing. Raises as `texts` does."""
        return self._read_by_part(np.asarray(numbers, np.int64), self.sources.packed)

    def _read_by_part(self, wanted: Any, read: Callable[[int, Any, Any], list[Any]]) -> list[Any]:
        places = self.documents.take(pa.array(wanted)) if len(wanted) else self.documents.slice(0, 0)
        part, row, length = (np.asarray(places[name]).astype(np.int64) for name in ("part", "row", "length"))
        found: list[Any] = [None] * len(wanted)
        for number in np.unique(part).tolist():
            rows = np.flatnonzero(part == number)
            for place, one in zip(rows.tolist(), read(number, row[rows], length[rows]), strict=True):
                found[place] = one
        return found

    def _read_index_texts(self, places: Any) -> list[str | None]:
        if self.earlier_texts is None:
            return [None] * len(places)
        return self.earlier_texts(self, self.earlier_ids.take(pa.array(places)).to_pylist())


def read_summary(folder: Path, *, trimmed: bool = False) -> dict[str, Any]:
    """Read the summary of a result folder, and check it; that of `trim` only with `trimmed`."""
    path = folder / SUMMARY
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        same = summary["check"] == summary_check(summary)
        sections = summary["options"], summary["plan"], summary["input"], summary["timings"], summary["files"]
        if not same or not all(isinstance(one, dict) for one in sections):
            raise ValueError("changed")
    except OSError as error:
        why = missing_result(folder) if isinstance(error, FileNotFoundError) else error.strerror
        raise StateError(f"{path}: {why}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StateError(f"{path} is damaged, or of another version or command of Twinset; run dedup again") from error
    if "words_cut" in summary and not trimmed:
        raise OptionError(f"{folder} is a result of trim; cuts.parquet has its cuts with their reasons")
    return dict(summary)


def _check_digest(path: Path, digest: str | None) -> None:
    try:
        if digest is None or sha256_of(path) != digest:
            raise StateError(f"{path} is damaged: it was changed after it was written; run dedup again")
    except OSError as error:
        raise _read_error(path, error) from error


def _check_columns(path: Path, found: pa.Schema, expected: pa.Schema, command: str = "dedup") -> None:
    """Refuse a table whose columns are not those of this version."""
    if found.names == expected.names:
        return
    lacking = [name for name in expected.names if name not in found.names]
    difference = f"it has no column {quoted(lacking[0])}" if lacking else "it has other columns"
    other = f"the result was written by another version of Twinset ({difference})"
    raise StateError(f"{path}: {other}; run {command} again")


def _read_error(path: Path, error: OSError, command: str = "dedup") -> StateError:
    reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
    return StateError(f"{path}: {reason}; run {command} again")


def _read_table(path: Path, digest: str, schema: pa.Schema, command: str) -> pa.Table:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _read_error(path, error, command) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise StateError(f"{path} is damaged: it was changed after it was written; run {command} again")
    try:
        table = pq.read_table(pa.BufferReader(data))
        _check_columns(path, table.schema, schema, command)
        return table.cast(schema)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise StateError(f"{path} cannot be read ({reason(error)}); run {command} again") from error
