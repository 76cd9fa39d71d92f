"""Conflicts: contents that ``duplicate`` verdicts join, directly or in a chain, and a ``different`` verdict parts.

Two principals that are joined are a conflict, too: only one of them can be kept. After each verdict, only the contents
that are joined with it are looked at again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from twinset.verdicts.events import Content, Subject, subject_of
from twinset.verdicts.present import State


@dataclass(frozen=True, slots=True)
class Conflict:
    """Statements that cannot all be true.

    `kind` is ``different`` (the ends of the chain were judged different) or ``principals`` (both ends are to be kept).
    `chain` are the ``duplicate`` verdicts that join the ends, and `contents` all contents in the order of the chain.
    `against` are the verdicts that contradict it.
    """

    kind: str
    contents: tuple[Content, ...]
    chain: tuple[State, ...]
    against: tuple[State, ...]

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What each verdict of the conflict is on."""
        return tuple(
            subject_of(one.left.digest, one.right.digest if one.right else b"") for one in (*self.chain, *self.against)
        )


class Conflicts:
    """Finds conflicts, and finds them again where verdicts have changed."""

    def __init__(self, states: Mapping[Subject, State]) -> None:
        self._states = states
        self._duplicates: dict[bytes, set[bytes]] = {}
        self._different: dict[bytes, set[bytes]] = {}
        self._found: dict[Subject, Conflict] = {}
        self._touched: set[bytes] = set()
        for subject in states:
            self.touch(subject)

    def touch(self, subject: Subject) -> None:
        """Take note that the verdict on a subject has changed."""
        left, right = subject
        state = self._states.get(subject)
        verdict = None if state is None else state.verdict
        self._touched.add(left)
        if right:
            self._touched.add(right)
            for kind, table in (("duplicate", self._duplicates), ("different", self._different)):
                for one, other in ((left, right), (right, left)):
                    neighbours = table.setdefault(one, set())
                    (neighbours.add if verdict == kind else neighbours.discard)(other)
                    if not neighbours:
                        del table[one]

    def found(self) -> list[Conflict]:
        """Return all conflicts, ordered by their contents."""
        seen: set[bytes] = set()
        for digest in sorted(self._touched):
            if digest not in seen:
                members = self._joined(digest)
                seen |= members
        for subject in [one for one in self._found if one[0] in seen or one[1] in seen]:
            del self._found[subject]
        done: set[bytes] = set()
        for digest in sorted(self._touched):
            if digest not in done:
                members = self._joined(digest)
                done |= members
                self._search(members)
        self._touched.clear()
        return [self._found[subject] for subject in sorted(self._found)]

    def _joined(self, start: bytes) -> set[bytes]:
        """Return the contents that ``duplicate`` verdicts join with one."""
        members, waiting = {start}, [start]
        while waiting:
            for other in self._duplicates.get(waiting.pop(), ()):
                if other not in members:
                    members.add(other)
                    waiting.append(other)
        return members

    def _search(self, members: set[bytes]) -> None:
        """Find the conflicts among contents that are joined."""
        if len(members) < 2:
            return
        for one in members:
            for other in self._different.get(one, ()):
                if one < other and other in members:
                    state = self._states[one, other]
                    self._found[one, other] = self._conflict("different", one, other, (state,))
        principals = sorted(one for one in members if (one, b"") in self._states)
        for other in principals[1:]:
            against = self._states[principals[0], b""], self._states[other, b""]
            self._found.setdefault((principals[0], other), self._conflict("principals", principals[0], other, against))

    def _conflict(self, kind: str, start: bytes, end: bytes, against: tuple[State, ...]) -> Conflict:
        """Make a conflict with the shortest chain."""
        path = self._path(start, end)
        chain = tuple(self._states[subject_of(*link)] for link in pairwise(path))
        named = {content.digest: content for state in chain for content in (state.left, state.right) if content}
        return Conflict(kind, tuple(named[digest] for digest in path), chain, against)

    def _path(self, start: bytes, end: bytes) -> list[bytes]:
        before = {start: start}
        waiting = deque([start])
        while end not in before:
            one = waiting.popleft()
            for other in sorted(self._duplicates[one]):
                if other not in before:
                    before[other] = one
                    waiting.append(other)
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        return path[::-1]
