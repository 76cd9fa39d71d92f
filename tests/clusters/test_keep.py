"""The keep policy's order: rules in a chain, nulls last, and the last tie."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset.clusters.keep import KEYS, by_id, column_keys, ranking
from twinset.clusters.keep_columns import RuleColumn, read_column
from twinset.errors import ColumnError
from twinset.options.items import KINDS
from twinset.options.keep_rules import KEEP_RULES


@dataclass
class Names:
    """Ids and columns, as a corpus has them."""

    ids: list[str]
    columns: dict[str, list[Any]]

    def all(self) -> pa.ChunkedArray:
        return pa.chunked_array([self.ids], pa.string())

    def column(self, name: str) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array(self.columns[name])])


@dataclass
class Documents:
    """What the rules look at; columns named `source` and `length` are the documents' own."""

    documents: int
    names: Names

    @property
    def sources(self) -> Any:
        return np.array(self.names.columns["source"], np.uint32)

    @property
    def lengths(self) -> Any:
        return np.array(self.names.columns["length"], np.uint64)


def order_of(
    rules: list[tuple[str, str | None]], columns: dict[str, list[int]], documents: int, ids: list[str] | None = None
) -> list[int]:
    """Documents by rank, best first."""
    names = Names(ids if ids is not None else [""] * documents, columns)
    rank = ranking(rules, Documents(documents, names), ids is not None)
    assert sorted(rank.tolist()) == list(range(documents))
    return np.argsort(rank).tolist()


def test_every_rule_has_its_key() -> None:
    assert set(KEYS) == {name for name, rule in KEEP_RULES.items() if not rule.final}


def test_every_rule_is_complete() -> None:
    for name, rule in KEEP_RULES.items():
        assert rule.name == name
        assert rule.wins
        assert set(rule.undefined_for) <= set(KINDS)
        assert bool(rule.reason) == bool(rule.undefined_for), "a rule that some items do not have says why"


@pytest.mark.parametrize("name", sorted(KEYS))
def test_every_rule_orders_documents(name: str) -> None:
    """No rule is without effect: of two documents that differ in everything, each can win."""
    column = "score" if KEEP_RULES[name].column else None
    low_high = {"source": [0, 1], "length": [1, 2], "score": [1, 2]}
    high_low = {key: values[::-1] for key, values in low_high.items()}
    first = order_of([(name, column)], low_high, 2, ["a", "bb"])
    second = order_of([(name, column)], high_low, 2, ["bb", "a"])
    assert first == second[::-1]


small = st.integers(0, 2)
rule_chains = st.lists(
    st.sampled_from([("source", None), ("longest", None), ("newest", "day"), ("highest", "score"), ("first", None)]),
    min_size=1,
    max_size=4,
    unique=True,
)


@given(
    st.lists(st.tuples(small, small, small, small, st.text("abé", max_size=2)), max_size=12), rule_chains, st.booleans()
)
def test_chains(rows: list[Any], rules: list[tuple[str, str | None]], own_ids: bool) -> None:
    """Against Python's own sort: the rules in turn, then the id (own ids, no rule that names order), then the row."""
    names = ["source", "length", "day", "score"]
    read = {"source": "source", "longest": "length"}
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    ids = [f"{row[4]}{i:02}" for i, row in enumerate(rows)]

    def key(document: int) -> tuple[Any, ...]:
        parts: list[Any] = []
        for rule, column in rules:
            if rule == "first":
                return (*parts, document)
            value = columns[column or read[rule]][document]
            parts.append(value if rule == "source" else -value)
        return (*parts, ids[document].encode() if own_ids else b"", document)

    expected = sorted(range(len(rows)), key=key)
    assert order_of(rules, columns, len(rows), ids if own_ids else None) == expected


def test_first_is_input_order_whatever_the_ids() -> None:
    assert order_of([("first", None)], {}, 3, ["c", "a", "b"]) == [0, 1, 2]


def test_the_last_tie() -> None:
    columns = {"length": [5, 9, 5, 9]}
    assert order_of([("longest", None)], columns, 4, ["d", "c", "b", "a"]) == [3, 1, 2, 0]
    assert order_of([("longest", None)], columns, 4) == [1, 3, 0, 2]
    assert order_of([("longest", None), ("first", None)], columns, 4, ["d", "c", "b", "a"]) == [1, 3, 0, 2]


# Columns: the highest value has the least key


