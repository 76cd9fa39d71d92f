"""A text that is replaced is the only thing that changes, in every format and with the writers of kept rows."""

from __future__ import annotations

import codecs
import csv
import io
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.reading import ENDINGS, opened, packed, read_all, replaced, unpacked, write_all
from twinset.errors import OptionError, SourceError
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
    b'{"text": "OLD"}',
    b' {\t"a" : [1.10, -0, 1e-7, {"text":"}"}] ,"text":"OLD" } \r',
    b'{"n":123456789012345678901234567890,"t":true,"text":"OLD","z":null}',
    b'{"text":"first","x":"\\u00e9\\/","text":"OLD"}',
    b'{"t\\u0065xt":"OLD","half":"\\ud800"}',
    b'{"bad":"\xff\\\\","text":"OLD"}',
    b'{"deep":%b%b,"text":"OLD"}' % (b"[" * 900, b"]" * 900),
]
OLD = [b"old", b'o\\"ld', b"", b"last", b"\\ud800", b"old \xff", b"}{]["]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("last", [b"\n", b""])
def test_lines_of_json_keep_all_other_bytes(tmp_path: Path, ending: str, last: bytes) -> None:
    lines = [line.replace(b"OLD", old) for line, old in zip(LINES, OLD, strict=True)]
    before, after = b"\n".join(lines) + last, b"\n".join(LINES).replace(b"OLD", b"NEW") + last
    mark = b"\xef\xbb\xbf"
    found = rewritten(tmp_path, f"in.jsonl{ending}", packed(mark + before, ending), dict.fromkeys(range(7), "NEW"))
    assert found == mark + after
    lines[3] = LINES[3].replace(b"OLD", b"NEW")
    assert changed(tmp_path / f"in.jsonl{ending}", {3: "NEW"}, 64) == mark + b"\n".join(lines) + last
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


def test_a_row_that_is_nested_too_deeply(tmp_path: Path) -> None:
    """Versions of Python differ in how deep they go: the row is rewritten, or refused."""
    row = b'{"text":"old","deep":%b%b}' % (b"[" * 1000, b"]" * 1000)
    said = ""
    try:
        found = rewritten(tmp_path, "in.jsonl", row, {0: "new"})
    except SourceError as error:
        found, said = b"", str(error)
    refused = "row 0, counted from 0: the row is nested too deeply" in said
    assert refused or found.rstrip(b"\n") == row.replace(b"old", b"new")


def test_a_key_that_is_half_a_pair(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match="row 0, counted from 0: the text '\ufffd' is not found in the bytes of the row"
    ):
        rewritten(tmp_path, "in.jsonl", b'{"\\ud800":"old"}', {0: "new"}, text="\ufffd")


