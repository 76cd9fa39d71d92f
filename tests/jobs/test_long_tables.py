"""Long tables and sets from end to end: pairs, clean data, flags, cuts, explanations, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests import oracles
from tests.reliability.command import bytes_of
from twinset import textbook
from twinset.documents.long_tables.write import NAME_SEED, GroupNumbers
from twinset.documents.normalize import hash_values
from twinset.engines.local.write import result
from twinset.errors import ColumnError, OptionError, SourceError
from twinset.evaluation.survey import survey
from twinset.options.keep_rules import rules_for
from twinset.system.scratch import BatchFile
from twinset.wording import either

OFFICE = {"ann": ["chair", "desk", "rug", "keyboard", "mouse"], "bob": ["chair", "rug", "keyboard"], "cyd": ["lamp"]}
WORDS: dict[str, Any] = {"group": "user", "item": "movie", "threshold": 0.5}
Rows = list[tuple[str, int]]


def long_table(seed: int = 3, users: int = 60) -> Rows:
    """Users with movies, some of them like the one before, rows in no order."""
    chance = np.random.default_rng(seed)
    sets: list[set[int]] = []
    for user in range(users):
        if user % 3:
            sets.append({movie for movie in sets[-1] if chance.random() < 0.9} | {int(chance.integers(400))})
        else:
            sets.append(set(chance.integers(0, 400, 12).tolist()))
    rows = [(f"u{user}", movie) for user, movies in enumerate(sets) for movie in sorted(movies)]
    order = chance.permutation(len(rows)).tolist()
    return [rows[at] for at in order]


def sets_of(rows: Rows) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for user, movie in rows:
        found.setdefault(user, set()).add(movie)
    return found


def true_pairs(rows: Rows, threshold: float) -> set[tuple[str, str, float]]:
    sets = sets_of(rows)
    names = list(sets)
    every = textbook.all_pairs({at: sets[name] for at, name in enumerate(names)}, threshold)
    return {(names[left], names[right], similarity) for left, right, similarity in every}


def found_pairs(table: pa.Table) -> set[tuple[str, str, float]]:
    return {(row["left"], row["right"], row["similarity"]) for row in table.to_pylist()}


def write(rows: Iterable[tuple[str, int]], path: Path) -> Path:
    listed = list(rows)
    table = pa.table(
        {"user": [user for user, _ in listed], "movie": [movie for _, movie in listed], "n": range(len(listed))}
    )
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=40)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        lines = ["user,movie,n", *(f'"{user}",{movie},{at}' for at, (user, movie) in enumerate(listed))]
        text = "\r\n".join(lines) + "\r\n"
        path.write_text(text.replace(",", "\t") if path.suffix == ".tsv" else text, newline="")
    return path


def read(path: Path) -> list[tuple[str, int]]:
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
    elif path.suffix == ".arrow":
        rows = pa.ipc.open_file(str(path)).read_all().to_pylist()
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        between = "\t" if path.suffix == ".tsv" else ","
        rows = [
            dict(zip(("user", "movie"), line.split(between), strict=False))
            for line in path.read_text().splitlines()[1:]
        ]
    return [(row["user"].strip('"'), int(row["movie"])) for row in rows]


def test_the_worked_example_of_a_set() -> None:
    """{chair, desk, rug, keyboard, mouse} and {chair, rug, keyboard}: 3/5."""
    rows = [(user, item) for user, items in OFFICE.items() for item in items]
    table = pa.table({"user": [user for user, _ in rows], "movie": [item for _, item in rows]})
    for source, words in ((table, WORDS), (OFFICE, {"items": "things", "threshold": 0.5})):
        (pair,) = twinset.find_pairs(source, **words).pairs.to_pylist()
        assert (pair["left"], pair["right"]) == ("ann", "bob")
        assert (pair["similarity"], pair["left_in_right"], pair["right_in_left"]) == (3 / 5, 3 / 5, 1.0)
        assert oracles.scores_in(pair) == oracles.scores(*(frozenset(OFFICE[name]) for name in ("ann", "bob")))


@pytest.mark.parametrize(
    ("left", "right", "similarity"),
    [
        ("abc" + "defgh", "abc", 3 / 8),  # three in common of eight in all
        ("1345", "145", 3 / 4),  # bit columns 10111 and 10011
        ("235", "1356", 2 / 5),  # columns (0,1,1,0,1,0) and (1,0,1,0,1,1)
    ],
)
def test_worked_examples_of_jaccard(left: str, right: str, similarity: float) -> None:
    (pair,) = twinset.find_pairs([list(left), list(right)], items="items", threshold=0.1).pairs.to_pylist()
    assert pair["similarity"] == similarity


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_pairs_and_clean_data_of_every_format(ending: str, tmp_path: Path) -> None:
    rows = long_table()
    half = len(rows) // 2
    first, second = write(rows[:half], tmp_path / f"a.{ending}"), write(rows[half:], tmp_path / f"b.{ending}")
    pairs = twinset.find_pairs(first, second, exact=True, **WORDS)
    assert found_pairs(pairs.pairs) == true_pairs(rows, 0.5)
    assert len(pairs.pairs) > 20
    assert (pairs.summary["documents"], pairs.summary["rows"]) == (60, len(rows))
    done = twinset.dedup(first, second, output=tmp_path / "out", **WORDS)
    gone = set(done.removed["id"].to_pylist())
    assert gone
    for path in (first, second):
        assert read(tmp_path / "out" / "kept" / path.name) == [row for row in read(path) if row[0] not in gone]
    kept = tmp_path / "out" / "kept" / first.name
    if ending == "parquet":
        assert pq.read_schema(kept) == pq.read_schema(first)
    elif ending != "arrow":
        assert set(kept.read_bytes().splitlines(True)) <= set(first.read_bytes().splitlines(True))


def test_the_cut_of_the_files_and_the_threads_change_nothing(tmp_path: Path) -> None:
    rows = long_table()
    whole = write(rows, tmp_path / "whole.parquet")
    pieces = [write(rows[at::1][:40], tmp_path / f"{at:04}.csv") for at in range(0, len(rows), 40)]
    one = twinset.dedup(whole, threads=1, output=tmp_path / "one", **WORDS)
    two = twinset.dedup(*pieces, threads=2, batch_bytes=2**16, output=tmp_path / "two", **WORDS)
    for name in ("pairs", "removed", "clusters", "documents"):
        ours, theirs = (pq.read_table(tmp_path / place / f"{name}.parquet") for place in ("one", "two"))
        left_out = [column for column in ("source",) if column in ours.column_names]
        assert ours.drop_columns(left_out).equals(theirs.drop_columns(left_out))
    assert one.summary["kept"] == two.summary["kept"]
    again = twinset.dedup(whole, threads=2, output=tmp_path / "again", **WORDS)
    assert again.summary["check"] == one.summary["check"]
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "one")


def test_flags_stand_in_every_row_of_a_group(tmp_path: Path) -> None:
    path = write(long_table(), tmp_path / "long.parquet")
    done = twinset.dedup(path, flag=True, output=tmp_path / "out", **WORDS)
    why = {row["id"]: row for row in done.removed.to_pylist()}
    flagged = pq.read_table(tmp_path / "out" / "kept" / "long.parquet")
    assert flagged.select(["user", "movie", "n"]).equals(pq.read_table(path))
    for row in flagged.to_pylist():
        reason = why.get(row["user"])
        assert row["duplicate_of"] == (reason["because_of"] if reason else None)
        assert row["similarity"] == (reason["similarity"] if reason else None)
        assert row["cluster"] == (reason["because_of"] if reason else row["user"])


def test_a_result_in_memory_has_the_rows_of_kept_groups(tmp_path: Path) -> None:
    rows = long_table()
    table = pa.table({"user": [user for user, _ in rows], "movie": [movie for _, movie in rows]})
    done = twinset.dedup(table, **WORDS)
    gone = set(done.removed["id"].to_pylist())
    assert done.kept.to_pylist() == [row for row in table.to_pylist() if row["user"] not in gone]
    cut = done.rethreshold(threshold=1.0)
    same = set(cut.removed["id"].to_pylist())
    assert len(same) < len(gone)
    assert cut.kept.to_pylist() == [row for row in table.to_pylist() if row["user"] not in same]
    lines = twinset.dedup(write(rows, tmp_path / "long.jsonl"), **WORDS)
    assert lines.kept.num_rows == done.kept.num_rows
    assert lines.kept["user"].to_pylist() == done.kept["user"].to_pylist()


def test_a_group_spread_over_two_files_and_bad_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,movie\nann,1\nbob,1\n,7\n")
    (tmp_path / "b.csv").write_text("user,movie\nann,2\nbob,2\nbob,3\ncyd,9\ncyd,\n")
    places = sorted(tmp_path.glob("*.csv"))
    done = twinset.dedup(*places, on_error="skip", keep="longest", output=tmp_path / "out", **WORDS)
    assert (done.summary["documents"], done.summary["kept"], done.summary["unreadable"]) == (5, 2, 2)
    (removed,) = done.removed.to_pylist()
    assert (removed["id"], removed["because_of"]) == ("ann", "bob")
    assert (removed["similarity"], removed["in_kept"], removed["of_kept"]) == (2 / 3, 1.0, 2 / 3)
    assert oracles.scores_in(removed, "removed") == oracles.scores(frozenset({1, 2}), frozenset({1, 2, 3}))
    assert pq.read_table(tmp_path / "out" / "unreadable.parquet").to_pylist() == [
        {"id": f"{places[0]}:2", "reason": "line 4: the group 'user' is empty"},
        {"id": f"{places[1]}:4", "reason": "line 6: the item 'movie' is empty"},
    ]
    assert (tmp_path / "out" / "kept" / "a.csv").read_text() == "user,movie\nbob,1\n"
    assert (tmp_path / "out" / "kept" / "b.csv").read_text() == "user,movie\nbob,2\nbob,3\ncyd,9\n"


def test_tables_without_a_group(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("user,movie\n")
    done = twinset.dedup(tmp_path / "empty.csv", output=tmp_path / "a", **WORDS)
    assert (done.summary["documents"], (tmp_path / "a" / "kept" / "empty.csv").read_text()) == (0, "user,movie\n")
    (tmp_path / "bad.csv").write_text("user,movie\n,1\n,2\n")
    done = twinset.dedup(tmp_path / "bad.csv", on_error="skip", output=tmp_path / "b", **WORDS)
    assert (done.summary["documents"], done.summary["unreadable"], done.summary["rows"]) == (2, 2, 2)
    assert (tmp_path / "b" / "kept" / "bad.csv").read_text() == "user,movie\n"


def test_bags_count_how_often_an_element_comes() -> None:
    table = pa.table({"user": list("aaabbb"), "movie": list("xxyxyy")})
    once = twinset.find_pairs(table, **WORDS).pairs["similarity"].to_pylist()
    often = twinset.find_pairs(table, bag=True, **WORDS).pairs["similarity"].to_pylist()
    assert (once, often) == ([1.0], [2 / 4])


def test_against_and_by(tmp_path: Path) -> None:
    old, new = (
        write([("x", 1), ("x", 2)], tmp_path / "old.csv"),
        write([("y", 1), ("y", 2), ("z", 5)], tmp_path / "new.csv"),
    )
    found = twinset.find_pairs(new, against=(str(old),), **WORDS).pairs.to_pylist()
    assert [(one["left"], one["right"]) for one in found] == [("y", "x")]
    done = twinset.dedup(new, against=(str(old),), output=tmp_path / "out", **WORDS)
    assert done.removed["because_of"].to_pylist() == ["x"]
    assert read(tmp_path / "out" / "kept" / "new.csv") == [("z", 5)]
    table = pa.table({"user": list("aabbcc"), "movie": [1, 2] * 3, "land": ["de"] * 4 + ["fr"] * 2})
    pairs = twinset.find_pairs(table, by="land", **WORDS).pairs.to_pylist()
    assert [(one["left"], one["right"]) for one in pairs] == [("a", "b")]


@pytest.mark.parametrize("kind", ["groups", "items"])
def test_a_removal_is_explained_by_elements(kind: str, tmp_path: Path) -> None:
    if kind == "groups":
        source = tmp_path / "long.csv"
        source.write_text("user,movie\n" + "".join(f"{a},{b}\n" for a, many in OFFICE.items() for b in many))
        words = WORDS
    else:
        source = tmp_path / "sets.jsonl"
        source.write_text("".join(json.dumps({"id": a, "things": b}) + "\n" for a, b in OFFICE.items()))
        words = {"items": "things", "threshold": 0.5}
    twinset.dedup(source, output=tmp_path / "out", **words)
    found = twinset.open_result(tmp_path / "out").explain("bob")
    assert (found.state, found.cluster) == ("removed", "ann")
    assert found.explanation is not None
    assert found.explanation.similarity == 3 / 5
    assert found.explanation.shared == ("chair", "rug", "keyboard")
    assert found.explanation.right_only == ("desk", "mouse")
    assert "difference" not in found.to_dict()["explanation"]
    page = tmp_path / "report.html"
    twinset.open_result(tmp_path / "out").report(page)
    assert "desk, mouse" in page.read_text()
    cut = twinset.open_result(tmp_path / "out").rethreshold(threshold=0.7, output=tmp_path / "cut")
    assert cut.summary["kept"] == 3
    assert (tmp_path / "cut" / "kept" / source.name).read_bytes() == source.read_bytes()
    source.write_bytes(source.read_bytes() + source.read_bytes().splitlines(True)[-1])
    with pytest.raises(SourceError, match="was changed since that run"):
        twinset.open_result(tmp_path / "out").explain("bob")


def test_weighted_groups_are_explained_by_weight(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("user,movie,rating\na,x,1\nb,x,1\na,x,1\nb,y,0.5\na,y,0.5\nb,z,0.5\nc,q,1\nc,x,0\n")
    done = twinset.dedup(path, weight="rating", output=tmp_path / "out", **WORDS)
    assert done.removed["similarity"].to_pylist() == [1.5 / 3]
    found = twinset.open_result(tmp_path / "out").explain("b").explanation
    assert found is not None
    assert (found.similarity, found.left_in_right, found.right_in_left) == (1.5 / 3, 1.5 / 2, 1.5 / 2.5)
    assert found.shared == ("x (1 and 2)", "y (0.5 and 0.5)")
    assert (found.left_only, found.right_only) == (("z (0.5)",), ())


def test_a_stopped_run_goes_on_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are made again from the sources where a run goes on, in the same order and the same chunks."""

    def stop(*_: object, **__: object) -> None:
        raise OSError(28, "no space left")

    path = write(long_table(), tmp_path / "long.csv")
    twinset.dedup(path, output=tmp_path / "whole", **WORDS)
    with monkeypatch.context() as patch:
        patch.setattr(result, "write_kept", stop)
        with pytest.raises(OSError, match="no space left"):
            twinset.dedup(path, output=tmp_path / "out", **WORDS)
    again = twinset.dedup(path, output=tmp_path / "out", **WORDS)
    assert again.summary["timings"]["resumed"] == ["candidates", "pairs", "sketches"]
    assert again.summary["rows"] == len(long_table())
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")


