"""Texts, ids and other values inside structs and objects, named by a path; chats as texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import twinset
from tests.documents.reading import opened, read_all
from twinset.documents.fields import replace_at
from twinset.errors import ColumnError, RowError

ROWS: list[dict[str, Any]] = [
    {"meta": {"body": "one text", "key": "a", "lang": {"code": "en"}, "n": 1}, "id": 1},
    {"meta": {"body": "another", "key": "b", "lang": {"code": "de"}, "n": 3}, "id": 2},
    {"meta": None, "id": 3},
    {"meta": {"body": None, "key": "d", "lang": None, "n": 2}, "id": 4},
]
READERS = ["jsonl", "parquet", "arrow", "stream", "table", "pandas", "polars"]


def source(folder: Path, how: str, rows: list[dict[str, Any]]) -> Any:
    """The rows in one of the forms that can hold objects."""
    path = folder / f"rows.{how}"
    if how == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    table = pa.Table.from_pylist(rows)
    if how == "parquet":
        pq.write_table(table, path, row_group_size=2)
    elif how == "arrow":
        pa.feather.write_feather(table, path, compression="uncompressed", chunksize=2)
    elif how == "stream":
        path = folder / "rows.feather"
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=2)
    else:
        return {"table": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table)}[how]
    return path


@pytest.mark.parametrize("how", READERS)
def test_a_dotted_name_is_a_path_into_structs_and_objects(tmp_path: Path, how: str) -> None:
    given = source(tmp_path, how, ROWS[:2] + ROWS[3:])
    parts = opened(given, text="meta.body", id="meta.key", by="meta.lang.code", scratch=tmp_path)
    parts.parts[0].wanted = frozenset({"meta.n"})
    for whole in (False, True):
        rows = read_all(parts, whole=whole)
        assert rows.texts == [b"one text", b"another", None]
        assert rows.ids == ["a", "b", "d"]
        assert rows.by == ["en", "de", None]
        assert rows.columns == {"meta.n": [1, 3, 2]}
    assert read_all(parts, texts_only=True).texts == [b"one text", b"another", None]


@pytest.mark.parametrize("how", READERS)
def test_a_field_of_a_null_object_is_null(tmp_path: Path, how: str) -> None:
    assert read_all(opened(source(tmp_path, how, ROWS), text="meta.body", scratch=tmp_path)).texts == [
        b"one text", b"another", None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("how", READERS)
def test_a_column_of_exactly_that_name_comes_first(tmp_path: Path, how: str) -> None:
    rows = [{"meta": {"body": "inside"}, "meta.body": "outside", "a.b": {"c.d": "dots in names"}}]
    given = source(tmp_path, how, rows)
    assert read_all(opened(given, text="meta.body", scratch=tmp_path)).texts == [b"outside"]
    assert read_all(opened(given, text="a.b.c.d", scratch=tmp_path)).texts == [b"dots in names"]


@pytest.mark.parametrize("how", READERS)
def test_a_path_that_does_not_exist_is_refused_with_the_paths_that_do(tmp_path: Path, how: str) -> None:
    with pytest.raises(ColumnError, match=r'''no column 'meta.text'; the columns are .*'meta.body'.*text="NAME"'''):
        opened(source(tmp_path, how, ROWS), text="meta.text", scratch=tmp_path)


def test_kept_rows_are_whole_and_sets_and_records_can_be_nested(tmp_path: Path) -> None:
    odd = [str(n % 2) for n in range(4)]
    rows = [{"id": n, "doc": {"tags": ["x", "y", one], "a": "some words", "b": one}} for n, one in enumerate(odd)]
    path = source(tmp_path, "parquet", rows)
    for words in ({"items": "doc.tags"}, {"text": ["doc.a", "doc.b"], "shingle": "word:1"}):
        done = twinset.dedup(path, threshold=0.9, **words)
        assert done.kept.to_pylist() == rows[:2]
    groups = source(tmp_path, "jsonl", [{"row": {"who": who, "what": what}} for who in "ab" for what in "xyz"])
    assert twinset.find_pairs(groups, group="row.who", item="row.what").pairs["left"].to_pylist() == ["a"]


def test_the_keep_column_can_be_nested(tmp_path: Path) -> None:
    numbers = {"a": 1, "b": 3, "c": 2}
    rows = [{"id": name, "text": "the same text for all", "meta": {"n": n}} for name, n in numbers.items()]
    for how in ("jsonl", "parquet"):
        done = twinset.dedup(source(tmp_path, how, rows), keep="highest:meta.n", output=tmp_path / f"out-{how}")
        for one in (done, twinset.open_result(tmp_path / f"out-{how}").rethreshold(0.9)):
            assert one.removed["because_of"].to_pylist() == ["b", "b"]


# Chats

CHATS: list[Any] = [
    [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Good morning"}],
    [{"role": "user", "content": "Grüße"}, {"role": "tool", "content": None}, {"role": "user", "content": ""}],
    [],
    None,
]
CHAT_TEXTS = [b"Hello there\nGood morning", "Grüße\n".encode(), b"", None]


@pytest.mark.parametrize("how", READERS)
def test_the_text_of_a_chat_is_the_contents_of_its_messages(tmp_path: Path, how: str) -> None:
    rows = [{"id": n, "messages": chat, "inner": {"chat": chat}} for n, chat in enumerate(CHATS)]
    given = source(tmp_path, how, rows)
    assert read_all(opened(given, text="messages", scratch=tmp_path)).texts == CHAT_TEXTS
    assert read_all(opened(given, text="inner.chat", scratch=tmp_path)).texts == CHAT_TEXTS


@pytest.mark.parametrize("how", READERS)
def test_contents_can_be_lists_of_parts(tmp_path: Path, how: str) -> None:
    picture = {"type": "image_url", "image_url": "cat.png", "text": None}
    parts = [{"type": "text", "text": "What is this?", "image_url": None}, picture]
    rows = [{"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": parts[:1]}]}]
    texts = read_all(opened(source(tmp_path, how, rows), text="messages", scratch=tmp_path)).texts
    assert texts == [b"What is this?\nWhat is this?"]


@pytest.mark.parametrize("how", READERS)
def test_messages_may_have_a_value_in_place_of_a_content(tmp_path: Path, how: str) -> None:
    rows = [{"conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi."}]}]
    given = source(tmp_path, how, rows)
    assert read_all(opened(given, text="conversations", scratch=tmp_path)).texts == [b"Hello\nHi."]


def test_chats_of_json_may_be_strings_in_some_rows_and_parts_plain_texts(tmp_path: Path) -> None:
    rows = [
        {"text": "plain"},
        {"text": [{"role": "user", "content": ["one", {"type": "text", "text": "two"}]}, {"role": "assistant"}]},
        {"text": {"role": "user", "content": "alone"}},
    ]
    assert read_all(opened(source(tmp_path, "jsonl", rows))).texts == [b"plain", b"one\ntwo", b"alone"]


@pytest.mark.parametrize(
    "value", [{"a": 1}, [{"a": 1}], ["words"], [[{"content": "x"}]], [{"content": 5}], [{"content": [[[["deep"]]]]}]]
)
def test_other_lists_and_objects_are_no_texts(tmp_path: Path, value: Any) -> None:
    path = source(tmp_path, "jsonl", [{"text": value}])
    with pytest.raises(RowError, match=r"must be a string, not a .*: only a list of messages, each with a content"):
        read_all(opened(path))
    if not isinstance(value, dict) and value[0] != {"content": [[[["deep"]]]]}:
        with pytest.raises(ColumnError, match="must hold text, not"):
            opened(pa.table({"text": [value]}))


def test_chats_are_deduplicated_and_explained(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "how do I bake bread at home"}, {"role": "assistant", "content": "with flour"}]
    other = [{"role": "system", "content": chat[0]["content"]}, *chat[1:]]
    frame = pd.DataFrame({"id": ["a", "b"], "messages": [chat, other]})
    done = twinset.dedup(frame, text="messages")
    assert done.removed["id"].to_pylist() == ["b"]
    path = source(tmp_path, "jsonl", [{"id": "a", "messages": chat}, {"id": "b", "messages": other}])
    folder = twinset.dedup(path, text="messages", output=tmp_path / "out")
    assert folder.explain("b").explanation.similarity == 1
    assert (tmp_path / "out/kept/rows.jsonl").read_bytes() == path.read_bytes().splitlines(keepends=True)[0]


def test_bytes_in_a_chat_that_do_not_decode_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b'{"messages": [{"role": "user", "content": "caf\xe9"}]}\n')
    rows = read_all(opened(path, text="messages"))
    assert rows.texts == [b"caf\xe9"]
    assert twinset.dedup(path, text="messages").summary["replaced"] == 1


def test_a_dictionary_gets_only_the_texts_that_it_lacks() -> None:
    table = pa.table({"text": pa.array(["one", "two", None, "one"]).dictionary_encode()})
    found = replace_at(table, "text", np.array([0, 1, 3]), ["two", "new", "new"])["text"].chunk(0)
    assert found.to_pylist() == ["two", "new", None, "new"]
    assert found.dictionary.to_pylist() == ["one", "two", "new"]
