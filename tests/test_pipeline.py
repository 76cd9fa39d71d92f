"""Pairs, end to end, against the search that compares everything with everything."""

from __future__ import annotations

import math
import random
import warnings
from functools import cache
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests import oracles
from twinset.options.formats import OUTPUT_ENDINGS

VOCABULARY = [
    f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "ei", "o", "u") for c in ("l", "nd", "r", "sk", "t", "")
]
FOUND = tuple[str, str]


def found_pairs(result: Any) -> dict[FOUND, oracles.Scores]:
    assert result.pairs.schema.names == ["left", "right", *oracles.columns()]
    listed = {(row["left"], row["right"]): oracles.scores_in(row) for row in result.pairs.to_pylist()}
    assert len(listed) == result.pairs.num_rows == result.summary["pairs"], "a pair is listed twice"
    return listed


def words(rng: random.Random, n: int) -> list[str]:
    return [rng.choice(VOCABULARY) + rng.choice(VOCABULARY) for _ in range(n)]


def paragraphs_swapped(rng: random.Random, text: list[str]) -> list[str]:
    cut = sorted(rng.sample(range(1, len(text)), 2))
    return text[cut[1] :] + text[cut[0] : cut[1]] + text[: cut[0]]


def edited(rng: random.Random, text: list[str], kind: int, times: int) -> list[str]:
    """A near copy. The first kinds are the adversary's: the least edit there is, and paragraphs in another order."""
    new = words(rng, times)
    if kind == 0:
        return words(rng, 1) + text
    if kind == 1:
        return text + words(rng, 1)
    if kind == 2:
        place = rng.randrange(len(text))
        return text[:place] + words(rng, 1) + text[place:]
    if kind == 3:
        return paragraphs_swapped(rng, text)
    if kind == 4:
        return new + text
    if kind == 5:
        return text[: len(text) - times]
    edit = list(text)
    for word in new:
        place = rng.randrange(len(edit))
        edit[place : place + rng.randrange(2)] = [word]  # inserted, or put in the place of another
    return edit


def corpus(seed: int, count: int, most_edits: int = 14) -> dict[str, str]:
    """`count` texts and a near copy of each, in no order. Pairs share no text, so they are found independently."""
    rng = random.Random(seed)
    texts = {}
    for i in range(count):
        text = words(rng, rng.randrange(30, 90))
        texts[f"a{i}"] = " ".join(text)
        texts[f"b{i}"] = " ".join(edited(rng, text, i % 10, rng.randrange(1, most_edits)))
    names = list(texts)
    rng.shuffle(names)
    return {name: texts[name] for name in names}


def right(found: dict[FOUND, oracles.Scores], expected: dict[FOUND, oracles.Scores]) -> int:
    """Precision is exactly 1 and scores are right to 1e-12; how many pairs were found."""
    for pair, scores in found.items():
        assert pair in expected
        assert scores == pytest.approx(expected[pair], abs=1e-12, rel=0)
    return len(found)


def check(texts: dict[str, str], threshold: float, **options: Any) -> tuple[int, int]:
    """How many true pairs there are, and how many of them were found."""
    expected = oracles.pairs(texts, threshold, **options)
    return len(expected), right(found_pairs(twinset.find_pairs(texts, threshold=threshold, **options)), expected)


def least(pairs: int, recall: float) -> float:
    """How many of `pairs` are found, each with probability `recall`, but for a chance of 0.2 %: 2.9 standard errors."""
    return pairs * recall - 2.9 * math.sqrt(pairs * recall * (1 - recall))


SPECS = [f"word:{k}" for k in range(1, 8)] + [f"char:{k}" for k in range(3, 10)]


@cache
def truth(number: int) -> tuple[dict[str, str], dict[FOUND, oracles.Scores]]:
    """A corpus for each kind of shingle, every third one of bags, and all its pairs from 0.5 on."""
    texts = corpus(seed=number, count=100)
    return texts, oracles.pairs(texts, 0.5, shingle=SPECS[number], bag=number % 3 == 2)


@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("sketch", ["fss", "kperm"])
def test_against_all_pairs(threshold: float, sketch: str) -> None:
    """Every kind of shingle; recall over all of them together. Of 500 pairs, 0.99 less 2.9 standard errors is 0.977."""
    expected = found = 0
    for number, spec in enumerate(SPECS):
        texts, pairs = truth(number)
        true = {pair: scores for pair, scores in pairs.items() if scores[0] >= threshold}
        result = twinset.find_pairs(texts, threshold=threshold, sketch=sketch, shingle=spec, bag=number % 3 == 2)
        expected, found = expected + len(true), found + right(found_pairs(result), true)
    assert expected > 450
    assert found >= least(expected, 0.99)


