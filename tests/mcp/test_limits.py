"""What a server refuses, and how it bounds what it reads and answers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import twinset
from tests.mcp.agent import Agent, Told
from tests.mcp.conftest import ROSE, TIDE
from twinset.errors import OptionError
from twinset.mcp.folders import Folders

NEWS = "data/news.twinset"


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder, with its size and the time of its last change."""
    files = {path: path.lstat() for path in (folder, *folder.rglob("*"))}  # a folder changes with the names in it
    return {str(path.relative_to(folder)): (about.st_size, about.st_mtime_ns) for path, about in files.items()}


@pytest.fixture(scope="module")
def outside(data: Path) -> Iterator[Path]:
    """Links in the folder of the server that lead out of it, and what they lead to."""
    other = data.parent / "secret"
    other.mkdir()
    with twinset.Index.create(other / "other.twinset", shingle="word:3") as index:
        index.add(["x"], [ROSE])
    (other / "notes.txt").write_text(f"{TIDE} is the password")
    shutil.copytree(data / "clean", other / "clean")
    links = [data / "linked.twinset", data / "linked", data / "linked-clean"]
    for link, target in zip(links, (other / "other.twinset", other, other / "clean"), strict=True):
        link.symlink_to(target)
    yield other
    for link in links:
        link.unlink()
    shutil.rmtree(other)


HOSTILE = [
    "../secret/other.twinset",
    "data/../../secret/other.twinset",
    "data/clean/../news.twinset",
    "/etc/passwd",
    "{data}/news.twinset",
    "data/news.twinset\0.txt",
    "data/linked.twinset",
    "data/linked/other.twinset",
    "data/linked/notes.txt",
    "data/linked-clean",
    "postgresql://localhost/texts",
    "https://example.org/news.twinset",
    "file:data/news.twinset",
    "~/news.twinset",
    "secret/other.twinset",
    "",
    "data/" + "x" * 5000,
    "data/nothing.twinset",
]


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_are_refused(agent: Agent, data: Path, name: str) -> None:
    before = snapshot(data)
    path = name.replace("{data}", str(data))
    for tool, argument, more in (
        ("find_near_duplicates", "index", {"text": ROSE}),
        ("find_passages", "index", {"text": TIDE}),
        ("find_passages", "source", {"text": TIDE}),
        ("explain_removal", "result", {"id": "rose"}),
        ("summarize_result", "result", {}),
        ("list_indexes_and_results", "folder", {}),
    ):
        error = agent.call(tool, **{argument: path}, **more).error
        assert error.startswith(f"{argument} is "), error
        assert "password" not in error
        assert "Traceback" not in error
        assert len(error) < 400
    assert snapshot(data) == before


def test_a_link_within_the_folders_is_followed(agent: Agent, data: Path) -> None:
    (data / "same.twinset").symlink_to("news.twinset")
    assert agent.call("find_near_duplicates", index="data/same.twinset", text=ROSE)["found"] == 2
    (data / "same.twinset").unlink()


def test_a_result_whose_table_leads_outside(agent: Agent, data: Path, outside: Path) -> None:
    made = data / "bent"
    shutil.copytree(data / "clean", made)
    (made / "removed.parquet").unlink()
    (made / "removed.parquet").symlink_to(outside / "clean" / "removed.parquet")
    assert "a symbolic link that leads out" in agent.call("explain_removal", result="data/bent", id="rose").error
    shutil.rmtree(made)


def test_texts_of_sources_elsewhere_are_not_read(agent: Agent, data: Path, outside: Path) -> None:
    source = outside / "rows.jsonl"
    shutil.copyfile(data / "news.jsonl", source)
    twinset.dedup(source, shingle="word:3", output=data / "far")
    told = agent.call("explain_removal", result="data/far", id="rose-hall")
    assert (told["state"], told["cluster"], told["comparison"], told["changes"]) == ("removed", "rose", None, [])
    assert told["because"]["similarity"] > 0.9
    assert "not in the folders of this server" in told["note"]
    shutil.rmtree(data / "far")


