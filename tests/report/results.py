"""Result folders to report on, made as a user makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import twinset

WORDS = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]


def text(seed: int, length: int = 60) -> str:
    """Make a text of words that no other seed makes."""
    return " ".join(f"{WORDS[(seed * 31 + i * i * 7 + i) % len(WORDS)]}{seed}" for i in range(length))


def near(seed: int, place: int, word: str = "altered") -> str:
    """The text of that seed with one word changed."""
    words = text(seed).split()
    words[place] = word
    return " ".join(words)


def write(path: Path, texts: Mapping[str, str]) -> Path:
    path.write_text("".join(json.dumps({"id": id, "text": one}) + "\n" for id, one in texts.items()), "utf-8")
    return path


def families() -> dict[str, str]:
    """Three clusters, of 4, 3 and 2 documents; three documents alone; one empty."""
    return {
        "a": text(1), "a-copy": text(1), "a-near": near(1, 30), "a-far": near(1, 12, "first").replace("ba1", "last"),
        "b": text(2), "b-near": near(2, 40), "b-edge": near(2, 59),
        "c": text(3), "c-near": near(3, 20),
        "d": text(4), "e": text(5), "f": text(6), "none": "…",
    }  # fmt: skip


def made(folder: Path, texts: Mapping[str, str] | None = None, name: str = "OUT", **words: Any) -> Path:
    """A result folder, and its source beside it."""
    source = write(folder / "texts.jsonl", families() if texts is None else texts)
    out = folder / name
    twinset.dedup(source, output=out, **{"threshold": 0.6, **words})
    return out
