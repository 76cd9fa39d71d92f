"""An opened job on this machine: its sources, threads, memory budget, and the state from which a killed run resumes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from twinset.documents.frames import one_frame
from twinset.documents.own_files import exclude_outputs, patterns_of_files
from twinset.documents.parts import Part
from twinset.documents.sources import Sources, open_sources
from twinset.engines.base import Job
from twinset.engines.local.budget import Budget, batch_within, give_back
from twinset.engines.local.state import RunState, fingerprint
from twinset.engines.local.steps.cluster_beside_index import refuse_to_bury
from twinset.engines.local.steps.open import refuse_to_replace, tell_unexpected
from twinset.engines.local.threads import Threads
from twinset.engines.local.write.place import move_to_place, state_folder
from twinset.options.place import Place
from twinset.schema import HASH_SCHEME
from twinset.system.addresses import is_address
from twinset.system.compile_time import compile_seconds
from twinset.system.memory import temporary_folder
from twinset.system.scratch import cannot_write

if TYPE_CHECKING:
    from twinset.engines.local.remote import RemoteInputs
    from twinset.engines.local.write.kept_file import KeptFile
    from twinset.engines.local.write.remote import RemoteOutput

WITHOUT_COLUMNS = ("text", "images", "lines", "npy", "npz", "warc")
"""Formats whose rows have no columns for --flag, except in one file of rows."""


class OpenedJob:
    """The sources of a job and what a run over them needs, a context manager."""

    def __init__(self, job: Job) -> None:
        options = job.options
        self.job, self.output, self.progress = job, job.output, job.progress
        self.options: Any = options
        self.place = None if job.output is None else Place(job.output, job.rows_file)
        self.upload: RemoteOutput | None = None
        self.held: object = None
        """The temporary folder of the tables of a remote output."""
        self.written = False
        self.started = time.perf_counter()
        self.timings: dict[str, float] = {}
        self.found_lengths: dict[str, Any] = {}
        self.batch_bytes = batch_within(options.batch_bytes, options.memory_bytes, options.thread_count)
        self._inputs = temporary_folder(options.scratch)
        self.remote: RemoteInputs | None = None
        if job.address is not None:
            from twinset.engines.local.write.remote import remote_output  # not for outputs on this machine

            self.upload = remote_output(job, self.progress)
        try:
            self._open(job.sources, job.own_files)
        except BaseException as error:
            if self.remote is not None and not hasattr(self, "state"):
                self.remote.give_up(error)
            self._inputs.cleanup()
            raise
        self.threads = Threads(options.thread_count)
        self.budget = Budget.of(options.memory_bytes, options.thread_count, self.batch_bytes)

    def _open(self, sources: tuple[object, ...], own_files: Sequence[str]) -> None:
        """Open sources and state; `own_files` belong to an index and must not be read or replaced."""
        options, scratch = self.options, Path(self._inputs.name)
        outputs = self.place.paths if self.place else []
        every = (*sources, *options.against)
        reading, self.left_out = exclude_outputs(options, outputs, every, patterns_of_files(own_files, every))
        self.given = sources
        if any(map(is_address, every)):
            from twinset.engines.local.remote import RemoteInputs  # not for runs without addresses

            self.remote = RemoteInputs(self._state_folder, scratch, options.scratch, self.progress)
        fetcher = self.remote.fetcher if self.remote else None
        opening: dict[str, Any] = {"scratch": scratch, "fetcher": fetcher, "outlined": self.job.outlined}
        self.found = open_sources(sources, reading, **opening)
        against = Sources()
        if options.against:
            against = open_sources(options.against, reading, against=True, **opening)
        self.parts: list[Part] = [*self.found.parts, *against.parts]
        self.copies = [*self.found.copies, *against.copies]
        if self.upload is not None:
            self.upload.refuse_sources([copy.one.address for copy in self.copies])
        self._check_items()
        self.against = len(self.found.parts)
        self.skipped = [*self.found.skipped, *against.skipped]
        for output in outputs:
            refuse_to_replace(output, self.parts)
            refuse_to_bury(output, own_files)
        tell_unexpected(self.skipped, self.parts, self.progress)
        columns = frozenset(column for _, column in options.keep_rules if column is not None)
        hosts: str | None = getattr(options, "hosts", None)
        for part in self.parts if hosts else ():
            part.check_column(hosts or "", "--hosts COLUMN")
            part.wanted = frozenset({hosts or ""})
        for part in self.found.parts:
            part.wanted = columns | part.wanted
            for inner in part.inner if self._whole_parts else ():  # early: comparing may take hours
                inner.check_whole()
            if options.flag and (self.job.rows_file is None or part.format not in WITHOUT_COLUMNS):
                part.check_flag()
        folder = self._state_folder or scratch / "state"
        spill = Path(options.scratch) if options.scratch else None
        self.state = RunState(folder, self._fingerprint(), spill, self.remote.lock if self.remote else None)
        if self.state.discarded:
            other = "an interrupted run with other options, sources or version is discarded"
            self.progress.note(f"{other}; this run starts from the beginning")

    @property
    def _state_folder(self) -> Path | None:
        """The folder in which a later run finds the state of this one."""
        if self.upload is not None:
            return self.upload.state
        return state_folder(self.place) if self.place else None

    def fetch(self) -> None:
        """Fetch what the run needs of remote tables: all columns where rows are written, else those that are read."""
        if self.remote is not None:
            self.remote.fetch(self.parts, self._whole_parts)

    @property
    def _whole_parts(self) -> int:
        """The number of parts, from the first on, whose rows are written with all their columns."""
        whole = self.writes_rows and (self.place is not None or one_frame(self.job.sources) is None)
        return self.against if whole else 0

    def outline_sources(self) -> dict[str, Any]:
        """Describe the sources, and what would be fetched of remote ones."""
        about: dict[str, Any] = {
            "sources": self.found.describe(),
            "against": [part.describe() for part in self.parts[self.against :]],
        }
        if self.remote is not None:
            from twinset.documents.remote.tables import outline_fetch  # not for runs without addresses

            about["fetch"] = outline_fetch(self.parts, self._whole_parts, self.copies)
        return about

    def _fingerprint(self) -> str:
        return fingerprint(
            {
                "version": self.job.version,
                "scheme": HASH_SCHEME,
                "kind": type(self.options).__name__,
                "options": self.options.to_dict(),
                "batch": self.batch_bytes,
                **self._facts(),
                "parts": [_stamp(one) for part in self.parts for one in part.inner],
            }
        )

    @property
    def writes_rows(self) -> bool:
        """Whether the rows of the sources are written."""
        return False

    def _check_items(self) -> None:
        """Check the opened sources for the kind of items."""

    def _facts(self) -> dict[str, Any]:
        """Return what else determines the result."""
        return {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        indexed = getattr(self.options, "index", None) is not None
        stays = self._is_repeatable and _can_resume(value) and (indexed or not self.written)
        if isinstance(value, KeyboardInterrupt) and self.written and self.place is not None:
            unsure = ", but its kept documents may not be in the index; run again with --force" if indexed else ""
            value.add_note(f"{self.upload.address if self.upload else self.place.name} is complete{unsure}")
        elif value is not None and stays and self.state.stages:
            value.add_note(_how_to_resume(self.state.folder, isinstance(value, KeyboardInterrupt)))
        if value is not None and self.upload is not None and self.upload.begun and not self.written:
            value.add_note(self.upload.left)
        self.threads.close()  # after the notes, since a second Ctrl-C may end the waiting
        if self.remote is not None:
            stays = self.remote.close(value, stays)
        self.state.close(keep=stays)
        self._inputs.cleanup()

    @property
    def _is_repeatable(self) -> bool:
        """Whether the same command finds the state and the same sources again; stdin and objects are read once."""
        if self.output is None:
            return False
        scratch = Path(self._inputs.name)
        inner = [one for part in self.parts for one in part.inner]
        return all(one.files or (one.path is not None and scratch not in one.path.parents) for one in inner)

    def timed(self, step: str, since: float) -> None:
        """Record the duration of a step without compilation; with a memory limit, return freed memory to the system."""
        if self.options.memory is not None:
            give_back()
        self.timings[step] = round(time.perf_counter() - since - compile_seconds(since), 3)

    @contextmanager
    def _timing(self, step: str) -> Iterator[None]:
        since = time.perf_counter()
        yield
        self.timed(step, since)

    def open_rows_file(self) -> KeptFile | None:
        """Open the one file of kept rows; None if each source has its own."""
        if self.job.rows_file is None:
            return None
        from twinset.engines.local.write.kept_file import KeptFile  # loads every format: only where needed

        folder = self.room_for_output("rows")
        return KeptFile(self.parts[: self.against], self.job.rows_file.name, folder, self.options.flag)

    def move_result(self, draft: Path) -> Path | None:
        """Move the result to the output; return where it can be read on this machine."""
        if self.place is None:
            return None
        file, path = self.place.file, self.output
        rows = self.state.folder / "rows" / "kept" / file.name if file else None
        if self.upload is not None:
            path, self.held = self.upload.place(draft, rows)
        else:
            move_to_place(self.place, draft, rows, self.state.folder / "old")
        self.written = True
        return path

    def room_for_output(self, name: str) -> Path:
        """Return an empty path in the state folder for unfinished output."""
        path = self.state.folder / name
        if path.is_dir():
            shutil.rmtree(path)
        try:
            if not path.suffix:
                path.mkdir()
        except OSError as error:
            raise cannot_write(path, error) from error
        return path


def _can_resume(error: BaseException | None) -> bool:
    """Whether the same run may succeed later: after Ctrl-C, a full disk, a broken connection, or a busy index."""
    resumable = isinstance(error, (OSError, MemoryError, KeyboardInterrupt))
    return resumable or type(error).__name__ in ("OutputError", "BusyError", "FetchError")


def _how_to_resume(folder: Path, stopped: bool) -> str:
    if stopped:
        return f"run the same command again to resume, or delete {folder} to discard what is done"
    return f"{folder} stays: run the same command again to resume"


def _stamp(part: Part) -> list[Any]:
    """Return values that change when a part changes."""
    files = getattr(part, "files", None)
    listed = [[file.id, file.size, file.mtime_ns] for file in files] if files else []
    return [
        part.name,
        part.format,
        os.path.abspath(part.path) if part.path else None,
        part.size,
        part.mtime_ns,
        listed,
        None if listed or part.path else os.urandom(16).hex(),  # data in memory is never assumed to be the same
    ]
