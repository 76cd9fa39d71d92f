"""Separated values are split and parsed as Python's csv module does, however the bytes are cut up."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.reading import opened, read_all, write_all
from twinset.documents.formats.csv_files import SeparatedScanner
from twinset.errors import ColumnError, OptionError, RowError, SourceError
from twinset.options.formats import DELIMITERS

MESSY = st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "\r", "a", "é", " ", '",', ',"']), max_size=40)


def records_of(text: str) -> list[list[str]]:
    return [record for record in csv.reader(io.StringIO(text, newline="")) if record]


@settings(max_examples=300, deadline=None)
@given(MESSY.map("".join), st.sampled_from([64, 65, 2**20]))
def test_any_bytes_are_split_as_python_splits_them(body: str, batch: int) -> None:
    expected = records_of(body)
    unclosed = _is_unclosed(body)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.csv"
        path.write_bytes(b"text,x\n" + body.encode())
        rows = read_all(opened(path, on_error="skip"), batch)
    assert len(rows.texts) == len(expected)
    for row, record in enumerate(expected):
        if len(record) == 2 and not (unclosed and row == len(expected) - 1):
            assert rows.texts[row] == record[0].encode()
        else:
            assert rows.texts[row] is None


def _is_unclosed(body: str) -> bool:
    """Whether the last record ends inside quotes: then one more line is read into it."""
    return len(records_of(body + "\n|")) == len(records_of(body)) and bool(body)


FIELDS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(FIELDS, FIELDS, FIELDS), max_size=30),
    st.sampled_from([",", "\t"]),
    st.sampled_from(["\r\n", "\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.integers(0, 2**32 - 1),
)
def test_what_python_writes_is_read_and_kept(
    rows: list[tuple[str, str, str]], delimiter: str, ending: str, quoting: int, seed: int
) -> None:
    if ending == "\n" and quoting == csv.QUOTE_MINIMAL:  # Python before 3.13 then leaves CR unquoted
        rows = [tuple(field.replace("\r", "") for field in row) for row in rows]  # type: ignore[misc]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=quoting)
    writer.writerow(["x", "text", "y"])
    writer.writerows(rows)
    keep = np.random.default_rng(seed).random(len(rows)) < 0.6
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"in.{'csv' if delimiter == ',' else 'tsv'}"
        path.write_bytes(text.getvalue().encode())
        sources = opened(path)
        assert read_all(sources, 64).texts == [row[1].encode() for row in rows]
        write_all(sources, Path(folder) / "out", lambda part, row: keep[row], 64)
        kept = (Path(folder) / "out/kept" / path.name).read_bytes().decode()
    back = list(csv.reader(io.StringIO(kept, newline=""), delimiter=delimiter))
    assert back == [["x", "text", "y"], *(list(row) for row, kept_ in zip(rows, keep, strict=True) if kept_)]


def test_values_are_never_typed_anew(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"id,text,when\n007,1e3,2020-01-01\n008,NA,\n")
    sources = opened(path, by="when")
    sources.parts[0].wanted = frozenset(["when"])
    rows = read_all(sources)
    assert rows.ids == ["007", "008"]
    assert rows.texts == [b"1e3", b"NA"]
    assert rows.by == rows.columns["when"] == ["2020-01-01", ""]
    chunk = next(iter(sources.parts[0].chunks(2**20)))
    kept = sources.parts[0].take_rows(chunk.read(whole=True), np.array([False, True]))
    assert kept.to_pylist() == [{"id": "008", "text": "NA", "when": ""}]


def test_blank_lines_are_no_rows_and_quoted_nothing_is_one(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'\r\ntext\n\n\na\n""\n\r\nb')
    assert read_all(opened(path)).texts == [b"a", b"", b"b"]


def test_header_alone_quoted_and_doubled(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'"id","te""xt\nname"')
    assert read_all(opened(path, text='te"xt\nname')).texts == []
    path.write_bytes(b"text,text\na,b\n")
    with pytest.raises(ColumnError, match="more than once"):
        opened(path)


def test_ids_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"id,text\n\xff,a\nb,\xff\n")
    rows = read_all(opened(path, on_error="skip"))
    assert (rows.texts, [row for row, _ in rows.unreadable]) == ([None, b"\xff"], [0])


def test_records_are_the_same_wherever_a_piece_ends() -> None:
    """Files are scanned in pieces, which may end anywhere: in quotes, between CR and LF, before a quote in a field."""
    data = b'a,b"c"d,e\r\n"x ""y"" z","1\r\n2"\r\rq"",\n\r\n"",last"'

    def scanned(*pieces: bytes) -> tuple[list[int], list[int], list[int]]:
        scanner = SeparatedScanner(",")
        ends, fields, done = [], [], 0
        for piece in filter(None, pieces):
            found, counts = scanner.feed(piece)
            assert counts is not None
            ends += (found + done).tolist()
            fields += counts.tolist()
            done += len(piece)
        return ends, fields, scanner.finish().tolist()

    whole = scanned(data)
    records = [data[start:end] for start, end in pairwise([0, *whole[0], len(data)])]
    assert records == [
        b'a,b"c"d,e\r\n', b'"x ""y"" z","1\r\n2"\r', b"\r", b'q"",\n', b"\r\n", b'"",last"',
    ]  # fmt: skip
    assert (whole[1], whole[2]) == ([3, 2, 0, 2, 0], [2])
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            assert scanned(data[:first], data[first:second], data[second:]) == whole, (first, second)


@pytest.mark.parametrize("format", DELIMITERS)
@pytest.mark.parametrize(("given", "character"), [(";", ";"), ("|", "|"), ("tab", "\t"), ("\\t", "\t"), ("\t", "\t")])
def test_another_delimiter(tmp_path: Path, format: str, given: str, character: str) -> None:
    path = tmp_path / f"in.{format}"
    path.write_text(f'id{character}text\na{character}"one; | \t two"\nb{character}"three, four"\n')
    sources = opened(path, delimiter=given)
    assert read_all(sources).ids == ["a", "b"]
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    assert (tmp_path / f"out/kept/in.{format}").read_text() == f'id{character}text\nb{character}"three, four"\n'


@pytest.mark.parametrize(("format", "delimiter"), DELIMITERS.items())
def test_a_file_read_as_another_separated_format_says_its_delimiter(
    tmp_path: Path, format: str, delimiter: str
) -> None:
    path = tmp_path / f"in.{format}"
    path.write_text(f"id{delimiter}text\na{delimiter}one\n")
    assert read_all(opened(path)).ids == ["a"]
    other = next(one for one in DELIMITERS if one != format)
    with pytest.raises(ColumnError, match="or name the separator of fields: delimiter="):
        opened(path, format=other)


def test_a_file_with_another_delimiter_says_which(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id;text;n\na;one;1\n")
    with pytest.raises(ColumnError, match=r"no column 'text'; .* or name the separator of fields: delimiter=';'"):
        opened(path)


def test_a_file_without_a_header_and_with_another_delimiter_says_which(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    for row in ("a;one, two;1", '"a";"one";1', "a;one"):
        path.write_text(f"{row}\n")
        with pytest.raises(ColumnError, match=r"or name the separator of fields: delimiter=';'$"):
            opened(path, header=False)
    path.write_text('"a;b",one;two\n')
    with pytest.raises(ColumnError, match=r"the columns are '0', '1': name one with text=\"NAME\"$"):
        opened(path, header=False)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("header", [True, False])
def test_the_line_by_which_excel_is_told_the_delimiter(tmp_path: Path, mark: bytes, header: bool) -> None:
    path = tmp_path / "in.csv"
    head = mark + b"sep=;\r\n" + (b"id;text\r\n" if header else b"")
    path.write_bytes(head + b"a;one, two\r\nb;three\r\n")
    options: dict[str, Any] = {} if header else {"header": False, "id": "0", "text": "1"}
    sources = opened(path, **options)
    rows = read_all(sources)
    assert (rows.ids, rows.texts) == (["a", "b"], [b"one, two", b"three"])
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    assert (tmp_path / "out/kept/in.csv").read_bytes() == head + b"b;three\r\n"
    assert read_all(opened(path, **options, delimiter=";")).ids == ["a", "b"]
    path.write_bytes(head + b"a;b\r\nc\r\n")
    with pytest.raises(RowError, match=f"line {4 if header else 3}: "):
        read_all(opened(path, **options))


def test_messages_show_the_head_of_long_names(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(bytes(range(14, 34)) * 200 + b"," + b"long" * 50 + b"\na,b\n")
    with pytest.raises(ColumnError) as error:
        opened(path)
    assert len(str(error.value)) < 300 + len(str(path))
    assert str(error.value).isprintable()
    path.write_bytes(b",".join(b"column %d" % number for number in range(500)) + b"\n")
    with pytest.raises(ColumnError, match=r"'column 2', .*, …: name one") as error:
        opened(path)
    assert len(str(error.value)) < 500 + len(str(path))


def test_compressed_data_without_the_ending_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(gzip.compress(b"id,text\na,one\n"))
    with pytest.raises(SourceError, match=r"in\.csv: it is compressed with gzip; give its name the ending \.gz$"):
        opened(path)
    path.write_bytes(b"BZhours,text\na,one\n")
    assert read_all(opened(path)).texts == [b"one"]


def test_a_delimiter_that_cannot_be() -> None:
    for wrong in ("", "ab", '"', "\n", "a", "é"):
        with pytest.raises(OptionError, match=r"delimiter is .*; allowed: one ASCII character"):
            opened("in.csv", delimiter=wrong)


def test_files_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    data = f'a,"one\n{"long " * 40_000}",1\n\nb,two,2\n'
    path.write_text(data)
    sources = opened(path, header=False, text="1", id="0")
    rows = read_all(sources)
    assert (rows.ids, rows.texts[1]) == (["a", "b"], b"two")
    assert sources.parts[0].column_names == ["0", "1", "2"]
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    assert (tmp_path / "out/kept/in.csv").read_text() == "b,two,2\n"
    flags = pa.table({"cluster": ["x", "y"], "duplicate_of": [None, "x"], "similarity": [None, 0.5]})
    write_all(sources, tmp_path / "flagged", flags=flags, flag=True)
    assert (tmp_path / "flagged/kept/in.csv").read_text().endswith("b,two,2,y,x,0.5\n")
    with pytest.raises(ColumnError, match="no column 'text'; the columns are '0', '1', '2'"):
        opened(path, header=False)
    path.write_text("a,b\nc\n")
    with pytest.raises(RowError, match="line 2: the row has 1 field, the first row has 2"):
        read_all(opened(path, header=False, text="1"))
    path.write_text("only")
    assert read_all(opened(path, header=False, text="0")).texts == [b"only"]
    path.write_text("\n")
    with pytest.raises(SourceError, match="at least one row is expected"):
        opened(path, header=False, text="0")


def test_options_of_csv_for_other_formats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("id;text\na;one\n")
    with pytest.raises(OptionError, match=r'delimiter is for CSV, but .*in\.txt is read as text; format="csv"'):
        opened(path, delimiter=";")
    with pytest.raises(OptionError, match="header=False is for CSV"):
        opened(["a text"], header=False)
    assert read_all(opened(path, delimiter=";", format="csv")).texts == [b"one"]
