"""Reopen the sources of an earlier run, and refuse changed ones."""

import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from twinset.documents.files import is_pattern, matches_of
from twinset.documents.items.element_names import weighted_sets, written_sets
from twinset.documents.items.records import record_columns
from twinset.documents.own_files import exclude_outputs
from twinset.documents.parts import Part
from twinset.documents.sources import open_sources
from twinset.documents.stored_sources import StoredSource
from twinset.engines.local.steps.open import sketch_pictures
from twinset.engines.local.steps.shingle import item_lengths
from twinset.errors import OptionError, SourceError
from twinset.options import DedupOptions
from twinset.schema import Places
from twinset.system.addresses import is_address
from twinset.wording import counted

_BATCH = 1 << 20
_One = TypeVar("_One")
_AGAIN = "run dedup again, or say where the sources of that run are with --source"


class ReopenedSources:
    """The parts of an earlier run, by their row in sources.parquet.

    A relative path is resolved from the working folder of that run, then from the present one.

    Parameters
    ----------
    options
        The options of that run.
    listed
        Its sources.parquet.
    given, run
        The `input` and the `timings` of its summary.
    moved
        The present paths of the sources; empty if unchanged.
    folder
        The result folder, which has the sources that cannot be opened again; it is not read as a source.
    ids_of
        Returns the ids of the documents of a part.
    """

    def __init__(
        self, options: DedupOptions, listed: pa.Table, given: dict[str, Any], run: dict[str, Any],
        moved: Sequence[object], folder: Path, ids_of: Callable[[int], list[str]],
    ) -> None:  # fmt: skip
        self.options, self.listed, self.moved = options, listed.to_pylist(), tuple(moved)
        self.names: list[str | None] = [*given["sources"], *given["against"]]
        self.against = len(given["sources"])
        self.stored = [
            None if one is None else StoredSource.of(folder, one)
            for one in given.get("stored") or [None] * len(self.names)
        ]
        self.folder, self.left_out = run.get("folder"), tuple(run.get("left_out", ()))
        self.outputs = [folder] if folder.name else []
        self._ids_of = ids_of
        self.named: frozenset[object] = frozenset()
        """Addresses that the caller named for the run; those of a summary alone are not fetched."""
        self._trusted: set[int] = set()

    @property
    def places(self) -> tuple[object, ...]:
        """The present sources, in the order of the SOURCE arguments, those compared against last."""
        if not self.moved:
            if not self.lasting:
                raise SourceError(
                    "that run was made from objects in memory or from stdin, so its texts cannot be read again; "
                    "give the same data with --source, or run dedup again"
                )
            return self._recorded_places(0)
        if len(self.moved) not in (self.against, len(self.names)):
            both = f" (or {len(self.names)}, with those compared against)" if len(self.names) > self.against else ""
            raise OptionError(
                f"--source names {counted(len(self.moved), 'source')}, but that run was given {self.against}{both}; "
                "name all of them, in the same order"
            )
        rest = self._recorded_places(len(self.moved))
        if None in rest:
            raise SourceError("the source that was compared against was in memory only; give it too, after the others")
        return (*self.moved, *rest)

    def _recorded_places(self, first: int) -> tuple[object, ...]:
        """Return the sources from a number on, as recorded: paths, or what is stored beside the result."""
        recorded = zip(self.names[first:], self.stored[first:], strict=True)
        return tuple(stored if name is None else self._resolve(name) for name, stored in recorded)

    @property
    def unmoved(self) -> bool:
        """Whether the sources are named as in that run."""
        named = zip(self.places, self.names, strict=True)
        return all(
            isinstance(place, StoredSource) if name is None else isinstance(place, str) and place == name
            for place, name in named
        )

    @property
    def lasting(self) -> bool:
        """Whether the sources may be read again, which is not checked here."""
        recorded = zip(self.names, self.stored, strict=True)
        return bool(self.moved) or all(name is not None or stored is not None for name, stored in recorded)

    @property
    def own_parts(self) -> int:
        """The number of parts of the sources themselves; those compared against follow."""
        return sum(was["role"] == "source" for was in self.listed)

    def _resolve(self, name: str) -> str:
        if self.folder is None or is_address(name) or os.path.isabs(name) or self.folder == os.getcwd():
            return name
        path = os.path.join(self.folder, name)
        return path if os.path.exists(path) or (is_pattern(path) and matches_of(path)) else name

    @cached_property
    def parts(self) -> list[Part]:
        """The parts, of the same number and formats; `trusted` checks their contents."""
        places = self.places
        if any(isinstance(place, str) and place == "-" for place in places):
            raise SourceError("stdin (-) cannot be read again; name a file with the same rows with --source")
        paths = [place for place in places if isinstance(place, str) and not is_pattern(place)]
        missing = [path for path in paths if not is_address(path) and not os.path.exists(path)]
        signed = next((one for one in places if isinstance(one, str) and is_address(one) and one.endswith("?…")), None)
        if signed is not None:
            raise SourceError("the query of an address is not stored; give it again with --source", where=signed)
        unnamed = next((one for one in places[len(self.moved) :] if is_address(one) and one not in self.named), None)
        if unnamed is not None:
            why = "the summary of a result is no reason to fetch from an address; name it with --source"
            raise SourceError(why, where=str(unnamed))
        if missing and not self.moved:
            raise SourceError("this source no longer exists; give its new path with --source", where=missing[0])
        options, left_out = exclude_outputs(self.options, self.outputs, places, self.left_out)
        self.left_out = left_out
        # For streams, which can be read only once; made only if needed.
        scratch = Path(tempfile.gettempdir()) / f"twinset-{uuid.uuid4().hex}"
        weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        opening: dict[str, Any] = {"scratch": scratch}
        if any(map(is_address, places)):
            from twinset.documents.remote.fetch import Fetcher  # not for runs without addresses

            opening["fetcher"] = Fetcher(scratch / "fetched")  # one for both, which have a folder for their copies
        parts = list(open_sources(places[: self.against], options, **opening).parts)
        if len(places) > self.against:
            parts += open_sources(places[self.against :], options, against=True, **opening).parts
        self._check_listed(parts)
        sketch_pictures(parts, options)
        return parts

    def _check_listed(self, parts: list[Part]) -> None:
        """Refuse other, additional or missing files."""
        for part, was in zip(parts, self.listed, strict=False):
            if part.format != was["format"]:
                raise SourceError(
                    f"the sources were changed since that run: this is {part.format}, but that run read "
                    f"{was['path']!r}, {was['format']}; {_AGAIN}",
                    where=part.name,
                )
        if len(parts) != len(self.listed):
            added = parts[len(self.listed)].name if len(parts) > len(self.listed) else None
            what = f"{added} is new" if added else f"{self.listed[len(parts)]['path']} is gone"
            raise SourceError(
                f"the sources were changed since that run: {counted(len(parts), 'part')}, not {len(self.listed)}, "
                f"such as {what}; {_AGAIN}"
            )

    def trusted(self, number: int) -> Part:
        """Return a part after checking its size and SHA-256, or the version of a remote object of which a part is here.

        Objects in memory are checked as they are read.
        """
        part, was = self.parts[number], self.listed[number]
        if number in self._trusted:
            return part
        changed = f"was changed since that run; {_AGAIN}"
        if part.files:
            _restore_ids(part, self._ids_of(number), changed)
        if was["sha256"] is not None and part.lasts:
            if part.size != was["bytes"]:
                raise SourceError(f"{changed} ({counted(part.size, 'byte')}, not {was['bytes']:,})", where=part.name)
            if part.digest() != was["sha256"]:
                raise SourceError(changed, where=part.name)
        elif was["version"] is not None and part.version not in (None, was["version"]):
            raise SourceError(changed, where=part.name)
        self._trusted.add(number)
        return part

    def texts(self, number: int, rows: Places, was: Places) -> list[str | None]:
        """Read the texts of some rows of a part, which had lengths `was`; other items as JSON."""
        part = self.trusted(number)
        if self.options.item_kind in ("items", "groups"):
            return self._sets_json(part, written_sets(part, rows), was)
        if self.options.item_kind == "weighted":
            return self._sets_json(part, weighted_sets(part, rows), was // 2)  # two words per element
        read = self._record_json if self.options.item_kind == "records" else _decode
        return self._read(part, rows, was, read)

    def packed(self, number: int, rows: Places, was: Places) -> list[bytes | None]:
        """Read some items of a part in packed form; None if missing."""
        return self._read(self.trusted(number), rows, was, lambda one: one[0].as_py())

    def _read(self, part: Part, rows: Places, was: Places, read: Callable[[pa.Array], _One]) -> list[Any]:
        found: list[_One | None] = [None] * len(rows)
        left = len(rows)
        for chunk in part.chunks(_BATCH):
            positions = np.flatnonzero((rows >= chunk.first_row) & (rows < chunk.first_row + chunk.rows))
            if len(positions):
                texts = chunk.read(texts_only=True).texts
                for place in positions.tolist():
                    one = texts.slice(int(rows[place]) - chunk.first_row, 1)
                    check_lengths(part, one, was[place : place + 1])
                    found[place] = read(one)
                left -= len(positions)
            if not left:
                return found
        last = int(rows.max())
        raise SourceError(f"row {last:,}, counted from 0, is gone since that run; {_AGAIN}", where=part.name)

    def _record_json(self, one: pa.Array) -> str:
        """Return the columns of a record as JSON."""
        names = [column.name for column in self.options.text_columns]
        texts = [_decode(column) or "" for column in record_columns(one, len(names))]
        return orjson.dumps(dict(zip(names, texts, strict=True))).decode()

    def _sets_json(self, part: Part, sets: Sequence[Any], was: Places) -> list[str | None]:
        """Return sets as JSON, after checking their sizes."""
        if any(len(one or ()) != count for one, count in zip(sets, was.tolist(), strict=True)):
            raise SourceError(f"its sets were changed since that run; {_AGAIN}", where=part.name)
        return [None if one is None else orjson.dumps(one).decode() for one in sets]


def _restore_ids(part: Part, ids: list[str], changed: str) -> None:
    """Give text files their former ids, which are part of their digest."""
    if len(part.files) != len(ids):
        raise SourceError(f"{changed} ({counted(len(part.files), 'file')}, not {len(ids):,})", where=part.name)
    for file, id in zip(part.files, ids, strict=True):
        if part.path is not None and file.id != id:
            raise SourceError(f"{changed} ({file.id!r} replaces {id!r})", where=part.name)
        file.id = id


def check_lengths(part: Part, texts: pa.Array, was: npt.NDArray[np.integer]) -> None:
    """Refuse texts whose length has changed: objects in memory have no digest."""
    if part.options.images:  # files, which have a digest
        return
    if (item_lengths(texts, part.options) != was.astype(np.uint64)).any():
        raise SourceError(f"its texts were changed since that run; {_AGAIN}", where=part.name)


def _decode(one: pa.Array) -> str | None:
    value = one.cast(pa.large_binary())[0].as_py()
    return None if value is None else value.decode("utf-8", "replace")
