"""What each tool answers, compared with the library."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import twinset
from tests.mcp.agent import Agent
from tests.mcp.conftest import ROSE, TEXTS, TIDE
from twinset.jobs.compare import Comparison
from twinset.mcp.text_tools import CompareTool

NAMES = {
    "list_indexes_and_results",
    "find_near_duplicates",
    "compare_texts",
    "find_passages",
    "explain_removal",
    "summarize_result",
}


def test_tools_describe_themselves(agent: Agent) -> None:
    tools = agent.tools()
    assert set(tools) == NAMES
    for tool in tools.values():
        assert len(tool.description or "") > 80
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema or {})
        assert tool.output_schema
        assert tool.input_schema["additionalProperties"] is False
        assert all(one["description"] for one in tool.input_schema["properties"].values())
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint
    found = tools["find_near_duplicates"].input_schema
    assert {"k", "threshold", "contained", "index", "text", "id"} <= set(found["properties"])
    assert found["required"] == ["index"]


def test_it_lists_what_is_there(agent: Agent, data: Path) -> None:
    listed = {row["name"]: row for row in agent.call("list_indexes_and_results")["found"]}
    assert list(listed) == [f"data/{name}" for name in ("codes.twinset", "news.twinset", "clean", "copied", "pairs")]
    index = listed["data/news.twinset"]
    assert (index["kind"], index["documents"], index["holds"], index["shingle"]) == ("index", 4, "text", "word:3")
    assert index["passages"] == 6
    assert index["contained"]
    commands = [listed[f"data/{name}"]["command"] for name in ("clean", "copied", "pairs")]
    assert commands == ["dedup", "passages", "pairs"]
    assert listed["data/clean"]["documents"] == 4
    below = agent.call("list_indexes_and_results", folder="data/clean")["found"]
    assert [row["name"] for row in below] == ["data/clean"]


@pytest.mark.parametrize(
    "limits", [{}, {"k": 2}, {"threshold": 0.9}, {"contained": 0.9}, {"threshold": 0.1, "force": True}]
)
def test_near_duplicates_are_those_of_the_index(agent: Agent, data: Path, limits: dict[str, float]) -> None:
    with twinset.Index.open(data / "news.twinset", read_only=True) as index:
        expected = index.query(f"{ROSE} now", **limits).to_pylist()
        similar = index.similar_to("rose", **limits).to_pylist()
    told = agent.call("find_near_duplicates", index="data/news.twinset", text=f"{ROSE} now", **limits)
    assert told["answers"] == expected
    assert told["found"] == len(expected) > 0
    assert agent.call("find_near_duplicates", index="data/news.twinset", id="rose", **limits)["answers"] == similar


def test_texts_of_answers_on_request(agent: Agent) -> None:
    told = agent.call("find_near_duplicates", index="data/news.twinset", text=ROSE, texts=True)
    assert [(row["id"], row["text"]) for row in told["answers"]] == [
        ("rose", TEXTS["rose"]), ("rose-hall", TEXTS["rose-hall"]),
    ]  # fmt: skip


def test_two_texts_are_compared(agent: Agent) -> None:
    told = agent.call("compare_texts", left=ROSE, right=f"{ROSE} hall", shingle="char:4", lowercase=False)
    assert told.values == twinset.compare(ROSE, f"{ROSE} hall", shingle="char:4", lowercase=False).to_dict()
    assert set(CompareTool().answer_schema()["required"]) == {one.name for one in fields(Comparison)}


def test_passages_of_an_index(agent: Agent, data: Path) -> None:
    text = f"They say that {TIDE} now"
    with twinset.Index.open(data / "news.twinset", read_only=True) as index:
        expected = index.passages(text).to_pylist()
    told = agent.call("find_passages", text=text, index="data/news.twinset")
    assert [{name: row[name] for name in row if name != "excerpt"} for row in told["passages"]] == expected
    assert {row["right"] for row in expected} == {"tide", "both"}
    assert told["passages"][0]["excerpt"] == TIDE
    assert agent.call("find_passages", text=text, index="data/news.twinset", least=40)["found"] == 0


@pytest.mark.parametrize("as_folder", [False, True])
def test_passages_of_files(agent: Agent, data: Path, as_folder: bool) -> None:
    text = f"They say that {TIDE} now"
    name = "news.jsonl"
    if as_folder:
        name = "letters"
        (data / name).mkdir(exist_ok=True)
        for id, one in TEXTS.items():
            (data / name / f"{id}.txt").write_text(one)
    told = agent.call("find_passages", text=text, source=f"data/{name}", least=8)
    assert {Path(row["right"]).stem for row in told["passages"]} == {"tide", "both"}
    assert {(row["left"], row["words"], row["excerpt"]) for row in told["passages"]} == {("query", 20, TIDE)}
    assert agent.call("find_passages", text=text, source=f"data/{name}")["found"] == 0, "50 words by default"


def test_a_removal_is_explained(agent: Agent, data: Path) -> None:
    told = agent.call("explain_removal", result="data/clean", id="rose-hall")
    expected = twinset.open_result(data / "clean").explain("rose-hall")
    assert (told["state"], told["cluster"], told["other"]) == ("removed", "rose", "rose")
    [row] = expected.members.to_pylist()
    assert told["because"] == {name: value for name, value in row.items() if name != "id"}
    assert told["members"] == [row]
    assert told["comparison"]["similarity"] == expected.explanation.similarity
    assert told["changes"] == [{"left": "hall", "right": ""}]
    assert told["note"] is None
    kept = agent.call("explain_removal", result="data/clean", id="rose")
    assert (kept["state"], kept["because"], kept["other"]) == ("kept", None, "rose-hall")
    other = agent.call("explain_removal", result="data/clean", id="tide", other="rose")
    assert (other["state"], other["comparison"]["similarity"]) == ("kept", 0.0)


def test_results_are_summarised(agent: Agent, data: Path) -> None:
    for name in ("clean", "pairs", "copied"):
        summary = json.loads((data / name / "summary.json").read_text())
        told = agent.call("summarize_result", result=f"data/{name}")
        assert told["counts"]["documents"] == summary["documents"] == 4
        assert told["sources"] == ["data/news.jsonl"]
        assert told["version"] == twinset.__version__
    clean = agent.call("summarize_result", result="data/clean")
    assert (clean["command"], clean["counts"]["removed"], clean["options"]) == ("dedup", 1, {"shingle": "word:3"})
    assert clean["recall"]["recall"] == 1.0
    [largest] = clean["largest_clusters"]
    assert (largest["kept"], largest["removed"], largest["example"]) == ("rose", 1, "rose-hall")
    assert agent.call("summarize_result", result="data/copied")["counts"]["passages"] > 0
