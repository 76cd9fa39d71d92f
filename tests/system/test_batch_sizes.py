"""No result depends on how much is worked on at a time: sizes made small, and corpora that cross the real ones."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import twinset
from tests.index.corpora import families, rows_by_query, words
from twinset.errors import DuplicateIdError
from twinset.system import batch_sizes

SOURCE = Path(twinset.__file__).parent
NAMES = [name for name in vars(batch_sizes) if name.isupper()]
SHINGLING = {"shingle": "word:2", "threshold": 0.5}


@contextmanager
def sizes_of(size: int | None) -> Iterator[None]:
    """Every batch a few things, as if corpora were thousands of times as large; None for the usual sizes."""
    with pytest.MonkeyPatch.context() as patch:
        for name in NAMES if size is not None else ():
            if name != "NAMED":  # it bounds what is told, not what is worked on
                patch.setattr(batch_sizes, name, size)
        yield


small = pytest.mark.parametrize("size", [1, 7])


def test_sizes_are_read_where_they_are_set() -> None:
    """A module that copied a value would not notice a test which sets it."""
    used: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module == "twinset.system.batch_sizes":
                raise AssertionError(f"{path} copies {', '.join(name.name for name in node.names)}")
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "batch_sizes":
                used.add(node.attr)
    assert used == set(NAMES)


def documents(count: int = 120) -> dict[str, str]:
    """Families with identical copies and empty ones, and one family that is larger than the others."""
    dice = random.Random(3)
    base = [f"big{number}" for number in range(40)]
    large = {}
    for number in range(40):
        copy = list(base)
        copy[dice.randrange(40)] = f"other{dice.randrange(5)}"
        large[f"large{number}"] = " ".join(copy)
    return families(count, seed=8) | large


def write_lines(path: Path, texts: dict[str, str]) -> Path:
    path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items()), "utf-8")
    return path


def tables(folder: Path) -> dict[str, Any]:
    """All that a result holds: tables by their rows, for row groups are of another size; other files by their bytes."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".parquet":
            found[name] = pq.read_table(path).to_pylist()
        elif path.name == "summary.json":
            digests = ("timings", "files", "check")
            found[name] = {key: value for key, value in json.loads(path.read_bytes()).items() if key not in digests}
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def dedup_and_recut(folder: Path, own: Path, against: list[Path]) -> dict[str, Any]:
    twinset.dedup(own, against=against, output=folder / "out", floor=0.3, **SHINGLING)
    folder.joinpath("exact").mkdir()
    twinset.find_pairs(own, against=against, exact=True, output=folder / "exact" / "pairs.parquet", **SHINGLING)
    twinset.open_result(folder / "out").rethreshold(threshold=0.7, output=folder / "cut")
    return tables(folder)


@small
@pytest.mark.parametrize("with_other", [False, True])
def test_dedup(tmp_path: Path, size: int, with_other: bool) -> None:
    own = write_lines(tmp_path / "own.jsonl", documents())
    other = write_lines(tmp_path / "other.jsonl", families(60, seed=9) | {"copy": documents()["d0"]})
    against = [other] if with_other else []
    expected = dedup_and_recut(tmp_path / "usual", own, against)
    assert len(expected["out/removed.parquet"]) > (3 if with_other else 50)
    assert len(expected["out/empty.parquet"]) > 3
    with sizes_of(size):
        found = dedup_and_recut(tmp_path / "small", own, against)
    for name, content in expected.items():
        assert found[name] == content, name
    assert list(found) == list(expected)


@small
def test_every_document_of_a_result_has_a_row(tmp_path: Path, size: int) -> None:
    """Counted against the sources, not against another run."""
    texts = documents()
    with sizes_of(size):
        twinset.dedup(write_lines(tmp_path / "own.jsonl", texts), output=tmp_path / "out", **SHINGLING)
    kept = {json.loads(line)["id"] for line in (tmp_path / "out/kept/own.jsonl").read_text("utf-8").splitlines()}
    removed = pq.read_table(tmp_path / "out/removed.parquet").column("id").to_pylist()
    clusters = pq.read_table(tmp_path / "out/clusters.parquet").column("id").to_pylist()
    empty = pq.read_table(tmp_path / "out/empty.parquet").column("id").to_pylist()
    assert sorted([*kept, *removed]) == sorted(texts)
    assert len(removed) > 50
    assert sorted(clusters) == sorted(texts)
    assert set(empty) == {id for id, text in texts.items() if not text}


def test_pairs_of_a_family_larger_than_one_slice() -> None:
    """400 near copies have 79,800 pairs: several times what a thread verifies at a time."""
    shared = words(60, "shared")
    texts = {f"d{number}": " ".join([*shared, f"own{number}"]) for number in range(400)}
    found = twinset.find_pairs(list(texts.values()), shingle="word:1", threshold=0.9, audit=0).pairs
    assert found.num_rows == 79_800 > 4 * batch_sizes.VERIFIED_PAIRS
    pairs = set(zip(found.column("left").to_pylist(), found.column("right").to_pylist(), strict=True))
    assert len(pairs) == 79_800
    assert set(found.column("similarity").to_pylist()) == {60 / 62}


