"""An evaluation as a user sees it: measures at each threshold, truths of three kinds, and the folder written."""

from __future__ import annotations

import csv
import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_rand_score

import twinset
from twinset.errors import OptionError, OutputError, PlanWarning, SourceError
from twinset.evaluation.sweep import COLUMNS, SampledPairs, interval, shares
from twinset.options.evaluate import parse_sweep
from twinset.report import plots

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "r", "s")]


def families(count: int, members: int, seed: int = 1) -> dict[str, str]:
    """Families of texts that drift apart: each member has a few more words of its first replaced."""
    chance = random.Random(seed)
    texts = {}
    for family in range(count):
        first = [f"{chance.choice(WORDS)}{family}" for _ in range(80)]
        for member in range(members):
            words = list(first)
            for place in chance.sample(range(80), member * 2):
                words[place] = chance.choice(WORDS)
            texts[f"{family}-{member}"] = " ".join(words)
    return texts


TEXTS = families(12, 5)
FAMILIES = {id: id.split("-")[0] for id in TEXTS}


def exact_pairs(texts: dict[str, str], threshold: float) -> set[tuple[str, str]]:
    return {
        (left, right)
        for left, right in itertools.combinations(texts, 2)
        if twinset.compare(texts[left], texts[right], shingle="word:1").similarity >= threshold
    }


def test_one_threshold_agrees_with_a_run_of_its_own() -> None:
    done = twinset.evaluate(TEXTS, truth=FAMILIES, threshold=0.7, shingle="word:1")
    found = twinset.find_pairs(TEXTS, threshold=0.7, shingle="word:1")
    row = done.measures.to_pylist()[0]
    assert done.measures.column_names == list(COLUMNS)
    assert (row["found_pairs"], row["true_pairs"]) == (found.pairs.num_rows, 12 * 10)
    right = sum(
        FAMILIES[left] == FAMILIES[right]
        for left, right in zip(found.pairs["left"].to_pylist(), found.pairs["right"].to_pylist(), strict=True)
    )
    assert row["true_pairs_found"] == right
    assert row["precision"] == right / found.pairs.num_rows
    assert row["recall"] == right / 120
    assert done.best == row


@pytest.mark.parametrize("method", ["leader", "components", "complete"])
def test_every_cut_of_a_sweep_is_what_dedup_with_the_same_plan_gives(method: str) -> None:
    given: dict[str, Any] = {"shingle": "word:1", "n_hashes": 256, "n_bands": 85, "rows_per_band": 3, "cluster": method}
    done = twinset.evaluate(TEXTS, truth=FAMILIES, sweep="0.5:0.9:0.1", **given)
    assert done.measures["threshold"].to_pylist() == [0.5, 0.6, 0.7, 0.8, 0.9]
    for row in done.measures.to_pylist():
        clusters = twinset.dedup(TEXTS, threshold=row["threshold"], **given).clusters
        ids, names = clusters["id"].to_pylist(), clusters["cluster"].to_pylist()
        expected = adjusted_rand_score([FAMILIES[id] for id in ids], names)
        assert row["adjusted_rand"] == pytest.approx(expected)
        members = [names.count(name) for name in set(names)]
        assert row["found_clusters"] == sum(size > 1 for size in members)
        assert (
            row["found_pairs"]
            == twinset.find_pairs(
                TEXTS, threshold=row["threshold"], **{name: given[name] for name in given if name != "cluster"}
            ).summary["pairs"]
        )


def test_pairs_as_truth_count_as_listed_and_hang_together_as_clusters() -> None:
    texts = {"a": "one two three", "b": "one two three", "c": "four five six", "d": "seven eight nine", "e": ""}
    done = twinset.evaluate(texts, truth=[("b", "a"), ("a", "c"), ("e", "c")], shingle="word:1")
    row = done.measures.to_pylist()[0]
    # Found {a b}; true pairs ab, ac, ce and so one true cluster {a b c e}; d is alone in both.
    assert (row["found_pairs"], row["true_pairs"], row["true_pairs_found"]) == (1, 3, 1)
    assert (row["precision"], row["recall"], row["f1"]) == (1.0, pytest.approx(1 / 3), 0.5)
    assert (row["found_clusters"], row["true_clusters"], row["exact_set_accuracy"]) == (1, 1, 0.2)
    # b-cubed recall: a and b have 2 of 4, c and e 1 of 4, d all: 2.5 of 5.
    assert (row["b_cubed_precision"], row["b_cubed_recall"]) == (1.0, 0.5)
    # The pairs ac and ce share nothing: one range, and nothing of it found. Identical documents are in no range.
    assert [(one["low"], one["pairs"], one["found"]) for one in done.shares.to_pylist()] == [(0.0, 2, 0)]


