"""Extractors of web pages side by side: how much of the article they give, what else, and how fast; and the pairs.

Generated pages have articles that are known. Pages of real documentation have a main element that is known
(`real_pages.py`). Precision and recall of a text are those of its runs of 20 letters against the article's, averaged
over pages. Pairs are found by Twinset at similarity 0.8 in the texts of each extractor; they are right if both pages
have the same article.
"""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import page_set, real_pages
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say, time_command, twinset

TRAFILATURA = ("trafilatura==2.3.1", "lxml==6.1.3", "lxml_html_clean==0.4.6", ARROW)
_TRAFILATURA = "benchmarks.peers.trafilatura_pages"
SELECTOLAX = Peer(
    "selectolax", ("selectolax==1.0.2", ARROW), "benchmarks.peers.selectolax_pages", 20_000, 2,
    "all text but that of elements such as nav and footer", 1.0,
)  # fmt: skip
PEERS = (
    (Peer("trafilatura, fast", TRAFILATURA, _TRAFILATURA, 2_000, 2, "", 1.0), {"TRAFILATURA_FAST": "1"}),
    (Peer("trafilatura", TRAFILATURA, _TRAFILATURA, 2_000, 2, "", 1.0), {}),
    (SELECTOLAX, {}),
)  # fmt: skip
_OTHER = re.compile(r"[\W_]+")
_LETTERS = 20

Shingles = set[str]


def measure(setting: Setting) -> dict[str, Any]:
    count = 1_000 if setting.quick else 20_000
    folder = setting.fresh("web-pages")
    made = page_set.write(folder, count)
    result: dict[str, Any] = {"pages": len(made.pages), "bytes": sum(map(len, made.pages)), "layouts": page_set.LAYOUTS}
    truth = _true_pairs(made)
    result["true_pairs"] = len(truth)
    result["runs"] = [_run(setting, folder / name, truth, made, *more) for name, more in _RUNS.items()]
    few = folder / "few.parquet"
    pq.write_table(made.table().slice(0, 300 if setting.quick else 1_000), few)
    result["documentation"], main = _documentation(setting, folder)
    for name, python, module, env in _contestants(setting):
        say(f"  {name}")
        if python is None:
            continue
        one: dict[str, Any] = {"name": name}
        for pages in [few, *([folder / "real.parquet"] if main else [])]:
            texts = setting.fresh("page-texts.parquet")
            times = run_program(python, module, str(pages), str(texts), "--repeat", str(setting.repeat), env=env)
            found = pq.read_table(texts)["text"].to_pylist()
            if pages == few:
                one["generated"] = {
                    **_rates(times),
                    "quality": _quality(found, made.texts),
                    **_pairs(setting, found, made),
                }
            else:
                one["real"] = {**_rates(times), "quality": _by_set(found, main, pages)}
        result.setdefault("extractors", []).append(one)
    return result


_RUNS = {
    "files": ("--html",),
    "pages.parquet": ("--html", "--text", "html"),
    "pages.warc": ("--html",),
    "pages.parquet without --html": ("--text", "html"),
}


def _contestants(setting: Setting) -> list[tuple[str, Any, str, dict[str, str]]]:
    made: list[tuple[str, Any, str, dict[str, str]]] = [
        ("twinset (resiliparse)", sys.executable, "benchmarks.own_pages", {})
    ]
    for peer, env in PEERS:
        try:
            made.append((peer.name, interpreter(peer, setting.venvs), peer.module, env))
        except BenchmarkError as error:
            say(f"  {peer.name} left out: {error}")
    return made


def _true_pairs(made: page_set.PageSet) -> set[tuple[str, str]]:
    """The pairs of pages that have the same article."""
    members: dict[int, list[str]] = {}
    for url, article in zip(made.urls, made.articles, strict=True):
        members.setdefault(article, []).append(url)
    return {pair for urls in members.values() for pair in itertools.combinations(urls, 2)}


