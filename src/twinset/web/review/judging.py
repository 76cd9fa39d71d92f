"""What a person decides, stored as verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from twinset.errors import OptionError
from twinset.verdicts import Content, Subject, VerdictStore, subject_of
from twinset.web.answers import Refused
from twinset.web.review.forms import whole
from twinset.web.review.views import WORDS, PairPlace, ReviewViews
from twinset.wording import either

ON_PAIRS = ("duplicate", "different", "unsure", "undecided", "note")
ON_DOCUMENTS = ("principal", "no_principal", "take_out")
_SAID = {**WORDS, "undecided": "verdict taken back", "note": "note", "no_principal": "no longer the principal",
         "take_out": "taken out of the cluster"}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """What a form says: a kind, for some the side that it is about, a note, and the last event that the page knew."""

    kind: str
    side: str
    note: str
    seen: int

    @property
    def word(self) -> str:
        """The verdict in words."""
        return _SAID.get(self.kind, self.kind)


class Judging:
    """Stores verdicts on places."""

    def __init__(self, views: ReviewViews, store: VerdictStore) -> None:
        self._views, self._ledger, self._store = views, views.ledger, store

    def store(self, place: PairPlace, verdict: Verdict, who: str) -> None:
        """Store a verdict on a pair or one of its documents; it is on the disk when this returns.

        Raises `VerdictChangedError` if the same was judged after the page was made.
        """
        items = place.items
        left, right = (self._ledger.content(int(side[place.pair])) for side in (items.left, items.right))
        chosen = left if verdict.side == "left" else right
        if not (any(left.digest) and any(right.digest)):
            raise OptionError("a document of an index cannot be judged here; judge it in a result that contains it")
        note, seen = verdict.note, verdict.seen
        match verdict.kind:
            case "note":
                self._store.annotate(note, left, right, who=who, seen=seen)
            case "duplicate" | "different" | "unsure" | "undecided":
                self._store.judge(verdict.kind, left, right, note=note, who=who, seen=seen)
            case "principal":
                self._store.name_principal(chosen, instead_of=self._others(place, chosen), who=who, seen=seen)
            case "no_principal":
                self._store.withdraw_principal(chosen, who=who, seen=seen)
            case "take_out" if not items.single:
                self._store.take_out(chosen, self._others(place, chosen), note=note, who=who, seen=seen)
            case _:
                raise OptionError(f"verdict is {verdict.kind[:40]!r}; allowed: {either((*ON_PAIRS, *ON_DOCUMENTS))}")

    def _others(self, place: PairPlace, chosen: Content) -> list[Content]:
        """The other contents of an item."""
        return [one for one in self._ledger.members(place.items, place.item) if one.digest != chosen.digest]

    def next_place(self, place: PairPlace, verdict: Verdict) -> PairPlace:
        """Return the next undecided pair after a verdict on a pair; the same place after any other verdict."""
        if verdict.kind not in ("duplicate", "different", "unsure", "take_out"):
            return place
        view = self._views.view(place.items.name)
        found = view.undecided_after(place.choice, view.select(place.choice), place.item, place.pair)
        return place if found is None else PairPlace(place.items, *found, place.choice)

    def restate(self, fields: Mapping[str, str], who: str) -> None:
        """Change a statement of a conflict; it is named by its digests, and must stand."""
        kind = fields.get("verdict", "")
        try:
            subject = subject_of(*(bytes.fromhex(fields.get(name, "")) for name in ("left", "right")))
        except ValueError as error:
            raise Refused(422, "form", "left and right are digests, in hexadecimal digits") from error
        state = self._store.state(subject)
        if state is None:
            raise Refused(404, "not_found", "there is no such verdict any more; look at the conflicts again")
        seen = whole(fields, "seen")
        if state.right is None:
            self._store.withdraw_principal(state.left, who=who, seen=seen)
        else:
            self._store.judge(kind, state.left, state.right, who=who, seen=seen)

    def undo(self, who: str) -> list[Subject] | None:
        """Take back the last step of a person."""
        return self._store.undo(who=who)

    def redo(self, who: str) -> list[Subject] | None:
        """Put back what a person has undone last."""
        return self._store.redo(who=who)
