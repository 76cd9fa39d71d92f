"""Which rows of a list are wanted, in which order: read from the address of a page, and applied to the arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from twinset.errors import OptionError
from twinset.report.numbers import Whole
from twinset.web.review.items import DIFFERENT, DUPLICATE, FIXED, UNDECIDED, UNSURE, ReviewItems
from twinset.web.review.shown import ShownDocuments
from twinset.wording import MARGIN, counted

Flags = npt.NDArray[np.bool_]

ROWS = 50
"""Rows of a page."""

NEAR = 0.05
"""How far from the threshold a score may be to count as near it, as a share; for distances, of the limit."""

STATES = {
    "": "any verdict", "open": "undecided", "done": "decided", "duplicate": "a duplicate",
    "different": "not a duplicate", "unsure": "unsure", "conflict": "in conflict",
}  # fmt: skip
"""States to choose from: items with at least one such pair; `done` are those with pairs to judge, all decided."""

ORDERS = {
    "": "input order", "least": "least similar first", "most": "most similar first", "near": "nearest to the threshold",
    "size": "largest first", "loss": "largest loss first",
}  # fmt: skip
OF_SCORES = ("least", "most", "near", "loss")
"""Orders that show something of the scores; without scores they are not offered."""

_STATE_NUMBERS = {"duplicate": DUPLICATE, "different": DIFFERENT, "unsure": UNSURE, "open": UNDECIDED}
_LONGEST = 200
_HALF = 0.5e-4 + 1e-12
"""Half of the last digit of a score that is shown."""


@dataclass(frozen=True)
class ListChoice:
    """The rows wanted and their order; empty fields choose nothing.

    Attributes
    ----------
    q
        Words, all of which a document of the item has in its id, source or beginning.
    low, high
        Limits of the score: an item has a pair between them.
    small, large
        Limits of the number of documents.
    state, near, order
        One of `STATES`, whether a pair must be near the threshold, and one of `ORDERS`.
    sample
        The number of a sample, from 1: only its pairs, in the order in which they are to be labelled.
    page
        The page, from 1.
    """

    q: str = ""
    low: float | None = None
    high: float | None = None
    small: int | None = None
    large: int | None = None
    state: str = ""
    near: bool = False
    order: str = ""
    sample: int | None = None
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> ListChoice:
        """Read a choice from the query of an address; a wrong value raises `OptionError`.

        Examples
        --------
        >>> ListChoice.of({"q": " red house ", "low": "0.7", "near": "1"}).query()
        'q=red+house&low=0.7&near=1'
        >>> ListChoice.of({"low": "much"})
        Traceback (most recent call last):
        twinset.errors.OptionError: from is 'much'; allowed: a number
        """
        state, order = query.get("state", ""), query.get("order", "")
        if state not in STATES:
            raise OptionError(f"state is {state[:40]!r}; allowed: {', '.join(filter(None, STATES))}")
        if order not in ORDERS:
            raise OptionError(f"order is {order[:40]!r}; allowed: {', '.join(filter(None, ORDERS))}")
        page = _whole(query, "page", "page")
        return cls(
            query.get("q", "").strip()[:_LONGEST], _number(query, "low", "from"), _number(query, "high", "to"),
            _whole(query, "small", "from"), _whole(query, "large", "to"), state, query.get("near", "") == "1", order,
            _whole(query, "sample", "sample"), max(1, page or 1),
        )  # fmt: skip

    def query(self, **changed: Any) -> str:
        """Write the choice as the query of an address, with some fields changed."""
        values = {one.name: changed.get(one.name, getattr(self, one.name)) for one in fields(self)}
        given = {name: value for name, value in values.items() if value not in ("", None, False)}
        if given.get("page") == 1:
            del given["page"]
        return urlencode({name: "1" if value is True else value for name, value in given.items()})

    def without_scores(self) -> ListChoice:
        """Return the choice without what would show something of the scores."""
        order = "" if self.order in OF_SCORES else self.order
        return replace(self, low=None, high=None, near=False, order=order)

    @property
    def is_filter(self) -> bool:
        """Whether anything but the order is chosen."""
        return bool(ListChoice(order=self.order, sample=self.sample, page=self.page) != self)


def _number(query: Mapping[str, str], name: str, shown: str) -> float | None:
    text = query.get(name, "").strip().replace(",", ".")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise OptionError(f"{shown} is {text[:40]!r}; allowed: a number")
    return value


def _whole(query: Mapping[str, str], name: str, shown: str) -> int | None:
    text = query.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise OptionError(f"{shown} is {text[:40]!r}; allowed: a whole number")
    return int(text)


class ListView:
    """A list with its filters and orders; the last few selections are remembered until a verdict changes them."""

    def __init__(self, items: ReviewItems, shown: ShownDocuments, threshold: float, conflicts: set[int]) -> None:
        self.items, self.shown, self.threshold = items, shown, threshold
        self.conflicts = conflicts
        """Pairs in conflict; kept up to date by whoever reads the verdicts."""
        self.samples: list[Whole] = []
        """The pairs of each sample, in its order; kept up to date likewise."""
        self._orders: dict[str, Whole] = {}
        self._ranks: dict[str, Whole] = {}
        self._search = lru_cache(maxsize=4)(self._items_with)
        self._unchanging = lru_cache(maxsize=4)(self._select_unchanging)

    def select(self, choice: ListChoice) -> Whole:
        """Return the numbers of the chosen items, in the chosen order."""
        chosen = self._unchanging(choice.q, choice.low, choice.high, choice.small, choice.large, choice.near)
        if choice.state:
            chosen = chosen & self._in_state(choice.state)
        order = self._order_of(choice)
        selected: Whole = order[chosen[order]]
        return selected

    def _select_unchanging(
        self, q: str, low: float | None, high: float | None, small: int | None, large: int | None, near: bool
    ) -> Flags:
        """Mark the items by what no verdict changes."""
        items = self.items
        chosen = np.ones(len(items), np.bool_)
        if small is not None:
            chosen &= items.sizes >= small
        if large is not None:
            chosen &= items.sizes <= large
        if low is not None or high is not None or near:
            score = items.score
            pairs = np.ones(len(score), np.bool_)
            # Scores are shown rounded to four digits, so a limit that was read there includes its score.
            # None is rounded up to a number of three digits, and whole numbers are shown as they are.
            if low is not None:
                pairs &= score >= low - (_HALF if round(low, 3) != low == round(low, 4) else 0)
            if high is not None:
                pairs &= score < high + _HALF if high != int(high) and high == round(high, 4) else score <= high
            if near:
                reach = NEAR * (self.threshold if self.threshold > 1 else 1)
                pairs &= np.abs(score - self.threshold) <= reach + MARGIN
            chosen &= self._any(pairs)
        if q:
            chosen &= self._search(q)
        return chosen

    def _items_with(self, q: str) -> Flags:
        """Mark the items that have a document with all words."""
        documents = self.shown.search(q.split())
        return self._any(documents[self.items.left] | documents[self.items.right])

    def _any(self, pairs: Flags) -> Flags:
        """Mark the items that have a marked pair."""
        if self.items.single:
            return pairs
        items = np.zeros(len(self.items), np.bool_)
        items[self.items.item_of[pairs]] = True
        return items

    def _in_state(self, state: str) -> Flags:
        """Mark the items with a pair in a state."""
        states = self.items.state
        if state == "conflict":
            pairs = np.zeros(len(states), np.bool_)
            pairs[list(self.conflicts)] = True
            return self._any(pairs)
        if state == "done":
            return self._any(states != FIXED) & ~self._any(states == UNDECIDED)
        return self._any(states == _STATE_NUMBERS[state])

    def _order(self, order: str) -> Whole:
        """Return all items in an order; equal ones in input order."""
        if order not in self._orders:
            items = self.items
            keys: dict[str, Callable[[], Any]] = {
                "": lambda: np.arange(len(items)),
                "least": lambda: items.least,
                "most": lambda: -items.least,
                "near": lambda: np.abs(items.score - self.threshold)[items.least_pair],
                "size": lambda: -items.sizes,
                "loss": lambda: np.zeros(len(items)) if items.lost is None else -items.lost,
            }
            self._orders[order] = np.argsort(keys[order](), kind="stable")
        return self._orders[order]

    def _order_of(self, choice: ListChoice) -> Whole:
        """Return the items to choose from, in order."""
        if choice.sample is None:
            return self._order(choice.order)
        if not 1 <= choice.sample <= len(self.samples):
            raise OptionError(f"sample is {choice.sample}; this result has {counted(len(self.samples), 'sample')}")
        return self.samples[choice.sample - 1]

    def _rank(self, choice: ListChoice) -> Whole:
        """Return the place of each item in an order."""
        if choice.sample is not None:
            order = self._order_of(choice)
            rank = np.full(len(self.items), len(self.items))
            rank[order] = np.arange(len(order))
            return rank
        if choice.order not in self._ranks:
            self._ranks[choice.order] = np.argsort(self._order(choice.order), kind="stable")
        return self._ranks[choice.order]

    def place_of(self, choice: ListChoice, chosen: Whole, item: int) -> tuple[int, bool]:
        """Return the place of an item in a selection and whether it is there: a verdict may have taken it out."""
        rank = self._rank(choice)
        place = int(np.searchsorted(rank[chosen], rank[item]))
        return place, place < len(chosen) and int(chosen[place]) == item

    def neighbours(self, choice: ListChoice, chosen: Whole, item: int) -> tuple[int | None, int | None]:
        """Return the items before and after an item in a selection."""
        place, inside = self.place_of(choice, chosen, item)
        after = place + 1 if inside else place
        return int(chosen[place - 1]) if place else None, int(chosen[after]) if after < len(chosen) else None

    def undecided_after(self, choice: ListChoice, chosen: Whole, item: int, pair: int) -> tuple[int, int] | None:
        """Return the next undecided pair after a pair of an item, in the order of a selection, with its item.

        The search goes on at the beginning of the selection; None if nothing is undecided.
        """
        rest = [one for one in self.items.pairs_of(item) if one > pair and self.items.state[one] == UNDECIDED]
        if rest:
            return item, rest[0]
        place, inside = self.place_of(choice, chosen, item)
        after = place + 1 if inside else place
        is_open = self._any(self.items.state == UNDECIDED)[chosen]
        for start, stop in ((after, len(chosen)), (0, after)):
            found = start + int(is_open[start:stop].argmax()) if is_open[start:stop].any() else None
            if found is not None:
                return int(chosen[found]), self.first_undecided(int(chosen[found]))
        return None

    def first_undecided(self, item: int) -> int:
        """Return the first undecided pair of an item, or its first pair."""
        pairs = self.items.pairs_of(item)
        return next((one for one in pairs if self.items.state[one] == UNDECIDED), pairs[0])


def count_open(items: ReviewItems) -> tuple[int, int]:
    """Return the number of undecided pairs, and of all pairs that can be judged."""
    judged = items.state != FIXED
    return int(np.count_nonzero(items.state == UNDECIDED)), int(np.count_nonzero(judged))
