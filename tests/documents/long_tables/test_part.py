"""Long tables: the same groups from any format, cut of files, batch and memory; nothing merged, nothing lost."""

from __future__ import annotations

import datetime
import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.documents.reading import opened, read_all
from twinset.documents.long_tables import sort
from twinset.documents.long_tables.columns import ELEMENT_SEED
from twinset.documents.long_tables.part import GroupsPart
from twinset.documents.long_tables.sort import cuts
from twinset.documents.normalize import hash_values
from twinset.errors import ColumnError, OptionError, RowError, SourceError, StateError

FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "table")
Row = tuple[str, str, float]

names = st.sampled_from([f"g{number}" for number in range(12)] + ["a b", "ünï", "5", "tab\tin", 'quo"te', "a,b"])
elements = st.sampled_from([f"e{number}" for number in range(9)] + ["5", "ß", " "])
weights = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.5, 1e-3])
tables = st.lists(st.tuples(names, elements, weights), max_size=60)


def quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def written(rows: Sequence[Row], form: str, folder: Path, number: int) -> Any:
    """Rows as a source of some format."""
    path = folder / f"part-{number}.{form}"
    group, item, weight = ([row[at] for row in rows] for at in range(3))
    table = pa.table(
        {
            "user": pa.array(group, pa.string()).dictionary_encode() if number % 2 else pa.array(group, pa.string()),
            "movie": pa.array(item, pa.large_string()),
            "rating": pa.array(weight, pa.float64()),
        }
    )
    if form == "table":
        return table
    if form == "parquet":
        pq.write_table(table, path, row_group_size=7)
    elif form == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=5)
    elif form == "jsonl":
        lines = [json.dumps({"movie": b, "user": a, "rating": c}, ensure_ascii=False) for a, b, c in rows]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    else:
        between = {"csv": ",", "tsv": "\t"}[form]
        lines = [between.join(map(quoted, (b, a, repr(c)))) for a, b, c in rows]
        path.write_text("".join(line + "\n" for line in [between.join(("movie", "user", "rating")), *lines]))
    return path


def part_of(*sources: Any, scratch: Path, **words: Any) -> GroupsPart:
    parts = opened(*sources, scratch=scratch, group="user", item="movie", **words).parts
    assert len(parts) == 1
    assert isinstance(parts[0], GroupsPart)
    return parts[0]


def hash_of(element: str) -> int:
    return int(hash_values(pa.array([element]), ELEMENT_SEED)[0])


def groups_of(part: GroupsPart, batch_bytes: int = 2**20) -> dict[str, bytes | None]:
    rows = read_all([part], batch_bytes)
    assert len(set(rows.ids)) == len(rows.ids)
    return dict(zip(rows.ids, rows.texts, strict=True))


def expected(rows: Sequence[Row], *, bag: bool = False, weighted: bool = False) -> dict[str, bytes]:
    """The packed groups, out of the oracle."""
    packed = {}
    for group, found in oracles.grouped(rows, bag=bag, weighted=weighted).items():
        if isinstance(found, dict):
            pairs = sorted((hash_of(element), total) for element, total in found.items())
            packed[group] = b"".join(
                number.to_bytes(8, "little") + np.float64(total).tobytes() for number, total in pairs
            )
        else:
            packed[group] = b"".join(number.to_bytes(8, "little") for number in sorted(map(hash_of, found)))
    return packed


