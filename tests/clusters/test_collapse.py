"""Search results folded under their first appearance, against a slow oracle; and what comes in and goes out."""

from __future__ import annotations

import random
from collections import UserList, namedtuple
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from types import MappingProxyType
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from tests import oracles
from twinset.candidates import prefix
from twinset.clusters.collapse import RankedSets, fold
from twinset.jobs.collapse import Collapsed
from twinset.options import ShingleOptions
from twinset.options.jobs import CollapseOptions

ROSE = "a rose is a rose is a rose in any garden of the town"
TEXTS = [ROSE, "something else", ROSE + " hall", "", ROSE, "Something else!", ""]
SHOWN, COUNTS = [0, 1, 3, 6], [3, 2, 1, 1]
THRESHOLDS = st.sampled_from([0.05, 0.3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0]) | st.floats(0.01, 1.0)
WORDS = st.sampled_from(["one", "Two", "three", "four", "ünf", "東京", "…", ""])
RANKINGS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=25)


def ranked(sets: list[list[int]], threshold: float) -> RankedSets:
    hashes = np.array([token for one in sets for token in one], np.uint64)
    sizes = np.array([len(one) for one in sets], np.uint32)
    starts, salts = prefix.offsets_of(sizes)[:-1], np.zeros(len(sets), np.uint64)
    frequencies = prefix.Frequencies.for_tokens(len(hashes))
    frequencies.add(hashes, starts, sizes, salts)
    alone, counts, _, keys = prefix.prefixes(frequencies, hashes, starts, sizes, salts, threshold)
    bit_offsets = prefix.offsets_of(prefix.bitmap_words(sizes, threshold))
    bits = prefix.bitmaps(hashes, starts, sizes, threshold)
    return RankedSets(hashes, starts, sizes, alone, prefix.offsets_of(counts), keys, bit_offsets, bits)


def check_fold(sets: list[list[int]], threshold: float) -> None:
    leader, shared = fold(ranked(sets, threshold), threshold)
    expected = oracles.collapsed([frozenset(one) for one in sets], threshold)
    assert leader.tolist() == [head for head, _ in expected]
    overlaps = [len({*sets[i]} & {*sets[head]}) if head != i else 0 for i, (head, _) in enumerate(expected)]
    assert shared.tolist() == overlaps


def flat(shown: Collapsed) -> list[tuple[int, float]]:
    """The head and the similarity of each result, by place."""
    found = {group.place: (group.place, 1.0) for group in shown}
    found |= {one.place: (group.place, one.similarity) for group in shown for one in group.folded}
    return [found[place] for place in range(len(found))]


# The kernels


@given(
    st.lists(st.sets(st.integers(1, 12) | st.integers(2**63, 2**63 + 3), max_size=9).map(list), max_size=20),
    THRESHOLDS,
)
def test_equals_its_oracle(sets: list[list[int]], threshold: float) -> None:
    check_fold(sets, threshold)


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.8, 0.95])
@pytest.mark.parametrize("common", [0, 20, 60])
def test_equals_its_oracle_whether_much_is_shared_or_little(common: int, threshold: float) -> None:
    """Sets that differ little, with and without tokens that all have: lists are asked, or all heads are."""
    rng = random.Random(common)
    pool = [rng.getrandbits(64) | 1 for _ in range(4000)]
    families = [rng.sample(pool, rng.randint(5, 90)) for _ in range(40)]
    everywhere = [rng.getrandbits(64) | 1 for _ in range(common)]
    sets = []
    for _ in range(400):
        one = [token for token in rng.choice(families) if rng.random() < 0.92] + everywhere
        sets.append(rng.sample(one, len(one)))
    check_fold(sets, threshold)


def test_one_crowd() -> None:
    """No token tells anything: every set holds most of the same few."""
    rng = random.Random(7)
    pool = [rng.getrandbits(64) | 1 for _ in range(120)]
    check_fold([[token for token in pool if rng.random() < 0.86] for _ in range(300)], 0.8)


def test_tokens_with_the_same_key_lose_nothing() -> None:
    """Hashes that differ in their low bits only have equal keys."""
    rng = random.Random(3)
    pool = [(rng.getrandbits(10) << 50 | low) + 1 for low in range(60)]
    check_fold([rng.sample(pool, rng.randint(1, 12)) for _ in range(200)], 0.5)


# The rule