@pytest.mark.parametrize("spec", ["word:3", "char:5"])
def test_bags_and_sets_of_repetitive_text(spec: str) -> None:
    """Text of few words, where sets and bags differ much, and unrelated texts are alike."""
    rng = random.Random(5)
    texts = {str(i): " ".join(rng.choices(["one", "two", "three"], k=rng.randrange(5, 40))) for i in range(120)}
    for bag in (False, True):
        expected, found = check(texts, 0.5, shingle=spec, bag=bag)
        assert expected > 20
        assert found >= 0.95 * expected  # no independent pairs, so no binomial bound; pairs at 0.5 are found with 0.99


def test_families_of_many() -> None:
    """Thirty versions of each of twelve texts: pairs of all similarities in one bucket."""
    rng = random.Random(11)
    texts = {}
    for family in range(12):
        base = words(rng, 80)
        texts |= {f"{family}.{i}": " ".join(edited(rng, base, 9, rng.randrange(0, 12))) for i in range(30)}
    for threshold in (0.6, 0.8):
        expected, found = check(texts, threshold, shingle="word:2")
        assert found >= 0.97 * expected


# Recall, exactly at the threshold


def at_the_threshold(shared: int, apart: int, pairs: int) -> list[str]:
    """Pairs of texts, no word in two pairs: `shared` words in common, `apart` in the one only, as many in the other."""
    texts = []
    for i in range(pairs):
        common = [f"c{i}x{j}" for j in range(shared)]
        texts += [" ".join(common + [f"{side}{i}x{j}" for j in range(apart)]) for side in "lr"]
    return texts


@pytest.mark.parametrize("sketch", ["fss", "kperm"])
@pytest.mark.parametrize(
    ("threshold", "shared", "apart"), [(0.8, 8, 1), (0.8, 160, 20), (0.5, 40, 20), (0.6, 30, 10), (0.9, 18, 1)]
)
def test_recall_at_the_very_threshold(sketch: str, threshold: float, shared: int, apart: int) -> None:
    pairs = 2000
    result = twinset.find_pairs(
        at_the_threshold(shared, apart, pairs), threshold=threshold, shingle="word:1", sketch=sketch
    )
    assert set(result.pairs["similarity"].to_pylist()) == {threshold}
    assert result.summary["pairs"] >= least(pairs, 0.99)


