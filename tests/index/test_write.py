"""What a call that adds leaves behind: all of it, or whole portions, or nothing; and never a document twice."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.corpora import rows, words
from twinset.engines.progress import Silent
from twinset.errors import DuplicateIdError, RowError, SourceError, TwinsetError
from twinset.system import batch_sizes

STORES = ("text", "shingles", "none")


def text(number: int) -> str:
    return " ".join(words(20, f"t{number}x"))


def write_lines(path: Path, documents: list[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in documents))
    return path


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Portions of a few documents, as if sources were a thousand times as long."""
    monkeypatch.setattr(batch_sizes, "INDEX_COMMIT", 10)


@pytest.mark.parametrize("store", STORES)
def test_adding_again_changes_nothing(new_index: NewIndex, store: str) -> None:
    index = new_index(store=store, shingle="word:1")
    documents = {str(number): text(number) for number in range(30)} | {"empty": ""}
    assert index.add(documents).added == 31
    before = list(index), index.query(documents).to_pydict()
    done = index.add(documents)
    assert (done.added, done.replaced, done.unchanged) == (0, 0, 31)
    done = index.update(list(documents), list(documents.values()))
    assert (done.added, done.replaced, done.unchanged) == (0, 0, 31)
    done = index.add(["new", "7", "8"], [text(100), text(7), text(8)])
    assert (done.added, done.unchanged) == (1, 2)
    assert (list(index)[:-1], index.query(documents).to_pydict()) == before
    assert index.verify() == []


@pytest.mark.parametrize("store", STORES)
def test_another_text_for_an_id_is_refused(new_index: NewIndex, store: str) -> None:
    index = new_index(store=store, shingle="word:1")
    index.add(["a", "b"], [text(1), text(2)])
    for again in (lambda: index.add(["new", "b"], [text(3), text(4)]), lambda: index.add({"new": "x", "b": ""})):
        with pytest.raises(DuplicateIdError, match="the id 'b' and another text; replace it with twinset index update"):
            again()
    assert list(index) == ["a", "b"]
    assert [row[0] for row in rows(index.query(text(2)))] == ["b"]
    assert index.verify() == []


def test_an_id_twice_in_one_call_is_refused(new_index: NewIndex) -> None:
    index = new_index()
    for change in (index.add, index.update):
        with pytest.raises(DuplicateIdError, match="the id 'a' appears twice"):
            change(["a", "b", "a"], ["one", "two", "three"])
        with pytest.raises(DuplicateIdError, match="the id 'a' appears twice"):
            change(["a", "a"], ["the same", "the same"])
    assert len(index) == 0


@pytest.mark.parametrize("batch", [1024, 2**20])
@pytest.mark.usefixtures("small_portions")
def test_an_id_twice_in_a_source(new_index: NewIndex, tmp_path: Path, batch: int) -> None:
    """Where a batch or a portion ends makes no difference."""
    many = [(str(number), text(number)) for number in range(40)]
    same = write_lines(tmp_path / "same.jsonl", [*many[:25], many[3], many[24], *many[25:]])
    other = write_lines(tmp_path / "other.jsonl", [("x", text(50)), *many, ("x", text(51))])
    index = new_index(shingle="word:1")
    done = index.add(same, batch_bytes=batch, threads=1)
    assert (done.added, done.unchanged) == (40, 2)
    for change in (index.add, index.update):
        with pytest.raises(DuplicateIdError, match="'x' appears twice, with different texts"):
            change(other, batch_bytes=batch, threads=1)
    # The first x stood in a portion that was committed before the second came.
    assert list(index)[:40] == [id for id, _ in many]
    assert index.verify() == []