@given(RANKINGS, THRESHOLDS, st.sampled_from(["word:1", "word:2", "word:5", "char:3"]), st.booleans())
def test_texts_equal_the_oracle(texts: list[str], threshold: float, shingle: str, bag: bool) -> None:
    sets = [oracles.shingle_set(text, shingle, bag=bag) for text in texts]
    shown = twinset.collapse(texts, threshold=threshold, shingle=shingle, bag=bag)
    assert flat(shown) == oracles.collapsed(sets, threshold)


@given(RANKINGS, THRESHOLDS)
def test_what_is_folded_is_near_and_what_is_shown_is_not(texts: list[str], threshold: float) -> None:
    shown = twinset.collapse(texts, threshold=threshold, shingle="word:2")
    for group in shown:
        for one in group.folded:
            assert one.place > group.place
            assert one.similarity == twinset.compare(group.first, one.item, shingle="word:2").similarity >= threshold
    sets = [oracles.shingle_set(group.first, "word:2") for group in shown]
    assert all(not one or oracles.scores(one, other)[0] < threshold for one, other in combinations(sets, 2))


@given(RANKINGS, RANKINGS, THRESHOLDS)
def test_what_comes_later_changes_nothing_before(texts: list[str], more: list[str], threshold: float) -> None:
    short, long = (flat(twinset.collapse(one, threshold=threshold, shingle="word:1")) for one in (texts, texts + more))
    assert long[: len(texts)] == short


@given(RANKINGS, THRESHOLDS, st.integers(0, 2**64 - 1))
def test_the_seed_changes_nothing(texts: list[str], threshold: float, seed: int) -> None:
    assert flat(twinset.collapse(texts, threshold=threshold, seed=seed)) == flat(
        twinset.collapse(texts, threshold=threshold)
    )


def test_the_first_that_is_near_and_not_the_nearest() -> None:
    base = [f"w{n}" for n in range(20)]
    first, second, third = base[:18], base[2:], base[1:]
    shown = twinset.collapse([" ".join(one) for one in (first, second, third)], shingle="word:1", threshold=0.85)
    assert [(group.place, group.count) for group in shown] == [(0, 2), (1, 1)]
    assert oracles.scores(frozenset(third), frozenset(second))[0] > shown.groups[0].folded[0].similarity == 17 / 20


def test_nothing_chains() -> None:
    words = [f"w{n}" for n in range(40)]
    chain = [" ".join(words[n : n + 20]) for n in range(20)]
    shown = twinset.collapse(chain, shingle="word:1", threshold=0.9)
    assert [group.place for group in shown] == list(range(0, 20, 2))
    assert all(one.similarity >= 0.9 for group in shown for one in group.folded)


def test_the_groups_of_a_leader_clustering() -> None:
    """The page and a clean collection agree."""
    rng = random.Random(11)
    words = [f"word{n}" for n in range(300)]
    texts = [" ".join(rng.choices(words, k=60)) for _ in range(20)]
    while len(texts) < 150:
        copied = rng.choice(texts).split()
        copied[rng.randrange(60)] = rng.choice(words)
        texts.append(" ".join(copied))
    rng.shuffle(texts)
    done = twinset.dedup(texts, shingle="word:2", threshold=0.7, recall=0.999999)
    theirs = {row["id"]: (row["because_of"], row["similarity"]) for row in done.removed.to_pylist()}
    shown = twinset.collapse(texts, shingle="word:2", threshold=0.7)
    assert theirs == {str(one.place): (str(group.place), one.similarity) for group in shown for one in group.folded}
    assert len(shown) == done.summary["kept"] < 100


def test_many_threads_at_once() -> None:
    rng = random.Random(5)
    words = [f"wörd{n}" for n in range(50)]
    rankings = [[" ".join(rng.choices(words, k=rng.randint(0, 400))) for _ in range(60)] * 2 for _ in range(24)]
    alone = [flat(twinset.collapse(one, shingle="word:1")) for one in rankings]
    with ThreadPoolExecutor(8) as pool:
        together = [flat(shown) for shown in pool.map(lambda one: twinset.collapse(one, shingle="word:1"), rankings)]
    assert together == alone


# What comes in


