"""Folders with indexes and results, and a server that all tests share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import twinset
from tests.mcp.agent import Agent

ROSE = "a rose is a rose is a rose in any garden of the town, and nobody there calls it by another name"
TIDE = "the tide tables of the harbour are printed once a year and sold at the kiosk beside the old bridge"
TEXTS = {"rose": ROSE, "rose-hall": f"{ROSE} hall", "tide": TIDE, "both": f"{TIDE} and then {ROSE}"}


def make_data(folder: Path) -> Path:
    """A folder with an index, a source, and results of every kind."""
    folder.mkdir()
    with twinset.Index.create(folder / "news.twinset", shingle="word:3", passages=6, contained=True, seed=1) as index:
        index.add(TEXTS)
    with twinset.Index.create(folder / "codes.twinset", codes="code", seed=1) as codes:
        codes.add(["x"], ["00ff00ff00ff00ff"])
    rows = [json.dumps({"id": id, "text": text}) for id, text in TEXTS.items()]
    source = folder / "news.jsonl"
    source.write_text("\n".join(rows) + "\n")
    twinset.dedup(source, shingle="word:3", output=folder / "clean")
    twinset.find_pairs(source, shingle="word:3", threshold=0.5, output=folder / "pairs")
    twinset.find_passages(source, least=8, output=folder / "copied")
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("mcp") / "data")


@pytest.fixture(scope="session")
def agent(data: Path) -> Iterator[Agent]:
    with Agent([data]) as one:
        yield one
