"""The store of verdicts: judge, undo, redo, and look up what stands."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self
from uuid import uuid4

from twinset.errors import OptionError, VerdictChangedError
from twinset.options.checks import shown_value
from twinset.verdicts.database import Database
from twinset.verdicts.events import (
    NOTE,
    PAIR_KINDS,
    REDO,
    SAMPLE,
    SAMPLED,
    UNDECIDED,
    UNDO,
    Content,
    Event,
    Subject,
    check_content,
    check_name,
    check_note,
    subject_of,
)
from twinset.verdicts.present import Present, State
from twinset.wording import either, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinset.verdicts.conflicts import Conflict, Conflicts


class Draft(NamedTuple):
    """One verdict to be stored: its kind, its contents, and a note."""

    kind: str
    left: Content
    right: Content | None = None
    note: str = ""


class VerdictStore:
    """A file of verdicts, open for reading and writing; any number of programs and threads may use it.

    Parameters
    ----------
    path
        The file; if it does not exist, the first verdict makes it.
    basis
        How the contents of the result are compared (`result basis`); stored with each verdict.
    read_only
        Refuse to write, and to make the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, basis: str = "", read_only: bool = False) -> None:
        self.name, self.basis, self.read_only = os.fspath(path), basis, read_only
        self._lock = threading.RLock()
        self._database = Database(self.name, read_only=read_only)
        self._present = Present()
        self._conflicts: Conflicts | None = None
        self._number = 0
        self._touched: list[tuple[int, Subject]] = []  # (event, what it is on), by event
        self._refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    # What stands

    @property
    def sequence(self) -> int:
        """The number of the last event. A page that was made now passes it as `seen` with each verdict."""
        with self._lock:
            return self._refresh()

    def pair(self, left: bytes, right: bytes) -> State | None:
        """Return the verdict that stands on a pair of contents; None if it is undecided."""
        return self.state(subject_of(left, right))

    def principal(self, digest: bytes) -> State | None:
        """Return the verdict that this content is the kept one of its cluster; None if there is none."""
        return self.state(subject_of(digest))

    def state(self, subject: Subject) -> State | None:
        """Return the verdict that stands on a subject."""
        with self._lock:
            self._refresh()
            return self._present.states.get(subject)

    def verdicts(self, subjects: Iterable[Subject]) -> list[str | None]:
        """Return the verdict on each of many subjects; None where it is undecided."""
        with self._lock:
            self._refresh()
            states = self._present.states
            return [None if (state := states.get(one)) is None else state.verdict for one in subjects]

    def states(self) -> list[State]:
        """Return every verdict that stands, in the order of the log."""
        with self._lock:
            self._refresh()
            return sorted(self._present.states.values(), key=lambda one: one.number)

    def counts(self) -> dict[str, int]:
        """Count the verdicts that stand, by kind, and the conflicts."""
        with self._lock:
            conflicts = len(self.conflicts())
            kinds = (*PAIR_KINDS, "principal")
            return {**{kind: self._present.counts[kind] for kind in kinds}, "conflicts": conflicts}

    def changes(self, since: int) -> list[Subject]:
        """Return the subjects on which there were events after number `since`."""
        with self._lock:
            self._refresh()
            chosen: dict[Subject, None] = {}
            for number, subject in reversed(self._touched):
                if number <= since:
                    break
                chosen[subject] = None
            return list(chosen)

    def history(self, left: bytes, right: bytes = b"") -> list[tuple[Event, Event | None]]:
        """Return the events on a pair or a content in order, each with the ``undo`` that took it back."""
        with self._lock:
            self._refresh()
            return self._present.history(subject_of(left, right))

    def events(self) -> list[Event]:
        """Read the whole log."""
        if not self.read_only and not os.path.exists(self.name):
            return []
        with self._lock, Database(self.name, read_only=True) as log:
            return log.read()

    def undone(self) -> dict[str, Event]:
        """Return the steps that are undone, each with the event that undid it."""
        with self._lock:
            self._refresh()
            return dict(self._present.undone)

    def verdicts_by_person(self, subject: Subject) -> dict[str, str]:
        """Return the last verdict of each person on a subject, without those that are undone or withdrawn."""
        last: dict[str, str] = {}
        for event, undone in self.history(*subject):
            if undone is None and event.kind != NOTE:
                last[event.who] = event.kind
        return {who: kind for who, kind in last.items() if kind != UNDECIDED}

    def conflicts(self) -> list[Conflict]:
        """Return the conflicts: contents joined by ``duplicate`` verdicts that hold a pair judged ``different``."""
        from twinset.verdicts.conflicts import Conflicts

        with self._lock:
            self._refresh()
            if self._conflicts is None:
                self._conflicts = Conflicts(self._present.states)
            return self._conflicts.found()

    def samples(self) -> list[Event]:
        """Return the events of all samples."""
        with self._lock:
            self._refresh()
            return list(self._present.samples)

    # Judging

    def judge(
        self, verdict: str, left: Content, right: Content, *, who: str, note: str = "", seen: int | None = None
    ) -> int:
        """Store a verdict on a pair: ``duplicate``, ``different``, ``unsure``, or ``undecided`` to withdraw one.

        Parameters
        ----------
        verdict, left, right
            The verdict and the two contents.
        who
            The name of the person.
        note
            A note on the verdict.
        seen
            `sequence` as of the page that the person saw. If the pair was judged later, nothing is stored and
            `VerdictChangedError` is raised.

        Returns
        -------
        int
            The new `sequence`. The verdict is on the disk when the call returns.
        """
        return self.judge_all([Draft(verdict, left, right, note)], who=who, seen=seen)

    def name_principal(
        self, content: Content, *, who: str, instead_of: Sequence[Content] = (), note: str = "", seen: int | None = None
    ) -> int:
        """Store that this content is the kept one of its cluster, `instead_of` others that were named before."""
        with self._lock:
            named = [one for one in instead_of if self.principal(one.digest) and one.digest != content.digest]
        drafts = [Draft(UNDECIDED, one) for one in named]
        return self.judge_all([*drafts, Draft("principal", content, None, note)], who=who, seen=seen)

    def withdraw_principal(self, content: Content, *, who: str, seen: int | None = None) -> int:
        """Take back that this content is the kept one of its cluster."""
        return self.judge_all([Draft(UNDECIDED, content)], who=who, seen=seen)

    def take_out(
        self, member: Content, others: Sequence[Content], *, who: str, note: str = "", seen: int | None = None
    ) -> int:
        """Take a member out of its cluster: it is ``different`` from each of the others. One step, undone as one."""
        drafts = [Draft("different", member, other, note) for other in others]
        return self.judge_all(drafts, who=who, seen=seen)

    def annotate(
        self, note: str, left: Content, right: Content | None = None, *, who: str, seen: int | None = None
    ) -> int:
        """Change the note on a verdict."""
        if self.state(subject_of(left.digest, right.digest if right else b"")) is None:
            raise OptionError("there is no verdict to write a note on; judge the pair first")
        return self.judge_all([Draft(NOTE, left, right, note)], who=who, seen=seen)

    def judge_all(self, drafts: Sequence[Draft], *, who: str, seen: int | None = None) -> int:
        """Store several verdicts in one transaction, undone as one step."""
        who, mark = check_name(who), uuid4().hex
        checked = [_checked(draft) for draft in drafts]
        if not checked:
            raise OptionError("there is nothing to judge: no pair was given")
        with self._writing() as now:
            for draft in checked:
                self._refuse_changed(draft, seen)
            marks = [mark, *(uuid4().hex for _ in checked[1:])]
            events = [
                _event(draft, own, mark, now + at, who, self.basis)
                for at, (own, draft) in enumerate(zip(marks, checked, strict=True))
            ]
            return self._commit(events)

    def undo(self, *, who: str, step: str | None = None) -> list[Subject] | None:
        """Take back the last step of a person, or a given one; return what it was on, or None if there is none."""
        return self._turn(UNDO, check_name(who), step)

    def redo(self, *, who: str, step: str | None = None) -> list[Subject] | None:
        """Put back the step that the person has undone last, or a given one."""
        return self._turn(REDO, check_name(who), step)

    def _turn(self, kind: str, who: str, step: str | None) -> list[Subject] | None:
        with self._writing() as now:
            present = self._present
            if step is None:
                step = present.last_step(who) if kind == UNDO else present.last_undone(who)
                if step is None:
                    return None
            elif step not in present.steps or (step in present.undone) == (kind == UNDO):
                raise OptionError(f"the step {shown_value(step)} cannot be {kind}ne: it is none, or it is already so")
            mark = uuid4().hex
            self._commit([Event(mark, mark, now, who, kind, b"", b"", "", "", "", step, self.basis, "")])
            return list(dict.fromkeys(one.subject for one in present.steps[step]))

    def add_sample(
        self, mark: str, facts: str, pairs: Sequence[tuple[Content, Content, str]], *, who: str, basis: str
    ) -> int:
        """Store a sample: its facts, and each pair with its numbers, as JSON."""
        who, nobody = check_name(who), Content(b"", "")
        rows = [(SAMPLE, nobody, nobody, facts), *((SAMPLED, *pair) for pair in pairs)]
        with self._writing() as now:
            marks = [mark, *(uuid4().hex for _ in pairs)]
            return self._commit(
                [
                    Event(
                        own,
                        mark,
                        now + at,
                        who,
                        kind,
                        left.digest,
                        right.digest,
                        left.id,
                        right.id,
                        "",
                        "",
                        basis,
                        data,
                    )
                    for at, (own, (kind, left, right, data)) in enumerate(zip(marks, rows, strict=True))
                ]
            )

    def append(self, events: Sequence[Event]) -> int:
        """Append events that were made elsewhere, such as those of an import; those that are known are left out."""
        with self._writing():
            known = {event.mark for event in self.events()}
            return self._commit([event for event in events if event.mark not in known])

    # The log

    @contextmanager
    def _writing(self) -> Iterator[int]:
        """Hold the right to write with the present state read; yield the time of the next event."""
        if self.read_only:
            raise OptionError(f"{self.name} was opened for reading only")
        with self._lock:
            with self._database.transaction():
                self._refresh()
                yield max(time.time_ns() // 1000, self._present.last_order[0] + 1)
            self._refresh()

    def _commit(self, events: Sequence[Event]) -> int:
        """Insert events in a transaction; return the number of the last one."""
        self._database.insert(events)
        return self._number + len(events)

    def _refresh(self) -> int:
        """Apply the events that this or another program has stored since; return the number of the last one."""
        events = self._database.read()
        if not events:
            return self._number
        self._number = events[-1].number
        in_order = [self._present.last_order, *(event.order for event in events)]
        if all(first < second for first, second in pairwise(in_order)):
            for event in events:
                self._touch(event, self._present.apply(event))
        else:  # events of an import that are older than some that are known
            self._present, self._conflicts = Present(), None
            for event in sorted(self.events(), key=lambda one: one.order):
                self._present.apply(event)
            for event in events:
                steps = self._present.steps.get(event.of, ())
                self._touch(event, {one.subject for one in steps} if event.of else {event.subject})
        return self._number

    def _touch(self, event: Event, subjects: Iterable[Subject]) -> None:
        for subject in sorted(subjects):
            self._touched.append((event.number, subject))
            if self._conflicts is not None:
                self._conflicts.touch(subject)

    def _refuse_changed(self, draft: Draft, seen: int | None) -> None:
        """Refuse a verdict on a subject that was judged after the page was made."""
        subject = subject_of(draft.left.digest, draft.right.digest if draft.right else b"")
        if seen is None or self._present.changed.get(subject, 0) <= seen:
            return
        state = self._present.states.get(subject)
        names = " and ".join(quoted(one.id) for one in (draft.left, draft.right) if one is not None)
        now = f"{state.who} has judged it {state.verdict}" if state else "the verdict was taken back"
        raise VerdictChangedError(f"{names}: {now} since this page was made; look at it again, then decide", state)


def _checked(draft: Draft) -> Draft:
    """Refuse a draft that says nothing; return it as it is stored."""
    left, right = check_content(draft.left), None if draft.right is None else check_content(draft.right)
    allowed = ("principal", UNDECIDED, NOTE) if right is None else (*PAIR_KINDS, UNDECIDED, NOTE)
    if draft.kind not in allowed:
        raise OptionError(f"a verdict is {shown_value(draft.kind)}; allowed: {either(allowed)}")
    if right is not None and left.digest == right.digest:
        raise OptionError(
            f"{quoted(left.id)} and {quoted(right.id)} have the same content as it is compared, so they are identical "
            "copies in every run; there is nothing to judge"
        )
    return Draft(draft.kind, left, right, check_note(draft.note))


def _event(draft: Draft, mark: str, step: str, time: int, who: str, basis: str) -> Event:
    right = draft.right or Content(b"", "")
    return Event(
        mark=mark, step=step, time=time, who=who, kind=draft.kind, left=draft.left.digest, right=right.digest,
        left_id=draft.left.id, right_id=right.id, note=draft.note, of="", basis=basis, data="",
    )  # fmt: skip
