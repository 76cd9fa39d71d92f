"""A result opened for review: its lists, the documents they show, and where those are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from twinset.engines.local.budget import give_back
from twinset.engines.progress import Progress
from twinset.errors import OptionError
from twinset.report.item_differences import KEPT_AND_REMOVED, Sides
from twinset.report.numbers import Numbers, Whole
from twinset.report.passage_views import PassageTables
from twinset.report.thumbnails import Thumbnail, read_thumbnail
from twinset.results.open_recorded import open_recorded
from twinset.results.stored import SUMMARY, StoredResult
from twinset.results.stored_passages import StoredPassages
from twinset.web.review import comparison
from twinset.web.review.choice import ListView
from twinset.web.review.items import ReviewItems, cluster_items, pair_items, passage_items
from twinset.web.review.shown import ShownDocuments
from twinset.wording import counted, share

PICTURE = 440
"""Maximum width and height of a picture on the page."""

_PICTURES, _COMPARISONS = 400, 64  # kept in memory
_LEFT_AND_RIGHT: Sides = ("left", "right")


class ReviewData:
    """The lists of a result, and the documents in them.

    Parameters
    ----------
    folder
        The folder of a result of `dedup`, `recut`, `pairs` or `passages`, or the file of rows beside it.
    source
        The present sources, if they have moved.
    progress
        Receives what is read.
    scratch
        The folder for the copy of the texts shown.
    """

    def __init__(self, folder: Any, source: Sequence[object], progress: Progress, scratch: str | None = None) -> None:
        self.recorded: StoredResult = open_recorded(folder, source)
        self._version = self._read_version()
        self.passage_tables: PassageTables | None = None
        progress.stage("reading the result", None, "")
        lists = []
        for items in self._lists():
            lists.append(items)
            self.forget_tables()
        numbers = _documents_of(lists)
        self.shown = ShownDocuments.of(self.recorded, numbers, scratch)
        for items in lists:
            items.place_documents(numbers)
        self.conflicts: dict[str, set[int]] = {items.name: set() for items in lists}
        self.views = {
            items.name: ListView(items, self.shown, self.threshold, self.conflicts[items.name]) for items in lists
        }
        self.shown.read_texts(self.recorded, progress)
        self.forget_tables()
        self._compared = lru_cache(maxsize=_COMPARISONS)(self._compare)
        self.picture = lru_cache(maxsize=_PICTURES)(self._read_picture)

    def _lists(self) -> Any:
        """Yield the lists of the result."""
        recorded = self.recorded
        if isinstance(recorded, StoredPassages):
            tables = recorded.table("passages"), recorded.table("copied")
            self.passage_tables = PassageTables(*tables, recorded.options.crowd)
            yield passage_items(recorded, self.passage_tables)
            return
        numbers = Numbers(recorded) if recorded.command == "dedup" else PairNumbers(recorded)
        self.numbers = numbers
        if recorded.command == "dedup":
            yield cluster_items(recorded, numbers)
        yield pair_items(recorded, numbers)

    def forget_tables(self) -> None:
        """Free tables that the arrays replace, and return the memory; they are read again where they are needed."""
        for name in ("pairs", "removed", "clusters", "documents"):
            self.recorded.forget(name)
        give_back()

    @property
    def noun(self) -> str:
        """Noun for an item."""
        return "document" if self.passage_tables is not None else self.numbers.noun

    @property
    def score_name(self) -> str:
        """Name of the score of pairs."""
        return "share in common" if self.passage_tables is not None else self.numbers.score

    @property
    def threshold(self) -> float:
        """The threshold of the run, or its greatest distance; 0 for passages, which have none."""
        if self.passage_tables is not None:
            return 0.0
        options = self.recorded.options
        return float(options.reach if self.numbers.by_distance else options.threshold)

    @property
    def has_pictures(self) -> bool:
        """Whether the documents are pictures."""
        return self.recorded.options.item_kind == "images"

    def names(self, items: ReviewItems) -> Sides:
        """What the two sides of a pair are called."""
        return KEPT_AND_REMOVED if items.name == "clusters" else _LEFT_AND_RIGHT

    def format_score(self, score: float) -> str:
        """Write a score."""
        return share(score) if self.passage_tables is not None else self.numbers.format_score(score)

    def compared(self, items: ReviewItems, pair: int, whole: bool) -> dict[str, Any]:
        """The comparison of a pair of a list; the last ones are remembered."""
        return self._compared(items.name, pair, whole)

    def _compare(self, name: str, pair: int, whole: bool) -> dict[str, Any]:
        items = self.views[name].items
        left, right = int(items.left[pair]), int(items.right[pair])
        if self.passage_tables is not None:
            return comparison.passages(self.passage_tables, self.shown, int(items.rows[pair]), left, right)
        return comparison.compare(self.recorded, self.shown, left, right, self.names(items), whole)

    def _read_picture(self, place: int) -> Thumbnail:
        """Read the picture of a document by place."""
        if not (self.has_pictures and 0 <= place < len(self.shown)):
            raise OptionError(f"there is no picture {place}; allowed: 0 to {len(self.shown) - 1}")
        return read_thumbnail(self.recorded, int(self.shown.numbers[place]), PICTURE)

    def describe(self) -> str:
        """One line: what the result is of."""
        summary = self.recorded.summary
        what = counted(summary["documents"], self.noun)
        if self.passage_tables is not None:
            return f"{what}, {counted(summary['passages'], 'passage')}"
        pairs = counted(summary["pairs"], "pair")
        if self.recorded.command != "dedup":
            return f"{what}, {pairs}"
        gone = "flagged" if self.recorded.options.flag else "removed"
        return f"{what}, {summary['removed']:,} {gone} in {counted(summary['clusters'], 'cluster')}, {pairs}"

    def _read_version(self) -> tuple[int, int] | None:
        """What another result in the same folder does not share; None if the folder has no result any more."""
        try:
            found = os.stat(self.recorded.folder / SUMMARY)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    @property
    def is_replaced(self) -> bool:
        """Whether the result was written again, moved or removed since it was opened."""
        return self._read_version() != self._version

    def close(self) -> None:
        """Remove the copy of the texts."""
        self.shown.texts.close()


class PairNumbers(Numbers):
    """Numbers of a result of pairs, which has no removed documents."""

    def __init__(self, recorded: StoredResult) -> None:
        self.recorded, self.summary, self.plan = recorded, recorded.summary, recorded.plan
        self.measure = recorded.options.measure


def _documents_of(lists: Sequence[ReviewItems]) -> Whole:
    """Return the numbers of all documents in some lists, ascending."""
    ends = [side.astype(np.int64) for items in lists for side in (items.left, items.right)]
    return np.unique(np.concatenate(ends)) if ends else np.zeros(0, np.int64)
