"""Upload a result: to a temporary prefix first, then in place, and last the file by which it is known as a result.

A prefix with a mark of an unfinished upload, or without a summary, is no result. Objects that are too large to be
copied by a server are uploaded to their places once everything else is there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

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
    """Puts one result in place. `record` is a file that remembers what was uploaded, for a run that resumes."""

    def __init__(self, target: Address, record: Path, fetcher: Fetcher, force: bool) -> None:
        self.target, self.record, self.fetcher, self.force = target, record, fetcher, force
        store = fetcher.store(target)
        if not isinstance(store, (WritableStore, CommittedStore)):
            raise not_writable(target)
        self._store: RemoteStore = store

    def check_folder(self, target: Address) -> None:
        """Refuse a prefix that holds something else, or a result unless it may be replaced."""
        found = self._listed(target)
        if not found:
            return
        if _SUMMARY in found:
            if not self.force:
                raise OutputError(f"{target} exists; choose another output, or replace it with --force")
        elif f"{STAGE}/{_MARK}" not in found:
            raise OutputError(
                f"{target} exists and is not a result of an earlier run, so it is never replaced; choose another output"
            )
        elif not self.force and not self._is_ours(target):
            raise OutputError(
                f"{target} has an unfinished upload of another run; if that run has ended, replace it with --force"
            )

    def check_file(self, target: Address) -> None:
        """Refuse an object that exists, unless it may be replaced."""
        if not self.force and self.fetcher.find(target) is not None:
            raise OutputError(f"{target} exists; choose another output, or replace it with --force")

    def put_folder(self, files: Mapping[str, Path], target: Address) -> None:
        """Upload the files of a folder, by their names below it."""
        old = self._listed(target)
        if isinstance(self._store, CommittedStore):
            stale = [one.address for name, one in old.items() if name not in files]
            self._commit([(path, target.below(name)) for name, path in files.items()], stale)
            return
        large = [name for name, path in files.items() if path.stat().st_size > batch_sizes.COPIED_OBJECT]
        staged = [name for name in files if name not in large]
        stage = target.below(STAGE)
        self._put_mark(stage)
        self._tell(files.values(), target)
        self._each([self._stager(files[name], stage.below(name), old.get(f"{STAGE}/{name}")) for name in staged])
        self._delete([target.below(_SUMMARY)] if _SUMMARY in old else [])
        self._each([self._putter(files[name], target.below(name)) for name in large])
        moved = [name for name in staged if name != _SUMMARY]
        self._each([self._copier(stage.below(name), target.below(name)) for name in moved], "moved")
        self._delete([one.address for name, one in old.items() if name not in files and not name.startswith(STAGE)])
        if _SUMMARY in files:
            self._copier(stage.below(_SUMMARY), target.below(_SUMMARY))()
        left = [name for name in self._listed(stage) if name != _MARK]
        self._delete([stage.below(name) for name in left])
        self._delete([stage.below(_MARK)])  # last: while it is there, the rest is known as ours

    def put_file(self, path: Path, target: Address) -> None:
        """Upload one file, which appears as a whole."""
        if isinstance(self._store, CommittedStore):
            self._commit([(path, target)], [])
            return
        self._tell([path], target)
        self._putter(path, target)()

    def delete_file(self, target: Address) -> None:
        """Delete an object that is to be replaced."""
        if isinstance(self._store, WritableStore) and self.fetcher.find(target) is not None:
            self._delete([target])

    def _listed(self, target: Address) -> dict[str, RemoteObject]:
        prefix = target.at(f"{target.key.rstrip('/')}/")
        return {one.address.key[len(prefix.key) :]: one for one in self.fetcher.list(prefix)}

    def _commit(self, files: Sequence[tuple[Path, Address]], stale: Sequence[Address]) -> None:
        store = self._store
        if isinstance(store, CommittedStore):
            self._tell([path for path, _ in files], self.target)
            self._try(self.target, lambda: store.commit(files, stale, "Result of twinset"))

    def _put_mark(self, stage: Address) -> None:
        mark = self.record.with_suffix(".mark")
        recorded = self._recorded()
        recorded.setdefault("", {"upload": uuid.uuid4().hex})
        self._write(recorded)
        try:
            mark.write_text(json.dumps(recorded[""]), encoding="ascii")
        except OSError as error:
            raise cannot_write(mark, error) from error
        self._putter(mark, stage.below(_MARK))()

    def _is_ours(self, target: Address) -> bool:
        """Whether the unfinished upload at the target is that of this run."""
        own = self._recorded().get("")
        mark = self.fetcher.find(target.below(STAGE).below(_MARK))
        if own is None or mark is None or not mark.size:
            return False
        return bool(json.loads(bytes(self._store.read(mark, 0, mark.size))) == own)

    def _stager(self, path: Path, target: Address, there: RemoteObject | None) -> Callable[[], None]:
        """Return a function that uploads a file unless an interrupted run has done so."""

        def stage() -> None:
            digest = file_digest(path, str(path))
            done = self._recorded().get(str(target))
            if there is not None and done == {"sha256": digest, "version": there.version}:
                self._advance(path)
                return
            self._putter(path, target)()
            found = self.fetcher.find(target)
            if found is None or found.size != path.stat().st_size:
                raise OutputError(f"{target}: the upload is not complete; run again")
            with self.fetcher.lock:
                self._write({**self._recorded(), str(target): {"sha256": digest, "version": found.version}})

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

    def _recorded(self) -> dict[str, dict[str, str]]:
        try:
            found: dict[str, dict[str, str]] = json.loads(self.record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def _write(self, recorded: dict[str, dict[str, str]]) -> None:
        draft = self.record.with_suffix(".draft")
        try:
            draft.write_text(json.dumps(recorded), encoding="utf-8")
            draft.replace(self.record)
        except OSError as error:
            raise cannot_write(self.record, error) from error
