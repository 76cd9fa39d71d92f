"""What the commands of the index say when they are used in a way that cannot work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call, text


@pytest.fixture
def news(call: Call, corpus: Path) -> str:
    assert call("index", "create", "news.twinset", "--seed", 1).code == 0
    assert call("index", "add", "news.twinset", corpus.name).code == 0
    return "news.twinset"


def test_a_query_shorter_than_a_shingle_says_so(call: Call, news: str) -> None:
    words = " ".join(text(1).split()[:4])
    for more in (("-k", 3), ()):
        done = call("index", "query", news, "--string", words, *more)
        assert "the query is shorter than one shingle of the index (5 words) and cannot match longer" in done.err
        assert "all similarities are 0" not in done.err
        assert "-k N finds" not in done.err
        summary = call("index", "query", news, "--string", words, *more, "--json").json
        assert (summary["short"], summary["shingle"], summary["found"]) == (1, "word:5", 0)
    whole = call("index", "query", news, "--string", " ".join(text(1).split()[:5]), "-k", 3)
    assert "shorter than" not in whole.err
    assert whole.out.count("\n") == 3, "the head, and the two that begin with these words"


def test_a_short_query_finds_its_equal_and_the_note_says_why_nothing_else(call: Call, news: str) -> None:
    done = call("index", "query", news, "--string", "hello", "-k", 3)
    assert '"e",1' in done.out
    assert "it finds only documents with exactly its words" in done.err


def test_short_queries_of_a_source_are_counted(call: Call, news: str, tmp_path: Path) -> None:
    rows = [text(1), "two words", "three words more", ""]
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in rows))
    done = call("index", "query", news, "asked.jsonl", "-k", 2)
    assert "2 of 4 queries are shorter than one shingle of the index (5 words)" in done.err
    assert call("index", "query", news, "asked.jsonl", "-k", 2, "--json").json["short"] == 2


def test_characters_are_counted_in_characters(call: Call, corpus: Path) -> None:
    call("index", "create", "letters", "--shingle", "char:9")
    call("index", "add", "letters", corpus.name)
    assert "(9 characters)" in call("index", "query", "letters", "--string", "short", "-k", 1).err


def test_a_text_in_place_of_a_file_leads_to_string(call: Call, news: str, corpus: Path) -> None:
    for word in ("some text", "hello"):
        assert "to query with a text itself, give it with --string" in call("index", "query", news, word).refusal
    assert "--string" not in call("index", "query", news, corpus.name, "--text", "body").refusal
    said = "to compare texts themselves, give --string TEXT twice"
    assert said in call("compare", "a b", "c d").refusal
    assert said in call("explain", "a b", "c d").refusal
    assert "--string" not in call("compare", ".", ".").refusal, "a folder is there"


@pytest.mark.parametrize("command", ["add", "update", "query"])
def test_swapped_arguments_are_noticed(call: Call, news: str, corpus: Path, command: str) -> None:
    said = call("index", command, corpus.name, news).refusal
    assert said.endswith(f"INDEX comes first: twinset index {command} {news} {corpus.name}")
    assert "restore a backup" not in said
    assert "comes first" not in call("index", command, corpus.name, corpus.name).refusal


def test_an_index_that_exists_leads_to_the_next_command(call: Call, news: str) -> None:
    said = call("index", "create", news).refusal
    assert said.endswith("exists already; add documents to it with twinset index add, or choose another name")


def test_a_changed_text_leads_to_remove_which_adds_no_mirror(call: Call, tmp_path: Path) -> None:
    first = {"p5": text(5), "p6": text(6)}
    again = {"p5": f"{text(5)} and more", "mirror": f"{text(6)} end", "new": text(7)}
    for name, rows in (("monday", first), ("tuesday", again)):
        lines = (json.dumps({"id": id, "text": words}) + "\n" for id, words in rows.items())
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    call("index", "create", "pages")
    assert call("dedup", "monday.jsonl", "--index", "pages", "-o", "d1").code == 0
    said = call("dedup", "tuesday.jsonl", "--index", "pages", "-o", "d2").refusal
    assert "the id 'p5' and another text; remove the old text with twinset index remove and run this" in said
    assert call("index", "remove", "pages", "p5").code == 0
    done = call("dedup", "tuesday.jsonl", "--index", "pages", "-o", "d2")
    assert done.code == 0, done.err
    assert "found with a probability of at least 0.99" in done.out
    ids = call("index", "stats", "pages", "--ids").out.splitlines()
    assert sorted(ids) == ["new", "p5", "p6"], "the mirror is left out"


def test_the_ids_of_an_index_are_listed_in_order(call: Call, news: str) -> None:
    assert call("index", "stats", news, "--ids").out == "a\nb\nc\nd\ne\nf\n"
    found = call("index", "stats", news, "--ids", "--json").json
    assert found["ids"] == list("abcdef")
    assert found["documents"] == 6
    assert "ids" not in call("index", "stats", news, "--json").json
