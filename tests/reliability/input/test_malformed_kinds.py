"""Malformed items of every kind, through the command line: an error that says where, or counted and named."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pictures import encoded, scene
from tests.reliability.command import Done, at_once, twinset


def lines(*rows: Any) -> Callable[[Path], Path]:
    """JSON lines; a string is a line as it stands."""

    def make(folder: Path) -> Path:
        path = folder / "in.jsonl"
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
        return path

    return make


def table(columns: dict[str, Any]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        pq.write_table(pa.table(columns), folder / "in.parquet")
        return folder / "in.parquet"

    return make


def text(name: str, data: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(data, "utf-8")
        return folder / name

    return make


def npy(array: Any, change: Callable[[bytes], bytes] = bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        out = io.BytesIO()
        np.save(out, array, allow_pickle=True)
        (folder / "in.npy").write_bytes(change(out.getvalue()))
        return folder / "in.npy"

    return make


def png_of(width: int, height: int) -> bytes:
    """A picture that declares its size, and is a few hundred bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes(1 << 16))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def pictures(name: str, data: bytes) -> Callable[[Path], Path]:
    """A folder of two good pictures and one that is not."""

    def make(folder: Path) -> Path:
        place = folder / "pictures"
        place.mkdir()
        for seed in (1, 2):
            (place / f"{seed}.png").write_bytes(encoded(scene(seed)))
        (place / name).write_bytes(data)
        return place

    return make


class Case(NamedTuple):
    """A malformed source, what is said of it, and how many rows skip leaves out; None: it is refused all the same."""

    words: list[str]
    make: Callable[[Path], Path]
    said: str
    unreadable: int | None = 1


GOOD = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
HUGE = b"{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000, 700), }"
V, C, S = ["--vectors", "v"], ["--codes", "c"], ["--items", "s"]
W = ["--items", "s", "--weight", "w"]
G = ["--group", "u", "--item", "m", "--weight", "w"]
R = ["--text", "name", "--text", "city"]


def declared(data: bytes) -> bytes:
    """The file with a header that promises far more than there is."""
    head = HUGE + b" " * (117 - len(HUGE)) + b"\n"
    return data[:8] + struct.pack("<H", len(head)) + head + data[128:]


def holes(value: float) -> Any:
    array = GOOD.copy()
    array[2, 1] = value
    return array


