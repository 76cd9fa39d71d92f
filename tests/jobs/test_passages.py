"""Shared passages through the public API: every run of the textbook, at its place in the text as it came."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import cache
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest

import twinset
from tests import oracles
from twinset.textbook import normalize, passages, tokens

SEPARATORS = (" ", " ", " ", ", ", ". ", "\n", " - ", "\r\n\r\n", "\u2028", "\u3000", "\0", "…")
ALPHABETS = (
    ("a", "b"),
    ("A", "b", "c"),
    ("ab", "AB", "c_d", "7", "don't"),
    ("ä", "a\u0308", "É", "e\u0301", "ﬁ"),  # NFC changes lengths
    ("中", "文", "字"),
    ("中文", "カタ", "ไทย", "mixed混合text"),
    ("go🚀go", "👍🏽", "e\u0301🙂", "x"),
    ("한국어", "\u1112\u1161\u11ab국어", "हिन्दी", "a\u0323\u0307", "a\u0307\u0323"),
    ("İ", "i", "ẞ", "ß", "ΣΑΣ", "σασ"),
)

Rows = list[dict[str, Any]]
Found = set[tuple[Any, ...]]


def corpora(seed: int, count: int) -> Rows:
    """Many small collections, told apart by a column; small alphabets of all scripts, so that all repeats occur."""
    dice = random.Random(seed)
    rows: Rows = []
    for group in range(count):
        letters = ALPHABETS[group % len(ALPHABETS)]
        pool = [dice.choices(letters, k=dice.randrange(1, 25)) for _ in range(3)]
        for number in range(dice.randrange(1, 7)):
            words: list[str] = []
            for _ in range(dice.randrange(4)):
                words += dice.choice(pool) if dice.random() < 0.6 else dice.choices(letters, k=dice.randrange(12))
            text = "".join(word + dice.choice(SEPARATORS) for word in words)
            rows.append({"id": f"{group}-{number}", "text": text, "group": group})
    return rows


@cache
def words_of(text: str) -> list[str]:
    return tokens(normalize(text))


def grouped(rows: Rows) -> list[tuple[list[str], list[list[str]]]]:
    """For each collection the ids and the words of its documents."""
    found: dict[int, tuple[list[str], list[list[str]]]] = defaultdict(lambda: ([], []))
    for row in rows:
        ids, words = found[row["group"]]
        ids.append(row["id"])
        words.append(words_of(row["text"]))
    return list(found.values())


def word_rows(rows: Rows, result: twinset.PassagesResult, gap: int = 0) -> list[tuple[Any, ...]]:
    """The passages in words, after checking that slices of the texts as they came have these words."""
    texts = {row["id"]: row["text"] for row in rows}
    found = []
    for row in result.passages.to_pylist():
        sides = []
        for side in ("left", "right"):
            text, start, end = texts[row[side]], row[f"{side}_start"], row[f"{side}_end"]
            words = words_of(text[start:end])
            first = len(words_of(text[:start]))
            assert words_of(text) == [*words_of(text[:start]), *words, *words_of(text[end:])]
            assert text[start:end] == text[start:end].strip(" ,.-\n\r\u2028\u3000\0…")
            sides.append((first, words))
        (i, left), (j, right) = sides
        assert row["words"] == len(left)
        if not gap:
            assert left == right
            assert row["shared"] == len(left)
        found.append((row["left"], row["right"], i, i + len(left), j, j + len(right), row["shared"], row["documents"]))
    return found


def expected_rows(rows: Rows, least: int, crowd: int, within: bool) -> Found:
    """The runs and ties of the textbook, and how many documents hold each."""
    found = set()
    for ids, words in grouped(rows):
        for a, b, i, j, n in passages.runs_between(words, least, crowd, None, within):
            held = oracles.holders(words, words[a][i : i + n])
            found.add((ids[a], ids[b], i, i + n, j, j + n, n, held))
        for a, b, i, j, n in passages.ties(words, least, crowd, None, within):
            held = min(oracles.holders(words, words[a][at : at + least]) for at in range(i, i + n - least + 1))
            found.add((ids[a], ids[b], i, i + n, j, j + n, n, held))
    return found


@pytest.mark.parametrize(
    ("least", "crowd", "within"),
    [(1, 3, False), (2, 2, True), (3, 100, False), (5, 100, True), (5, 3, False), (8, 1, True), (20, 2, True)],
)
def test_the_runs_of_the_textbook_are_found(least: int, crowd: int, within: bool) -> None:
    rows = corpora(seed=least, count=27 if least < 5 else 54)
    result = twinset.find_passages(pa.Table.from_pylist(rows), by="group", least=least, crowd=crowd, within=within)
    found = word_rows(rows, result)
    order = {row["id"]: at for at, row in enumerate(rows)}
    assert [(order[row[0]], order[row[1]], row[2], row[4]) for row in found] == sorted(
        (order[row[0]], order[row[1]], row[2], row[4]) for row in found
    )
    assert len(set(found)) == len(found)
    expected = expected_rows(rows, least, crowd, within)
    assert {row[:7] for row in found} == {row[:7] for row in expected}
    # What is left of a run that overlaps itself may be all crowd, and then not all that hold it are paired with it.
    apart = {row for row in expected if row[0] != row[1] or row[3] < row[4]}
    assert {row for row in found if row[0] != row[1] or row[3] < row[4]} == apart
    assert len(expected) > 20


def sides(rows: Rows, seed: int) -> tuple[pa.Table, pa.Table]:
    """Each collection divided into two sides; ids stand on both, as only those of one side must differ."""
    dice = random.Random(seed)
    own = [row for row in rows if dice.random() < 0.4]
    chosen = {row["id"] for row in own}
    other = [row for row in rows if row["id"] not in chosen]
    return pa.Table.from_pylist(own), pa.Table.from_pylist([{**row, "id": "o" + row["id"]} for row in other])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("least", "crowd"), [(2, 3), (5, 100), (8, 1)])
def test_two_sides_are_compared(least: int, crowd: int, turned: bool) -> None:
    own, other = sides(corpora(seed=20 + least, count=45), seed=least)
    if turned:
        own, other = other, own
    assert (own.nbytes > other.nbytes) is turned
    result = twinset.find_passages(own, against=[other], by="group", least=least, crowd=crowd)
    mine, others = own.to_pylist(), other.to_pylist()
    found = word_rows(mine + others, result)
    expected = set()
    for group in {row["group"] for row in mine}:
        left = [row for row in mine if row["group"] == group]
        both = left + [row for row in others if row["group"] == group]
        words = [words_of(row["text"]) for row in both]
        for find in (passages.runs_between, passages.ties):
            for a, b, i, j, n in find(words, least, crowd, len(left)):
                expected.add((both[a]["id"], both[b]["id"], i, i + n, j, j + n, n))
    assert {row[:7] for row in found} == expected
    assert len(expected) > 50
    copied = result.copied.to_pylist()
    assert [(row["id"], row["role"]) for row in copied] == [
        *((row["id"], "source") for row in mine),
        *((row["id"], "against") for row in others),
    ]
    assert (result.summary["documents"], result.summary["against"]) == (len(mine), len(others))


@pytest.mark.parametrize(("least", "crowd", "within"), [(3, 3, True), (5, 2, False), (8, 100, True)])
def test_what_each_document_shares(least: int, crowd: int, within: bool) -> None:
    rows = corpora(seed=40 + least, count=45)
    result = twinset.find_passages(pa.Table.from_pylist(rows), by="group", least=least, crowd=crowd, within=within)
    spans: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for left, right, i, i_end, j, j_end, _, _ in word_rows(rows, result):
        spans[left][right] |= set(range(i, i_end))
        spans[right][left] |= set(range(j, j_end))
    order = {row["id"]: at for at, row in enumerate(rows)}
    for row, copied in zip(rows, result.copied.to_pylist(), strict=True):
        shared, words = spans[row["id"]], len(words_of(row["text"]))
        every = set().union(*shared.values())
        most = min(shared, key=lambda name: (-len(shared[name]), order[name]), default=None)
        assert copied == {
            "id": row["id"], "role": "source", "words": words, "copied": len(every),
            "share": len(every) / max(1, words), "most_in": most, "most_words": len(shared[most]) if most else 0,
        }  # fmt: skip
    summary = result.summary
    assert summary["copied"] == sum(result.copied["copied"].to_pylist())
    assert summary["words"] == sum(result.copied["words"].to_pylist())
    assert summary["documents_with_passages"] == sum(n > 0 for n in result.copied["copied"].to_pylist())
    assert summary["passages"] == len(result.passages)


@pytest.mark.parametrize(("least", "crowd"), [(2, 3), (3, 3), (8, 1)])
def test_boilerplate_is_what_crowds_have(least: int, crowd: int) -> None:
    rows = corpora(seed=60 + least, count=45)
    result = twinset.find_passages(pa.Table.from_pylist(rows), by="group", least=least, crowd=crowd)
    texts = {row["id"]: row["text"] for row in rows}
    expected = set()
    for ids, words in grouped(rows):
        places = passages.windows(words, least)
        crowded = passages.crowded_windows(words, least, crowd)
        firsts = {places[window][0]: len({number for number, _ in places[window]}) for window in crowded}
        for number, at in firsts:
            if (number, at - 1) not in firsts:
                run = [at]
                while (number, run[-1] + 1) in firsts:
                    run.append(run[-1] + 1)
                held = max(firsts[number, place] for place in run)
                expected.add((ids[number], at, len(run) + least - 1, held))
    found = []
    for row in result.boilerplate.to_pylist():
        text = texts[row["first"]]
        whole = text[row["start"] : row["end"]]
        assert row["text"] == whole[:200]
        assert len(words_of(whole)) == row["words"]
        found.append((row["first"], len(words_of(text[: row["start"]])), row["words"], row["documents"]))
    assert set(found) == expected
    assert len(found) == len(expected) > 10
    assert [row[3] for row in found] == sorted((row[3] for row in found), reverse=True)


@pytest.mark.parametrize(("least", "run", "gap"), [(5, 2, 2), (8, 3, 4), (4, 1, 1), (10, 5, 10), (3, 3, 1)])
def test_runs_are_joined_over_gaps(least: int, run: int, gap: int) -> None:
    rows = corpora(seed=80 + least, count=45)
    result = twinset.find_passages(pa.Table.from_pylist(rows), by="group", least=least, run=run, gap=gap, crowd=10**6)
    found = word_rows(rows, result, gap)
    expected = set()
    for ids, words in grouped(rows):
        for a, b in combinations(range(len(ids)), 2):
            for i, i_end, j, j_end, shared in oracles.joined_passages(words[a], words[b], least, run, gap):
                expected.add((ids[a], ids[b], i, i_end, j, j_end, shared))
    assert {row[:7] for row in found} == expected
    assert len(found) == len(expected) > 20


@pytest.mark.parametrize(("least", "run", "gap"), [(5, 2, 2), (8, 3, 4)])
def test_joined_places_of_one_document_do_not_overlap(least: int, run: int, gap: int) -> None:
    rows = corpora(seed=90 + least, count=45)
    result = twinset.find_passages(
        pa.Table.from_pylist(rows), by="group", least=least, run=run, gap=gap, within=True, crowd=10**6
    )
    found = [row for row in word_rows(rows, result, gap) if row[0] == row[1]]
    assert len(found) > 10
    assert [row for row in found if row[3] > row[4]] == []