def test_the_exact_join_as_truth_is_every_pair() -> None:
    done = twinset.evaluate(TEXTS, exact=True, sweep="0.6:0.8:0.1", shingle="word:1")
    for row in done.measures.to_pylist():
        true = exact_pairs(TEXTS, row["threshold"])
        assert row["true_pairs"] == len(true)
        found = twinset.find_pairs(TEXTS, threshold=row["threshold"], exact=True, shingle="word:1").pairs
        assert set(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True)) == true
        assert row["precision"] == 1.0
        assert row["recall"] is not None
        assert row["recall"] >= 0.95


def test_weak_bands_are_found_out() -> None:
    with pytest.warns(PlanWarning, match="less than the requested recall"):
        done = twinset.evaluate(
            families(60, 4), exact=True, threshold=0.6, n_bands=2, rows_per_band=6, shingle="word:1", seed=5
        )
    row = done.measures.to_pylist()[0]
    assert 0.1 < row["recall"] < 0.9
    assert row["exact_set_accuracy"] < 1
    assert row["adjusted_rand"] < 1
    every = done.shares.to_pylist()
    assert sum(one["found"] for one in every) == row["true_pairs_found"]
    assert sum(one["pairs"] for one in every) == row["true_pairs"]
    assert all(one["share_low"] <= one["share"] <= one["share_high"] for one in every)
    # The S-curve expects what is measured, within five standard errors of so many families.
    for one in every:
        error = (one["expected"] * (1 - one["expected"]) / max(1, min(60, one["pairs"]))) ** 0.5
        assert abs(one["share"] - one["expected"]) < 5 * error + 0.02


def test_pairs_below_the_threshold_show_how_far_the_curve_reaches() -> None:
    done = twinset.evaluate(TEXTS, truth=FAMILIES, threshold=0.9, shingle="word:1", n_bands=85, rows_per_band=3)
    rows = done.shares.to_pylist()
    assert sum(row["pairs"] for row in rows) == 120
    low = [row for row in rows if row["high"] <= 0.9]
    assert low
    # Loose bands make candidates of pairs that do not reach the threshold, unless their sketches rule them out.
    assert all(0 <= row["found"] <= row["pairs"] for row in low)
    assert done.measures["found_pairs"][0].as_py() < 120


def test_results_do_not_depend_on_threads_or_memory() -> None:
    def measured(**more: Any) -> tuple[Any, Any]:
        done = twinset.evaluate(TEXTS, truth=FAMILIES, sweep="0.5:0.9:0.2", shingle="word:1", **more)
        return done.summary["measures"], done.summary["shares"]

    assert measured(threads=1, batch_bytes=1024) == measured(threads=4) == measured(memory="512MB")


def test_nothing_to_find_is_null_and_not_a_number() -> None:
    done = twinset.evaluate(["one", "two"], truth=pa.table({"left": [], "right": []}))
    row = done.measures.to_pylist()[0]
    assert (row["precision"], row["recall"], row["f1"], done.best) == (None, None, None, None)
    assert (row["exact_set_accuracy"], row["adjusted_rand"], row["b_cubed_f1"]) == (1.0, 1.0, 1.0)
    assert done.shares.num_rows == 0
    assert "no pair found and none true" in repr(done)


