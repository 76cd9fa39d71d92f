"""A file is replaced as a whole or stays as it is; what killed processes left is removed."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from twinset.errors import OutputError
from twinset.system.atomic_files import remove_leftovers, replace_atomically


@pytest.mark.parametrize("durably", [False, True])
def test_a_file_is_replaced_when_it_is_whole(tmp_path: Path, durably: bool) -> None:
    place = tmp_path / "out.csv"
    place.write_text("old")
    with replace_atomically(place, durably=durably) as made:
        made.write_text("new")
        assert place.read_text() == "old"
        assert made.suffix == place.suffix
        assert made.name.startswith(".")
    assert place.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "out.csv"
    place.write_text("old")
    with pytest.raises(KeyboardInterrupt), replace_atomically(place) as made:  # noqa: PT012 - it is raised within
        made.write_text("half")
        raise KeyboardInterrupt
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_durably_means_that_file_and_folder_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    really = os.fsync

    def noted(handle: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{handle}"))
        really(handle)

    monkeypatch.setattr(os, "fsync", noted)
    place = tmp_path.resolve() / "out.csv"
    with replace_atomically(place) as made:
        made.write_text("new")
    assert flushed == [str(made), str(place.parent)]
    flushed.clear()
    with replace_atomically(place, durably=False) as made:
        made.write_text("newer")
    assert flushed == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write .*none"), replace_atomically(tmp_path / "none" / "out.csv"):
        pytest.fail("there is nothing to write to")


def test_what_is_at_work_or_locked_is_not_removed(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    gone, other = int(ended.stdout), 4194305  # no process has so high a number
    for process in (gone, other, os.getpid()):
        (tmp_path / f".out-{process}.new.csv").touch()
    (tmp_path / f".other-{gone}.new.csv").touch()
    with open(tmp_path / f".out-{other}.new.csv", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as a process of another machine would
        remove_leftovers(tmp_path / "out.csv")
        names = {f".out-{other}.new.csv", f".out-{os.getpid()}.new.csv", f".other-{gone}.new.csv"}
        assert set(os.listdir(tmp_path)) == names
    remove_leftovers(tmp_path / "out.csv")
    assert not (tmp_path / f".out-{other}.new.csv").exists()
