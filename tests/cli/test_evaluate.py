"""``twinset evaluate``, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run


def test_a_table_and_what_it_means(run: Run, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("left,right\na,c\na,d\nc,d\nb,nobody\n")
    done = run("evaluate", corpus, "--truth", "truth.csv", "-o", "out", "--sweep", "0.6:0.8:0.1")
    assert done.returncode == 0, done.stderr
    assert "truth: 1 id of no document (nobody); 1 row left out" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["0.8", "3", "3", "3", *["1.0000"] * 8] in lines
    assert "highest F1: 1.0000 at threshold 0.6" in done.stdout
    assert "ARI: The adjusted Rand index of Hubert and Arabie" in done.stdout
    assert "plan: " in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("definitions.txt", "evaluation.json", "f1.svg", "measures.csv", "precision-recall.svg"),
        *("shares.csv", "shares.svg"),
    ]


def test_json_alone(run: Run, corpus: Path) -> None:
    done = run("evaluate", corpus, "--exact", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["truth"] == {"kind": "exact"}
    assert summary["measures"][0]["recall"] == 1.0
    assert summary["definitions"]["true_pairs"].startswith("True pairs are all pairs whose exact similarity")
    assert summary["options"]["exact"] is True


def test_the_plan_is_that_of_the_lowest_threshold(run: Run, corpus: Path) -> None:
    done = run("evaluate", corpus, "--exact", "--sweep", "0.5:0.9:0.1")
    assert "a pair at 0.5 is found with probability" in done.stderr


def test_quiet_prints_nothing(run: Run, corpus: Path) -> None:
    done = run("evaluate", corpus, "--exact", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_result_can_be_the_truth_of_another(run: Run, corpus: Path) -> None:
    assert run("dedup", corpus, "-o", "clean", "--quiet").returncode == 0
    done = run("evaluate", corpus, "--truth", "clean/clusters.parquet", "--json", "--quiet")
    row = json.loads(done.stdout)["measures"][0]
    assert (row["adjusted_rand"], row["exact_set_accuracy"], row["b_cubed_f1"]) == (1.0, 1.0, 1.0)


def test_mistakes_are_one_line(run: Run, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("one,two\na,c\n")
    for words, said in (
        (("--truth", "truth.csv"), "twinset: truth.csv: the truth must have the columns left and right"),
        (("--truth", "none.csv"), "twinset: none.csv: there is no such file"),
        ((), "twinset: the truth is either a file (--truth FILE) or the exact join (--exact); neither of them came"),
        (("--exact", "--sweep", "1:0:1"), "twinset: sweep is '1:0:1'; allowed is FIRST:LAST:STEP"),
        (("--exact", "--sweep", "0.5:0.9:0.1", "--threshold", "0.7"), "twinset: threshold 0.7 and sweep"),
    ):
        done = run("evaluate", corpus, *words)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith(said)
        assert "Traceback" not in done.stderr