CASES = {
    "npy cut short": Case(["--vectors"], npy(GOOD, lambda data: data[:-5]), "in.npy: the file is truncated", None),
    "npy of a header alone": Case(["--vectors"], npy(GOOD, lambda data: data[:60]), "in.npy", None),
    "npy of a huge shape": Case(["--vectors"], npy(GOOD, declared), "100,000,000,000 vectors", None),
    "npy of objects": Case(["--vectors"], npy(np.array([[{}], [[]]], object)), "in.npy", None),
    "npy of text": Case(["--vectors"], npy(np.array([["a"], ["b"]])), "in.npy", None),
    "npy of three dimensions": Case(["--vectors"], npy(np.zeros((2, 2, 2))), "in.npy", None),
    "npy with NaN": Case(["--vectors"], npy(holes(np.nan)), "in.npy, row 2, counted from 0"),
    "npy with infinity": Case(["--vectors"], npy(holes(-np.inf)), "in.npy, row 2, counted from 0"),
    "npy beyond 32 bits": Case(["--vectors"], npy(holes(1).astype(np.float64) * 1e39), "in.npy, row 0", 4),
    "vectors of two widths": Case(
        V, lines({"v": [1, 2]}, {"v": [2, 1]}, {"v": [1, 2, 3]}), "the vector has 3 dimensions, and most have 2"
    ),
    "vectors of words": Case(V, lines({"v": [1, 2]}, {"v": ["a", 2]}), "in.jsonl, line 2"),
    "vectors of lists": Case(V, lines({"v": [1, 2]}, {"v": [[1], 2]}), "in.jsonl, line 2"),
    "vectors with a hole": Case(V, lines({"v": [1, 2]}, {"v": [None, 2]}), "in.jsonl, line 2"),
    "a vector that is no list": Case(V, lines({"v": [1, 2]}, {"v": 3}), "in.jsonl, line 2"),
    "a column of no vectors": Case(V, table({"v": [1, 2]}), "the column 'v' must hold lists of numbers", None),
    "NaN in a column": Case(V, table({"v": [[1.0, 2.0], [float("nan"), 1.0]]}), "in.parquet, row 1"),
    "codes of odd digits": Case(C, text("in.csv", "c\nff00\nff0\n00ff\n"), "in.csv, line 3"),
    "codes of no digits": Case(C, text("in.csv", "c\nff00\nfg00\n00ff\n"), "in.csv, line 3"),
    "codes of two widths": Case(C, lines({"c": "ff00"}, {"c": "ff01"}, {"c": "ff"}), "the code has 8 bits"),
    "a code beyond 64 bits": Case(C, lines({"c": 5}, '{"c": 18446744073709551616}'), "in.jsonl, line 2"),
    "a code that is a fraction": Case(C, lines({"c": 5}, {"c": 1.5}), "in.jsonl, line 2"),
    "a code without end": Case(C, lines({"c": "ff" * 8}, {"c": "ff" * 5000}), "in.jsonl, line 2"),
    "a column of no codes": Case(C, table({"c": [1.5, 2.5]}), "the column 'c' must hold whole numbers", None),
    "a set that is no list": Case(S, lines({"s": ["a"]}, {"s": {"a": 1}}), "in.jsonl, line 2"),
    "a set of lists": Case(S, lines({"s": ["a"]}, {"s": [["a"]]}), "in.jsonl, line 2"),
    "a set of half a character": Case(S, lines({"s": ["a"]}, '{"s": ["\\ud800"]}'), "in.jsonl, line 2"),
    "weights too few": Case(W, lines({"s": ["a"], "w": [1]}, {"s": ["a", "b"], "w": [1]}), "in.jsonl, line 2"),
    "a weight below zero": Case(W, lines({"s": ["a"], "w": [1]}, {"s": ["b"], "w": [-1]}), "in.jsonl, line 2"),
    "a weight that is a word": Case(W, lines({"s": ["a"], "w": [1]}, {"s": ["b"], "w": ["x"]}), "in.jsonl, line 2"),
    "weights without end": Case(
        W, table({"s": [["a"], ["a", "b"]], "w": [[1.0], [1e308, 1e308]]}), "in.parquet, row 1"
    ),
    "a group without a name": Case(G, text("in.csv", "u,m,w\na,x,1\n,x,1\n"), "in.csv"),
    "a group with a weight that is none": Case(G, text("in.csv", "u,m,w\na,x,1\nb,x,much\n"), "in.csv"),
    "a group with NaN": Case(G, table({"u": ["a", "b"], "m": [1, 1], "w": [1.0, float("nan")]}), "in.parquet"),
    "a group without the column": Case(G, text("in.csv", "u,m\na,x\n"), "there is no column 'w'", None),
    "a record without a column": Case(R, table({"name": ["a"]}), "there is no column 'city'", None),
    "a record that is no text": Case(R, lines({"name": "a", "city": "b"}, {"name": 5, "city": "b"}), "line 2"),
    "a picture cut short": Case(["--images"], pictures("3.png", encoded(scene(3))[:300]), "3.png"),
    "a picture of nothing": Case(["--images"], pictures("3.png", b""), "3.png"),
    "a picture that is text": Case(["--images"], pictures("3.jpg", b"<svg onload=alert(1)>"), "3.jpg"),
    "a picture that is a bomb": Case(["--images"], pictures("3.png", png_of(60_000, 60_000)), "3600000000 pixels"),
    "a picture of no width": Case(["--images"], pictures("3.png", png_of(0, 10)), "3.png"),
    "a picture of a lie": Case(["--images"], pictures("3.png", png_of(9_000, 9_000)), "3.png"),
}  # fmt: skip
Outcome = tuple[Done, Done, Path]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """All runs, made together: as they are, and with what cannot be read left out."""

    def run(name: str) -> Outcome:
        folder = tmp_path_factory.mktemp("kinds")
        source = CASES[name].make(folder)
        words = ["dedup", source, *CASES[name].words, "--json", "--quiet", "-o"]
        if "--images" in words:  # by default a damaged picture is named, and the run goes on
            stop = twinset(*words, folder / "out", "--on-error", "stop")
            return stop, twinset(*words, folder / "skip"), folder
        return twinset(*words, folder / "out"), twinset(*words, folder / "skip", "--on-error", "skip"), folder

    return dict(zip(CASES, at_once([lambda name=name: run(name) for name in CASES]), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_malformed(outcomes: dict[str, Outcome], name: str) -> None:
    stopped, skipped, folder = outcomes[name]
    stopped.refused(CASES[name].said)
    assert stopped.out == ""
    assert not (folder / "out").exists()
    unreadable = CASES[name].unreadable
    if unreadable is None:
        skipped.refused(CASES[name].said)
        assert not (folder / "skip").exists()
        return
    assert skipped.code == 0, skipped.err
    counts = skipped.summary
    left_out = pq.read_table(folder / "skip/unreadable.parquet").to_pylist()
    assert counts["unreadable"] == len(left_out) == unreadable
    assert all(row["id"] and row["reason"] for row in left_out)
    assert counts["kept"] + counts["removed"] + counts["unreadable"] == counts["documents"]
    every = pq.read_table(folder / "skip/documents.parquet")["id"].to_pylist()
    told = [pq.read_table(folder / f"skip/{one}.parquet")["id"].to_pylist() for one in ("clusters", "unreadable")]
    assert sorted(every) == sorted(told[0] + told[1]), "every row is named"


TRICKS = ("..png", "...png", " .png", "-o.png", "a\nb.png", "<script>.png", "%2e%2e%2fout.png", "a\\..\\b.png", "ü.png")


def test_names_of_pictures_are_names_and_nothing_else(tmp_path: Path) -> None:
    place, outside = tmp_path / "pictures", tmp_path / "outside.png"
    (place / "b ..").mkdir(parents=True)
    outside.write_bytes(encoded(scene(99)))
    for seed, name in enumerate(TRICKS):
        (place / name).write_bytes(encoded(scene(seed)))
    (place / "b .." / "deep.png").write_bytes(encoded(scene(50)))
    (place / "link.png").symlink_to(outside)
    before = {path.name for path in tmp_path.iterdir()}
    done = twinset("dedup", place, "--images", "--copy", "-o", tmp_path / "out", "--json", "--quiet")
    assert done.code == 0, done.err
    ids = pq.read_table(tmp_path / "out/documents.parquet")["id"].to_pylist()
    assert set(TRICKS) - {name for name in TRICKS if name.startswith(".")} <= set(ids)
    assert "b ../deep.png" in ids
    kept = tmp_path / "out" / "kept"
    copied = {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()}
    assert {name.split("/", 1)[-1] for name in copied} >= {name for name in ids if "/" not in name}
    assert {path.name for path in tmp_path.iterdir()} == before | {"out"}, "nothing is written elsewhere"
    for path in kept.rglob("*"):
        assert path.resolve().is_relative_to(kept.resolve())
