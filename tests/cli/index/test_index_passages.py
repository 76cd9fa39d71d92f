"""``twinset index query --passages``: which passages are shown, how, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Call
from tests.cli.index.test_index_query import on_a_terminal
from twinset.schema import PASSAGES

QUOTE = "the old ferry makes its last trip on Saturday evening"
STORIES = {
    "one": f"In the harbour {QUOTE} with a concert",
    "two": f"Nobody told us that {QUOTE}, and that is a pity",
    "three": "The library is closed on Monday because of the works in front of its door",
    "four": "",
}


@pytest.fixture
def stories(call: Call, tmp_path: Path) -> str:
    rows = (json.dumps({"id": id, "text": text}) + "\n" for id, text in STORIES.items())
    (tmp_path / "stories.jsonl").write_text("".join(rows))
    call("index", "create", "x", "--passages", 6, "--seed", 1)
    assert call("index", "add", "x", "stories.jsonl").code == 0
    return "x"


def test_passages_of_a_source(call: Call, stories: str) -> None:
    done = call("index", "query", stories, "stories.jsonl", "--passages")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert list(rows[0]) == PASSAGES.names
    assert {(row["left"], row["right"]) for row in rows} == {
        ("one", "one"), ("one", "two"), ("two", "one"), ("two", "two"), ("three", "three"),
    }  # fmt: skip
    for row in rows:
        left = STORIES[row["left"]][int(row["left_start"]) : int(row["left_end"])]
        right = STORIES[row["right"]][int(row["right_start"]) : int(row["right_end"])]
        assert left == right == (STORIES[row["left"]] if row["left"] == row["right"] else QUOTE)
    assert "5 passages to 3 of 4 queries" in done.err
    assert "1 query has no words, so no answers" in done.err


def test_one_text_and_one_document(call: Call, stories: str) -> None:
    done = call("index", "query", stories, "--passages", "--string", f"They say {QUOTE}.")
    assert [row["right"] for row in csv.DictReader(io.StringIO(done.out))] == ["one", "two"]
    assert done.err.endswith("2 passages\n")
    done = call("index", "query", stories, "--passages", "--similar-to", "one")
    [row] = csv.DictReader(io.StringIO(done.out))
    assert (row["left"], row["right"], row["words"]) == ("one", "two", "10")
    done = call("index", "query", stories, "--passages", "--similar-to", "one", "--least", 11)
    assert list(csv.DictReader(io.StringIO(done.out))) == []
    assert "no document shares a passage of 11 words or more" in done.err
    done = call("index", "query", stories, "--passages", "--string", "only four words here")
    assert "the query has fewer than 6 words, so no passages" in done.err


def test_files_and_summaries(call: Call, stories: str, tmp_path: Path) -> None:
    done = call("index", "query", stories, "stories.jsonl", "--passages", "-o", "found.parquet")
    assert done.out == "5 passages to 3 of 4 queries in found.parquet\n"
    assert pq.read_schema(tmp_path / "found.parquet").equals(PASSAGES)
    summary = json.loads(call("index", "query", stories, "stories.jsonl", "--passages", "--json", "--crowd", 1).out)
    known = {"queries": 4, "answered": 3, "found": 4, "empty": 1, "short": 0, "least": 6, "crowd": 1}
    assert known.items() <= summary.items()
    assert not {"least_similarity", "greatest_distance", "threshold"} & set(summary)
    # The quotation is in more than one document, so only the first one with it is an answer.
    assert [(row["left"], row["right"]) for row in summary["answers"]] == [
        ("one", "one"), ("two", "two"), ("two", "one"), ("three", "three"),
    ]  # fmt: skip


@pytest.mark.parametrize("width", [40, 100])
def test_a_table_on_a_terminal(stories: str, tmp_path: Path, width: int) -> None:
    lines = on_a_terminal(width, tmp_path, "index", "query", stories, "stories.jsonl", "--passages")
    assert all(len(line) <= width for line in lines), lines
    assert ("documents" in " ".join(lines)) == (width == 100), "numbers give way to ids"
    head = next(number for number, line in enumerate(lines) if line.startswith("query") and "words" in line)
    assert [line.split()[2] for line in lines[head + 1 : head + 6]] == ["16", "10", "19", "10", "15"]
    lines = on_a_terminal(width, tmp_path, "index", "query", stories, "--passages", "--string", QUOTE)
    assert not any(line.startswith("query ") for line in lines)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--passages", "-k", 3), "-k cannot be used with --passages; leave one of them out"),
        (("--passages", "--contained", 0.5), "--contained cannot be used with --passages"),
        (("--least", 9), "--least needs --passages"),
        (("--crowd", 9), "--crowd needs --passages"),
        (("--passages", "--least", 3), "--least is 3, and the index was made for passages of 6 words or more"),
    ],
)
def test_what_does_not_fit(call: Call, stories: str, words: tuple[object, ...], problem: str) -> None:
    done = call("index", "query", stories, "--string", "a b c", *words)
    assert done.code == 2
    assert problem in done.err


def test_an_index_without_anchors(call: Call) -> None:
    call("index", "create", "plain")
    done = call("index", "query", "plain", "--passages", "--string", "a b c")
    assert done.code == 2
    assert "create an index with --passages N" in done.err
    done = call("index", "create", "y", "--passages", 6, "--store", "none")
    assert "passages are found in stored texts, and store is 'none'; use --store text" in done.err


def test_stats_say_what_the_index_knows(call: Call, stories: str) -> None:
    lines = call("index", "stats", stories).out.splitlines()
    assert "  passages           of 6 words or more" in lines
    assert any(line.split()[0] == "anchors" for line in lines[1:])
