"""Export the log as CSV or JSON lines, and import it again: exact, and harmless when repeated.

An event keeps its mark, its time and its person. So logs of several people merge to the same log in any order, and of
two verdicts on a pair the later one stands, wherever it was made.
"""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from twinset.errors import OptionError, RowError, SourceError, StateError
from twinset.options.checks import new_file, shown_value
from twinset.schema import DIGEST_BYTES
from twinset.system.atomic_files import replace_atomically
from twinset.system.scratch import cannot_write
from twinset.verdicts.events import (
    KINDS,
    PAIR_KINDS,
    REDO,
    SAMPLE,
    SAMPLED,
    UNDO,
    Event,
    Subject,
    check_name,
    check_note,
)
from twinset.verdicts.sample import check_facts
from twinset.verdicts.store import VerdictStore
from twinset.wording import at_line, either

__all__ = ["ENDINGS", "Imported", "export_events", "import_events"]

ENDINGS = (".csv", ".jsonl")
COLUMNS = ("mark", "step", "time", "who", "kind", "left", "right", "left_id", "right_id", "note", "undone_by", "of",
           "basis", "data")  # fmt: skip
_DIGESTS = ("left", "right")
_START = datetime(1970, 1, 1, tzinfo=UTC)
_AHEAD = 86_400_000_000  # a clock may be a day ahead


@dataclass(frozen=True)
class Imported:
    """What an import did.

    `added` events are new and `known` were there already. `changed` are the subjects whose verdict is another one now.
    `disputed` are the subjects that people judge differently, each with the last verdict of each person.
    """

    added: int
    known: int
    changed: tuple[Subject, ...]
    disputed: tuple[tuple[Subject, dict[str, str]], ...]


def export_events(store: VerdictStore, path: str | os.PathLike[str], *, force: bool = False) -> int:
    """Write all events to a file that ends in .csv or .jsonl, in the order of time; return their number."""
    ending = _ending(path)
    new_file(path, force)
    events = sorted(store.events(), key=lambda one: one.order)
    undone = {of: event.mark for of, event in store.undone().items()}
    rows = ({**_row(one), "undone_by": undone.get(one.step, "")} for one in events)
    text = "".join(_as_csv(rows) if ending == ".csv" else _as_json_lines(rows))
    with replace_atomically(Path(path), durably=True) as draft:
        try:
            draft.write_bytes(text.encode())
        except OSError as error:
            raise cannot_write(Path(path), error) from error
    return len(events)


def import_events(store: VerdictStore, path: str | os.PathLike[str]) -> Imported:
    """Add the events of an export that the file does not have yet; a wrong row raises `RowError` and adds nothing."""
    name = os.fspath(path)
    read = _csv_rows if _ending(path) == ".csv" else _json_rows
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=name) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"it is not UTF-8 ({error}); export it again", where=name) from error
    found = [_event(row, at_line(name, line)) for line, row in read(text, name)]
    known = {one.mark: one for one in store.events()}
    steps = {one.step for one in (*known.values(), *found)}
    named = {one.mark: one for one in found}
    for one in found:
        if one.mark in known and known[one.mark].numbered(0) != one:
            raise SourceError(f"the event {one.mark} is not the one of {store.name}: one was changed", where=name)
        if named[one.mark] != one:
            raise SourceError(f"the event {one.mark} is there twice, and one was changed", where=name)
        if one.kind in (UNDO, REDO) and one.of not in steps:
            raise SourceError(f"the event {one.mark} is an {one.kind} of {one.of}, which is missing", where=name)
    added = [one for mark, one in named.items() if mark not in known]
    before, seen = {one: store.state(one) for one in _subjects(added, known)}, store.sequence
    store.append(added)
    after = {subject: store.state(subject) for subject in {*before, *store.changes(seen)}}
    changed = [one for one, state in before.items() if _kind(state) not in (None, _kind(after[one]))]
    disputes = ((one, store.verdicts_by_person(one)) for one in sorted(after))
    disputed = tuple((one, by) for one, by in disputes if len(set(by.values())) > 1)
    return Imported(len(added), len(found) - len(added), tuple(sorted(changed)), disputed)


def _kind(state: Any) -> str | None:
    return None if state is None else str(state.verdict)


def _subjects(added: Iterable[Event], known: Mapping[str, Event]) -> set[Subject]:
    """Return what some new events are on, as far as that is known before."""
    of = {one.of for one in added if one.of}
    return {one.subject for one in added if one.left} | {one.subject for one in known.values() if one.step in of}


