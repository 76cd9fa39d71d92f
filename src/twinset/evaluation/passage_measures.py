"""Agreement of detected passages with the true ones: precision, recall, granularity and plagdet.

The measures are those of Potthast, Stein, Barrón-Cedeño and Rosso, "An Evaluation Framework for Plagiarism Detection",
COLING 2010, as used at PAN: counted in characters, macro-averaged over cases and over detections. A case is a true
passage, a detection a passage that was found. Both have a span in each document of a pair. A detection detects a case
if it is in the same pair of documents and overlaps it on both sides. Only then do their common characters count, those
of both sides.

The spans of all document pairs are laid one after the other on one axis, so that one sort finds all overlaps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from twinset.schema import Flags, Hashes, Places, Shares

DEFINITIONS = {
    "precision": "Share of the characters of a detection, on both sides, that are in the cases it detects; mean of all "
    "detections. Null where nothing was detected.",
    "recall": "Share of the characters of a case, on both sides, that are in the detections of it; mean of all cases. "
    "Null where there is no case.",
    "granularity": "Detections of a case; mean of the detected cases. 1 is best: each case is found in one piece. Null "
    "where no case was detected.",
    "plagdet": "The harmonic mean of precision and recall, divided by log2(1 + granularity). 0 where no case was "
    "detected. Null where there is neither a case nor a detection.",
}

_BLOCK = 1 << 22  # pairs of a case and a detection that are compared at a time


@dataclass(frozen=True)
class AlignedSpans:
    """Pairs of spans, one in each document of a pair, in any order.

    pair: the document pair of each, as a number; those of `pair_words` name both documents.
    left_start, left_end, right_start, right_end: the spans in characters, the end exclusive. None is empty.
    """

    pair: Hashes
    left_start: Places
    left_end: Places
    right_start: Places
    right_end: Places

    def __len__(self) -> int:
        return len(self.pair)

    @property
    def lengths(self) -> Places:
        """Characters of each, on both sides."""
        return (self.left_end - self.left_start) + (self.right_end - self.right_start)

    @property
    def columns(self) -> tuple[Places, ...]:
        """The document pair and the spans."""
        return (self.pair.astype(np.int64), self.left_start, self.left_end, self.right_start, self.right_end)

    def take(self, chosen: Flags | Places) -> AlignedSpans:
        """Return the chosen ones."""
        spans = (self.left_start, self.left_end, self.right_start, self.right_end)
        return AlignedSpans(self.pair[chosen], *(column[chosen] for column in spans))


@dataclass(frozen=True)
class PassageScores:
    """The measures, and what each case and each detection contributes to them.

    case_detections, case_recall: of each case, its number of detections and the share of it that they cover.
    detection_cases, detection_precision: of each detection, its number of cases and the share that they cover.
    """

    case_detections: Places
    case_recall: Shares
    detection_cases: Places
    detection_precision: Shares

    @property
    def detected(self) -> int:
        """Number of detected cases."""
        return int(np.count_nonzero(self.case_detections))

    @property
    def precision(self) -> float | None:
        """Mean precision of the detections."""
        return _mean(self.detection_precision)

    @property
    def recall(self) -> float | None:
        """Mean recall of the cases."""
        return _mean(self.case_recall)

    @property
    def granularity(self) -> float | None:
        """Mean number of detections of a detected case."""
        return int(self.case_detections.sum()) / self.detected if self.detected else None

    @property
    def plagdet(self) -> float | None:
        """F1 of precision and recall, divided by log2(1 + granularity)."""
        if not len(self.case_recall) and not len(self.detection_precision):
            return None
        precision, recall, granularity = self.precision, self.recall, self.granularity
        if not precision or not recall or granularity is None:
            return 0.0
        return 2 * precision * recall / (precision + recall) / math.log2(1 + granularity)

    def to_dict(self) -> dict[str, float | int | None]:
        """Return the measures and counts as plain values."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "granularity": self.granularity,
            "plagdet": self.plagdet,
            "cases": len(self.case_recall),
            "detected_cases": self.detected,
            "detections": len(self.detection_precision),
            "false_detections": int(np.count_nonzero(self.detection_cases == 0)),
        }


