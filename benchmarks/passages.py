"""Shared passages: against `dedup` of the same file, a suffix array and copydetect; crowds, growth and memory.

Twinset's times are those of whole processes, from start to exit, unless a line says otherwise.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.corpora import generated, headed, identical, questions, text_bytes, text_files
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.growth import parse_size
from benchmarks.measure import BenchmarkError, Setting, Timing, run_program, say, time_command, time_dedup, twinset

LEAST, QUESTION, SHORTEST, HEADER = 50, 41, 13, 200
_SUFFIX = ("pydivsufsort==0.0.20", ARROW)
_MODULE = "benchmarks.peers.suffix_array_passages"
SUFFIX_ARRAYS = (
    (Peer("pydivsufsort, bytes", _SUFFIX, _MODULE, 20_000, 1, "the words as text", 1.0), ("--bytes",)),
    (Peer("pydivsufsort, words", _SUFFIX, _MODULE, 20_000, 1, "the words as integers", 1.0), ()),
)
_COPYDETECT = (("copydetect==0.5.0",), "benchmarks.peers.copydetect_passages", 2_000, 1)
COPYDETECT = (
    (Peer("copydetect", *_COPYDETECT, "runs of 30 characters, its default", 1.0), ()),
    (Peer("copydetect, long runs", *_COPYDETECT, "runs of 300 characters", 1.0), ("--long",)),
)


def measure(setting: Setting) -> dict[str, Any]:
    full, tenth, pairs = (4_000, 400, 200) if setting.quick else (200_000, 20_000, 2_000)
    corpus, small = generated(setting, full), generated(setting, tenth)
    result: dict[str, Any] = {"memory": setting.memory, "documents": {"full": full, "tenth": tenth, "pairs": pairs}}
    result["bytes"] = {"full": text_bytes(corpus), "tenth": text_bytes(small)}
    result["all"] = _against_dedup(setting, corpus, small)
    result["questions"] = _questions(setting, corpus, small, result["all"]["dedup"]["best"])
    result["suffix array"] = _suffix_arrays(setting, small)
    result["copydetect"] = _copydetect(setting, generated(setting, pairs))
    result["hot"] = _hot(setting)
    return result


def time_passages(setting: Setting, source: Path, *words: str, repeat: int = 1) -> tuple[Timing, dict[str, Any]]:
    """Time `twinset passages` from start to exit, each time into a folder that is not there yet; and its summary."""
    runs = []
    for _ in range(repeat):
        out = setting.fresh("passages")
        os.sync()  # what an earlier run wrote is not to be written to disk during this one
        runs.append(time_command([twinset(), "passages", str(source), "-o", str(out), "--quiet", *words]))
    best = min(runs, key=lambda run: run.best)
    timing = Timing(tuple(run.best for run in runs), best.cpu, max(run.peak for run in runs), runs[-1].errors)
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text("utf-8"))
    return timing, summary


def _timed(setting: Setting, name: str, source: Path, *words: str) -> dict[str, Any]:
    timing, summary = time_passages(setting, source, *words, repeat=setting.repeat)
    say(f"  {name}: {timing.best:.2f} s, {timing.peak / 1e9:.2f} GB, {summary['passages']:,} passages")
    return {**timing.to_dict(), "passages": summary["passages"], "boilerplate": summary["boilerplate"]}


def _against_dedup(setting: Setting, corpus: Path, small: Path) -> dict[str, Any]:
    """All documents against all, with and without a memory limit, and a tenth of them; beside our own dedup."""
    dedup = time_dedup(setting, corpus, repeat=setting.repeat)
    say(f"  dedup: {dedup.best:.2f} s, {dedup.peak / 1e9:.2f} GB")
    words = ("--least", str(LEAST))
    return {
        "dedup": dedup.to_dict(),
        "full": _timed(setting, "passages", corpus, *words),
        "limited": _timed(setting, f"--memory {setting.memory}", corpus, *words, "--memory", setting.memory),
        "tenth": _timed(setting, "a tenth", small, *words),
    }


def _questions(setting: Setting, corpus: Path, small: Path, dedup: float) -> dict[str, Any]:
    """Questions against a large and a small corpus: every second one stands there."""
    count = 100 if setting.quick else 1_000
    result: dict[str, Any] = {"questions": count}
    for name, source in (("full", corpus), ("tenth", small)):
        asked = questions(setting, source, count, QUESTION)
        words = ("--against", str(source), "--least", str(SHORTEST))
        result[name] = _timed(setting, f"{count:,} questions, {source.stem}", asked, *words)
        table = pq.read_table(setting.work / "out" / "passages" / "copied.parquet", filters=[("role", "==", "source")])
        known = {row["id"]: row["copied"] for row in table.to_pylist() if row["id"].startswith("known")}
        result[name] |= {"known": len(known), "found": sum(copied > 0 for copied in known.values())}
    result["times"] = result["full"]["best"] / dedup
    return result


def _suffix_arrays(setting: Setting, corpus: Path) -> dict[str, Any]:
    """The same runs by suffix arrays, in one thread each; whether they are the same, and time and memory."""
    runs = setting.fresh("runs.parquet")
    words = ("--least", str(LEAST))
    own = run_program(
        sys.executable, "benchmarks.own_passages", str(corpus), str(runs), *words, "--repeat", str(setting.repeat)
    )
    process = _timed(setting, "one thread", corpus, *words, "--threads", "1")
    idle, _ = time_passages(setting, generated(setting, 20), *words, "--threads", "1")
    own |= {"process": process, "idle": idle.peak, "beyond": process["peak"] - idle.peak}
    say(f"  texts in memory, one thread: {own['best']:.2f} s")
    contestants: list[dict[str, Any]] = []
    for peer, flags in SUFFIX_ARRAYS:
        line: dict[str, Any] = {"name": peer.name, "setup": peer.setup, "packages": peer.packages}
        try:
            program = interpreter(peer, setting.venvs)
            found = [run_program(program, peer.module, str(corpus), str(runs), *words, *flags)]
            found += [
                run_program(program, peer.module, str(corpus), str(runs), *words, *flags)
                for _ in range(setting.repeat - 1)
            ]
            best = min(found, key=lambda one: float(one["best"]))
            say(f"  {peer.name}: {best['best']:.2f} s, {best['missed']} missed, {best['extra']} too many")
            line |= {**best, "times": best["best"] / own["best"], "beyond": best["peak"] - best["idle"]}
            line["from texts"] = (best["best"] + best["seconds"]["words"]) / own["best"]
        except BenchmarkError as error:
            say(f"  {peer.name} left out: {error}")
            line["failed"] = str(error)
        contestants.append(line)
    return {"own": own, "contestants": contestants}


def _copydetect(setting: Setting, corpus: Path) -> dict[str, Any]:
    """All pairs of the files of a folder."""
    folder = text_files(corpus)
    own = _timed(setting, f"{folder.name}", folder, "--least", str(LEAST))
    table = pq.read_table(setting.work / "out" / "passages" / "passages.parquet", columns=["left", "right"])
    mine = {tuple(sorted(pair)) for pair in zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True)}
    contestants: list[dict[str, Any]] = []
    for peer, flags in COPYDETECT:
        line: dict[str, Any] = {"name": peer.name, "setup": peer.setup, "packages": peer.packages}
        try:
            found = run_program(interpreter(peer, setting.venvs), peer.module, str(folder), *flags)
            say(f"  {peer.name}: {found['best']:.1f} s")
            theirs = {(left, right) for left, right in found["pairs"]}
            counts = {"pairs": len(theirs), "missed": len(mine - theirs), "extra": len(theirs - mine)}
            line |= {"best": found["best"], "times": found["best"] / own["best"], **counts}
        except BenchmarkError as error:
            say(f"  {peer.name} left out: {error}")
            line["failed"] = str(error)
        contestants.append(line)
    return {"own": {**own, "pairs": len(mine)}, "contestants": contestants}


def _hot(setting: Setting) -> list[dict[str, Any]]:
    many, some = (4_000, 1_000) if setting.quick else (100_000, 20_000)
    cases = (
        (f"{many:,} unrelated documents", generated(setting, many, copies=0), None),
        (f"{some:,} unrelated documents", generated(setting, some, copies=0), None),
        (f"{many:,} copies of one document", identical(setting, many), 0),
        (f"{some:,} documents with one header of {HEADER} words", headed(setting, some, HEADER), 1),
    )
    results: list[dict[str, Any]] = []
    for name, corpus, baseline in cases:
        line = {"name": name, "bytes": text_bytes(corpus), "baseline": baseline}
        results.append(line | _timed(setting, name, corpus, "--least", str(LEAST)))
        if baseline is not None:
            results[-1]["times"] = results[-1]["best"] / results[baseline]["best"]
    return results


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    every, asked, limit = result["all"], result["questions"], parse_size(result["memory"])
    times = every["full"]["best"] / every["dedup"]["best"]
    limited = every["limited"]["best"] / every["full"]["best"]
    growth = every["full"]["best"] / every["tenth"]["best"]
    size = result["bytes"]["full"] / result["bytes"]["tenth"]
    peak, memory = every["limited"]["peak"], asked["full"]["peak"] / asked["tenth"]["peak"]
    found = f"{asked['full']['found']:,} of {asked['full']['known']:,}"
    what = f"passages of {result['documents']['full']:,} documents"
    lines = [
        (f"{what}, against dedup", "≤ 3×, aim 2×", f"{times:.2f}×", times <= 3),
        (f"{what}, --memory {result['memory']}: time", "≤ 2.5× unlimited", f"{limited:.2f}×", limited <= 2.5),
        (f"{what}, --memory {result['memory']}: peak resident", f"≤ {1.4 * limit / 1e9:.2f} GB",
         f"{peak / 1e9:.2f} GB", peak <= 1.4 * limit),
        (f"{what}, {size:.0f} times the text", f"≤ {1.2 * size:.1f}×", f"{growth:.1f}×", growth <= 1.2 * size),
        (f"{asked['questions']:,} questions against them, against dedup", "≤ 1.2×", f"{asked['times']:.2f}×",
         asked["times"] <= 1.2),
        ("questions that stand there, found", "all", found, asked["full"]["found"] == asked["full"]["known"]),
        (f"questions: memory, {size:.0f} times the larger side", "the same", f"{memory:.2f}×", memory <= 1.25),
    ]  # fmt: skip
    hot = [one for one in result["hot"] if "times" in one]
    return [
        *lines,
        *_goals_of_peers(result),
        *((f"passages of {one['name']}", "≤ 3× unrelated", f"{one['times']:.2f}×", one["times"] <= 3) for one in hot),
    ]


def _goals_of_peers(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    lines = []
    own, text = result["suffix array"]["own"], result["bytes"]["tenth"]
    for one in result["suffix array"]["contestants"]:
        what = f"runs of {text / 1e6:.0f} MB against {one['name']}, one thread"
        if "failed" in one:
            lines.append((what, "the same runs", "not measured", False))
            continue
        same = one["missed"] == one["extra"] == 0
        lines.append((what, "the same runs", f"{one['missed']} missed, {one['extra']} too many", same))
        if one["name"] == SUFFIX_ARRAYS[0][0].name:
            lines.append((f"{what}: time", "≥ 5×", f"{one['times']:.1f}×", one["times"] >= 5))
    beyond = own["beyond"] / text
    lines.append(("the same: memory beyond an idle process", "≤ 4× the text", f"{beyond:.1f}×", beyond <= 4))
    peer = result["copydetect"]["contestants"][0]
    figure = f"{peer['times']:.0f}×" if "times" in peer else "not measured"
    what = f"all pairs of {result['documents']['pairs']:,} documents against copydetect"
    return [*lines, (what, "≥ 100×", figure, peer.get("times", 0) >= 100)]


def table(result: dict[str, Any]) -> str:
    size = {name: f"{value / 1e6:,.0f} MB" for name, value in result["bytes"].items()}
    every, asked = result["all"], result["questions"]
    lines = ["| | text | seconds | × dedup | peak memory | passages |", "|---|---:|---:|---:|---:|---:|"]
    rows = (
        ("`dedup`", size["full"], every["dedup"]),
        (f"`passages --least {LEAST}`", size["full"], every["full"]),
        (f"the same, `--memory {result['memory']}`", size["full"], every["limited"]),
        (f"the same, {result['documents']['tenth']:,} documents", size["tenth"], every["tenth"]),
        (f"{asked['questions']:,} questions of {QUESTION} words `--against` it, `--least {SHORTEST}`", size["full"],
         asked["full"]),
        ("the same", size["tenth"], asked["tenth"]),
    )  # fmt: skip
    for name, text, one in rows:
        times = f"{one['best'] / every['dedup']['best']:.2f}" if text == size["full"] else ""
        count = f"{one['passages']:,}" if "passages" in one else ""
        lines.append(f"| {name} | {text} | {one['best']:.2f} | {times} | {one['peak'] / 1e9:.2f} GB | {count} |")
    return "\n".join([*lines, "", *_suffix_table(result), "", *_copydetect_table(result), "", *_hot_table(result)])


def _suffix_table(result: dict[str, Any]) -> list[str]:
    own, text = result["suffix array"]["own"], result["bytes"]["tenth"]
    lines = [
        f"Every maximal run of at least {LEAST} words in {text / 1e6:,.0f} MB, one thread each. Twinset's clock runs"
        " from texts in memory to passages in memory. That of pydivsufsort begins when the words are known; the fifth"
        " column adds the time to find them in the texts. Memory is what is used beyond an idle process. The whole"
        f" process of Twinset takes {own['process']['best']:.2f} seconds.",
        "",
        "| | | seconds | twinset is faster by | from texts, by | memory, × text | runs | missed | too many |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
        f"| twinset | | {own['best']:.2f} | | | {own['beyond'] / text:.1f} | {own['passages']:,} | | |",
    ]
    for one in result["suffix array"]["contestants"]:
        if "failed" in one:
            lines.append(f"| {one['name']} | not measured | | | | | | | |")
            continue
        lines.append(
            f"| {one['name']} | {one['setup']} | {one['best']:.2f} | {one['times']:.1f}× | {one['from texts']:.1f}×"
            f" | {one['beyond'] / text:.1f} | {one['runs']:,} | {one['missed']:,} | {one['extra']:,} |"
        )
    return lines


def _copydetect_table(result: dict[str, Any]) -> list[str]:
    copies = result["copydetect"]
    lines = [
        f"All pairs of {result['documents']['pairs']:,} text files. copydetect compares characters, so it finds other"
        " pairs, too; it runs once, from files on disk to copied slices in memory.",
        "",
        "| | | seconds | twinset is faster by | pairs of documents | missed | others |",
        "|---|---|---:|---:|---:|---:|---:|",
        f"| twinset | whole process | {copies['own']['best']:.2f} | | {copies['own']['pairs']:,} | | |",
    ]
    for one in copies["contestants"]:
        if "failed" in one:
            lines.append(f"| {one['name']} | not measured | | | | | |")
            continue
        lines.append(
            f"| {one['name']} | {one['setup']} | {one['best']:.1f} | {one['times']:.0f}× | {one['pairs']:,}"
            f" | {one['missed']:,} | {one['extra']:,} |"
        )
    return lines


def _hot_table(result: dict[str, Any]) -> list[str]:
    lines = ["| | text | seconds | × unrelated | peak memory | passages |", "|---|---:|---:|---:|---:|---:|"]
    for case in result["hot"]:
        times = f"{case['times']:.2f}" if "times" in case else ""
        lines.append(
            f"| {case['name']} | {case['bytes'] / 1e6:,.0f} MB | {case['best']:.2f} | {times}"
            f" | {case['peak'] / 1e9:.2f} GB | {case['passages']:,} |"
        )
    return lines
