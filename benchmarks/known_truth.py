"""Public corpora with known truth, when their folders are given: news articles and short answers."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.measure import BenchmarkError, Setting, say, time_command, twinset

ARTICLES = 1_000
ARTICLES_THRESHOLD = 0.8
ANSWERS_THRESHOLD = 0.5
ANSWERS_SHINGLE = 3

Pair = tuple[str, str]


def measure(setting: Setting) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if setting.mccormick:
        result["mccormick"] = _articles(setting, setting.mccormick)
    else:
        say("  mccormick_minhash skipped: give its folder with --mccormick")
    if setting.clough:
        result["clough"] = _answers(setting, setting.clough)
    else:
        say("  clough_stevenson skipped: give its folder with --clough")
    return result


def _articles(setting: Setting, folder: Path) -> dict[str, Any]:
    """Find the pairs of articles_1000.truth; what is found is checked against brute force too."""
    lines = _read(folder / f"articles_{ARTICLES}.train").splitlines()
    texts = dict(line.split(" ", 1) for line in lines if " " in line)
    source = setting.fresh("articles.jsonl")
    source.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()))
    listed = _read(folder / f"articles_{ARTICLES}.truth").splitlines()
    known = {_pair(*line.split()) for line in listed if line}
    found = _find(setting, source, ARTICLES_THRESHOLD)
    return {
        "documents": len(texts),
        "threshold": ARTICLES_THRESHOLD,
        **_compare(found, known, _brute_force(texts, 5, ARTICLES_THRESHOLD)),
    }


def _answers(setting: Setting, folder: Path) -> dict[str, Any]:
    """Run end to end over files in latin-1; found pairs are checked against brute force."""
    texts = {path.name: path.read_text(encoding="latin-1") for path in sorted(folder.glob("*.txt"))}
    shingle = ("--shingle", f"word:{ANSWERS_SHINGLE}", "--encoding", "latin-1", "--include", "*.txt")
    found = _find(setting, folder, ANSWERS_THRESHOLD, *shingle)
    out = setting.fresh("answers")
    words = ("--threshold", str(ANSWERS_THRESHOLD), "-o", str(out), "--quiet", "--force", *shingle)
    timing = time_command([twinset(), "dedup", str(folder), *words])
    summary = json.loads((out / "summary.json").read_text())
    exact = _brute_force(texts, ANSWERS_SHINGLE, ANSWERS_THRESHOLD)
    return {
        "documents": len(texts),
        "threshold": ANSWERS_THRESHOLD,
        "summary": {word: summary[word] for word in ("documents", "kept", "removed", "empty", "unreadable")},
        "seconds": timing.best,
        **_compare(found, exact, exact),
    }


def _read(path: Path) -> str:
    if not path.exists():
        raise BenchmarkError(f"{path} is not there; give the folder that holds it")
    return path.read_text(encoding="utf-8", errors="replace")


def _pair(left: str, right: str) -> Pair:
    return (left, right) if left < right else (right, left)


def _find(setting: Setting, source: Path, threshold: float, *words: str) -> set[Pair]:
    listing = setting.fresh("known-pairs.parquet")
    options = ["--threshold", str(threshold), "-o", str(listing), "--quiet"]
    time_command([twinset(), "pairs", str(source), *options, *words])
    table = pq.read_table(listing, columns=["left", "right"])
    lefts, rights = table["left"].to_pylist(), table["right"].to_pylist()
    return {_pair(left, right) for left, right in zip(lefts, rights, strict=True)}


def _brute_force(texts: dict[str, str], size: int, threshold: float) -> set[Pair]:
    sets = {}
    for name, text in texts.items():
        words = re.findall(r"\w+", text.lower())
        sets[name] = {tuple(words[i : i + size]) for i in range(max(1, len(words) - size + 1))}
    alike = set()
    for left, right in combinations(sets, 2):
        a, b = sets[left], sets[right]
        if threshold * max(len(a), len(b)) <= min(len(a), len(b)):
            shared = len(a & b)
            if shared >= threshold * (len(a) + len(b) - shared):
                alike.add(_pair(left, right))
    return alike


def _compare(found: set[Pair], known: set[Pair], exact: set[Pair]) -> dict[str, Any]:
    return {
        "found": len(found),
        "known": len(known),
        "known_found": len(found & known),
        "exact": len(exact),
        "exact_found": len(found & exact),
        "wrong": len(found - exact),
    }


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    lines = []
    if "mccormick" in result:
        one = result["mccormick"]
        right = one["known_found"] == one["known"] and one["wrong"] == 0
        figure = f"{one['known_found']} of {one['known']}, {one['wrong']} wrong"
        goal = f"all found, none wrong at {one['threshold']}"
        lines.append((f"articles of mccormick_minhash ({one['documents']:,})", goal, figure, right))
    if "clough" in result:
        one = result["clough"]
        counts = one["summary"]
        accounted = counts["kept"] + counts["removed"] + counts["unreadable"]
        right = accounted == counts["documents"] == one["documents"] and one["wrong"] == 0
        figure = f"{accounted} documents; {one['exact_found']} of {one['exact']} pairs, {one['wrong']} wrong"
        lines.append(("clough_stevenson, end to end", "runs, none wrong", figure, right))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        "| | documents | threshold | known pairs found | pairs by brute force found | wrong |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    measured = [(name, result[name]) for name in ("mccormick", "clough") if name in result]
    for name, one in measured:
        lines.append(
            f"| {name} | {one['documents']:,} | {one['threshold']} | {one['known_found']} of {one['known']}"
            f" | {one['exact_found']} of {one['exact']} | {one['wrong']} |"
        )
    return "\n".join(lines) if measured else "Not measured: no folder was given."
