"""Keep rules that read a column, as a user sees them: counts, notes, errors, and the same again in a recut."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import twinset
from twinset.errors import ColumnError, OptionError, SourceWarning

LINE = " ".join(f"word{i}" for i in range(40))


def rows_with(values: list[Any]) -> pa.Table:
    """Near-duplicates that differ in a last word and in the column `c`."""
    return pa.table(
        {
            "id": [f"r{at}" for at in range(len(values))],
            "text": [f"{LINE} {at}" for at in range(len(values))],
            "c": values,
        }
    )


def kept(values: list[Any], keep: str, **options: Any) -> list[str]:
    return twinset.dedup(rows_with(values), keep=keep, **options).kept["id"].to_pylist()


def test_a_word_does_not_win_over_a_number() -> None:
    assert kept(["9", "10", "n/a"], "highest:c") == ["r1"]
    assert kept(["9", "10", "n/a", ""], "lowest:c") == ["r0"]


def test_the_last_day_of_a_year_is_older_than_the_next_day() -> None:
    assert kept(["31/12/2023", "01/01/2024"], "newest:c") == ["r1"]
    assert kept(["12/31/2023", "01/01/2024"], "newest:c") == ["r1"]
    assert kept(["31/12/2023", "01/01/2024"], "oldest:c") == ["r0"]


def test_an_unclear_date_is_an_error_that_says_how_to_name_the_format() -> None:
    with pytest.raises(ColumnError, match="%d/%m/%Y or %m/%d/%Y"):
        kept(["02/01/2024", "01/02/2024"], "newest:c")
    assert kept(["02/01/2024", "01/02/2024"], "newest:c", date_format="%d/%m/%Y") == ["r1"]
    assert kept(["02/01/2024", "01/02/2024"], "newest:c", date_format="%m/%d/%Y") == ["r0"]


def test_a_format_without_dates_is_refused() -> None:
    with pytest.raises(OptionError, match="date_format is '%Y', and keep reads no dates; add newest:COLUMN or oldest"):
        kept(["1"], "highest:c", date_format="%Y")
    with pytest.raises(OptionError, match="date_format is 'year'; allowed: a format of %Y"):
        kept(["1"], "newest:c", date_format="year")


@pytest.mark.parametrize("batch", [1024, 2**20])
def test_numbers_and_words_in_json(tmp_path: Path, batch: int) -> None:
    """Wherever the batches end."""
    path = tmp_path / "in.jsonl"
    scores = [9, "n/a", 10, None, "10.5", 3.5]
    lines = [json.dumps({"id": f"r{at}", "text": f"{LINE} {at}", "c": c}) for at, c in enumerate(scores)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    result = twinset.dedup(path, keep="highest:c", batch_bytes=batch)
    assert result.kept["id"].to_pylist() == ["r4"]
    assert result.summary["unranked"] == {"c": 2}


def test_numbers_with_commas_that_rank_last_are_warned_of() -> None:
    with pytest.warns(SourceWarning, match=r"2 values with a comma, such as '12,345', cannot be read and rank last"):
        assert kept(["900", "12,345", "1.234,5", "n/a"], "highest:c") == ["r0"]


def test_two_digit_years_among_others_are_warned_of() -> None:
    with pytest.warns(SourceWarning, match=r"1 value with a two-digit year, such as '12/31/23', cannot be read"):
        assert kept(["1/1/2023", "12/31/23"], "newest:c") == ["r0"]


def test_empty_and_other_values_are_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kept(["900", "", "n/a", None], "highest:c") == ["r0"]


def test_what_could_not_be_read_is_counted_and_recut_reads_it_again(tmp_path: Path) -> None:
    rows = rows_with(["02/01/2024", "01/02/2024", "soon", ""])
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    notes: list[str] = []

    class Told:
        def stage(self, name: str, total: int | None, unit: str) -> None: ...
        def advance(self, n: int) -> None: ...
        def note(self, text: str) -> None:
            notes.append(text)

        def close(self) -> None: ...

    done = twinset.dedup(
        tmp_path / "in.arrow", output=tmp_path / "out", keep="newest:c", date_format="%d/%m/%Y", threshold=0.5,
        progress=Told(),
    )  # fmt: skip
    assert done.summary["unranked"] == {"c": 2}
    assert done.summary["options"]["date_format"] == "%d/%m/%Y"
    assert "keep=\"newest:c\": 2 documents of 4 without a date in this column, such as 'soon'; they rank last" in notes
    again = done.rethreshold(0.8)
    assert (again.kept["id"].to_pylist(), again.summary["unranked"]) == (["r1"], {"c": 2})
    other = done.rethreshold(0.8, date_format="%m/%d/%Y")
    assert other.kept["id"].to_pylist() == ["r0"]
    longest = done.rethreshold(0.8, keep="longest")
    assert "unranked" not in longest.summary
    assert longest.summary["options"]["date_format"] is None
