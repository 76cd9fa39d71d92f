"""What the processes of the nursery do to an index, and what must be there afterwards.

Every operation follows from its number alone: whoever knows which ones were acknowledged knows what the index holds.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import twinset
from tests.reliability.command import WORDS
from twinset.errors import TwinsetError

Report = Callable[[Any], object]
OPTIONS: dict[str, Any] = {"shingle": "word:3", "seed": 7, "threshold": 0.5}
MORE_TABLES: dict[str, dict[str, Any]] = {"samples": {"contained": True}, "anchors": {"passages": 6}}
"""Tables that an index has rows in only with an option, and the option."""
SIZES = (1, 2, 7, 20, 20, 40, 150)
KEPT_BATCHES = 25
_ENDS = ("", "'; DROP TABLE documents; --", " \N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}", "\0\n", '"%s{0}\\')


def text_of(family: int, member: int, version: int = 0) -> str:
    """A text; those of one family are near copies of each other, and like no other's."""
    dice = random.Random(family)
    words = [f"{dice.choice(WORDS)}{dice.randrange(10_000)}" for _ in range(dice.randint(30, 90))]
    return " ".join([*words, f"member{member}", f"version{version}"])


@dataclass(frozen=True)
class Operation:
    """One call: add, update, remove or compact."""

    kind: str
    texts: dict[str, str]

    def apply(self, index: twinset.Index) -> None:
        if self.kind == "compact":
            index.compact()
        elif self.kind == "remove":
            index.remove(self.texts)
        elif self.kind == "add":
            index.add(list(self.texts), list(self.texts.values()))
        else:
            index.update(list(self.texts), list(self.texts.values()))

    def after(self, before: dict[str, str]) -> dict[str, str]:
        """What an index holds after it, in order: a replaced document is the newest."""
        kept = {id: text for id, text in before.items() if id not in self.texts}
        if self.kind in ("add", "update"):
            assert (self.kind == "add") == (len(kept) == len(before))
            kept.update(self.texts)
        elif self.kind == "remove":
            assert len(kept) == len(before) - len(self.texts)
        return kept


def operation(step: int) -> Operation | None:
    """The operation of a step: batches come, are changed in part, lose members, and go."""
    newest, phase = divmod(step, 4)
    if phase == 0:
        return _of("add", newest, lambda member: True)
    if phase == 1:
        return _of("update", newest - 2, lambda member: member % 3 == 1 and member % 5 != 0, version=1)
    if phase == 2:
        return _of("remove", newest - KEPT_BATCHES, lambda member: member % 5 != 0)
    if newest % 7 == 6:
        return Operation("compact", {})
    return _of("remove", newest - 1, lambda member: member % 5 == 0) if newest % 7 else _both(newest)


def _both(newest: int) -> Operation | None:
    """The removal that gave way to a compaction is made up for in the next round."""
    ones = [_of("remove", batch, lambda member: member % 5 == 0) for batch in (newest - 2, newest - 1)]
    texts = {id: text for one in ones if one for id, text in one.texts.items()}
    return Operation("remove", texts) if texts else None


