"""The sample is random and reproducible, and the interval for the precision holds as often as it says."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import beta, binom

import twinset
from twinset import OptionError
from twinset.verdicts import Content, Draft, VerdictStore, draw_sample, estimate_precision, samples_of
from twinset.verdicts.precision import Labels, precision_interval
from twinset.verdicts.sample import Population, chosen_rows

HOLDS = 93
"""Runs of 100 in which the interval must hold the true precision."""


@dataclass
class Truth:
    """Scored pairs of which it is known whether they are duplicates."""

    population: Population
    duplicate: npt.NDArray[np.bool_]

    def precision(self, threshold: float) -> float:
        return float(self.duplicate[self.population.score >= threshold].mean())


def truth(seed: int, count: int, share: float, rise: float, *, lean: float = 2.0, lowest: float = 0.7) -> Truth:
    """Pairs whose chance to be duplicates rises with their score; `lean` puts most of them near the lowest score."""
    rng = np.random.default_rng(seed)
    score = lowest + (1 - lowest) * rng.random(count) ** lean
    chance = np.clip(share + rise * (score - score.mean()), 0, 1)
    digests = rng.integers(0, 2**63, (2, count, 2)).astype(np.uint64)
    population = Population(digests[0], digests[1], score, "jaccard", lowest, "check", "text")
    return Truth(population, rng.random(count) < chance)


def labelled(path: Path, known: Truth, seed: int, pairs: int, strata: int = 6) -> VerdictStore:
    """A file with a sample whose pairs are labelled as they truly are."""
    store = VerdictStore(path)
    sample = draw_sample(store, known.population, names, who="Ann", pairs=pairs, strata=strata, seed=seed)
    sides = ([row.tobytes() for row in side] for side in (known.population.left, known.population.right))
    true = dict(zip(zip(*sides, strict=True), known.duplicate.tolist(), strict=True))
    kinds = ("duplicate" if true[pair.left.digest, pair.right.digest] else "different" for pair in sample.pairs)
    drafts = [Draft(kind, pair.left, pair.right) for kind, pair in zip(kinds, sample.pairs, strict=True)]
    store.judge_all(drafts, who="Ann")
    return store


def names(rows: npt.NDArray[np.int64]) -> list[tuple[str, str]]:
    return [(f"l{row}", f"r{row}") for row in rows]


def drawn_labels(known: Truth, edges: list[float], drawn: list[int], rng: np.random.Generator) -> list[Labels]:
    """Labels of simple random samples of the strata, without a file."""
    labels = []
    for low, high, count in zip(edges, [*edges[1:], math.inf], drawn, strict=True):
        inside = known.duplicate[(known.population.score >= low) & (known.population.score < high)]
        right = int(rng.choice(inside, min(count, len(inside)), replace=False).sum())
        labels.append(Labels(len(inside), right, min(count, len(inside)) - right))
    return labels


@pytest.mark.parametrize(
    ("share", "rise", "pairs"),
    [
        (0.8, 2.0, 60),
        (0.97, 0.2, 60),
        (0.995, 0.0, 60),
        (0.03, 0.2, 60),
        (0.5, 3.0, 20),
        (1.0, 0.0, 12),
        (0.9, 1.0, 200),
    ],
)
def test_the_interval_holds_from_sample_to_estimate(tmp_path: Path, share: float, rise: float, pairs: int) -> None:
    """The whole way, at every threshold of the sample: drawn, stored, labelled, read back."""
    known = truth(1, 3000, share, rise)
    held: dict[float, int] = {}
    for seed in range(100):
        with labelled(tmp_path / f"{seed}", known, seed, pairs) as store:
            for row in estimate_precision(store).rows:
                true = known.precision(row.limit)
                held[row.limit] = held.get(row.limit, 0) + (row.low <= true <= row.high)
                assert row.precision is not None
                assert row.low <= row.precision <= row.high
    assert len(held) == 6
    assert min(held.values()) >= HOLDS, held


def situations(many: int, seed: int) -> list[tuple[list[int], list[float], npt.NDArray[np.float64]]]:
    """Labels drawn, weights, and chances of strata: few and many labels, equal and very unequal weights and chances."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(many):
        strata = int(rng.choice([1, 2, 3, 6, 10]))
        drawn = rng.choice([1, 2, 3, 5, 8, 10, 20, 40], strata) if number % 2 else np.full(strata, max(2, 60 // strata))
        weights = (
            np.full(strata, 1.0), rng.dirichlet(np.full(strata, 0.6)), 0.3 ** np.arange(strata), rng.random(strata),
        )[number % 4]  # fmt: skip
        base = rng.choice([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5])
        wrong = (
            np.full(strata, base),
            np.clip(base * 2 * np.linspace(1, 0, strata), 0, 1),
            np.where(np.arange(strata) == weights.argmax(), base, 0.0),
            np.where(np.arange(strata) == weights.argmin(), min(1.0, 3 * base), 0.0),
            rng.choice([0.0, 1.0, 0.5], strata),
        )[int(rng.integers(5))]
        chance = wrong if rng.random() < 0.5 else 1 - wrong
        found.append((drawn.tolist(), (weights / weights.sum()).tolist(), chance))
    return found


def coverage(drawn: list[int], weights: list[float], chance: npt.NDArray[np.float64], runs: int, seed: int) -> float:
    """The share of simulated labellings whose interval holds the truth."""
    rng = np.random.default_rng(seed)
    sizes = [round(10**12 * weight) + 10**6 for weight in weights]  # so many that none is judged as a whole
    total = sum(sizes)
    true = sum(size * one for size, one in zip(sizes, chance.tolist(), strict=True)) / total
    right = rng.binomial(drawn, chance, (runs, len(drawn)))
    rows, counts = np.unique(right, axis=0, return_counts=True)
    held = 0
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        low, high = precision_interval(
            [Labels(*one) for one in zip(sizes, row, np.subtract(drawn, row).tolist(), strict=True)]
        )
        held += count * (low - 1e-12 <= true <= high + 1e-12)
    return held / runs


def test_the_interval_holds_whatever_the_strata() -> None:
    """400 labellings in each of 80 situations; 5 % of misses allowed, and the chance of the simulation beside it."""
    least = 0.95 - 3.5 * math.sqrt(0.05 * 0.95 / 400)  # below 93 of 100 only by that chance
    shares = [coverage(*one, runs=400, seed=number) for number, one in enumerate(situations(80, 7))]
    assert min(shares) >= least, min(shares)
    assert np.mean(shares) >= 0.95


@pytest.mark.soak
def test_the_interval_holds_in_many_more_situations() -> None:
    shares = [coverage(*one, runs=1000, seed=number) for number, one in enumerate(situations(400, 11))]
    print(f"least {min(shares):.4f}, mean {np.mean(shares):.4f}, 1 % below {np.quantile(shares, 0.01):.4f}")
    assert min(shares) >= 0.93
    assert np.quantile(shares, 0.02) >= 0.95


def test_with_equal_weights_it_is_that_of_clopper_and_pearson() -> None:
    for right, wrong in ((0, 10), (10, 0), (57, 3), (30, 30), (1, 1)):
        expected = (
            beta.ppf(0.025, right, wrong + 1) if right else 0.0, beta.ppf(0.975, right + 1, wrong) if wrong else 1.0,
        )  # fmt: skip
        assert precision_interval([Labels(10**9, right, wrong)]) == pytest.approx(expected, abs=1e-9)
    # Two strata with equal weights are one.
    two = precision_interval([Labels(5000, 20, 0), Labels(5000, 18, 2)])
    assert two == pytest.approx(precision_interval([Labels(10_000, 38, 2)]), abs=1e-9)


def test_a_plain_average_of_unequal_strata_would_be_wrong() -> None:
    """What the weights are for: most pairs are in the stratum that has few of the labels."""
    labels = [Labels(9500, 5, 5), Labels(500, 50, 0)]
    low, high = precision_interval(labels)
    assert low < 0.525 < high < 0.9  # the truth is near 0.95 * 0.5 + 0.05
    assert binom.cdf(54, 60, 0.525) > 0.999  # and 55 of 60 labels are right


def test_unsure_and_unlabelled_pairs_widen_the_interval() -> None:
    sure, unsure = precision_interval([Labels(1000, 40, 0)]), precision_interval([Labels(1000, 36, 0, 4)])
    assert unsure[0] < sure[0]
    assert unsure[1] == sure[1] == 1.0
    assert precision_interval([Labels(1000, 0, 36, 4)])[1] > precision_interval([Labels(1000, 0, 40)])[1]
    low, high = precision_interval([Labels(500, 10, 0), Labels(500, 0, 0)])
    assert low < 0.5 - 0.1
    assert high == 1.0


def test_a_stratum_that_is_judged_as_a_whole_is_known() -> None:
    assert precision_interval([Labels(20, 15, 5)]) == (0.75, 0.75)
    low, high = precision_interval([Labels(20, 15, 5), Labels(20, 5, 0)])
    assert low == pytest.approx(0.375 + 0.5 * beta.ppf(0.025, 5, 1))
    assert high == pytest.approx(0.875)


def test_the_least_threshold_keeps_the_precision() -> None:
    """In 100 samples the threshold that is named has at least the precision asked for, in as many as the interval."""
    known = truth(3, 20_000, 0.9, 1.2)
    edges = [round(0.7 + 0.05 * step, 2) for step in range(6)]
    right = named = 0
    rng = np.random.default_rng(5)
    for _ in range(100):
        labels = drawn_labels(known, edges, [40] * 6, rng)
        lows = [precision_interval(labels[at:])[0] for at in range(6)]
        chosen = next((edge for edge, low in zip(edges, lows, strict=True) if low >= 0.9), None)
        named += chosen is not None
        right += chosen is None or known.precision(chosen) >= 0.9
    assert right >= HOLDS
    assert named >= 80  # it is not so careful that it never names one


# The sample.


def test_the_same_pairs_are_drawn_in_any_order(tmp_path: Path) -> None:
    known = truth(1, 2000, 0.9, 0.0)
    population, order = known.population, np.random.default_rng(2).permutation(2000)
    swapped = Population(
        population.right[order], population.left[order], population.score[order], "jaccard", 0.7, "other", "text"
    )
    drawn = []
    for number, one in enumerate((population, swapped)):
        with VerdictStore(tmp_path / f"{number}") as store:
            sample = draw_sample(store, one, names, who="Ann")
            assert len(sample.pairs) == 60
            drawn.append([frozenset((pair.left.digest, pair.right.digest)) for pair in sample.pairs])
            again = draw_sample(store, one, names, who="Bob")
            assert again == sample
            assert len(samples_of(store)) == 1
            assert draw_sample(store, one, names, who="Bob", seed=2).pairs != sample.pairs
            assert len(samples_of(store)) == 2
    assert drawn[0] == drawn[1]


def test_every_pair_of_a_stratum_is_as_likely_as_another() -> None:
    """Over 300 seeds, the counts of 40 pairs fit equal chances: chi-square is below its 0.999 quantile."""
    known = truth(1, 40, 0.9, 0.0)
    counts: dict[int, int] = {}
    for seed in range(300):
        for row in chosen_rows(known.population, 10, 1, seed).rows.tolist():
            counts[row] = counts.get(row, 0) + 1
    expected = 300 * 10 / 40
    assert len(counts) == 40
    # Without replacement the spread is less than that of independent draws, by 1 - 10/40.
    assert sum((count - expected) ** 2 / expected for count in counts.values()) / 0.75 < 72.1


def test_weights_and_strata_add_up(tmp_path: Path) -> None:
    known = truth(1, 5000, 0.9, 0.0, lean=4.0)
    with VerdictStore(tmp_path / "v") as store:
        sample = draw_sample(store, known.population, names, who="Ann", pairs=60, strata=6)
    assert sample.population == 5000
    assert sum(pair.weight for pair in sample.pairs) == pytest.approx(5000)
    assert [one.low for one in sample.strata] == [0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    for at, one in enumerate(sample.strata):
        inside = (known.population.score >= one.low) & (known.population.score < one.low + 0.05)
        assert one.population == np.count_nonzero(inside)
        mine = [pair for pair in sample.pairs if pair.stratum == at]
        assert len(mine) == one.drawn >= 5
        assert all(one.low <= pair.score <= one.low + 0.05 for pair in mine)
    order = [pair.stratum for pair in sample.pairs]
    assert order != sorted(order)  # strata are mixed, so that the first labels say something about each


def test_a_sample_of_few_pairs_is_all_of_them(tmp_path: Path) -> None:
    known = truth(1, 5, 1.0, 0.0)
    with labelled(tmp_path / "v", known, 1, 60) as store:
        found = estimate_precision(store)
    assert (found.sampled, found.right, found.left_out) == (5, 5, 0)
    assert [(row.low, row.precision, row.high) for row in found.rows] == [(1.0, 1.0, 1.0)] * len(found.rows)


def test_other_verdicts_say_nothing(tmp_path: Path) -> None:
    """People judged many doubtful pairs; the estimate is that of the sample alone."""
    known = truth(1, 3000, 0.9, 1.0)
    with labelled(tmp_path / "v", known, 1, 60) as store:
        before = estimate_precision(store)
        drawn = {pair.left.id for pair in before.sample.pairs}
        for row in range(500):
            if f"l{row}" not in drawn:
                digests = known.population.left[row].tobytes(), known.population.right[row].tobytes()
                store.judge("different", Content(digests[0], ""), Content(digests[1], ""), who="Bob")
        assert estimate_precision(store) == before


def test_labels_count_up_to_the_first_that_is_missing(tmp_path: Path) -> None:
    known = truth(1, 3000, 1.0, 0.0)
    with VerdictStore(tmp_path / "v") as store:
        sample = draw_sample(store, known.population, names, who="Ann", pairs=30, strata=1)
        for number, pair in enumerate(sample.pairs):
            if number != 10:
                store.judge("duplicate", pair.left, pair.right, who="Ann")
        found = estimate_precision(store)
        assert (found.right, found.left_out) == (10, 20)  # which pairs are skipped may depend on what they are
        store.judge("unsure", sample.pairs[10].left, sample.pairs[10].right, who="Ann")
        found = estimate_precision(store)
        assert (found.right, found.unsure, found.left_out) == (29, 1, 0)
        assert found.least_limit(0.5) == found.rows[0]
        assert found.least_limit(0.999) is None


def test_without_a_sample_there_is_no_estimate(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v") as store:
        with pytest.raises(OptionError, match="has no sample; draw one with twinset verdicts sample OUT"):
            estimate_precision(store)
        draw_sample(store, truth(1, 50, 1.0, 0.0).population, names, who="Ann", pairs=5)
        found = estimate_precision(store)
        assert [(row.precision, row.low, row.high) for row in found.rows] == [(None, 0.0, 1.0)] * len(found.rows)
        with pytest.raises(OptionError, match=r"sample is 2, but .* has 1 sample"):
            estimate_precision(store, 2)


# Of real results.


def results(folder: Path) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    families = [rng.choice(900, 12, replace=False) for _ in range(20)]
    rows = []
    for number in range(120):
        items = [*families[number % 20][: 12 - number % 4].tolist(), 1000 + number % 3]
        rows.append({"id": f"d{number}", "items": items, "code": int(rng.integers(0, 64)), "g": "xy"[number % 2]})
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {
        "sets": twinset.dedup(path, items="items", threshold=0.7, floor=0.4, output=folder / "sets"),
        "groups": twinset.dedup(path, items="items", threshold=0.5, by="g"),
        "codes": twinset.dedup(path, codes="code", distance=3, output=folder / "codes"),
        "against": twinset.dedup(path, items="items", threshold=0.5, against=[rows[:40]], no_id=True),
    }


def test_samples_of_results(tmp_path: Path) -> None:
    for kind, result in results(tmp_path).items():
        file = tmp_path / f"{kind}.verdicts"
        sample = result.sample(pairs=20, verdicts=file)
        rows = result.pairs.to_pylist()
        score = "distance" if kind == "codes" else "similarity"
        scored = {frozenset((row["left"], row["right"])): row[score] for row in rows}
        digests = dict(
            zip(result.recorded.ids.to_pylist(), map(bytes, result.recorded.digests.astype("<u8")), strict=True)
        )
        distinct = {
            frozenset((digests[row["left"]], digests[row["right"]]))
            for row in rows
            if digests[row["left"]] != digests[row["right"]]
        }
        assert sample.population == len(distinct), kind
        assert len(sample.pairs) == 20
        for pair in sample.pairs:
            assert abs(pair.score) == scored[frozenset((pair.left.id, pair.right.id))]
            assert digests[pair.left.id] == pair.left.digest
        lows = [one.low for one in sample.strata]
        assert lows == sorted(lows)
    again = twinset.dedup(tmp_path / "in.jsonl", items="items", threshold=0.7, floor=0.4, keep="longest", threads=1)
    first = samples_of(VerdictStore(tmp_path / "sets.verdicts"))[0].pairs
    assert [(one.left, one.right) for one in again.sample(pairs=20, verdicts=tmp_path / "x").pairs] == [
        (one.left, one.right) for one in first
    ]


def test_a_result_without_pairs_has_no_sample(tmp_path: Path) -> None:
    alone = twinset.dedup(["one two three four five six", "something else that is not near it at all"])
    with pytest.raises(OptionError, match="there are no pairs to sample"):
        alone.sample(verdicts=tmp_path / "v")
    with pytest.raises(OptionError, match="this result has no folder"):
        alone.sample()