def _ending(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise OptionError(f"{os.fspath(path)} has no known ending; allowed: a file that ends in {either(ENDINGS)}")
    return ending


def _row(event: Event) -> dict[str, str]:
    row: dict[str, Any] = {name: getattr(event, name, "") for name in COLUMNS}
    when = _START + timedelta(microseconds=event.time)
    return {**row, "time": when.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), **{one: row[one].hex() for one in _DIGESTS}}


def _as_csv(rows: Iterable[dict[str, str]]) -> Iterator[str]:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)  # a lone \r, too
    writer.writeheader()
    writer.writerows(rows)
    yield out.getvalue()


def _as_json_lines(rows: Iterable[dict[str, str]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps({name: row[name] for name in COLUMNS}, ensure_ascii=False) + "\n"


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(reader, [])
        if tuple(head) != COLUMNS:
            raise RowError(f"the columns are not those of an export: {', '.join(COLUMNS)}", where=at_line(name, 1))
        line = reader.line_num + 1
        for row in reader:
            if len(row) != len(COLUMNS):
                raise RowError(f"it has {len(row)} values for {len(COLUMNS)} columns", where=at_line(name, line))
            yield line, dict(zip(COLUMNS, row, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise RowError(f"not a row of CSV: {error}", where=at_line(name, reader.line_num)) from error


def _json_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, one in enumerate(text.split("\n"), 1):
        if not one.strip():
            continue
        try:
            row = json.loads(one)
        except (ValueError, RecursionError) as error:
            raise RowError(f"not a line of JSON: {error}", where=at_line(name, line)) from error
        if not isinstance(row, dict) or set(row) != set(COLUMNS) or not all(isinstance(v, str) for v in row.values()):
            raise RowError(f"not an object of strings with the keys {', '.join(COLUMNS)}", where=at_line(name, line))
        yield line, row


def _event(row: Mapping[str, str], where: str) -> Event:
    """Make an event of a row; raise `RowError` if it cannot be one."""

    def refuse(name: str, allowed: str) -> RowError:
        return RowError(f"{name} is {shown_value(row[name])}; allowed: {allowed}", where=where)

    def digest(name: str, *, may_lack: bool) -> bytes:
        try:
            value = bytes.fromhex(row[name])
        except ValueError:
            value = b"?"
        if value.hex() != row[name] or len(value) not in ((0, DIGEST_BYTES) if may_lack else (DIGEST_BYTES,)):
            raise refuse(name, f"{2 * DIGEST_BYTES} hexadecimal digits")
        return value

    kind = row["kind"]
    if kind not in KINDS:
        raise refuse("kind", either(KINDS))
    of_log, of_pair = kind in (UNDO, REDO, SAMPLE), kind in (*PAIR_KINDS, SAMPLED)
    for name in ("mark", "step", *(("of",) if kind in (UNDO, REDO) else ())):
        if len(row[name]) != 32 or not _is_hexadecimal(row[name]):
            raise refuse(name, "32 hexadecimal digits")
    for name, check in _CHECKS.items():
        try:
            fits = check(row[name]) == row[name]
        except OptionError as error:
            raise RowError(str(error), where=where) from error
        if not fits:
            raise refuse(name, "a text without white space around it")
    try:
        when = datetime.strptime(row["time"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise refuse("time", "a time such as 2026-01-31T23:59:59.000000Z") from error
    microseconds = (when - _START) // timedelta(microseconds=1)
    if not 0 < microseconds < time.time_ns() // 1000 + _AHEAD:
        raise refuse("time", "a time since 1970 that is not in the future; correct the clock that made it")
    left = digest("left", may_lack=of_log)
    right = digest("right", may_lack=not of_pair)
    if bool(left) == of_log or (right and right == left) or (kind == "principal" and right):
        raise RowError(f"{kind} needs other contents: two different ones, or one for principal", where=where)
    event = Event(
        mark=row["mark"], step=row["step"], time=microseconds, who=row["who"], kind=kind, left=left, right=right,
        left_id=row["left_id"], right_id=row["right_id"], note=row["note"], of=row["of"], basis=row["basis"],
        data=row["data"],
    )  # fmt: skip
    if kind in (SAMPLE, SAMPLED):
        try:
            check_facts(event)
        except StateError as error:
            raise RowError(str(error), where=where) from error
    return event


def _is_hexadecimal(text: str) -> bool:
    return all(letter in "0123456789abcdef" for letter in text)


_CHECKS: dict[str, Callable[[str], object]] = {"who": check_name, "note": check_note}
