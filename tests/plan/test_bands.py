"""The plan: the table it must give, the recall it promises, and the worked numbers of banding."""

from __future__ import annotations

import itertools
import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset import OptionError, PlanWarning
from twinset.plan import band_probability, matches_needed

TABLE = [
    (128, 0.7, ((0.90, 19, 6), (0.95, 17, 5), (0.99, 17, 4))),
    (128, 0.8, ((0.90, 13, 8), (0.95, 13, 7), (0.99, 16, 6))),
    (128, 0.9, ((0.90, 9, 14), (0.95, 10, 12), (0.99, 11, 10))),
    (256, 0.7, ((0.90, 27, 7), (0.95, 35, 7), (0.99, 37, 6))),
    (256, 0.8, ((0.90, 21, 10), (0.95, 21, 9), (0.99, 26, 8))),
    (256, 0.9, ((0.90, 13, 17), (0.95, 15, 16), (0.99, 18, 14))),
]


@pytest.mark.parametrize(
    ("hashes", "threshold", "recall", "bands", "rows"),
    [(k, t, recall, b, r) for k, t, row in TABLE for recall, b, r in row],
)
def test_bands_and_rows_for_given_hashes(
    hashes: int, threshold: float, recall: float, bands: int, rows: int
) -> None:
    made = twinset.plan(threshold=threshold, recall=recall, n_hashes=hashes)
    assert (made.n_bands, made.rows_per_band) == (bands, rows)
    assert made.reached >= recall


def test_the_default_is_128_hashes_in_16_bands_of_6() -> None:
    made = twinset.plan()
    assert (made.n_hashes, made.n_bands, made.rows_per_band) == (128, 16, 6)
    assert (made.threshold, made.recall) == (0.8, 0.99)


@pytest.mark.parametrize("hashes", [1, 64, 128, 1000])
def test_identity_needs_one_band_of_all_hashes(hashes: int) -> None:
    made = twinset.plan(threshold=1.0, n_hashes=hashes)
    assert (made.n_bands, made.rows_per_band, made.min_matches) == (1, hashes, hashes)
    assert made.reached == 1.0


thresholds = st.floats(0.02, 1.0)
recalls = st.floats(0.01, 0.9999)


@given(threshold=thresholds, recall=recalls)
def test_a_pair_at_the_threshold_is_found_as_often_as_asked(threshold: float, recall: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlanWarning)
        made = twinset.plan(threshold=threshold, recall=recall)
    assert made.reached >= recall
    assert made.n_bands * made.rows_per_band <= made.n_hashes