def descending(column: pa.ChunkedArray, name: str) -> Any:
    return column_keys(read_column(column, RuleColumn("highest", name)), name, "descending")


def best_first(values: list[Any], kind: pa.DataType | None = None) -> list[int]:
    return np.argsort(descending(pa.chunked_array([pa.array(values, kind)]), "c"), kind="stable").tolist()


DAY, MOMENT = datetime.date, datetime.datetime
COLUMNS: list[tuple[list[Any], pa.DataType | None]] = [
    ([3, None, 10, -1, 10], None),
    ([3.5, None, 10.0, -1.0, 10.0], None),
    ([2**62 + 1, None, 2**62 + 2, 0, 2**62 + 2], pa.int64()),
    (["3", None, "10", "-1", "10"], None),
    ([" 3", None, "1e1", "-1.0", "10"], pa.large_string()),
    (["3", None, "10", "-1", "10"], pa.string_view()),
    ([DAY(2020, 5, 1), None, DAY(2021, 1, 1), DAY(1969, 1, 1), DAY(2021, 1, 1)], None),
    ([MOMENT(2020, 5, 1, 7), None, MOMENT(2021, 1, 1), MOMENT(1969, 1, 1), MOMENT(2021, 1, 1)], None),
    ([decimal.Decimal("9.5"), None, decimal.Decimal("10.25"), decimal.Decimal("-1"), decimal.Decimal("10.25")], None),
    ([datetime.time(5), None, datetime.time(6), datetime.time(1), datetime.time(6)], None),
]


@pytest.mark.parametrize(("values", "kind"), COLUMNS, ids=lambda one: str(one)[:30])
def test_numbers_text_and_days(values: list[Any], kind: pa.DataType | None) -> None:
    assert best_first(values, kind) == [2, 4, 0, 3, 1]


def test_truth_values() -> None:
    assert best_first([False, None, True, False]) == [2, 0, 3, 1]


def test_unsigned_numbers_beyond_63_bits() -> None:
    assert best_first([2**64 - 1, 5, 2**63], pa.uint64()) == [0, 2, 1]


def test_not_a_number_is_as_good_as_nothing() -> None:
    keys = descending(pa.chunked_array([pa.array([float("nan"), 1.0, None, float("inf"), float("-inf")])]), "c")
    assert np.argsort(keys, kind="stable").tolist() == [3, 1, 4, 0, 2]
    assert keys[0] == keys[2]


def test_categories_are_ordered_as_what_they_stand_for() -> None:
    column = pa.chunked_array([pa.array(["9", "8", None, "10"]).dictionary_encode()])
    assert np.argsort(descending(column, "c"), kind="stable").tolist() == [3, 0, 1, 2]


def test_text_that_is_all_numbers_is_ordered_as_numbers() -> None:
    """As columns of CSV files are; an empty value is none."""
    assert best_first(["9", "10", "", "100", "-5", None]) == [3, 1, 0, 4, 2, 5]
    assert best_first(["9.5", "1e3", "10", ""]) == [1, 2, 0, 3]
    assert best_first(["9007199254740993", "9007199254740992"]) == [0, 1]
    assert best_first(["9", "10", "ten"]) == [1, 0, 2]
    assert best_first(["2024-01-02", "2023-12-31", ""]) == [0, 1, 2]


def test_a_column_of_nulls_decides_nothing() -> None:
    assert len(set(descending(pa.chunked_array([pa.nulls(3)]), "c").tolist())) == 1
    assert len(set(descending(pa.chunked_array([pa.nulls(3, pa.int64())]), "c").tolist())) == 1


def test_chunks_are_one_column() -> None:
    column = pa.chunked_array([[5, 1], [], [9, None], [5]], pa.int64())
    keys = descending(column, "c")
    assert np.argsort(keys, kind="stable").tolist() == [2, 0, 4, 1, 3]
    assert keys[0] == keys[4]


def test_what_has_no_order_is_refused_by_name() -> None:
    with pytest.raises(ColumnError, match=r"'tags'.*list"):
        descending(pa.chunked_array([pa.array([[1], [2]])]), "tags")


def test_ids_by_their_bytes() -> None:
    ids = ["b", "é", "a", "B", "日", "", "aa", "🙂"]
    places = by_id(pa.chunked_array([ids[:3], ids[3:]], pa.string())).tolist()
    assert [ids[i] for i in np.argsort(places)] == sorted(ids, key=str.encode)
