"""Weighted sets to sketches of 128 slots, one thread, against datasketch's consistent weighted sampling.

Both have the sets in memory, elements as numbers with their weights; the clock runs from there, after a warm-up.
datasketch is measured with both of its functions, the quicker of them over several batch sizes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.codes import ONE_THREAD
from benchmarks.corpora import written_once
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say

SEED = 20240401
VOCABULARY = 20_000
SIZES = (20, 100, 300, 1000)
PEER = Peer(
    "datasketch", ("datasketch==2.0.0", ARROW), "benchmarks.peers.datasketch_weighted", 2_000, 1,
    "WeightedMinHashGenerator, the quicker of minhash and minhash_many", 1.0,
)  # fmt: skip


def measure(setting: Setting) -> dict[str, Any]:
    pairs = 200 if setting.quick else 1_000
    path = _sets(setting, pairs)
    words = (str(path), "--repeat", str(setting.repeat))
    own = run_program(sys.executable, "benchmarks.own_weighted", *words, env=ONE_THREAD)
    say(f"  twinset {own['best'] * 1e6 / own['sets']:.0f} µs a set")
    result: dict[str, Any] = {"pairs": pairs, "vocabulary": VOCABULARY, "own": own}
    try:
        python = interpreter(PEER, setting.venvs)
        peer = run_program(python, PEER.module, *words, env=ONE_THREAD)
        say(f"  datasketch {peer['best'] * 1e6 / peer['sets']:.0f} µs a set ({peer['how']})")
        result["peer"] = peer | {"packages": PEER.packages}
    except BenchmarkError as error:
        say(f"  datasketch left out: {error}")
    return result


def _sets(setting: Setting, pairs: int) -> Path:
    """Pairs of bags of words: sizes log-normal around 300, words by Zipf's law, weights as tf-idf would give them.

    The second of a pair is the first with its weights changed and some words replaced, more and more of them.
    """

    def write(path: Path) -> None:
        rng = np.random.default_rng([SEED, pairs])
        shares = 1.0 / np.arange(10, VOCABULARY + 10)
        shares /= shares.sum()
        columns, weights, offsets = [], [], [0]
        for number in range(pairs):
            size = int(np.clip(rng.lognormal(np.log(300), 0.7), 10, 3000))
            words = rng.choice(VOCABULARY, size, replace=False, p=shares)
            weight = rng.geometric(0.6, size) * np.log1p(1.0 / shares[words] / 100)
            spread = number / pairs
            other = np.where(rng.random(size) < 0.5 * spread, rng.integers(0, VOCABULARY, size), words)
            other, first = np.unique(other, return_index=True)
            for chosen, given in ((words, weight), (other, (weight * np.exp(spread * rng.normal(0, 1, size)))[first])):
                order = np.argsort(chosen)
                columns.append(chosen[order].astype(np.int64))
                weights.append(given[order].astype(np.float32).astype(np.float64))
                offsets.append(offsets[-1] + len(chosen))
        with path.open("wb") as file:
            np.savez(file, columns=np.concatenate(columns), weights=np.concatenate(weights), offsets=np.array(offsets))

    return written_once(setting.work / f"weighted-{pairs}.npz", write)


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    own, peer = result["own"], result.get("peer")
    ratio, bias = own["variance"], own["bias"]
    lines = [
        ("weighted sketch: variance against independent samples", "≤ 1.1", f"{ratio:.3f}", ratio <= 1.1),
        ("weighted sketch: bias in standard errors", "≤ 3", f"{abs(bias):.2f}", abs(bias) <= 3),
    ]
    what = "weighted sets to sketches, one thread, against datasketch"
    if peer is None:
        return [*lines, (what, "≥ 10×", "not measured", False)]
    times = peer["best"] / own["best"]
    return [*lines, (what, "≥ 10×", f"{times:.1f}×", times >= 10)]


def table(result: dict[str, Any]) -> str:
    own, peer = result["own"], result.get("peer")
    lines = [
        f"{own['sets']:,} bags of {own['elements'] / own['sets']:.0f} words on average, of {result['vocabulary']:,}"
        " words; 128 slots, one thread. Variance and bias are those of the estimates of"
        f" {result['pairs']:,} pairs, by the variance of 128 independent samples and in standard errors.",
        "",
        "| | µs a set | variance | bias | how |",
        "|---|---:|---:|---:|---|",
    ]
    for name, one in (("Twinset", own), ("datasketch", peer)):
        if one is None:
            lines.append(f"| {name} | not measured | | | |")
            continue
        figures = f"{one['best'] * 1e6 / one['sets']:,.1f} | {one['variance']:.3f} | {one['bias']:+.2f}"
        lines.append(f"| {name} | {figures} | {one['how']} |")
    lines += ["", "Sets of one size, µs a set:", "", f"| elements | {' | '.join(map(str, SIZES))} |"]
    lines += [f"|---|{'---:|' * len(SIZES)}"]
    for name, one in (("Twinset", own), ("datasketch", peer)):
        if one is not None:
            lines.append(f"| {name} | {' | '.join(f'{figure:,.1f}' for figure in one['by_size'])} |")
    return "\n".join(lines)
