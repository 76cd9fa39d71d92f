"""Writes the table of speed and recall between its two marks in README.md: python -m benchmarks.readme."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import machine

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results" / "full" / "results.json"
BEGIN, END = "<!-- benchmark -->", "<!-- /benchmark -->"
NOTHING_YET = (
    "There are no figures here yet: `make bench` measures Twinset and its peers side by side, and\n"
    "`python -m benchmarks.readme` writes the table."
)


def section(results: dict[str, Any] | None) -> str:
    """Give what stands between the marks: the table, or how to make it."""
    peers = (results or {}).get("parts", {}).get("peers")
    if results is None or peers is None:
        return NOTHING_YET
    computer = results["machine"]
    lines = [
        f"{peers['documents']:,} generated documents, {peers['bytes'] / 1e6:,.0f} MB, {peers['true_pairs']:,} true"
        f" pairs; {computer['cpu']}, {computer['cores']} cores; best of {peers['repeat']}.",
    ]
    if peers.get("others_load", 0) > machine.QUIET:
        lines.append("Other programs were running meanwhile.")
    if results["quick"]:
        lines.append("Measured with `--quick` on small data, to check the harness: not figures to quote.")
    lines += [
        "",
        "| | seconds | MB/s | Twinset is faster by | from texts in memory, by | recall"
        " | recall from 0.80 to 0.85 | precision | documents |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(_row(one, peers["bytes"]) for one in peers["contestants"]),
        "",
        "Twinset's time is that of the whole process: it reads the file, verifies pairs, makes clusters and writes",
        f"the clean file. Arrow alone takes {peers['arrow_alone']['seconds']:.2f} seconds to read the file and"
        " write the kept rows.",
        "The peers' time runs from texts in memory to candidate pairs; from texts in memory to verified pairs,",
        f"Twinset takes {peers['in_memory']['best']:.2f} seconds. Peers that are too slow for the whole corpus ran on",
        "a sample (last column), and their seconds are scaled by the number of documents. The truth is exact: all",
        "pairs with a Jaccard similarity of at least 0.8 of their sets of word 5-shingles.",
        *_further(results["parts"]),
        "[How it is measured](benchmarks/README.md).",
    ]
    return "\n".join(lines)


def _further(parts: dict[str, Any]) -> list[str]:
    """Say how time grows, and what a memory limit does to it, where that was measured."""
    lines = []
    if "growth" in parts:
        first, last = parts["growth"]["points"][0], parts["growth"]["points"][-1]
        lines.append(
            f"From {first['documents']:,} to {last['documents']:,} documents the time grows from"
            f" {first['best']:.1f} to {last['best']:.1f} seconds."
        )
    if "memory" in parts:
        limited, free = parts["memory"]["limited"], parts["memory"]["unlimited"]
        lines.append(
            f"With `--memory {parts['memory']['memory']}`, {parts['memory']['documents']:,} documents take"
            f" {limited['best']:.1f} seconds instead of {free['best']:.1f}, and"
            f" {limited['peak'] / 1e9:.2f} GB instead of {free['peak'] / 1e9:.2f}."
        )
    return lines


def _row(one: dict[str, Any], size: int) -> str:
    if "failed" in one:
        return f"| {one['name']} | not measured | | | | | | | |"
    own = one["name"] == "twinset"
    name = "**Twinset**" if own else _version(one)
    times = " | " if own else f"{one['times']:,.1f}× | {one['times_in_memory']:,.1f}×"
    return (
        f"| {name} | {one['scaled']:,.1f} | {size / one['scaled'] / 1e6:,.1f} | {times} | {one['recall']:.4f}"
        f" | {one['recall_near']:.4f} | {one['precision']:.4f} | {one['documents']:,} |"
    )


def _version(one: dict[str, Any]) -> str:
    """Name a peer with the version that was measured."""
    package = next(iter(one.get("packages", [])), one["name"])
    version = package.partition("==")[2]
    return f"{one['name']} {version}".strip()


def load(path: Path = RESULTS) -> dict[str, Any] | None:
    """Give the figures, or None where there are none."""
    found: dict[str, Any] | None = json.loads(path.read_text("utf-8")) if path.exists() else None
    return found


def split(page: str) -> tuple[str, str, str]:
    """Cut a page at its marks: what is before, between and after them."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(END) < page.index(BEGIN):
        raise ValueError(f"README.md must hold {BEGIN} and, after it, {END}, each once")
    before, _, rest = page.partition(BEGIN)
    between, _, after = rest.partition(END)
    return before, between.strip("\n"), after


def main() -> int:
    """Write the section anew."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    before, _, after = split(README.read_text("utf-8"))
    README.write_text(f"{before}{BEGIN}\n{section(load(path))}\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
