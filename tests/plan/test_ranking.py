"""Plans side by side, and a run foreseen from a sample: against brute force, and against real runs."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset import OptionError, textbook
from twinset.evaluation.sample import near_pairs
from twinset.evaluation.shingle_length import least_length
from twinset.evaluation.survey import survey
from twinset.pairs.sets import Sets
from twinset.plan import band_probability, ranking
from twinset.plan.band_costs import expected_cost
from twinset.schema import Shingles


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("recall", [0.9, 0.99])
def test_the_plan_that_is_chosen_comes_first_and_all_reach_the_recall(threshold: float, recall: float) -> None:
    found = ranking.ranked(threshold, recall)
    assert [one.chosen for one in found] == [True] + [False] * (len(found) - 1)
    assert found[0].plan == twinset.plan(threshold, recall)
    assert all(one.plan.reached >= recall for one in found)
    costs = [one.cost.total for one in found]
    assert costs == sorted(costs)
    assert len({one.plan for one in found}) == len(found)


def test_given_values_are_kept_in_the_ranking() -> None:
    found = ranking.ranked(n_hashes=128)
    assert {one.plan.n_hashes for one in found} == {128}
    assert len(found) > 3
    assert sum(one.chosen for one in found) == 1
    assert {one.plan.rows_per_band for one in ranking.ranked(rows_per_band=5)} == {5}
    assert {one.plan.n_bands for one in ranking.ranked(n_bands=40)} == {40}
    (only,) = ranking.ranked(n_hashes=128, n_bands=20, rows_per_band=5)
    assert only.chosen


def test_a_plan_out_of_reach_is_ranked_alone() -> None:
    (only,) = ranking.ranked(n_hashes=128, n_bands=9, rows_per_band=13)
    assert only.chosen
    assert only.plan.reached < 0.99


def test_the_shares_above_and_below_are_areas_of_the_curve() -> None:
    one = ranking.ranked(most=1)[0]
    steps = np.arange(0.0005, 1, 0.001)
    curve = np.array([one.plan.p_candidate(s) for s in steps])
    assert one.met_below == pytest.approx(curve[steps < 0.8].mean(), abs=0.001)
    assert one.missed_above == pytest.approx(1 - curve[steps > 0.8].mean(), abs=0.0005)


def test_many_documents_just_below_the_threshold_ask_for_more_hashes() -> None:
    """What a template costs: 20,000 forms, all of them 0.2 below the threshold."""
    hot = ranking.ranked(0.7, pairs=[(0.5, 10_000.0)])
    assert hot[0].plan.n_hashes >= 256
    thin = ranking.ranked(0.7, pairs=[(0.01, 50_000.0)])
    assert thin[0].plan.n_hashes == 64


def test_costs_grow_with_what_there_is_to_do() -> None:
    chosen = twinset.plan()
    quiet, busy = (expected_cost(chosen, [(0.75, count)]) for count in (0.0, 10.0))
    assert quiet.candidates == quiet.meetings == quiet.verifying == 0
    assert busy.candidates == pytest.approx(10 * chosen.p_candidate(0.75))
    assert busy.meetings == pytest.approx(10 * 16 * 0.75**6)
    assert busy.joining > quiet.joining
    assert busy.sketching == quiet.sketching


@given(bands=st.integers(1, 300), rows=st.integers(1, 30), s=st.floats(0, 1))
def test_a_curve_is_that_of_its_bands_and_rows(bands: int, rows: int, s: float) -> None:
    curve = ranking.banded(f"{bands}x{rows}")
    assert curve.p_found(s) == pytest.approx(1 - (1 - s**rows) ** bands, abs=1e-9)
    assert curve.p_found(curve.step) == pytest.approx(1 - (1 - 1 / bands) ** bands)


def test_the_families_of_bits_and_tables() -> None:
    for words, count in (("1-10,1", 10), ("1,1-10", 10), ("5,1-50", 50), ("10,1-50", 50), ("3,7", 1)):
        curves = ranking.families(words)
        assert len(curves) == count
        for curve in curves:
            bits, tables = (int(part.split("=")[1]) for part in curve.name.split())
            for tenth in range(1, 11):
                assert curve.p_found(tenth / 10) == pytest.approx(1 - (1 - (tenth / 10) ** bits) ** tables, abs=1e-12)


@pytest.mark.parametrize("words", ["", "20", "20x", "0x5", "5x0", "20x5x2", "-1x5", "1e3x5", "99999x1", "20 5"])
def test_no_bands_and_rows(words: str) -> None:
    with pytest.raises(OptionError, match=r"compare is .*; allowed: bands x rows"):
        ranking.banded(words)


@pytest.mark.parametrize(
    "words", ["", "5", "5,", "5,0", "0,5", "9-5,1", "5,1-", "a,b", "2000,1", "1,1-101", "1-50,1-50"]
)
def test_no_bits_and_tables(words: str) -> None:
    with pytest.raises(OptionError, match=r"family is .*allowed:"):
        ranking.families(words)


# The sample.


def sets_of(lists: list[list[int]]) -> Sets:
    sets = Sets.with_room(np.array([len(one) for one in lists], np.int64))
    offsets = np.cumsum([0, *(len(one) for one in lists)])
    rows = np.arange(len(lists))
    hashes = np.array([one for each in lists for one in each], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sets.fill(Shingles(rows, offsets, hashes), rows, rows)
    return sets


@given(
    lists=st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=25), min_size=1, max_size=25),
    floor=st.floats(0.05, 1.0),
)
def test_no_near_pair_is_overlooked(lists: list[list[int]], floor: float) -> None:
    count, lefts, rights = near_pairs(sets_of(lists), floor)
    found = set(zip(lefts.tolist(), rights.tolist(), strict=True))
    assert count == len(lists)
    assert len(found) == len(lefts)
    for i, j in itertools.combinations(range(len(lists)), 2):
        if textbook.jaccard(set(lists[i]), set(lists[j])) >= floor:
            assert (i, j) in found
    assert all(i < j for i, j in found)


def test_too_many_meetings_cut_the_sample_down() -> None:
    sets = sets_of([[1, 2, 3, 10 + number] for number in range(100)])
    count, lefts, _ = near_pairs(sets, 0.5, most=1000)
    assert 10 < count < 40
    assert len(lefts) == count * (count - 1) // 2


def texts(count: int, seed: int, *, copies: float = 0.4, adjacent: bool = False) -> list[str]:
    """Texts of about 60 words, some of them near-copies of others, mostly of similarity 0.4 to 1."""
    dice = random.Random(seed)
    vocabulary = [f"w{number}" for number in range(5000)]
    found: list[str] = []
    while len(found) < count:
        words = dice.choices(vocabulary, k=dice.randint(40, 80))
        found.append(" ".join(words))
        for _ in range(dice.choice((1, 1, 2, 4)) if dice.random() < copies else 0):
            edited = list(words)
            for _ in range(dice.randint(0, 5)):
                edited[dice.randrange(len(edited))] = dice.choice(vocabulary)
            found.append(" ".join(edited))
    if not adjacent:
        dice.shuffle(found)
    return found[:count]


def table(rows: list[str]) -> pa.Table:
    return pa.table({"id": [str(number) for number in range(len(rows))], "text": rows})


@pytest.mark.parametrize("adjacent", [False, True], ids=["shuffled", "adjacent"])
@pytest.mark.parametrize("words", [{"threshold": 0.5}, {"threshold": 0.8}, {"threshold": 0.8, "n_hashes": 64}], ids=str)
def test_expected_candidates_are_within_a_factor_of_two_of_a_run(words: dict[str, Any], adjacent: bool) -> None:
    rows = table(texts(24_000, seed=5, adjacent=adjacent))
    found = survey(rows, sample=4, **words)
    assert found.documents == 24_000
    assert found.sampled < 16_000, "this is to be about a sample"
    run = twinset.find_pairs(rows, identical="link", **words)
    distinct = sum(similarity < 1 for similarity in run.pairs["similarity"].to_pylist())
    expected = found.estimate(run.plan)
    assert run.summary["candidates"] / 2 <= expected.candidates <= run.summary["candidates"] * 2
    assert distinct / 2 <= expected.pairs <= distinct * 2


def test_copies_of_few_contents_are_not_taken_for_many() -> None:
    dice = random.Random(3)
    words = [f"w{number}" for number in range(70)]
    contents = [" ".join([*words[:place], "new", *words[place + 1 :]]) for place in range(5, 65, 12)]
    rows = [dice.choice(contents) for _ in range(20_000)]
    found = survey(table(rows), sample=3, threshold=0.7)
    assert found.sampled < 15_000
    assert found.estimate(twinset.plan(0.7)).pairs == pytest.approx(10, abs=1)


def test_where_all_is_read_pairs_are_counted() -> None:
    rows = texts(400, seed=9)
    found = survey(rows, threshold=0.6)
    sets = {frozenset(textbook.shingles(text)) for text in rows}
    true = [textbook.jaccard(a, b) for a, b in itertools.combinations(sets, 2)]
    assert found.stands_for == 1
    assert found.seen == sum(similarity >= 0.6 for similarity in true)
    assert found.estimate(twinset.plan(0.6)).pairs == pytest.approx(found.seen)
    assert sum(count for _, count in found.spectrum) == pytest.approx(len(true))
    mean = sum(similarity * count for similarity, count in found.spectrum) / len(true)
    assert mean == pytest.approx(sum(true) / len(true), abs=1e-9)


def test_expected_misses_are_those_of_the_curve() -> None:
    found = survey(texts(400, seed=9), threshold=0.6)
    with pytest.warns(twinset.PlanWarning):
        weak = twinset.plan(0.6, n_hashes=128, n_bands=4, rows_per_band=8)
    near = [(s, count) for s, count in found.spectrum if s >= 0.6]
    missed = sum(count * (1 - band_probability(s, 4, 8)) for s, count in near)
    assert found.estimate(weak).missed == pytest.approx(missed, rel=0.02)
    assert found.estimate(weak).missed > 100 * found.estimate(twinset.plan(0.6)).missed


def test_groups_and_another_source() -> None:
    rows = list(dict.fromkeys(texts(330, seed=2)))[:300]
    whole = survey(rows, threshold=0.5).seen
    by = pa.table({"id": [str(n) for n in range(300)], "text": rows, "group": [n % 2 for n in range(300)]})
    pairs = twinset.find_pairs(by, threshold=0.5, by="group", recall=0.9999).pairs
    distinct = sum(similarity < 1 for similarity in pairs["similarity"].to_pylist())
    assert survey(by, threshold=0.5, by="group").seen == distinct
    across = twinset.find_pairs(rows[:150], against=[rows[150:]], threshold=0.5, recall=0.9999).pairs
    crossing = survey(rows[:150], against=[rows[150:]], threshold=0.5)
    assert crossing.documents == 300
    assert crossing.seen == len({(row["left"], row["right"]) for row in across.to_pylist()})
    assert 0 < crossing.seen < whole


def test_the_same_survey_every_time() -> None:
    rows = table(texts(9000, seed=4))
    one, two, other = (survey(rows, sample=2, seed=seed, threads=threads) for seed, threads in ((7, 1), (7, 2), (8, 1)))
    assert one.to_dict() == two.to_dict()
    assert one.spectrum != other.spectrum


@pytest.mark.parametrize("rows", [[""], ["", ""], ["one"], ["one", "one"], ["one", ""]], ids=str)
def test_next_to_nothing(rows: list[str]) -> None:
    found = survey(rows)
    assert found.documents == len(rows)
    assert (found.seen, found.lengths) == (0, [])
    assert found.estimate(twinset.plan()).candidates == 0


def test_no_document_at_all() -> None:
    with pytest.raises(twinset.SourceError, match="no document"):
        survey([])


# The length of a shingle.


def coloured() -> list[str]:
    """Unrelated texts of few words: they have much in common by chance."""
    dice = random.Random(1)
    words = ["red", "blue", "green", "grey", "pink", "black", "white", "brown", "violet", "orange", "yellow", "golden"]
    return [" ".join(dice.choices(words, k=60)) for _ in range(12)]


@pytest.mark.parametrize(("kind", "lengths"), [("word", range(1, 11)), ("char", range(3, 16))])
def test_chance_is_the_mean_similarity_of_unrelated_documents(kind: str, lengths: range) -> None:
    rows = coloured()
    found = survey(rows, shingle=f"{kind}:5").lengths
    assert [one.shingle for one in found] == [f"{kind}:{length}" for length in lengths]
    for one in found:
        sets = [set(textbook.shingles(text, one.shingle)) for text in rows]
        true = [textbook.jaccard(a, b) for a, b in itertools.combinations(sets, 2)]
        assert one.chance == pytest.approx(sum(true) / len(true), abs=1e-12)
        assert one.highest == pytest.approx(np.quantile(true, 0.99), abs=1e-12)
        assert one.pairs == 66
    chances = [one.chance for one in found]
    assert chances == sorted(chances, reverse=True)


def test_the_least_length_is_the_first_with_one_percent_or_less() -> None:
    rows = coloured()
    lengths = survey(rows, shingle="word:5").lengths
    least = least_length(lengths)
    assert least is not None
    place = lengths.index(least)
    assert least.chance <= 0.01 < lengths[place - 1].chance
    assert least_length(lengths[:place]) is None


def test_related_documents_say_nothing_about_chance() -> None:
    form = [f"w{number}" for number in range(200)]
    rows = [" ".join([*form, f"name{number}"]) for number in range(20)]
    assert survey(rows).lengths == []
