"""Errors name options as their caller writes them: keyword arguments in Python, flags on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twinset
from twinset.cli.command_line import run

TEXTS = ["one text", "another text"]


def read(name: str, data: bytes, **options: Any) -> Callable[[Path], object]:
    def provoke(folder: Path) -> object:
        (folder / name).write_bytes(data)
        return twinset.dedup(folder / name, **options)

    return provoke


def replace(folder: Path) -> object:
    twinset.dedup(TEXTS, output=folder / "out")
    return twinset.dedup(TEXTS, output=folder / "out")


def replace_pairs(folder: Path) -> object:
    (folder / "out.csv").touch()
    return twinset.find_pairs(TEXTS, output=folder / "out.csv")


PROVOKED: dict[str, tuple[Callable[[Path], object], str]] = {
    "malformed row": (read("in.jsonl", b'{"text": "a"}\n{broken\n'), 'use on_error="skip" to skip such rows'),
    "text column": (read("in.csv", b"body\na\n"), 'name one with text="NAME"'),
    "id column": (read("in.csv", b"text\na\n", id="key"), 'name one with id="NAME"'),
    "bytes": (read("in.txt", b"caf\xe9 " * 9, on_error="stop"), "encoding="),
    "utf-16": (read("in.txt", "wide".encode("utf-16")), 'encoding="utf-16'),
    "number of fields": (read("in.csv", b"text\na,b\n"), 'on_error="skip"'),
    "id twice": (read("in.csv", b"key,text\n1,a\n1,b\n", id="key"), "id="),
    "keep by column": (read("in.csv", b"text\na\n", keep="newest:day"), 'keep="newest:NAME"'),
    "flag of a text": (read("in.txt", b"a text", flag=True), "flag adds columns"),
    "flag of a column": (read("in.csv", b"text,cluster\na,b\n", flag=True), "leave out flag=True"),
    "output exists": (replace, "force=True"),
    "file exists": (replace_pairs, "force=True"),
    "group alone": (lambda _: twinset.dedup(TEXTS, group="g"), "group needs item="),
    "weight alone": (lambda _: twinset.dedup(TEXTS, weight="w"), "weight needs group= and item=, or items="),
    "keep of vectors": (lambda _: twinset.dedup(np.eye(3), vectors=True, keep="longest"), "vectors=True"),
    "shingle of sets": (lambda _: twinset.dedup([[1]], items="x", shingle="char:3"), "(items=)"),
    "threshold of codes": (lambda _: twinset.dedup([1], codes="c", threshold=0.7), "threshold does not apply"),
    "against a policy": (lambda _: twinset.dedup(TEXTS, against=[TEXTS], keep="longest"), "against="),
    "no truth": (lambda _: twinset.evaluate(TEXTS), "exact=True"),
    "below the floor": (lambda _: twinset.dedup(TEXTS).recut(0.1), "floor=0.1"),
    "other sources": (lambda _: twinset.dedup(TEXTS).explain("0", "1", source=[TEXTS, TEXTS]), "source= names 2"),
    "sketch of codes": (lambda _: twinset.sketch(TEXTS, sketch="simhash", bag=True), 'sketch="simhash"'),
    "option": (lambda _: twinset.dedup(TEXTS, threshold=2), "threshold is 2"),
    "pictures": (read("in.bin", b"\0\1"), "binary"),
}


@pytest.mark.parametrize("name", PROVOKED)
def test_errors_in_python_name_keyword_arguments(name: str, tmp_path: Path) -> None:
    provoke, said = PROVOKED[name]
    with pytest.raises(twinset.TwinsetError) as raised:
        provoke(tmp_path)
    assert said in str(raised.value)
    assert "--" not in str(raised.value)


def test_warnings_in_python_name_keyword_arguments() -> None:
    with pytest.warns(twinset.PlanWarning) as warned:
        twinset.plan(threshold=0.5, n_bands=2, rows_per_band=20)
    assert all("--" not in str(one.message) for one in warned)


def test_the_command_line_names_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": "a"}\n{broken\n')
    assert run(["dedup", str(path), "-o", str(tmp_path / "out")]) == 2
    assert "use --on-error skip to skip such rows" in capsys.readouterr().err
    assert run(["dedup", str(path), "-o", str(tmp_path / "out"), "--text", "body"]) == 2
    assert "name one with --text NAME" in capsys.readouterr().err
    with pytest.raises(twinset.RowError, match='on_error="skip"'):
        twinset.dedup(path)
