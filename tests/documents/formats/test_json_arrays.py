"""A JSON array is read as rows, and its kept elements are an array again."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.reading import ENDINGS, opened, packed, read_all, unpacked, write_all
from twinset.documents.formats import json_arrays
from twinset.errors import OptionError, RowError, SourceError

PLAIN = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
ELEMENTS = st.fixed_dictionaries(
    {"text": PLAIN, "id": st.integers(0, 9) | PLAIN}, optional={"more": st.lists(PLAIN | st.floats(0, 1) | st.none())}
)


@settings(max_examples=100, deadline=None)
@given(st.lists(ELEMENTS, max_size=8), st.sampled_from([None, 1]), st.booleans(), st.sampled_from([1, 7, 2**18]))
def test_any_array(rows: list[dict[str, Any]], indent: int | None, ascii: bool, piece: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_arrays, "_PIECE", piece)
        path = Path(folder) / "in.json"
        path.write_text(json.dumps(rows, indent=indent, ensure_ascii=ascii), "utf-8")
        sources = opened(path, id="id")
        found = read_all(sources, 100)
        write_all(sources, Path(folder) / "out", lambda part, row: row % 2 == 0, 100)
        kept = json.loads((Path(folder) / "out/kept/in.json").read_text("utf-8"))
    assert found.texts == [row["text"].encode() for row in rows]
    assert found.ids == [str(row["id"]) for row in rows]
    assert kept == rows[::2]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["in.json", "in.jsonl"])
def test_strings_and_odd_names(tmp_path: Path, name: str, ending: str) -> None:
    path = tmp_path / (name + ending)
    path.write_bytes(packed(b'\xef\xbb\xbf ["one",\n"tw\\u00f6" , "three"]\n', ending))
    sources = opened(path, text="body")
    assert sources.parts[0].format == "json"
    rows = read_all(sources)
    assert rows.texts == [b"one", "twö".encode(), b"three"]
    assert rows.ids == [f"{path}:{row}" for row in range(3)]
    write_all(sources, tmp_path / "out", lambda part, row: row != 1)
    assert unpacked(tmp_path / "out/kept" / path.name) == b'\xef\xbb\xbf[\n"one",\n"three"\n]\n'
    with pytest.raises(OptionError, match="strings have none"):
        sources.parts[0].check_flag()


def test_flags(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text('[{"text": "a"}, {"text":"b"\n}]')
    sources = opened(path)
    flags = pa.table({"cluster": ["x", "y"], "duplicate_of": [None, "x"], "similarity": [None, 0.5]})
    write_all(sources, tmp_path / "out", flags=flags, flag=True)
    written = json.loads((tmp_path / "out/kept/in.json").read_text())
    assert written[1] == {"text": "b", "cluster": "y", "duplicate_of": "x", "similarity": 0.5}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ('[{"text": "a"}', "the array has no end"),
        ('[{"text": "a"}, ', "not a JSON array: Expecting value, at character 1[56]"),
        ('[{"text": "a"} {"text": "b"}]', r"expected ',', not '\{', at character 15"),
        ('[{"text": "a"}] [1]', "more after the end of the array, at character 16"),
        ("[" * 100_000, "nested too deeply"),
        ('[{"text": "a"}, {"text": "b]', "Unterminated string"),
    ],
)
def test_a_damaged_array(tmp_path: Path, data: str, says: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(data)
    with pytest.raises(SourceError, match=says):
        read_all(opened(path))


def test_malformed_elements(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_bytes(b'[{"text":"a"}, 7, {"text":"tab\there"}, {"text":"b\xff"}, {"text":"\\ud800"}, {"text":NaN}]')
    for on_error in ("replace", "stop"):
        with pytest.raises(RowError, match=r"row 1, counted from 0: each row must hold an object, not a number"):
            read_all(opened(path, on_error=on_error))
    rows = read_all(opened(path, on_error="skip"))
    assert rows.texts == [b"a", None, None, b"b\xff", None, None]
    assert [row for row, _ in rows.unreadable] == [1, 2, 4, 5]


def test_an_element_longer_than_the_maximum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_arrays, "MAX_ROW_BYTES", 1000)
    monkeypatch.setattr(json_arrays, "_PIECE", 100)
    path = tmp_path / "in.json"
    path.write_text(json.dumps([{"text": "a" * 3000}]))
    with pytest.raises(SourceError, match="an element is longer than"):
        opened(path)


def test_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_bytes('[{"text": "été"}, {"text": "café"}]'.encode("latin-1"))
    sources = opened(path, encoding="latin-1")
    assert read_all(sources).texts == ["été".encode(), "café".encode()]
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    assert (tmp_path / "out/kept/in.json").read_bytes() == '[\n{"text": "café"}\n]\n'.encode("latin-1")


def test_lines_of_lists_are_no_array(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('["a"]\n["b"]\n')
    with pytest.raises(RowError, match="line 1: each line must hold an object, not a list"):
        read_all(opened(path))
