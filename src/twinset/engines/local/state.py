"""The state folder of a run, from which a killed run resumes after its last finished stage.

It has one file per kind of record, and `manifest.json`, which lists the finished stages with their facts and files. A
fingerprint of the sources, the options and the version binds it to its run; any other run starts from the beginning.
"""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy.typing as npt

from twinset.errors import StateError
from twinset.system.atomic_files import replace_atomically
from twinset.system.locks import open_lock, try_lock
from twinset.system.scratch import Spool, cannot_write

FETCHED = "fetched"
"""The folder of copies of remote objects in a state folder."""

_MANIFEST = "manifest.json"


def fingerprint(facts: dict[str, Any]) -> str:
    """Return a digest of everything that determines the result."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class RunState:
    """The state folder of one run. `close(keep=True)` leaves it for a later run to resume.

    `discarded`: whether the folder held the state of another run, which cannot be resumed.
    """

    def __init__(self, folder: Path, mark: str, scratch: Path | None = None, lock: int | None = None) -> None:
        self.folder = folder
        self._lock = lock_state(folder) if lock is None else lock
        self.stages, self.discarded = _read_stages(folder, mark)
        self.resumed = sorted(self.stages)
        if not self.stages:
            _clear_folder(folder)
        self._mark = mark
        self._spools: dict[str, Spool] = {}
        base = folder if scratch is None else scratch
        try:
            base.mkdir(parents=True, exist_ok=True)
            self.scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=base))
        except OSError as error:
            raise cannot_write(base, error) from error

    def spool(self, name: str, dtype: npt.DTypeLike, columns: int = 1) -> Spool:
        """Create a file of records for the current stage."""
        self._spools[name] = Spool(self.folder / name, dtype, columns)
        return self._spools[name]

    def finish(self, stage: str, facts: dict[str, Any], spools: dict[str, Spool]) -> None:
        """Mark a stage as finished, with its facts and files."""
        for spool in spools.values():
            spool.close()
        files = {
            name: {"dtype": spool.dtype.str, "columns": spool.columns, "records": spool.records}
            for name, spool in spools.items()
        }
        stages = {**self.stages, stage: {"facts": facts, "files": files}}
        self._write_manifest(stages)
        self.stages = stages

    def recall(self, stage: str) -> tuple[dict[str, Any], dict[str, Spool]] | None:
        """Return the facts and files of a stage that an earlier run finished, or None."""
        entry = self.stages.get(stage)
        if entry is None:
            return None
        spools = {
            name: Spool(self.folder / name, file["dtype"], file["columns"], file["records"])
            for name, file in entry["files"].items()
        }
        return entry["facts"], spools

    def _write_manifest(self, stages: dict[str, Any]) -> None:
        path = self.folder / _MANIFEST
        body = json.dumps({"fingerprint": self._mark, "stages": stages})
        checked = json.dumps({"sha256": hashlib.sha256(body.encode()).hexdigest(), "body": body})
        # Not flushed to disk: a run resumes after a kill, not after a power failure.
        with replace_atomically(path, durably=False) as draft:
            try:
                draft.write_text(checked, encoding="utf-8")
            except OSError as error:
                raise cannot_write(path, error) from error

    def close(self, keep: bool) -> None:
        """Unlock the folder, and remove its files unless a later run is to resume from them."""
        for spool in self._spools.values():
            spool.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
        release_state(self.folder, self._lock, keep=keep and (bool(self.stages) or (self.folder / FETCHED).exists()))


def release_state(folder: Path, lock: int, *, keep: bool) -> None:
    """Unlock a state folder, and remove it unless a later run is to resume from it."""
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def lock_state(folder: Path) -> int:
    """Make a state folder, and lock it while the run lasts."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open_lock(folder / "lock")
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        if not try_lock(lock):
            raise StateError(f"another run uses {folder}; wait for it, or choose another output")
    except OSError as error:
        os.close(lock)
        raise cannot_write(folder, error) from error
    except BaseException:
        os.close(lock)
        raise
    return lock


def _read_stages(folder: Path, mark: str) -> tuple[dict[str, Any], bool]:
    """Return the finished stages of this run, and whether there are those of another one."""
    path = folder / _MANIFEST
    if not path.exists():
        return {}, False
    try:
        checked = json.loads(path.read_text(encoding="utf-8"))
        body = checked["body"]
        if hashlib.sha256(body.encode()).hexdigest() != checked["sha256"]:
            raise ValueError("checksum")
        manifest = json.loads(body)
        stages: dict[str, Any] = manifest["stages"]
        same = manifest["fingerprint"] == mark
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StateError(f"{path} is damaged; remove {folder} and start the run again") from error
    return (stages, False) if same else ({}, bool(stages))


def _clear_folder(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.name in ("lock", FETCHED):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink()
