"""What the templates show: rows of a list, and one pair of an item with its verdicts, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from twinset.report.numbers import Whole
from twinset.schema import ScoreColumn
from twinset.verdicts.events import Content, Event, subject_of
from twinset.verdicts.present import State
from twinset.web.review.choice import ROWS, ListChoice, ListView, count_open
from twinset.web.review.data import ReviewData
from twinset.web.review.items import DIFFERENT, DUPLICATE, FIXED, UNDECIDED, UNSURE, ReviewItems
from twinset.web.review.ledger import Ledger
from twinset.wording import counted, share
from twinset.wording import score as written_score

MEMBERS = 100
"""Members of a cluster that are listed around the one shown."""

LABELS = {"clusters": "Clusters", "pairs": "Pairs", "passages": "Passages"}
WORDS = {"duplicate": "a duplicate", "different": "not a duplicate", "unsure": "unsure", "principal": "the principal",
         "undecided": "undecided"}  # fmt: skip
"""How a verdict is written."""

_STATE_WORDS = {UNDECIDED: "", DUPLICATE: "duplicate", DIFFERENT: "different", UNSURE: "unsure", FIXED: "fixed"}


@dataclass(frozen=True)
class Viewer:
    """Who looks, and how: the name, whether scores are hidden, and whether verdicts may be given."""

    who: str
    blind: bool
    writes: bool


@dataclass(frozen=True)
class PairPlace:
    """A pair of an item of a list, in a choice of rows."""

    items: ReviewItems
    item: int
    pair: int
    choice: ListChoice
    whole: bool = False

    def href(self, item: int | None = None, pair: int | None = None, **changed: Any) -> str:
        """The address of another place of the list; without a pair that of the first undecided one."""
        query = self.choice.query(**{"page": 1, **changed})
        more = "" if pair is None or self.items.single else f"pair={pair}"
        rest = "&".join(part for part in (more, query) if part)
        return f"/{self.items.name}/{self.item if item is None else item}" + (f"?{rest}" if rest else "")

    @property
    def here(self) -> str:
        """The address of the place itself."""
        return self.href(pair=self.pair)


class ReviewViews:
    """Makes what the templates show from a result and its verdicts."""

    def __init__(self, data: ReviewData, ledger: Ledger) -> None:
        self.data, self.ledger = data, ledger

    def view(self, name: str) -> ListView:
        """The list of a name."""
        return self.data.views[name]

    def score(self, items: ReviewItems, pair: int, viewer: Viewer) -> dict[str, Any] | None:
        """The score of a pair, as text and as a length of a bar from 0 to 100; None if it is hidden."""
        if viewer.blind:
            return None
        return {
            "text": self.data.format_score(float(items.score[pair])),
            "bar": round(100 * float(items.closeness[pair]), 1),
        }

    # The list

    def rows(self, name: str, choice: ListChoice, viewer: Viewer, selected: int | None) -> dict[str, Any]:
        """A page of a list."""
        view, items = self.view(name), self.view(name).items
        chosen = view.select(choice)
        pages = max(1, -(-len(chosen) // ROWS))
        page = min(choice.page, pages)
        first = (page - 1) * ROWS
        some = chosen[first : first + ROWS].tolist()
        return {
            "name": name,
            "rows": [self.row(items, choice, item, viewer, item == selected) for item in some],
            "count": self._count(items, len(chosen), first, len(some), choice),
            "page": page,
            "pages": pages,
            "before": f"/{name}?{choice.query(page=page - 1)}" if page > 1 else None,
            "after": f"/{name}?{choice.query(page=page + 1)}" if page < pages else None,
            "hidden": [(key, value) for key, value in _fields(choice) if key != "page"],
        }

    def _count(self, items: ReviewItems, found: int, first: int, rows: int, choice: ListChoice) -> str:
        if not found:
            return "Nothing is found." if choice.is_filter else "The list is empty."
        what = counted(found, items.name.rstrip("s") if items.name != "passages" else "pair")
        more = f" found, {len(items):,} in all" if choice.is_filter else ""
        return f"{first + 1:,} to {first + rows:,} of {what}{more}"

    def row(self, items: ReviewItems, choice: ListChoice, item: int, viewer: Viewer, selected: bool) -> dict[str, Any]:
        """One row of a list."""
        pairs = items.pairs_of(item)
        least = int(items.least_pair[item])
        states = items.state[pairs.start : pairs.stop]
        lead = int(items.left[pairs[0]])
        place = PairPlace(items, item, pairs[0], choice)
        judged, open_pairs = int((states != FIXED).sum()), int((states == UNDECIDED).sum())
        return {
            "item": item,
            "href": place.href(page=choice.page),
            "lead": self.document(lead),
            "other": None if not items.single else self.document(int(items.right[pairs[0]])),
            "size": int(items.sizes[item]),
            "score": self.score(items, least, viewer),
            "state": _STATE_WORDS[int(states[0])] if items.single else "",
            "decided": "" if items.single else _decided(judged, open_pairs),
            "open": open_pairs > 0,
            "conflict": any(pair in self.data.conflicts[items.name] for pair in pairs),
            "selected": selected,
        }

    def document(self, place: int) -> dict[str, Any]:
        """A document, without its text."""
        shown = self.data.shown
        return {
            "place": place,
            "id": shown.id(place),
            "source": shown.source(place),
            "beginning": shown.beginning(place),
            "facts": self._sizes(place),
            "picture": f"/pictures/{place}" if self.data.has_pictures else None,
        }

    def _sizes(self, place: int) -> str:
        """The source and the sizes of a document."""
        shown, length = self.data.shown, int(self.data.shown.length[place])
        length //= 2 if shown.kind == "weighted" else 1  # two words for each element
        parts = [shown.source(place) if len(shown.sources) > 1 else ""]
        if shown.unit and length:
            parts.append(counted(length, shown.unit))
        if shown.kind in ("text", "records") and (shingles := int(shown.shingles[place])):
            parts.append(counted(shingles, "word" if self.data.passage_tables is not None else "shingle"))
        return " · ".join(filter(None, parts))

    # One pair

    def detail(self, place: PairPlace, viewer: Viewer, chosen: Whole) -> dict[str, Any]:
        """A pair of an item, with its verdicts and the ways on from it."""
        items, view = place.items, self.view(place.items.name)
        left, right = int(items.left[place.pair]), int(items.right[place.pair])
        before, after = view.neighbours(place.choice, chosen, place.item)
        at, inside = view.place_of(place.choice, chosen, place.item)
        pairs = items.pairs_of(place.item)
        next_open = view.undecided_after(place.choice, chosen, place.item, place.pair)
        return {
            "seen": self.ledger.refresh(),
            "name": items.name,
            "item": place.item,
            "pair": place.pair,
            "here": place.here,
            "names": self.data.names(items),
            "position": f"{at + 1:,} of {len(chosen):,}" if inside else "no longer in this list",
            "list_page": at // ROWS + 1,
            "back": f"/{items.name}?{place.choice.query(page=at // ROWS + 1)}".rstrip("?"),
            "before": None if before is None else place.href(before),
            "after": None if after is None else place.href(after),
            "member_before": place.href(pair=place.pair - 1) if place.pair > pairs.start else None,
            "member_after": place.href(pair=place.pair + 1) if place.pair + 1 < pairs.stop else None,
            "next_open": None if next_open is None else place.href(next_open[0], next_open[1]),
            "left": self._side(left),
            "right": self._side(right),
            "facts": [] if viewer.blind else self._facts(items, place.pair),
            "members": self._members(place, viewer) if not items.single else None,
            "verdict": self._verdict(items, place.pair, left, right),
            "conflicts": [self.conflict(one) for one in self.ledger.conflicts_of(left, right)],
            "comparison": self.data.compared(items, place.pair, place.whole),
            "whole": place.whole,
            "whole_href": place.href(pair=place.pair) + ("&" if "?" in place.here else "?") + "whole=1",
        }

    def _side(self, place: int) -> dict[str, Any]:
        state = self.ledger.principal(place)
        return {**self.document(place), "principal": None if state is None else said(state)}

    def _facts(self, items: ReviewItems, pair: int) -> list[str]:
        """The scores of a pair, in words."""
        facts = [
            _caption(items, column, self.data.noun).format(written_score(values[pair].item(), column.shown))
            for column, values in zip(items.columns, items.values, strict=True)
        ]
        if items.name == "passages":
            facts.append(f"{share(float(items.score[pair]))} of the shorter one is in both")
        elif not self._reaches(float(items.score[pair])):
            connected = items.name == "clusters"
            facts.append(
                "below the threshold: connected to the kept one through others" if connected else "below the threshold"
            )
        return facts

    def _reaches(self, score: float) -> bool:
        limit = self.data.threshold
        return score <= limit if self.data.numbers.by_distance else score >= limit

    def _members(self, place: PairPlace, viewer: Viewer) -> dict[str, Any]:
        """The members of a cluster around the one shown."""
        items, pairs = place.items, place.items.pairs_of(place.item)
        first = max(pairs.start, min(place.pair - MEMBERS // 2, pairs.stop - MEMBERS))
        some = range(first, min(first + MEMBERS, pairs.stop))
        states = items.state[pairs.start : pairs.stop]
        return {
            "rows": [
                {
                    "href": place.href(pair=pair),
                    "document": self.document(int(items.right[pair])),
                    "score": self.score(items, pair, viewer),
                    "state": _STATE_WORDS[int(items.state[pair])],
                    "conflict": pair in self.data.conflicts[items.name],
                    "principal": self.ledger.principal(int(items.right[pair])) is not None,
                    "selected": pair == place.pair,
                }
                for pair in some
            ],
            "above": first - pairs.start,
            "below": pairs.stop - some.stop,
            "count": len(pairs),
            "open": int((states == UNDECIDED).sum()),
        }

    def _verdict(self, items: ReviewItems, pair: int, left: int, right: int) -> dict[str, Any]:
        """What stands on a pair, and what was said before."""
        state = self.ledger.state(left, right)
        return {
            "identical": int(items.state[pair]) == FIXED,
            "same_document": left == right,
            "kind": "" if state is None else state.verdict,
            "now": None if state is None else said(state),
            "note": "" if state is None else state.note,
            "history": [happened(event, undo) for event, undo in self.ledger.history(left, right)][-20:],
        }

    # Conflicts

    def conflict(self, one: Any) -> dict[str, Any]:
        """A conflict: the statements that cannot all be true, each with where it can be changed."""
        return {
            "principals": one.kind == "principals",
            "ends": [content.id for content in (one.contents[0], one.contents[-1])],
            "statements": [self._statement(state) for state in (*one.chain, *one.against)],
        }

    def _statement(self, state: State) -> dict[str, Any]:
        return {
            **said(state), "left": state.left.id, "right": "" if state.right is None else state.right.id,
            "left_digest": state.left.digest.hex(), "right_digest": state.right.digest.hex() if state.right else "",
            "href": self._href_of(state.left, state.right), "kind": state.verdict,
        }  # fmt: skip

    def _href_of(self, left: Content, right: Content | None) -> str | None:
        """The address of a pair in the first list that has it."""
        if right is None:
            return None
        for view in self.data.views.values():
            pair = self.ledger.pair_of(view.items, subject_of(left.digest, right.digest))
            if pair is not None:
                return PairPlace(view.items, int(view.items.item_of[pair]), pair, ListChoice()).here
        return None

    def progress(self, name: str) -> dict[str, Any]:
        """How many pairs of a list have a verdict."""
        still, every = count_open(self.view(name).items)
        return {"done": every - still, "every": every, "text": f"{every - still:,} of {every:,} pairs decided"}


def _decided(judged: int, open_pairs: int) -> str:
    """How many pairs of an item are decided, of those that can be judged.

    Examples
    --------
    >>> _decided(3, 1), _decided(0, 0)
    ('2 of 3 decided', 'identical')
    """
    return f"{judged - open_pairs:,} of {judged:,} decided" if judged else "identical"


def said(state: State) -> dict[str, Any]:
    """A verdict in words."""
    return {"word": WORDS[state.verdict], "who": state.who, "time": written_time(state.time), "note": state.note}


def happened(event: Event, undo: Event | None) -> dict[str, Any]:
    """An event in words."""
    word = f"note: {event.note}" if event.kind == "note" else WORDS[event.kind]
    return {
        "word": word, "who": event.who, "time": written_time(event.time),
        "note": "" if event.kind == "note" else event.note,
        "undone": None if undo is None else {"who": undo.who, "time": written_time(undo.time)},
    }  # fmt: skip


def written_time(microseconds: int) -> str:
    """Write a time in UTC.

    Examples
    --------
    >>> written_time(1_700_000_000_000_000)
    '2023-11-14 22:13 UTC'
    """
    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _caption(items: ReviewItems, column: ScoreColumn, noun: str) -> str:
    """The text of a score column, with {} for the value."""
    if items.name == "clusters":
        return column.caption.replace("{noun}", noun)
    words = {"left_in_right": "{} of left is in right", "right_in_left": "{} of right is in left"}
    return words.get(column.name) or column.caption.replace("{noun}", noun)


def _fields(choice: ListChoice) -> list[tuple[str, str]]:
    """The fields of a choice for a form."""
    return parse_qsl(choice.query(page=1))
