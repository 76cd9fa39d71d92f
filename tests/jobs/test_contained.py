"""Pairs and dedup by containment: the same as comparing all with all, for every kind of set and any sizes."""

from __future__ import annotations

import random
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests import oracles
from twinset.engines.local.steps import candidates_contained
from twinset.options import DedupOptions, PairsOptions

LIMITS = (0.5, 0.8, 0.95)


@cache
def skewed(seed: int, families: int = 25) -> dict[str, str]:
    """Long documents, parts of them with some words changed, parts of parts, and what stands alone."""
    dice = random.Random(seed)
    texts: list[list[str]] = []
    for _ in range(families):
        whole = [f"w{dice.randrange(5000)}" for _ in range(dice.choice([60, 400, 3000]))]
        texts.append(whole)
        for _ in range(4):
            source = dice.choice(texts[-3:])
            size = min(len(source), dice.choice([5, 30, 120, 1000]))
            start = dice.randrange(len(source) - size + 1)
            part = source[start : start + size]
            for _ in range(dice.choice([0, 0, 1, 2, 6])):
                part[dice.randrange(size)] = f"x{dice.randrange(10**6)}"
            texts.append(part)
    texts += [["one", "two"], ["one", "two"], [], texts[0], texts[1]]
    dice.shuffle(texts)
    return {f"d{number}": " ".join(words) for number, words in enumerate(texts)}


def found(table: pa.Table) -> dict[tuple[str, str], oracles.Scores]:
    return {(row["left"], row["right"]): oracles.scores_in(row) for row in table.to_pylist()}


shingle_set = cache(oracles.shingle_set)  # the same texts are compared at several limits


def sets_of(texts: dict[str, str], **words: Any) -> dict[str, frozenset[Any]]:
    return {name: shingle_set(text, **words) for name, text in texts.items()}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("shingle", ["word:5", "word:1", "char:4"])
def test_an_exact_run_finds_what_comparing_all_finds(limit: float, shingle: str) -> None:
    texts = skewed(1, 12)
    done = twinset.find_pairs(texts, contained=limit, exact=True, shingle=shingle)
    assert found(done.pairs) == oracles.held_pairs(sets_of(texts, shingle=shingle), limit)
    assert done.summary["plan"]["exact"] is True


@pytest.mark.parametrize("limit", LIMITS)
def test_a_run_with_a_recall_reports_nothing_wrong_and_misses_few(limit: float) -> None:
    texts = skewed(2, 60)
    true = oracles.held_pairs(sets_of(texts), limit)
    got = found(twinset.find_pairs(texts, contained=limit).pairs)
    assert got.items() <= true.items()
    assert len(got) >= 0.99 * len(true)


