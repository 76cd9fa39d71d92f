"""Passages from files: places in texts as they came, rows that are left out, and the same bytes every way."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.reliability.command import bytes_of
from twinset.engines.local.budget import Budget
from twinset.errors import DuplicateIdError, OptionError, OutputError, SourceError
from twinset.system import batch_sizes
from twinset.textbook import normalize, tokens

SHARED = "in the beginning the Word was with the town, and the town was small"


def slices(row: dict[str, Any], left: str, right: str) -> tuple[str, str]:
    return left[row["left_start"] : row["left_end"]], right[row["right_start"] : row["right_end"]]


@pytest.mark.parametrize(
    ("left", "right", "passage"),
    [
        ("Café — déjà vu: ok!", "«CAFE\u0301 DE\u0301JA\u0300 VU» ok", "CAFE\u0301 DE\u0301JA\u0300 VU» ok"),
        ("我爱北京天安门", "他说:我爱北京,真的", "我爱北京"),
        ("我爱北京", "我爱北京e\u0301te\u0301", "我爱北京"),  # what follows has other code points in NFC
        ("iPhone手机15 is out", "an IPHONE 手-机 15", "IPHONE 手-机 15"),
        ("go🚀go go 👍🏽", "x👍🏽 GO🚀GO, go 👍🏽", "GO🚀GO, go 👍🏽"),
        ("한국어 좋은 문장 하나", "\u1112\u1161\u11ab국어 좋은 문장 둘", "\u1112\u1161\u11ab국어 좋은 문장"),
        ("a\u0323\u0307b c d", "x a\u0307\u0323b c d", "a\u0307\u0323b c d"),
        ("one two\u2028three four", "one\u2028two\u2029three four", "one\u2028two\u2029three four"),
        ("nul\0byte in it", "a NUL\0byte in it", "NUL\0byte in it"),
        ("\ufeffone two three", "zero one two three", "one two three"),
        ("İSTANBUL ΣΊΣΥΦΟΣ ẞ ok", "istanbul σίσυφοσ ß ok", "istanbul σίσυφοσ ß ok"),
    ],
)  # fmt: skip
def test_places_are_those_of_the_text_as_it_came(left: str, right: str, passage: str) -> None:
    row = max(
        twinset.find_passages({"left": left, "right": right}, least=3).passages.to_pylist(),
        key=lambda row: row["words"],
    )
    found = slices(row, left, right)
    assert found[1] == passage
    assert tokens(normalize(found[0])) == tokens(normalize(found[1]))
    assert row["words"] == row["shared"] == len(tokens(normalize(passage)))


def test_text_files_that_are_not_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"\xff\xfe caf\xe9 " + SHARED.encode() + b" \xc3")
    (folder / "b.txt").write_bytes(b"\xef\xbb\xbf" + SHARED.upper().encode() + b"\r\n\xe2\x82")
    found = twinset.find_passages(folder, least=8)
    [row] = found.passages.to_pylist()
    texts = [(folder / name).read_bytes().decode("utf-8", "replace") for name in ("a.txt", "b.txt")]
    assert slices(row, texts[0], texts[1].removeprefix("\ufeff")) == (SHARED, SHARED.upper())
    assert found.summary["replaced"] == 2
    with pytest.raises(SourceError, match=r"texts, row 0.*not UTF-8"):
        twinset.find_passages(folder, least=8, on_error="stop")


def test_rows_that_are_left_out_are_counted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = [
        {"id": "a", "text": SHARED},
        {"id": "b", "text": None},
        {"id": "c", "text": "…"},
        {"id": "d", "text": SHARED},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"id": "e"\n{"id": "f"}\n')
    with pytest.raises(SourceError, match=r"in\.jsonl.*line 5"):
        twinset.find_passages(path, least=5)
    found = twinset.find_passages(path, least=5, on_error="skip", output=tmp_path / "out")
    assert [(row["left"], row["right"]) for row in found.passages.to_pylist()] == [("a", "d")]
    summary = found.summary
    assert [summary[name] for name in ("documents", "empty", "unreadable", "passages")] == [6, 2, 2, 1]
    names = {
        name: [row["id"] for row in pq.read_table(tmp_path / f"out/{name}.parquet").to_pylist()]
        for name in ("empty", "unreadable")
    }
    assert names["empty"] == ["b", "c"]
    assert len(names["unreadable"]) == 2
    assert found.copied["id"].to_pylist() == ["a", "b", "c", "d"]


def test_ids_that_repeat_are_refused(tmp_path: Path) -> None:
    table = pa.table({"name": ["x", "x"], "text": [SHARED, SHARED]})
    with pytest.raises(DuplicateIdError, match="x"):
        twinset.find_passages(table, id="name", least=5)
    assert twinset.find_passages(table.rename_columns(["id", "text"]), least=5).passages.num_rows == 1


def test_one_side_without_documents(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    (tmp_path / "some.jsonl").write_text(json.dumps({"text": SHARED}) + "\n")
    for own, other in (("none", "some"), ("some", "none")):
        found = twinset.find_passages(tmp_path / f"{own}.jsonl", against=[tmp_path / f"{other}.jsonl"], least=3)
        assert found.passages.num_rows == found.boilerplate.num_rows == 0
    assert twinset.find_passages(tmp_path / "none.jsonl").passages.num_rows == 0


# The same bytes every way


def shared_rows(count: int = 400) -> list[dict[str, Any]]:
    """Documents of few words, with copied paragraphs, one header, repeats in one document, and some not in NFC."""
    dice = random.Random(11)
    words = [f"{a}{b}" for a in "bdfgkl" for b in ("a", "e", "i", "ó", "u\u0308", "中")]
    pool = [" ".join(dice.choices(words, k=dice.randrange(10, 60))) for _ in range(40)]
    rows = []
    for number in range(count):
        parts = [*dice.choices(pool, k=dice.randrange(3)), " ".join(dice.choices(words, k=dice.randrange(40)))]
        dice.shuffle(parts)
        text = ("The Header of them all, seven words! " if number % 5 else "") + "\n".join(parts)
        rows.append({"id": f"d{number:04}", "text": text, "group": number % 2})
    return rows


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("same")
    rows = shared_rows()
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:250]))
    pq.write_table(pa.Table.from_pylist(rows[250:]), folder / "b.parquet", row_group_size=40)
    return [folder / "a.jsonl", folder / "b.parquet"]


def small_shares(patch: pytest.MonkeyPatch) -> None:
    """Let nothing be held in memory, and every batch be small."""
    for name in ("texts", "records", "sketches", "sets", "pairs", "names"):
        patch.setattr(Budget, name, property(lambda self: 1 << 15))
    for name in ("CANDIDATE_ROWS", "VERIFIED_PAIRS", "TABLE_ROWS", "PLACED_ROWS"):
        patch.setattr(batch_sizes, name, 500)


WAYS: list[dict[str, Any]] = [
    {"threads": 1},
    {"threads": 7, "batch_bytes": 2048},
    {"threads": 2, "batch_bytes": 10_000},
]
JOBS: list[tuple[str, dict[str, Any]]] = [
    ("find_passages", {"least": 8, "crowd": 3, "within": True}),
    ("find_passages", {"least": 12, "gap": 4, "by": "group"}),
    ("trim", {"least": 8}),
    ("trim", {"least": 8, "copies": 2, "by": "group", "keep": "longest"}),
    ("trim", {"unit": "line", "everywhere": True}),
]


@pytest.mark.parametrize(("job", "options"), JOBS)
def test_the_same_bytes_every_way(tmp_path: Path, sources: list[Path], job: str, options: dict[str, Any]) -> None:
    def run(name: str, **way: Any) -> dict[str, str]:
        used = sources[1:] if "gap" in options else sources
        result = getattr(twinset, job)(*used, output=tmp_path / name, **options, **way)
        assert result.summary["cuts" if job == "trim" else "passages"] > 100
        return bytes_of(tmp_path / name)

    expected = run("usual")
    for number, way in enumerate(WAYS):
        assert run(str(number), **way) == expected, way
    with pytest.MonkeyPatch.context() as patch:
        small_shares(patch)
        assert run("small", threads=2, batch_bytes=10_000) == expected


def test_two_sides_give_the_same_rows_every_way(sources: list[Path]) -> None:
    def rows(own: Path, other: Path, **way: Any) -> list[dict[str, Any]]:
        found = twinset.find_passages(own, against=[other], least=8, crowd=5, **way)
        return [*found.passages.to_pylist(), *found.copied.to_pylist(), *found.boilerplate.to_pylist()]

    for own, other in (sources, sources[::-1]):
        expected = rows(own, other)
        assert len(expected) > 500
        assert rows(own, other, threads=5, batch_bytes=4096) == expected
        with pytest.MonkeyPatch.context() as patch:
            small_shares(patch)
            assert rows(own, other, threads=2, batch_bytes=4096) == expected


def test_rows_in_other_files_have_the_same_passages(tmp_path: Path, sources: list[Path]) -> None:
    rows = shared_rows()
    for start, end in pairwise([0, 1, 130, 131, 400]):
        path = tmp_path / f"{start:03}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[start:end]))
    whole, split = (
        twinset.find_passages(*some, least=8, crowd=3, within=True) for some in (sources, sorted(tmp_path.iterdir()))
    )
    assert split.passages.equals(whole.passages)
    assert split.copied.equals(whole.copied)
    assert split.boilerplate.equals(whole.boilerplate)


def test_shuffled_rows_have_the_same_passages() -> None:
    rows = shared_rows(150)
    mixed = rows[:]
    random.Random(1).shuffle(mixed)

    def unordered(some: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
        found = set()
        for row in twinset.find_passages(pa.Table.from_pylist(some), least=8).passages.to_pylist():
            left, right = ((row[side], row[f"{side}_start"], row[f"{side}_end"]) for side in ("left", "right"))
            found.add((*min((left, right), (right, left)), row["words"], row["documents"]))
        return found

    assert len(unordered(rows)) > 100
    assert unordered(mixed) == unordered(rows)


def test_outputs(tmp_path: Path, sources: list[Path]) -> None:
    words: dict[str, Any] = {"least": 10}
    whole = twinset.find_passages(*sources, output=tmp_path / "all", **words)
    assert {"passages.parquet", "copied.parquet", "boilerplate.parquet", "summary.json"} <= {
        path.name for path in (tmp_path / "all").iterdir()
    }
    for name in ("one.parquet", "one.csv", "one.jsonl"):
        one = twinset.find_passages(*sources, output=tmp_path / name, **words)
        assert one.summary["passages"] == whole.summary["passages"]
    assert pq.read_table(tmp_path / "one.parquet").equals(whole.passages)
    lines = (tmp_path / "one.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == whole.passages.to_pylist()
    assert len((tmp_path / "one.csv").read_text().splitlines()) == len(whole.passages) + 1
    with pytest.raises(OutputError, match="exists"):
        twinset.find_passages(*sources, output=tmp_path / "one.csv", **words)
    with pytest.raises(OutputError, match=r"all exists; .*force=True"):
        twinset.find_passages(*sources, output=tmp_path / "all", **words)
    twinset.find_passages(*sources, output=tmp_path / "all", force=True, **words)
    with pytest.raises(OptionError, match=r"its name must end in"):
        twinset.find_passages(*sources, output=tmp_path / "one.txt")
    with pytest.raises(OutputError, match="read from there"):
        twinset.find_passages(*sources, output=sources[0], force=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"least": 0}, "least is 0; allowed: "),
        ({"gap": -1}, "gap is -1; allowed: "),
        ({"crowd": 0}, "crowd is 0; allowed: "),
        ({"gap": 2, "run": 9, "least": 8}, "run is 9, more than least, 8"),
        ({"within": True, "against": ["x.jsonl"]}, "within cannot be used with against="),
        ({"threshold": 0.5}, "threshold"),
        ({"least": float("nan")}, "least is nan; allowed: "),
    ],
)  # fmt: skip
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises((OptionError, TypeError), match=words):
        twinset.find_passages({"a": SHARED}, **options)