def test_two_very_long_texts() -> None:
    """Sets larger than all tables that are made beforehand. A table too small is found by what becomes of the process.

    So the work is done in another one.
    """
    program = (
        "import twinset\n"
        "one = [f'w{number}' for number in range(200_000)]\n"
        "texts = [' '.join(one), ' '.join([*one[:-10_000], *(f'x{number}' for number in range(10_000))])]\n"
        "pairs = twinset.find_pairs(texts, shingle='word:1', threshold=0.8).pairs\n"
        "print(pairs.column('similarity').to_pylist())\n"
        "print(twinset.compare(*texts, shingle='word:1').similarity)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [str([190_000 / 210_000]), str(190_000 / 210_000)]


def test_names_are_capped_over_all_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is a batch of its own at least; all documents are counted, the first few are named."""
    paths = []
    for file in "abc":
        paths.append(tmp_path / f"{file}.jsonl")
        rows = [b'{"id":"%s%d","text":"not UTF-8: \xff %d"}\n' % (file.encode(), row, row) for row in range(4)]
        paths[-1].write_bytes(b"".join(rows))
    for most, expected in ((5, ["a0", "a1", "a2", "a3", "b0"]), (4, ["a0", "a1", "a2", "a3"]), (11, None)):
        monkeypatch.setattr(batch_sizes, "NAMED", most)
        summary = twinset.find_pairs(*paths).summary
        assert summary["replaced"] == 12
        assert summary["replaced_in"] == (expected or [f"{file}{row}" for file in "abc" for row in range(4)][:11])


def answers(index: twinset.Index, texts: dict[str, str]) -> list[Any]:
    asked = index.query(texts), index.query(texts, k=3)
    return [list(index), *(rows_by_query(table) for table in asked)]


@small
@pytest.mark.parametrize("store", ["text", "shingles", "none"])
def test_an_index(tmp_path: Path, size: int, store: str) -> None:
    """The life of an index with every portion small, held against one with the usual portions."""
    texts = documents()
    source = write_lines(tmp_path / "source.jsonl", texts)

    def life(folder: Path) -> list[Any]:
        folder.mkdir()
        with closing(twinset.Index.create(folder / "one.twinset", store=store, seed=1, **SHINGLING)) as index:
            assert index.add(source).added == len(texts)
            again = index.add(source)
            assert (again.added, again.unchanged) == (0, len(texts))
            assert index.add(texts).unchanged == len(texts)
            assert index.remove([f"large{number}" for number in range(7)]) == 7
            assert index.update({"d1": "another text", "d2": texts["d2"]}).replaced == 1
            assert index.verify() == []
            assert index.export(folder / "one.parquet") == len(index)
            found = answers(index, texts)
        with closing(twinset.Index.import_from(folder / "one.parquet", folder / "two.twinset")) as second:
            assert answers(second, texts) == found
            assert second.verify() == []
        return found

    expected = life(tmp_path / "usual")
    with sizes_of(size):
        assert life(tmp_path / "small") == expected


def test_adding_more_documents_than_one_chunk_again(tmp_path: Path) -> None:
    """6,000 documents: more than are compared with the stored ones at a time, and not a multiple of it."""
    texts = {f"d{number}": f"text number {number} of many" for number in range(6000)}
    with closing(twinset.Index.create(tmp_path / "one.twinset", shingle="word:1", n_hashes=16, threshold=0.9)) as index:
        assert index.add(texts).added == 6000
        assert index.add(texts).unchanged == 6000 > batch_sizes.INDEX_DOCUMENTS
        with pytest.raises(DuplicateIdError, match="'d5999'"):
            index.add(texts | {"d5999": "another text"})


def test_more_answers_than_one_portion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of bands come from the database in portions: each document is found by its own text."""
    monkeypatch.setattr(batch_sizes, "INDEX_ROWS", 1000)
    texts = {f"d{number}": " ".join(words(5, f"d{number}w")) for number in range(2000)}
    with closing(twinset.Index.create(tmp_path / "one.twinset", shingle="word:1", n_hashes=16, threshold=0.9)) as index:
        index.add(texts)
        found = rows_by_query(index.query(texts))
    assert {query: [row[0] for row in rows] for query, rows in found.items()} == {id: [id] for id in texts}


@pytest.mark.parametrize(("shared", "union", "threshold"), [(14, 25, 0.56), (55, 100, 0.55), (243, 300, 0.81)])
def test_the_threshold_is_inclusive_from_end_to_end(tmp_path: Path, shared: int, union: int, threshold: float) -> None:
    """As typed by a user, in every way to ask: one text may hold the other, or each has words of its own."""
    for only_left in (0, (union - shared) // 2, union - shared):
        left = " ".join([*words(shared, "s"), *words(only_left, "l")])
        right = " ".join([*words(shared, "s"), *words(union - shared - only_left, "r")])
        given: dict[str, Any] = {"shingle": "word:1", "threshold": threshold}
        for exact in (False, True):
            options = {**given, "exact": exact} | ({} if exact else {"recall": 0.9999999})
            found = twinset.find_pairs([left, right, "unrelated"], **options).pairs
            assert found.column("similarity").to_pylist() == [shared / union], (only_left, exact)
        path = tmp_path / f"{only_left}.twinset"
        with closing(twinset.Index.create(path, recall=0.9999999, **given)) as index:
            index.add({"left": left})
            assert index.query(right).column("similarity").to_pylist() == [shared / union], only_left
        folded = twinset.collapse([{"text": left}, {"text": right}], **given)
        assert len(folded) == 1, only_left
