"""Files that are no index, odd names, and folders that cannot be written to."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest

import twinset
from twinset.errors import DamagedError, OutputError, StateError
from twinset.index.settings import FORMAT


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "new.twinset")
    twinset.Index.create(path).close()
    db = apsw.Connection(path, vfs="cksmvfs")
    db.pragma("user_version", FORMAT + 1)
    db.close()
    for act in (twinset.Index.open, twinset.Index.migrate):
        with pytest.raises(StateError, match=f"has format {FORMAT + 1}.*use a newer version") as raised:
            act(path)
        assert type(raised.value) is StateError


def test_files_that_are_no_index_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "garbage").write_bytes(os.urandom(40_000))
    (tmp_path / "text").write_text("the rose is in the garden\n" * 1000)
    (tmp_path / "short").write_bytes(b"SQLite format 3\0")
    (tmp_path / "zeros").write_bytes(bytes(8192))
    db = sqlite3.connect(tmp_path / "foreign")
    db.execute("CREATE TABLE settings (name TEXT, value TEXT)")
    db.close()
    twinset.Index.create(tmp_path / "real").close()
    shutil.copy(tmp_path / "real", tmp_path / "half")
    os.truncate(tmp_path / "half", os.path.getsize(tmp_path / "real") // 2)
    (tmp_path / "folder").mkdir()
    reasons = {
        "empty": "is empty: it is not an index", "garbage": "not an index", "text": "not an index",
        "short": "not an index", "zeros": "not an index", "half": "damaged", "folder": "not a file",
        "foreign": "is a SQLite database, but not an index of twinset",
    }  # fmt: skip
    for name, reason in reasons.items():
        before = (tmp_path / name).read_bytes() if name != "folder" else b""
        for words in ({}, {"read_only": True}):
            with pytest.raises(StateError, match=reason) as raised:
                twinset.Index.open(tmp_path / name, **words)
            assert str(tmp_path / name) in str(raised.value)
            assert isinstance(raised.value, DamagedError) == (name != "folder")
        assert name == "folder" or (tmp_path / name).read_bytes() == before


def test_other_tables_views_and_triggers_are_refused(tmp_path: Path) -> None:
    twinset.Index.create(tmp_path / "real").close()
    statements = (
        "CREATE TABLE more (a)",
        "CREATE VIEW more AS SELECT * FROM documents",
        "CREATE TRIGGER more AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
        "CREATE INDEX more ON bands (document)",
        "DROP TABLE shingles",
        "DROP TABLE samples",
        "ALTER TABLE documents ADD COLUMN more TEXT",
    )
    for number, statement in enumerate(statements):
        path = shutil.copy(tmp_path / "real", tmp_path / str(number))
        db = apsw.Connection(str(path), vfs="cksmvfs")
        db.execute(statement)
        db.close()
        with pytest.raises(DamagedError, match=f"its tables are not those of format {FORMAT}"):
            twinset.Index.open(path)


def test_a_file_without_checksums_is_refused(tmp_path: Path) -> None:
    twinset.Index.create(tmp_path / "real").close()
    db = sqlite3.connect(tmp_path / "plain")
    db.executescript(
        "".join(f"{line};" for line in sqlite3.connect(tmp_path / "real").iterdump() if line.startswith("CREATE"))
    )
    db.execute(f"PRAGMA application_id = {0x5457534E}")
    db.execute(f"PRAGMA user_version = {FORMAT}")
    db.close()
    with pytest.raises(DamagedError, match="have no checksums"):
        twinset.Index.open(tmp_path / "plain")


def test_where_no_file_can_be_made(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no folder"):
        twinset.Index.create(tmp_path / "none" / "a.twinset")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot be made|there is no folder"):
        twinset.Index.create(tmp_path / "file" / "a.twinset")
    assert sorted(os.listdir(tmp_path)) == ["file"]


def test_odd_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:a?mode=memory", "with space", "100%25.twinset", "a#b?c", "é\n", "-x", "a'b\"c"):
        with twinset.Index.create(name) as index:
            index.add(["a"], ["some text of no account"])
        with twinset.Index.open(Path(name), read_only=True) as index:
            assert list(index) == ["a"], name
        assert os.path.isfile(name)


def test_a_link_and_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file has one lock and one log, by whatever name it is called and wherever the process goes."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with twinset.Index.create("news.twinset") as index:
        os.symlink(tmp_path / "here" / "news.twinset", tmp_path / "there" / "link")
        monkeypatch.chdir(tmp_path / "there")
        index.add(["a"], ["some text"])
        with twinset.Index.open("link") as other:
            other.add(["b"], ["some more"])
        assert list(index) == ["a", "b"]
        assert index.stats()["documents"] == 2
    assert os.listdir(tmp_path / "there") == ["link"]


AS_NOBODY = """
import os, sys
import twinset
from twinset.errors import TwinsetError