def test_what_is_refused(tmp_path: Path) -> None:
    path = write(long_table(), tmp_path / "long.csv")
    rules = either([rule.name for rule in rules_for("groups")])
    with pytest.raises(OptionError, match=rf"keep= by the column .n. needs one value.*allowed: {rules}$"):
        twinset.dedup(path, keep="highest:n", **WORDS)
    with pytest.raises(OptionError, match="flag adds a column 'cluster'"):
        twinset.dedup(pa.table({"user": ["a"], "movie": [1], "cluster": [2]}), flag=True, **WORDS)
    with pytest.raises(ColumnError, match="there is no column 'film'"):
        twinset.find_pairs(path, group="user", item="film")
    with pytest.raises(OptionError, match="group needs item="):
        twinset.find_pairs(path, group="user")
    with pytest.raises(OptionError, match="shingle does not apply"):
        twinset.find_pairs(path, shingle="char:3", **WORDS)
    (tmp_path / "plain.txt").write_text("user movie")
    with pytest.raises(OptionError, match="text files have none"):
        twinset.find_pairs(tmp_path / "plain.txt", **WORDS)


def test_a_survey_of_sets_says_nothing_of_shingles(tmp_path: Path) -> None:
    path = write(long_table(), tmp_path / "long.csv")
    found = survey(path, **WORDS)
    assert (found.documents, found.lengths) == (60, [])
    assert 0 < found.seen <= len(true_pairs(long_table(), 0.5))