def test_too_many_pairs_for_the_memory_are_refused() -> None:
    with pytest.raises(OptionError, match=r"measuring 7,998,000 pairs needs 767\.8 MB of memory, more than"):
        twinset.evaluate(["the same text"] * 4000, truth={"0": 1}, memory="512MB")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, r'\(truth="FILE"\), a file of passages \(passages="FILE"\) or the exact join \(exact=True\); none is'),
        ({"truth": {"0": 1}, "exact": True}, "; two are given"),
        ({"exact": True, "sweep": "0.5:0.9:0.1", "threshold": 0.7}, "threshold 0.7 and sweep .* give one"),
        ({"exact": True, "against": "x", "cluster": "complete"}, 'cluster="complete" cannot be used with against='),
        ({"exact": True, "sweep": "0.9:0.5:0.1"}, "sweep is '0.9:0.5:0.1'; allowed: FIRST:LAST:STEP"),
        ({"passages": "x.csv", "truth": "y.csv"}, "truth cannot be used with passages=: passages are compared, not"),
        ({"passages": "x.csv", "exact": True}, "exact cannot be used with passages="),
        ({"passages": "x.csv", "threshold": 0.8}, "threshold cannot be used with passages="),
        ({"passages": "x.csv", "shingle": "word:3"}, "shingle cannot be used with passages="),
        ({"passages": "x.csv", "cluster": "leader"}, "cluster cannot be used with passages="),
        ({"passages": "x.csv", "codes": "c"}, r"passages does not apply to bit codes \(codes=.*\); leave it out"),
        ({"exact": True, "least": 50}, "least needs passages=: it applies to passages only"),
        ({"truth": {"0": 1}, "complete": True}, "complete needs passages="),
    ],
)
def test_words_that_do_not_go_together(words: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        twinset.evaluate(["one", "two"], **words)


@pytest.mark.parametrize("text", ["", "1", "0.5:0.9", "0:0.9:0.1", "0.5:1.1:0.1", "a:b:c", "0.5:0.9:0", "0.1:1:0.0001"])
def test_sweeps_that_are_none(text: str) -> None:
    with pytest.raises(OptionError, match="allowed: FIRST:LAST:STEP"):
        parse_sweep(text)
    with pytest.raises(OptionError, match="sweep is 'nan:nan:nan'"):
        parse_sweep("nan:nan:nan")


def test_sweeps_hit_their_ends() -> None:
    assert parse_sweep("0.5:0.95:0.05") == (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    assert parse_sweep(".8:.8:.1") == (0.8,)
    assert parse_sweep("0.1:1:0.3") == (0.1, 0.4, 0.7, 1.0)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_folder_that_is_written(tmp_path: Path, ending: str) -> None:
    out = tmp_path / "out"
    done = twinset.evaluate(TEXTS, truth=FAMILIES, sweep="0.5:0.9:0.1", shingle="word:1", output=out, plots=ending)
    assert done.path == out
    names = ["definitions.txt", "evaluation.json", "measures.csv", "shares.csv"]
    figures = [f"{name}.{ending}" for name in ("f1", "precision-recall", "shares")]
    assert sorted(path.name for path in out.iterdir()) == sorted(names + figures)
    written = json.loads((out / "evaluation.json").read_text("utf-8"))
    assert written == done.summary
    with (out / "measures.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["f1"]) for row in rows] == done.measures["f1"].to_pylist()
    for name in COLUMNS[1:]:
        assert written["definitions"][name]
        assert name in (out / "definitions.txt").read_text("utf-8")
    start = b"\x89PNG" if ending == "png" else b"<?xml"
    assert all((out / name).read_bytes().startswith(start) for name in figures)
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing else is left behind"


def test_the_same_figures_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        twinset.evaluate(TEXTS, truth=FAMILIES, shingle="word:1", output=tmp_path / name)
    for name in ("f1.svg", "precision-recall.svg", "shares.svg", "measures.csv", "shares.csv", "definitions.txt"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_an_output_that_exists_is_replaced_only_when_asked(tmp_path: Path) -> None:
    words: dict[str, Any] = {"truth": {"0": 1}, "output": tmp_path / "out", "plots": "none"}
    twinset.evaluate(["one", "two"], **words)
    with pytest.raises(OutputError, match="out exists; choose another output, or replace it with force=True"):
        twinset.evaluate(["one", "two"], **words)
    twinset.evaluate(["one", "two"], **words, force=True)
    assert not list((tmp_path / "out").glob("*.svg"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("dear to me")
    with pytest.raises(OutputError, match="other exists and is not an earlier evaluation, so it is never replaced"):
        twinset.evaluate(["one", "two"], **{**words, "output": tmp_path / "other"}, force=True)


def test_an_output_below_the_source_is_not_read_the_next_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("the very same text")
    for _ in range(2):
        done = twinset.evaluate(tmp_path, truth=[("a.txt", "b.txt")], output=tmp_path / "out", force=True, plots="none")
        assert done.summary["documents"] == 2
        assert done.best is not None
        assert done.best["f1"] == 1.0


def test_a_truth_that_cannot_be_read_stops_before_the_sources_are(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("x,y\n1,2\n")
    with pytest.raises(SourceError, match=r"truth\.csv: the truth must have the columns"):
        twinset.evaluate(tmp_path / "there is no such source", truth=tmp_path / "truth.csv")


def test_without_matplotlib_it_is_said_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(twinset.MissingError, match=r'pip install "matplotlib", .* extra \[plots\]'):
        twinset.evaluate(["one"], truth={"0": 1}, output=tmp_path / "out")
    twinset.evaluate(["one"], truth={"0": 1}, output=tmp_path / "out", plots="none")
    with pytest.raises(twinset.MissingError):
        plots.curve_figure({}, tmp_path / "x.svg", x="", y="", title="")


def test_ranges_of_similarity_hold_their_lower_ends() -> None:
    edges = np.arange(20) / 20
    rows = shares(SampledPairs(np.append(edges, 1.0), np.ones(21, np.bool_), np.arange(21)), twinset.plan(0.8))
    assert [row["low"] for row in rows] == edges.tolist()
    assert [row["pairs"] for row in rows] == [1] * 19 + [2]


def test_the_interval_covers_where_families_are_found_together() -> None:
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(300):
        sizes = generator.integers(1, 12, 60)
        family = np.repeat(np.arange(60), sizes)
        found = (generator.random(60) < 0.7)[family] ^ (generator.random(len(family)) < 0.05)
        low, high = interval(found, family)
        covered += low <= 0.7 * 0.95 + 0.3 * 0.05 <= high
    # 95 % of 300 is 285; four standard errors below that is 270.
    assert covered >= 270