def test_strings() -> None:
    shown = twinset.collapse(TEXTS, shingle="word:3")
    assert shown.results == [TEXTS[place] for place in SHOWN]
    assert shown.counts == COUNTS == [group.count for group in shown]
    assert len(shown) == len(shown.groups) == 4
    assert [one.place for one in shown.groups[0].folded] == [2, 4]
    assert [one.similarity for one in shown.groups[0].folded] == [9 / 10, 1.0]
    assert repr(shown) == "<Collapsed: 4 of 7 results shown, 3 folded>"


Hit = namedtuple("Hit", ["title", "body"])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda text: {"body": text, "id": 7}, "body"),
        (lambda text: MappingProxyType({"text": text}), "text"),
        (lambda text: Hit("title", text), lambda hit: hit.body),
        (lambda text: [3, text], lambda pair: pair[1]),
        (lambda text: text.encode(), "text"),
        (lambda text: text or None, "text"),
    ],
    ids=["dict", "mapping", "object", "list", "bytes", "null"],
)
def test_the_same_objects_come_out(make: Any, text: Any) -> None:
    given = [make(text) for text in TEXTS]
    shown = twinset.collapse(given, text=text, shingle="word:3")
    assert [id(one) for one in shown.results] == [id(given[place]) for place in SHOWN]
    assert shown.counts == COUNTS
    assert shown.groups[1].folded[0].item is given[5]


@pytest.mark.parametrize("kind", [tuple, iter, UserList, pd.Series, pl.Series, pa.array, np.array])
def test_other_sequences(kind: Any) -> None:
    assert twinset.collapse(kind(TEXTS), shingle="word:3").counts == COUNTS


def test_nothing_to_show() -> None:
    shown = twinset.collapse([])
    assert (shown.results, shown.counts, shown.groups, len(shown), list(shown)) == ([], [], [], 0, [])
    assert twinset.collapse(pa.table({"text": pa.array([], pa.string())})).results.num_rows == 0


def test_empty_texts_are_never_folded() -> None:
    assert twinset.collapse(["", "...", None, "", " \n", b""]).counts == [1] * 6


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert twinset.collapse([b"a\xff b", "a\ufffd b"], shingle="char:2").counts == [2]


def test_short_texts_are_whole() -> None:
    assert twinset.collapse(["Closed on Monday.", "closed on monday", "It is closed on Monday."]).counts == [2, 1]


def test_the_words_of_shingles() -> None:
    pair = ["Le café", "le cafe\u0301"]
    assert twinset.collapse(pair).counts == [2]
    assert twinset.collapse(pair, nfc=False).counts == twinset.collapse(pair, lowercase=False).counts == [1, 1]
    repeated = ["a a a a b", "a b"]
    assert twinset.collapse(repeated, shingle="word:1").counts == [2]
    assert twinset.collapse(repeated, shingle="word:1", bag=True).counts == [1, 1]
    assert twinset.collapse(["東京", "東京都"], shingle="word:1", threshold=0.6).counts == [2]
    assert twinset.collapse(["東京", "東京都"], shingle="word:1", threshold=0.6, split=False).counts == [1, 1]
    assert twinset.collapse(["a  b", "a b"], shingle="char:2").counts == [2]
    assert twinset.collapse(["a  b", "a b"], shingle="char:2", squeeze=False).counts == [1, 1]


# Tables


def stream(table: pa.Table) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(max_chunksize=2)))


@pytest.mark.parametrize(
    "make",
    [
        pa.table,
        lambda data: pa.table(data).to_batches()[0],
        lambda data: stream(pa.table(data)),
        pd.DataFrame,
        pl.DataFrame,
        lambda data: pl.DataFrame(data).with_columns(pl.col("body").cast(pl.Categorical)),
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "categories"],
)
def test_tables(make: Any) -> None:
    data = {"url": [f"u{n}" for n in range(7)], "body": [*TEXTS[:-1], None], "tags": [[n, n] for n in range(7)]}
    shown = twinset.collapse(make(data), text="body", shingle="word:3")
    table = shown.results
    assert table.column_names == ["url", "body", "tags", "count", "folded"]
    assert table["url"].to_pylist() == [f"u{place}" for place in SHOWN]
    assert table["tags"].to_pylist() == [[place, place] for place in SHOWN]
    assert table["count"].to_pylist() == shown.counts == COUNTS
    assert table["folded"].to_pylist() == [
        [{"place": 2, "similarity": 0.9}, {"place": 4, "similarity": 1.0}],
        [{"place": 5, "similarity": 1.0}],
        [],
        [],
    ]
    table.validate(full=True)
    assert [group.first["url"] for group in shown] == table["url"].to_pylist()
    assert shown.groups[0].folded[1].item == {"url": "u4", "body": ROSE, "tags": [4, 4]}
    assert pl.DataFrame(table)["count"].to_list() == COUNTS


