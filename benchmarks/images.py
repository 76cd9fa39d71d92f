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

DISTANCE, MOST = 6, 16
PEER = Peer(
    "imagehash", ("imagehash==4.3.2", "pillow==13.0.0", NUMPY), "benchmarks.peers.imagehash_codes", 5_000, 1,
    "phash and dhash of 64 bits", 1.0,
)  # fmt: skip

Codes = npt.NDArray[np.uint64]


def measure(setting: Setting) -> dict[str, Any]:
    families = 60 if setting.quick else 300
    small = _folder(setting, f"pictures-{families}", lambda place: picture_sets.write(place, families))
    large = _folder(setting, "large-pictures", _write_large)
    names = [path.stem.split("-") for path in sorted(small.iterdir())]
    families = len({name[0] for name in names})
    result: dict[str, Any] = {"pictures": len(names), "families": families, "distance": DISTANCE}
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
    result["index"] = _index(setting)
    for one in result["methods"]:
        say(f"  {one['name']}: {one['curve'][DISTANCE]}")
    return result


def _index(setting: Setting) -> dict[str, Any]:
    """Adding to an index of pictures, and its queries, in a process of their own with all threads."""
    large, small, asked = (300, 700, 20) if setting.quick else (2_000, 18_000, 200)
    size, little = (640, 480), (160, 120)
    counts = {"large": (large, size), "small": (small, little), "asked": (asked, size)}
    folder = _folder(setting, f"collection-{large}", lambda place: picture_sets.write_collection(place, counts))
    index = setting.fresh("pictures.twinset")
    words = (*(str(folder / name) for name in counts), str(index))
    told = dict(run_program(sys.executable, "benchmarks.own_picture_index", *words))
    say(f"  index of {told['pictures']:,} pictures: {told['nearest']}, {told['add']}, load {told['load']:.1f}")
    return told


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
    """Within each distance the share of copies found, and wrong pairs; by edit at the default one."""
    family = np.array([int(name[0]) for name in names])
    plain = np.array([name[1] in picture_sets.PLAIN for name in names])
    every = np.array([name[2] for name in names])
    own = np.flatnonzero(every == "itself")
    of_family = {int(family[row]): row for row in own}
    apart = _ones(codes ^ codes[[of_family[int(one)] for one in family]])
    copies = every != "itself"
    lefts, rights = np.triu_indices(len(own), 1)
    others = _ones(codes[own[lefts]] ^ codes[own[rights]])
    both_plain = plain[own[lefts]] & plain[own[rights]]
    curve = [
        {
            "distance": d,
            "recall": float((apart[copies] <= d).mean()),
            "rich": float((apart[copies & ~plain] <= d).mean()),
            "plain": float((apart[copies & plain] <= d).mean()),
            "wrong_rich": int((others[~both_plain] <= d).sum()),
            "wrong_plain": int((others[both_plain] <= d).sum()),
        }
        for d in range(MOST + 1)
    ]
    edits = {edit: float((apart[every == edit] <= DISTANCE).mean()) for edit in picture_sets.EDITS if edit != "itself"}
    return {"curve": curve, "edits": edits}


def _at_no_more(curve: list[dict[str, Any]], wrong: int) -> float:
    """The greatest share of copies found with no more wrong pairs than that."""
    enough = (float(one["recall"]) for one in curve if one["wrong_rich"] + one["wrong_plain"] <= wrong)
    return max(enough, default=0.0)


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


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    own, *others = result["methods"]
    what = f"hashes of {result['pictures']:,} pictures"
    of_index = _goals_of_index(result["index"]) if "index" in result else []
    if not others:
        return [(f"{what} against imagehash", "no fewer copies found", "not measured", False), *of_index]
    times = min(float(one["times"]["large"]["cpu"]) for one in others) / own["times"]["large"]["cpu"]
    return [
        *(_compared(what, own, other) for other in others),
        (
            "hashes of JPEGs of 12 megapixels, processor time against imagehash", "≥ 3×", f"{times:.1f}×", times >= 3,
        ),
        *of_index,
    ]  # fmt: skip


def _goals_of_index(told: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    p50, exact, rate = told["nearest"]["p50"], told["exact"], told["add"]["files"] / told["add"]["seconds"]
    what = f"ten nearest of {told['pictures']:,} pictures in an index, from the file on"
    return [
        (f"{what}, p50", "≤ 20 ms", f"{p50:.1f} ms", p50 <= 20),
        (f"{what}, equal to comparing all", "1.000", f"{exact:.3f}", exact == 1),
        ("adding JPEGs of 640 × 480 to an index", "≥ 400 a second", f"{rate:,.0f} a second", rate >= 400),
    ]


def _compared(what: str, own: dict[str, Any], other: dict[str, Any]) -> tuple[str, str, str, bool]:
    """Ours with no more wrong pairs than the other has within the default distance."""
    there = other["curve"][DISTANCE]
    wrong = there["wrong_rich"] + there["wrong_plain"]
    found = _at_no_more(own["curve"], wrong)
    said = f"copies found with no more wrong pairs than {other['name']} has within {DISTANCE} bits ({wrong})"
    return f"{what}: {said}", f"no fewer than its {there['recall']:.3f}", f"{found:.3f}", found >= there["recall"]


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['pictures']:,} pictures of {result['families']} families: drawn scenes and pieces of photographs,"
        f" each with {len(picture_sets.EDITS) - 1} edited copies. Found are the copies within so many bits of their"
        " picture; wrong are pairs of two families. Plain pictures are gradients, stripes and symbols; of them some are"
        " alike but for their colours, which no hash of luminance can tell apart.",
        "",
        "| | within bits | found | of rich pictures | wrong | of plain ones | wrong |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in result["methods"]:
        for at in one["curve"][4:11:2]:
            shares = f"{at['recall']:.3f} | {at['rich']:.3f} | {at['wrong_rich']}"
            plain = f"{at['plain']:.3f} | {at['wrong_plain']}"
            lines.append(f"| {one['name']} | {at['distance']} | {shares} | {plain} |")
    lines += ["", "Small pictures take as long as Pillow takes to unpack them, with everybody."]
    lines += ["", "| | small pictures a second of a core | JPEGs of 12 megapixels |", "|---|---:|---:|"]
    for one in result["methods"]:
        rates = [one["times"][size]["files"] / one["times"][size]["cpu"] for size in ("small", "large")]
        lines.append(f"| {one['name']} | {rates[0]:,.0f} | {rates[1]:.1f} |")
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
    if "index" in result:
        lines += _index_table(result["index"])
    return "\n".join(lines)


def _index_table(told: dict[str, Any]) -> list[str]:
    add = told["add"]
    lines = [
        "",
        f"An index of {told['pictures']:,} pictures, {told['bytes'] / told['pictures']:,.0f} bytes each. Adding"
        f" {add['files']:,} JPEGs of 640 × 480: {add['files'] / add['seconds']:,.0f} a second, of processor time"
        f" {add['files'] / add['cpu']:,.0f} a second. A query is from the picture's file on; the first one reads the"
        f" layouts. The load of the machine was {told['load']:.1f}.",
        "",
        "| query | first | p50 | p95 | processor time |",
        "|---|---:|---:|---:|---:|",
    ]
    ways = "ten nearest in any orientation"
    names = {"nearest": "ten nearest by colour layout", "near": "within 6 bits", "turned": ways}
    for name, label in names.items():
        one = told[name]
        times = " | ".join(f"{one[column]:.1f} ms" for column in ("first", "p50", "p95", "cpu"))
        lines.append(f"| {label} | {times} |")
    return lines