@given(
    rows=tables,
    edges=st.lists(st.integers(0, 60), max_size=3),
    forms=st.lists(st.sampled_from(FORMATS), min_size=4, max_size=4),
    room=st.sampled_from([0, 100, 700, 2**20]),
    batch=st.sampled_from([300, 2000, 2**20]),
    kind=st.sampled_from(["set", "bag", "weighted"]),
)
def test_the_same_groups_from_any_cut_of_files_memory_and_batch(
    rows: list[Row], edges: list[int], forms: list[str], room: int, batch: int, kind: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cut = [0, *sorted(min(edge, len(rows)) for edge in edges), len(rows)]
        pieces = [rows[first:last] for first, last in itertools.pairwise(cut)]
        sources = [written(piece, forms[at], folder, at) for at, piece in enumerate(pieces)]
        words: dict[str, Any] = {"weight": "rating"} if kind == "weighted" else {}
        part = part_of(*sources, scratch=folder / "scratch", **words)
        part.room, part.batch = room, batch
        if kind == "bag":
            object.__setattr__(part.options, "bag", True)
        found = groups_of(part, batch)
        wanted = expected(rows, bag=kind == "bag", weighted=kind == "weighted")
        assert list(found) == list(wanted)
        assert found == wanted
        assert part.rows == len(rows)
        again = part_of(*sources, scratch=folder / "again", **words)
        if kind != "bag":
            assert [chunk.rows for chunk in again.chunks(2000)] == [chunk.rows for chunk in part.chunks(2000)]


def test_spilled_rows_are_merged_in_order(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    users, movies = chance.integers(0, 3000, 40_000), chance.integers(0, 500, 40_000)
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"user": users, "movie": movies}), path, row_group_size=900)
    whole, spilled = part_of(path, scratch=tmp_path / "a"), part_of(path, scratch=tmp_path / "b")
    spilled.room, spilled.batch = 30_000, 2**18
    found = groups_of(spilled)
    assert list(found.items()) == list(groups_of(whole).items())
    assert list(found) == [str(user) for user in dict.fromkeys(users.tolist())]
    sets: dict[int, set[int]] = {}
    for user, movie in zip(users.tolist(), movies.tolist(), strict=True):
        sets.setdefault(user, set()).add(movie)
    assert {name: len(packed or b"") // 8 for name, packed in found.items()} == {
        str(user): len(movies) for user, movies in sets.items()
    }
    assert not list((tmp_path / "b").rglob("rows-*"))


def test_a_damaged_scratch_file_is_named(tmp_path: Path) -> None:
    part = part_of(written([("a", "x", 1.0)], "csv", tmp_path, 0), scratch=tmp_path / "scratch")
    (laid,) = list(part.chunks(2**20))
    (file,) = [one for one in (tmp_path / "scratch").rglob("groups") if one.is_file()]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(StateError, match=f"{file} is damaged"):
        laid.read()
    file.unlink()
    with pytest.raises(StateError, match="cannot be read"):
        laid.read()


def typed(column: pa.Array, tmp_path: Path) -> list[str]:
    path = tmp_path / "typed.parquet"
    pq.write_table(pa.table({"user": column, "movie": pa.array(range(len(column)))}), path)
    return list(groups_of(part_of(path, scratch=tmp_path / "scratch")))


@pytest.mark.parametrize(
    ("values", "kind", "ids"),
    [
        ([3, 1, 3, 2**40], pa.int64(), ["3", "1", str(2**40)]),
        ([7, 7, 2], pa.uint8(), ["7", "2"]),
        ([True, False, True], pa.bool_(), ["true", "false"]),
        ([0.5, 0.25, 0.5], pa.float64(), ["0.5", "0.25"]),
        ([datetime.date(2024, 2, 29), datetime.date(2023, 1, 1)], pa.date32(), ["2024-02-29", "2023-01-01"]),
        (["b", "a", "b"], pa.dictionary(pa.int8(), pa.string()), ["b", "a"]),
        ([b"x", b"y"], pa.binary(), ["x", "y"]),
        (["v", "w", "v"], pa.string_view(), ["v", "w"]),
    ],
)
def test_groups_of_any_type_go_by_how_they_are_written(
    values: list[Any], kind: pa.DataType, ids: list[str], tmp_path: Path
) -> None:
    column = pa.array(values).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(values, kind)
    assert typed(column, tmp_path) == ids


def test_a_group_is_one_in_two_files_of_two_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": pa.array([5, 6]), "movie": pa.array([1, 1])}), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("user,movie\n5,2\n7,1\n")
    found = groups_of(part_of(tmp_path / "a.parquet", tmp_path / "b.csv", scratch=tmp_path / "scratch"))
    assert {name: len(packed or b"") // 8 for name, packed in found.items()} == {"5": 2, "6": 1, "7": 1}


def test_codes_that_no_row_uses_are_no_groups(tmp_path: Path) -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array([2, None, 2, 0], pa.int8()), pa.array(["a", "b", "c"]))
    table = pa.table({"user": codes, "movie": ["x", "y", "z", "x"]})
    with pytest.raises(RowError, match="row 1, counted from 0: the group 'user' is null"):
        part_of(table, scratch=tmp_path / "a").stored()
    part = part_of(table, scratch=tmp_path / "b", on_error="skip")
    rows = read_all([part])
    assert rows.ids == ["c", "a", "table:1"]
    assert [row for row, _ in rows.unreadable] == [2]


