"""Check the place of a result, and move a finished result there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twinset.documents.own_files import STATE_ENDING, is_result
from twinset.engines.base import Job
from twinset.errors import OutputError
from twinset.options.checks import refuse_detour
from twinset.options.place import Place
from twinset.system.addresses import is_address
from twinset.system.atomic_files import move_durably
from twinset.system.disk import sync
from twinset.system.scratch import cannot_write

SUMMARY = "summary.json"
RESULT = "a result of an earlier run"


def local_output(output: Any, scratch: str | None) -> Any:
    """Return the path of the draft of a remote output; any other output unchanged."""
    if not is_address(output):
        return output
    from twinset.engines.local.write.remote import local_name  # not for outputs on this machine

    return local_name(output, scratch)


def placed(job: Job, output: Any, *, is_folder: bool) -> Job:
    """Return a job with the address of its output, after checking what is there; a local one unchanged."""
    if not is_address(output):
        return job
    from twinset.engines.local.write.remote import placed_remotely  # not for outputs on this machine

    return placed_remotely(job, output, is_folder=is_folder)


def state_folder(place: Place) -> Path:
    """Return the folder of the state of a run."""
    return Path(f"{place.name}{STATE_ENDING}")


def check_place(place: Place, force: bool, sources: Sequence[object] = ()) -> None:
    """Refuse to write over something else, or over a result unless `force` is given."""
    refuse_detour(place.name)
    for path in place.paths:
        refuse_sources(path, sources)
    if place.file is None:
        check_output(place.folder, force)
        return
    if place.file.is_dir():
        raise OutputError(
            f"{place.file} is a folder, but its name is that of a file; choose another output, or write "
            f"{place.file}{os.sep} to name a folder"
        )
    # A run that was killed between its two moves has left the folder without the file, and its state.
    unfinished = state_folder(place).is_dir() and not place.file.exists()
    check_output(place.folder, force=True)
    for path in place.paths:
        if path.exists() and not force and not unfinished:
            raise OutputError(f"{path} exists; choose another output, or replace it with --force")


def move_to_place(place: Place, draft: Path, rows: Path | None, aside: Path) -> None:
    """Move a draft to the output: details first, so that the file is there only when all is complete."""
    if place.file is None or rows is None:
        move_to_output(draft, place.folder, aside)
        return
    try:
        sync(rows)
        if place.file.exists():  # an old file is never beside new details
            os.replace(place.file, aside.with_suffix(".file"))
    except OSError as error:
        raise cannot_write(place.file, error) from error
    move_to_output(draft, place.folder, aside)
    try:
        move_durably(rows, place.file)
    except OSError as error:
        raise cannot_write(place.file, error) from error


def refuse_sources(output: Path, sources: Sequence[object]) -> None:
    """Refuse an output that is or contains a source by its name; `force` would not replace it either."""
    if not output.exists():
        return
    target = os.path.realpath(output)
    for source in sources:
        if isinstance(source, (str, os.PathLike)) and os.path.exists(source):
            path = os.path.realpath(os.fsdecode(source))
            if os.path.commonpath([target, path]) == target:
                shown = os.fsdecode(source)
                raise OutputError(f"{output} would be replaced, and {shown} is read from there; choose another output")


def check_output(output: Path | None, force: bool, marker: str = SUMMARY, kind: str = RESULT) -> None:
    """Refuse to write a folder over something else; `marker` is a file of every folder that may be replaced.

    The file of a result must also hold what Twinset writes, since others use its name, too.
    """
    if output is None or not output.exists():
        return
    if not output.is_dir():
        raise OutputError(f"{output} is a file, but the output must be a folder; choose another output")
    ours = is_result(os.fspath(output)) if marker == SUMMARY else (output / marker).is_file()
    if any(output.iterdir()) and not ours:
        raise OutputError(f"{output} exists and is not {kind}, so it is never replaced; choose another output")
    if not force:
        raise OutputError(f"{output} exists; choose another output, or replace it with --force")


def move_to_output(draft: Path, output: Path, aside: Path) -> None:
    """Move a draft to the output path; an existing output is moved aside first."""
    try:
        if output.exists():
            shutil.rmtree(aside, ignore_errors=True)  # left by a killed run
            os.replace(output, aside)
        move_durably(draft, output)
    except OSError as error:
        raise cannot_write(output, error) from error
