"""Twinset and its peers, side by side: tables, plots and raw figures into benchmarks/results/NAME."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks import machine, report
from benchmarks.measure import BenchmarkError, Setting, say

HERE = Path(__file__).resolve().parent


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--name", help="folder of the results below --results (default: full, or quick)")
    parser.add_argument("--only", help=f"parts to measure: {','.join(report.PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small corpora, a few minutes, to check the harness")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the best counts (default: 3)")
    parser.add_argument("--memory", help="the limit of the memory part (default: 1GB, quick: 512MB)")
    parser.add_argument("--mccormick", type=Path, metavar="FOLDER", help="folder of articles_1000.*")
    parser.add_argument("--clough", type=Path, metavar="FOLDER", help="folder of the short answers, latin-1")
    parser.add_argument("--pages", type=Path, metavar="FOLDER", help="unpacked packages, see real_pages.py")
    parser.add_argument("--work", type=Path, default=HERE / ".work", help="where corpora are kept")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",") if arguments.only else list(report.PARTS)
    unknown = [name for name in chosen if name not in report.PARTS]
    if unknown:
        parser.error(f"--only {','.join(unknown)} is not a part; choose from {', '.join(report.PARTS)}")
    if arguments.repeat < 1:
        parser.error(f"--repeat {arguments.repeat} is too small; give 1 or more")
    arguments.parts = [name for name in report.PARTS if name in chosen]
    return arguments


def main() -> int:
    arguments = parse_arguments()
    setting = Setting(
        work=arguments.work.resolve(),
        venvs=HERE / ".venvs",
        quick=arguments.quick,
        repeat=arguments.repeat,
        memory=arguments.memory or ("512MB" if arguments.quick else "1GB"),
        mccormick=arguments.mccormick,
        clough=arguments.clough,
        pages=arguments.pages,
    )
    setting.work.mkdir(parents=True, exist_ok=True)
    folder = arguments.results / (arguments.name or ("quick" if arguments.quick else "full"))
    results = report.load(folder) or {"parts": {}}
    results |= {"quick": setting.quick}
    results |= {"machine": machine.describe(), "versions": machine.versions()}
    failed = False
    for name in arguments.parts:
        title, measure, _, _ = report.PARTS[name]
        say(f"{title} ({name})")
        load = machine.others_load()
        start = time.perf_counter()
        try:
            part = measure(setting)
        except BenchmarkError as error:
            say(f"  failed: {error}")
            failed = True
            continue
        if not part:
            continue  # nothing was given to measure it with: what is known of it stays
        took = time.perf_counter() - start
        load = max(load, machine.others_load())
        if load > machine.QUIET:
            say(f"  other programs keep {load:.1f} cores busy: times are too high")
        part |= {"repeat": setting.repeat, "commit": machine.commit(), "others_load": load, "took": took}
        results["parts"][name] = part
        report.write(folder, results)
        say(f"  done in {part['took']:.0f} s")
    _draw(folder, results)
    report.write(folder, results)
    for line in report.unmet(results):
        say(f"not reached: {line}")
    say(f"{folder / 'results.md'}")
    return 1 if failed else 0


def _draw(folder: Path, results: dict[str, object]) -> None:
    """Matplotlib is wanted for the plots alone; without it the figures are still written."""
    try:
        from benchmarks import plots
    except ImportError:
        say("no plots: matplotlib is missing; pip install 'twinset[plots]'")
        results["plots"] = False
        return
    folder.mkdir(parents=True, exist_ok=True)
    plots.draw(folder, results)
    results["plots"] = True


if __name__ == "__main__":
    sys.exit(main())
