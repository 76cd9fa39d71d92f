"""The tables of the founding documents, state by state; what a random sample of shingles says, and 4-byte hashes."""

from __future__ import annotations

import json
import math
import random
import re
from itertools import pairwise

import numpy as np
import pytest

import twinset
from tests.cli.conftest import Run, run
from tests.shingles.hashing import hashes_of
from twinset import textbook
from twinset.textbook import jaccard

__all__ = ["run"]

NOTHING = math.inf


# MinHash by permutation, on the board


def test_seven_rows_of_another_lecture() -> None:
    matrix = [[int(bit) for bit in row] for row in ("1110", "1101", "0101", "0001", "1001", "1110", "1010")]
    columns = [{row for row in range(7) if matrix[row][place]} for place in range(4)]
    named = {f"C{place + 1}": column for place, column in enumerate(columns)}
    assert textbook.characteristic_matrix(named, range(7)) == matrix
    assert (len(columns[0] & columns[1]), len(columns[0] | columns[1])) == (3, 6)
    assert textbook.jaccard(columns[0], columns[1]) == textbook.jaccard_distance(columns[0], columns[1]) == 3 / 6


def test_the_table_of_the_order_b_e_a_d_c() -> None:
    assert textbook.trace_permutations({"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"}, ["beadc"]).splitlines() == [
        "order b e a d c",
        "      S1   S2   S3   S4",
        "b      0    0   [1]   0",
        "e      0    0    1    0",
        "a     [1]   0    0   [1]",
        "d      1    0    1    1",
        "c      0   [1]   0    1",
        "min    a    c    b    a",
        "at     3    5    1    3",
    ]


def test_the_tables_of_three_permutations_of_seven_rows() -> None:
    """A permutation is given by the position of each row; the positions of the first 1s are the signature."""
    rows = ("1010", "1001", "0101", "0101", "0101", "1010", "1010")
    sets = {f"S{place + 1}": {row for row in range(7) if rows[row][place] == "1"} for place in range(4)}
    positions = ((2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5))
    orders = [sorted(range(7), key=sent.__getitem__) for sent in positions]
    tables = textbook.trace_permutations(sets, orders).split("\n\n")
    assert [table.splitlines()[-1].split() for table in tables] == [
        ["at", *line.split()] for line in ("2 1 2 1", "2 1 4 1", "1 2 1 2")
    ]


def test_rows_sent_to_4_1_5_3_2_on_the_board() -> None:
    sent = dict(zip(range(1, 6), (4, 1, 5, 3, 2), strict=True))
    order = sorted(sent, key=sent.__getitem__)
    steps = list(textbook.permutation_steps({1: {1, 4}, 2: {2, 3, 4}, 3: {3, 5}}, order))
    assert {name: place for place, step in enumerate(steps, 1) for name in step.first_in} == {1: 3, 2: 1, 3: 2}


# MinHash by row hashing, after each row

FIRST_TABLE = [
    # row, h1 and h2 of it, and both lines of minima
    (None, [], [NOTHING] * 4, [NOTHING] * 4),
    (0, [1, 1], [1, NOTHING, NOTHING, 1], [1, NOTHING, NOTHING, 1]),
    (1, [2, 4], [1, NOTHING, 2, 1], [1, NOTHING, 4, 1]),
    (2, [3, 2], [1, 3, 2, 1], [1, 2, 4, 1]),
    (3, [4, 0], [1, 3, 2, 1], [0, 2, 0, 0]),
    (4, [0, 3], [1, 3, 0, 1], [0, 2, 0, 0]),
]
SECOND_TABLE = [
    (None, [], [NOTHING] * 2, [NOTHING] * 2),
    (1, [1, 3], [1, NOTHING], [3, NOTHING]),
    (2, [2, 0], [1, 2], [3, 0]),
    (3, [3, 2], [1, 2], [2, 0]),
    (4, [4, 4], [1, 2], [2, 0]),
    (5, [0, 1], [1, 0], [2, 0]),
]


def test_every_state_of_row_hashing_of_four_sets() -> None:
    sets = {"S1": {0, 3}, "S2": {2}, "S3": {1, 3, 4}, "S4": {0, 2, 3}}
    hashes = [textbook.universal_hash(1, 1, 5, 5), textbook.universal_hash(3, 1, 5, 5)]
    found = list(textbook.hashing_steps(sets, hashes, range(5)))
    assert [(step.row, step.hashes, *step.signatures) for step in found] == FIRST_TABLE


