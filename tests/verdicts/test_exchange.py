"""Exports are exact, imports merge and can be repeated, and a wrong row adds nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset import OptionError, OutputError, RowError, SourceError
from twinset.verdicts import Content, VerdictStore, export_events, import_events, subject_of

ODD = ["", "a,b", 'say "no"', "two\nlines", "a\rb", "a\r\nb", "\0", "\ufeff", "=1+1", " space ", "汉字 🙂 \u2028", "'"]


def content(number: int, id: str | None = None) -> Content:
    return Content(bytes([number]) * 16, f"d{number}" if id is None else id)


A, B, C, D = map(content, range(1, 5))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VerdictStore]:
    with VerdictStore(tmp_path / "OUT.verdicts", basis="text word:5 seed=1") as made:
        for number, id in enumerate(ODD):
            note = id if "\0" not in id else ""
            made.judge("duplicate", content(1, id), content(10 + number, id), who="Ann", note=note)
        made.name_principal(A, who="Bob")
        made.take_out(B, [C, D], who="Bob")
        made.undo(who="Bob")
        made.judge("unsure", A, C, who="Ann")
        made.undo(who="Ann")
        made.redo(who="Ann")
        yield made


def same(one: VerdictStore, other: VerdictStore) -> None:
    assert [event.numbered(0) for event in one.events()] == [event.numbered(0) for event in other.events()]
    assert one.counts() == other.counts()
    states = [[(s.verdict, s.left, s.right, s.who, s.time, s.note, s.basis) for s in x.states()] for x in (one, other)]
    assert states[0] == states[1]


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_round_trip_is_exact(store: VerdictStore, tmp_path: Path, ending: str) -> None:
    first, second = tmp_path / f"first{ending}", tmp_path / f"second{ending}"
    assert export_events(store, first) == len(store.events())
    with VerdictStore(tmp_path / "copy") as copy:
        done = import_events(copy, first)
        assert (done.added, done.known, done.changed, done.disputed) == (len(store.events()), 0, (), ())
        same(store, copy)
        export_events(copy, second)
        assert second.read_bytes() == first.read_bytes()
        before = copy.sequence
        done = import_events(copy, first)
        assert (done.added, done.known, copy.sequence) == (0, len(store.events()), before)
        assert copy.undo(who="Ann") is not None  # a copy has the steps of each person, too


def test_other_programs_can_read_an_export(store: VerdictStore, tmp_path: Path) -> None:
    export_events(store, tmp_path / "x.csv")
    export_events(store, tmp_path / "x.jsonl")
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows == [json.loads(line) for line in (tmp_path / "x.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert [row["left_id"] for row in rows[: len(ODD)]] == ODD
    assert rows[0]["left"] == A.digest.hex()
    gone = [row for row in rows if row["undone_by"]]
    assert [row["kind"] for row in gone] == ["different", "different"]
    assert rows[0]["time"].endswith("Z")


def test_merges_agree_in_any_order(store: VerdictStore, tmp_path: Path) -> None:
    """Two people judge on; each imports the other's export, and a third imports both, in the other order."""
    export_events(store, tmp_path / "start.csv")
    stores = [VerdictStore(tmp_path / name) for name in ("ann", "bob", "all")]
    ann, bob, both = stores
    for one in (ann, bob):
        import_events(one, tmp_path / "start.csv")
    ann.judge("duplicate", B, C, who="Ann")
    bob.judge("different", C, B, who="Bob", note="later")
    bob.judge("duplicate", A, D, who="Bob")
    ann.judge("unsure", A, D, who="Ann")
    ann.undo(who="Ann")
    export_events(ann, tmp_path / "ann.csv")
    export_events(bob, tmp_path / "bob.jsonl")
    done = import_events(ann, tmp_path / "bob.jsonl")
    pair = subject_of(B.digest, C.digest)
    assert (done.added, done.changed) == (2, (pair,))
    assert done.disputed == ((pair, {"Ann": "duplicate", "Bob": "different"}),)
    done = import_events(bob, tmp_path / "ann.csv")
    assert (done.added, done.changed) == (3, ())  # the older verdict is in the history, and the later one stands
    import_events(both, tmp_path / "bob.jsonl")
    import_events(both, tmp_path / "ann.csv")
    exports = []
    for number, one in enumerate(stores):
        state = one.pair(B.digest, C.digest)
        assert state is not None
        assert (state.verdict, state.who, state.note) == ("different", "Bob", "later")
        export_events(one, tmp_path / f"merged{number}.csv")
        exports.append((tmp_path / f"merged{number}.csv").read_bytes())
        with VerdictStore(one.name, read_only=True) as again:
            assert again.counts() == one.counts()
        one.close()
    assert len(set(exports)) == 1


def test_what_was_imported_counts_as_changed(store: VerdictStore, tmp_path: Path) -> None:
    from twinset import VerdictChangedError

    with VerdictStore(tmp_path / "bob") as bob:
        bob.judge("different", A, D, who="Bob")
        export_events(bob, tmp_path / "bob.csv")
    seen = store.sequence
    import_events(store, tmp_path / "bob.csv")
    with pytest.raises(VerdictChangedError):
        store.judge("duplicate", A, D, who="Ann", seen=seen)


