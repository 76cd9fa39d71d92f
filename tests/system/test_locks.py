"""A lock has one holder, among openings of one process as among processes, and ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from twinset.errors import BusyError
from twinset.system.locks import WriterLock, is_at, open_lock, try_lock

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


COUNT = """
import sys
from pathlib import Path
from twinset.system.locks import WriterLock
lock, counter = WriterLock(sys.argv[1] + "-lock", "an index"), Path(sys.argv[1])
for number in range(100):
    with lock.hold(60, "counting"):
        counter.write_text(str(int(counter.read_text()) + 1))
        if number % 3:
            lock.discard()
"""


def test_a_lock_that_is_removed_and_made_again_has_one_holder(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    counting = [subprocess.Popen([sys.executable, "-c", COUNT, str(counter)]) for _ in range(3)]
    assert [one.wait(120) for one in counting] == [0, 0, 0]
    assert counter.read_text() == "300"


def test_a_discarded_lock_leaves_no_file(tmp_path: Path) -> None:
    lock = WriterLock(str(tmp_path / "index-lock"), "an index")
    with lock.hold(0, "adding"):
        lock.discard()
    assert not (tmp_path / "index-lock").exists()
    with lock.hold(0, "adding"):
        pass
    assert (tmp_path / "index-lock").exists()


def test_a_file_on_which_another_program_waits_stays(tmp_path: Path) -> None:
    path = tmp_path / "index-lock"
    lock = WriterLock(str(path), "an index")
    with lock.hold(0, "adding"):
        waiting = open_lock(path)  # as flock does, which never looks at the path again
        lock.discard()
    assert is_at(waiting, path)
    assert try_lock(waiting)
    with pytest.raises(BusyError), lock.hold(0, "removing"):
        pytest.fail("there were two holders")
    os.close(waiting)


def test_who_waits_on_a_removed_file_waits_for_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "index-lock"
    first, other = open_lock(path), WriterLock(str(path), "an index")
    assert try_lock(first)
    waiting = threading.Thread(target=lambda: other.hold(30, "removing").__enter__())
    waiting.start()
    time.sleep(0.2)
    path.unlink()
    second = open_lock(path)
    assert try_lock(second)
    os.close(first)  # the thread gets the lock of a file that has gone
    time.sleep(0.2)
    assert waiting.is_alive()
    os.close(second)
    waiting.join(30)
    assert not waiting.is_alive()
    assert path.exists()
