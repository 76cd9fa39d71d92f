"""Raw text to 128-slot sketches on one thread: Twinset, rensa, and Twinset's own tokenising alone."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.corpora import generated, sampled
from benchmarks.environments import PEERS, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say


def measure(setting: Setting) -> dict[str, Any]:
    corpus = sampled(generated(setting, 20_000 if setting.quick else 200_000), 20_000)
    words = (str(corpus), "--repeat", str(setting.repeat))
    own = run_program(sys.executable, "benchmarks.own_sketch", *words)
    result: dict[str, Any] = {
        "bytes": own["bytes"],
        "sketch": own["bytes"] / min(own["sketch"]),
        "tokenise": own["bytes"] / min(own["tokenise"]),
        "split": own["bytes"] / min(own["split"]),
        "raw": {"twinset": own},
    }
    try:
        peer = next(peer for peer in PEERS if peer.name == "rensa")
        python = interpreter(peer, setting.venvs)
        rensa = run_program(python, "benchmarks.peers.rensa_sketch", *words, env={"RAYON_NUM_THREADS": "1"})
        result["rensa"] = rensa["bytes"] / min(rensa["seconds"])
        result["raw"]["rensa"] = rensa
    except BenchmarkError as error:
        say(f"  rensa left out: {error}")
    return result


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    share = result["sketch"] / result["tokenise"]
    lines = [("sketch, one thread, against own tokenising", "≥ 0.6", f"{share:.2f}", share >= 0.6)]
    if "rensa" in result:
        times = result["sketch"] / result["rensa"]
        lines.insert(0, ("text to sketch, one thread, against rensa", "≥ 15×", f"{times:.1f}×", times >= 15))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['bytes'] / 1e6:,.0f} MB of text in memory, word:5, 128 slots, one thread.",
        "",
        "| | MB/s |",
        "|---|---:|",
        f"| Twinset, text to sketches | {result['sketch'] / 1e6:,.0f} |",
        f"| Twinset, tokenising alone: text to hashed words | {result['tokenise'] / 1e6:,.0f} |",
        f"| Twinset, word borders alone | {result['split'] / 1e6:,.0f} |",
    ]
    if "rensa" in result:
        lines.append(f"| rensa, shingled in Python | {result['rensa'] / 1e6:,.1f} |")
    return "\n".join(lines)
