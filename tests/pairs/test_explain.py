"""Explanations: the shingles are the textbook's, the numbers are the kernels', the difference is the two texts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset import textbook
from twinset.errors import OptionError, SourceError
from twinset.options import ShingleOptions
from twinset.pairs.explain.moved import moved_runs
from twinset.pairs.explain.shared import explain_texts, shingle_texts
from twinset.pairs.explain.words import Difference, Words, equal_blocks, shortest_script

PIECES = ["the", "The", "fox", "a", "É", "e\u0301", "日", "本", "ไ", "🙂", "x_1", "٣", "ﬁ", "İ", "ς", "Σ"]
GAPS = [" ", " ", " ", ", ", "\n\n", ".", "\u00a0", "\u2028", "-", "<b>"]
texts = st.lists(st.sampled_from(PIECES + GAPS), max_size=60).map("".join) | st.text(max_size=40)
options = st.builds(
    ShingleOptions,
    shingle=st.sampled_from(["word:1", "word:2", "word:5", "char:1", "char:4", "char:9"]),
    bag=st.booleans(),
    lowercase=st.booleans(),
    nfc=st.booleans(),
    squeeze=st.booleans(),
    split=st.booleans(),
) | st.builds(ShingleOptions, shingle=st.sampled_from(["char:1", "char:4"]), spaces=st.just(False))


@given(texts, options)
def test_shingles_are_those_of_the_textbook(text: str, chosen: ShingleOptions) -> None:
    steps = {"lowercase": chosen.lowercase, "nfc": chosen.nfc, "squeezed": chosen.squeeze, "split": chosen.split}
    steps["spaces"] = chosen.spaces
    expected = textbook.shingle_list(text, chosen.shingle, **steps)
    assert shingle_texts(text, chosen) == [one if isinstance(one, str) else " ".join(one) for one in expected]


@given(texts, texts, options)
def test_the_numbers_are_those_of_a_run(left: str, right: str, chosen: ShingleOptions) -> None:
    found = explain_texts(left, right, chosen)
    compared = twinset.compare(left, right, **chosen.to_dict())
    assert (found.similarity, found.left_in_right, found.right_in_left) == (
        compared.similarity,
        compared.left_in_right,
        compared.right_in_left,
    )
    assert len(found.shared) == compared.shared
    assert len(found.shared) + len(found.left_only) == compared.left_shingles
    assert len(found.shared) + len(found.right_only) == compared.right_shingles


@given(texts, texts, options, st.integers(0, 4) | st.none())
def test_a_difference_is_the_two_texts(left: str, right: str, chosen: ShingleOptions, context: int | None) -> None:
    found = Difference(left, right, chosen)
    parts = found.parts()
    assert "".join(part.left for part in parts) == found.left.text
    assert "".join(part.right for part in parts) == found.right.text
    for part in parts:
        if part.words:
            assert Words(part.left, chosen).keys == Words(part.right, chosen).keys
            assert part.words == len(Words(part.left, chosen))
    assert all(bool(a.words) != bool(b.words) or found.moves for a, b in pairwise(parts))
    hunks = found.hunks(context)
    assert sum(hunk.folded + sum(part.words for part in hunk.parts) for hunk in hunks) == found.equal_words
    changes = [part for hunk in hunks for part in hunk.parts if not part.words]
    assert changes == [part for part in parts if not part.words]


@given(st.lists(st.integers(0, 5), max_size=40), st.lists(st.integers(0, 5), max_size=40))
def test_blocks_are_equal_and_in_order(left: list[int], right: list[int]) -> None:
    blocks = equal_blocks(left, right)
    end_left = end_right = 0
    for i, k, count in blocks:
        assert count > 0
        assert i >= end_left
        assert k >= end_right
        assert left[i : i + count] == right[k : k + count]
        end_left, end_right = i + count, k + count


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_the_shortest_script_keeps_the_longest_common_part(left: list[int], right: list[int]) -> None:
    found = shortest_script(left, right)
    assert found is not None
    assert len(found) == longest_common(left, right)
    assert all(left[i] == right[k] for i, k in found)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(found))


def longest_common(left: list[int], right: list[int]) -> int:
    """The length of the longest common subsequence, by its definition."""
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for k, b in enumerate(right):
            best[i + 1][k + 1] = best[i][k] + 1 if a == b else max(best[i][k + 1], best[i + 1][k])
    return best[-1][-1]


def test_one_changed_word_costs_its_shingles() -> None:
    left = "one two three four five six seven eight nine ten eleven twelve"
    right = left.replace("six", "SIX!").replace("seven", "7")
    found = twinset.explain(left, right, shingle="word:3")
    assert found.left_only == ("five six seven", "six seven eight", "seven eight nine")
    assert found.right_only == ("five six 7", "six 7 eight", "7 eight nine")
    [hunk] = found.hunks(2)[:1]
    assert hunk.folded == 4
    sides = [(part.left, part.right) for part in hunk.parts]
    assert sides == [("five six ", "five SIX! "), ("seven ", "7 "), ("eight nine ", "eight nine ")]
    assert found.hunks(2)[1].folded == 3
    assert found.hunks(2)[1].parts == ()


def test_a_few_equal_words_between_large_changes_belong_to_them() -> None:
    left = "start " + "alpha beta gamma the delta epsilon zeta" + " end of it"
    right = "start " + "un deux trois the quatre cinq six" + " end of it"
    changes = [part for part in Difference(left, right, ShingleOptions()).parts() if not part.words]
    assert [(part.left, part.right) for part in changes] == [
        ("alpha beta gamma the delta epsilon zeta ", "un deux trois the quatre cinq six ")
    ]


@pytest.mark.parametrize(
    ("left", "right", "least"),
    [
        ("a " * 30_000, "a " * 30_001, 30_000),
        ("a b " * 10_000, "b a a " * 10_000, 19_000),
        (" ".join(map(str, range(30_000))), " ".join(map(str, range(29_999, -1, -1))), 0),
        (" ".join(str(i * i % 97) for i in range(20_000)), " ".join(str(i * i % 89) for i in range(20_000)), 0),
        ("x" * 1_000_000, "y" * 1_000_000, 0),
    ],
)
def test_hostile_texts_have_an_end(left: str, right: str, least: int) -> None:
    found = Difference(left, right, ShingleOptions())
    assert found.equal_words >= least
    assert "".join(part.right for part in found.parts()) == right


def test_texts_without_words() -> None:
    for left, right in (("", ""), ("…", "!"), ("", "some words here"), ("...", "word")):
        found = twinset.explain(left, right)
        assert found.similarity == 0
        parts = [part for hunk in found.hunks() for part in hunk.parts]
        assert ("".join(part.left for part in parts), "".join(part.right for part in parts)) == (left, right)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(SourceError, match="surrogate"):
        twinset.explain("a\ud800", "b")
    with pytest.raises(OptionError, match="context is -1"):
        twinset.explain("a", "b", context=-1)
    with pytest.raises(OptionError, match="did you mean 'shingle"):
        twinset.explain("a", "b", shingel="word:2")


def test_as_plain_values() -> None:
    found = twinset.explain("Nadal", "Nadia", shingle="char:2").to_dict()
    assert found["shared"] == ["na", "ad"]
    part = {"equal": False, "left": "Nadal", "right": "Nadia", "moved": None}
    assert found["difference"] == [{"folded": 0, "parts": [part]}]


RAIN, MARKET, FERRY = (
    "Rain fell all night on the old town. ",
    "The market opened late, and few people came before noon; most of the stalls were empty. ",
    "Nobody had seen the ferry leave for the island. ",
)


def moved_words(difference: Difference) -> tuple[dict[int, str], dict[int, str]]:
    parts = [part for part in difference.parts() if part.moved]
    left, right = ({part.moved: one for part in parts if (one := getattr(part, side))} for side in ("left", "right"))
    return left, right


def test_moved_words_have_a_number_on_both_sides() -> None:
    found = Difference(RAIN + MARKET + FERRY, MARKET + "And then: " + RAIN.upper(), ShingleOptions())
    assert moved_words(found) == ({1: RAIN}, {1: RAIN.upper()})
    changes = [(part.left, part.right) for part in found.parts() if not part.words and not part.moved]
    assert changes == [(FERRY, ""), ("", "And then: ")]
    values = twinset.explain(RAIN + MARKET, MARKET + RAIN).to_dict(None)["difference"][0]["parts"]
    assert [part["moved"] for part in values] == [1, None, 1]


def test_two_runs_of_one_stretch_have_two_numbers() -> None:
    left = f"{RAIN}{FERRY}{MARKET}"
    right = f"{MARKET}{FERRY}in between {RAIN}"
    assert moved_words(Difference(left, right, ShingleOptions())) == ({1: RAIN, 2: FERRY}, {1: RAIN, 2: FERRY})


def test_few_words_are_not_moved() -> None:
    four = "four words went away "
    found = Difference(four + MARKET, MARKET + four, ShingleOptions())
    assert found.moves == []
    assert Difference("five " + four + MARKET, MARKET + "five " + four, ShingleOptions()).moves == [(0, 16, 5)]


numbers = st.lists(st.integers(0, 3), max_size=60)


@given(numbers, numbers, st.integers(0, 30), st.integers(0, 30))
def test_moved_runs_are_equal_and_taken_once(left: list[int], right: list[int], i: int, k: int) -> None:
    deleted = [(0, min(i, len(left))), (min(i + 3, len(left)), len(left))]
    added = [(0, min(k, len(right))), (min(k + 3, len(right)), len(right))]
    runs = moved_runs(left, right, deleted, added)
    for a, b, count in runs:
        assert count >= 5
        assert left[a : a + count] == right[b : b + count]
        assert any(first <= a and a + count <= stop for first, stop in deleted)
        assert any(first <= b and b + count <= stop for first, stop in added)
    for side in (0, 1):
        ordered = sorted((run[side], run[side] + run[2]) for run in runs)
        assert all(one[1] <= other[0] for one, other in pairwise(ordered))
    # What is left over has no run in common: nothing that moved was missed.
    rest = [spans_without(spans, runs, side) for side, spans in enumerate((deleted, added))]
    fives = [
        {tuple(text[at : at + 5]) for first, stop in spans for at in range(first, stop - 4)}
        for text, spans in zip((left, right), rest, strict=True)
    ]
    assert not fives[0] & fives[1]


def spans_without(spans: list[tuple[int, int]], runs: list[tuple[int, int, int]], side: int) -> list[tuple[int, int]]:
    """The parts of the spans that no run has taken."""
    taken = {at for run in runs for at in range(run[side], run[side] + run[2])}
    free = []
    for first, stop in spans:
        edges = [first - 1, *(at for at in range(first, stop) if at in taken), stop]
        free += [(one + 1, other) for one, other in pairwise(edges)]
    return free


@pytest.mark.parametrize("words", [1, 2, 7, 100_000])
def test_moves_are_found_in_linear_time(words: int) -> None:
    # 100,000 words that move as blocks: comparing all with all would be 10 billion steps.
    blocks = [[str(at % words) for at in range(start, start + 50)] for start in range(0, 100_000, 50)]
    numbered = {word: number for number, word in enumerate({word for block in blocks for word in block})}
    left = [numbered[word] for block in blocks for word in block]
    right = [numbered[word] for block in reversed(blocks) for word in block]
    steps = Counted(left)
    runs = moved_runs(steps, right, [(0, len(left))], [(0, len(right))])
    assert sum(count for _, _, count in runs) > 90_000
    assert steps.reads < 12 * len(left)


class Counted(list[int]):
    """A list that counts how often it is read."""

    reads = 0

    def __getitem__(self, place: Any) -> Any:
        self.reads += 1
        return super().__getitem__(place)
