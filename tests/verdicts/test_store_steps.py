"""Any order of verdicts, undo, redo and imports: the store agrees with a slow and obvious replay of its log."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from twinset.verdicts import Content, Draft, Event, Subject, VerdictStore, export_events, import_events, subject_of

CONTENTS = [Content(bytes([number]) * 16, f"d{number}") for number in range(1, 6)]
PEOPLE = ("Ann", "Bob")
people = st.sampled_from(PEOPLE)
contents = st.sampled_from(CONTENTS)
pairs = st.tuples(contents, contents).filter(lambda pair: pair[0] != pair[1])
kinds = st.sampled_from(["duplicate", "different", "unsure", "undecided"])


def replayed(events: list[Event]) -> dict[Subject, tuple[str, str, str]]:
    """The verdict that stands on each subject, with its person and note, from the whole log at once."""
    undone: set[str] = set()
    for event in events:
        if event.kind == "undo":
            undone.add(event.of)
        elif event.kind == "redo":
            undone.discard(event.of)
    found: dict[Subject, tuple[str, str, str]] = {}
    for event in events:
        subject = subject_of(event.left, event.right)
        if event.step in undone or event.kind in ("undo", "redo"):
            continue
        if event.kind == "undecided":
            found.pop(subject, None)
        elif event.kind == "note":
            if subject in found:
                found[subject] = (*found[subject][:2], event.note)
        else:
            found[subject] = (event.kind, event.who, event.note)
    return found


def conflicts(states: dict[Subject, tuple[str, str, str]]) -> set[Subject]:
    """The pairs judged different, and the first of the principals with each other, that duplicates join."""
    joined = {one.digest: {one.digest} for one in CONTENTS}
    for (left, right), (kind, _, _) in states.items():
        if kind == "duplicate":
            both = joined[left] | joined[right]
            for one in both:
                joined[one] = both
    found = {pair for pair, (kind, *_) in states.items() if kind == "different" and pair[1] in joined[pair[0]]}
    principals = sorted(left for (left, right) in states if not right)
    for one in principals:
        first = min(other for other in principals if other in joined[one])
        if first != one:
            found.add((first, one))
    return found


class Steps(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.stores = [VerdictStore(Path(self.folder.name) / f"{number}") for number in range(2)]
        self.exports = 0

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()

    @rule(at=st.integers(0, 1), kind=kinds, pair=pairs, who=people, note=st.sampled_from(["", "why"]))
    def judge(self, at: int, kind: str, pair: tuple[Content, Content], who: str, note: str) -> None:
        self.stores[at].judge(kind, *pair, who=who, note=note)

    @rule(at=st.integers(0, 1), one=contents, others=st.lists(contents, max_size=2), who=people)
    def principal(self, at: int, one: Content, others: list[Content], who: str) -> None:
        self.stores[at].name_principal(one, who=who, instead_of=others)

    @rule(at=st.integers(0, 1), pair=pairs, third=contents, who=people)
    def step_of_two(self, at: int, pair: tuple[Content, Content], third: Content, who: str) -> None:
        drafts = [Draft("different", pair[0], other) for other in (pair[1], third) if other != pair[0]]
        self.stores[at].judge_all(drafts, who=who)

    @rule(at=st.integers(0, 1), pair=pairs, who=people)
    def annotate(self, at: int, pair: tuple[Content, Content], who: str) -> None:
        if self.stores[at].pair(pair[0].digest, pair[1].digest):
            self.stores[at].annotate("changed", *pair, who=who)

    @rule(at=st.integers(0, 1), who=people, again=st.booleans())
    def turn(self, at: int, who: str, again: bool) -> None:
        (self.stores[at].redo if again else self.stores[at].undo)(who=who)

    @rule(at=st.integers(0, 1), ending=st.sampled_from([".csv", ".jsonl"]))
    def merge(self, at: int, ending: str) -> None:
        self.exports += 1
        path = Path(self.folder.name) / f"export{self.exports}{ending}"
        export_events(self.stores[1 - at], path)
        done = import_events(self.stores[at], path)
        assert import_events(self.stores[at], path).added == 0
        assert done.added + done.known == len(self.stores[1 - at].events())

    @invariant()
    def agrees(self) -> None:
        for store in getattr(self, "stores", []):
            expected = replayed(sorted(store.events(), key=lambda one: one.order))
            found = {
                subject_of(one.left.digest, one.right.digest if one.right else b""): (one.verdict, one.who, one.note)
                for one in store.states()
            }
            assert found == expected
            counts = store.counts()
            for kind in ("duplicate", "different", "unsure", "principal"):
                assert counts[kind] == sum(verdict == kind for verdict, _, _ in expected.values())
            ends = {subject_of(one.contents[0].digest, one.contents[-1].digest) for one in store.conflicts()}
            assert ends == conflicts(expected)
            assert counts["conflicts"] == len(store.conflicts()) == len(ends)
            if not Path(store.name).exists():  # nothing was stored yet
                assert not store.states()
                continue
            with VerdictStore(store.name, read_only=True) as again:
                assert {one.subject: one for one in map(_Plain, again.states())} == {
                    one.subject: one for one in map(_Plain, store.states())
                }
                assert again.conflicts() == store.conflicts()


class _Plain:
    """A state without its place in the file's history, which differs between a replay and what was seen as it came."""

    def __init__(self, state: object) -> None:
        self.state = state
        right = state.right.digest if state.right else b""  # type: ignore[attr-defined]
        self.subject = subject_of(state.left.digest, right)  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Plain) and self.state == other.state

    __hash__ = None  # type: ignore[assignment]


TestSteps = Steps.TestCase
TestSteps.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