def test_documents_given_together_are_added_together(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1")
    index.add(["old"], [text(0)])
    ids = [str(number) for number in range(9000)]  # more than are prepared at a time
    with pytest.raises(DuplicateIdError):
        index.add([*ids, "old"], ["same short text"] * 9001)
    with pytest.raises(SourceError, match="surrogate"):
        index.add([*ids, "new"], [*["same short text"] * 9000, "\ud800"])
    assert list(index) == ["old"]
    assert index.verify() == []
    assert index.update([*ids, "old"], ["same short text"] * 9001).replaced == 1
    assert len(index) == 9001
    assert list(index)[-1] == "old"


@pytest.mark.parametrize("store", STORES)
@pytest.mark.usefixtures("small_portions")
def test_a_source_that_fails_leaves_whole_portions(new_index: NewIndex, tmp_path: Path, store: str) -> None:
    many = [(str(number), text(number)) for number in range(47)]
    path = write_lines(tmp_path / "many.jsonl", many)
    with path.open("a") as file:
        file.write('{"id": "broken\n')
    index = new_index(store=store, shingle="word:1")
    with pytest.raises(RowError, match=r"many\.jsonl, line 48"):
        index.add(path, batch_bytes=1024, threads=1)
    there = list(index)
    assert 10 <= len(there) < 47
    assert there == [id for id, _ in many[: len(there)]]
    assert index.verify() == []
    done = index.add(path, batch_bytes=1024, threads=1, on_error="skip")
    assert (done.added, done.unchanged, done.unreadable) == (47 - len(there), len(there), 1)
    assert list(index) == [id for id, _ in many]
    assert index.verify() == []


@pytest.mark.usefixtures("small_portions")
def test_a_source_that_fails_in_an_update(new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index(shingle="word:1")
    index.add({str(number): text(number) for number in range(47)})
    path = write_lines(tmp_path / "many.jsonl", [(str(number), text(number + 100)) for number in range(47)])
    with path.open("a") as file:
        file.write("[]\n")
    with pytest.raises(RowError):
        index.update(path, batch_bytes=1024, threads=1)
    assert index.verify() == []
    assert len(index) == 47
    kept = dict(zip(list(index), index.texts(list(index)), strict=True))
    changed = {id for id in kept if kept[id] == text(int(id) + 100)}
    assert changed == {str(number) for number in range(len(changed))}
    assert 10 <= len(changed) < 47
    assert all(kept[id] == text(int(id)) for id in kept if id not in changed)
    assert index.update(path, on_error="skip", batch_bytes=1024).replaced == 47 - len(changed)


def test_a_stream_that_fails(new_index: NewIndex) -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            def batches() -> Iterator[pa.RecordBatch]:
                yield pa.record_batch({"id": ["a"], "text": ["some text"]})
                raise OSError("the line went dead")

            schema = pa.schema([("id", pa.string()), ("text", pa.string())])
            return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__(requested_schema)

    index = new_index()
    with pytest.raises((TwinsetError, OSError), match="the line went dead"):
        index.add(Stream())
    assert len(index) == 0
    assert index.add(["a"], ["text"]).added == 1


def test_sources_of_every_kind(new_index: NewIndex, tmp_path: Path) -> None:
    import pandas
    import polars

    documents = {str(number): text(number) for number in range(12)}
    frame = {"id": list(documents), "text": list(documents.values())}
    (tmp_path / "folder").mkdir()
    for id, one in documents.items():
        (tmp_path / "folder" / id).write_text(one)
    lines = write_lines(tmp_path / "lines.jsonl", list(documents.items()))
    sources = {
        "a mapping": documents, "Arrow": pa.table(frame), "pandas": pandas.DataFrame(frame),
        "Polars": polars.DataFrame(frame), "a folder": tmp_path / "folder", "a file": lines, "its name": str(lines),
        "a list": list(documents.values()), "several": (lines,),
    }  # fmt: skip
    for name, source in sources.items():
        index = new_index(shingle="word:1")
        done = index.add(source)
        assert done.added == 12, name
        assert sorted(index, key=int) == list(documents), name
        assert index.texts(list(documents)) == list(documents.values()), name


@pytest.mark.parametrize("batch", [1024, 5000, 2**24])
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_and_threads_make_no_difference(place: Place, tmp_path: Path, batch: int, threads: int) -> None:
    path = write_lines(tmp_path / "many.jsonl", [(str(number), text(number % 50)) for number in range(120)])
    where = place.new()
    with twinset.Index.create(where, seed=5, shingle="word:1") as index:
        assert index.add(path, batch_bytes=batch, threads=threads).added == 120
        assert list(index) == [str(number) for number in range(120)]
        assert [row[0] for row in rows(index.query(text(7)))] == ["7", "57", "107"]
        assert index.verify() == []


def test_updating_within_and_across_batches(new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index(shingle="word:1")
    index.add({str(number): text(number) for number in range(60)})
    path = write_lines(
        tmp_path / "new.jsonl", [(str(number), text(number + 1000 * (number % 2))) for number in range(100)]
    )
    done = index.update(path, batch_bytes=1024)
    assert (done.added, done.replaced, done.unchanged) == (40, 30, 30)
    assert index.texts(["1", "2", "61", "99"]) == [text(1001), text(2), text(1061), text(1099)]
    assert list(index)[:30] == [str(number) for number in range(0, 60, 2)]
    assert index.query(text(1), k=3).num_rows == 0
    assert index.verify() == []


class Struck(Silent):
    """Ctrl-C, once so many documents are done."""

    def __init__(self, after: int) -> None:
        self.left = after

    def advance(self, n: int) -> None:
        self.left -= n
        if self.left <= 0:
            raise KeyboardInterrupt


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize(
    ("after", "said"),
    [
        (1, "none of these documents was committed; run the same command again"),
        (15, "10 documents are committed; run the same command again to resume"),
    ],
)
def test_a_stop_leaves_no_copy_of_stdin_and_says_what_was_committed(
    new_index: NewIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, said: str
) -> None:
    index, scratch = new_index(shingle="word:1"), tmp_path / "scratch"
    lines = "".join(json.dumps({"id": str(number), "text": text(number)}) + "\n" for number in range(40)).encode()
    words = {"scratch": str(scratch), "batch_bytes": 1024, "threads": 1}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    with pytest.raises(KeyboardInterrupt) as stop:
        index.add(("-",), progress=Struck(after), **words)
    # Its traceback still holds all that was under way, as it does when the command leaves.
    assert list(scratch.iterdir()) == []
    committed = len(index)
    assert stop.value.__notes__ == [said.replace("10", str(committed))]
    assert bool(committed) is (after > 1)
    index.add({"7": text(7)})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    with pytest.raises(KeyboardInterrupt) as stop, closing(index.each_query(("-",), progress=Struck(1), **words)) as it:
        list(it)
    assert list(scratch.iterdir()) == []
