"""The present state: what stands of the log after all events, in memory."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from twinset.verdicts.events import (
    DOCUMENT_KINDS,
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
)

_DECIDING = frozenset((*PAIR_KINDS, *DOCUMENT_KINDS, UNDECIDED))


@dataclass(frozen=True, slots=True)
class State:
    """The verdict that stands on a pair, or on one content (`right` is None).

    `number` is the event that made it, `changed` the last event on the same subject, undo and redo included.
    """

    verdict: str
    left: Content
    right: Content | None
    who: str
    time: int
    note: str
    basis: str
    number: int
    changed: int


class Present:
    """Replays the log. Events in order are applied one by one; older ones (after an import) need a new replay."""

    def __init__(self) -> None:
        self.states: dict[Subject, State] = {}
        self.changed: dict[Subject, int] = {}
        self.counts: Counter[str] = Counter()
        self.samples: list[Event] = []
        self.last_order = (0, "")
        self.steps: dict[str, list[Event]] = {}
        self.undone: dict[str, Event] = {}
        self._history: dict[Subject, list[Event]] = {}
        self._steps_of: dict[str, list[str]] = {}
        self._redo_of: dict[str, list[str]] = {}

    def apply(self, event: Event) -> set[Subject]:
        """Apply the next event in order; return the subjects whose state it may change."""
        self.last_order = event.order
        if event.kind in (UNDO, REDO):
            return self._turn(event)
        if event.kind in (SAMPLE, SAMPLED):
            self.samples.append(event)
            return set()
        if event.step not in self.steps:
            self.steps[event.step] = []
            self._steps_of.setdefault(event.who, []).append(event.step)
            self._redo_of.pop(event.who, None)  # a new verdict: nothing can be redone any more
        self.steps[event.step].append(event)
        history = self._history.setdefault(event.subject, [])
        history.insert(bisect_left(history, event.order, key=lambda one: one.order), event)
        self._settle({event.subject}, event.number)
        return {event.subject}

    def _turn(self, event: Event) -> set[Subject]:
        """Undo or redo a step."""
        step = self.steps.get(event.of, ())
        if event.kind == UNDO and event.of not in self.undone:
            self.undone[event.of] = event
            self._redo_of.setdefault(event.who, []).append(event.of)
        elif event.kind == REDO and self.undone.pop(event.of, None) is not None:
            redo = self._redo_of.get(event.who, [])
            if event.of in redo:
                redo.remove(event.of)
        subjects = {one.subject for one in step}
        self._settle(subjects, event.number)
        return subjects

    def _settle(self, subjects: Iterable[Subject], number: int) -> None:
        for subject in subjects:
            before = self.states.pop(subject, None)
            if before is not None:
                self.counts[before.verdict] -= 1
            self.changed[subject] = max(number, self.changed.get(subject, 0))
            state = self._state_of(subject)
            if state is not None:
                self.states[subject] = state
                self.counts[state.verdict] += 1

    def _state_of(self, subject: Subject) -> State | None:
        """Return the last verdict that is not undone, with the last note on it."""
        verdict, note = None, ""
        for event in self._history[subject]:
            if event.step in self.undone:
                continue
            if event.kind in _DECIDING:
                verdict, note = event, event.note
            elif event.kind == NOTE:
                note = event.note
        if verdict is None or verdict.kind == UNDECIDED:
            return None
        left, right = verdict.contents
        return State(
            verdict.kind, left, right, verdict.who, verdict.time, note, verdict.basis, verdict.number,
            self.changed[subject],
        )  # fmt: skip

    def history(self, subject: Subject) -> list[tuple[Event, Event | None]]:
        """Return the events on a subject in order, each with the ``undo`` that took it back."""
        return [(event, self.undone.get(event.step)) for event in self._history.get(subject, ())]

    def last_step(self, who: str) -> str | None:
        """Return the last step of a person that is not undone."""
        return next((step for step in reversed(self._steps_of.get(who, ())) if step not in self.undone), None)

    def last_undone(self, who: str) -> str | None:
        """Return the step that a person would redo."""
        redo = self._redo_of.get(who, ())
        return next((step for step in reversed(redo) if step in self.undone), None)
