"""A lock has one holder, among openings of one process as among processes, and ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from twinset.errors import BusyError
from twinset.system.locks import WriterLock, open_lock, try_lock

HOLD = """
import sys, time
from twinset.system.locks import open_lock, try_lock
assert try_lock(open_lock(sys.argv[1]))
print("locked", flush=True)
time.sleep(60)
"""


def test_one_opening_holds_the_lock(tmp_path: Path) -> None:
    first, second = open_lock(tmp_path / "lock"), open_lock(tmp_path / "lock")
    assert try_lock(first)
    assert not try_lock(second)
    os.close(first)
    assert try_lock(second)
    os.close(second)


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        handle = open_lock(path)
        assert not try_lock(handle)
    finally:
        holder.kill()
        holder.communicate()
    assert try_lock(handle)
    os.close(handle)


def test_who_waits_is_told_who_holds_it(tmp_path: Path) -> None:
    path = str(tmp_path / "index-lock")
    holder, other = WriterLock(path, "an index"), WriterLock(path, "an index")
    told = pytest.raises(BusyError, match=rf"process {os.getpid()} on .*, adding, since")
    with holder.hold(0, "adding"), told, other.hold(0, "removing"):
        pytest.fail("there were two holders")
    with WriterLock(path, "an index").hold(0, "removing"):
        pass
