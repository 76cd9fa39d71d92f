"""A text that is replaced is the only thing that changes, in every format and with the writers of kept rows."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.reading import ENDINGS, opened, packed, read_all, replaced, unpacked, write_all
from twinset.documents.formats import typed_columns
from twinset.errors import ColumnError, OptionError, OutputError, SourceError
from twinset.options.formats import DELIMITERS

HOSTILE = ["", 'a "quoted", one', "line\nbreaks\r\nand\r", "back\\slash\\", "tab\t;|", "日本 😀\u2028é", "\x00\x1f\x7f"]
ANY = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12) | st.sampled_from(HOSTILE)
NEW = st.dictionaries(st.integers(0, 6), ANY)


def changed(path: Path, texts: dict[int, str], batch_bytes: int = 2**20, **words: Any) -> bytes:
    """The bytes of the file of kept rows, with new texts for some."""
    with tempfile.TemporaryDirectory() as out:
        write_all(opened(path, **words), Path(out), batch_bytes=batch_bytes, texts=texts)
        return unpacked(Path(out) / "kept" / path.name)


def rewritten(tmp_path: Path, name: str, data: bytes, texts: dict[int, str], **words: Any) -> bytes:
    (tmp_path / name).write_bytes(data)
    return changed(tmp_path / name, texts, **words)


LINES = [
    (b'{"text": "old"}', b'{"text": "NEW"}'),
    (b' {\t"a" : [1.10, -0, 1e-7, {"text":"}"}] ,"text":"o\\"ld" } \r', b' {\t"a" : [1.10, -0, 1e-7, {"text":"}"}] ,"text":"NEW" } \r'),
    (b'{"n":123456789012345678901234567890,"t":true,"text":"","z":null}', b'{"n":123456789012345678901234567890,"t":true,"text":"NEW","z":null}'),
    (b'{"text":"first","x":"\\u00e9\\/","text":"last"}', b'{"text":"first","x":"\\u00e9\\/","text":"NEW"}'),
    (b'{"t\\u0065xt":"old","half":"\\ud800"}', b'{"t\\u0065xt":"NEW","half":"\\ud800"}'),
    (b'{"bad":"\xff\\\\","text":"old \xff"}', b'{"bad":"\xff\\\\","text":"NEW"}'),
    (b'{"deep":' + b"[" * 900 + b"]" * 900 + b',"text":"old"}', b'{"deep":' + b"[" * 900 + b"]" * 900 + b',"text":"NEW"}'),
]  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("last", [b"\n", b""])
def test_lines_of_json_keep_all_other_bytes(tmp_path: Path, ending: str, last: bytes) -> None:
    before, after = (b"\n".join(lines) + last for lines in zip(*LINES, strict=True))
    mark = b"\xef\xbb\xbf"
    found = rewritten(tmp_path, f"in.jsonl{ending}", packed(mark + before, ending), dict.fromkeys(range(7), "NEW"))
    assert found == mark + after
    lines = before.split(b"\n")
    lines[3] = LINES[3][1]
    assert changed(tmp_path / f"in.jsonl{ending}", {3: "NEW"}, 64) == mark + b"\n".join(lines)
    assert changed(tmp_path / f"in.jsonl{ending}", {}) == mark + before


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ('{"meta": {"n": 1, "body": "old"}, "body": "b"}', "meta.body"),
        ('{"meta": {"body": "m"}, "meta.body": "old"}', "meta.body"),
        ('{"a": {"x": 1}, "a.b": {"c": "old"}}', "a.b.c"),
        ('{"a": {"b": {"c": "first"}}, "a": {"b": {"c": "old"}}}', "a.b.c"),
        ('{"a": {"b": 1}, "a.b": {"d": {}}, "a.b.c": "old"}', "a.b.c"),
    ],
)
def test_paths_into_objects(tmp_path: Path, row: str, name: str) -> None:
    for ending, data in (("jsonl", row), ("json", f"[{row}]")):
        found = rewritten(tmp_path, f"in.{ending}", data.encode(), {0: "NEW"}, text=name, no_id=True).decode()
        assert found.strip("[]\n") == row.replace("old", "NEW")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.tuples(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), ANY, VALUES).map(
    lambda row: {**row[0], "text": row[1], "end": row[2]}
)


@settings(max_examples=150, deadline=None)
@given(st.lists(OBJECTS, max_size=6), NEW, st.booleans(), st.booleans(), st.sampled_from([64, 2**20]))
def test_any_objects(rows: list[dict[str, Any]], new: dict[int, str], array: bool, wide: bool, batch: int) -> None:
    lines = [json.dumps(row, indent=2 if wide and array else None) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("in.json" if array else "in.jsonl")
        path.write_text(f"[{' , '.join(lines)}]" if array else "".join(f"{line}\n" for line in lines), "utf-8")
        sources = opened(path, no_id=True, on_error="skip")
        unreadable = {row for row, _ in read_all(sources).unreadable}  # such as a number that is too large
        new = {row: text for row, text in new.items() if row < len(rows) and row not in unreadable}
        found = changed(path, new, batch, no_id=True, on_error="skip").decode()
    expected = [{**row, "text": new.get(at, row["text"])} for at, row in enumerate(rows)]
    if array:
        assert json.loads(found) == expected
        return
    written = found.splitlines()
    assert [json.loads(line) for line in written] == expected
    assert all(written[at] == line for at, line in enumerate(lines) if at not in new)


def test_strings_of_an_array(tmp_path: Path) -> None:
    data = '["one", "tw\\u00f6",\n"three"]'
    assert rewritten(tmp_path, "in.json", data.encode(), {1: 'a "b"\n'}) == b'[\n"one",\n"a \\"b\\"\\n",\n"three"\n]\n'


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "gb18030"])
def test_json_escapes_what_an_encoding_lacks(tmp_path: Path, encoding: str) -> None:
    word = "ソ表" if encoding in ("shift_jis", "gb18030") else "déjà"  # in Shift JIS, bytes of these are backslashes
    row = json.dumps({"a": word, "text": word, "z": f"{word}\\"}, ensure_ascii=False)
    before = f"{row}\n{row}\n{row}\n".encode(encoding)
    found = rewritten(tmp_path, "in.jsonl", before, {1: f"{word}!", 2: "a\u2028\u0e01"}, encoding=encoding)
    first, second, third = found.decode(encoding).split("\n")[:3]
    assert (first, second) == (row, row.replace(f'"text": "{word}', f'"text": "{word}!'))
    assert json.loads(third) == {**json.loads(row), "text": "a\u2028\u0e01"}


def test_a_line_of_ascii_stays_one(tmp_path: Path) -> None:
    data = '{"text":"a"}\n{"text":"é"}\n'.encode()
    found = rewritten(tmp_path, "in.jsonl", data, {0: "ü\u2028", 1: "ü\u2028"})
    assert found == '{"text":"\\u00fc\\u2028"}\n{"text":"ü\u2028"}\n'.encode()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", DELIMITERS)
def test_separated_values_keep_all_other_bytes(tmp_path: Path, kind: str, ending: str) -> None:
    rows = ['id,"text",x', '"1",old,"a"', '2,"old ""q"", x\r\ny"," b "', "", '"3\n",,', '4,o"ld,""']
    expected = ['id,"text",x', '"1",NEW,"a"', '2,"NEW"," b "', '"3\n",NEW,', '4,NEW,""']
    before, after = ("\r\n".join(some).replace(",", DELIMITERS[kind]).encode() for some in (rows, expected))
    found = rewritten(tmp_path, f"in.{kind}{ending}", packed(before, ending), dict.fromkeys(range(4), "NEW"))
    assert found == after
    assert changed(tmp_path / f"in.{kind}{ending}", {}, 64) == before.replace(b"\r\n\r\n", b"\r\n")


FIELDS = st.tuples(ANY, ANY, ANY)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(FIELDS, max_size=6),
    NEW,
    st.sampled_from([",", "\t", ";", "|"]),
    st.sampled_from(["\r\n", "\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.integers(0, 2),
    st.sampled_from([64, 2**20]),
)
def test_any_fields(
    rows: list[tuple[str, ...]], new: dict[int, str], delimiter: str, end: str, quoting: Any, column: int, batch: int
) -> None:
    def written(record: tuple[str, ...]) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerow(record)
        return text.getvalue()

    lines = [written(row) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.csv"
        path.write_bytes((written(("0", "1", "2")) + "".join(lines)).encode())
        new = {row: text for row, text in new.items() if row < len(rows)}
        found = changed(path, new, batch, text=str(column), delimiter=delimiter).decode()
    expected = [[new.get(at, one) if of == column else one for of, one in enumerate(row)] for at, row in enumerate(rows)]
    assert list(csv.reader(io.StringIO(found, newline=""), delimiter=delimiter))[1:] == expected
    place = len(written(("0", "1", "2")))
    for at, line in enumerate(lines):
        if at not in new:
            assert found.startswith(line, place)
            place += len(line)
        else:
            place += len(written(tuple(expected[at]))) if quoting == csv.QUOTE_ALL else 0
            if quoting != csv.QUOTE_ALL:
                break


def test_an_empty_text_is_not_a_blank_row(tmp_path: Path) -> None:
    assert rewritten(tmp_path, "in.csv", b"text\na\nb\n", {0: ""}) == b'text\n""\nb\n'
    assert rewritten(tmp_path, "in.csv", b"a|b\n", {0: "x|y"}, header=False, delimiter="|", text="1") == b'a|"x|y"\n'


def test_separated_values_in_a_legacy_encoding(tmp_path: Path) -> None:
    data = "id,text\né,çà\nü,où\n".encode("latin-1")
    found = rewritten(tmp_path, "in.csv", data, {1: "là, oui"}, encoding="latin-1")
    assert found == 'id,text\né,çà\nü,"là, oui"\n'.encode("latin-1")
    with pytest.raises(SourceError, match=r"in\.csv, row 0, counted from 0: the new text has the character U\+2028, which"):
        changed(tmp_path / "in.csv", {0: "a\u2028b"}, encoding="latin-1")


@pytest.mark.parametrize("ending", ENDINGS)
def test_lines(tmp_path: Path, ending: str) -> None:
    data = b"\xef\xbb\xbfone\r\n\ntwo \xff\n\xfe\nlast"
    path = tmp_path / f"in.txt{ending}"
    path.write_bytes(packed(data, ending))
    new = {0: "1\u2028é", 2: "two \ufffd", 4: "end"}
    assert changed(path, new, lines=True).decode("utf-8", "replace") == "\ufeff1\u2028é\r\n\ntwo \ufffd\n\ufffd\nend"
    assert changed(path, {4: ""}, lines=True) == data.removesuffix(b"last") + b"\n"
    for bad in ("a\nb", "a\r"):
        with pytest.raises(SourceError, match=r"row 3, counted from 0: the new text has a line break.*without --lines|mark"):
            changed(path, {3: bad}, lines=True)
    assert changed(path, {0: "a\r"}, lines=True).startswith(b"\xef\xbb\xbfa\r\r\n")


@pytest.mark.parametrize("ending", [*ENDINGS, ".zip"])
@pytest.mark.parametrize("copy", [True, False])
def test_text_files(tmp_path: Path, ending: str, copy: bool) -> None:
    import zipfile

    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    contents = [b"\xef\xbb\xbfall\r\nof it\n", b"same \xff\n", b"bad \xff"]
    for row, data in enumerate(contents):
        path = folder / f"{row}.md{ending}"
        if ending == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(f"{row}.md", data)
        else:
            path.write_bytes(packed(data, ending))
    write_all(opened(folder), out, texts={0: "all\r\n\u2028", 2: "bad \ufffd"}, copy=copy)
    kept = [path.relative_to(out / "kept") for path in sorted((out / "kept").rglob("*.md*"))]
    assert [path.name[0] for path in kept] == (["0", "1", "2"] if copy else ["0", "2"])
    for path, data in zip(kept, ["\ufeffall\r\n\u2028".encode(), None, "bad \ufffd".encode()] if copy else [], strict=copy):
        if data is None:
            assert (out / "kept" / path).read_bytes() == (folder / path.name).read_bytes()
        else:
            written = out / "kept" / path
            assert (zipfile.ZipFile(written).read("0.md" if data[0] else "") if False else _content(written)) == data
    assert (out / "kept.txt").read_text().split() == [f"{row}.md{ending}" for row in range(3)]


def _content(path: Path) -> bytes:
    import zipfile

    if path.suffix != ".zip":
        return unpacked(path)
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])
