"""MinHash step by step: the steps end in the signatures, and the tables on the page say what the steps say."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from twinset import textbook

columns = st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=4)


def linear(a: int, b: int) -> Callable[[int], int]:
    return textbook.universal_hash(a, b, 11, 11)


@given(columns, st.lists(st.tuples(st.integers(1, 10), st.integers(0, 10)), min_size=1, max_size=3))
def test_the_last_state_is_the_signature_and_each_state_is_one_of_fewer_rows(
    sets: list[set[int]], numbers: list[tuple[int, int]]
) -> None:
    hashes = [linear(*both) for both in numbers]
    steps = list(textbook.hashing_steps(dict(enumerate(sets)), hashes, range(10)))
    assert [step.row for step in steps] == [None, *range(10)]
    for count, step in enumerate(steps):
        rows = [(row, [place for place, one in enumerate(sets) if row in one]) for row in range(count)]
        assert step.signatures == textbook.minhash_by_row_hashing(rows, hashes, len(sets))
        assert step.hashes == ([h(step.row) for h in hashes] if step.row is not None else [])


@given(columns, st.permutations(range(10)))
def test_the_first_rows_are_the_minhashes(sets: list[set[int]], order: list[int]) -> None:
    named = dict(enumerate(sets))
    steps = list(textbook.permutation_steps(named, order))
    assert [step.row for step in steps] == order
    firsts = {name: place for place, step in enumerate(steps) for name in step.first_in}
    expected = {name: textbook.minhash_by_permutation(one, order.index) for name, one in named.items() if one}
    assert firsts == expected
    for step in steps:
        assert step.bits == [int(step.row in one) for one in sets]


@given(columns, st.permutations(range(10)))
def test_the_table_of_permutations_has_one_bracket_a_set(sets: list[set[int]], order: list[int]) -> None:
    text = textbook.trace_permutations({f"S{place}": one for place, one in enumerate(sets)}, [order, order])
    one, other = text.split("\n\n")
    assert one == other
    assert one.count("[1]") == sum(bool(each) for each in sets)
    assert "[0]" not in one
    rows, places = (line.split()[1:] for line in one.splitlines()[-2:])
    assert rows == [str(next((row for row in order if row in each), "-")) for each in sets]
    assert places == [str(order.index(int(row)) + 1) if row != "-" else "-" for row in rows]


def test_columns_stay_aligned_whatever_is_in_them() -> None:
    sets = {"left": {0, 1}, "a long name": {1}}
    text = textbook.trace_row_hashing(sets, {"h": lambda x: 100_000 * (2 - x)}, range(2))
    head, *lines = text.splitlines()
    assert len(lines) == 3
    assert {line.index("|") for line in (head, *lines)} == {head.index("|")}
    assert [line.split()[-2:] for line in lines] == [["∞", "∞"], ["200000", "∞"], ["100000", "100000"]]
