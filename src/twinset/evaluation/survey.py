"""Survey a collection: exact similarities in a sample, extrapolated to the whole.

Pairs from half the threshold up are found exactly among all contents of the sample, by the prefix filter. Less similar
pairs are too many and are counted among the first few hundred contents. A plan's candidates, missed pairs and time
follow from its S-curve and measured costs.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import twinset
from twinset.engines.base import Job
from twinset.engines.local.run import LocalEngine, LocalRun
from twinset.engines.local.steps.sketch import sketch_block
from twinset.engines.progress import Progress, Silent
from twinset.evaluation.sample import DrawnSample, draw, near_pairs
from twinset.evaluation.shingle_length import Length, chance_by_length
from twinset.options import PairsOptions
from twinset.options.survey import SurveyOptions
from twinset.pairs.sets import Sets, overlaps, scores
from twinset.plan import Plan
from twinset.plan.band_costs import expected_cost
from twinset.plan.choose import band_plan
from twinset.schema import Numbers

BACKGROUND = 400  # contents whose pairs are all compared, to count the many dissimilar ones
_MOST_STEPS = 200_000_000
_BINS = 200
_UNREPORTED = ("threshold", "rate", "sketching", "threads")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RunEstimate:
    """Expected work and outcome of a run with a plan; pairs are of distinct contents.

    pairs, missed: pairs at or above the threshold, and how many of them the plan misses.
    candidates, in_vain: verified pairs, and how many of them are below the threshold.
    meetings: pairs compared by their sketches, counted once per band in which they collide.
    seconds: reading and sketching, finding candidates, verifying; start-up and writing excluded.
    """

    pairs: float
    missed: float
    candidates: float
    in_vain: float
    meetings: float
    seconds: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Survey:
    """Estimates for a collection, from a sample.

    documents, sampled, contents: documents of the collection; those in the sample; their distinct contents.
    compared, background: numbers of contents among which near pairs, and all pairs, were compared.
    text_bytes, shingles: text of the collection, and mean shingles per document; extrapolated.
    threshold: minimum similarity of a near pair.
    seen: near pairs in the sample itself.
    stands_for: pairs of the collection that one pair of the sample represents; 1 where all documents were compared.
    spectrum: similarities, each with the expected number of pairs of the collection.
    lengths: chance similarity, by shingle length.
    rate, sketching: measured seconds per byte of text for one thread to read and sketch; and the expected part of the
        sketching, in nanoseconds per document.
    """

    documents: int
    sampled: int
    contents: int
    compared: int
    background: int
    text_bytes: int
    shingles: float
    threshold: float
    seen: int
    stands_for: float
    spectrum: list[tuple[float, float]]
    lengths: list[Length]
    rate: float
    sketching: float
    threads: int

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The spectrum per document, as `twinset.plan.ranking.ranked` takes it."""
        return [(similarity, count / max(1, self.documents)) for similarity, count in self.spectrum]

    def estimate(self, chosen: Plan) -> RunEstimate:
        """Estimate the work and outcome of a run with a plan."""
        near = [(s, count) for s, count in self.spectrum if s >= self.threshold]
        found = sum(count * chosen.p_candidate(s) for s, count in near)
        cost = expected_cost(chosen, self.pairs, self.shingles)
        pairs = sum(count for _, count in near)
        candidates = cost.candidates * self.documents
        share = self.documents / 1e9 / self.threads
        seconds = {
            "read": self.text_bytes * self.rate / self.threads + (cost.sketching - self.sketching) * share,
            "candidates": cost.joining * share,
            "verify": cost.verifying * share,
        }
        seconds = {name: float(f"{max(0.0, value):.3g}") for name, value in seconds.items()}
        return RunEstimate(
            pairs, pairs - found, candidates, max(0.0, candidates - found), cost.meetings * self.documents, seconds
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the survey as plain values, ready for JSON."""
        values = {name: value for name, value in vars(self).items() if name not in _UNREPORTED}
        spectrum, lengths = [list(point) for point in self.spectrum], [one.to_dict() for one in self.lengths]
        return {**values, "spectrum": spectrum, "lengths": lengths}


def survey(*sources: object, progress: Progress | None = None, **options: Any) -> Survey:
    """Read a sample of a collection and estimate what a run would find.

    *sources: as for `twinset.find_pairs`.
    **options: the options of `twinset.find_pairs` for reading, shingling and planning, and `sample`: the number of
        pieces of about 1 MiB to read.
    The result is deterministic for the same sources, options and seed, except `rate`, which is measured.

    Examples
    --------
    >>> words = [f"w{number}" for number in range(90)]
    >>> texts = [" ".join(words[start : start + 40]) for start in (0, 2, 50)]
    >>> found = survey(texts, threshold=0.8)
    >>> found.documents, found.seen
    (3, 1)
    >>> round(found.estimate(twinset.plan(0.8)).pairs)
    1
    """
    checked = SurveyOptions.of(**options)
    reports = progress or Silent()
    with _run(sources, checked, reports) as run:
        reports.stage("counting documents", None, "documents")
        sample = draw(run, checked.sample, checked.seed)
        reports.stage("comparing the sample", None, "pairs")
        rate = _rate(run)
        sets = sample.sets(checked, checked.seed, len(sample))
        compared, near, shared = _near(sample, sets, checked.threshold / 2)
        spectrum, background = _spectrum(sample, sets, compared, near, shared, checked.threshold)
        return Survey(
            documents=sample.documents,
            sampled=sample.read,
            contents=len(sample),
            compared=compared,
            background=background,
            text_bytes=sample.text_bytes,
            shingles=_average(sample),
            threshold=checked.threshold,
            seen=int(np.count_nonzero(shared >= checked.threshold)),
            stands_for=sample.stands_for(compared),
            spectrum=spectrum,
            lengths=chance_by_length(sample, checked) if checked.item_kind == "text" else [],
            rate=rate,
            sketching=expected_cost(band_plan(run.options), (), _average(sample)).sketching,
            threads=run.threads.count,
        )


@contextmanager
def _run(sources: Sequence[object], options: SurveyOptions, progress: Progress) -> Iterator[LocalRun]:
    """Open the sources as a run would."""
    names = {name for name, _ in PairsOptions.specs()} & {name for name, _ in SurveyOptions.specs()}
    as_run = PairsOptions.of(**{name: getattr(options, name) for name in names})
    with LocalEngine().open(Job(tuple(sources), as_run, twinset.__version__, progress=progress)) as run:
        yield run


def _average(sample: DrawnSample) -> float:
    """Mean shingles per document; at least one."""
    return max(1.0, float(np.average(sample.counts, weights=sample.copies))) if len(sample) else 1.0


def _near(sample: DrawnSample, sets: Sets, floor: float) -> tuple[int, npt.NDArray[np.uint32], Floats]:
    """Pairs at or above the floor with their similarities, and the number of contents compared."""
    compared, lefts, rights = near_pairs(sets, floor)
    if sample.others.any():
        across = sample.others[lefts] != sample.others[rights]
        lefts, rights = lefts[across], rights[across]
    similarities = _similarities(sets, lefts, rights, floor)
    similar = similarities > 0
    return compared, np.stack([lefts, rights], axis=1)[similar], similarities[similar]


def _similarities(sets: Sets, lefts: Numbers, rights: Numbers, threshold: float) -> Floats:
    shared = overlaps(sets, lefts, rights, threshold)
    return scores(shared, sets.sizes[lefts], sets.sizes[rights])["similarity"]


def _spectrum(
    sample: DrawnSample, sets: Sets, compared: int, near: npt.NDArray[np.uint32], shared: Floats, threshold: float
) -> tuple[list[tuple[float, float]], int]:
    """Pairs of the collection by similarity; those below half the threshold come from the background."""
    load = np.arange(1, len(sample) + 1) * np.cumsum(sets.sizes, dtype=np.int64)
    few = max(min(2, len(sample)), min(BACKGROUND, int(np.searchsorted(load, _MOST_STEPS, side="right"))))
    few = min(few, len(sample))
    left, right = (side.astype(np.uint32) for side in np.triu_indices(few, 1))
    if sample.others.any():
        across = sample.others[left] != sample.others[right]
        left, right = left[across], right[across]
    far = _similarities(sets, left, right, 0.0)
    below = far < threshold / 2
    similarities = np.concatenate([far[below], shared])
    weights = np.concatenate(
        [sample.weights(left[below], right[below], few), sample.weights(near[:, 0], near[:, 1], compared)]
    )
    edges = np.unique(np.append(np.linspace(0, 1, _BINS + 1), threshold))
    bins = np.clip(np.searchsorted(edges, similarities, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(bins, weights, len(edges) - 1)
    means = np.bincount(bins, weights * similarities, len(edges) - 1)
    return [(float(means[at] / counts[at]), float(counts[at])) for at in np.flatnonzero(counts)], few


def _rate(run: LocalRun) -> float:
    """Measure seconds per byte to read and sketch, on two batches; the first one warms up."""
    rate = math.nan
    part = max(run.parts[: run.against], key=lambda one: one.size)
    for _, chunk in zip(range(2), part.chunks(run.batch_bytes), strict=False):
        since = time.thread_time()
        done = sketch_block(chunk.read(), part, run.options, run.sketching, False, False)
        taken = time.thread_time() - since
        if done.text_bytes:
            rate = min(taken / done.text_bytes, rate) if rate == rate else taken / done.text_bytes
    return rate if rate == rate else 0.0
