"""All pairs of bit codes within three bits, against simhash-pybind and FAISS; and SimHash against MinHash on text.

Everybody has the same codes in memory and one thread, and gives pairs. simhash-pybind takes a set of Python's whole
numbers, FAISS an array of bytes, Twinset an array of 64-bit numbers; each clock runs from there, after a warm-up.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.corpora import generated, written_once
from benchmarks.environments import Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say

DISTANCE = 3
SEED = 20240301
GROUP = 10  # equal codes in a group, a tenth of all codes in groups
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
NUMPY = "numpy==2.4.6"
PEERS = (
    Peer(
        "simhash-pybind", ("simhash-pybind==0.0.3", NUMPY), "benchmarks.peers.simhash_pairs", 1_000_000, 1,
        "find_all, the best of 4, 5 and 6 blocks", 1.0,
    ),
    Peer(
        "FAISS", ("faiss-cpu==1.15.1", NUMPY), "benchmarks.peers.faiss_codes", 1_000_000, 1,
        "range search of IndexBinaryMultiHash, the better of 4×16 bits and of 2×32 bits with one flipped", 1.0,
    ),
)  # fmt: skip

Codes = npt.NDArray[np.uint64]


def measure(setting: Setting) -> dict[str, Any]:
    total = 100_000 if setting.quick else 1_000_000
    files = {"random": _codes(setting, total, grouped=False), "grouped": _codes(setting, total, grouped=True)}
    found = {name: setting.fresh(f"code-pairs-{name}.npy") for name in files}
    result: dict[str, Any] = {"codes": total, "distance": DISTANCE}
    for name, path in files.items():
        words = [str(path), str(found[name]), str(DISTANCE), "--repeat", str(2 * setting.repeat + 1)]
        own = run_program(sys.executable, "benchmarks.own_codes", *words, env=ONE_THREAD)
        say(f"  {name}: twinset {own['best']:.3f} s, {own['pairs']:,} pairs, {own['wrong']} wrong")
        result[name] = [{"name": "twinset", "setup": "find_pairs, an array of codes to a table of pairs", **own}]
    for peer in PEERS:
        for name, path in files.items():
            result[name].append(_peer(setting, peer, path, found[name]))
    words = [str(files["random"]), "--repeat", "1"]
    result["distances"] = run_program(sys.executable, "benchmarks.own_codes", *words, env=ONE_THREAD)["distances"]
    corpus = generated(setting, 5_000 if setting.quick else 20_000)
    result["text"] = run_program(sys.executable, "benchmarks.own_code_texts", str(corpus))
    return result


def _codes(setting: Setting, total: int, grouped: bool) -> Path:
    """Random codes; a thousandth of them one to three bits from another, and as many four to six bits."""
    kind = "grouped" if grouped else "random"

    def write(path: Path) -> None:
        rng = np.random.default_rng([SEED, total])
        codes = rng.integers(0, 2**64, total, np.uint64)
        planted = total // 500
        for place in range(planted):
            flips = rng.choice(64, 1 + place % 6, replace=False).astype(np.uint64)
            codes[total - 1 - place] = codes[place] ^ np.bitwise_xor.reduce(np.uint64(1) << flips)
        if grouped:
            chosen = planted + rng.permutation(total - 2 * planted)[: total // 10].reshape(-1, GROUP)
            codes[chosen] = codes[chosen[:, :1]]
        with path.open("wb") as file:
            np.save(file, codes[rng.permutation(total)])

    return written_once(setting.work / f"codes-{kind}-{total}.npy", write)


def _peer(setting: Setting, peer: Peer, codes: Path, pairs: Path) -> dict[str, Any]:
    known = {"name": peer.name, "setup": peer.setup, "packages": peer.packages}
    try:
        words = (str(codes), str(pairs), str(DISTANCE))
        found = run_program(interpreter(peer, setting.venvs), peer.module, *words, env=ONE_THREAD)
    except BenchmarkError as error:
        say(f"  {peer.name} left out: {error}")
        return known | {"failed": str(error)}
    say(f"  {peer.name} {found['best']:.2f} s, missed {found['missed']}, too many {found['extra']}")
    return known | found


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    own, *others = result["random"]
    grouped = result["grouped"][0]
    what = f"pairs within {DISTANCE} bits of {result['codes']:,} codes of 64 bits"
    measured = [one for one in others if "failed" not in one]
    if len(measured) < len(PEERS):
        return [(f"{what}, one thread", "no more than the faster peer's time", "not measured", False)]
    fastest = min(measured, key=lambda one: float(one["best"]))
    checked = measured + [one for one in result["grouped"][1:] if "failed" not in one]
    same = own["wrong"] == grouped["wrong"] == 0 and all(one["missed"] + one["extra"] == 0 for one in checked)
    share, more = own["best"] / fastest["best"], grouped["best"] / fastest["best"]
    return [
        (f"{what} against {fastest['name']}", "≤ 1, the same pairs", f"{share:.3f}", share <= 1 and same),
        (
            f"{what}, a tenth of them in groups of {GROUP} equal ones", f"≤ 2 of {fastest['name']}'s time, none wrong",
            f"{more:.3f} ({grouped['cpu'] / own['cpu']:.2f} of its own processor time)", more <= 2 and same,
        ),
    ]  # fmt: skip


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['codes']:,} codes of 64 bits, random but for a few thousand near others; all pairs within"
        f" {result['distance']} bits, one thread. A sample of codes was compared with all to check Twinset's pairs.",
        "",
        "| | how | random: s | processor s | pairs | a tenth in groups of ten: s | processor s | pairs |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one, other in zip(result["random"], result["grouped"], strict=True):
        cells = [
            "not measured | | " if "failed" in run else f"{run['best']:.3f} | {run['cpu']:.3f} | {run['pairs']:,}"
            for run in (one, other)
        ]
        lines.append(f"| {one['name']} | {one['setup']} | {' | '.join(cells)} |")
    lines += [
        "",
        "simhash-pybind takes a set, so equal codes are one to it. FAISS gives both orders, and each code itself.",
    ]
    lines += ["", "| within bits | blocks (bits, radius) | s | pairs |", "|---:|---|---:|---:|"]
    for one in result["distances"]:
        blocks = ", ".join(f"{width}+{radius}" for width, radius in one["blocks"])
        lines.append(f"| {one['distance']} | {blocks} | {one['best']:.2f} | {one['pairs']:,} |")
    return "\n".join([*lines, "", *_text_table(result["text"])])


def _text_table(text: dict[str, Any]) -> list[str]:
    """How well codes of equal length tell pairs at the threshold from all others."""
    lines = [
        f"Codes of texts: {text['documents']:,} documents, {text['true']:,} pairs of Jaccard ≥ {text['threshold']} of"
        f" word:5 shingles. A pair is called near if its codes are within so many bits; of the same number of bits a"
        " code holds SimHash, or one bit of each of as many MinHash slots.",
        "",
        "| code | recall at precision ≥ 0.9 | ≥ 0.99 | precision at recall ≥ 0.9 | ≥ 0.99 | recall within 3 bits |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for one in text["methods"]:
        shown = " | ".join(f"{one[name]:.3f}" for name in ("r90", "r99", "p90", "p99", "within3"))
        lines.append(f"| {one['name']} | {shown} |")
    lines += ["", "Share found within 3 bits, by similarity:", ""]
    names = [one["name"] for one in text["methods"]]
    lines += [f"| Jaccard | pairs | {' | '.join(names)} |", f"|---|---:|{'---:|' * len(names)}"]
    for number, (low, high, pairs) in enumerate(text["bins"]):
        shares = " | ".join(f"{one['by_similarity'][number]:.3f}" for one in text["methods"])
        lines.append(f"| {low:.2f} to {high:.2f} | {pairs:,} | {shares} |")
    return lines
