"""The store of verdicts: what stands, undo and redo, several people at once, and files that are none."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from twinset import BusyError, DamagedError, OptionError, OutputError, StateError, TwinsetError, VerdictChangedError
from twinset.verdicts import Content, Draft, VerdictStore, database, subject_of


def content(name: str) -> Content:
    return Content(name.encode().rjust(16, b"\0"), name)


A, B, C, D = map(content, "abcd")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VerdictStore]:
    with VerdictStore(tmp_path / "OUT.verdicts", basis="text word:5 seed=1") as made:
        yield made


def verdict(store: VerdictStore, left: Content, right: Content) -> str | None:
    state = store.pair(left.digest, right.digest)
    assert state == store.pair(right.digest, left.digest)
    return state.verdict if state else None


def test_a_verdict_is_kept_with_who_when_and_note(store: VerdictStore) -> None:
    assert (store.sequence, store.pair(A.digest, B.digest)) == (0, None)
    assert store.judge("different", B, A, who="Ann", note="another year") == 1
    state = store.pair(A.digest, B.digest)
    assert state is not None
    assert (state.verdict, state.left, state.right, state.who, state.note) == ("different", B, A, "Ann", "another year")
    assert (state.basis, state.number, state.changed) == ("text word:5 seed=1", 1, 1)
    assert 1.7e15 < state.time < 4e15
    assert store.states() == [state]
    assert store.verdicts([subject_of(B.digest, A.digest), subject_of(A.digest)]) == ["different", None]


def test_the_last_verdict_stands_and_the_history_has_all(store: VerdictStore) -> None:
    for kind, who in (("duplicate", "Ann"), ("unsure", "Bob"), ("different", "Ann")):
        store.judge(kind, A, B, who=who)
    assert verdict(store, A, B) == "different"
    store.judge("undecided", A, B, who="Cem")
    assert verdict(store, A, B) is None
    history = [(event.kind, event.who, undone) for event, undone in store.history(B.digest, A.digest)]
    assert history == [
        ("duplicate", "Ann", None),
        ("unsure", "Bob", None),
        ("different", "Ann", None),
        ("undecided", "Cem", None),
    ]
    assert store.verdicts_by_person(subject_of(A.digest, B.digest)) == {"Ann": "different", "Bob": "unsure"}


def test_each_person_undoes_and_redoes_their_own_steps(store: VerdictStore) -> None:
    store.judge("duplicate", A, B, who="Ann")
    store.judge("different", A, B, who="Bob")
    store.judge("duplicate", C, D, who="Ann")
    pair = subject_of(A.digest, B.digest)
    assert store.undo(who="Ann") == [subject_of(C.digest, D.digest)]
    assert store.undo(who="Ann") == [pair]
    assert store.undo(who="Ann") is None
    assert verdict(store, A, B) == "different"  # Bob's stands
    assert store.undo(who="Bob") == [pair]
    assert verdict(store, A, B) is None
    assert store.redo(who="Ann") == [pair]
    assert verdict(store, A, B) == "duplicate"
    assert store.redo(who="Bob") == [pair]
    assert verdict(store, A, B) == "different"  # it is the later one, as before
    assert store.redo(who="Ann") == [subject_of(C.digest, D.digest)]
    assert store.redo(who="Ann") is None
    assert store.counts() == {"duplicate": 1, "different": 1, "unsure": 0, "principal": 0, "conflicts": 0}


def test_a_new_verdict_ends_what_could_be_redone(store: VerdictStore) -> None:
    store.judge("duplicate", A, B, who="Ann")
    store.undo(who="Ann")
    store.judge("unsure", C, D, who="Bob")
    assert store.redo(who="Bob") is None
    store.judge("unsure", A, C, who="Ann")
    assert store.redo(who="Ann") is None
    assert verdict(store, A, B) is None


def test_a_step_can_be_named(store: VerdictStore) -> None:
    store.judge("duplicate", A, B, who="Ann")
    store.judge("unsure", C, D, who="Ann")
    step = store.history(A.digest, B.digest)[0][0].step
    assert store.undo(who="Bob", step=step) == [subject_of(A.digest, B.digest)]
    with pytest.raises(OptionError, match="cannot be undone"):
        store.undo(who="Bob", step=step)
    assert verdict(store, C, D) == "unsure"
    store.redo(who="Ann", step=step)
    with pytest.raises(OptionError, match="cannot be redone"):
        store.redo(who="Ann", step="none")


def test_a_member_is_taken_out_in_one_step(store: VerdictStore) -> None:
    store.judge("duplicate", A, C, who="Bob")
    store.take_out(A, [B, C, D], who="Ann", note="another author")
    assert [verdict(store, A, other) for other in (B, C, D)] == ["different"] * 3
    assert {state.note for state in store.states()} == {"another author"}
    store.undo(who="Ann")
    assert [verdict(store, A, other) for other in (B, C, D)] == [None, "duplicate", None]
    store.redo(who="Ann")
    assert verdict(store, A, D) == "different"


def test_a_principal_replaces_the_one_before(store: VerdictStore) -> None:
    store.name_principal(A, who="Ann")
    store.name_principal(B, who="Ann", instead_of=[A, B, C])
    assert (store.principal(A.digest), store.counts()["principal"]) == (None, 1)
    assert store.principal(B.digest) is not None
    store.undo(who="Ann")
    assert store.principal(A.digest) is not None
    assert store.principal(B.digest) is None
    store.withdraw_principal(A, who="Bob")
    assert store.counts()["principal"] == 0


def test_a_note_is_changed_and_the_change_undone(store: VerdictStore) -> None:
    store.judge("duplicate", A, B, who="Ann", note="first")
    store.annotate("second", B, A, who="Bob")
    state = store.pair(A.digest, B.digest)
    assert state is not None
    assert (state.note, state.who, state.verdict) == ("second", "Ann", "duplicate")
    store.undo(who="Bob")
    assert store.states()[0].note == "first"
    with pytest.raises(OptionError, match="no verdict"):
        store.annotate("none", C, D, who="Ann")


def test_a_later_verdict_is_not_overwritten_silently(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v") as one, VerdictStore(tmp_path / "v") as two:
        seen = one.sequence
        two.judge("different", A, B, who="Bob")
        with pytest.raises(VerdictChangedError, match="Bob has judged it different since") as caught:
            one.judge("duplicate", B, A, who="Ann", seen=seen)
        assert caught.value.state == two.pair(A.digest, B.digest)
        assert verdict(one, A, B) == "different"
        one.judge("duplicate", C, D, who="Ann", seen=seen)  # of another pair nothing is new
        one.judge("duplicate", A, B, who="Ann", seen=one.sequence)
        seen = two.sequence
        one.undo(who="Ann")  # the state has changed, too
        with pytest.raises(VerdictChangedError, match="different"):
            two.take_out(A, [D, B], who="Bob", seen=seen)
        assert verdict(two, A, D) is None  # all of a step or nothing
        two.judge("undecided", A, B, who="Bob")
        with pytest.raises(VerdictChangedError, match="was taken back"):
            one.judge("unsure", A, B, who="Ann", seen=seen)


def test_changes_are_those_since(store: VerdictStore) -> None:
    store.judge("duplicate", A, B, who="Ann")
    seen = store.sequence
    assert store.changes(seen) == []
    store.judge("duplicate", C, D, who="Ann")
    store.undo(who="Ann")
    store.undo(who="Ann")
    assert set(store.changes(seen)) == {subject_of(A.digest, B.digest), subject_of(C.digest, D.digest)}
    assert store.changes(0) == store.changes(seen)


def test_a_file_that_is_opened_again_has_the_same_state(store: VerdictStore) -> None:
    store.judge("duplicate", A, B, who="Ann", note="Zeichen: ünïcödé 汉字 🙂\n\ttwo lines")
    store.take_out(C, [A, D], who="Bob")
    store.undo(who="Bob")
    store.name_principal(D, who="Cem")
    with VerdictStore(store.name, read_only=True) as again:
        assert again.states() == store.states()
        assert again.counts() == store.counts()
        assert again.undone().keys() == store.undone().keys()
        with pytest.raises(OptionError, match="for reading only"):
            again.judge("unsure", A, B, who="Ann")
        store.judge("unsure", C, D, who="Ann")
        assert verdict(again, C, D) == "unsure"  # follows what others write


def test_many_threads_and_connections_lose_nothing(tmp_path: Path) -> None:
    count, path = 40, tmp_path / "v"
    with VerdictStore(path) as shared, VerdictStore(path) as other:

        def work(number: int) -> None:
            store = (shared, other)[number % 2]
            for at in range(count):
                store.judge("duplicate", content(f"x{number}"), content(f"y{at}"), who=f"person {number}")
                store.counts()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert shared.counts() == other.counts()
        assert shared.counts()["duplicate"] == 4 * count
        assert [event.number for event in shared.events()] == list(range(1, 4 * count + 1))
        times = [event.time for event in shared.events()]
        assert times == sorted(set(times))


def test_another_writer_is_waited_for_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 0.1)
    with VerdictStore(tmp_path / "v") as store:
        holding = apsw.Connection(str(tmp_path / "v"))
        holding.execute("BEGIN IMMEDIATE")
        with pytest.raises(BusyError, match=r"v: another program writes verdicts"):
            store.judge("duplicate", A, B, who="Ann")
        holding.execute("ROLLBACK")
        store.judge("duplicate", A, B, who="Ann")
        assert store.counts()["duplicate"] == 1
        holding.close()


def test_an_error_within_a_transaction_leaves_nothing(store: VerdictStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.judge("duplicate", A, B, who="Ann")
    with monkeypatch.context() as broken:
        broken.setattr(database.Database, "insert", lambda self, events: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.judge("different", A, B, who="Ann")
    assert verdict(store, A, B) == "duplicate"
    assert store.judge("different", A, B, who="Ann") == 2


@pytest.mark.parametrize(
    ("kind", "right", "words"),
    [
        ("different", A, "identical copies in every run"),
        ("duplicate", A, "there is nothing to judge"),
        ("similar", B, "a verdict is 'similar'; allowed: duplicate, different, unsure, undecided or note"),
        ("principal", B, "a verdict is 'principal'"),
        ("duplicate", Content(b"short", "b"), "a digest is"),
    ],
)
def test_what_says_nothing_is_refused(store: VerdictStore, kind: str, right: Content, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        store.judge(kind, A, right, who="Ann")
    assert store.sequence == 0


@pytest.mark.parametrize("who", ["", "  ", "a\nb", "x" * 201, "\u202e"])
def test_a_name_that_cannot_be_shown_is_refused(store: VerdictStore, who: str) -> None:
    with pytest.raises(OptionError, match="the name of the person"):
        store.judge("duplicate", A, B, who=who)


@pytest.mark.parametrize("note", ["\0", "\ud800", "x" * 10_001])
def test_a_note_that_cannot_be_stored_is_refused(store: VerdictStore, note: str) -> None:
    with pytest.raises(OptionError, match="a note is"):
        store.judge("duplicate", A, B, who="Ann", note=note)


def test_nothing_to_judge_is_refused(store: VerdictStore) -> None:
    with pytest.raises(OptionError, match="no pair was given"):
        store.take_out(A, [], who="Ann")


@pytest.mark.parametrize("id", ["", "'; DROP TABLE events; --", "a\0b", "\ud800", "🙂", "x" * 1000, "\r\n"])
def test_any_id_comes_back(store: VerdictStore, id: str) -> None:
    store.judge("duplicate", Content(A.digest, id), B, who="Ann")
    shown = store.states()[0].left.id
    assert shown == id.encode("utf-8", "backslashreplace").decode()


# Files that are none, and places where none can be.


def open_and_look(path: Path) -> list[object]:
    with VerdictStore(path, read_only=True) as store:
        return [store.states(), store.counts()]


def test_a_foreign_file_is_named(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other.sqlite"
    text.write_text("nothing of ours " * 100)
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t (x)")
    for path in (text, other):
        before = path.read_bytes()
        for read_only in (False, True):
            with pytest.raises(DamagedError, match=f"{path.name} is (damaged, or )?not a file of verdicts"):
                VerdictStore(path, read_only=read_only)
        assert path.read_bytes() == before


def test_another_format_is_named(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v") as store:
        store.judge("duplicate", A, B, who="Ann")
    with sqlite3.connect(tmp_path / "v") as db:
        db.execute("PRAGMA user_version = 9")
    with pytest.raises(StateError, match="v has format 9, and this version of Twinset reads format 1"):
        VerdictStore(tmp_path / "v")


def test_a_store_that_is_only_looked_at_makes_no_file(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v") as one, VerdictStore(tmp_path / "v") as two:
        assert (one.sequence, one.states(), one.events(), one.conflicts()) == (0, [], [], [])
        assert list(tmp_path.iterdir()) == []
        two.judge("duplicate", A, B, who="Bob")
        assert verdict(one, A, B) == "duplicate"
        one.judge("different", A, B, who="Ann", seen=one.sequence)
        assert [event.who for event in two.events()] == ["Bob", "Ann"]
    with pytest.raises(StateError, match="the verdicts were closed"):
        one.judge("duplicate", A, B, who="Ann")


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder"):
        VerdictStore(tmp_path)
    with pytest.raises(OutputError, match="there is no folder"):
        VerdictStore(tmp_path / "no" / "v")
    with pytest.raises(StateError, match="no such file of verdicts"):
        VerdictStore(tmp_path / "v", read_only=True)
    assert not (tmp_path / "v").exists()


def test_an_empty_file_becomes_one(tmp_path: Path) -> None:
    (tmp_path / "v").touch()  # what a kill leaves between making the file and its tables
    with VerdictStore(tmp_path / "v") as store:
        assert store.sequence == 0


def test_damage_is_never_another_verdict(tmp_path: Path) -> None:
    path = tmp_path / "OUT.verdicts"
    with VerdictStore(path) as store:
        store.judge_all(
            [Draft("duplicate", content(f"a{n}"), content(f"b{n}"), "a note of some length " * 3) for n in range(30)],
            who="Ann",
        )
        store.judge("different", content("a1"), content("b1"), who="Bob")
        store.undo(who="Bob")
    expected, whole = open_and_look(path), path.read_bytes()
    noticed: list[str] = []
    for at in [*range(0, 120, 7), *range(120, len(whole), 211)]:
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        path.write_bytes(changed)
        try:
            assert open_and_look(path) == expected, at
        except TwinsetError as error:
            noticed.append(str(error))
    assert len(noticed) > 20
    assert all(str(path) in one for one in noticed)
    for size in range(1, len(whole), 997):
        path.write_bytes(whole[:size])
        with pytest.raises(StateError, match=r"OUT\.verdicts"):
            open_and_look(path)


def test_an_event_that_was_changed_or_removed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "v"
    for statement in (
        "UPDATE events SET kind = 'duplicate' WHERE number = 2",
        "UPDATE events SET who = 'Bob' WHERE number = 1",
        "DELETE FROM events WHERE number = 2",
        "DELETE FROM events WHERE number = 1",
    ):
        path.unlink(missing_ok=True)
        with VerdictStore(path) as store:
            for kind in ("duplicate", "different", "unsure"):
                store.judge(kind, A, B, who="Ann")
        with sqlite3.connect(path) as db:
            db.execute(statement)
        with pytest.raises(DamagedError, match=r"v is damaged: event . was changed or lost"):
            VerdictStore(path)