def look(where):
    with twinset.Index.open(where, read_only=True) as index:
        print(list(index), index.query("some text of no account")["id"].to_pylist(), index.verify(), flush=True)
        if sys.stdin.readline() == "go on\\n":
            try:
                print(len(index))
            except TwinsetError as error:
                print(type(error).__name__, error)
    try:
        twinset.Index.open(where).add(["b"], ["text"])
    except TwinsetError as error:
        print(type(error).__name__)

# Everything is loaded by root, who can read it, and then looked at by a user who may write nowhere. Whoever is not root
# may not write to the folder either.
with twinset.Index.create(sys.argv[2]) as index:
    index.add(["a"], ["some text of no account"])
    index.query("some text of no account")
    index.verify()
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
look(sys.argv[1])
"""


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """An index in a folder that everybody may read and nobody but root may write to."""
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with twinset.Index.create(Path(folder) / "news.twinset") as index:
            index.add(["a"], ["some text of no account"])
        with written_to_by_nobody(Path(folder)):
            yield Path(folder) / "news.twinset"


@contextmanager
def written_to_by_nobody(folder: Path) -> Iterator[None]:
    """A folder, and what is in it, without any permission to write."""
    let_write(folder, False)
    try:
        yield
    finally:
        let_write(folder, True)


def let_write(folder: Path, may: bool) -> None:
    folder.chmod(0o755 if may else 0o555)
    for path in folder.iterdir():
        path.chmod(0o644 if may else 0o444)


@contextmanager
def nobody_looks(where: Path, other: Path) -> Iterator[subprocess.Popen[str]]:
    """Run the program above."""
    command = [sys.executable, "-c", AS_NOBODY, str(where), str(other)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as program:
        yield program


def test_read_only_in_a_folder_without_write_permission(locked: Path, tmp_path: Path) -> None:
    before = sorted(os.listdir(locked.parent))
    with nobody_looks(locked, tmp_path / "other") as program:
        said, errors = program.communicate("\n", timeout=300)
    assert said.splitlines()[0] == "['a'] ['a'] []", errors
    assert said.splitlines()[1] in ("OutputError", "StateError")
    assert sorted(os.listdir(locked.parent)) == before


def test_what_is_changed_under_a_reader_that_cannot_say_that_it_reads(locked: Path, tmp_path: Path) -> None:
    with nobody_looks(locked, tmp_path / "other") as program:
        assert program.stdout
        first = program.stdout.readline()
        let_write(locked.parent, True)
        with twinset.Index.open(locked) as index:
            index.add(["b"], ["other text altogether"])
        let_write(locked.parent, False)
        said, errors = program.communicate("go on\n", timeout=300)
    assert first == "['a'] ['a'] []\n", errors
    assert said.splitlines()[0] == f"ChangedMeanwhile {locked} was changed by another process; open it again"


@pytest.mark.parametrize("read_only", [False, True])
def test_one_file_is_left(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "one.twinset"
    with twinset.Index.create(path) as index:
        index.add({"a": "some text of the first document"})
        assert {one.name for one in tmp_path.iterdir()} > {path.name}
    assert list(tmp_path.iterdir()) == [path]
    with twinset.Index.open(path, read_only=read_only) as index:
        assert len(index) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_the_last_of_several_leaves_one_file(tmp_path: Path) -> None:
    path = tmp_path / "one.twinset"
    first = twinset.Index.create(path)
    readers = [twinset.Index.open(path, read_only=True) for _ in range(2)]
    first.add({"a": "some text of the first document"})
    for one in readers:
        assert len(one) == 1
    first.close()
    assert readers[0].query("some text of the first document").num_rows == 1
    readers[0].close()
    assert readers[1].query("some text of the first document").num_rows == 1
    readers[1].close()
    assert list(tmp_path.iterdir()) == [path]
    with twinset.Index.open(path) as index:
        assert index.verify() == []
