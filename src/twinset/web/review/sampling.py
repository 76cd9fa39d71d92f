"""A random sample to label, and the precision that follows from the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twinset.errors import OptionError
from twinset.results.judged import PairsToSample
from twinset.verdicts.precision import PrecisionAt, estimate_precision
from twinset.verdicts.sample import draw_sample
from twinset.web.answers import Refused
from twinset.web.review.data import ReviewData
from twinset.web.review.forms import whole
from twinset.web.review.items import UNDECIDED
from twinset.web.review.ledger import Ledger
from twinset.web.review.views import written_time
from twinset.wording import share

PAIRS, MOST_PAIRS = 60, 10_000
"""Pairs of a sample by default, and at most."""

_PRECISION = 0.95


class Sampling:
    """The samples of a result."""

    def __init__(self, data: ReviewData, ledger: Ledger) -> None:
        self._data, self._ledger = data, ledger

    def draw(self, fields: Mapping[str, str], who: str) -> None:
        """Draw a sample as a form asks for it."""
        pairs, seed = whole(fields, "pairs"), whole(fields, "seed")
        if not 1 <= pairs <= MOST_PAIRS:
            raise OptionError(f"the number of pairs is {pairs}; allowed: 1 to {MOST_PAIRS:,}")
        drawn = PairsToSample(self._data.recorded)
        draw_sample(self._ledger.store, drawn.population, drawn.names, who=who, pairs=pairs, seed=seed)
        self._data.forget_tables()

    def page(self, number: str | None, precision: str) -> dict[str, Any]:
        """What the page of samples shows: a sample by number, the last by default, and its estimate."""
        samples = self._ledger.samples
        asked, problem = _PRECISION, ""
        if precision:
            try:
                asked = float(precision.replace(",", "."))
            except ValueError:
                asked = float("nan")
            if not 0 < asked <= 1:
                asked, problem = _PRECISION, f"The precision is {precision[:40]!r}; allowed: above 0 and up to 1."
        given: dict[str, Any] = {"pairs": PAIRS, "seed": len(samples) + 1, "asked": asked, "problem": problem}
        if not samples:
            return {**given, "sample": None, "numbers": []}
        which = len(samples) if number is None else whole({"sample": number}, "sample")
        if not 1 <= which <= len(samples):
            raise Refused(404, "not_found", f"there is no sample {which}")
        return {**given, "numbers": range(1, len(samples) + 1), "sample": self._sample(which, asked)}

    def _sample(self, which: int, asked: float) -> dict[str, Any]:
        sample, view = self._ledger.samples[which - 1], self._data.views["pairs"]
        places = view.samples[which - 1]
        estimate = estimate_precision(self._ledger.store, which)
        still = [int(place) for place in places.tolist() if view.items.state[place] == UNDECIDED]
        least = estimate.least_limit(asked)
        return {
            "number": which,
            "time": written_time(sample.time),
            "seed": sample.seed,
            "pairs": len(sample.pairs),
            "population": sample.population,
            "absent": len(sample.pairs) - len(places),
            "labelled": len(places) - len(still),
            "next": f"/pairs/{still[0]}?sample={which}" if still else None,
            "list": f"/pairs?sample={which}",
            "right": estimate.right,
            "wrong": estimate.wrong,
            "unsure": estimate.unsure,
            "left_out": estimate.left_out,
            "rows": [self._row(one) for one in estimate.rows],
            "least": None if least is None else self._data.format_score(least.limit),
        }

    def _row(self, one: PrecisionAt) -> dict[str, Any]:
        return {
            "limit": self._data.format_score(one.limit),
            "pairs": one.pairs,
            "judged": one.judged,
            "precision": "" if one.precision is None else share(one.precision, 3),
            "point": None if one.precision is None else round(100 * one.precision, 2),
            "low": share(one.low, 3),
            "high": share(one.high, 3),
            "left": round(100 * one.low, 2),
            "width": round(100 * (one.high - one.low), 2),
        }
