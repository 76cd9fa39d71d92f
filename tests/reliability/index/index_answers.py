"""Everything that an index can be asked, asked: to compare a damaged index with a whole one, answer by answer."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import twinset
from tests.reliability.index.index_work import Report, text_of
from twinset.errors import TwinsetError

QUERIES = {"near": text_of(2, 99), "same": text_of(3, 1), "far": text_of(77, 0), "empty": ""}
ADDED = {"new one": text_of(3, 50), "new two": text_of(88, 1)}
ASKED: dict[str, Callable[[twinset.Index], Any]] = {
    "length": len,
    "ids": list,
    "in": lambda index: ["1-0" in index, "no such" in index],
    "query": lambda index: index.query(QUERIES).to_pylist(),
    "nearest": lambda index: index.query(list(QUERIES.values()), k=3).to_pylist(),
    "similar": lambda index: [index.similar_to(id, k=5).to_pylist() for id in ("1-0", "0-3")],
    "contained": lambda index: contained(index),
    "passages": lambda index: index.passages(QUERIES).to_pylist() if index.settings.options.passages else [],
    "texts": lambda index: index.texts(list(index)) if index.settings.options.store == "text" else [],
    "stats": lambda index: {**index.stats(), "bytes": {**index.stats()["bytes"], "log": None}},
    "verify": lambda index: index.verify(),
    "add": lambda index: vars(index.add(list(ADDED), list(ADDED.values()))),
    "query after": lambda index: index.query(QUERIES).to_pylist(),
    "verify after": lambda index: index.verify(),
}


def contained(index: twinset.Index) -> Any:
    """What holds the queries or is held by them, where contents are stored."""
    if index.settings.options.store == "none":
        return []
    return index.query(QUERIES | {"part": " ".join(text_of(3, 1).split()[:25])}, contained=0.7).to_pylist()


def answers(path: str) -> Iterator[tuple[str, Any]]:
    """Each answer with its name; instead of one that is refused, the error."""
    try:
        index = twinset.Index.open(path)
    except TwinsetError as error:
        yield "open", error
        return
    added = False
    for name, ask in ASKED.items():
        if name.endswith("after") and not added:
            continue
        try:
            answer = ask(index)
            added |= name == "add"
        except TwinsetError as error:
            answer = error
        yield name, answer
    try:
        index.close()
    except TwinsetError as error:
        yield "close", error


def examine(report: Report, kept: str, folder: str, name: str, damages: list[list[Any]]) -> None:
    """Copy an index, damage one of its files in one way, ask everything; and so on with each way.

    A damage is a size to cut the file to, or a place and the bits to turn there. Reported is how often the answers were
    right and how often they were refused, after each damage: a process that dies or hangs is known by that.
    """
    path = os.path.join(folder, "documents.twinset")
    _copy(kept, folder)
    right = dict(answers(path))
    assert not [answer for answer in right.values() if isinstance(answer, Exception)], f"{right!r:.500}"
    for damage in damages:
        _copy(kept, folder)
        spoil(Path(folder) / name, damage)
        refused, wrong = [], []
        for question, answer in answers(path):
            if isinstance(answer, TwinsetError):
                refused.append(question)
                if path not in str(answer):
                    wrong.append(f"{question}: the file is not named: {answer}")
            elif question.startswith("verify") and answer:
                refused.append(question)
            elif answer != right[question]:
                wrong.append(f"{question}: {answer!r:.300} and not {right[question]!r:.300}")
        report({"damage": damage, "refused": refused, "wrong": wrong})


def _copy(kept: str, folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kept, folder)


def spoil(path: Path, damage: list[Any]) -> None:
    """Cut a file short, or turn bits of one byte."""
    if damage[0] == "cut":
        os.truncate(path, damage[1])
        return
    with open(path, "r+b") as file:
        file.seek(damage[1])
        byte = file.read(1)[0]
        file.seek(damage[1])
        file.write(bytes([byte ^ damage[2]]))


def examine_export(report: Report, kept: str, folder: str, damages: list[list[Any]]) -> None:
    """Damage an exported file in one way after the other, and import it; reported as `examine` does."""
    data = Path(kept).read_bytes()
    right = _imported(kept, folder)
    for damage in damages:
        spoilt = Path(folder) / "spoilt.parquet"
        spoilt.write_bytes(data)
        spoil(spoilt, damage)
        found = _imported(str(spoilt), folder)
        if isinstance(found, TwinsetError):
            wrong = [] if str(spoilt) in str(found) else [f"the file is not named: {found}"]
            left = [path.name for path in Path(folder).iterdir() if path.name != spoilt.name]
            report({"damage": damage, "refused": ["open"], "wrong": wrong + [f"{left} is left"] * bool(left)})
        else:
            wrong = [] if found == right else [f"{found!r:.300} and not {right!r:.300}"]
            report({"damage": damage, "refused": [], "wrong": wrong})


def _imported(path: str, folder: str) -> Any:
    """All that an index made of an exported file says, or the error."""
    shutil.rmtree(folder + "/into", ignore_errors=True)
    os.makedirs(folder + "/into", exist_ok=True)
    try:
        with twinset.Index.import_from(path, folder + "/into/documents.twinset") as index:
            options = index.settings.options.to_dict()
            return {name: ask(index) for name, ask in ASKED.items() if name not in ("stats", "add")} | {"": options}
    except TwinsetError as error:
        return error
    finally:
        shutil.rmtree(folder + "/into")


def ask_all(report: Report, path: str) -> None:
    """Ask an index of unknown origin everything; reported are the answers refused, and the memory that it took."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused, given = {}, []
    for question, answer in answers(path):
        if isinstance(answer, TwinsetError):
            refused[question] = f"{type(answer).__name__}: {answer}"
        elif question.startswith("verify") and answer:
            refused[question] = f"{answer[0]:.300}"
        else:
            given.append(question)
    try:
        with twinset.Index.open(path) as index:
            index.export(f"{path}.parquet", force=True)
            index.update(list(index)[:20], [text_of(number, 3) for number in range(len(list(index)[:20]))])
            index.remove(list(index)[:3])
            index.compact()
    except TwinsetError as error:
        refused["changes"] = f"{type(error).__name__}: {error}"
    took = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    report({"refused": refused, "given": given, "took": took * 1024})