@pytest.mark.parametrize(("bands", "rows"), [(9, 13), (20, 5), (5, 8)])
def test_the_plan_tells_the_truth_about_recall(bands: int, rows: int) -> None:
    """What is found at the threshold is what the plan says, to 4 standard errors of 3,000 pairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", twinset.PlanWarning)
        texts = at_the_threshold(80, 10, 3000)
        result = twinset.find_pairs(texts, threshold=0.8, shingle="word:1", n_bands=bands, rows_per_band=rows)
    said = result.plan.reached
    assert abs(result.summary["pairs"] / 3000 - said) <= 4 * math.sqrt(said * (1 - said) / 3000) + 1e-3


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.999])
def test_other_recalls(recall: float) -> None:
    result = twinset.find_pairs(at_the_threshold(80, 10, 2000), threshold=0.8, recall=recall, shingle="word:1")
    assert result.summary["pairs"] >= least(2000, recall)


# Identical documents

LINE = " ".join(VOCABULARY[:40])


def test_every_identical_pair_is_listed() -> None:
    texts = {"a": LINE, "b": "other", "c": LINE.upper(), "d": LINE + " more", "e": LINE, "f": LINE + " more"}
    expected = oracles.pairs(texts, 0.8)
    found = found_pairs(twinset.find_pairs(texts))
    assert found == expected
    assert len(found) == 10


def test_linked_copies() -> None:
    texts = {"a": LINE, "b": "other", "c": LINE, "d": LINE + " more", "e": LINE, "f": LINE + " more"}
    result = twinset.find_pairs(texts, identical="link")
    found = found_pairs(result)
    assert set(found) == {("a", "c"), ("a", "e"), ("a", "d"), ("d", "f")}
    assert all(found[pair] == oracles.pairs(texts, 0.8)[pair] for pair in found)
    assert result.summary["identical"] == 3


def test_a_flood_of_identical_pairs_is_refused_by_name() -> None:
    copies = [LINE] * 15_000
    with pytest.raises(twinset.OptionError, match=r'112,492,500.*identical="link"'):
        twinset.find_pairs(copies)
    linked = twinset.find_pairs(copies, identical="link")
    assert linked.summary["pairs"] == 14_999
    assert set(linked.pairs["left"].to_pylist()) == {"0"}


def test_equal_sets_that_are_no_equal_bags() -> None:
    """The same shingles more often: similarity 1 as sets, less as bags."""
    texts = {"a": "x y x y x", "b": "x y x y x y x"}
    assert found_pairs(twinset.find_pairs(texts, shingle="word:2"))["a", "b"][:3] == (1.0, 1.0, 1.0)
    bags = found_pairs(twinset.find_pairs(texts, shingle="word:2", bag=True, threshold=0.6))
    assert bags["a", "b"][:3] == (4 / 6, 1.0, 4 / 6)
    assert bags == oracles.pairs(texts, 0.6, shingle="word:2", bag=True)


# Who is compared with whom


def test_by_compares_only_rows_that_agree() -> None:
    rng = random.Random(3)
    base = [words(rng, 50) for _ in range(6)]
    rows = [
        {
            "id": str(i),
            "text": " ".join(edited(rng, base[i % 6], 2, 1) if i % 4 else base[i % 6]),
            "lang": rng.choice(["en", "de", None]),
        }
        for i in range(120)
    ]
    langs = {row["id"]: row["lang"] for row in rows}
    for spec in ("word:2", "word:5"):
        every = oracles.pairs({row["id"]: row["text"] for row in rows}, 0.7, shingle=spec)
        expected = {pair: scores for pair, scores in every.items() if langs[pair[0]] == langs[pair[1]]}
        assert 50 < len(expected) < len(every)
        found = found_pairs(
            twinset.find_pairs(pa.Table.from_pylist(rows), by="lang", threshold=0.7, shingle=spec, recall=0.9999)
        )
        assert found == expected


def test_against_compares_only_across() -> None:
    texts = corpus(seed=21, count=60)
    names = list(texts)
    ours = {name: texts[name] for name in names[:70]}
    theirs = {name: texts[name] for name in names[70:]}
    ours["copy"] = ours["copy2"] = theirs[names[100]]
    both = {f"o:{name}": text for name, text in ours.items()} | {f"t:{name}": text for name, text in theirs.items()}
    expected = {
        (left[2:], right[2:]): scores
        for (left, right), scores in oracles.pairs(both, 0.7, shingle="word:2").items()
        if (left[0], right[0]) == ("o", "t")
    }
    result = twinset.find_pairs(ours, against=[theirs], threshold=0.7, shingle="word:2", recall=0.9999)
    assert found_pairs(result) == expected
    assert len(expected) > 10
    assert (result.summary["documents"], result.summary["against"]) == (72, 50)


@pytest.mark.parametrize("ids", ["aba", "aab", "baa", "xyzx", "qwerq"])
def test_an_id_that_comes_again_is_refused_wherever_it_stands(ids: str) -> None:
    texts = [f"number {row} is a text of its own" for row in range(len(ids))]
    with pytest.raises(twinset.DuplicateIdError, match="appears twice"):
        twinset.find_pairs(pa.table({"id": list(ids), "text": texts}), threshold=0.8, id="id")


def test_ids_may_repeat_across_the_two_sides_but_not_within_one() -> None:
    same = {"a": LINE, "b": LINE + " more"}
    found = twinset.find_pairs(same, against=[same]).pairs
    assert sorted(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True)) == [
        *(("a", "a"), ("a", "b"), ("b", "a"), ("b", "b"))
    ]
    table = pa.table({"id": ["x", "x"], "text": ["1", "2"]})
    twice = r"'x' appears twice: .*, row 0, and .*, row 1 \(counted from 0\)"
    with pytest.raises(twinset.DuplicateIdError, match=twice):
        twinset.find_pairs(pa.table({"id": ["1"], "text": ["1"]}), against=[table], id="id")


# Short and empty documents


@pytest.mark.parametrize("spec", ["word:5", "char:9"])
def test_short_documents_are_one_shingle_and_empty_ones_are_like_nothing(spec: str) -> None:
    texts = {"s1": "Two words", "s2": "two  WORDS", "s3": "two word", "e1": "", "e2": "  \n", "e3": None, "e4": ""}
    result = twinset.find_pairs(texts, shingle=spec)
    assert set(found_pairs(result)) == {("s1", "s2")}
    assert (result.summary["documents"], result.summary["empty"]) == (7, 4)


@pytest.mark.parametrize("texts", [[], [""], ["one"], ["", None]])
def test_nothing_to_compare(texts: list[str | None]) -> None:
    result = twinset.find_pairs(texts)
    assert (result.pairs.num_rows, result.summary["documents"]) == (0, len(texts))
    assert result.pairs.schema.names == ["left", "right", *oracles.columns()]


# The same, whatever the way in


def as_sources(table: pa.Table, folder: Any) -> dict[str, tuple[object, ...]]:
    pq.write_table(table.slice(0, 70), folder / "one.parquet")
    pq.write_table(table.slice(70), folder / "two.parquet", row_group_size=7)
    return {
        "mapping": (dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)),),
        "pyarrow": (table,),
        "chunks": (pa.concat_tables([table.slice(i, 9) for i in range(0, len(table), 9)]),),
        "pandas": (table.to_pandas(),),
        "polars": (polars.from_arrow(table),),
        "two files": (str(folder / "one.parquet"), str(folder / "two.parquet")),
        "a file and a frame": (str(folder / "one.parquet"), pandas.DataFrame(table.slice(70).to_pylist())),
    }


def test_every_kind_of_source_gives_the_same_pairs(tmp_path: Any) -> None:
    texts = corpus(seed=31, count=60)
    table = pa.table({"id": list(texts), "text": list(texts.values())})
    expected = found_pairs(twinset.find_pairs(table, shingle="word:2"))
    assert len(expected) > 20
    for name, sources in as_sources(table, tmp_path).items():
        assert found_pairs(twinset.find_pairs(*sources, shingle="word:2")) == expected, name
    numbers = {name: str(i) for i, name in enumerate(texts)}
    from_list = found_pairs(twinset.find_pairs(list(texts.values()), shingle="word:2"))
    assert from_list == {(numbers[a], numbers[b]): scores for (a, b), scores in expected.items()}


def test_threads_batches_and_shuffling_change_no_pair() -> None:
    texts = corpus(seed=41, count=80)
    texts |= {f"copy{i}": text for i, text in enumerate(list(texts.values())[:20])}
    table = pa.table({"id": list(texts), "text": list(texts.values())})
    first = twinset.find_pairs(table, shingle="word:3", threshold=0.6)
    for how in ({"threads": 1}, {"threads": 3, "batch_bytes": 1024}, {"batch_bytes": 4096, "memory": "512MB"}):
        again = twinset.find_pairs(table, shingle="word:3", threshold=0.6, **how)
        assert again.pairs.equals(first.pairs)
    expected = {frozenset(pair): scores[0] for pair, scores in found_pairs(first).items()}
    order = list(range(len(texts)))
    random.Random(1).shuffle(order)
    shuffled = found_pairs(twinset.find_pairs(table.take(order), shingle="word:3", threshold=0.6))
    assert {frozenset(pair): scores[0] for pair, scores in shuffled.items()} == expected


def test_pairs_come_in_input_order() -> None:
    texts = corpus(seed=51, count=50)
    place = {name: i for i, name in enumerate(texts)}
    pairs = [(place[a], place[b]) for a, b in found_pairs(twinset.find_pairs(texts, shingle="word:1", threshold=0.5))]
    assert all(left < right for left, right in pairs)
    assert pairs == sorted(pairs)


@pytest.mark.parametrize("ending", OUTPUT_ENDINGS)
def test_pairs_in_a_file_are_the_pairs_in_memory(tmp_path: Any, ending: str) -> None:
    texts = corpus(seed=61, count=40) | {'quo"te,1': LINE, "new\nline": LINE, "": LINE}
    expected = found_pairs(twinset.find_pairs(texts, shingle="word:2"))
    result = twinset.find_pairs(texts, shingle="word:2", output=tmp_path / f"pairs{ending}")
    assert found_pairs(result) == expected
    assert str(len(expected)) in repr(result)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"pairs{ending}"]


def test_half_a_surrogate_is_an_error_of_our_own() -> None:
    with pytest.raises(twinset.TwinsetError, match="surrogate"):
        twinset.compare("fine", "half \ud83d")


def test_a_flood_of_identical_pairs_across_two_sources_is_refused_too() -> None:
    text = " ".join(f"word{n}" for n in range(20))
    with pytest.raises(twinset.OptionError, match=r'121,000,000 pairs.*identical="link"'):
        twinset.find_pairs([text] * 11_000, against=[[text] * 11_000])
    linked = twinset.find_pairs([text] * 11_000, against=[[text] * 11_000], identical="link")
    assert linked.summary["pairs"] == 11_000