BAD_ROWS = [
    ("csv", "user,movie,rating\na,x,1\n,y,1\n", "line 3: the group 'user' is empty"),
    ("csv", "user,movie,rating\na,x,1\nb,,1\n", "line 3: the item 'movie' is empty"),
    ("csv", "user,movie,rating\na,x,1\nb,y,-1\n", "line 3: the weight 'rating' is '-1'"),
    ("csv", "user,movie,rating\na,x, 1 \nb,y,nan\n", "line 3: the weight 'rating' is 'nan'"),
    ("csv", "user,movie,rating\na,x,1e3\nb,y,inf\n", "line 3: the weight 'rating' is 'inf'"),
    ("csv", "user,movie,rating\na,x,1\nb,y,much\n", "line 3: the weight 'rating' is 'much'"),
    ("csv", "user,movie,rating\na,x,1\nb,y,\n", "line 3: the weight 'rating' is empty"),
    ("csv", "user,movie,rating\na,x,1\nb,y\n", "line 3: the row has 2 fields"),
    ("tsv", "user\tmovie\trating\na\tx\t1\n\ty\t1\n", "line 3: the group 'user' is empty"),
    ("jsonl", '{"user":"a","movie":1,"rating":1}\n{"user":null,"movie":2,"rating":1}\n', "line 2: the group"),
    ("jsonl", '{"user":"a","movie":1,"rating":1}\n{"user":"b","rating":1}\n', "line 2: there is no key 'movie'"),
    ("jsonl", '{"user":"a","movie":1,"rating":1}\n{"user":["b"],"movie":1,"rating":1}\n', "line 2: the group 'user'"),
    ("jsonl", '{"user":"a","movie":1,"rating":1}\n{"user":"b","movie":1,"rating":"2"}\n', "line 2: the weight"),
    ("jsonl", '{"user":"a","movie":1,"rating":1}\n{"user":"b","movie":1,"rating":-0.5}\n', "line 2: the weight"),
    ("jsonl", '{"user":"a","movie":1,"rating":1}\nnot json\n', "line 2: not JSON"),
]