def test_a_byte_order_mark_of_another_encoding(tmp_path: Path) -> None:
    data = '\ufeff{"text":"déjà"}\n{"text":"old"}\n'.encode("gb18030")
    assert rewritten(tmp_path, "in.jsonl", data, {0: "là"}, encoding="gb18030") == data.replace(
        "déjà".encode("gb18030"), "là".encode("gb18030")
    )


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
        # Python quotes a CR only where it is a part of the line end.
        how = csv.QUOTE_ALL if any("\r" in one for one in record) else quoting
        csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=how).writerow(record)
        return text.getvalue()

    lines = [written(row) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.csv"
        path.write_bytes((written(("0", "1", "2")) + "".join(lines)).encode())
        new = {row: text for row, text in new.items() if row < len(rows)}
        found = changed(path, new, batch, text=str(column), delimiter=delimiter).decode()
    expected = [
        [new.get(at, one) if of == column else one for of, one in enumerate(row)] for at, row in enumerate(rows)
    ]
    assert list(csv.reader(io.StringIO(found, newline=""), delimiter=delimiter))[1:] == expected
    place = len(written(("0", "1", "2")))
    unchanged = [line for at, line in enumerate(lines) if at not in new]
    for line in unchanged:
        assert line in found[place:]
        place = found.index(line, place) + len(line)


def test_an_empty_text_is_not_a_blank_row(tmp_path: Path) -> None:
    assert rewritten(tmp_path, "in.csv", b"text\na\nb\n", {0: ""}) == b'text\n""\nb\n'
    assert rewritten(tmp_path, "in.csv", b"a|b\n", {0: "x|y"}, header=False, delimiter="|", text="1") == b'a|"x|y"\n'


def test_separated_values_in_a_legacy_encoding(tmp_path: Path) -> None:
    data = "id,text\né,çà\nü,où\n".encode("latin-1")
    found = rewritten(tmp_path, "in.csv", data, {1: "là, oui"}, encoding="latin-1")
    assert found == 'id,text\né,çà\nü,"là, oui"\n'.encode("latin-1")
    with pytest.raises(SourceError, match=r"in\.csv, row 0, counted from 0: the new text has U\+2028, which"):
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
        with pytest.raises(SourceError, match="row 3, counted from 0: the new text has a line break, which"):
            changed(path, {3: bad}, lines=True)
    assert changed(path, {0: "a\r"}, lines=True).startswith(b"\xef\xbb\xbfa\r\r\n")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("copy", [True, False])
def test_text_files(tmp_path: Path, ending: str, copy: bool) -> None:
    folder, kept = tmp_path / "in", tmp_path / "out/kept"
    folder.mkdir()
    for name, data in (("a", b"\xef\xbb\xbfall\r\nof it\n"), ("b", b"same \xff\n"), ("c", b"bad \xff")):
        (folder / f"{name}.md{ending}").write_bytes(packed(data, ending))
    write_all(opened(folder), tmp_path / "out", texts={0: "all\r\n\u2028", 2: "bad \ufffd"}, copy=copy)
    assert sorted(path.name[0] for path in kept.iterdir()) == (["a", "b", "c"] if copy else ["a", "c"])
    assert unpacked(kept / f"a.md{ending}") == "\ufeffall\r\n\u2028".encode()
    assert unpacked(kept / f"c.md{ending}") == "bad \ufffd".encode()
    if copy:
        assert (kept / f"b.md{ending}").read_bytes() == (folder / f"b.md{ending}").read_bytes()
    assert (tmp_path / "out/kept.txt").read_text().split() == [f"{name}.md{ending}" for name in "abc"]


@pytest.mark.parametrize(
    ("encoding", "mark", "codec"),
    [
        ("utf-16", codecs.BOM_UTF16_LE, "utf-16-le"),
        ("utf-16", codecs.BOM_UTF16_BE, "utf-16-be"),
        ("utf-16", b"", f"utf-16-{sys.byteorder[0]}e"),
        ("utf-16-be", codecs.BOM_UTF16_BE, "utf-16-be"),
        ("utf-32", codecs.BOM_UTF32_BE, "utf-32-be"),
        ("utf-8-sig", b"", "utf-8"),
        ("latin-1", b"", "latin-1"),
    ],
)
def test_text_files_keep_encoding_and_mark(tmp_path: Path, encoding: str, mark: bytes, codec: str) -> None:
    data = mark + "déjà vu".encode(codec)
    found = rewritten(tmp_path, "in.txt", data, {0: "déjà"}, encoding=encoding)
    assert found == mark + "déjà".encode(codec)


def test_a_packed_text_file_of_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "in.txt.zip", "w") as archive:
        archive.writestr("in.txt", "before")
    write_all(opened(tmp_path / "in.txt.zip"), tmp_path / "out", texts={0: "after"})
    with zipfile.ZipFile(tmp_path / "out/kept/in.txt.zip") as archive:
        assert [archive.read(name) for name in archive.namelist()] == [b"after"]


