"""Columns of keep rules: numbers and dates in texts, what cannot be read, and formats that are not clear."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from twinset.clusters.keep_columns import RuleColumn, read_column
from twinset.errors import ColumnError


def read(values: list[Any], rule: str = "newest", date_format: str | None = None) -> list[Any]:
    """The values as numbers; None for what cannot be read."""
    column = pa.chunked_array([pa.array(values, pa.string())])
    result = read_column(column, RuleColumn(rule, "c", date_format))
    return (result if pa.types.is_floating(result.type) else result.cast(pa.int64())).to_pylist()


def ordered(values: list[str], rule: str = "newest", date_format: str | None = None) -> list[str]:
    """The values that can be read, ascending."""
    keys = read(values, rule, date_format)
    return [values[at] for at in sorted(range(len(values)), key=lambda at: keys[at] or 0) if keys[at] is not None]


def test_a_word_among_numbers_is_not_a_number() -> None:
    assert read(["10", "n/a", "9", "", None, "+11", " 12 "], "highest") == [10, None, 9, None, None, 11, 12]


def test_a_column_of_words_is_refused_with_an_example() -> None:
    with pytest.raises(ColumnError, match=r'''keep="highest:c" cannot order .*'red', are neither numbers nor dates'''):
        read(["red", "green", "blue"] * 4 + ["1"], "highest")


def test_one_value_in_ten_makes_a_column_of_numbers() -> None:
    assert read(["x"] * 9 + ["1"], "highest")[-1] == 1
    with pytest.raises(ColumnError):
        read(["x"] * 10 + ["1"], "highest")


def test_truth_values_of_a_csv_file() -> None:
    assert read(["true", "False", "", "TRUE"], "highest") == [1, 0, None, 1]


@pytest.mark.parametrize(
    "values",
    [
        ["2023-12-31", "2024-01-01", "2024-01-10", "2024-10-01"],
        ["31/12/2023", "01/01/2024", "02/01/2024", "01/02/2024"],
        ["12/31/2023", "01/01/2024", "01/02/2024", "02/01/2024"],
        ["31.12.2023", "1.1.2024", "2.1.2024", "1.2.2024"],
        ["2023/12/31", "2024/1/2"],
        ["2023-12-31T23:59:59Z", "2024-01-01", "2024-01-01T00:00:00.5", "2024-01-01 00:00:01"],
        ["2024-01-01T01:30:00+02:00", "2024-01-01T00:00:00Z", "2023-12-31T23:30:00-0100"],
        ["31/12/2023 12:30 AM", "31/12/2023 1:00 am", "31/12/2023 12:00 PM", "31/12/2023, 1:00 PM"],
        ["1703980800", "1704067200"],
        ["1703980800.5", "1703980800.75"],
        ["20231231", "20240101"],
        ["1066-10-14", "1492-10-12", "9999-12-31"],
    ],
)
def test_dates_are_read_as_dates(values: list[str]) -> None:
    for seed in range(3):
        shuffled = random.Random(seed).sample(values, len(values))
        assert ordered(shuffled) == values


def test_a_date_that_does_not_exist_is_not_read() -> None:
    assert ordered(
        ["2024-02-30", "2024-02-29", "2023-02-29", "2024-13-01", "2024-00-10", "unknown", "2024-01-01T25:00"]
    ) == ["2024-02-29"]
    assert ordered(["45/13/2020", "31/12/2020", "01/02/2020"]) == ["01/02/2020", "31/12/2020"]


def test_dates_that_can_be_read_in_two_ways_are_refused() -> None:
    with pytest.raises(ColumnError, match=r"'02/01/2024'.*day or with the month.*date_format= %d/%m/%Y or %m/%d/%Y"):
        read(["01/01/2024", "02/01/2024", "03/04/2024"])
    assert len(set(read(["01/01/2024", "02/02/2024"]))) == 2  # either way the same day


def test_a_named_format_decides() -> None:
    values = ["01/02/2024", "02/01/2024"]
    assert ordered(values, date_format="%d/%m/%Y") == ["02/01/2024", "01/02/2024"]
    assert ordered(values, "oldest", date_format="%m/%d/%Y") == ["01/02/2024", "02/01/2024"]
    assert read(["1/2/24", "soon", ""], date_format="%d/%m/%y")[1:] == [None, None]
    with pytest.raises(ColumnError, match=r"no date of the format '%Y' .*look like 'soon'"):
        read(["soon", "later"], date_format="%Y")


@pytest.mark.parametrize(
    "values",
    [
        ["31/12/2023", "12/31/2023"],
        ["2023-12-31", "31/12/2023"],
        ["2023-12-31"] * 50 + ["31/12/2023"],
        ["1703980800", "2023-12-31"],
    ],
)
def test_mixed_formats_are_refused_with_examples(values: list[str]) -> None:
    with pytest.raises(ColumnError, match=r"mixes formats, such as '.*' and '.*'; write all values in one format"):
        read(values)


@pytest.mark.parametrize(
    "values",
    [
        [20240531, 1704412800],
        [1704499200000, 1735689600],
        [1704499200000000, 1735689600000],
        [1704499200000000000, 1735689600000000, None],
        [20240531120000, 20240531],
        [2024, 20240531],
        [202405, 20240531],
        [0, 1735689600] * 50 + [20240531.0],
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_dates_as_numbers_of_different_kinds_are_refused(values: list[Any], as_text: bool) -> None:
    for order in (values, values[::-1]):
        column = pa.chunked_array([[None if one is None else str(one) for one in order] if as_text else order])
        with pytest.raises(
            ColumnError, match=r"mixes kinds of dates: \d+ \(.*\) and \d+ \(.*\); write all .* keep=\"highest:c\"$"
        ):
            read_column(column, RuleColumn("newest", "c"))
        assert read_column(column, RuleColumn("highest", "c")).null_count == values.count(None)


@pytest.mark.parametrize(
    "values",
    [
        [0, 86400, 1735689600, 1735689600.5],
        [1985, 2024, 2025],
        list(range(1, 300_000)),
        [-5, 2024, 250_000],
        [20240531, 19991231],
        [1704499200000, 1735689600000, None],
    ],
)
def test_numbers_of_one_kind_stay_as_they_are(values: list[Any]) -> None:
    column = pa.chunked_array([values])
    assert read_column(column, RuleColumn("oldest", "c")).to_pylist() == values


@pytest.mark.parametrize(
    ("value", "format"),
    [
        ("5 Jan 2024", "%d %b %Y"),
        ("Fri, 05 Jan 2024 10:00:00 +0000", "%a, %d %b %Y %H:%M:%S %z"),
        ("Fri, 05 Jan 2024 10:00:00 GMT", "%a, %d %b %Y %H:%M:%S GMT"),
        ("12/31/23", "%m/%d/%y"),
        ("31.12.23", "%d.%m.%y"),
        ("January 5, 2024", "%b %d, %Y"),
    ],
)
def test_the_format_that_an_error_names_reads_the_value(value: str, format: str) -> None:
    with pytest.raises(ColumnError) as error:
        read([value])
    assert f"date_format='{format}'" in str(error.value)
    assert read([value], date_format=format) != [None]


def test_a_date_that_can_be_read_in_two_ways_is_answered_with_formats_that_fit_it() -> None:
    with pytest.raises(ColumnError, match=r"date_format= %d\.%m\.%Y or %m\.%d\.%Y$"):
        read(["01.02.2024"])
    with pytest.raises(ColumnError, match=r"'%d/%m/%Y %I:%M:%S %p' or '%m/%d/%Y %I:%M:%S %p'$"):
        read(["1/2/2024 10:30:00 PM"])
    assert read(["1/2/2024 10:30:00 PM"], date_format="%d/%m/%Y %I:%M:%S %p") != [None]


@pytest.mark.parametrize("values", [["1,5"], ["red"], ["01/02/2024"], ["2024-01-01", "7"], ["5 Jan 2024"]])
def test_rules_of_numbers_do_not_advise_a_date_format(values: list[str]) -> None:
    with pytest.raises(ColumnError) as error:
        read(values, "highest")
    assert "date" not in str(error.value).partition(";")[2].replace("newest:c for dates", "")
    assert "date_format" not in str(error.value)


def test_numbers_with_commas_alone_are_refused_with_the_way_to_write_them() -> None:
    with pytest.raises(ColumnError, match=r"such as '1,5', .*write numbers without thousands separators"):
        read(["1,5", "2,5"], "highest")


def test_errors_show_the_head_of_a_long_value() -> None:
    with pytest.raises(ColumnError) as error:
        read(["a\x1b[31m word\n" * 100])
    assert "\\x1b[31m" in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 260


def test_the_decision_needs_all_values_in_any_order() -> None:
    values = ["01/02/2024"] * 1000 + ["13/02/2024"]
    for order in (values, values[::-1]):
        assert ordered(order)[-1] == "13/02/2024"


def test_columns_of_other_types_stay_as_they_are() -> None:
    column = pa.chunked_array([pa.array([3, None, 1])])
    assert read_column(column, RuleColumn("newest", "c", "%d/%m/%Y")) is column


def test_a_million_dates_take_less_than_some_seconds() -> None:
    """No row is read by Python."""
    import time

    column = pa.chunked_array([pa.array([f"{day:02}/01/2024 10:00" for day in range(1, 29)] * 8000)])
    since = time.process_time()
    read_column(column, RuleColumn("newest", "c"))
    assert time.process_time() - since < 3