def _run(
    setting: Setting, source: Path, truth: set[tuple[str, str]], made: page_set.PageSet, *words: str
) -> dict[str, Any]:
    """Pairs of all pages, from start to exit, against the articles."""
    out = setting.fresh("page-pairs.parquet")
    place = Path(str(source).partition(" ")[0])
    timing = time_command(
        [twinset(), "pairs", str(place), *words, "-o", str(out), "--quiet", "--force"], setting.repeat
    )
    table = pq.read_table(out)
    names = dict(zip((f"{number:06d}.html" for number in range(len(made.urls))), made.urls, strict=True))
    found = {(names.get(left, left), names.get(right, right)) for left, right in _ids(table)}
    article = dict(zip(made.urls, made.articles, strict=True))
    right = sum(article[one] == article[other] for one, other in found)
    told = {"name": source.name, "best": timing.best, "peak": timing.peak, "pairs": len(found)}
    return told | {"recall": len(found & truth) / len(truth), "precision": right / max(1, len(found))}


def _ids(table: Any) -> list[tuple[str, str]]:
    return list(zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True))


def _pairs(setting: Setting, texts: list[str | None], made: page_set.PageSet) -> dict[str, Any]:
    """Precision and recall by article of the pairs in the texts of an extractor."""
    few = page_set.PageSet(
        *(getattr(made, name)[: len(texts)] for name in ("urls", "pages", "articles", "layouts", "texts"))
    )
    source = setting.fresh("page-texts-of-one.parquet")
    pq.write_table(pa.table({"id": few.urls, "text": texts}), source)
    run = _run(setting, source, _true_pairs(few), few)
    return {"recall": run["recall"], "precision": run["precision"]}


def _documentation(setting: Setting, folder: Path) -> tuple[dict[str, int], list[str | None]]:
    """A sample of real pages and the texts of their main elements; none without the folder of packages."""
    if setting.pages is None:
        say("  real pages left out: give --pages FOLDER")
        return {}, []
    table = real_pages.sample(setting.pages, 20 if setting.quick else 50)
    everything, texts = folder / "all-real.parquet", setting.fresh("main.parquet")
    pq.write_table(table, everything)
    run_program(interpreter(SELECTOLAX, setting.venvs), SELECTOLAX.module, str(everything), str(texts), "--main")
    main = pq.read_table(texts)["text"].to_pylist()
    known = np.array([text is not None and len(_shingles(text)) >= 20 for text in main])
    table = table.filter(pa.array(known))
    pq.write_table(table, folder / "real.parquet")
    names = table["id"].to_pylist()
    return {name: names.count(name) for name in dict.fromkeys(names)}, [
        one for one, there in zip(main, known, strict=True) if there
    ]


def _rates(times: dict[str, Any]) -> dict[str, float]:
    return {name: times["bytes"] / min(times[name]) / 1e6 for name in ("one", "two")}


def _shingles(text: str | None) -> Shingles:
    """Runs of 20 letters and digits, whatever stands between them: extractors separate elements in different ways."""
    letters = _OTHER.sub("", (text or "").lower())
    return {letters[at : at + _LETTERS] for at in range(len(letters) - _LETTERS + 1)}


def _quality(found: list[str | None], expected: list[str | None] | list[str]) -> dict[str, float]:
    """Precision and recall of the shingles of texts, and F1 of each page, averaged."""
    precision, recall, both = [], [], []
    for text, wanted in zip(found, expected, strict=False):
        have, want = _shingles(text), _shingles(wanted)
        shared = len(have & want)
        precision.append(shared / max(1, len(have)))
        recall.append(shared / max(1, len(want)))
        both.append(2 * shared / max(1, len(have) + len(want)))
    return {"precision": float(np.mean(precision)), "recall": float(np.mean(recall)), "f1": float(np.mean(both))}