@given(threshold=thresholds, recall=recalls, hashes=st.integers(1, 700))
def test_for_any_hashes_the_recall_is_reached_or_there_is_a_warning(
    threshold: float, recall: float, hashes: int
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = twinset.plan(threshold=threshold, recall=recall, n_hashes=hashes)
    assert made.n_bands * made.rows_per_band <= made.n_hashes == hashes
    assert (made.reached >= recall) != bool(caught)


@given(threshold=thresholds, recall=recalls)
def test_more_similar_pairs_are_found_no_less_often(threshold: float, recall: float) -> None:
    probabilities = [p for _, p in twinset.plan(threshold=threshold, recall=recall).curve(points=20)]
    assert all(later >= earlier - 1e-12 for earlier, later in itertools.pairwise(probabilities))
    assert probabilities[-1] == pytest.approx(1.0)


@given(threshold=thresholds, hashes=st.integers(2, 300))
def test_more_recall_never_takes_more_rows(threshold: float, hashes: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        rows = [twinset.plan(threshold, recall, n_hashes=hashes).rows_per_band for recall in (0.5, 0.9, 0.99)]
    assert rows == sorted(rows, reverse=True)


def binomial_below(count: int, n: int, p: float) -> float:
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(count))


@given(hashes=st.integers(1, 200), threshold=st.floats(0.05, 0.99), loss=st.floats(1e-6, 1e-2))
def test_the_matches_needed_are_the_most_that_lose_no_more_than_allowed(
    hashes: int, threshold: float, loss: float
) -> None:
    needed, match = matches_needed(hashes, threshold, loss), threshold + (1 - threshold) / 256
    assert binomial_below(needed, hashes, match) <= loss * (1 + 1e-9)
    assert needed == hashes or binomial_below(needed + 1, hashes, match) > loss * (1 - 1e-9)


@given(hashes=st.sampled_from([1, 2, 64, 128, 1000, 4096]), threshold=thresholds, exponent=st.floats(-16, -0.5))
def test_what_is_left_out_of_the_sum_would_not_have_counted(hashes: int, threshold: float, exponent: float) -> None:
    loss, match = 10.0**exponent, threshold + (1 - threshold) / 256
    below, count = 0.0, 0
    while count < hashes and match < 1:
        ways = math.lgamma(hashes + 1) - math.lgamma(count + 1) - math.lgamma(hashes - count + 1)
        below += math.exp(ways + count * math.log(match) + (hashes - count) * math.log1p(-match))
        if below > loss:
            break
        count += 1
    assert matches_needed(hashes, threshold, loss) == (count if match < 1 else hashes)


@given(threshold=thresholds, recall=recalls, hashes=st.integers(1, 300), bands=st.none() | st.integers(1, 40))
def test_no_more_rows_would_have_fitted(threshold: float, recall: float, hashes: int, bands: int | None) -> None:
    if bands and bands > hashes:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        made = twinset.plan(threshold, recall, n_hashes=hashes, n_bands=bands)
    target = recall / (1 - min(2.3e-4, (1 - recall) / 10))
    fitting = (
        (b, rows)
        for rows in range(hashes, 0, -1)
        for b in ([bands] if bands else range(1, hashes // rows + 1))
        if b * rows <= hashes and band_probability(threshold, b, rows) >= target
    )
    found = next(fitting, None)
    assert found in (None, (made.n_bands, made.rows_per_band))


def test_the_filter_loses_what_three_and_a_half_standard_errors_lose() -> None:
    made = twinset.plan()
    match = 0.8 + 0.2 / 256
    error = math.sqrt(match * (1 - match) * 128)
    assert made.min_matches == pytest.approx(128 * match - 3.5 * error, abs=1.5)
    assert binomial_below(made.min_matches, 128, match) <= 2.3e-4


def test_explicit_values_are_used_as_they_are() -> None:
    made = twinset.plan(n_bands=20, rows_per_band=5)
    assert (made.n_hashes, made.n_bands, made.rows_per_band) == (128, 20, 5)
    made = twinset.plan(n_bands=40, rows_per_band=5)
    assert made.n_hashes == 200
    made = twinset.plan(n_hashes=100, n_bands=20)
    assert (made.n_bands, made.rows_per_band) == (20, 5)
    made = twinset.plan(n_hashes=100, rows_per_band=5)
    assert (made.n_bands, made.rows_per_band) == (12, 5)
    assert band_probability(0.8, 11, 5) < 0.99 <= band_probability(0.8, 12, 5)


def test_more_bands_times_rows_than_hashes_is_refused_with_the_numbers() -> None:
    with pytest.raises(OptionError, match=r"20 × 10 = 200, more than n_hashes, 128"):
        twinset.plan(n_hashes=128, n_bands=20, rows_per_band=10)
    with pytest.raises(OptionError, match=r"65536"):
        twinset.plan(n_bands=1000, rows_per_band=1000)
    with pytest.raises(OptionError, match=r"n_bands"):
        twinset.plan(n_hashes=10, n_bands=20)


def test_a_recall_out_of_reach_is_a_warning_with_what_is_reached() -> None:
    with pytest.warns(PlanWarning, match=r"probability 0\.39\d\d, less than the requested recall of 0\.99"):
        made = twinset.plan(n_hashes=128, n_bands=9, rows_per_band=13)
    assert made.reached == pytest.approx(0.399, abs=0.001)
    with pytest.warns(PlanWarning):
        assert twinset.plan(threshold=0.01, n_hashes=64).n_bands == 64


@pytest.mark.parametrize(
    "words",
    [
        {"threshold": math.nan},
        {"threshold": 0},
        {"threshold": -1},
        {"threshold": 1.5},
        {"threshold": math.inf},
        {"threshold": "high"},
        {"recall": 0},
        {"recall": 1},
        {"recall": math.nan},
        {"n_hashes": 10**9},
        {"n_hashes": 0},
        {"n_hashes": 12.5},
        {"n_bands": -3},
        {"rows_per_band": True},
    ],
)
def test_nonsense_is_refused_with_what_is_allowed(words: dict[str, float]) -> None:
    (name,) = words
    with pytest.raises(OptionError, match=rf"^{name} is .*; allowed: a (whole )?number"):
        twinset.plan(**words)  # type: ignore[arg-type]


# The worked numbers of banding.


def test_twenty_bands_of_five_rows() -> None:
    expected = {0.2: 0.006, 0.3: 0.047, 0.4: 0.186, 0.5: 0.470, 0.6: 0.802, 0.7: 0.975}
    for similarity, probability in expected.items():
        assert band_probability(similarity, 20, 5) == pytest.approx(probability, abs=0.0006)
    assert band_probability(0.8, 20, 5) == pytest.approx(0.9996, abs=0.00006)


def test_one_band_agrees_and_all_miss() -> None:
    assert pytest.approx(0.328, abs=0.0005) == 0.8**5
    assert 1 - band_probability(0.8, 20, 5) == pytest.approx(0.00035, abs=0.00001)
    assert pytest.approx(0.00243, abs=0.000005) == 0.3**5
    assert band_probability(0.3, 20, 5) == pytest.approx(0.0474, abs=0.0001)


@given(st.floats(0.01, 0.99))
def test_fewer_bands_give_fewer_false_positives_and_more_false_negatives(similarity: float) -> None:
    assert band_probability(similarity, 15, 5) <= band_probability(similarity, 20, 5)


def test_tables_of_bits() -> None:
    """L tables of k bits: 1-(1-s^k)^L, by its definition, for the families that are plotted."""
    families = [(k, 1) for k in range(1, 11)] + [(1, tables) for tables in range(1, 11)]
    families += [(k, tables) for k in (5, 10) for tables in range(1, 51)]
    for bits, tables in families:
        for tenth in range(1, 11):
            s = tenth / 10
            assert band_probability(s, tables, bits) == pytest.approx(1 - (1 - s**bits) ** tables, abs=1e-12)


def test_the_step_is_near_where_the_curve_is_half() -> None:
    made = twinset.plan(n_bands=20, rows_per_band=5)
    assert made.step == pytest.approx((1 / 20) ** (1 / 5)) == pytest.approx(0.549, abs=0.001)
    assert band_probability(made.step, 20, 5) == pytest.approx(1 - 1 / math.e, abs=0.01)


def test_a_plan_as_plain_values() -> None:
    values = twinset.plan().to_dict()
    assert values["n_bands"] == 16
    assert values["reached"] == pytest.approx(0.9921, abs=0.0001)
    assert all(isinstance(value, (int, float)) for value in values.values())
