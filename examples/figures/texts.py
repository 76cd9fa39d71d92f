"""Texts for the measurements: short answers if their folder is given, otherwise generated from bundled text."""

import json
import random
from importlib.resources import files
from pathlib import Path

import numpy as np

WORDS = 300  # of a generated article
PAIR_WORDS = 120  # of a document in a pair of known similarity


def short_answers(folder: Path) -> dict[str, str]:
    """Read the short answers of Clough and Stevenson and their five sources: 100 documents."""
    found = {path.name: path.read_text("latin-1") for path in sorted(folder.glob("*.txt"))}
    if not found:
        raise SystemExit(f"there is no .txt file in {folder}; give the folder of clough_stevenson")
    return found


def articles(count: int) -> list[str]:
    """Generate articles of 300 words, drawn with their frequencies in the bundled sample.

    One in ten repeats an earlier article with one word in fifty replaced.
    """
    lines = files("twinset.cli").joinpath("sample/articles.jsonl").read_text("utf-8").splitlines()
    known = np.array(" ".join(json.loads(line)["text"] for line in lines).split(), dtype=object)
    rng = np.random.default_rng(7)
    made: list[str] = []
    for number in range(count):
        words = known[rng.integers(0, len(known), WORDS)]
        if number % 10 == 9:
            copied = np.array(made[number - int(rng.integers(1, 9))].split(), dtype=object)
            words = np.where(rng.random(WORDS) < 0.02, words, copied)
        made.append(" ".join(words))
    return made


def pairs_of_every_similarity(count: int) -> dict[str, str]:
    """Generate pairs of documents with similarities spread evenly from 0.1 to 1, for single-word shingles."""
    chance = random.Random(7)
    texts: dict[str, str] = {}
    for number in range(count):
        wanted = 0.1 + 0.9 * (number + 0.5) / count
        shared = round(PAIR_WORDS * 2 * wanted / (1 + wanted))
        words = [f"{chance.getrandbits(60):x}" for _ in range(2 * PAIR_WORDS - shared)]
        texts[f"{number}-a"] = " ".join(words[:PAIR_WORDS])
        texts[f"{number}-b"] = " ".join(words[PAIR_WORDS - shared :])
    return texts