def test_texts_that_have_changed_are_not_compared(agent: Agent, data: Path) -> None:
    source = data / "moving.jsonl"
    shutil.copyfile(data / "news.jsonl", source)
    twinset.dedup(source, shingle="word:3", output=data / "moved")
    source.write_text("")
    told = agent.call("explain_removal", result="data/moved", id="rose-hall")
    assert (told["state"], told["comparison"]) == ("removed", None)
    assert "the texts are not compared" in told["note"]
    assert str(data) not in told["note"]
    shutil.rmtree(data / "moved")
    source.unlink()


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("find_near_duplicates", {"index": NEWS}, "neither text nor id given"),
        ("find_near_duplicates", {"index": NEWS, "text": ROSE, "id": "rose"}, "text and id given"),
        ("find_near_duplicates", {"text": ROSE}, "index is missing"),
        ("find_near_duplicates", {"index": NEWS, "text": ROSE, "treshold": 1}, "did you mean 'threshold'"),
        ("find_near_duplicates", {"index": NEWS, "text": ROSE, "threshold": 2}, "threshold is 2; allowed"),
        ("find_near_duplicates", {"index": NEWS, "text": ROSE, "threshold": 0.1}, "force"),
        ("find_near_duplicates", {"index": NEWS, "text": ROSE, "k": "many"}, "k is 'many'; allowed: a whole number"),
        ("find_near_duplicates", {"index": NEWS, "text": 7}, "text is 7; allowed: a text"),
        ("find_near_duplicates", {"index": NEWS, "id": "nobody"}, "holds no document with the id 'nobody'"),
        ("find_near_duplicates", {"index": "data/codes.twinset", "text": ROSE}, "holds codes"),
        ("find_near_duplicates", {"index": "data/news.jsonl", "text": ROSE}, "which is not an index"),
        ("find_near_duplicates", {"index": ["data"], "text": ROSE}, "index is ['data']; allowed"),
        ("compare_texts", {"left": ROSE}, "right is missing"),
        ("compare_texts", {"left": ROSE, "right": ROSE, "shingle": "line:2"}, "shingle is 'line:2'; allowed"),
        ("find_passages", {"text": TIDE}, "neither index nor source given"),
        ("find_passages", {"text": TIDE, "index": NEWS, "gap": 3}, "gap applies to a source"),
        ("find_passages", {"text": TIDE, "index": NEWS, "least": 3}, "least"),
        ("find_passages", {"text": TIDE, "source": "data/*.jsonl"}, "no such file"),
        ("find_passages", {"text": TIDE, "source": "data/news.jsonl", "column": "body"}, "body"),
        ("explain_removal", {"result": "data/clean", "id": "nobody"}, "there is no document 'nobody'"),
        ("explain_removal", {"result": "data/pairs", "id": "rose"}, "a result of pairs, which removes nothing"),
        ("explain_removal", {"result": NEWS, "id": "rose"}, "which is not a result"),
        ("summarize_result", {"result": "data"}, "which is not a result"),
        ("list_indexes_and_results", {"folder": NEWS}, "which is not a folder"),
        ("drop_table", {}, "there is no tool 'drop_table'"),
    ],
)
def test_wrong_arguments_are_refused_in_words(agent: Agent, data: Path, tool: str, arguments: dict, words: str) -> None:
    error = agent.call(tool, **arguments).error
    assert words in error
    assert "--" not in error
    assert str(data) not in error
    assert "\n" not in error


def test_damaged_files_are_named(agent: Agent, data: Path) -> None:
    broken = data / "broken"
    shutil.copytree(data / "clean", broken)
    (broken / "removed.parquet").write_bytes(b"PAR1 and nothing else")
    told = agent.call("explain_removal", result="data/broken", id="rose")
    assert "data/broken/removed.parquet is damaged" in told.error
    shutil.rmtree(broken)
    half = data / "half.twinset"
    half.write_bytes((data / "news.twinset").read_bytes()[:6000])
    assert "data/half.twinset" in agent.call("find_near_duplicates", index="data/half.twinset", text=ROSE).error
    listed = {row["name"]: row for row in agent.call("list_indexes_and_results")["found"]}
    assert "data/half.twinset" in listed["data/half.twinset"]["note"]
    assert listed[NEWS]["note"] is None
    half.unlink()


