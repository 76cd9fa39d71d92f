"""Find the documents of true passages.

A truth may name a document by its id, by its file name without the folder, or by its file name without folder and
ending, if that is unique among the documents of its side.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.errors import SourceError
from twinset.evaluation.passage_measures import AlignedSpans
from twinset.evaluation.read_passages import TruePassages
from twinset.evaluation.read_truth import MOST_NAMED
from twinset.schema import Flags, Numbers, Places
from twinset.system.arrays import pair_words
from twinset.wording import at_row

UNKNOWN, AMBIGUOUS = -1, -2
_MOST_GUESSED, _MOST_COMPARED = 5, 20_000


@dataclass(frozen=True)
class DocumentNames:
    """The ids of the documents of a side, with their file names.

    Examples
    --------
    >>> import pyarrow as pa
    >>> names = DocumentNames(pa.array(["old/a.txt", "new/a.txt", "new/b.txt"], pa.large_string()))
    >>> names.find(pa.array(["new/a.txt", "b.txt", "b", "a", "c"], pa.large_string())).tolist()
    [1, 2, 2, -2, -1]
    """

    ids: Any

    @cached_property
    def file_names(self) -> Any:
        """The ids without folders."""
        return pc.replace_substring_regex(self.ids, r"^.*[/\\]", "")

    @cached_property
    def stems(self) -> Any:
        """The ids without folders and endings."""
        return pc.replace_substring_regex(self.file_names, r"(.)\.[^.]+$", r"\1")

    def find(self, values: Any) -> Places:
        """Return the number of each document; -1 if there is none, -2 if several have the name."""
        numbers = _numbers(values, self.ids)
        for part in ("file_names", "stems"):
            rest = np.flatnonzero(numbers == UNKNOWN)
            if not len(rest):
                break
            names, wanted = getattr(self, part), values.take(pa.array(rest))
            counts = pc.value_counts(names.filter(pc.is_in(names, value_set=wanted)))
            several = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
            numbers[rest] = _numbers(wanted, names)
            numbers[rest[pc.is_in(wanted, value_set=several).to_numpy(zero_copy_only=False)]] = AMBIGUOUS
        return numbers

    def named(self, value: str) -> list[str]:
        """Return the first two documents with a file name."""
        wanted = pa.scalar(value, pa.large_string())
        either = pc.or_(pc.equal(self.file_names, wanted), pc.equal(self.stems, wanted))
        return [str(id) for id in self.ids.filter(either).slice(0, 2).to_pylist()]

    def similar(self, value: str) -> str | None:
        """Return the id with the most similar file name, among a limited number."""
        for names in (self.stems, self.file_names, self.ids):
            listed = names.slice(0, _MOST_COMPARED).to_pylist()
            if near := difflib.get_close_matches(value, listed, n=1):
                return str(self.ids[listed.index(near[0])].as_py())
        return None


@dataclass(frozen=True)
class _FoundRows:
    """The documents of each row of a truth: their numbers, valid where `linked`, and whether each id is known."""

    left: Places
    right: Places
    linked: Flags
    left_known: Flags
    right_known: Flags


def find_cases(
    truth: TruePassages, ids: Any, border: int | None = None, within: bool = False
) -> tuple[AlignedSpans, dict[str, Any]]:
    """Find the documents of each case; rows with unknown ids are counted, reported and dropped.

    ids: the id of every document, by number.
    border: the first document of the source compared against; then a case has a document on each side.
    within: whether passages within one document are searched; otherwise such cases are dropped.
    Returns the cases, each once, and a report for the summary.
    """
    ids = ids.cast(pa.large_string())
    found = _find_in_one(truth, ids) if border is None else _find_in_two(truth, ids, border)
    known = found.left_known & found.right_known
    unknown = pc.unique(
        pa.concat_arrays(
            [truth.left.filter(pa.array(~found.left_known)), truth.right.filter(pa.array(~found.right_known))]
        )
    )
    if len(known) and not (found.left_known | found.right_known).any():
        _refuse_other_documents(truth, ids)
    own = found.linked & (found.left == found.right) & (not within)
    used = found.linked & ~own
    every = oriented(found.left[used], found.right[used], tuple(column[used] for column in truth.spans))
    _, first = np.unique(np.stack(every.columns, axis=1), axis=0, return_index=True)
    facts = {
        "kind": "passages",
        "name": truth.name,
        "rows": len(known),
        "unknown_ids": len(unknown),
        "unknown": unknown.slice(0, MOST_NAMED).to_pylist(),
        "similar": _guesses(unknown.slice(0, _MOST_GUESSED).to_pylist(), DocumentNames(ids)),
        "rows_left_out": int(np.count_nonzero(~known)),
        "with_itself": int(np.count_nonzero(own)),
        "repeated": len(every) - len(first),
        **({} if border is None else {"within_one_side": int(np.count_nonzero(known & ~found.linked))}),
    }
    return every.take(np.sort(first)), facts


def oriented(left: Numbers | Places, right: Numbers | Places, spans: tuple[Places, ...]) -> AlignedSpans:
    """Put the document that was read first on the left, or the first span of one document.

    left, right: the documents of each passage, by number. spans: start and end on the left, start and end on the right.

    Examples
    --------
    >>> import numpy as np
    >>> one = oriented(np.array([7]), np.array([2]), tuple(np.array([[0], [9], [30], [39]])))
    >>> one.left_start.tolist(), one.right_start.tolist()
    ([30], [0])
    """
    left_start, left_end, right_start, right_end = spans
    swap = (left > right) | ((left == right) & (left_start > right_start))
    pair = pair_words(np.minimum(left, right).astype(np.uint32), np.maximum(left, right).astype(np.uint32))
    return AlignedSpans(
        pair,
        np.where(swap, right_start, left_start),
        np.where(swap, right_end, left_end),
        np.where(swap, left_start, right_start),
        np.where(swap, left_end, right_end),
    )


def _find_in_one(truth: TruePassages, ids: Any) -> _FoundRows:
    names = DocumentNames(ids)
    left, right = names.find(truth.left), names.find(truth.right)
    _refuse_ambiguous(
        truth, (names, left, truth.left), (names, right, truth.right), (left != UNKNOWN) & (right != UNKNOWN)
    )
    return _FoundRows(left, right, (left >= 0) & (right >= 0), left != UNKNOWN, right != UNKNOWN)


def _find_in_two(truth: TruePassages, ids: Any, border: int) -> _FoundRows:
    """Find the left document among the sources and the right one in the other source; else the other way round."""
    own, other = DocumentNames(ids.slice(0, border)), DocumentNames(ids.slice(border))
    left, right = own.find(truth.left), other.find(truth.right)
    other_left, own_right = other.find(truth.left), own.find(truth.right)
    straight = (left >= 0) & (right >= 0)
    linked = straight | ((other_left >= 0) & (own_right >= 0))
    _refuse_ambiguous(
        truth, (own, left, truth.left), (other, right, truth.right), ~linked & (left != UNKNOWN) & (right != UNKNOWN)
    )
    _refuse_ambiguous(
        truth, (other, other_left, truth.left), (own, own_right, truth.right),
        ~linked & (other_left != UNKNOWN) & (own_right != UNKNOWN),
    )  # fmt: skip
    return _FoundRows(
        np.where(straight, left, other_left + border),
        np.where(straight, right + border, own_right),
        linked,
        (left != UNKNOWN) | (other_left != UNKNOWN),
        (right != UNKNOWN) | (own_right != UNKNOWN),
    )


def _refuse_ambiguous(
    truth: TruePassages, left: tuple[DocumentNames, Places, Any], right: tuple[DocumentNames, Places, Any], rows: Flags
) -> None:
    """Raise if one of these rows names a document by a file name that several have."""
    for names, numbers, values in (left, right):
        if (several := rows & (numbers == AMBIGUOUS)).any():
            row = int(np.argmax(several))
            value = values[row].as_py()
            one, another = names.named(value)
            raise SourceError(
                f"{value!r} is the file name of several documents, such as {one!r} and {another!r}; name each by its "
                "whole id",
                where=at_row(truth.name, row),
            )


def _refuse_other_documents(truth: TruePassages, ids: Any) -> None:
    """Raise an error with a guess: the truth is about other documents."""
    first = truth.left[0].as_py()
    near = DocumentNames(ids).similar(first)
    such = f"{ids[0].as_py()!r}" if len(ids) else "none"
    guess = f"did you mean {near!r}?" if near else f"the documents have ids such as {such}"
    raise SourceError(
        f"none of its ids is the id or file name of a document: it has {first!r}; {guess}", where=truth.name
    )


def _guesses(unknown: list[str], names: DocumentNames) -> dict[str, str]:
    """Return similar ids for unknown ones."""
    near = {id: names.similar(id) for id in unknown}
    return {id: guess for id, guess in near.items() if guess is not None}


def _numbers(values: Any, ids: Any) -> Places:
    """Return the number of each document by id, or -1."""
    numbers = pc.fill_null(pc.index_in(values, value_set=ids), UNKNOWN)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int64)
