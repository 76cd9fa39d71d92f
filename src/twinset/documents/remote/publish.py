"""Upload a result: to a temporary prefix first, then in place, and last the file by which it is known as a result.

A prefix with a mark of an unfinished upload, or without a summary, is no result. Objects that are too large to be
copied by a server are uploaded to their places once everything else is there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from twinset.documents.own_files import MOST_OF_SUMMARY, is_summary
from twinset.documents.remote.fetch import Fetcher
from twinset.documents.remote.stores import CommittedStore, RemoteObject, RemoteStore, WritableStore, not_writable
from twinset.errors import FetchError, OutputError
from twinset.options.checks import shown_size
from twinset.system import batch_sizes
from twinset.system.addresses import Address
from twinset.system.digests import file_digest
from twinset.system.scratch import cannot_write
from twinset.wording import counted

STAGE = ".twinset-unfinished"
_SUMMARY, _MARK = "summary.json", "mark.json"
_THREADS = 4


class Upload:
    """Puts one result in place. `record` is a file that remembers what was uploaded, for a run that resumes.

    The record is read once, since the state folder that has it may be cleared meanwhile.
    """

    def __init__(self, target: Address, record: Path, fetcher: Fetcher, force: bool) -> None:
        self.target, self.record, self.fetcher, self.force = target, record, fetcher, force
        if not isinstance(self._store, (WritableStore, CommittedStore)):
            raise not_writable(target)
        self._recorded = _read_record(record)

    @property
    def _store(self) -> RemoteStore:
        return self.fetcher.store(self.target)

    def check_folder(self, target: Address) -> set[str]:
        """Refuse a prefix that holds something else, or a result unless it may be replaced.

        Return the keys of what is there and may be replaced.
        """
        found = self._listed(target)
        if not found:
            return set()
        if self.is_ours(target):
            return set(self._recorded.get("replaces", ()))
        has_mark = f"{STAGE}/{_MARK}" in found
        is_result = is_summary(self._small(found.get(_SUMMARY)))
        if not has_mark and not is_result:
            raise OutputError(
                f"{target} exists and is not a result of an earlier run, so it is never replaced; choose another output"
            )
        if not self.force and has_mark:
            raise OutputError(
                f"{target} has an unfinished upload of another run; if that run has ended, replace it with --force"
            )
        if not self.force:
            raise OutputError(f"{target} exists; choose another output, or replace it with --force")
        return {one.address.key for one in found.values()}

    def check_file(self, target: Address) -> None:
        """Refuse an object that exists, unless it may be replaced."""
        if not self.force and self.fetcher.find(target) is not None:
            raise OutputError(f"{target} exists; choose another output, or replace it with --force")

    def is_ours(self, target: Address) -> bool:
        """Whether there is an unfinished upload, and it is that of this run."""
        own = self._recorded.get("upload")
        mark = None if own is None else self._small(self.fetcher.find(target.below(STAGE).below(_MARK)))
        try:
            return bool(mark) and orjson.loads(mark or b"") == {"upload": own}
        except orjson.JSONDecodeError:
            return False

    def put_folder(
        self, files: Mapping[str, Path], target: Address, replaced: Collection[str],
        rows: tuple[Path, Address] | None = None,
    ) -> None:  # fmt: skip
        """Upload the files of a folder, by their names below it, and after them the file of rows beside it.

        replaced: the keys of objects that may be deleted.
        """
        old = self._listed(target)
        if isinstance(self._store, CommittedStore):
            stale = [one.address for name, one in old.items() if name not in files and one.address.key in replaced]
            added = [(path, target.below(name)) for name, path in files.items()]
            self._commit([*added, *([] if rows is None else [rows])], stale)
            return
        stage = target.below(STAGE)
        stale = [
            one.address
            for name, one in old.items()
            if name not in files and one.address.key in replaced and not name.startswith(f"{STAGE}/")
        ]
        if stale or not self._is_in_place(files, old, target, rows):
            self._put_mark(stage, {*replaced, *(target.below(name).key for name in files)})
            self._put_in_place(files, old, target, stale, rows)
        left = [name for name in self._listed(stage) if name != _MARK]
        self._delete([stage.below(name) for name in left])
        self._delete([stage.below(_MARK)])  # last: while it is there, the rest is known as ours

    def _put_in_place(
        self, files: Mapping[str, Path], old: Mapping[str, RemoteObject], target: Address, stale: Sequence[Address],
        rows: tuple[Path, Address] | None,
    ) -> None:  # fmt: skip
        if rows is not None and self.fetcher.find(rows[1]) is not None:  # an old file is never beside new details
            self._delete([rows[1]])
        large = [name for name, path in files.items() if path.stat().st_size > batch_sizes.COPIED_OBJECT]
        staged = [name for name in files if name not in large]
        stage = target.below(STAGE)
        self._tell([*files.values(), *([] if rows is None else [rows[0]])], target)
        self._each([self._stager(files[name], stage.below(name), old.get(f"{STAGE}/{name}")) for name in staged])
        self._delete([target.below(_SUMMARY)] if _SUMMARY in old else [])
        self._each([self._putter(files[name], target.below(name)) for name in large])
        moved = [name for name in staged if name != _SUMMARY]
        self._each([self._copier(stage.below(name), target.below(name)) for name in moved], "moved")
        self._delete(stale)
        if _SUMMARY in files:
            self._copier(stage.below(_SUMMARY), target.below(_SUMMARY))()
        if rows is not None:
            self._putter(*rows)()

    def _is_in_place(
        self, files: Mapping[str, Path], old: Mapping[str, RemoteObject], target: Address,
        rows: tuple[Path, Address] | None,
    ) -> bool:  # fmt: skip
        """Whether an interrupted upload of this run needs only its stage deleted."""
        if f"{STAGE}/{_MARK}" not in old or not self.is_ours(target):
            return False
        there = self._small(old.get(_SUMMARY))
        if not is_summary(there) or _SUMMARY not in files:
            return False
        own = orjson.loads(files[_SUMMARY].read_bytes())
        others = [(path, old.get(name)) for name, path in files.items() if name != _SUMMARY]
        others += [] if rows is None else [(rows[0], self.fetcher.find(rows[1]))]
        same = all(one is not None and one.size == path.stat().st_size for path, one in others)
        return same and bool(orjson.loads(there)["check"] == own.get("check"))

    def put_file(self, path: Path, target: Address) -> None:
        """Upload one file, which appears as a whole."""
        if isinstance(self._store, CommittedStore):
            self._commit([(path, target)], [])
            return
        self._tell([path], target)
        self._putter(path, target)()

    def _small(self, one: RemoteObject | None) -> bytes:
        """Return the contents of an object; nothing of one that is missing or larger than a summary."""
        size = 0 if one is None else one.size or 0
        if one is None or not 0 < size <= MOST_OF_SUMMARY:
            return b""
        return self.fetcher.requests.repeat(one.address, lambda: bytes(self._store.read(one, 0, size)))

    def _listed(self, target: Address) -> dict[str, RemoteObject]:
        prefix = target.at(f"{target.key.rstrip('/')}/")
        return {one.address.key[len(prefix.key) :]: one for one in self.fetcher.list(prefix)}

    def _commit(self, files: Sequence[tuple[Path, Address]], stale: Sequence[Address]) -> None:
        store = self._store
        if isinstance(store, CommittedStore):
            self._tell([path for path, _ in files], self.target)
            self._try(self.target, lambda: store.commit(files, stale, "Result of twinset"))

    def _put_mark(self, stage: Address, replaced: Collection[str]) -> None:
        mark = self.record.with_suffix(".mark")
        own = self._recorded.setdefault("upload", uuid.uuid4().hex)
        self._recorded["replaces"] = sorted(replaced)
        self._write()
        try:
            mark.write_text(json.dumps({"upload": own}), encoding="ascii")
        except OSError as error:
            raise cannot_write(mark, error) from error
        self._putter(mark, stage.below(_MARK))()

    def _stager(self, path: Path, target: Address, there: RemoteObject | None) -> Callable[[], None]:
        """Return a function that uploads a file unless an interrupted run has done so."""

        def stage() -> None:
            digest = file_digest(path, str(path))
            done = self._recorded.get("files", {}).get(str(target))
            if there is not None and done == {"sha256": digest, "version": there.version}:
                self._advance(path)
                return
            self._putter(path, target)()
            found = self.fetcher.find(target)
            if found is None or found.size != path.stat().st_size:
                raise OutputError(f"{target}: the upload is not complete; run again")
            with self.fetcher.lock:
                files = self._recorded.setdefault("files", {})
                files[str(target)] = {"sha256": digest, "version": found.version}
                self._write()

        return stage

    def _putter(self, path: Path, target: Address) -> Callable[[], None]:
        def put() -> None:
            store = self._store
            if isinstance(store, WritableStore):
                self._try(target, lambda: store.put(path, target))
            self._advance(path)

        return put

    def _copier(self, source: Address, target: Address) -> Callable[[], None]:
        def copy() -> None:
            store = self._store
            if isinstance(store, WritableStore):
                self._try(target, lambda: store.copy(source, target))

        return copy

    def _delete(self, addresses: Sequence[Address]) -> None:
        store = self._store
        if addresses and isinstance(store, WritableStore):
            self._try(addresses[0], lambda: store.delete(addresses))

    def _try(self, target: Address, request: Callable[[], None]) -> None:
        try:
            self.fetcher.requests.repeat(target, request)
        except FetchError as error:
            raise OutputError(f"{error.where}: cannot be written: {error.message}") from None

    def _each(self, work: Sequence[Callable[[], None]], done: str = "uploaded") -> None:
        self.fetcher.requests.make(work, _THREADS, "file", done)

    def _tell(self, paths: Iterable[Path], target: Address) -> None:
        sizes = [path.stat().st_size for path in paths]
        total, files = sum(sizes), counted(len(sizes), "file")
        if self.fetcher.progress is not None:
            self.fetcher.progress.note(f"uploading {files}, {shown_size(total)}, to {target}")
            self.fetcher.progress.stage("uploading", total or None, "bytes")

    def _advance(self, path: Path) -> None:
        if self.fetcher.progress is not None and path.suffix != ".mark":
            self.fetcher.progress.advance(path.stat().st_size)

    def _write(self) -> None:
        draft = self.record.with_suffix(".draft")
        try:
            draft.write_text(json.dumps(self._recorded), encoding="utf-8")
            draft.replace(self.record)
        except OSError as error:
            raise cannot_write(self.record, error) from error


def _read_record(path: Path) -> dict[str, Any]:
    """Return what an interrupted run has recorded: its mark, the keys it replaces, and what it has uploaded."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
