"""Perceptual hashes of pictures whose families are known, against the package imagehash; and the time they take.

Everybody reads the same files, one thread. A pair is called near if its codes are within so many bits; it is right if
the two are of one family. The ten nearest by colour layout are asked for each edited picture, among all of them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import picture_sets
from benchmarks.codes import NUMPY, ONE_THREAD
from benchmarks.environments import Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say

DISTANCE, MOST = 6, 24
PRECISION = (0.9, 0.95)
PEER = Peer(
    "imagehash", ("imagehash==4.3.2", "pillow==13.0.0", NUMPY), "benchmarks.peers.imagehash_codes", 5_000, 1,
    "phash and dhash of 64 bits", 1.0,
)  # fmt: skip

Codes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


def measure(setting: Setting) -> dict[str, Any]:
    families = 60 if setting.quick else 300
    small = _folder(setting, f"pictures-{families}", lambda place: picture_sets.write(place, families))
    large = _folder(setting, "large-pictures", _write_large)
    names = [path.stem.split("-") for path in sorted(small.iterdir())]
    result: dict[str, Any] = {"pictures": len(names), "families": len({name[0] for name in names}), "distance": DISTANCE}
    codes = setting.fresh("picture-codes.npz")
    words = (str(small), str(large), str(codes), "--repeat", str(setting.repeat))
    own = run_program(sys.executable, "benchmarks.own_images", *words, env=ONE_THREAD)
    held = np.load(codes)
    result["methods"] = [{"name": "twinset", "times": own, **_told(held["phash"], names)}]
    result["nearest"] = _nearest(held["layouts"], names)
    try:
        times = run_program(interpreter(PEER, setting.venvs), PEER.module, *words, env=ONE_THREAD)
        for method, found in np.load(codes).items():
            mine = {size: times[f"{size} {method}"] for size in ("small", "large")}
            result["methods"].append({"name": f"imagehash {method}", "times": mine, **_told(found, names)})
    except BenchmarkError as error:
        say(f"  imagehash left out: {error}")
    for one in result["methods"]:
        say(f"  {one['name']}: recall {one['recall']:.3f}, precision {one['precision']:.3f} within {DISTANCE} bits")
    return result


def _folder(setting: Setting, name: str, write: Any) -> Path:
    """A folder that is written once: beside its place, and moved there when it is whole."""
    place, made = setting.work / name, setting.fresh(name)
    if not place.exists():
        write(made)
        shutil.move(made, place)
    return place


def _write_large(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number in range(12):
        (folder / f"{number:02d}.jpg").write_bytes(picture_sets.large(number))


def _told(codes: Codes, names: list[list[str]]) -> dict[str, Any]:
    """Recall and precision within each distance, and by edit and by kind at the default one."""
    family = np.array([int(name[0]) for name in names])
    plain = np.array([name[1] in picture_sets.PLAIN for name in names])
    right, found = (np.zeros((2, MOST + 1), np.int64) for _ in range(2))
    true = np.zeros(2, np.int64)
    for row in range(len(codes)):
        apart = _ones(codes[row] ^ codes[row + 1 :])
        same = family[row + 1 :] == family[row]
        side = int(plain[row])
        true[side] += int(same.sum())
        right[side] += _counts(apart[same])
        # A wrong pair counts as plain only if both are.
        for place, others in ((1, plain[row + 1 :] & plain[row]), (0, ~(plain[row + 1 :] & plain[row]))):
            found[place] += _counts(apart[~same & others])
    found += right
    curve = [
        {"distance": d, "recall": float(right[:, d].sum() / true.sum()), "precision": _share(right[:, d], found[:, d])}
        for d in range(MOST + 1)
    ]
    at = {
        str(least): max((one["recall"] for one in curve if one["precision"] >= least), default=0.0) for least in PRECISION
    }
    rich = {"recall": float(right[0, DISTANCE] / true[0]), "precision": _share(right[0, DISTANCE], found[0, DISTANCE])}
    poor = {"recall": float(right[1, DISTANCE] / true[1]), "precision": _share(right[1, DISTANCE], found[1, DISTANCE])}
    chosen = curve[DISTANCE]
    edits = _by_edit(codes, family, [name[2] for name in names])
    return {**chosen, "curve": curve, "at": at, "rich": rich, "plain": poor, "edits": edits}


def _by_edit(codes: Codes, family: npt.NDArray[np.int64], edits: list[str]) -> dict[str, float]:
    """The share of pictures whose edited copy is within the default distance."""
    every = np.array(edits)
    own = {int(family[row]): codes[row] for row in np.flatnonzero(every == "itself")}
    shares = {}
    for edit in picture_sets.EDITS:
        rows = np.flatnonzero(every == edit)
        apart = _ones(codes[rows] ^ np.array([own[int(family[row])] for row in rows], np.uint64))
        shares[edit] = float((apart <= DISTANCE).mean())
    shares.pop("itself")
    return shares


def _nearest(layouts: npt.NDArray[np.float32], names: list[list[str]]) -> dict[str, float]:
    """Of the ten nearest of each picture, and of the nearest alone, how many are of its family."""
    family = np.array([int(name[0]) for name in names])
    vectors = layouts.astype(np.float64)
    squares = (vectors**2).sum(axis=1)
    first, ten = 0, 0
    for row in range(len(vectors)):
        apart = squares - 2 * (vectors @ vectors[row])
        apart[row] = np.inf
        best = np.argsort(apart)[:10]
        first += int(family[best[0]] == family[row])
        ten += int((family[best] == family[row]).sum())
    return {"first": first / len(vectors), "ten": ten / (10 * len(vectors))}


def _ones(words: Codes) -> npt.NDArray[np.int64]:
    return np.asarray(np.bitwise_count(words), np.int64)


def _counts(apart: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many are within 0, 1, … bits."""
    return np.cumsum(np.bincount(apart, minlength=65)[: MOST + 1])


