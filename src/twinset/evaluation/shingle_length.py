"""Choose the shingle length by the chance similarity of unrelated documents."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinset.evaluation.sample import DrawnSample
from twinset.options import ShingleOptions
from twinset.options.survey import SurveyOptions
from twinset.pairs.sets import overlaps, scores

WORDS, CHARACTERS = range(1, 11), range(3, 16)
ENOUGH = 0.01
"""Maximum mean similarity of two unrelated documents."""

_DOCUMENTS = 200
_MOST_SHINGLES = 400_000
_RELATED = 0.2


@dataclass(frozen=True)
class Length:
    """A length of shingles.

    shingle: the kind and the length, such as ``word:5``.
    chance: mean similarity of two unrelated documents of the sample.
    highest: the 99th percentile of that similarity.
    pairs: number of pairs compared.
    """

    shingle: str
    chance: float
    highest: float
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain values, ready for JSON."""
        return dataclasses.asdict(self)


def chance_by_length(sample: DrawnSample, options: SurveyOptions) -> list[Length]:
    """Measure the similarity of unrelated documents for shingles of each length.

    Compares all pairs of about two hundred contents. Pairs that share a fifth or more at the greatest length are
    related and excluded. Without an unrelated pair the list is empty.
    """
    reach = np.cumsum(sample.counts, dtype=np.int64)
    few = min(len(sample), _DOCUMENTS, max(2, int(np.searchsorted(reach, _MOST_SHINGLES, side="right"))))
    lefts, rights = (side.astype(np.uint32) for side in np.triu_indices(few, 1))
    same_group = sample.salts[lefts] == sample.salts[rights]
    lefts, rights = lefts[same_group], rights[same_group]
    lengths = WORDS if options.kind == "word" else CHARACTERS
    similarities = {}
    for length in reversed(lengths):
        spec = f"{options.kind}:{length}"
        names = [field.name for field in dataclasses.fields(ShingleOptions)]
        one = ShingleOptions.of(**{**{name: getattr(options, name) for name in names}, "shingle": spec})
        sets = sample.sets(one, options.seed, few)
        shared = overlaps(sets, lefts, rights, 0.0)
        similarities[spec] = scores(shared, sets.sizes[lefts], sets.sizes[rights])["similarity"]
        if length == lengths[-1]:
            unrelated = similarities[spec] < _RELATED
            lefts, rights, similarities[spec] = lefts[unrelated], rights[unrelated], similarities[spec][unrelated]
    if not len(lefts):
        return []
    return [
        Length(spec, float(values.mean()), float(np.quantile(values, 0.99)), len(values))
        for spec, values in reversed(similarities.items())
    ]


def least_length(lengths: list[Length]) -> Length | None:
    """Return the shortest length whose chance similarity is low enough; None if there is none."""
    return next((one for one in lengths if one.chance <= ENOUGH), None)