@pytest.fixture(scope="module")
def licences() -> tuple[dict[str, str], dict[str, frozenset[Any]]]:
    """The licences of the packages that are installed here, whichever these are, halves of some, and their shingles."""
    texts: dict[str, str] = {}
    for package in metadata.distributions():
        for file in package.files or ():
            if re.search(r"licen[cs]e|copying|notice", file.name, re.IGNORECASE) and file.suffix in ("", ".txt", ".md"):
                path = Path(str(package.locate_file(file)))
                if path.is_file():
                    texts[f"{package.name}/{file}"] = path.read_text("utf-8", "replace")
    texts = dict(sorted(texts.items(), key=lambda item: (len(item[1]), item[0]))[:80])
    halves = {f"half of {name}": text[: len(text) // 2] for name, text in list(texts.items())[::5]}
    texts |= halves
    return texts, sets_of(texts)


@pytest.mark.parametrize("limit", LIMITS)
def test_licences(licences: tuple[dict[str, str], dict[str, frozenset[Any]]], limit: float) -> None:
    texts, sets = licences
    assert len(texts) > 40
    true = oracles.held_pairs(sets, limit)
    assert len(true) > 100
    assert found(twinset.find_pairs(texts, contained=limit, exact=True).pairs) == true
    each = [found(twinset.find_pairs(texts, contained=limit, seed=seed).pairs) for seed in range(4)]
    assert all(got.items() <= true.items() for got in each)
    # Copies of one licence are found or missed together: the share of one run may be far from the recall of a pair.
    kinds = {frozenset((sets[left], sets[right])) for left, right in true}
    seen = sum(len({frozenset((sets[left], sets[right])) for left, right in got}) for got in each)
    assert seen >= 0.97 * 4 * len(kinds)


def test_thirty_words_in_twenty_thousand() -> None:
    dice = random.Random(4)
    book = [f"w{dice.randrange(50_000)}" for _ in range(20_000)]
    parts = {f"part{start}": " ".join(book[start : start + 30]) for start in range(0, 20_000, 1_000)}
    texts = {"book": " ".join(book), **parts, "other": " ".join(f"o{n}" for n in range(500))}
    got = found(twinset.find_pairs(texts, contained=0.8).pairs)
    assert set(got) == {("book", name) for name in parts}
    assert all(scores[2] == 1.0 and scores[0] < 0.01 for scores in got.values())


def test_a_low_recall_misses_pairs_and_the_audit_says_so() -> None:
    """The recall is not a decoration: with one of three asked for, far fewer shingles are filed."""
    texts = skewed(3, 60)
    true = oracles.held_pairs(sets_of(texts), 0.5)
    low = twinset.find_pairs(texts, contained=0.5, recall=0.3)
    assert len(low.pairs) < len(true)
    audit = low.summary["audit"]
    assert audit["recall"] == audit["found"] / audit["pairs"] < 1
    distinct = len({left for left, _ in true} | {right for _, right in true})
    assert audit["documents"] > 0
    assert distinct > 0
    missed = {(row["left"], row["right"]) for row in audit["missed"]}
    assert missed <= set(true) - set(found(low.pairs))


@pytest.mark.parametrize("options", [{}, {"threads": 1}, {"memory": "600MB", "batch_bytes": 2048}])
def test_the_pairs_do_not_depend_on_the_work(options: dict[str, Any]) -> None:
    texts = skewed(5)
    base = twinset.find_pairs(texts, contained=0.6, recall=0.7)
    assert twinset.find_pairs(texts, contained=0.6, recall=0.7, **options).pairs.equals(base.pairs)


def test_keys_that_do_not_fit_in_memory_are_looked_up_part_by_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = skewed(13, 40)
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": list(texts), "text": list(texts.values())}), source, row_group_size=20)
    words: dict[str, Any] = {"contained": 0.6, "recall": 0.7, "batch_bytes": 1024}
    whole = twinset.find_pairs(source, **words)
    made: list[int] = []
    monkeypatch.setattr(candidates_contained, "BYTES_A_KEY", 1 << 50)
    build = candidates_contained.FiledSets.of
    counted = lambda *args: made.append(1) or build(*args)  # noqa: E731
    monkeypatch.setattr(candidates_contained.FiledSets, "of", staticmethod(counted))
    parts = twinset.find_pairs(source, **words)
    assert len(made) > 3
    assert parts.pairs.equals(whole.pairs)


@cache
def kinds() -> dict[str, tuple[Any, dict[str, Any], dict[str, frozenset[Any]]]]:
    """Sets, long tables and records: their source, their options, and the sets to compare."""
    dice = random.Random(6)
    rows: dict[str, list[str]] = {}
    for number in range(30):
        basket = [f"i{dice.randrange(2000)}" for _ in range(dice.choice([10, 80, 600]))]
        rows[f"b{number}"] = basket
        for part in range(3):
            some = dice.sample(basket, min(len(basket), dice.choice([4, 10, 40])))
            rows[f"b{number}p{part}"] = [*some, *(f"x{dice.randrange(10**6)}" for _ in range(dice.choice([0, 1, 3])))]
    sets = {name: frozenset(items) for name, items in rows.items()}
    lists = pa.table({"id": list(rows), "items": list(rows.values())})
    pairs = [(name, item) for name, items in rows.items() for item in items]
    long = pa.table({"who": [name for name, _ in pairs], "what": [item for _, item in pairs]})
    texts = skewed(7, 15)
    names = {name: " ".join(text.split()[:40]) for name, text in texts.items()}
    records = pa.table({"id": list(texts), "title": list(names.values()), "body": list(texts.values())})
    both = {
        name: frozenset(
            [("t", one) for one in shingle_set(names[name], shingle="word:2")]
            + [("b", one) for one in shingle_set(texts[name])]
        )
        for name in texts
    }
    return {
        "items": (lists, {"items": "items"}, sets),
        "groups": (long, {"group": "who", "item": "what"}, sets),
        "records": (records, {"text": ["title,word:2", "body,word:5"]}, both),
    }


@pytest.mark.parametrize("kind", ["items", "groups", "records"])
@pytest.mark.parametrize("limit", LIMITS)
def test_every_kind_of_set(kind: str, limit: float) -> None:
    source, options, sets = kinds()[kind]
    done = twinset.find_pairs(source, contained=limit, exact=True, **options)
    true = oracles.held_pairs(sets, limit)
    ordered = {tuple(sorted(pair)): max(scores[1:]) for pair, scores in true.items()}
    got = {tuple(sorted(pair)): max(scores[1:]) for pair, scores in found(done.pairs).items()}
    assert got == ordered
    some = twinset.find_pairs(source, contained=limit, **options)
    assert len(some.pairs) >= 0.99 * len(true)


@pytest.mark.parametrize("keep", ["first", "highest:score", "longest"])
@pytest.mark.parametrize("least", [1, 3, 30])
def test_dedup_keeps_what_holds_the_others(keep: str, least: int) -> None:
    texts = skewed(8, 40)
    order = list(texts)
    scores = {name: number * 37 % 101 for number, name in enumerate(order)}
    if keep == "highest:score":
        order = sorted(order, key=lambda name: (-scores[name], name))
    if keep == "longest":
        order = sorted(order, key=lambda name: (-len(texts[name]), name))
    sets = sets_of(texts)
    table = pa.table({"id": list(texts), "text": list(texts.values()), "score": list(scores.values())})
    done = twinset.dedup(table, contained=0.8, recall=0.9999, keep=keep, least_shingles=least)
    expected = oracles.kept_of_held(sets, 0.8, least, order)
    assert set(done.removed["id"].to_pylist()) == set(expected)
    assert all(value >= 0.8 for value in done.removed["in_kept"].to_pylist())
    kept = set(texts) - set(expected)
    assert set(done.removed["because_of"].to_pylist()) <= kept
    short = sum(0 < len(one) < least for one in sets.values())
    assert done.summary["left_alone"] == short


def test_short_documents_are_left_alone_with_their_copies() -> None:
    long = "the quick brown fox jumps over the lazy dog and runs away from the farm"
    part = "over the lazy dog and runs away"
    texts = {"a": long, "b": "quick brown fox", "c": "quick brown fox", "d": long, "e": part}
    done = twinset.dedup(texts, contained=1.0, shingle="word:2")
    assert done.removed["id"].to_pylist() == ["d", "e"]
    assert done.summary["left_alone"] == 2
    every = twinset.dedup(texts, contained=1.0, shingle="word:2", least_shingles=1)
    assert every.removed["id"].to_pylist() == ["b", "c", "d", "e"]


def test_against_only_what_is_held_goes_never_the_holder() -> None:
    dice = random.Random(9)
    words = [f"w{n}" for n in range(400)]
    dice.shuffle(words)
    whole, part = " ".join(words), " ".join(words[50:120])
    own = {"holds": whole, "held": " ".join(words[60:100])}
    done = twinset.dedup(own, against=[{"part": part}], contained=0.9)
    assert done.removed["id"].to_pylist() == ["held"]
    pairs = twinset.find_pairs(own, against=[{"part": part}], contained=0.9)
    assert {(row["left"], row["right"]) for row in pairs.pairs.to_pylist()} == {("holds", "part"), ("held", "part")}


def test_only_rows_of_one_group_are_compared() -> None:
    table = pa.table({"id": ["a", "b", "c"], "text": ["k " * 4 + "x y z u v w", "x y z u v w", "x y z u v w"],
                      "lang": ["en", "en", "de"]})  # fmt: skip
    got = twinset.find_pairs(table, contained=0.9, shingle="word:2", by="lang", exact=True)
    assert [(row["left"], row["right"]) for row in got.pairs.to_pylist()] == [("a", "b")]


def test_recut_equals_a_run_at_that_containment(tmp_path: Path) -> None:
    texts = skewed(10, 40)
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": list(texts), "text": list(texts.values())}), source)
    done = twinset.dedup(source, contained=0.8, floor=0.6, output=tmp_path / "out")
    cut = twinset.open_result(tmp_path / "out").rethreshold(contained=0.9, output=tmp_path / "cut")
    fresh = twinset.dedup(source, contained=0.9, floor=0.6, output=tmp_path / "fresh")
    assert cut.removed.equals(fresh.removed)
    assert cut.clusters.equals(fresh.clusters)
    assert cut.summary["options"] == fresh.summary["options"]
    assert len(cut.removed) < len(done.removed)
    with pytest.raises(twinset.OptionError, match=r"were found by containment; give contained=, from 0.6 to 1"):
        twinset.open_result(tmp_path / "out").rethreshold(0.9)
    with pytest.raises(twinset.OptionError, match=r"contained is 0.5, and pairs below 0.6, the floor"):
        twinset.open_result(tmp_path / "out").rethreshold(contained=0.5)
    similar = twinset.dedup(source, threshold=0.8, output=tmp_path / "similar")
    with pytest.raises(twinset.OptionError, match=r"were found by similarity; give threshold="):
        similar.rethreshold(contained=0.9)


def test_recut_against_another_source(tmp_path: Path) -> None:
    texts = skewed(11, 30)
    names = list(texts)
    sides = [{name: texts[name] for name in half} for half in (names[:70], names[70:])]
    done = twinset.dedup(sides[0], against=[sides[1]], contained=0.7, floor=0.5)
    fresh = twinset.dedup(sides[0], against=[sides[1]], contained=0.9, floor=0.5)
    assert done.rethreshold(contained=0.9).removed.equals(fresh.removed)
    assert all(value >= 0.9 for value in fresh.removed["in_kept"].to_pylist())


def test_recut_to_a_number_of_rows_against_another_source() -> None:
    """Pairs of which only the share of the other source's document is large enough are no limits to choose from."""
    words = [f"w{number}" for number in range(20)]
    own = {"held": " ".join([*words, *"abcde"]), "alone": "one two three four five six"}
    parts = {"part": " ".join(words), "small part": " ".join(words[:5])}
    done = twinset.dedup(own, against=[parts], contained=0.7, shingle="word:1")
    assert done.removed["id"].to_pylist() == ["held"]
    assert done.recut(rows=1).removed.equals(done.removed)
    assert done.recut(rows=1).summary["options"]["contained"] == 0.7
    assert len(done.recut(rows=2).removed) == 0
    with pytest.raises(twinset.OptionError, match=r"rows is 0, but thresholds from 0.7 to 1 leave 1 to 2"):
        done.recut(rows=0)


def test_the_most_similar_are_those_that_hold_most() -> None:
    texts = {
        "a": "one two three four five six seven eight nine ten",
        "b": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen",
        "c": "one two three four five six seven eight nine zero",
    }
    top = twinset.find_pairs(texts, contained=0.5, shingle="word:2", top=1, exact=True).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in top] == [("a", "b"), ("b", "a"), ("c", "a")]


def test_evaluation_by_containment() -> None:
    texts = skewed(12, 30)
    done = twinset.evaluate(texts, contained=0.6, sweep="0.6:0.9:0.1", exact=True, recall=0.9)
    true = {limit: len(oracles.held_pairs(sets_of(texts), limit)) for limit in (0.6, 0.7, 0.8, 0.9)}
    rows = done.measures.to_pylist()
    assert {row["threshold"]: row["true_pairs"] for row in rows} == true
    assert all(row["precision"] == 1.0 and row["recall"] > 0.9 for row in rows)
    assert all(row["b_cubed_f1"] is None for row in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.7}, "by threshold= .similarity. or by contained=; leave one"),
        ({"n_hashes": 64}, "n_hashes does not apply to contained="),
        ({"sketch": "kperm"}, "sketch does not apply to contained="),
        ({"contained": 0}, "contained is 0; allowed"),
        ({"contained": 1.2}, "contained is 1.2; allowed"),
        ({"codes": "c"}, "contained does not apply to bit codes"),
        ({"vectors": "v"}, "contained does not apply to vectors"),
        ({"items": "i", "weight": "w"}, "contained does not apply to weighted sets"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(twinset.OptionError, match=message):
        twinset.find_pairs(["a text"], **{"contained": 0.8, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contained": 0.8, "cluster": "components"}, "cluster=.components. cannot be used with contained="),
        ({"contained": 0.8, "index": "x.twinset"}, "contained cannot be used with index="),
        ({"contained": 0.8, "floor": 0.9}, "floor is 0.9, above the threshold"),
        ({"least_shingles": 5}, "least_shingles needs contained="),
    ],
)
def test_what_does_not_fit_dedup_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(twinset.OptionError, match=message):
        twinset.dedup(["a text"], **options)


def test_the_options_say_what_is_compared() -> None:
    assert PairsOptions.of(contained=0.7).threshold == 0.7
    assert PairsOptions.of(contained=0.7).measure == "containment"
    assert DedupOptions.of(contained=0.9, floor=0.6).least == 0.6
    assert DedupOptions.of().measure == "jaccard"


def test_nothing_to_find() -> None:
    for texts in ([], [""], ["one"], ["a b c d e f", "u v w x y z"]):
        assert len(twinset.find_pairs(texts, contained=0.5).pairs) == 0
        assert len(twinset.dedup(texts, contained=0.5).removed) == 0
