"""The review page over a large result, in Chromium: how soon it opens, filters and goes on, and the server's memory."""

from __future__ import annotations

import json
import re
import secrets
import signal
import statistics
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import written_once
from benchmarks.measure import BenchmarkError, Setting, say, time_command, twinset

CLUSTERS, EACH, WORDS = 100_000, 3, 150
QUICK = 2_000
VOCABULARY, SEED = 50_000, 19
TURNS = 15
GOALS = {"open": 2.0, "filter": 0.3, "next": 0.2, "memory": 500e6}

_FILTER = """
const [word] = arguments, field = document.getElementById("q"), list = document.getElementById("list");
const begun = performance.now();
return new Promise((done) => {
  const seen = new MutationObserver(() => {
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => done([performance.now() - begun, list.innerText.split("\\n")[0]])));
  });
  seen.observe(list, { childList: true });
  field.value = word;
  field.dispatchEvent(new Event("input", { bubbles: true }));
});
"""
_NEXT = """
const begun = performance.now(), before = document.getElementById("detail");
return new Promise((done) => {
  const seen = new MutationObserver(() => {
    if (document.getElementById("detail") === before) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
  });
  seen.observe(document.getElementById("shown"), { childList: true });
  document.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true }));
});
"""
_OPENED = "const [one] = performance.getEntriesByType('navigation'); return one.loadEventEnd - one.startTime"


def measure(setting: Setting) -> dict[str, Any]:
    from tests.report.browser import Browser, missing

    if why := missing():
        raise BenchmarkError(why)
    clusters = QUICK if setting.quick else CLUSTERS
    name = f"families-{clusters}x{EACH}.jsonl"
    source = written_once(setting.work / name, lambda path: write_families(path, clusters))
    out = setting.fresh("review")
    made = time_command([twinset(), "dedup", str(source), "-o", str(out), "--quiet", "--audit", "0"])
    say(f"  dedup {made.best:.1f} s")
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    token = secrets.token_hex(16)
    verdicts = setting.fresh("review.verdicts")
    command = [twinset(), "review", str(out), "--no-browser", "--token", token, "--verdicts", str(verdicts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            if not (found := re.fullmatch(r"review: (http://\S+/)\n", line)):
                raise BenchmarkError(f"the server said {line!r}")
            started = _memory(server.pid)
            with Browser() as browser:
                figures = _watch(browser, f"{found[1]}?token={token}", found[1])
            figures["memory"] = _memory(server.pid)
            figures["memory_started"] = started
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    shown = ", ".join(f"{name} {1e3 * figures[name]['median']:.0f} ms" for name in ("open", "filter", "next"))
    say(f"  {shown}, {figures['memory'] / 1e6:.0f} MB")
    return {"documents": summary["documents"], "clusters": summary["clusters"], "pairs": summary["pairs"],
            "text_bytes": summary["text_bytes"], **figures}  # fmt: skip


def _watch(browser: Any, start: str, root: str) -> dict[str, Any]:
    """Open, filter, go on and judge, as a person does; times in seconds, from the key to the picture."""
    browser.size(1200, 900)
    browser.visit(start)
    opened, filtered, further, judged = [], [], [], []
    for _ in range(TURNS):
        browser.visit(f"{root}clusters")
        opened.append(browser.run(_OPENED) / 1e3)
    known = vocabulary()
    words = [word for number in range(TURNS) for word in (f"family-{number * 6007}", known[number * 97][:4])]
    for word in words:
        milliseconds, _ = browser.run(_FILTER, word)
        filtered.append(milliseconds / 1e3)
    browser.visit(f"{root}clusters?order=least")
    further += [browser.run(_NEXT, "j") / 1e3 for _ in range(2 * TURNS)]
    judged += [browser.run(_NEXT, "d") / 1e3 for _ in range(TURNS)]
    return {
        name: {"median": statistics.median(some), "most": max(some), "all": some}
        for name, some in (("open", opened), ("filter", filtered), ("next", further), ("judge", judged))
    }


def _memory(pid: int) -> float:
    """The peak of the resident memory of a process, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("ascii"))
    if found is None:
        raise BenchmarkError("the system does not tell the memory of a process")
    return 1024.0 * int(found[1])


def vocabulary() -> list[str]:
    """Pseudo-words of two to four syllables."""
    dice = np.random.default_rng(SEED)
    syllables = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]
    picks = dice.integers(0, len(syllables), (VOCABULARY, 4))
    lengths = dice.integers(2, 5, VOCABULARY)
    return ["".join(syllables[one] for one in row[:size]) for row, size in zip(picks.tolist(), lengths, strict=True)]


def write_families(path: Path, clusters: int) -> None:
    """Write families of near-copies as JSON lines: a text, and others with up to a tenth of its words changed."""
    dice = np.random.default_rng(SEED)
    words = np.array(vocabulary())
    with open(path, "w", encoding="utf-8") as out:
        for family in range(clusters):
            length = int(dice.integers(WORDS - 40, WORDS + 40))
            text = (VOCABULARY * dice.random(length) ** 3).astype(np.int64)
            for member in range(EACH):
                own = text.copy()
                if member:
                    places = dice.integers(0, length, int(dice.integers(1, 3)))
                    own[places] = dice.integers(0, VOCABULARY, len(places))
                row = {"id": f"family-{family}-{member}", "text": " ".join(words[own].tolist())}
                out.write(json.dumps(row) + "\n")


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    what = {"open": "the page opens", "filter": "a filter", "next": "the next cluster"}
    lines = [
        (
            f"review of {result['clusters']:,} clusters: {what[name]}", f"≤ {1e3 * GOALS[name]:.0f} ms",
            f"{1e3 * result[name]['median']:.0f} ms (median), at most {1e3 * result[name]['most']:.0f}",
            result[name]["median"] <= GOALS[name],
        )
        for name in what
    ]  # fmt: skip
    memory = result["memory"]
    shown = f"{memory / 1e6:.0f} MB"
    return [*lines, ("review: memory of the server", "≤ 500 MB", shown, memory <= GOALS["memory"])]


def table(result: dict[str, Any]) -> str:
    lines = [
        f"A result of {result['documents']:,} documents ({result['text_bytes'] / 1e6:.0f} MB of text),"
        f" {result['clusters']:,} clusters and {result['pairs']:,} pairs, in Chromium, from the key or the address to"
        " the picture. A filter waits 60 ms for the next letter, which is counted.",
        "",
        "| | median, ms | longest, ms |",
        "|---|---:|---:|",
    ]
    names = {"open": "the page opens", "filter": "a filter", "next": "the next cluster", "judge": "a verdict, stored"}
    for name, words in names.items():
        lines.append(f"| {words} | {1e3 * result[name]['median']:.0f} | {1e3 * result[name]['most']:.0f} |")
    return "\n".join([*lines, "", f"Peak memory of the server: {result['memory'] / 1e6:.0f} MB."])
