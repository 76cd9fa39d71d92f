"""The remote sources of a run on this machine: where their copies are, and how long they stay."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from twinset.documents.own_files import STATE_ENDING
from twinset.documents.parts import Part
from twinset.documents.remote.fetch import Fetcher
from twinset.documents.remote.tables import fetch_tables
from twinset.engines.local.state import FETCHED, lock_state, release_state
from twinset.engines.progress import Progress
from twinset.errors import FetchError


class RemoteInputs:
    """Fetches the remote sources of one run.

    With an output, copies are in the state folder `state`, or in a folder of the scratch folder, where a later run
    finds them; without one they are in the temporary folder. `lock` is that of the state folder.
    """

    def __init__(self, state: Path | None, temporary: Path, scratch: str | None, progress: Progress) -> None:
        self._state = state
        folder = (temporary if state is None else state) / FETCHED
        if state is not None and scratch is not None:
            name = hashlib.sha256(os.path.abspath(state).encode("utf-8", "surrogateescape")).hexdigest()[:16]
            folder = Path(scratch) / f"twinset-{name}{STATE_ENDING}" / FETCHED
        self._resumes = state is not None and (_holds_some(state) or _holds_some(folder))
        self.lock = None if state is None else lock_state(state)
        self.fetcher = Fetcher(folder, progress)

    def fetch(self, parts: Sequence[Part], whole: int) -> None:
        """Fetch what is read of the parts, and all of the first `whole` of them; drop copies of other runs."""
        self.fetcher.drop_others()
        fetch_tables(parts, whole, self.fetcher)

    def give_up(self, error: BaseException) -> None:
        """Release the state folder of a run that could not begin; what was fetched, or an earlier run left, stays."""
        if self._state is not None and self.lock is not None:
            fetched = self._has_copies
            self._remove(fetched or self._resumes)
            inside = self.fetcher.folder.parent == self._state
            release_state(self._state, self.lock, keep=self._resumes or (fetched and inside))
            if fetched:
                error.add_note(self._left(error))

    def close(self, error: BaseException | None, stays: bool) -> bool:
        """Remove the copies unless a later run can use them; return whether the state folder must stay."""
        fetched = error is not None and self._has_copies
        self._remove(stays or fetched)
        if error is not None and fetched:
            error.add_note(self._left(error))
        return stays or fetched

    def _left(self, error: BaseException) -> str:
        """What is left of a run that did not end."""
        same = isinstance(error, (FetchError, OSError, KeyboardInterrupt)) or type(error).__name__ == "OutputError"
        again = "run the same command again to resume" if same else "the next run with this output uses it"
        return f"{self.fetcher.folder} has what was fetched: {again}, or delete it"

    @property
    def _has_copies(self) -> bool:
        """Whether there are copies that a later run can use."""
        earlier = self._resumes and _holds_some(self.fetcher.folder)
        return self._state is not None and (earlier or self.fetcher.has_some)

    def _remove(self, stays: bool) -> None:
        if not stays:
            folder = self.fetcher.folder
            shutil.rmtree(folder if folder.parent == self._state else folder.parent, ignore_errors=True)


def _holds_some(folder: Path) -> bool:
    """Whether a folder holds more than the lock of a run."""
    return folder.is_dir() and any(one.name != "lock" for one in folder.iterdir())