def _by_set(found: list[str | None], main: list[str | None], pages: Path) -> dict[str, Any]:
    names = pq.read_table(pages, columns=["id"])["id"].to_pylist()
    rows = {name: [at for at, one in enumerate(names) if one == name] for name in dict.fromkeys(names)}
    each = {name: _quality([found[at] for at in mine], [main[at] for at in mine]) for name, mine in rows.items()}
    return {"all": _quality(found, main), **each}


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    runs = [one for one in result["runs"] if "without" not in one["name"]]
    own, *others = result["extractors"]
    lines = []
    for name in ("recall", "precision"):
        worst = min(float(one[name]) for one in runs)
        lines.append(
            (
                f"{name} by article of {result['pages']:,} pages with {result['layouts']} navigations",
                "≥ 0.99",
                f"{worst:.4f}",
                worst >= 0.99,
            )
        )
    speeds = {kind: own[kind]["two"] for kind in ("generated", "real") if kind in own}
    for kind, speed in speeds.items():
        lines.append((f"extraction of {kind} pages on two cores", "≥ 15 MB/s", f"{speed:.1f} MB/s", speed >= 15))
    for other in others if "real" in own else []:
        # Text alone is no answer: what finds no pairs of articles under other navigations is not compared.
        if other["generated"]["recall"] >= 0.9:
            mine, its = (one["real"]["quality"]["all"]["f1"] for one in (own, other))
            what = f"F1 of the main content of real pages against {other['name']}"
            lines.append((what, f"no less than its {its:.3f}", f"{mine:.3f}", mine >= its))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['pages']:,} generated pages ({result['bytes'] / 1e6:.0f} MB) in {result['layouts']} layouts, each"
        f" with its navigation; {result['true_pairs']:,} pairs of pages have the same article. `twinset pairs`, from"
        " start to exit, audit included.",
        "",
        "| source | seconds | MB/s | pairs | recall | precision |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for one in result["runs"]:
        figures = f"{one['best']:.1f} | {result['bytes'] / one['best'] / 1e6:.0f} | {one['pairs']:,}"
        lines.append(f"| {one['name']} | {figures} | {one['recall']:.4f} | {one['precision']:.4f} |")
    lines += [
        "",
        "Extractors. Precision, recall and F1 are of the runs of 20 letters of the article, averaged over pages; pairs"
        " are those found in the texts.",
        "",
    ]
    lines += [
        "| generated pages | MB/s, one core | two | precision | recall | F1 | pairs: recall | precision |",
        f"|---|{7 * '---:|'}",
    ]
    for one in result["extractors"]:
        got, quality = one["generated"], one["generated"]["quality"]
        figures = " | ".join(f"{quality[name]:.3f}" for name in ("precision", "recall", "f1"))
        pairs = f"{got['recall']:.4f} | {got['precision']:.4f}"
        lines.append(f"| {one['name']} | {got['one']:.1f} | {got['two']:.1f} | {figures} | {pairs} |")
    if result["documentation"]:
        lines += _real_table(result)
    return "\n".join(lines)


def _real_table(result: dict[str, Any]) -> list[str]:
    sets = result["documentation"]
    told = ", ".join(f"{count} of {name}" for name, count in sets.items())
    lines = ["", f"Pages of real documentation whose main element is known: {told}.", ""]
    lines += [
        f"| F1 | MB/s, one core | two | precision | recall | all | {' | '.join(sets)} |",
        f"|---|{(5 + len(sets)) * '---:|'}",
    ]
    for one in result["extractors"]:
        got, quality = one["real"], one["real"]["quality"]
        figures = [
            quality["all"]["precision"],
            quality["all"]["recall"],
            *(quality[name]["f1"] for name in ("all", *sets)),
        ]
        lines.append(
            f"| {one['name']} | {got['one']:.1f} | {got['two']:.1f} | {' | '.join(f'{one:.3f}' for one in figures)} |"
        )
    return lines
