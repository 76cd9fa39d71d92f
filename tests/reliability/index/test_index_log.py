"""The log that a killed writer leaves beside the file: damaged, cut short or gone, nothing is lost without a word.

SQLite itself would not notice: it takes a log for whole up to the first damaged frame.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pyarrow as pa
import pytest

import twinset
from tests.reliability.index.index_work import OPTIONS, text_of
from tests.reliability.index.test_index_damage import in_turn, sweep
from tests.reliability.nursery import KILLED, Nursery
from twinset.errors import DamagedError
from twinset.index.read_batches import Batch
from twinset.index.sqlite import log as sqlite_log
from twinset.index.sqlite.log import Log
from twinset.system.locks import WriterLock

NAME = "documents.twinset"
HEAD, FRAME_HEAD, FRAME = 32, 24, 24 + 8192
FAMILIES = 10


def state_of(folder: Path) -> str:
    """What the note says of the log."""
    return (folder / f"{NAME}-lock").read_bytes()[256:].split(b" ")[2].decode()


def made(folder: Path) -> Path:
    folder.mkdir()
    with twinset.Index.create(folder / NAME, **OPTIONS) as index:
        index.add([f"0-{member}" for member in range(4)], [text_of(0, member) for member in range(4)])
    return folder


def write(nursery: Nursery, folder: Path, first: int, last: int) -> None:
    """Have families added by a process that is killed when they are there."""
    writer = nursery.start("add_families", folder / NAME, first, last)
    assert writer.until(last - first + 1)[-1] == "done", writer.complaint()
    assert writer.kill() == KILLED


def needed(nursery: Nursery, folder: Path) -> Path:
    """Many transactions are in the log alone: someone was reading all the while."""
    made(folder)
    reader = nursery.start("hold", folder / NAME, 600)
    reader.until(1)
    write(nursery, folder, 1, FAMILIES)
    reader.kill()
    assert state_of(folder) == "needed"
    return folder


def moved_after_all(nursery: Nursery, folder: Path) -> Path:
    """Many transactions are in the log, and all of them in the file too: a part of the log would undo the others."""
    made(folder)
    reader = nursery.start("hold", folder / NAME, 600)
    reader.until(1)
    write(nursery, folder, 1, FAMILIES - 1)
    names = [f"{FAMILIES - 1}-{member}" for member in range(4)]
    texts = [text_of(FAMILIES - 1, member) for member in range(4)]
    image = folder.with_name(f"{folder.name}-image")
    with twinset.Index.open(folder / NAME) as index:
        with index._writer(0, "adding") as writer, writer.transaction():
            writer.put(writer.entries(Batch(names, pa.array(texts), "texts")), replace=False)
            reader.kill()  # after the transaction began, and before its log is copied into the file
        shutil.copytree(folder, image, ignore=shutil.ignore_patterns("*-shm"))  # as a killed process leaves it
    assert state_of(image) == "moved"
    assert (image / f"{NAME}-wal").stat().st_size > FAMILIES * FRAME
    return image


def moved(nursery: Nursery, folder: Path) -> Path:
    """Nobody read: the log holds the last transaction, which is in the file too."""
    write(nursery, made(folder), 1, FAMILIES)
    assert state_of(folder) == "moved"
    return folder


def moving(nursery: Nursery, folder: Path) -> Path:
    """The writer was killed while it copied the log into the file: nobody reads, and the log is needed."""
    dice = random.Random(3)
    for _ in range(300):
        shutil.rmtree(folder, ignore_errors=True)
        made(folder)
        writer = nursery.start("add_families", folder / NAME, 1, 300)
        writer.until(dice.randrange(2, 12))
        time.sleep(dice.uniform(0, 0.03))
        writer.kill()
        if state_of(folder) == "needed":
            return folder
    raise AssertionError("no kill came while the log was being moved")


def damages(size: int, *, every: bool) -> Iterator[list[Any]]:
    """Bits to turn in the head of the log and in the head and page of each frame; sizes to cut it to."""
    dice = random.Random(4)
    for at in range(HEAD):
        yield ["flip", at, 1 << at % 8]
    for number, frame in enumerate(range(HEAD, size, FRAME)):
        places = [0, 5, 9, 14, 17, 22, FRAME_HEAD, FRAME_HEAD + 5, dice.randrange(FRAME_HEAD, FRAME), FRAME - 1]
        yield from (["flip", frame + at, 1 << dice.randrange(8)] for at in in_turn(number, places, every))
        yield from (["cut", frame + at] for at in in_turn(number, [0, 1, FRAME_HEAD, FRAME - 1], every))
    yield from (["cut", at] for at in (0, 1, HEAD - 1))


@pytest.mark.parametrize("left", [needed, moved_after_all, moved, moving])
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["some", "every"])
def test_a_damaged_log(nursery: Nursery, tmp_path: Path, left: Callable[[Nursery, Path], Path], every: bool) -> None:
    folder = left(nursery, tmp_path / left.__name__)
    size = (folder / f"{NAME}-wal").stat().st_size
    found = sweep(nursery, folder, tmp_path / "out", f"{NAME}-wal", list(damages(size, every=every)))
    if left is moved:
        assert found["noticed"] == 0
    else:
        assert found["noticed"]


@pytest.mark.parametrize("left", [needed, moved_after_all, moved, moving])
def test_a_log_that_is_gone(nursery: Nursery, tmp_path: Path, left: Callable[[Nursery, Path], Path]) -> None:
    folder = left(nursery, tmp_path / left.__name__)
    state = state_of(folder)
    (folder / f"{NAME}-wal").unlink()
    if state == "moved":
        with twinset.Index.open(folder / NAME) as index:
            assert len(index) == 4 * FAMILIES
            assert index.verify() == []
        return
    # A file into which half a log was copied may be malformed itself, and then SQLite says so first.
    log_lost = f"{NAME}-wal, the log of the index, is damaged or missing.*run twinset"
    message = f"({log_lost}|{NAME} is damaged, or not an index: .*restore a backup)" if left is moving else log_lost
    for read_only in (False, True):
        with pytest.raises(DamagedError, match=message):
            twinset.Index.open(folder / NAME, read_only=read_only)


def test_refusing_leaves_the_log_as_it_is(nursery: Nursery, tmp_path: Path) -> None:
    log = needed(nursery, tmp_path / "needed") / f"{NAME}-wal"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    for read_only in (False, True):
        with pytest.raises(DamagedError, match="changes of the index were committed, and not all"):
            twinset.Index.open(tmp_path / "needed" / NAME, read_only=read_only)
        assert log.read_bytes() == data
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    with twinset.Index.open(tmp_path / "needed" / NAME) as index:
        assert len(index) == 4 * FAMILIES
    assert not log.exists()


def test_a_checkpoint_of_a_killed_writer_is_finished_before_the_next_transaction(
    nursery: Nursery, tmp_path: Path
) -> None:
    """SQLite may overwrite the log then: a note that it is needed would be taken for damage after the next kill."""
    folder = needed(nursery, tmp_path / "needed")
    with twinset.Index.open(folder / NAME) as index, index._writer(0, "adding") as writer, writer.transaction():
        assert state_of(folder) == "moved"


def test_what_to_do_without_the_log_is_said_and_works(nursery: Nursery, tmp_path: Path) -> None:
    folder = needed(nursery, tmp_path / "needed")
    (folder / f"{NAME}-wal").write_bytes(b"")
    with pytest.raises(DamagedError, match=r"remove the log and .*-lock, and run twinset index verify"):
        twinset.Index.open(folder / NAME)
    for ending in ("-wal", "-lock"):
        (folder / f"{NAME}{ending}").unlink()
    with twinset.Index.open(folder / NAME) as index:
        assert len(index) == 4
        assert index.verify() == []


def test_another_program_may_read(nursery: Nursery, tmp_path: Path) -> None:
    folder = needed(nursery, tmp_path / "needed")
    db = sqlite3.connect(f"file:{folder / NAME}?mode=ro", uri=True)
    assert db.execute("SELECT count(*) FROM documents").fetchone() == (4 * FAMILIES,)
    db.close()
    with twinset.Index.open(folder / NAME) as index:
        assert len(index) == 4 * FAMILIES
        assert index.verify() == []


def test_another_program_that_writes_is_noticed(nursery: Nursery, tmp_path: Path) -> None:
    """One that may write moves the log when it closes the file last, and knows nothing of sums over pages."""
    folder = needed(nursery, tmp_path / "needed")
    db = sqlite3.connect(folder / NAME)
    assert db.execute("SELECT count(*) FROM documents").fetchone() == (4 * FAMILIES,)
    db.close()
    with pytest.raises(DamagedError, match="checksum of a page is wrong"):
        twinset.Index.open(folder / NAME)


def test_a_back_up_may_be_put_in_its_place(tmp_path: Path) -> None:
    path = made(tmp_path / "a") / NAME
    shutil.copy(path, tmp_path / "backup")
    with twinset.Index.open(path) as index:
        index.add(["more"], [text_of(5, 5)])
    shutil.copy(tmp_path / "backup", path)
    with twinset.Index.open(path) as index:
        assert len(index) == 4
        index.add(["other"], [text_of(6, 6)])
    with twinset.Index.open(path) as index:
        assert len(index) == 5


def test_the_note_itself_damaged(nursery: Nursery, tmp_path: Path) -> None:
    folder = needed(nursery, tmp_path / "needed")
    found = [["flip", at, 1 << at % 8] for at in range(0, 512, 7)] + [["cut", at] for at in range(0, 512, 31)]
    assert sweep(nursery, folder, tmp_path / "out", f"{NAME}-lock", found)["noticed"] == 0


def test_a_new_index_is_not_taken_for_the_old_one(nursery: Nursery, tmp_path: Path) -> None:
    """What a removed index left beside it is not for one that is made under the same name."""
    folder = needed(nursery, tmp_path / "needed")
    (folder / NAME).unlink()
    assert (folder / f"{NAME}-wal").stat().st_size
    with twinset.Index.create(folder / NAME, **OPTIONS) as index:
        assert len(index) == 0
        assert index.verify() == []
        index.add(["a"], [text_of(1, 1)])
    with twinset.Index.open(folder / NAME) as index:
        assert list(index) == ["a"]
        assert index.verify() == []


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[tuple[str, Log, apsw.Connection]]:
    """An index, its log, and a connection that has read from it."""
    path = str(made(tmp_path / "index") / NAME)
    db = apsw.Connection(path)
    db.execute("SELECT count(*) FROM settings").fetchall()
    yield path, Log(path, WriterLock(path + "-lock", path)), db
    db.close()


def test_a_log_is_counted_while_another_process_commits(
    nursery: Nursery, counted: tuple[str, Log, apsw.Connection], tmp_path: Path
) -> None:
    path, log, db = counted
    frames = log.frames(db)
    writer = nursery.start("commit_slowly", path, tmp_path / "go on")
    writer.until(1)
    with pytest.raises(apsw.BusyError):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    threading.Timer(0.1, (tmp_path / "go on").touch).start()
    assert log.frames(db) == frames
    writer.ended_well()


def test_a_commit_that_never_ends_is_said(
    nursery: Nursery, counted: tuple[str, Log, apsw.Connection], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_log, "WAIT", 0.1)
    path, log, db = counted
    nursery.start("commit_slowly", path, tmp_path / "never").until(1)
    with pytest.raises(apsw.BusyError):
        log.frames(db)