def test_every_state_of_row_hashing_of_two_columns() -> None:
    hashes = [textbook.universal_hash(1, 0, 5, 5), textbook.universal_hash(2, 1, 5, 5)]
    found = list(textbook.hashing_steps({"C1": {1, 3, 4}, "C2": {2, 3, 5}}, hashes, range(1, 6)))
    assert [(step.row, step.hashes, *step.signatures) for step in found] == SECOND_TABLE


def test_the_states_are_printed_as_on_the_board() -> None:
    sets = {"S1": {0, 3}, "S2": {2}, "S3": {1, 3, 4}, "S4": {0, 2, 3}}
    hashes = {"h1": textbook.universal_hash(1, 1, 5, 5), "h2": textbook.universal_hash(3, 1, 5, 5)}
    lines = textbook.trace_row_hashing(sets, hashes, range(5)).splitlines()[1:]
    for line, (row, values, *signatures) in zip(lines, FIRST_TABLE, strict=True):
        cells = [part.split() for part in line.split("|")]
        assert cells[0] == ([] if row is None else [str(row), *map(str, values)])
        assert cells[1:] == [["∞" if one == NOTHING else str(one) for one in signature] for signature in signatures]


def test_hash_tables_of_a_rose_is_a_rose() -> None:
    """One list of hashes a function, one hash a shingle; the least of each list is kept."""
    tables = [
        [103, 1098, 4539, 243, 8876, 2486],
        [19032, 3456, 6578, 2435, 7746, 9823],
        [9743, 89032, 89327, 93285, 9832, 30984],
        [98432, 98743, 21309, 29873, 98321, 30282],
    ]
    functions = [table.__getitem__ for table in tables]
    assert textbook.minhash_signature(range(6), functions) == [103, 2435, 9743, 21309]
    rows = [(row, [0]) for row in range(6)]
    assert textbook.minhash_by_row_hashing(rows, functions, 1) == [[103], [2435], [9743], [21309]]


# Two hundred shingles drawn at random, against two hundred minhashes


def numbered(first: int, count: int) -> str:
    return " ".join(f"w{number}" for number in range(first, first + count))


SMALL, LARGE = numbered(0, 10_000), numbered(0, 20_000)  # one is half of the other
APART = numbered(7_500, 20_000)  # a quarter of the first is in this one


def test_a_random_sample_of_shingles_says_next_to_nothing() -> None:
    """At a similarity of 0.5 two samples of 200 have two shingles in common on average, at 0.09 they have half a one.
    So a single draw hardly tells the two cases apart. 400 draws; four standard errors.
    """
    sizes, draws, chance = (9_996, 19_996), 400, random.Random(7)
    found = {}
    for name, first in (("half", 0), ("tenth", 7_500)):
        shared = len(set(range(9_996)) & set(range(first, first + 19_996)))
        counts = []
        for _ in range(draws):
            one = set(chance.sample(range(9_996), 200))
            other = set(chance.sample(range(first, first + 19_996), 200))
            counts.append(len(one & other))
        expected = shared * 200 / sizes[0] * 200 / sizes[1]
        assert abs(np.mean(counts) - expected) <= 4 * math.sqrt(expected / draws)
        found[name] = counts
        assert jaccard(range(9_996), range(first, first + 19_996)) > 0.09
        # As a similarity of two samples, it is nowhere near the truth.
        assert max(count / (400 - count) for count in counts) < 0.03
    # The same counts occur in both cases: whoever guesses from one, as well as can be, is wrong one time in six.
    wrong = sum(
        min(found["half"].count(count), found["tenth"].count(count)) for count in range(20)
    ) / (2 * draws)
    assert wrong > 0.15


@pytest.mark.parametrize("method", ["fss", "kperm"])
def test_two_hundred_minhashes_say_it(method: str) -> None:
    for other in (LARGE, APART):
        both = twinset.compare(SMALL, other, n_hashes=200, sketch=method)
        assert (both.left_shingles, both.right_shingles) == (9_996, 19_996)
        assert abs(both.estimate - both.similarity) <= 3 * textbook.signature_error(both.similarity, 200)
    half, tenth = (twinset.compare(SMALL, other, n_hashes=200, sketch=method) for other in (LARGE, APART))
    assert half.similarity == 9_996 / 19_996
    # The two cases that a random sample confuses are eight standard errors apart, and more.
    assert half.estimate - tenth.estimate > 8 * textbook.signature_error(half.similarity, 200)


