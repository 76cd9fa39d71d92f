"""``twinset index``: every command that keeps an index, on small data."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.cli.conftest import Call, text
from tests.reliability.command import struck
from twinset import textbook
from twinset.cli.index import COMMANDS
from twinset.index.settings import FORMAT, Settings
from twinset.index.sqlite import backend, tables
from twinset.options.index import IndexOptions


@pytest.fixture
def news(call: Call, corpus: Path) -> str:
    """An index of the corpus: a, c and d are near each other, b is like nothing, e has one word, f none."""
    assert call("index", "create", "news.twinset", "--seed", 1).code == 0
    done = call("index", "add", "news.twinset", corpus.name)
    assert done.code == 0, done.err
    return "news.twinset"


def write(path: Path, rows: dict[str, str]) -> Path:
    path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in rows.items()))
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page(call: Call, name: str) -> None:
    done = call("index", name, "--help")
    assert done.code == 0
    assert f"Usage: twinset index {name} [OPTIONS]" in done.out
    assert "--json" in done.out


def test_the_group_lists_its_commands(call: Call) -> None:
    done = call("index", "--help")
    listed = done.out.split("Commands:")[1]
    assert [line.split()[0] for line in listed.strip().splitlines()] == list(COMMANDS)
    assert "..." not in listed
    assert call("index").code == 2


def test_no_option_is_offered_that_does_nothing(call: Call) -> None:
    for name in ("add", "update", "query"):
        page = call("index", name, "--help-all").out
        for flag in ("--memory", "--by", "--against", "--audit"):
            assert flag not in page
        for flag in ("--threads", "--scratch", "--batch", "--on-error"):
            assert flag in page


def test_create(call: Call) -> None:
    done = call("index", "create", "news.twinset")
    assert (done.code, done.err) == (0, "")
    first, plan, after = done.out.splitlines()
    assert first == "news.twinset: an empty index"
    assert plan.startswith("plan: 128 hashes, 16 bands × 6 rows")
    assert after == "next: twinset index add news.twinset SOURCE..."
    assert "exists already" in call("index", "create", "news.twinset").refusal
    assert call("index", "verify", "news.twinset").code == 0


def test_what_an_index_is_made_with_is_told_but_for_its_seed(call: Call) -> None:
    words = ["--threshold", 0.6, "--recall", 0.9, "--shingle", "char:7", "--store", "shingles", "--seed", 987654321]
    made = call("index", "create", "x", *words, "--no-lowercase", "--json")
    assert made.json["documents"] == 0
    stats = call("index", "stats", "x", "--json").json
    wanted = {"threshold": 0.6, "recall": 0.9, "shingle": "char:7", "store": "shingles", "lowercase": False}
    assert {name: stats["options"][name] for name in wanted} == wanted
    shown = call("index", "stats", "x")
    for word in ("0.6, 0.9", "char:7 --no-lowercase", "shingles", f"{FORMAT} in SQLite"):
        assert word in shown.out
    for said in (made.out, json.dumps(stats), shown.out):
        assert "987654321" not in said


def test_adding_again_changes_nothing(call: Call, corpus: Path) -> None:
    call("index", "create", "news.twinset")
    first = call("index", "add", "news.twinset", corpus.name, "--json").json
    names = ("documents", "added", "replaced", "unchanged", "empty", "undecoded", "unreadable")
    assert [first[name] for name in names] == [6, 6, 0, 0, 1, 0, 0]
    before = Path("news.twinset").read_bytes()
    again = call("index", "add", "news.twinset", corpus.name)
    assert again.out.splitlines() == [
        "  0  added",
        "  6  unchanged",
        "  1  of these empty: no words, so no query finds them",
        "news.twinset holds 6 documents",
    ]
    assert "adding: 6 documents, " in again.err
    assert Path("news.twinset").read_bytes() == before


def test_quiet_says_nothing(call: Call, news: str, corpus: Path) -> None:
    for words in (["add", news, corpus.name], ["update", news, corpus.name], ["verify", news]):
        assert call("index", *words, "--quiet") == (0, "", "")
    assert call("index", "export", news, "n.parquet", "--quiet") == (0, "", "")
    assert call("index", "import", "n.parquet", "other", "--quiet") == (0, "", "")


def test_a_changed_text_is_refused_by_add_and_taken_by_update(call: Call, news: str, tmp_path: Path) -> None:
    write(tmp_path / "new.jsonl", {"b": text(7), "g": text(8)})
    assert "'b' and another text; replace it with twinset index update" in call(
        "index", "add", news, "new.jsonl"
    ).refusal
    assert "g" not in ids(news)
    done = call("index", "update", news, "new.jsonl")
    assert done.out.splitlines()[:2] == ["  1  added", "  1  replaced: their texts have changed"]
    assert call("index", "query", news, "--string", text(7), "--json").json["answers"][0]["id"] == "b"
    assert call("index", "query", news, "--string", text(2), "--json").json["answers"] == []
    assert call("index", "verify", news).code == 0


def ids(name: str) -> list[str]:
    with twinset.Index.open(name, read_only=True) as index:
        return list(index)


@pytest.mark.parametrize("batch", ["1KiB", "4MiB"])
def test_an_id_that_comes_twice_is_the_same_wherever_a_batch_ends(call: Call, tmp_path: Path, batch: str) -> None:
    rows = [("a", text(1)), ("b", text(2)), ("a", text(1)), ("c", text(3, 900)), ("a", text(1)), ("a", text(4))]
    lines = [json.dumps({"id": id, "text": words}) + "\n" for id, words in rows]
    (tmp_path / "same.jsonl").write_text("".join(lines[:5]))
    (tmp_path / "changing.jsonl").write_text("".join(lines))
    call("index", "create", "x", "--seed", 1)
    done = call("index", "add", "x", "same.jsonl", "--batch", batch, "--json").json
    assert (done["added"], done["unchanged"]) == (3, 2)
    for command in ("add", "update"):
        refusal = call("index", command, "x", "changing.jsonl", "--batch", batch).refusal
        assert "the id 'a' appears twice, with different texts" in refusal
    with twinset.Index.open("x") as index:
        assert index.texts(["a"]) == [text(1)]


def test_rows_that_cannot_be_read(call: Call, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(
        b'{"id": "a", "text": "one two three"}\n{"id": "b", "text": \n{"id": "c", "text": "caf\xe9 au lait"}\n'
    )
    call("index", "create", "x")
    assert "bad.jsonl, line 2" in call("index", "add", "x", "bad.jsonl").refusal
    assert ids("x") == []
    done = call("index", "add", "x", "bad.jsonl", "--on-error", "skip", "--json").json
    assert (done["added"], done["undecoded"], done["unreadable"]) == (2, 1, 1)
    [(where, reason)] = done["named"]
    assert where == "bad.jsonl:1"
    assert reason.startswith("line 2: ")
    shown = call("index", "add", "x", "bad.jsonl", "--on-error", "skip").out
    assert "1  of these with invalid UTF-8 (replaced)" in shown
    assert "  skipped bad.jsonl:1: line 2: " in shown


@pytest.mark.parametrize("command", ["add", "query"])
def test_bytes_that_are_no_text_can_be_refused(call: Call, news: str, tmp_path: Path, command: str) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "x", "text": "caf\xe9 au lait"}\n')
    assert "not UTF-8" in call("index", command, news, "latin.jsonl", "--on-error", "stop").refusal
    assert call("index", command, news, "latin.jsonl", "--encoding", "latin-1").code == 0


def test_a_folder_of_odd_files(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "stories"
    (folder / "more").mkdir(parents=True)
    for name, content in {
        "a.txt": text(1).encode(), "more/-7.txt": text(2).encode(), "empty.txt": b"", "ünï cöde\n.md": text(3).encode(),
        "picture.png": b"\x89PNG\0\0\0", ".hidden": text(4).encode(), "rows.csv": b"text\nhello\n",
    }.items():  # fmt: skip
        (folder / name).write_bytes(content)
    (folder / "link.txt").symlink_to(folder / "a.txt")
    call("index", "create", "stories/own.twinset")
    done = call("index", "add", "stories/own.twinset", "stories", "--json")
    assert sorted(ids("stories/own.twinset")) == ["a.txt", "empty.txt", "more/-7.txt", "rows.csv", "ünï cöde\n.md"]
    assert done.json["empty"] == 1
    assert done.json["skipped"] == [
        ["stories/picture.png", "a binary file"],
        ["stories/.hidden", "hidden"],
        ["stories/link.txt", "a symbolic link"],
    ]
    assert "skipped stories/picture.png: a binary file" in done.err
    assert "1 table in a folder of texts (stories/rows.csv)" in done.err
    # The files that the index itself is made of are no stories, also when it is asked again with its lock beside it.
    again = call("index", "add", "stories/own.twinset", "stories", "--json").json
    assert (again["added"], again["unchanged"]) == (0, 5)
    assert call("index", "add", "stories/own.twinset", "stories/*", "--json").json["added"] == 5
    found = call("index", "query", "stories/own.twinset", "stories", "--json").json
    assert found["queries"] == 5


def test_an_index_among_tables_does_not_make_them_texts(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", {"a": text(1), "b": text(2)})
    call("index", "create", "own.twinset")
    assert call("index", "add", "own.twinset", ".", "--json").json["added"] == 2
    assert call("index", "query", "own.twinset", ".", "-o", "answers.csv").code == 0
    assert call("index", "query", "own.twinset", ".", "-o", "answers.csv", "--force").code == 0
    assert ids("own.twinset") == ["a", "b"]


def test_lines_on_stdin(call: Call) -> None:
    call("index", "create", "x")
    rows = b"".join(json.dumps({"id": f"s{n}", "text": text(n)}).encode() + b"\n" for n in range(3))
    assert call("index", "add", "x", "-", "--scratch", "here", "--json", stdin=rows).json["added"] == 3
    assert list(Path("here").iterdir()) == []
    assert call("index", "query", "x", "-", "--json", stdin=rows).json["answered"] == 3
    assert call("index", "remove", "x", "--ids", "-", "--json", stdin=b"s0\ns2\n").json["removed"] == 2
    assert ids("x") == ["s1"]


def test_remove(call: Call, news: str) -> None:
    done = call("index", "remove", news, "a", "c", "a")
    assert done.out == "2 documents removed; news.twinset holds 4 documents\n"
    assert ids(news) == ["b", "d", "e", "f"]
    refusal = call("index", "remove", news, "b", "nowhere", "a").refusal
    assert "no document with the id 'nowhere' (nor 1 more of the given ids); nothing was removed" in refusal
    assert ids(news) == ["b", "d", "e", "f"]
    assert call("index", "verify", news).code == 0


def test_ids_in_a_file(call: Call, tmp_path: Path) -> None:
    odd = ["-7", " blank around ", "two\u2028lines", "a\tb", "e\u0301", "plain"]
    write(tmp_path / "odd.jsonl", {id: text(number) for number, id in enumerate(odd)})
    call("index", "create", "x")
    call("index", "add", "x", "odd.jsonl")
    (tmp_path / "ids").write_bytes("\ufeff-7\r\n\r\n blank around \r\ntwo\u2028lines\na\tb\n\ne\u0301".encode())
    assert call("index", "remove", "x", "--ids", "ids", "--json").json == {"index": "x", "documents": 1, "removed": 5}
    (tmp_path / "ids").write_bytes(b"\n\n")
    assert call("index", "remove", "x", "--ids", "ids").out.startswith("0 documents removed")
    (tmp_path / "ids").write_bytes(b"caf\xe9")
    assert "ids: byte 3 is not UTF-8" in call("index", "remove", "x", "--ids", "ids").refusal
    assert "gone: no such file" in call("index", "remove", "x", "--ids", "gone").refusal
    assert ids("x") == ["plain"]


def test_ids_that_look_like_options(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "odd.jsonl", {"-7": text(1), "--json": text(2), "--": text(3), "": text(4)})
    call("index", "create", "x")
    call("index", "add", "x", "odd.jsonl")
    done = call("index", "remove", "x", "--", "-7", "--json", "--", "")
    assert done.out == "4 documents removed; x holds 0 documents\n"


def test_verify_finds_what_is_wrong(call: Call, news: str) -> None:
    done = call("index", "verify", news)
    assert (done.code, done.out) == (0, "news.twinset: no problems (6 documents)\n")
    assert call("index", "verify", news, "--json").json == {"index": news, "documents": 6, "problems": []}
    whole = Path(news).read_bytes()
    db = backend.apsw.Connection(news, backend.apsw.SQLITE_OPEN_READWRITE, vfs="cksmvfs")
    db.execute("DELETE FROM bands WHERE document = 2")
    db.close()
    done = call("index", "verify", news)
    assert done.code == 1
    assert "a band row is missing: 'b'" in done.out.splitlines()
    found = call("index", "verify", news, "--json", "--quiet")
    assert (found.code, found.err) == (1, "")
    assert json.loads(found.out)["problems"] == done.out.splitlines()
    for place in (20, len(whole) // 2, len(whole) - 100):
        Path(news).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert call("index", "verify", news).code == 1, place
    Path(news).write_bytes(whole)
    assert call("index", "verify", news).code == 0


def test_verify_of_what_is_no_index(call: Call, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are notes\n" * 100)
    done = call("index", "verify", "notes.txt")
    assert (done.code, len(done.out.splitlines())) == (1, 1)
    assert "notes.txt is damaged, or not an index" in done.out
    assert "there is no such index" in call("index", "verify", "nowhere").refusal


def test_compact_gives_space_back(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "many.jsonl", {f"d{n}": text(n, 300) for n in range(400)})
    call("index", "create", "x")
    call("index", "add", "x", "many.jsonl")
    (tmp_path / "ids").write_text("".join(f"d{n}\n" for n in range(390)))
    call("index", "remove", "x", "--ids", "ids")
    assert "unused (see compact)" in call("index", "stats", "x").out
    before = (tmp_path / "x").stat().st_size
    sizes = call("index", "compact", "x", "--json").json
    assert sizes["bytes_before"] > 3 * sizes["bytes"]
    assert (tmp_path / "x").stat().st_size < before / 3
    assert call("index", "verify", "x").code == 0
    assert " before, " in call("index", "compact", "x").out


@pytest.mark.parametrize("store", ["text", "shingles", "none"])
def test_export_and_import(call: Call, corpus: Path, store: str) -> None:
    call("index", "create", "x", "--store", store)
    call("index", "add", "x", corpus.name)
    done = call("index", "export", "x", "x.parquet")
    assert done.out.startswith("6 documents of x in x.parquet (")
    assert call("index", "import", "x.parquet", "y").out == "y holds 6 documents\n"
    assert call("index", "verify", "y").code == 0
    ours, theirs = (call("index", "query", name, corpus.name, "-k", 9) for name in ("x", "y"))
    assert ours.out == theirs.out
    assert ours.out.count("\n") > 6
    assert call("index", "add", "y", corpus.name, "--json").json["unchanged"] == 6


def test_exports_and_imports_that_are_refused(call: Call, news: str, tmp_path: Path) -> None:
    assert call("index", "export", news, "n.parquet").code == 0
    assert "exists already" in call("index", "export", news, "n.parquet").refusal
    assert call("index", "export", news, "n.parquet", "--force", "--json").json["documents"] == 6
    assert "must end in .parquet" in call("index", "export", news, "n.csv").refusal
    assert "exists already" in call("index", "import", "n.parquet", news).refusal
    pq.write_table(pa.table({"id": ["a"], "text": ["b"]}), tmp_path / "other.parquet")
    assert "is not an exported index" in call("index", "import", "other.parquet", "y").refusal
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    assert "bad.parquet is damaged" in call("index", "import", "bad.parquet", "y").refusal
    assert "no such file" in call("index", "import", "nowhere.parquet", "y").refusal
    assert not Path("y").exists()
    assert ids(news) == ["a", "b", "c", "d", "e", "f"]


def test_an_import_that_did_not_come_to_its_end(call: Call, news: str, tmp_path: Path) -> None:
    call("index", "export", news, "n.parquet")
    # Stopped when the index is there, and the first documents are about to be put into it.
    done = struck("INT", 1, "call:_entries", "index", "import", tmp_path / "n.parquet", tmp_path / "y")
    assert (done.code, done.out) == (130, "")
    assert done.lines == ["twinset: stopped; what was committed stays; run the same command again to resume"]
    for words in (["stats", "y"], ["query", "y", "--string", "x"], ["remove", "y", "a"], ["migrate", "y"]):
        assert "is not finished" in call("index", *words).refusal
    assert call("index", "import", "n.parquet", "y").out == "y holds 6 documents\n"
    assert call("index", "verify", "y").code == 0
    assert "exists already" in call("index", "import", "n.parquet", "y").refusal


def test_migrate(call: Call, news: str, corpus: Path) -> None:
    assert f"already has the newest format, {FORMAT}" in call("index", "migrate", news).out
    rows = dataclasses.replace(Settings.create(IndexOptions.of(seed=1)), format=1).to_rows()
    tables.create("old.twinset", "cksmvfs", rows, 1)
    assert call("index", "stats", "old.twinset", "--json").json["format"] == 1
    assert call("index", "query", "old.twinset", corpus.name).code == 0
    assert "twinset index migrate" in call("index", "add", "old.twinset", corpus.name).refusal
    wanted = {"index": "old.twinset", "format_before": 1, "format": FORMAT}
    assert call("index", "migrate", "old.twinset", "--json").json == wanted
    assert call("index", "add", "old.twinset", corpus.name, "--json").json["added"] == 6
    assert call("index", "verify", "old.twinset").code == 0


def test_answers_are_those_of_the_textbook(call: Call, news: str, corpus: Path) -> None:
    texts = {row["id"]: row["text"] for row in map(json.loads, corpus.read_text().splitlines())}
    sets = {id: textbook.shingles(words) for id, words in texts.items()}
    wanted = {
        (one, other): textbook.jaccard(sets[one], sets[other])
        for one in texts for other in texts
        if sets[one] and textbook.jaccard(sets[one], sets[other]) >= 0.8
    }  # fmt: skip
    answers = call("index", "query", news, corpus.name, "--json").json["answers"]
    found = {(row["query"], row["id"]): row["similarity"] for row in answers}
    assert found == pytest.approx(wanted, abs=1e-12)
    assert len(wanted) == 11


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--items", "tags"), "elements of tags"),
        (("--group", "user", "--item", "movie", "--weight", "w"), "elements of movie by user weighted by w"),
        (("--text", "name,char:2,2", "--text", "city"), "name,char:2,2 and city; word:5 where a column names none"),
        (("--text", "body", "--no-lowercase"), "word:5 of body --no-lowercase"),
    ],
)
def test_stats_name_the_columns(call: Call, words: tuple[str, ...], shown: str) -> None:
    assert call("index", "create", "some.twinset", *words).code == 0
    done = call("index", "stats", "some.twinset")
    assert done.code == 0, done.err
    assert shown in done.out


def test_a_weighted_set_on_the_command_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,movie,rating\na,x,1\na,y,3\nb,x,2\nc,,\n")
    call("index", "create", "r.twinset", "--group", "user", "--item", "movie", "--weight", "rating")
    done = call("index", "add", "r.twinset", "r.csv", "--on-error", "skip", "--json")
    assert (json.loads(done.out)["added"], json.loads(done.out)["unreadable"]) == (2, 1)
    found = json.loads(call("index", "query", "r.twinset", "--string", '{"x": 1, "y": 1}', "-k", 5, "--json").out)
    assert [(row["id"], row["similarity"]) for row in found["answers"]] == [("a", 0.5), ("b", 1 / 3)]
    assert found["nearest_by"] == "all"
    (tmp_path / "no.csv").write_text("user,movie\na,x\n")
    done = call("index", "query", "r.twinset", "no.csv")
    assert done.code == 2
    assert "no.csv: there is no column 'rating'" in done.err
    done = call("index", "query", "r.twinset", "--string", "{}")
    assert "1 query has no elements, so no answers" in done.err
