"""The same input and options give the same bytes, for any threads, batches and memory; shuffled, the same pairs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset as library
from tests.reliability.command import Done, at_once, bytes_of, documents, started, write_lines
from twinset.engines.local.budget import Budget

DOCUMENTS = 72_000
LEAST = 256 * 10**6


def short_documents(count: int) -> list[dict[str, Any]]:
    """Families of four near copies: many documents, many pairs and many shingles in few bytes."""
    dice = random.Random(3)
    rows = []
    for number in range(count):
        if number % 4 == 0:
            words = [f"{dice.getrandbits(20):x}" for _ in range(36)]
        rows.append({"id": f"{number:x}-{'a long name ' * 5}", "text": " ".join([*words, f"end{number % 4}"])})
    return rows


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three formats, too much of everything for the least budget that can be asked for."""
    folder = tmp_path_factory.mktemp("same")
    rows = short_documents(DOCUMENTS)
    third = DOCUMENTS // 3
    pq.write_table(pa.Table.from_pylist(rows[third : 2 * third]), folder / "b.parquet", row_group_size=5000)
    csv = folder / "c.csv"
    csv.write_text("text,id\n" + "".join(f'"{row["text"]}",{row["id"]}\n' for row in rows[2 * third :]))
    return [write_lines(folder / "a.jsonl", rows[:third]), folder / "b.parquet", csv]


WAYS = [
    ["--threads", "1"],
    ["--threads", "4"],
    ["--batch", "64KiB"],
    ["--batch", "1MiB", "--threads", "1"],
    ["--memory", "512MB"],
    ["--memory", "512MB", "--threads", "1", "--batch", "200KiB"],
    ["--memory", "3GB", "--batch", "16MiB", "--threads", "2"],
]


def test_dedup_gives_the_same_bytes_every_way(tmp_path: Path, sources: list[Path]) -> None:
    def run(number: int, way: list[str]) -> tuple[Done, dict[str, str]]:
        out = tmp_path / str(number)
        done = started("dedup", *sources, "-o", out, "--json", "--quiet", *way)
        assert done.code == 0, done.err
        return done, bytes_of(out)

    (first, expected), *others = at_once([lambda n=n, way=way: run(n, way) for n, way in enumerate([[], *WAYS])])
    summary = first.summary
    assert summary["documents"] == DOCUMENTS
    assert summary["removed"] > DOCUMENTS // 2
    least = Budget(LEAST, LEAST // 8)  # what a process of 220 MB leaves of it
    assert summary["pairs"] * 12 * 6 > least.pairs
    assert least.sketches < DOCUMENTS * 256
    assert least.sets < DOCUMENTS * 30 * 8
    assert least.names < DOCUMENTS * 60
    for way, (_, found) in zip(WAYS, others, strict=True):
        assert found == expected, way


def test_pairs_give_the_same_bytes_every_way(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.jsonl", documents(3000, family=5))

    def run(number: int, way: list[str]) -> bytes:
        out = tmp_path / f"{number}.jsonl"
        assert started("pairs", source, "-o", out, "--quiet", *way).code == 0
        return out.read_bytes()

    ways = [[], ["--threads", "1", "--batch", "64KiB"], ["--threads", "4", "--memory", "512MB"]]
    found = at_once([lambda n=n, way=way: run(n, way) for n, way in enumerate(ways)])
    assert found[0]
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("more", [[], ["--exact"]])
def test_containment_gives_the_same_bytes_every_way(tmp_path: Path, more: list[str]) -> None:
    """The least memory cannot hold the keys of all documents at once, so that they look up several times."""
    rows = short_documents(30_000)
    rows += [{"id": f"part-{n}", "text": " ".join(rows[n]["text"].split()[:25])} for n in range(0, 30_000, 7)]
    source = write_lines(tmp_path / "in.jsonl", rows)

    def run(number: int, way: list[str]) -> bytes:
        out = tmp_path / f"{number}.jsonl"
        done = started("pairs", source, "--contained", "0.5", "-o", out, "--quiet", *more, *way)
        assert done.code == 0, done.err
        return out.read_bytes()

    ways = [[], ["--threads", "1", "--batch", "64KiB"], ["--threads", "4", "--memory", "512MB"]]
    found = at_once([lambda n=n, way=way: run(n, way) for n, way in enumerate(ways)])
    assert found[0]
    assert found[1:] == found[:1] * 2


class Arranged:
    """The same rows, in order in one file, and shuffled over several files of other formats."""

    def __init__(self, folder: Path) -> None:
        rows = documents(1500, family=4)
        mixed = rows[:]
        random.Random(5).shuffle(mixed)
        self.in_order = [write_lines(folder / "all.jsonl", rows)]
        pq.write_table(pa.Table.from_pylist(mixed[:500]), folder / "x.parquet", row_group_size=64)
        self.shuffled = [
            write_lines(folder / "z.jsonl", mixed[900:]),
            folder / "x.parquet",
            write_lines(folder / "y.jsonl", mixed[500:900]),
        ]


@pytest.fixture(scope="module")
def arranged(tmp_path_factory: pytest.TempPathFactory) -> Arranged:
    return Arranged(tmp_path_factory.mktemp("arranged"))


def unordered(path: Path) -> set[tuple[str, str, float]]:
    rows = pq.read_table(path).to_pylist()
    found = {(min(row["left"], row["right"]), max(row["left"], row["right"]), row["similarity"]) for row in rows}
    assert len(found) == len(rows)
    return found


def test_shuffled_and_split_input_has_the_same_pairs(tmp_path: Path, arranged: Arranged) -> None:
    for name, sources in (("a", arranged.in_order), ("b", arranged.shuffled)):
        assert started("pairs", *sources, "-o", tmp_path / f"{name}.parquet", "--threshold", "0.6").code == 0
    found = unordered(tmp_path / "a.parquet")
    assert len(found) > 1000
    assert unordered(tmp_path / "b.parquet") == found


@pytest.mark.parametrize(
    ("keep", "cluster"),
    [
        ("longest", "leader"),
        ("newest:year", "leader"),
        ("highest:score", "leader"),
        ("highest:score,longest", "leader"),
        ("highest:score", "components"),
        ("highest:score", "complete"),
    ],
)
def test_policies_that_do_not_name_order_keep_the_same_rows(arranged: Arranged, keep: str, cluster: str) -> None:
    kept = []
    for sources in (arranged.in_order, arranged.shuffled):
        done = library.dedup(*map(str, sources), keep=keep, cluster=cluster)
        kept.append({row["id"] for row in done.clusters.to_pylist() if row["kept"]})
        assert 0 < len(kept[-1]) == done.summary["kept"] < done.summary["documents"]
    assert kept[0] == kept[1]


def test_the_summary_says_nothing_of_the_machine_outside_its_timings(tmp_path: Path, arranged: Arranged) -> None:
    assert started("dedup", *arranged.in_order, "-o", tmp_path / "out", "--memory", "600MB").code == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    timings = summary.pop("timings")
    assert timings["memory"] == 600 * 10**6
    assert "600" not in json.dumps(summary["options"])