def _of(kind: str, batch: int, chosen: Callable[[int], bool], version: int = 0) -> Operation | None:
    if batch < 0:
        return None
    size = random.Random(batch).choice(SIZES)
    members = [member for member in range(size) if chosen(member)]
    found = {f"{batch}-{one}{_ENDS[one % len(_ENDS)]}": text_of(batch // 3, one, version) for one in members}
    return Operation(kind, found) if found else None


def warm_up() -> None:
    """Load all that children need, so that none of them waits for it."""
    with suppress(twinset.MissingError):
        importlib.import_module("twinset.index.postgres.backend")
    every = {name: value for options in (OPTIONS, *MORE_TABLES.values()) for name, value in options.items()}
    with tempfile.TemporaryDirectory() as folder, twinset.Index.create(Path(folder) / "a.twinset", **every) as index:
        index.add(["a", "b"], [text_of(1, 1), text_of(1, 2)])
        index.query([text_of(1, 1)], contained=0.8)
        index.passages(text_of(1, 1))
        index.query([text_of(1, 1)])
        index.similar_to("a", k=1)
        index.verify()
        index.export(Path(folder) / "a.parquet")


def ingest(report: Report, url: str, step: int) -> None:
    """Carry out one operation after the other, for ever; each is reported when it has returned."""
    try:
        while True:
            with twinset.Index.open(url) as index:
                for _ in range(40):
                    planned = operation(step)
                    if planned:
                        planned.apply(index)
                    report(step)
                    step += 1
    except TwinsetError as error:
        report({type(error).__name__: str(error)})


CODES: dict[str, Any] = {"codes": "code", "distance": 5, "seed": 7}


def code_of(text: str) -> bytes:
    """A code for a text; those of one family differ in few bits."""
    words = text.split()
    family = hashlib.blake2b(" ".join(words[:-2]).encode(), digest_size=16).digest()
    own = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    turned = 1 << own % 128 | 1 << (own >> 8) % 128
    return (int.from_bytes(family, "big") ^ turned).to_bytes(16, "big")


def ingest_codes(report: Report, url: str, step: int) -> None:
    """As `ingest`, into an index of codes."""
    while True:
        with twinset.Index.open(url) as index:
            for _ in range(40):
                planned = operation(step)
                if planned:
                    coded = {id: code_of(text) for id, text in planned.texts.items()}
                    Operation(planned.kind, coded).apply(index)  # type: ignore[arg-type]
                report(step)
                step += 1


WEIGHTED: dict[str, Any] = {"items": "words", "weight": "counts", "threshold": 0.5, "store": "shingles", "seed": 7}


def weights_of(text: str) -> dict[str, float]:
    """A weighted set for a text: its words, each with a weight that follows from it."""
    return {word: 0.1 + hashlib.blake2b(word.encode(), digest_size=1).digest()[0] % 7 for word in text.split()}


def ingest_weighted(report: Report, url: str, step: int) -> None:
    """As `ingest`, into an index of weighted sets."""
    while True:
        with twinset.Index.open(url) as index:
            for _ in range(40):
                planned = operation(step)
                if planned:
                    weighted = {id: weights_of(text) for id, text in planned.texts.items()}
                    Operation(planned.kind, weighted).apply(index)  # type: ignore[arg-type]
                report(step)
                step += 1


def ask_weighted(report: Report, url: str, seconds: float) -> None:
    """Ask for the nearest again and again while another writes: whatever is answered is of one state, and right."""
    end, asked = time.monotonic() + seconds, 0
    with twinset.Index.open(url, read_only=True) as index:
        while not asked or time.monotonic() < end:
            for row in index.query([weights_of(text_of(family, 0)) for family in range(9)], k=5).to_pylist():
                assert row["recall"] == 1.0
                assert 0 < row["similarity"] <= 1
            assert index.verify() == []
            asked += 1
    report(asked)


def ask_codes(report: Report, url: str, seconds: float) -> None:
    """Ask again and again while another writes: whatever is answered is of one state, and right."""
    end, asked = time.monotonic() + seconds, 0
    with twinset.Index.open(url, read_only=True) as index:
        while not asked or time.monotonic() < end:
            for row in index.query([code_of(text_of(family, 0)) for family in range(9)], k=5).to_pylist():
                assert row["recall"] == 1.0
                assert 0 <= row["distance"] <= 128
            assert index.verify() == []
            asked += 1
    report(asked)


def look_on(report: Report, path: str, seed: int) -> None:
    """Read a SQLite index as any program might, now and then for long, so that its log cannot be moved meanwhile."""
    dice = random.Random(seed)
    db = sqlite3.connect(path, isolation_level=None)
    report("looking")
    while True:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM documents").fetchall()
        time.sleep(dice.choice((0.0, 0.01, 0.2)))
        db.execute("COMMIT")
        time.sleep(dice.choice((0.0, 0.001, 0.02)))


def make(report: Report, url: str) -> None:
    report("begun")
    twinset.Index.create(url, **OPTIONS).close()
    report("done")


def compact(report: Report, url: str) -> None:
    with twinset.Index.open(url) as index:
        report("begun")
        index.compact()
        report("done")


def migrate(report: Report, url: str) -> None:
    report("begun")
    twinset.Index.migrate(url)
    report("done")


def export(report: Report, url: str, path: str) -> None:
    with twinset.Index.open(url, read_only=True) as index:
        report("begun")
        index.export(path, force=True)
        report("done")


def bring_in(report: Report, path: str, url: str) -> None:
    report("begun")
    twinset.Index.import_from(path, url).close()
    report("done")


def hold(report: Report, path: str, seconds: float) -> None:
    """Keep reading one state of a SQLite index, so that its log cannot be moved beyond it."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM documents").fetchall()
    report("holding")
    time.sleep(seconds)


def commit_slowly(report: Report, path: str, until: str) -> None:
    """Stay where a commit is when it has written one of the two heads of `-shm`, not yet the other, until a file is."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    shared = os.open(f"{path}-shm", os.O_RDWR)
    head = os.pread(shared, 48, 48)
    os.pwrite(shared, bytes(48), 48)
    report("half")
    while not os.path.exists(until):
        time.sleep(0.01)
    os.pwrite(shared, head, 48)
    db.execute("ROLLBACK")
    os.close(shared)  # not before: closing any handle of a file ends all locks of the process on it


def add_families(report: Report, url: str, first: int, last: int) -> None:
    """Add one family after the other, then wait to be killed."""
    index = twinset.Index.open(url)
    for family in range(first, last):
        index.add([f"{family}-{member}" for member in range(4)], [text_of(family, member) for member in range(4)])
        report(family)
    report("done")
    time.sleep(600)


def in_little_room(report: Report, work: str, url: str, most: int, out: str) -> None:
    """Do something while no file may grow beyond a size; report how that ended."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))  # Python ignores the signal
    ended: Any = "done"
    try:
        if work == "create":
            twinset.Index.create(url, **OPTIONS).close()
        else:
            with twinset.Index.open(url) as index:
                large(work, index, out)
    except TwinsetError as error:
        ended = {type(error).__name__: str(error)}
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    report(ended)


def large(work: str, index: twinset.Index, out: str) -> None:
    """Something that needs room: more documents, other texts for all, or for few, the file anew, or another one."""
    if work == "add":
        index.add([f"new-{number}" for number in range(200)], [text_of(number, 7) for number in range(200)])
    elif work == "update":
        ids = list(index)
        index.update(ids, [text_of(number, 8) for number in range(len(ids))])
    elif work == "remove":
        index.remove([id for number, id in enumerate(index) if number % 2])
    elif work == "compact":
        index.compact()
    else:
        index.export(out, force=True)


def add_many(report: Report, url: str, name: str, count: int, timeout: float) -> None:
    """Add documents in one call, which takes a while."""
    ids, texts = [f"{name}-{number}" for number in range(count)], [text_of(number, 1) for number in range(count)]
    with twinset.Index.open(url) as index:
        report("begun")
        index.add(ids, texts, timeout=timeout)
        report("done")


def add_often(report: Report, url: str, name: str, calls: int) -> None:
    """Add a few documents in each of many calls, whoever else does the same."""
    with twinset.Index.open(url) as index:
        for call in range(calls):
            ids = [f"{name}-{call}-{one}" for one in range(3)]
            index.add(ids, [text_of(call, one) for one in range(3)], timeout=300)
            report(call)


FAMILIES = 6
STATES = 4


def members_of(found: Any) -> list[set[int]]:
    """Which members of each family were found."""
    seen: list[set[int]] = [set() for _ in range(FAMILIES)]
    for query, id in zip(found.column("query").to_pylist(), found.column("id").to_pylist(), strict=True):
        family, _, member = id.partition("-")
        assert family == query
        seen[int(family)].add(int(member))
    return seen


def write_families(report: Report, url: str, until: str, compacts: bool) -> None:
    """Give each family one more member, change one of each, take one of each, in one call each time.

    It ends when there is a file of the name `until`.
    """
    member = 0
    with twinset.Index.open(url) as index:
        while not os.path.exists(until):
            index.add([f"{family}-{member}" for family in range(FAMILIES)], _texts(member, 0))
            if member % 3 == 2:
                index.update([f"{family}-{member - 1}" for family in range(FAMILIES)], _texts(member - 1, 1))
            if member >= 12:
                index.remove([f"{family}-{member - 12}" for family in range(FAMILIES)])
            if compacts and member % 25 == 24:
                index.compact()
            report(member)
            member += 1


def _texts(member: int, version: int) -> list[str]:
    return [text_of(family, member, version) for family in range(FAMILIES)]


def read_families(report: Report, url: str, seconds: float, read_only: bool) -> None:
    """Ask for all families together, again and again: in every answer each has the same members.

    It takes as long as was said, and as long as it takes to see some of what is written meanwhile.
    """
    end = time.monotonic() + seconds
    asked = {str(family): text_of(family, 0) for family in range(FAMILIES)}
    counts = {"answers": 0, "openings": 0, "states": 0}
    last: list[set[int]] = []
    while time.monotonic() < end or counts["states"] < STATES:
        counts["openings"] += 1
        with twinset.Index.open(url, read_only=read_only) as index:
            for number in range(30):
                seen = members_of(index.query(asked))
                assert all(one == seen[0] for one in seen), f"torn: {seen}"
                counts["answers"] += 1
                counts["states"] += seen != last
                assert not last or max(seen[0], default=0) >= max(last[0], default=0), "an older state came later"
                last = seen
                stats = index.stats()
                assert stats["documents"] % FAMILIES == 0, f"torn: {stats}"
                listed = sorted(id.partition("-")[2] for id in index)
                assert listed == sorted(listed[::FAMILIES] * FAMILIES), f"torn: {listed}"
                if number == 0:
                    assert index.verify() == []
                    counts["answers"] += 1
    report(counts)


def add_source(report: Report, url: str, path: str) -> None:
    with twinset.Index.open(url) as index:
        report("begun")
        index.add(Path(path))
        report("done")