def test_an_aborted_writer_removes_changed_files(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("before")
    part = opened(tmp_path / "in.txt").parts[0]
    writer = part.open_writer(tmp_path / "out")
    (chunk,) = part.chunks(2**20)
    writer.write(replaced(part, chunk.read(whole=True), {0: "after"}), np.ones(1, bool))
    assert (tmp_path / "out/kept/in.txt").read_text() == "after"
    writer.abort()
    assert not (tmp_path / "out/kept/in.txt").exists()


def test_bytes_that_could_not_be_decoded_cannot_be_written_back(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"in\.txt: the text has bytes that are not cp1252, so it cannot be written"):
        rewritten(tmp_path, "in.txt", b"a\x81 b", {0: "a\ufffd"}, encoding="cp1252")


def test_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b'{"text":"a"}\n{"text":"b"}\n')

    monkeypatch.setattr(sys, "stdin", Stdin)
    write_all(opened("-", scratch=tmp_path / "scratch"), tmp_path / "out", texts={1: "B"})
    assert (tmp_path / "out/kept/stdin.jsonl").read_bytes() == b'{"text":"a"}\n{"text":"B"}\n'


REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("in.jsonl", '{"a": "x", "b": "y"}', {"text": ("a", "b")}, "text cannot select records here"),
    ("in.jsonl", '{"a": ["x"]}', {"items": "a"}, "items cannot select sets here: only texts of one column can be"),
    ("in.csv", "a,b\nx,y", {"group": "a", "item": "b"}, "group cannot select groups of a long table here"),
    ("in.csv", "a\n7", {"codes": "a"}, "codes cannot select bit codes here"),
    ("in.jsonl", '{"a": [1, 2]}', {"vectors": "a"}, "vectors cannot select vectors here"),
    ("in.jsonl", '{"a": null}\n{"a": [{"content": "x"}]}', {"text": "a"}, "the text 'a' is a list of messages, which"),
    ("in.json", '[{"m": {"a": {"content": "x"}}}]', {"text": "m.a"}, "the text 'm.a' is a list of messages, which"),
    ("in.txt", "one\n", {"lines": True}, "the new text has a line break, which a line cannot hold; use a mark="),
    ("in.txt", "one\n", {"encoding": "latin-1"}, r"U\+2028, which iso8859-1 cannot encode; use another mark="),
    ("in.csv", "text\none\n", {"encoding": "cp1252"}, r"U\+2028, which cp1252 cannot encode; use another"),
]


@pytest.mark.parametrize(("name", "data", "words", "says"), REFUSED)
def test_what_cannot_be_replaced_is_refused_early(
    tmp_path: Path, name: str, data: str, words: dict[str, Any], says: str
) -> None:
    (tmp_path / name).write_text(data)
    for part in opened(tmp_path / name, scratch=tmp_path / "scratch", **words).parts:
        with pytest.raises((OptionError, SourceError), match=f"{name}: .*{says}"):
            part.check_texts_replaceable("a\u2028\n")


def test_what_can_be_replaced_is_not_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": "x"}')
    (tmp_path / "b.csv").write_text("text\nx")
    (tmp_path / "c.txt").write_text("x")
    for part in opened(tmp_path).parts:
        part.check_texts_replaceable()
        part.check_texts_replaceable("\n\u2028")


def test_rows_that_have_no_text_to_replace(tmp_path: Path) -> None:
    chat = '{"text": "a"}\n{"text": [{"content": "x"}]}\n'
    with pytest.raises(SourceError, match=r"in\.jsonl, row 1, counted from 0: the text 'text' is a list of messages"):
        rewritten(tmp_path, "in.jsonl", chat.encode(), {1: "b"})
    for data in (b'{"text":"a"}\n{"text":null}\n', b'{"text":"a"}\nnot JSON\n'):
        with pytest.raises(SourceError, match="row 1, counted from 0: the row has no text to replace"):
            rewritten(tmp_path, "in.jsonl", data, {1: "b"}, on_error="skip")
    assert (
        rewritten(tmp_path, "in.jsonl", b'{"text":"a"}\n{"text":null}\n', {0: "b"}) == b'{"text":"b"}\n{"text":null}\n'
    )
    with pytest.raises(SourceError, match="row 1, counted from 0: the row has no text to replace"):
        rewritten(tmp_path, "in.csv", b"text,x\na,1\nb\n", {1: "b"}, on_error="skip")
