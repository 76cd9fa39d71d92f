"""A server reads and shows nothing from outside its folders, and no answer is longer than it may be."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

import twinset
from tests.mcp.agent import Agent, Told
from tests.mcp.conftest import ROSE, TIDE
from twinset.engines.local.write.summary import summary_check

SECRET = f"{TIDE} and the password is heliotrope"


def with_card(folder: Path, files: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files: '{files}'\n---\n")
    return folder


@pytest.fixture
def beside(data: Path) -> Any:
    """A folder that is none of the server's."""
    folder = data.parent / "beside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    before = set(data.iterdir())
    yield folder
    shutil.rmtree(folder)
    for made in set(data.iterdir()) - before:
        shutil.rmtree(made) if made.is_dir() and not made.is_symlink() else made.unlink()


def refused(told: Told) -> bool:
    assert "heliotrope" not in json.dumps(told.values) + told.error
    return "a symbolic link that leads out of the folders of this server" in told.error


@pytest.mark.parametrize("kind", ["file", "folder", "card"])
def test_the_card_of_a_data_set_leads_nowhere_else(agent: Agent, data: Path, beside: Path, kind: str) -> None:
    made = with_card(data / "set", "sub/*.txt" if kind == "folder" else "*.txt")
    if kind == "card":
        (made / "README.md").replace(beside / "card.md")
        (made / "README.md").symlink_to(beside / "card.md")
        (made / "a.txt").write_text(TIDE)
    elif kind == "file":
        (made / "a.txt").symlink_to(beside / "secret.txt")
    else:
        (made / "sub").symlink_to(beside)
    assert refused(agent.call("find_passages", text=SECRET, source="data/set", least=8))
    twinset.dedup(made, lines=True, shingle="word:3", output=data / "of-set")
    table = twinset.open_result(data / "of-set").recorded.documents
    told = agent.call("explain_removal", result="data/of-set", id=table["id"][0].as_py(), other=table["id"][0].as_py())
    assert told["comparison"] is None
    assert "sources of that run are not in the folders of this server" in told["note"]


def test_links_of_a_data_set_within_the_folders_are_read_and_weighed(agent: Agent, data: Path, beside: Path) -> None:
    (data / "blobs").mkdir()
    (data / "blobs" / "1").write_text(f"{TIDE}\n" * 300)
    (with_card(data / "set", "*.txt") / "a.txt").symlink_to("../blobs/1")
    told = agent.call("find_passages", text=TIDE, source="data/set", least=8)
    assert told["found"] > 0
    assert {row["right"].rpartition(":")[0] for row in told["passages"]} == {"data/set/a.txt"}
    with Agent([data], "--read", "400B") as small:
        assert "has more than 400 bytes" in small.call("find_passages", text=TIDE, source="data/set").error
        told = small.call("explain_removal", result="data/clean", id="rose-hall")
        assert (told["state"], told["cluster"], told["comparison"]) == ("removed", "rose", None)
        assert "the sources of that run have more than 400 bytes" in told["note"]


def test_links_in_a_folder_without_a_card_are_not_read(agent: Agent, data: Path, beside: Path) -> None:
    folder = data / "notes"
    folder.mkdir()
    (folder / "own.txt").write_text(ROSE)
    (folder / "linked.txt").symlink_to(beside / "secret.txt")
    (folder / "linked").symlink_to(beside)
    assert agent.call("find_passages", text=SECRET, source="data/notes", least=8)["found"] == 0
    assert agent.call("find_passages", text=ROSE, source="data/notes", least=8)["found"] == 1


def restate(folder: Path, **sources: Any) -> None:
    """Change the sources that the summary of a result names, as whoever gives a result away could."""
    summary = json.loads((folder / "summary.json").read_text())
    summary["input"] |= sources
    summary["check"] = summary_check(summary)
    (folder / "summary.json").write_text(json.dumps(summary))


def test_a_name_that_looks_like_a_pattern_is_a_file_outside(agent: Agent, data: Path, beside: Path) -> None:
    shutil.copyfile(data / "news.jsonl", beside / "x[1].jsonl")
    twinset.dedup(data / "news.jsonl", shingle="word:3", output=data / "bent")
    restate(data / "bent", sources=[str(beside / "x[1].jsonl")])
    told = agent.call("explain_removal", result="data/bent", id="rose-hall")
    assert (told["comparison"], told["changes"]) == (None, [])
    assert "not in the folders of this server" in told["note"]
    assert agent.call("summarize_result", result="data/bent")["sources"] == ["…/x[1].jsonl"]


def test_a_pipe_is_not_waited_for(agent: Agent, data: Path, beside: Path) -> None:
    os.mkfifo(data / "pipe.jsonl")
    twinset.dedup(data / "news.jsonl", shingle="word:3", output=data / "bent")
    restate(data / "bent", sources=[str(data / "pipe.jsonl")])
    told = agent.call("explain_removal", result="data/bent", id="rose-hall")
    assert "neither a file nor a folder" in told["note"]