@pytest.mark.parametrize(("form", "text", "reason"), BAD_ROWS)
def test_bad_rows_stop_or_are_named(form: str, text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / f"bad.{form}"
    path.write_text(text)
    with pytest.raises(RowError, match=reason) as caught:
        part_of(path, scratch=tmp_path / "a", weight="rating").stored()
    assert str(path) in str(caught.value)
    part = part_of(path, scratch=tmp_path / "b", weight="rating", on_error="skip")
    rows = read_all([part])
    assert rows.ids == ["a", f"{path}:1"]
    assert rows.texts[1] is None
    assert [row for row, _ in rows.unreadable] == [1]
    assert rows.unreadable[0][1].startswith(reason[:20])


def test_groups_that_are_not_utf8_are_never_merged(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(b"user,movie\n\xff,x\n\xfe,x\na,\xff\nb,\xfe\n")
    with pytest.raises(RowError, match="line 2: the group 'user' is not UTF-8"):
        part_of(path, scratch=tmp_path / "a").stored()
    rows = read_all([part_of(path, scratch=tmp_path / "b", on_error="skip")])
    assert rows.ids == ["a", "b", f"{path}:0", f"{path}:1"]
    assert rows.texts[0] == rows.texts[1] == hash_of("\ufffd").to_bytes(8, "little")


def test_weights_of_nothing_make_an_empty_group(tmp_path: Path) -> None:
    table = pa.table({"user": ["a", "b"], "movie": ["x", "x"], "rating": [0, 3]})
    found = groups_of(part_of(table, scratch=tmp_path, weight="rating"))
    assert found == {"a": b"", "b": hash_of("x").to_bytes(8, "little") + np.float64(3).tobytes()}


def test_weights_that_add_up_to_more_than_a_number(tmp_path: Path) -> None:
    table = pa.table({"user": ["a", "b", "a"], "movie": ["x", "x", "x"], "rating": [1e308, 3, 1e308]})
    with pytest.raises(RowError, match="group 'a': the sum of the weights"):
        part_of(table, scratch=tmp_path / "a", weight="rating").stored()
    rows = read_all([part_of(table, scratch=tmp_path / "b", weight="rating", on_error="skip")])
    assert rows.ids == ["a", "b"]
    assert rows.texts[0] is None
    assert [row for row, _ in rows.unreadable] == [0]


def test_a_group_that_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sort, "MAX_ROW_BYTES", 16)
    table = pa.table({"user": list("abaa"), "movie": [1, 1, 2, 3]})
    with pytest.raises(RowError, match="group 'a': the group has 3 elements; the maximum is 2"):
        part_of(table, scratch=tmp_path / "a").stored()
    rows = read_all([part_of(table, scratch=tmp_path / "b", on_error="skip")])
    assert rows.ids == ["a", "b"]
    assert [text is None for text in rows.texts] == [True, False]
    assert [row for row, _ in rows.unreadable] == [0]


def test_by_needs_one_value_a_group(tmp_path: Path) -> None:
    good = pa.table({"user": ["a", "b", "a"], "movie": [1, 2, 3], "land": ["de", None, "de"]})
    rows = read_all([part_of(good, scratch=tmp_path / "a", by="land")])
    assert rows.by == ["de", None]
    bad = pa.table({"user": ["b", "a"], "movie": [1, 2], "land": ["se", "fr"]})
    with pytest.raises(ColumnError, match=r'''by="land": the group '[ab]' has '''):
        part_of(good, bad, scratch=tmp_path / "b", by="land").stored()
    same = pa.table({"user": ["a", "a"], "movie": [1, 2], "land": ["x", "y"]})
    with pytest.raises(ColumnError, match="the group 'a' has 'x' in one row and 'y' in another"):
        part_of(same, scratch=tmp_path / "c", by="land").stored()


def test_what_has_no_meaning_is_refused(tmp_path: Path) -> None:
    table = pa.table({"user": ["a"], "movie": [1], "tags": [["x"]], "id": [9]})
    with pytest.raises(OptionError, match="id cannot be used with group="):
        part_of(table, scratch=tmp_path, id="id")
    with pytest.raises(OptionError, match="group= and item= both name 'user'"):
        opened(table, scratch=tmp_path, group="user", item="user")
    with pytest.raises(ColumnError, match="there is no column 'film'"):
        opened(table, scratch=tmp_path, group="user", item="film")
    with pytest.raises(ColumnError, match="the column 'tags' must hold strings or numbers"):
        opened(table, scratch=tmp_path, group="user", item="tags")
    with pytest.raises(ColumnError, match="the column 'tags' must hold numbers"):
        opened(table, scratch=tmp_path, group="user", item="movie", weight="tags")
    with pytest.raises(SourceError, match="a dict has no columns to group by"):
        opened({"a": ["x"]}, scratch=tmp_path, group="user", item="movie")
    with pytest.raises(OptionError, match="a group of rows has many"):
        part_of(table, scratch=tmp_path).wanted = frozenset({"movie"})
    assert list(groups_of(part_of(table, scratch=tmp_path))) == ["a"], "an id column of the table is no id of groups"


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("user,movie\na,x\n")
    part = part_of(path, scratch=tmp_path / "scratch")
    path.write_text("user,movie\na,x\nb,y\n")
    with pytest.raises(SourceError, match="changed while it was being read"):
        part.stored()


@given(sizes=st.lists(st.integers(1, 50)), most=st.integers(1, 60))
def test_cuts_hold_every_group_once(sizes: list[int], most: int) -> None:
    edges = cuts(np.array(sizes, np.int64), most).tolist()
    assert edges == sorted(set(edges))
    assert edges[0] == 0
    assert edges[-1] == len(sizes)
    for first, last in itertools.pairwise(edges):
        assert sum(sizes[first:last]) < 2 * most + 50