def test_an_index_of_pandas_stays() -> None:
    frame = pd.DataFrame({"text": ["one text", "one text", "another"]}, index=[30, 10, 20])
    assert twinset.collapse(frame).results.to_pandas().index.tolist() == [30, 20]


def test_duckdb() -> None:
    relation = duckdb.sql("select i, 'text ' || (i % 2) as body from range(4) t(i) order by i")
    assert twinset.collapse(relation, text="body").results["i"].to_pylist() == [0, 1]


# What is wrong


@pytest.mark.parametrize(
    ("results", "words", "kind", "message"),
    [
        ([], {"threshold": 0}, twinset.OptionError, "threshold is 0; allowed: a number above 0 and up to 1"),
        ([], {"threshold": float("nan")}, twinset.OptionError, "threshold is nan; allowed"),
        ([], {"treshold": 0.5}, twinset.OptionError, "did you mean 'threshold'?"),
        ([], {"recall": 0.9}, twinset.OptionError, "unknown option 'recall'"),
        ([], {"shingle": "words"}, twinset.OptionError, "shingle is 'words'; allowed: word:K or char:K"),
        ([], {"text": 3}, twinset.OptionError, "text is 3; allowed: the name of a key or column, or a function"),
        ([], {"text": ""}, twinset.OptionError, "text is ''; allowed"),
        ([], {"text": None}, twinset.OptionError, "text is None; allowed"),
        ([{"a": "x", "b": "y"}], {}, twinset.ColumnError, "results[0]: there is no key 'text'; the keys are 'a', 'b'"),
        (["x", {"text": 3}], {}, twinset.ColumnError, "results[1]: the text must be a string, not int"),
        (["x"], {"text": len}, twinset.ColumnError, "results[0]: the text must be a string, not int"),
        (["x", 3], {}, twinset.SourceError, "results[1]: an int is neither a string nor a mapping"),
        ("text", {}, twinset.SourceError, "a str is not a ranking"),
        ({"a": "text"}, {}, twinset.SourceError, "a dict is not a ranking"),
        (7, {}, twinset.SourceError, "an int is not a ranking"),
        (["fine", "half \ud83d"], {}, twinset.SourceError, "results[1]: the text contains an unpaired surrogate"),
        ([{"text": "\udc00"}], {}, twinset.SourceError, r"('\udc00' at 0)"),
        (pa.table({"a": ["x"]}), {}, twinset.ColumnError, "results: there is no column 'text'; the columns are 'a'"),
        (pa.table({"text": [3]}), {}, twinset.ColumnError, "the column 'text' must hold text, not int64"),
        (pa.table({"text": [["x"]]}), {}, twinset.ColumnError, "must hold text, not list"),
        (pa.table([["x"], ["y"]], ["text", "text"]), {}, twinset.ColumnError, "there is more than one column 'text'"),
        (pa.table({"text": ["x"], "count": [1]}), {}, twinset.ColumnError, "collapse adds a column 'count'"),
        (pa.table({"text": ["x"], "folded": [1]}), {}, twinset.ColumnError, "collapse adds a column 'folded'"),
        (pa.table({"text": ["x"]}), {"text": len}, twinset.OptionError, "text is a function, but these results are a"),
    ],
)
def test_what_is_wrong_is_said(results: Any, words: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        twinset.collapse(results, **words)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_function_may_fail_in_its_own_way() -> None:
    with pytest.raises(ZeroDivisionError):
        twinset.collapse(["x"], text=lambda item: str(1 / 0))


def test_the_options_are_those_of_shingles_and_three_more() -> None:
    assert {name for name, _ in CollapseOptions.specs()} == {name for name, _ in ShingleOptions.specs()} | {
        "text",
        "threshold",
        "seed",
    }
    made = CollapseOptions.of()
    assert {name: getattr(made, name) for name, _ in CollapseOptions.specs()} == CollapseOptions.defaults()
    assert all(word.help.endswith(".") and word.allowed for _, word in CollapseOptions.specs())