def test_names_of_files_that_are_no_text(agent: Agent, data: Path) -> None:
    strange = os.path.join(os.fsencode(data), b"caf\xe9.twinset")
    shutil.copyfile(os.fsencode(data / "news.twinset"), strange)
    listed = [row["name"] for row in agent.call("list_indexes_and_results")["found"]]
    assert "data/caf?.twinset" in listed
    os.unlink(strange)


def test_nothing_is_written(agent: Agent, data: Path) -> None:
    before = snapshot(data)
    agent.call("list_indexes_and_results")
    agent.call("find_near_duplicates", index=NEWS, text=ROSE, texts=True)
    agent.call("find_near_duplicates", index=NEWS, text=ROSE, k=3)
    agent.call("find_passages", text=TIDE, index=NEWS)
    agent.call("find_passages", text=TIDE, source="data/news.jsonl", least=8)
    agent.call("explain_removal", result="data/clean", id="rose-hall")
    agent.call("summarize_result", result="data/clean")
    assert snapshot(data) == before


def test_an_index_that_another_process_changes_meanwhile(agent: Agent, data: Path) -> None:
    with twinset.Index.open(data / "news.twinset") as index:
        index.add(["later"], [f"{ROSE} later"])
        found = [row["id"] for row in agent.call("find_near_duplicates", index=NEWS, text=ROSE)["answers"]]
        assert "later" in found
        index.remove("later")
    assert agent.call("find_near_duplicates", index=NEWS, text=ROSE)["found"] == 2


def rows_of(told: Told, name: str) -> tuple[int, int]:
    return len(told[name]), sum(len(json.dumps(row)) for row in told[name])


def test_answers_are_bounded(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    texts = {f"{'long-id-' * 20}{number:03}": f"{ROSE} and {TIDE}" for number in range(60)}
    with twinset.Index.create(folder / "many.twinset", shingle="word:3", passages=6) as index:
        index.add(texts)
    twinset.dedup(texts, shingle="word:3", output=folder / "clean")
    for number in range(12):
        shutil.copytree(folder / "clean", folder / f"clean-{number:02}")
    (folder / "deep" / "er").mkdir(parents=True)
    os.link(folder / "many.twinset", folder / "deep" / "er" / "again.twinset")
    with Agent([folder], "--rows", "7", "--characters", "1500", "--length", "10kB", "--read", "20kB") as agent:
        told = agent.call("find_near_duplicates", index="many/many.twinset", text=f"{ROSE} and {TIDE}")
        assert told["found"] == 60
        assert rows_of(told, "answers")[0] < 7
        assert rows_of(told, "answers")[1] <= 1800
        assert "of 60 documents are shown; the server answers with up to 1,500 characters" in told["note"]
        told = agent.call("list_indexes_and_results")
        assert len(told["found"]) == 7
        assert "the first 7 of 15 names are shown; the server answers with up to 7 rows" in told["note"]
        told = agent.call("explain_removal", result="many/clean", id=next(iter(texts)))
        assert len(told["members"]) < 59
        assert "of 59 removed documents are shown" in told["note"]
        told = agent.call("find_passages", text=f"{ROSE} and {TIDE}", index="many/many.twinset")
        assert "passages are shown" in told["note"]
        long = agent.call("compare_texts", left="rose " * 2001, right="rose")
        assert long.error == "left has 10.0 kB; allowed: up to 10 kB; send a part of it"
        assert "has more than 20 kB" in agent.call("find_passages", text=ROSE, source="many").error


def test_a_server_needs_folders(tmp_path: Path) -> None:
    (tmp_path / "a" / "data").mkdir(parents=True)
    (tmp_path / "b" / "data").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    for given, words in (
        (["a/data", "b/data"], "two folders have the name 'data'"),
        (["file"], "is not a folder"),
        (["nowhere"], "is not a folder"),
    ):
        with pytest.raises(OptionError, match=words):
            Folders([str(tmp_path / one) for one in given])
    with pytest.raises(OptionError, match="the whole file system"):
        Folders(["/"])
    both = Folders([str(tmp_path / "a"), str(tmp_path / "a" / "data"), str(tmp_path / "a")])
    assert str(both) == "a/ or data/"


def test_too_many_files_to_look_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinset.mcp.folders._MOST_VISITED", 3)
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("")
    with pytest.raises(OptionError, match="more than 3 files"):
        list(Folders([str(tmp_path)]).found())