def test_an_existing_file_stays_unless_told(store: VerdictStore, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        export_events(store, path)
    assert path.read_text() == "mine"
    export_events(store, path, force=True)
    assert path.read_text() != "mine"
    with pytest.raises(OptionError, match=r"x\.txt has no known ending; allowed: a file that ends in \.csv or \.jsonl"):
        export_events(store, tmp_path / "x.txt")


def row(**other: Any) -> dict[str, Any]:
    return {
        "mark": "a" * 32, "step": "a" * 32, "time": "2026-01-31T10:00:00.000000Z", "who": "Ann", "kind": "duplicate",
        "left": "01" * 16, "right": "02" * 16, "left_id": "a", "right_id": "b", "note": "", "undone_by": "", "of": "",
        "basis": "text", "data": "", **other,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"mark": "x"}, "mark is 'x'; allowed: 32 hexadecimal digits"),
        ({"step": "A" * 32}, "step is"),
        ({"kind": "same"}, "kind is 'same'"),
        ({"time": "yesterday"}, "time is 'yesterday'"),
        ({"time": "2999-01-01T00:00:00.000000Z"}, "not in the future"),
        ({"time": "1969-12-31T23:59:59.000000Z"}, "since 1970"),
        ({"left": "zz" * 16}, "left is"),
        ({"left": "01"}, "left is"),
        ({"right": ""}, "right is"),
        ({"right": "01" * 16}, "needs other contents"),
        ({"kind": "principal"}, "needs other contents"),
        ({"kind": "undo", "of": "a" * 32}, "needs other contents"),
        ({"kind": "undo", "left": "", "right": "", "of": ""}, "of is ''"),
        ({"kind": "sample", "left": "", "right": "", "data": "{"}, "no numbers of a sample"),
        ({"kind": "sampled", "data": '{"score": 1, "stratum": -1, "weight": 1}'}, "no numbers of a sample"),
        ({"who": ""}, "the name of the person"),
        ({"who": " Ann"}, "white space"),
        ({"note": "\0"}, "a note is"),
        ({"extra": "x"}, "not an object of strings with the keys"),
        ({"note": 7}, "not an object of strings with the keys"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_added(tmp_path: Path, other: dict[str, Any], words: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row(mark="b" * 32, step="b" * 32)) + "\n" + json.dumps(row(**other)) + "\n")
    with VerdictStore(tmp_path / "v") as store:
        with pytest.raises(RowError, match=r"x\.jsonl, line 2: ") as caught:
            import_events(store, path)
        assert words in str(caught.value)
        assert store.sequence == 0


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.csv", "left,right\n1,2\n", "line 1: the columns are not those of an export"),
        ("x.csv", "", "line 1: the columns"),
        ("x.csv", ",".join(row()) + "\na,b\n", "line 2: it has 2 values for 14 columns"),
        ("x.csv", ",".join(row()) + '\n"a\n', "not a row of CSV"),
        ("x.jsonl", "[]\n", "line 1: not an object"),
        ("x.jsonl", "{\n", "line 1: not a line of JSON"),
        ("x.jsonl", "[" * 100_000, "line 1: not a line of JSON"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with VerdictStore(tmp_path / "v") as store, pytest.raises(RowError, match=words):
        import_events(store, tmp_path / name)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe")
    with VerdictStore(tmp_path / "v") as store:
        with pytest.raises(SourceError, match=r"x\.csv: it is not UTF-8"):
            import_events(store, tmp_path / "x.csv")
        with pytest.raises(SourceError, match=r"no\.csv: cannot be read: No such file"):
            import_events(store, tmp_path / "no.csv")


def test_a_changed_event_and_an_undo_of_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with VerdictStore(tmp_path / "v") as store:
        path.write_text(json.dumps(row()))
        assert import_events(store, path).added == 1
        path.write_text(json.dumps(row(kind="different")))
        with pytest.raises(SourceError, match="one was changed"):
            import_events(store, path)
        path.write_text(f"{json.dumps(row(mark='e' * 32))}\n{json.dumps(row(mark='e' * 32, note='x'))}\n")
        with pytest.raises(SourceError, match="is there twice, and one was changed"):
            import_events(store, path)
        path.write_text(json.dumps(row(mark="c" * 32, step="c" * 32, kind="undo", left="", right="", of="d" * 32)))
        with pytest.raises(SourceError, match="which is missing"):
            import_events(store, path)
        assert store.counts()["duplicate"] == 1


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(texts, texts.filter(lambda text: "\0" not in text), st.sampled_from([".csv", ".jsonl"]))
def test_any_id_and_note_survive(tmp_path_factory: pytest.TempPathFactory, id: str, note: str, ending: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    with VerdictStore(folder / "one") as one, VerdictStore(folder / "two") as two:
        one.judge("duplicate", content(1, id), B, who="Ann", note=note)
        export_events(one, folder / f"x{ending}")
        import_events(two, folder / f"x{ending}")
        same(one, two)
