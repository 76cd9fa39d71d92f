"""JSON lines are parsed as JSON, and kept as bytes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.reading import ENDINGS, opened, packed, read_all, unpacked, write_all
from twinset.errors import OptionError, RowError, SourceError

PLAIN = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
ROWS = st.fixed_dictionaries(
    {"text": PLAIN | st.none(), "id": st.integers(-(2**63), 2**63 - 1) | PLAIN},
    optional={"more": st.recursive(PLAIN | st.booleans() | st.floats(allow_nan=False, allow_infinity=False), st.lists)},
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(ROWS, st.booleans(), st.sampled_from(["\n", "\r\n", " \n", "\n\n \t\n"])), max_size=20),
    st.booleans(),
    st.sampled_from([64, 100, 2**20]),
)
def test_any_rows(rows: list[tuple[dict[str, object], bool, str]], cut_last: bool, batch: int) -> None:
    lines = [json.dumps(row, ensure_ascii=escaped) + end for row, escaped, end in rows]
    data = "".join(lines).encode()
    data = data.rstrip() if cut_last else data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.jsonl"
        path.write_bytes(data)
        sources = opened(path, id="id")
        found = read_all(sources, batch)
        write_all(sources, Path(folder) / "out", lambda part, row: row % 2 == 0, batch)
        kept = (Path(folder) / "out/kept/in.jsonl").read_bytes()
    texts = [row["text"] for row, _, _ in rows]
    assert found.texts == [text.encode() if isinstance(text, str) else None for text in texts]
    assert found.ids == [str(row["id"]) for row, _, _ in rows]
    wanted = [json.dumps(row, ensure_ascii=escaped) for row, escaped, _ in rows[::2]]
    assert [line.strip() for line in kept.decode().split("\n") if line.strip()] == wanted


def test_groups(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(b'{"text":"a","g":%s}\n' % value for value in (b'"x"', b"7", b"1.5", b"true", b"null")))
    assert read_all(opened(path, by="g")).by == ["x", "7", "1.5", "true", None]


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_of_another_encoding_are_read_in_it_and_kept_as_they_are(tmp_path: Path, ending: str) -> None:
    data = '{"id":"é","text":"été café","g":"ü"}\r\n{"id":"b","text":"ôtô \\u00e7a","g":"ü"}\n'.encode("latin-1")
    path = tmp_path / f"in.jsonl{ending}"
    path.write_bytes(packed(data, ending))
    sources = opened(path, encoding="latin-1", by="g")
    rows = read_all(sources)
    assert [text.decode() for text in rows.texts] == ["été café", "ôtô ça"]
    assert (rows.ids, rows.by, rows.replaced) == (["é", "b"], ["ü", "ü"], 0)
    write_all(sources, tmp_path / "out")
    assert unpacked(tmp_path / "out/kept" / path.name) == data


def test_bytes_of_several_that_look_like_json(tmp_path: Path) -> None:
    """In Shift JIS the second byte of a character may be a backslash or a brace."""
    texts = ["表示する", "ボ}ー{ソ"]
    path = tmp_path / "in.jsonl"
    path.write_bytes("".join(json.dumps({"text": one}, ensure_ascii=False) + "\n" for one in texts).encode("shift_jis"))
    assert [text.decode() for text in read_all(opened(path, encoding="shift_jis")).texts] == texts


def test_bytes_that_another_encoding_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text":"a\x81","id":"x"}\n{"text":"b","more":"\x81","id":"y"}\n')
    rows = read_all(opened(path, encoding="cp1252"))
    assert ([text.decode() for text in rows.texts], rows.replaced) == (["a\ufffd", "b"], 1)
    with pytest.raises(RowError, match="line 1: the row has bytes that are not cp1252"):
        read_all(opened(path, encoding="cp1252", on_error="stop"))
    path.write_bytes(b'{"text":"a","id":"\x81"}\n')
    with pytest.raises(RowError, match="the id 'id' is not in the encoding"):
        read_all(opened(path, encoding="cp1252"))


def test_flags_are_added_to_rows_of_any_encoding(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes('{"text":"é"}\n'.encode("latin-1"))
    flags = pa.table({"cluster": ["日本"], "duplicate_of": [None], "similarity": pa.array([None], pa.float64())})
    write_all(opened(path, encoding="latin-1"), tmp_path / "out", flags=flags, flag=True)
    written = json.loads((tmp_path / "out/kept/in.jsonl").read_bytes().decode("latin-1"))
    assert written == {"text": "é", "cluster": "日本", "duplicate_of": None, "similarity": None}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["in.jsonl", "in.csv"])
def test_utf16_is_named(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(('{"text":"some words"}\n' if name == "in.jsonl" else "id,text\n1,words\n").encode(encoding))
    with pytest.raises(SourceError, match=r"looks like UTF-16, .* convert the file to utf-8"):
        opened(path)
    with pytest.raises(OptionError, match="rows cannot be split in the encoding 'utf-16'"):
        opened(path, encoding="utf-16")


@pytest.mark.parametrize("value", ["null", "1.5", "true", "[]"])
@pytest.mark.parametrize("row", [0, 1])
def test_ids_are_those_of_the_column_whatever_the_first_is(tmp_path: Path, value: str, row: int) -> None:
    lines = ['{"id":1,"text":"a"}\n', '{"id":2,"text":"b"}\n']
    lines[row] = f'{{"id":{value},"text":"a"}}\n'
    path = tmp_path / "in.jsonl"
    path.write_text("".join(lines))
    with pytest.raises(RowError, match=f"line {row + 1}: the id 'id' must be a string or a whole number"):
        read_all(opened(path))
    path.write_text('{"text":"a"}\n{"id":null,"text":"b"}\n')
    assert read_all(opened(path)).ids == [f"{path.as_posix()}:0", f"{path.as_posix()}:1"]


HALVES = rb'{"id":"a","text":"half \ud800 a pair, whole \ud83d\ude00"}' + b"\n"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (HALVES, "half \ufffd a pair, whole \U0001f600"),
        (rb'{"id":"a","text":"\uDC00\uD800"}', "\ufffd\ufffd"),
        (b'{"id":"a","text":"byte \xff and \\udbff"}', "byte \ufffd and \ufffd"),
    ],
)
def test_half_a_surrogate_pair_is_replaced_and_counted(tmp_path: Path, line: bytes, text: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(line)
    rows = read_all(opened(path))
    assert (rows.texts, rows.ids, rows.replaced) == ([text.encode()], ["a"], 1)
    write_all(opened(path), tmp_path / "out")
    assert (tmp_path / "out/kept/in.jsonl").read_bytes() == line


def test_half_a_surrogate_pair_elsewhere_is_of_no_account(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(rb'{"id":"a","text":"fine","more":[{"\ud800":"\ud800"}]}')
    rows = read_all(opened(path))
    assert (rows.texts, rows.replaced) == ([b"fine"], 0)
    path.write_bytes(rb'{"name":"\ud800","city":"b"}')
    assert read_all(opened(path, text=("name", "city"))).replaced == 1


def test_half_a_surrogate_pair_is_refused_where_it_cannot_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(HALVES)
    with pytest.raises(RowError, match=r"line 1: not JSON: .*surrogate"):
        read_all(opened(path, on_error="stop"))
    ((row, reason),) = read_all(opened(path, on_error="skip")).unreadable
    assert (row, "surrogate" in reason) == (0, True)
    path.write_bytes(rb'{"id":"\ud800","text":"b"}')
    with pytest.raises(RowError, match="the id 'id' is not in the encoding of the file"):
        read_all(opened(path))
    path.write_bytes(rb'{"text":"\ud800"')
    with pytest.raises(RowError, match="not JSON"):
        read_all(opened(path))


def test_another_format_is_guessed_only_where_no_object_begins(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    for first, guessed in ((b"id,text", True), (b'{"text": 1e999}', False), (b'{"text": "a"}\nid,text', False)):
        path.write_bytes(first + b"\n")
        with pytest.raises(RowError, match="not JSON") as error:
            read_all(opened(path))
        assert ('format="csv"' in str(error.value)) == guessed


@pytest.mark.parametrize(("id", "shown"), [("1.5", "not 1.5"), ("null", "not null"), ("true", "not true or false")])
def test_rows_without_an_id_are_told_of_positions(tmp_path: Path, id: str, shown: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(f'{{"id": 1, "text": "a"}}\n{{"id": {id}, "text": "b"}}\n')
    with pytest.raises(RowError, match=rf"line 2: .*whole number, {shown}; name another .* with no_id"):
        read_all(opened(path))
    assert read_all(opened(path, no_id=True)).texts == [b"a", b"b"]