def score_passages(cases: AlignedSpans, detections: AlignedSpans) -> PassageScores:
    """Compare detections with cases.

    Examples
    --------
    >>> import numpy as np
    >>> def spans(*rows):
    ...     return AlignedSpans(*np.array(rows, np.int64).T)
    >>> cases = spans((0, 0, 100, 0, 100), (1, 50, 90, 0, 40))
    >>> found = score_passages(cases, spans((0, 0, 50, 0, 50), (0, 60, 110, 60, 110)))
    >>> found.precision, found.recall, found.granularity, round(found.plagdet, 4)
    (0.9, 0.45, 2.0, 0.3786)
    """
    case, detection = _overlaps(*_on_one_axis(cases, detections))
    return PassageScores(
        np.bincount(case, minlength=len(cases)).astype(np.int64),
        _covered(cases, detections, case, detection) / cases.lengths,
        np.bincount(detection, minlength=len(detections)).astype(np.int64),
        _covered(detections, cases, detection, case) / detections.lengths,
    )


def _mean(values: Shares) -> float | None:
    # Added exactly, so that the order of the rows does not change the last digit.
    return math.fsum(values.tolist()) / len(values) if len(values) else None


def _on_one_axis(cases: AlignedSpans, detections: AlignedSpans) -> tuple[AlignedSpans, AlignedSpans]:
    """Move the left spans of each document pair behind those of the pair before it; only left spans are moved."""
    pairs = np.concatenate([cases.pair, detections.pair])
    ends = np.concatenate([cases.left_end, detections.left_end])
    used, number = np.unique(pairs, return_inverse=True)
    length = np.zeros(len(used), np.int64)
    np.maximum.at(length, number, ends)
    shift = (np.cumsum(length) - length)[number]
    own, other = shift[: len(cases)], shift[len(cases) :]
    return _moved(cases, own), _moved(detections, other)


def _moved(spans: AlignedSpans, by: Places) -> AlignedSpans:
    return replace(spans, left_start=spans.left_start + by, left_end=spans.left_end + by)


def _overlaps(cases: AlignedSpans, detections: AlignedSpans) -> tuple[Places, Places]:
    """Return every case with every detection that overlaps it on both sides, by their row numbers."""
    order = np.argsort(detections.left_start, kind="stable")
    ordered = detections.take(order)
    # Detections from `first` to `last` may overlap a case: `reach` is the furthest end so far.
    reach = np.maximum.accumulate(ordered.left_end)
    first = np.searchsorted(reach, cases.left_start, side="right")
    last = np.searchsorted(ordered.left_start, cases.left_end, side="left")
    found = [np.empty((2, 0), np.int64)]
    for rows in _blocks(np.maximum(last - first, 0)):
        counts = np.maximum(last[rows] - first[rows], 0)
        case = np.repeat(rows, counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        place = np.repeat(first[rows], counts) + within
        both = (
            (ordered.left_end[place] > cases.left_start[case])
            & (ordered.right_start[place] < cases.right_end[case])
            & (ordered.right_end[place] > cases.right_start[case])
        )
        found.append(np.stack([case[both], order[place[both]]]))
    case, detection = np.concatenate(found, axis=1)
    return case, detection


def _blocks(counts: Places) -> Iterator[Places]:
    """Yield row numbers in blocks of about `_BLOCK` counts, at least one row each."""
    if len(counts):
        block = (np.cumsum(counts) - counts) // _BLOCK
        yield from np.split(np.arange(len(counts)), np.flatnonzero(np.diff(block)) + 1)


def _covered(of: AlignedSpans, by: AlignedSpans, row: Places, other: Places) -> Places:
    """Return how many characters of each row of `of`, on both sides, are in a matching row of `by`."""
    sides = (
        (of.left_start, of.left_end, by.left_start, by.left_end),
        (of.right_start, of.right_end, by.right_start, by.right_end),
    )
    covered = np.zeros(len(of), np.int64)
    for start, end, other_start, other_end in sides:
        # Each row has its own part of one axis, so that parts of different rows are never merged.
        base = (np.cumsum(end - start) - end)[row]
        starts = np.maximum(start[row], other_start[other]) + base
        ends = np.minimum(end[row], other_end[other]) + base
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        before = np.maximum.accumulate(np.append(0, ends))[:-1]
        np.add.at(covered, row[order], np.maximum(ends - np.maximum(starts, before), 0))
    return covered