def _share(right: Any, found: Any) -> float:
    return float(np.sum(right) / np.sum(found)) if np.sum(found) else 1.0


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    own, *others = result["methods"]
    what = f"hashes of {result['pictures']:,} pictures"
    if not others:
        return [(f"{what} against imagehash", "no less recall at equal precision", "not measured", False)]
    least = str(PRECISION[0])
    best = max(others, key=lambda one: float(one["at"][least]))
    fastest = {size: min(one["times"][size]["best"] for one in others) for size in ("small", "large")}
    times = {size: fastest[size] / own["times"][size]["best"] for size in fastest}
    return [
        (
            f"{what}, recall at precision ≥ {least}", f"no less than {best['name']}'s, {best['at'][least]:.3f}",
            f"{own['at'][least]:.3f}", own["at"][least] >= best["at"][least],
        ),
        (f"{what}, one thread, against imagehash", "≥ 1×", f"{times['small']:.1f}×", times["small"] >= 1),
        ("hashes of JPEGs of 12 megapixels against imagehash", "≥ 3×", f"{times['large']:.1f}×", times["large"] >= 3),
    ]  # fmt: skip


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['pictures']:,} pictures of {result['families']} families: drawn scenes and pieces of photographs, each"
        f" with {len(picture_sets.EDITS) - 1} edited copies. Recall is over all pairs of a family, precision over all"
        f" pairs found; plain pictures are gradients, stripes and symbols.",
        "",
        f"| | recall within {result['distance']} bits | precision | recall at precision ≥ 0.9 | ≥ 0.95 |"
        " rich: recall | precision | plain: recall | precision | small pictures a second | of 12 megapixels |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in result["methods"]:
        rates = [one["times"][size]["files"] / one["times"][size]["best"] for size in ("small", "large")]
        shares = [one["recall"], one["precision"], *one["at"].values()]
        shares += [one[side][name] for side in ("rich", "plain") for name in ("recall", "precision")]
        cells = " | ".join(f"{share:.3f}" for share in shares)
        lines.append(f"| {one['name']} | {cells} | {rates[0]:,.0f} | {rates[1]:.1f} |")
    lines += ["", f"Share of edited copies within {result['distance']} bits of the picture:", ""]
    names = [one["name"] for one in result["methods"]]
    lines += [f"| edit | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    for edit in result["methods"][0]["edits"]:
        shares = " | ".join(f"{one['edits'][edit]:.3f}" for one in result["methods"])
        lines.append(f"| {edit} | {shares} |")
    nearest = result["nearest"]
    lines += [
        "",
        f"By colour layout the nearest picture is of the same family for {nearest['first']:.3f} of all, and of the ten"
        f" nearest {nearest['ten']:.3f} are.",
    ]
    return "\n".join(lines)
