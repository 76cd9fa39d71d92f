"""A remote output of a run on this machine: written to the state folder, then uploaded."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from twinset.documents.own_files import STATE_ENDING
from twinset.documents.remote.fetch import Fetcher
from twinset.documents.remote.publish import Upload
from twinset.engines.base import Job
from twinset.engines.local.write.place import move_to_place
from twinset.engines.progress import Progress
from twinset.errors import OptionError, OutputError
from twinset.options.place import DETAILS_ENDING, Place
from twinset.system.addresses import Address, is_address, shown_address
from twinset.system.atomic_files import move_durably
from twinset.system.memory import temporary_folder
from twinset.system.scratch import cannot_write

_RESULT = "result"
_RECORD = "uploaded.json"


def local_name(output: str, scratch: str | None) -> str:
    """Return the path of the draft of a remote output, in the state folder of its run.

    The folder is in the scratch folder, else in the present one, and named after the address.
    """
    address = Address.of(output)
    if address.store == "http":
        raise OptionError(f"the output is {shown_address(output)}, and nothing can be written there")
    if not address.key.strip("/"):
        raise OptionError(f"the output is {address}; name a folder or a file in it, such as {address.below('clean')}")
    digest = hashlib.sha256(str(address).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    folder = Path(scratch or ".") / f"{address.name}-{digest}{STATE_ENDING}"
    return f"{folder / _RESULT / address.name}{'/' if output.endswith('/') else ''}"


class RemoteOutput:
    """The address of a remote output, the place of its draft, and the upload."""

    def __init__(
        self, address: str, draft: Place, force: bool, progress: Progress, replaced: Collection[str] = ()
    ) -> None:
        self.address, self.draft = Address.of(address), draft
        self.state = draft.folder.parent.parent
        self._fetcher = Fetcher(self.state / "fetched", progress)
        self._upload = Upload(self.address, self.state / _RECORD, self._fetcher, force)
        self.begun = False
        self.replaced = replaced
        """The keys of what was there before the run, and may be deleted."""

    def check(self, sources: Sequence[object], *, is_folder: bool) -> None:
        """Refuse an output that must not be replaced, or that holds a source; note what it replaces."""
        self.refuse_sources([Address.of(one) for one in sources if is_address(one) and isinstance(one, str)])
        self.replaced = self._check_target(is_folder)

    def refuse_sources(self, sources: Sequence[Address]) -> None:
        """Refuse an output that holds one of some sources."""
        written = [self.address] if self.draft.file is None else [self.address, self._details]
        for one in sources:
            if any(place.holds(one) for place in written):
                raise OutputError(
                    f"{str(self.address).rstrip('/')} would be replaced, and {one} is read from there; choose another "
                    "output"
                )

    def _check_target(self, is_folder: bool) -> set[str]:
        """Refuse a target that must not be replaced; return the keys there that may be."""
        if is_folder:
            return self._upload.check_folder(self.address)
        if self.draft.file is None:
            self._upload.check_file(self.address)
            return set()
        if not self._upload.is_ours(self._details):  # an interrupted upload ends with the file
            self._upload.check_file(self.address)
        return self._upload.check_folder(self._details)

    @property
    def left(self) -> str:
        """What is left of an upload that did not end."""
        again = "the same command completes it, another one replaces it with --force"
        return f"an unfinished upload is below {self.address}: {again}"

    @property
    def _details(self) -> Address:
        return self.address.at(f"{self.address.key}{DETAILS_ENDING}")

    def place(self, draft: Path, rows: Path | None) -> tuple[Path, TemporaryDirectory[str]]:
        """Upload a draft, and move it to a temporary folder, from which the caller's result object reads.

        The target is looked at again: the run may have taken hours.
        """
        self._fetcher.forget_stores()
        self._check_target(rows is None and draft.is_dir())
        self.begun = True
        if rows is not None:
            self._upload.put_folder(_files_in(draft), self._details, self.replaced, (rows, self.address))
        elif draft.is_dir():
            self._upload.put_folder(_files_in(draft), self.address, self.replaced)
        else:
            self._upload.put_file(draft, self.address)
        held = temporary_folder(str(self.state.parent))
        path = Path(held.name) / self.draft.folder.name
        if rows is not None and self.draft.file is not None:
            move_to_place(Place(path, path.with_name(self.draft.file.name)), draft, rows, Path(held.name) / "old")
            return path, held
        try:
            move_durably(draft, path)
        except OSError as error:
            raise cannot_write(path, error) from error
        return path, held


def _files_in(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def placed_remotely(job: Job, address: str, *, is_folder: bool) -> Job:
    """Return a placed job with the address of its output, and with what it replaces, after checking what is there."""
    placed = dataclasses.replace(job, address=address)
    output = remote_output(placed, job.progress)
    output.check((*job.sources, *job.options.against), is_folder=is_folder)
    return dataclasses.replace(placed, replaced=frozenset(output.replaced))


def remote_output(job: Job, progress: Progress) -> RemoteOutput:
    """Return the remote output of a placed job."""
    place = Place(job.output or Path(), job.rows_file)
    return RemoteOutput(job.address or "", place, job.options.force, progress, job.replaced)
