"""One writer at a time: the others wait, or are told who it is. Readers never wait."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.corpora import rows, words
from twinset.errors import BusyError

HOLDING = """
import sys
import twinset

with twinset.Index.open(sys.argv[1]) as index, index._writer(300, "thinking") as writer:
    with writer.transaction():
        print("held", flush=True)
        sys.stdin.readline()
"""


@contextmanager
def held(where: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that is the writer."""
    command = [sys.executable, "-c", HOLDING, where]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_the_second_writer_is_told_who_the_first_is(where: str) -> None:
    with twinset.Index.create(where) as index, held(where) as holder:
        changes = {
            "add": lambda: index.add(["a"], ["text"], timeout=0), "remove": lambda: index.remove("a", timeout=0),
            "update": lambda: index.update({"a": "b"}, timeout=0.2), "compact": lambda: index.compact(timeout=0),
            "migrate": lambda: twinset.Index.migrate(where, timeout=0),
        }  # fmt: skip
        for name, change in changes.items():
            with pytest.raises(BusyError, match="another writer holds the index") as raised:
                change()
            said = str(raised.value)
            for part in (f"process {holder.pid} on {socket.gethostname()[:20]}", "thinking", "timeout="):
                assert part in said, (name, said)
        assert "waited 0 s" in said
        # Whoever reads does not wait.
        assert len(index) == index.query("text").num_rows == 0
        assert index.verify() == []
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert index.add(["a"], ["text"], timeout=300).added == 1


def test_the_second_writer_waits_for_the_first(where: str) -> None:
    with twinset.Index.create(where) as index, held(where) as holder:
        done = []
        waiting = threading.Thread(target=lambda: done.append(index.add(["a"], ["text"], timeout=300)))
        waiting.start()
        time.sleep(0.2)
        assert not done
        assert holder.stdin
        holder.stdin.write("\n")
        holder.stdin.flush()
        waiting.join(300)
        assert done[0].added == 1


def test_two_objects_of_one_process_are_two_writers(where: str) -> None:
    with twinset.Index.create(where) as one, twinset.Index.open(where) as other:
        with one._writer(0, "resting"):
            with pytest.raises(BusyError, match=f"process {os.getpid()}.*resting|resting.*process {os.getpid()}"):
                other.add(["a"], ["text"], timeout=0)
            one.add(["b"], ["text"], timeout=0)  # whoever holds it may
        assert other.add(["a"], ["text"], timeout=0).added == 1
        assert list(one) == list(other) == ["b", "a"]


def test_threads_share_one_object(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1")
    names = [(thread, number) for thread in range(4) for number in range(12)]
    texts = {f"{thread}-{number}": " ".join(words(12, f"t{thread}x{number}y")) for thread, number in names}
    wrong: list[object] = []

    def work(thread: int) -> None:
        try:
            for number in range(12):
                id = f"{thread}-{number}"
                index.add([id], [texts[id]])
                if [row[0] for row in rows(index.query(texts[id]))] != [id] or id not in index:
                    wrong.append(id)
                if number % 3 == 2:
                    index.remove([id])
                len(index), list(index)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
    assert sorted(index) == sorted(id for id in texts if int(id.split("-")[1]) % 3 != 2)
    assert index.verify() == []


def test_a_thread_is_told_that_another_one_works(new_index: NewIndex) -> None:
    index = new_index()
    began, end = threading.Event(), threading.Event()

    def hold() -> None:
        with index._writer(300, "counting sheep"):
            began.set()
            end.wait(300)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert began.wait(300)
        with pytest.raises(BusyError, match=r"another thread of this process .*counting sheep"):
            index.add(["a"], ["text"], timeout=0.05)
    finally:
        end.set()
        holder.join()
    assert index.add(["a"], ["text"], timeout=300).added == 1


def test_readers_see_whole_commits_while_a_writer_works(place: Place, where: str) -> None:
    """Documents are added and removed in pairs; nobody ever sees one without the other."""
    query = " ".join(words(20, "w"))
    with twinset.Index.create(where, shingle="word:1") as index, twinset.Index.open(where, read_only=True) as reader:
        stop, torn, looks = threading.Event(), [], []

        def read() -> None:
            while not stop.is_set():
                found = sorted(row[0] for row in rows(reader.query(query)))
                looks.append(len(found))
                if found not in ([], ["left", "right"]):
                    torn.append(found)

        thread = threading.Thread(target=read)
        thread.start()
        for _ in range(25):
            index.add(["left", "right"], [query, query])
            index.remove(["left", "right"])
        stop.set()
        thread.join()
        assert torn == []
        assert looks


def test_a_failed_change_lets_go(where: str) -> None:
    with twinset.Index.create(where) as index, twinset.Index.open(where) as other:
        with pytest.raises(twinset.errors.SourceError):
            index.add(["a"], ["\ud800"])
        with pytest.raises(twinset.errors.UnknownIdError):
            index.remove("a")
        assert other.add(["a"], ["text"], timeout=0).added == 1
