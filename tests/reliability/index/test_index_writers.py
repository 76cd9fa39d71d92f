"""One writer at a time: the second waits, is told who it waits for, and the lock of a dead one is free at once."""

from __future__ import annotations

import os
import signal
import socket
import time

import pytest

import twinset
from tests.reliability.index.index_work import OPTIONS, text_of
from tests.reliability.nursery import KILLED, Child, Nursery


def stopped_while_writing(nursery: Nursery, url: str) -> Child:
    """A process that was stopped in the middle of a call, and so holds the index for as long as the test likes."""
    for attempt in range(50):
        writer = nursery.start("add_many", url, f"first{attempt}", 3000, 300)
        with twinset.Index.open(url) as index:
            while not is_held_by(writer, index) and writer.running():
                pass
            if writer.running():
                os.kill(writer.pid, signal.SIGSTOP)
                if is_held_by(writer, index):  # it may have let go in between
                    return writer
        writer.kill()
        with twinset.Index.open(url) as index:
            index.remove([id for id in index if id.startswith("first")], timeout=300)
    raise AssertionError("it was never caught in the act")


def is_held_by(writer: Child, index: twinset.Index) -> bool:
    """Whether a writer holds the index and has said so, which comes after the lock."""
    try:
        index.add([], [], timeout=0)
    except twinset.BusyError as error:
        return f"process {writer.pid} on" in str(error) and "adding" in str(error)
    return False


def test_a_second_writer_waits_and_is_told_who_holds_it(nursery: Nursery, index_url: str) -> None:
    twinset.Index.create(index_url, **OPTIONS).close()
    first = stopped_while_writing(nursery, index_url)
    with twinset.Index.open(index_url) as index:
        for change in (
            lambda: index.add(["a"], ["some text"], timeout=0.4),
            lambda: index.update(["a"], ["some text"], timeout=0.4),
            lambda: index.remove(["a"], timeout=0.4),
            lambda: index.compact(timeout=0.4),
        ):
            began = time.monotonic()
            with pytest.raises(twinset.BusyError) as raised:
                change()
            assert time.monotonic() - began >= 0.4
            for word in (f"process {first.pid} on {socket.gethostname()}", "adding", "waited 0.4 s", "timeout="):
                assert word in str(raised.value)
        assert first.kill() == KILLED
        index.add(["a"], ["some text"], timeout=300)
        assert list(index) == ["a"]
        assert index.verify() == []


def test_the_lock_of_a_killed_writer_is_free_at_once(nursery: Nursery, tmp_path: os.PathLike[str]) -> None:
    path = os.path.join(tmp_path, "documents.twinset")
    with twinset.Index.create(path, **OPTIONS) as index:
        for number in range(5):
            assert stopped_while_writing(nursery, path).kill() == KILLED
            index.add([str(number)], [text_of(number, 1)], timeout=0)
        assert list(index) == [str(number) for number in range(5)]


def test_a_reader_is_never_blocked(nursery: Nursery, index_url: str) -> None:
    with twinset.Index.create(index_url, **OPTIONS) as index:
        index.add(["a", "b"], [text_of(1, 1), text_of(1, 2)])
        first = stopped_while_writing(nursery, index_url)
        for read_only in (False, True):
            with twinset.Index.open(index_url, read_only=read_only) as reader:
                assert reader.query(text_of(1, 1)).column("id").to_pylist() == ["a", "b"]
                assert reader.similar_to("a").column("id").to_pylist() == ["b"]
                assert len(reader) == 2
                assert reader.verify() == []
        first.kill()


def test_a_second_writer_gets_its_turn(nursery: Nursery, index_url: str) -> None:
    twinset.Index.create(index_url, **OPTIONS).close()
    first = stopped_while_writing(nursery, index_url)
    second = nursery.start("add_many", index_url, "second", 5, 300)
    second.until(1)
    time.sleep(0.3)
    assert second.said() == ["begun"]
    os.kill(first.pid, signal.SIGCONT)
    first.ended_well()
    second.ended_well()
    with twinset.Index.open(index_url) as index:
        assert len(index) == 3005
        assert list(index)[-5:] == [f"second-{number}" for number in range(5)]
        assert index.verify() == []


def test_several_writers_take_turns(nursery: Nursery, index_url: str) -> None:
    twinset.Index.create(index_url, **OPTIONS).close()
    calls = 15
    writers = [nursery.start("add_often", index_url, name, calls) for name in "abcd"]
    for writer in writers:
        assert writer.ended_well() == list(range(calls))
    with twinset.Index.open(index_url) as index:
        expected = {f"{name}-{call}-{one}" for name in "abcd" for call in range(calls) for one in range(3)}
        assert sorted(index) == sorted(expected)
        assert index.verify() == []