def test_two_hundred_minhashes_of_the_textbook_say_it() -> None:
    chance, prime = random.Random(2), 2**61 - 1
    left, right = range(1_000), range(2_000)
    hashes = [textbook.universal_hash(chance.randrange(1, prime), chance.randrange(prime), prime, prime)
              for _ in range(200)]  # fmt: skip
    estimate = textbook.signature_similarity(*(textbook.minhash_signature(one, hashes) for one in (left, right)))
    assert abs(estimate - 0.5) <= 4 * textbook.signature_error(0.5, 200)


# Shingles hashed to 4 bytes, and what that costs


def test_what_four_bytes_cost() -> None:
    """A million shingles of real hashes: n²/2³³ pairs collide in 4 bytes (four standard errors), none in 8."""
    [hashes] = hashes_of([numbered(0, 1_000_004)])
    n = len(set(hashes))
    assert n == 1_000_000
    four = np.array(hashes, np.uint64)
    for kept in (four & np.uint64(2**32 - 1), four >> np.uint64(32)):
        assert kept.astype(np.uint32).nbytes * 2 == four.nbytes
        _, counts = np.unique(kept.astype(np.uint32), return_counts=True)
        collisions = int((counts * (counts - 1) // 2).sum())
        expected = math.comb(n, 2) / 2**32
        assert abs(collisions - expected) <= 4 * math.sqrt(expected)


def test_four_bytes_are_enough_for_two_documents_and_not_for_a_collection() -> None:
    """The probability that any two of the shingles collide, by theory."""
    assert float(f"{textbook.collision_probability(9_996, 2**32):.2g}") == 0.012
    assert float(f"{textbook.collision_probability(19_996, 2**32):.2g}") == 0.045
    assert textbook.collision_probability(10**6, 2**32) > 1 - 1e-12
    assert textbook.collision_probability(10**6, 2**64) < 1e-7
    # All 27⁵ shingles of five characters fit into 4 bytes; of nine there are 1,775 for each value.
    assert 27**5 < 2**32
    assert round(27**9 / 2**32) == 1775


def test_four_bytes_change_a_similarity_by_less_than_a_ten_thousandth() -> None:
    [left, right] = hashes_of([numbered(0, 10_000), numbered(5_000, 20_000)])
    exact = jaccard(left, right)
    short = jaccard(*([one & 2**32 - 1 for one in hashes] for hashes in (left, right)))
    assert abs(exact - short) < 1e-4
    # Too few values, such as one a document of 25,000, show as similarity where there is none.
    few = jaccard(*([one % 25_000 for one in hashes] for hashes in (left, hashes_of([numbered(50_000, 10_000)])[0])))
    assert few > 0.15


# Near-duplicate at 80 % is not transitive


def test_near_duplicates_at_80_percent_do_not_chain() -> None:
    first, second, third = (numbered(start, 100) for start in (0, 8, 16))
    near = twinset.compare(first, second).similarity, twinset.compare(second, third).similarity
    assert min(near) >= 0.8 > twinset.compare(first, third).similarity
    result = twinset.dedup({"a": first, "b": second, "c": third}, threshold=0.8)
    assert [row["id"] for row in result.removed.to_pylist()] == ["b"]
    pairs = [("a", "b"), ("b", "c")]
    assert set(textbook.leader_clusters("abc", pairs).values()) == {"a", "c"}
    assert set(textbook.connected_components("abc", pairs).values()) == {"a"}


def test_edit_similarity_over_80_percent_is_not_transitive() -> None:
    """A letter changes from each text to the next: neighbours are at 0.9, the first and the last at 0.7."""
    texts = ["abcdefghij", "Xbcdefghij", "XYcdefghij", "XYZdefghij"]
    near = [twinset.compare(*pair, shingle="char:2").edit_similarity for pair in pairwise(texts)]
    assert near == pytest.approx([0.9, 0.9, 0.9])
    assert twinset.compare(texts[0], texts[-1], shingle="char:2").edit_similarity == pytest.approx(0.7)


# What the commands print


def test_the_plan_prints_the_table_of_twenty_bands_of_five(run: Run) -> None:
    printed = run("plan", "--compare", "20x5", "--compare", "15x5").stdout
    heads = re.search(r"^similarity +(.*)$", printed, re.MULTILINE)
    twenty, fifteen = (re.search(rf"^\w {cut} +(.*)$", printed, re.MULTILINE) for cut in ("20×5", "15×5"))
    assert heads
    assert twenty
    assert fifteen
    shown = dict(zip(heads[1].split(), twenty[1].split(), strict=True))
    assert [shown[f"0.{tenth}"] for tenth in range(2, 8)] == [".006", ".047", ".186", ".470", ".802", ".975"]
    values = json.loads(run("plan", "--compare", "20x5", "--json").stdout)["compared"][0]
    curve = {round(s, 2): p for s, p in values["curve"]}
    assert f"{curve[0.8]:.4f}" == "0.9996"
    assert [f"{curve[s / 10]:.3f}" for s in range(2, 8)] == ["0.006", "0.047", "0.186", "0.470", "0.802", "0.975"]
    for one, other in zip(fifteen[1].split()[:7], twenty[1].split()[:7], strict=True):
        assert float(one) <= float(other)


def test_the_plan_says_how_often_one_band_agrees_and_all_twenty_miss(run: Run) -> None:
    """Not quite all digits are those of the documents, which go on from the rounded 0.328, and cut off 0.04749."""
    compared = json.loads(run("plan", "--compare", "1x5", "--compare", "20x5", "--json").stdout)["compared"]
    one, twenty = ({round(s, 2): found for s, found in curve["curve"]} for curve in compared)
    assert f"{one[0.8]:.3f}" == "0.328"
    assert f"{one[0.3]:.5f}" == "0.00243"
    assert 1 - twenty[0.8] == pytest.approx(0.00035, abs=0.00001)
    assert twenty[0.8] == pytest.approx(0.99965, abs=0.00001)
    assert twenty[0.3] == pytest.approx(0.0474, abs=0.0001)


def test_the_plan_has_the_four_families(run: Run) -> None:
    """k bits from 1 to 10 in a table, 1 to 10 tables of a bit, and 1 to 50 tables of 5 bits and of 10."""
    families = ("1-10,1", "1,1-10", "5,1-50", "10,1-50")
    words = [word for family in families for word in ("--family", family)]
    compared = json.loads(run("plan", *words, "--json").stdout)["compared"]
    assert len(compared) == 10 + 10 + 50 + 50
    curves = {one["name"]: {round(s, 2): found for s, found in one["curve"]} for one in compared}
    for name, similarity, found in (
        ("k=1 L=1", 0.3, 0.3),
        ("k=10 L=1", 0.5, 1 / 1024),
        ("k=1 L=10", 0.5, 1023 / 1024),
        ("k=5 L=50", 0.5, 0.7956),
        ("k=10 L=50", 0.5, 0.0477),
        ("k=10 L=50", 0.8, 0.9966),
    ):
        assert curves[name][similarity] == pytest.approx(found, abs=0.00005)


@pytest.mark.parametrize(
    ("left", "right", "shingle", "counts", "similarity"),
    [
        ("Nadal", "Nadia", "char:2", (4, 4, 2), 2 / 6),
        ("chair desk rug keyboard mouse", "chair rug keyboard", "word:1", (5, 3, 3), 3 / 5),
        ("a b c d e", "c d e f g h", "word:1", (5, 6, 3), 3 / 8),
        ("r1 r3 r4 r5", "r1 r4 r5", "word:1", (4, 3, 3), 3 / 4),
        ("r2 r3 r5", "r1 r3 r5 r6", "word:1", (3, 4, 2), 2 / 5),
        ("r1 r2 r5 r6 r7", "r1 r2 r3 r6", "word:1", (5, 4, 3), 3 / 6),
        ("abcab", "abc", "char:2", (3, 2, 2), 2 / 3),
    ],
)
def test_compare_prints_the_worked_similarities(
    run: Run, left: str, right: str, shingle: str, counts: tuple[int, int, int], similarity: float
) -> None:
    printed = run("compare", "--string", left, "--string", right, "--shingle", shingle).stdout
    numbers = re.findall(r"^ *(?:shingles of .*|shared) +(\d+)$", printed, re.MULTILINE)
    assert tuple(map(int, numbers)) == counts
    found = re.search(r"^ *Jaccard similarity +(\S+)$", printed, re.MULTILINE)
    assert found
    assert float(found[1]) == pytest.approx(similarity, abs=1e-6)
    assert textbook.jaccard(*(textbook.shingles(one, shingle) for one in (left, right))) == similarity