def test_a_list_names_nothing_of_results_outside(agent: Agent, data: Path, beside: Path) -> None:
    shutil.copytree(data / "clean", beside / "clean")
    (data / "hollow").mkdir()
    for name in ("summary.json", "pairs.parquet"):
        (data / "hollow" / name).symlink_to(beside / "clean" / name)
    shutil.copyfile(data / "news.twinset", data / "twin.twinset")
    (data / "twin.twinset-wal").symlink_to(beside / "secret.txt")
    rows = {row["name"]: row for row in agent.call("list_indexes_and_results")["found"]}
    for name, words in (("data/hollow", "leads out of the folders"), ("data/twin.twinset", "is a symbolic link")):
        assert words in rows[name]["note"]
        assert "documents" not in rows[name]


def test_paths_of_the_machine_are_not_shown(agent: Agent, data: Path, beside: Path) -> None:
    rows = data / "rows.txt"
    rows.write_text(f"{ROSE}\n{ROSE} hall\n{TIDE}\n")
    twinset.dedup(rows, lines=True, shingle="word:3", output=data / "of-rows")
    ids = [f"{rows}:{number}" for number in range(3)]
    with twinset.Index.create(data / "rows.twinset", shingle="word:3") as index:
        index.add(dict(zip(ids, [ROSE, f"{ROSE} hall", TIDE], strict=True)))
    told = agent.call("explain_removal", result="data/of-rows", id="data/rows.txt:1")
    assert (told["id"], told["cluster"]) == ("data/rows.txt:1", "data/rows.txt:0")
    assert told["changes"] == [{"left": "hall", "right": ""}]
    again = agent.call("explain_removal", result="data/of-rows", id=ids[1], other="data/rows.txt:2")
    assert (again["id"], again["other"]) == ("data/rows.txt:1", "data/rows.txt:2")
    found = agent.call("find_near_duplicates", index="data/rows.twinset", id="data/rows.txt:0")
    assert [row["id"] for row in found["answers"]] == ["data/rows.txt:1"]
    summary = agent.call("summarize_result", result="data/of-rows")
    assert [row["kept"] for row in summary["largest_clusters"]] == ["data/rows.txt:0"]
    passages = agent.call("find_passages", text=TIDE, source="data/rows.txt", least=8, column="text")
    listed = agent.call("list_indexes_and_results")
    for answer in (told, again, found, summary, passages, listed):
        assert str(data.parent) not in json.dumps(answer.values) + answer.error


def test_no_answer_is_longer_than_it_may_be(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    rows = folder / "rows.jsonl"
    letters = [f"{hashlib.sha256(bytes([n])).hexdigest() * 5_000}{n}" for n in range(3)]
    rows.write_text("".join(json.dumps({"id": id, "text": f"{ROSE} {id[-1]}"}) + "\n" for id in letters))
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text(ROSE)
    twinset.dedup(rows, shingle="word:3", threshold=0.5, output=folder / "long")
    out = [f"no-{'such-file' * 10}-{number}" for number in range(2000)]
    twinset.dedup(folder / "texts", exclude=out, output=folder / "excluded")
    with twinset.Index.create(folder / "long.twinset", shingle="word:3", passages=6) as index:
        index.add({f"{number}{letters[0][:1000]}": f"{ROSE} {number}" for number in range(9)})
    short = {f"{number}": f"{ROSE} {number % 7} {TIDE} {number}" for number in range(60)}
    twinset.dedup(short, shingle="word:3", threshold=0.4, output=folder / "family")
    for most in (20_000, 1_000):
        with Agent([folder], "--characters", str(most)) as agent:
            answers = {
                "explained": agent.call("explain_removal", result="many/long", id=letters[1], other=letters[2]),
                "family": agent.call("explain_removal", result="many/family", id="1"),
                "excluded": agent.call("summarize_result", result="many/excluded"),
                "summary": agent.call("summarize_result", result="many/long"),
                "found": agent.call("find_near_duplicates", index="many/long.twinset", text=ROSE, texts=True),
                "passages": agent.call("find_passages", index="many/long.twinset", text=ROSE),
                "compared": agent.call("compare_texts", left=ROSE, right=TIDE),
                "listed": agent.call("list_indexes_and_results"),
            }
        for name, told in answers.items():
            assert not told.error, name
            assert len(orjson.dumps(told.values).decode()) <= most, name
        assert answers["explained"]["id"].startswith(letters[1][:8])
        assert answers["explained"]["id"].endswith("…")
        assert len(answers["excluded"]["options"].get("exclude", [])) <= 11
        assert answers["family"]["because"]["because_of"] == "0"
    assert "the first 0 of 1 option" in answers["excluded"]["note"]
