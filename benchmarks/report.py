"""The figures as JSON and as a page of tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import (
    against_peers,
    baskets,
    codes,
    collapse,
    containment,
    exact_join,
    growth,
    hot_buckets,
    images,
    index,
    known_truth,
    machine,
    nearest_sets,
    passages,
    plagiarism,
    remote,
    review,
    serve,
    sketching,
    spark,
    sparse_rows,
    sql,
    startup,
    vectors,
    web_pages,
    weighted,
)

PARTS = {
    "peers": ("Against its peers", against_peers.measure, against_peers.table, against_peers.goals),
    "sketch": ("Text to sketches", sketching.measure, sketching.table, sketching.goals),
    "growth": ("Growth", growth.measure, growth.table, growth.goals),
    "memory": ("Memory limit", growth.measure_limited, growth.table_limited, growth.goals_limited),
    "exact": ("Exact pairs", exact_join.measure, exact_join.table, exact_join.goals),
    "hot": ("Hot buckets", hot_buckets.measure, hot_buckets.table, hot_buckets.goals),
    "index": ("An index", index.measure, index.table, index.goals),
    "sql": ("SQL functions in DuckDB", sql.measure, sql.table, sql.goals),
    "serve": ("A service", serve.measure, serve.table, serve.goals),
    "collapse": ("Collapsed search results", collapse.measure, collapse.table, collapse.goals),
    "baskets": ("Baskets", baskets.measure, baskets.table, baskets.goals),
    "nearest": ("The nearest sets", nearest_sets.measure, nearest_sets.table, nearest_sets.goals),
    "weighted": ("Weighted sets", weighted.measure, weighted.table, weighted.goals),
    "codes": ("Bit codes", codes.measure, codes.table, codes.goals),
    "vectors": ("Vectors", vectors.measure, vectors.table, vectors.goals),
    "sparse": ("Sparse vectors", sparse_rows.measure, sparse_rows.table, sparse_rows.goals),
    "images": ("Pictures", images.measure, images.table, images.goals),
    "pages": ("Web pages", web_pages.measure, web_pages.table, web_pages.goals),
    "passages": ("Shared passages", passages.measure, passages.table, passages.goals),
    "containment": ("Containment", containment.measure, containment.table, containment.goals),
    "spark": ("Apache Spark", spark.measure, spark.table, spark.goals),
    "remote": ("Objects in a bucket", remote.measure, remote.table, remote.goals),
    "review": ("The review page", review.measure, review.table, review.goals),
    "startup": ("Start", startup.measure, startup.table, startup.goals),
    "truth": ("Corpora with known truth", known_truth.measure, known_truth.table, known_truth.goals),
    "plagiarism": ("Copied answers and their sources", plagiarism.measure, plagiarism.table, plagiarism.goals),
}
PLOTS = {"peers": "speed", "growth": "growth", "vectors": "learned-codes", "spark": "spark-growth"}


def load(folder: Path) -> dict[str, Any]:
    """Earlier figures of this name, so that parts can be measured one by one; each says its own commit."""
    path = folder / "results.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def write(folder: Path, results: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (folder / "results.md").write_text(_page(results))


def unmet(results: dict[str, Any]) -> list[str]:
    """Goals that the figures do not reach, in words."""
    return [f"{what}: {figure}, wanted {goal}" for what, goal, figure, met in _goals(results) if not met]


def _goals(results: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    parts = results["parts"]
    return [line for name, (_, _, _, goals) in PARTS.items() if name in parts for line in goals(parts[name])]


def _repeats(parts: dict[str, Any]) -> str:
    """How many runs the best was taken of, where parts differ of each."""
    counts = {name: part["repeat"] for name, part in parts.items()}
    if len(set(counts.values())) == 1:
        return str(next(iter(counts.values())))
    return ", ".join(f"{count} ({name})" for name, count in counts.items())


def _page(results: dict[str, Any]) -> str:
    computer = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    commits = sorted({part["commit"] for part in results["parts"].values()})
    lines = [
        "# Benchmarks",
        "",
        f"{computer['cpu']}, {computer['cores']} cores, {computer['memory'] / 1e9:.0f} GB, {computer['system']},"
        f" Python {computer['python']}. {versions}. Commit {', '.join(commits)}.",
        "",
        f"Best of {_repeats(results['parts'])} after the kernels are compiled; word:5, threshold 0.8, recall 0.99;"
        " times of whole processes, from start to exit.",
    ]
    noisy = [name for name, part in results["parts"].items() if part["others_load"] > machine.QUIET]
    if noisy:
        lines += ["", f"Other programs were running while these parts were measured: {', '.join(noisy)}."]
    if results["quick"]:
        lines += ["", "Measured with `--quick` on small corpora, to check the harness: not figures to quote."]
    lines += ["", "| measure | goal | measured | |", "|---|---|---|---|"]
    for what, goal, figure, met in _goals(results):
        lines.append(f"| {what} | {goal} | {figure} | {'yes' if met else '**no**'} |")
    for name, (title, _, table, _) in PARTS.items():
        if name in results["parts"]:
            lines += ["", f"## {title}", "", table(results["parts"][name])]
            if name in PLOTS and results.get("plots"):
                lines += ["", f"![{title}]({PLOTS[name]}.svg)"]
    return "\n".join(lines) + "\n"