def alike() -> tuple[str, str]:
    """Two names with one hash: the second block of the other makes up for the first."""
    mask, mix = 2**64 - 1, 0xD6E8FEB86659FD93
    start = NAME_SEED ^ (16 * 0x9E3779B97F4A7C15 & mask)

    def after(block: bytes) -> int:
        state = (start ^ int.from_bytes(block, "little")) * mix & mask
        return state ^ state >> 32

    first, last = b"user0000", b"abcdefgh"
    for number in range(1_000_000):
        other = b"u%07d" % number
        word = (int.from_bytes(last, "little") ^ after(first) ^ after(other)).to_bytes(8, "little")
        if other != first and max(word) < 128 and min(word) >= 32:
            return (first + last).decode(), (other + word).decode()
    raise AssertionError("no two names with one hash")


def test_groups_whose_hashes_agree_are_told_apart(tmp_path: Path) -> None:
    one, other = alike()
    assert one != other
    assert len(set(hash_values(pa.array([one, other]), NAME_SEED).tolist())) == 1
    laid = BatchFile(tmp_path / "laid")
    laid.append([pa.record_batch({"id": ["x", one]}), pa.record_batch({"id": [other]})])
    assert GroupNumbers(laid).of(pa.array([other, one, "x", "y"], pa.large_string())).tolist() == [2, 1, 0, -1]
    table = pa.table({"user": [one, other, one, "x", "x"], "movie": [1, 9, 2, 1, 2]})
    done = twinset.dedup(table, **WORDS)
    assert done.removed["id"].to_pylist() == ["x"]
    assert done.kept["user"].to_pylist() == [one, other, one]
