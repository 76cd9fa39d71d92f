"""The table of speed and recall in README.md is what the benchmark measured."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import readme

MEASURED: dict[str, Any] = {
    "quick": False,
    "machine": {"cpu": "a processor", "cores": 2},
    "parts": {
        "peers": {
            "documents": 200_000,
            "bytes": 620_000_000,
            "true_pairs": 70_000,
            "repeat": 3,
            "in_memory": {"best": 2.0},
            "arrow_alone": {"seconds": 1.0},
            "contestants": [
                {"name": "twinset", "scaled": 5.0, "recall": 0.9996, "recall_near": 0.9981, "precision": 1.0}
                | {"documents": 200_000, "times": 1.0, "times_in_memory": 2.5},
                {"name": "other", "packages": ["other==1.2"], "scaled": 60.0, "recall": 0.9, "recall_near": 0.6}
                | {"precision": 0.8, "documents": 20_000, "times": 12.0, "times_in_memory": 30.0},
                {"name": "absent", "failed": "no wheel"},
            ],
        }
    },
}


def test_the_table_in_the_readme_is_what_was_measured() -> None:
    _, written, _ = readme.split(readme.README.read_text("utf-8"))
    assert written == readme.section(readme.load()), "python -m benchmarks.readme writes it anew"


def test_a_table_of_figures() -> None:
    rows = [line for line in readme.section(MEASURED).splitlines() if line.startswith("| ")]
    assert rows[1:] == [
        "| **Twinset** | 5.0 | 124.0 |  |  | 0.9996 | 0.9981 | 1.0000 | 200,000 |",
        "| other 1.2 | 60.0 | 10.3 | 12.0× | 30.0× | 0.9000 | 0.6000 | 0.8000 | 20,000 |",
        "| absent | not measured | | | | | | | |",
    ]


def test_without_figures_it_says_how_to_make_them() -> None:
    assert readme.section(None) == readme.section({"parts": {}}) == readme.NOTHING_YET


def test_quick_figures_are_called_so() -> None:
    quick = copy.deepcopy(MEASURED) | {"quick": True}
    assert "not figures to quote" in readme.section(quick)


@pytest.mark.parametrize("page", ["", readme.BEGIN, readme.END + readme.BEGIN, readme.BEGIN * 2 + readme.END])
def test_a_page_without_its_marks_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="must hold"):
        readme.split(page)


def test_a_part_that_nothing_was_given_for_stays_as_it_is(tmp_path: Path) -> None:
    known = json.loads((readme.README.parent / "benchmarks/results/full/results.json").read_text("utf-8"))
    folder = tmp_path / "results" / "full"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(known), "utf-8")
    command = [sys.executable, "-m", "benchmarks", "--only", "truth,plagiarism", "--work", str(tmp_path / "work")]
    command += ["--results", str(tmp_path / "results")]
    done = subprocess.run(command, cwd=readme.README.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "skipped" in done.stdout + done.stderr
    after = json.loads((folder / "results.json").read_text("utf-8"))
    assert after["parts"] == known["parts"]
