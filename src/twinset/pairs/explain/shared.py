"""Explain the similarity of two texts or sets: shared shingles, differing shingles, and differing words."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from twinset.options import ShingleOptions
from twinset.pairs.explain.words import Difference, Hunk, Words, normalise
from twinset.textbook import squeeze
from twinset.wording import share

_One = TypeVar("_One", str, tuple[str, str])


def spaced(form: str, options: ShingleOptions) -> str:
    """Squeeze or remove the white space of a normalised text, as for shingles of characters.

    Examples
    --------
    >>> spaced(" a  b ", ShingleOptions()), spaced(" a  b ", ShingleOptions(spaces=False))
    ('a b', 'ab')
    """
    if not options.spaces:
        return "".join(form.split())
    return squeeze(form) if options.squeeze else form


def shingle_texts(text: str, options: ShingleOptions) -> list[str]:
    """Shingles of a text as strings, in order, with repeats; words are joined by a space.

    Words contain no space, so two shingles are the same string if and only if they are the same shingle.

    Examples
    --------
    >>> shingle_texts("A rose, is a ROSE", ShingleOptions.of(shingle="word:3"))
    ['a rose is', 'rose is a', 'is a rose']
    """
    size = options.size
    if options.kind == "word":
        words = Words(text, options).keys
        return [" ".join(words[i : i + size]) for i in range(max(len(words) - size + 1, min(len(words), 1)))]
    form = spaced(normalise(text, options), options)
    return [form[i : i + size] for i in range(max(len(form) - size + 1, min(len(form), 1)))]


@dataclass(frozen=True)
class Explanation:
    """The comparison of two texts.

    Attributes
    ----------
    similarity, left_in_right, right_in_left
        Exact Jaccard similarity, and the containment of each in the other, as in a run.
    shared, left_only, right_only
        Shingles as strings, in text order; with `bag` as often as they count.
    left_words, right_words
        How many words each text has.
    shingle
        What was compared, such as ``word:5``.
    """

    similarity: float
    left_in_right: float
    right_in_left: float
    shared: tuple[str, ...]
    left_only: tuple[str, ...]
    right_only: tuple[str, ...]
    left: str
    right: str
    options: ShingleOptions

    unit: ClassVar[str] = "shingle"
    """Name of one shared or differing thing."""
    weighted: ClassVar[bool] = False
    """Whether the shares are by weight instead of by number."""
    compares: ClassVar[str | None] = None
    """What was compared; None for the shingles of the options."""

    @property
    def shingle(self) -> str:
        """What was compared."""
        return self.compares or self.options.shingle

    @cached_property
    def difference(self) -> Difference:
        """The word-level difference."""
        return Difference(self.left, self.right, self.options)

    @property
    def left_words(self) -> int:
        """The number of words of the left text."""
        return len(self.difference.left)

    @property
    def right_words(self) -> int:
        """The number of words of the right text."""
        return len(self.difference.right)

    def hunks(self, context: int | None = 6) -> list[Hunk]:
        """The changes with up to `context` equal words around each; None shows all words."""
        return self.difference.hunks(context)

    def __repr__(self) -> str:
        counts = f"{len(self.shared):,} shared, {len(self.left_only):,} and {len(self.right_only):,} not"
        return f"<Explanation: similarity {share(self.similarity)}; {counts}>"

    def to_dict(self, context: int | None = 6) -> dict[str, Any]:
        """The explanation as plain values, ready for JSON."""
        return {
            "similarity": self.similarity,
            "left_in_right": self.left_in_right,
            "right_in_left": self.right_in_left,
            "shingle": self.shingle,
            "shared": list(self.shared),
            "left_only": list(self.left_only),
            "right_only": list(self.right_only),
            "left_words": self.left_words,
            "right_words": self.right_words,
            "equal_words": self.difference.equal_words,
            "difference": [
                {
                    "folded": hunk.folded,
                    "parts": [
                        {"equal": part.words > 0, "left": part.left, "right": part.right, "moved": part.moved or None}
                        for part in hunk.parts
                    ],
                }
                for hunk in self.hunks(context)
            ],
        }


@dataclass(frozen=True, repr=False)
class SetExplanation(Explanation):
    """The comparison of two sets: shared and differing elements, without words and hunks."""

    unit = "element"
    compares = "elements"

    def hunks(self, context: int | None = 6) -> list[Hunk]:
        """Return no hunks: sets have no order."""
        return []

    def to_dict(self, context: int | None = 6) -> dict[str, Any]:
        """The explanation as plain values, ready for JSON."""
        return {
            "similarity": self.similarity,
            "left_in_right": self.left_in_right,
            "right_in_left": self.right_in_left,
            "shared": list(self.shared),
            "left_only": list(self.left_only),
            "right_only": list(self.right_only),
        }


@dataclass(frozen=True, repr=False)
class WeightedExplanation(SetExplanation):
    """The comparison of two weighted sets: elements with their weights.

    Attributes
    ----------
    weights
        Each element with its weight on the left and on the right: first elements of both, then of the left only, then
        of the right only; each part by descending weight.
    """

    weights: tuple[tuple[str, float, float], ...] = ()
    weighted = True

    def to_dict(self, context: int | None = 6) -> dict[str, Any]:
        """The explanation as plain values, ready for JSON."""
        return {**super().to_dict(context), "weights": [list(one) for one in self.weights]}


def explain_sets(left: Sequence[str], right: Sequence[str], *, bag: bool = False) -> SetExplanation:
    """Explain the similarity of two sets, or bags.

    Examples
    --------
    >>> found = explain_sets(["chair", "desk", "rug", "keyboard", "mouse"], ["chair", "rug", "keyboard"])
    >>> found.similarity, found.shared, found.left_only
    (0.6, ('chair', 'rug', 'keyboard'), ('desk', 'mouse'))
    """
    ours, theirs = (list(one) if bag else list(dict.fromkeys(one)) for one in (left, right))
    return SetExplanation(**_compared(ours, theirs), left="", right="", options=ShingleOptions.of())


def explain_weighted(left: Mapping[str, float], right: Mapping[str, float]) -> WeightedExplanation:
    """Explain the similarity of two weighted sets: each element with its left and right weight.

    Examples
    --------
    >>> found = explain_weighted({"bread": 2, "milk": 0.5}, {"bread": 1, "milk": 0.5, "salt": 0.5})
    >>> found.similarity, found.shared, found.right_only
    (0.5, ('bread (2 and 1)', 'milk (0.5 and 0.5)'), ('salt (0.5)',))
    >>> found.weights
    (('bread', 2, 1), ('milk', 0.5, 0.5), ('salt', 0.0, 0.5))
    """
    # By importance: of both sets by common weight, otherwise by weight.
    both = sorted((name for name in left if name in right), key=lambda name: -min(left[name], right[name]))
    mine, other = (
        sorted((name for name in one if name not in two), key=lambda name: -one[name])
        for one, two in ((left, right), (right, left))
    )
    least = math.fsum(min(left[name], right[name]) for name in both)
    ours, theirs = math.fsum(left.values()), math.fsum(right.values())
    most = math.fsum(max(left.get(name, 0.0), right.get(name, 0.0)) for name in {**left, **right})
    return WeightedExplanation(
        similarity=least / most if most else 0.0,
        left_in_right=least / ours if ours else 0.0,
        right_in_left=least / theirs if theirs else 0.0,
        shared=tuple(f"{name} ({left[name]:g} and {right[name]:g})" for name in both),
        left_only=tuple(f"{name} ({left[name]:g})" for name in mine),
        right_only=tuple(f"{name} ({right[name]:g})" for name in other),
        left="",
        right="",
        options=ShingleOptions.of(),
        weights=tuple((name, left.get(name, 0.0), right.get(name, 0.0)) for name in (*both, *mine, *other)),
    )


@dataclass(frozen=True, repr=False)
class RecordExplanation(Explanation):
    """The comparison of two records: shingles are prefixed with their column."""

    compares = "columns"
    weighted = True


def explain_records(
    left: Mapping[str, str], right: Mapping[str, str], columns: Mapping[str, tuple[ShingleOptions, int]]
) -> RecordExplanation:
    """Explain the similarity of two records; each column has its own shingles and weight.

    Examples
    --------
    >>> columns = {"name": (ShingleOptions.of(shingle="word:1"), 2), "city": (ShingleOptions.of(shingle="word:1"), 1)}
    >>> found = explain_records({"name": "Ann Hill", "city": "York"}, {"name": "Ann Hall", "city": "York"}, columns)
    >>> found.similarity, found.shared, found.left_only
    (0.42857142857142855, ('name: ann', 'city: york'), ('name: hill',))
    """
    ours, theirs = (_record_shingles(one, columns) for one in (left, right))
    weights = {name: weight for name, (_, weight) in columns.items()}
    both, left_only = _parted(ours, theirs)
    right_only = _parted(theirs, ours)[1]
    shared, mine, other = (sum(weights[name] for name, _ in some) for some in (both, left_only, right_only))
    every = shared + mine + other
    return RecordExplanation(
        similarity=shared / every if every else 0.0,
        left_in_right=shared / (shared + mine) if shared + mine else 0.0,
        right_in_left=shared / (shared + other) if shared + other else 0.0,
        shared=tuple(map(": ".join, both)),
        left_only=tuple(map(": ".join, left_only)),
        right_only=tuple(map(": ".join, right_only)),
        left="\n".join(f"{name}: {left.get(name, '')}" for name in columns),
        right="\n".join(f"{name}: {right.get(name, '')}" for name in columns),
        options=next(iter(columns.values()))[0],
    )


def _record_shingles(
    record: Mapping[str, str], columns: Mapping[str, tuple[ShingleOptions, int]]
) -> list[tuple[str, str]]:
    listed: list[tuple[str, str]] = []
    for name, (options, _) in columns.items():
        shingles = shingle_texts(record.get(name, ""), options)
        listed += [(name, one) for one in (shingles if options.bag else dict.fromkeys(shingles))]
    return listed


def explain_texts(left: str, right: str, options: ShingleOptions) -> Explanation:
    """Explain the similarity of two texts.

    Examples
    --------
    >>> found = explain_texts("Nadal", "Nadia", ShingleOptions.of(shingle="char:2"))
    >>> found.similarity, found.shared, found.left_only, found.right_only
    (0.3333333333333333, ('na', 'ad'), ('da', 'al'), ('di', 'ia'))
    """
    ours, theirs = shingle_texts(left, options), shingle_texts(right, options)
    if not options.bag:
        ours, theirs = list(dict.fromkeys(ours)), list(dict.fromkeys(theirs))
    return Explanation(**_compared(ours, theirs), left=left, right=right, options=options)


def _compared(ours: list[str], theirs: list[str]) -> dict[str, Any]:
    """Scores of an explanation, with its shared and differing shingles."""
    shared, left_only = _parted(ours, theirs)
    _, right_only = _parted(theirs, ours)
    union = len(ours) + len(theirs) - len(shared)
    return {
        "similarity": len(shared) / union if union else 0.0,
        "left_in_right": len(shared) / len(ours) if ours else 0.0,
        "right_in_left": len(shared) / len(theirs) if theirs else 0.0,
        "shared": shared,
        "left_only": left_only,
        "right_only": right_only,
    }


def _parted(ours: list[_One], theirs: list[_One]) -> tuple[tuple[_One, ...], tuple[_One, ...]]:
    """Split one side's elements into those that the other side also has, and the rest."""
    left_over = Counter(theirs)
    shared: list[_One] = []
    alone: list[_One] = []
    for one in ours:
        in_both = left_over[one] > 0
        (shared if in_both else alone).append(one)
        left_over[one] -= in_both
    return tuple(shared), tuple(alone)
