"""``twinset evaluate``, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_a_table_and_what_it_means(run: Run, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("left,right\na,c\na,d\nc,d\nb,nobody\n")
    done = run("evaluate", corpus, "--truth", "truth.csv", "-o", "out", "--sweep", "0.6:0.8:0.1", "--definitions")
    assert done.returncode == 0, done.stderr
    assert "truth: 1 unknown id (nobody); 1 row skipped" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["0.8", "3", "3", "3", *["1.0000"] * 3, "0.8000"] in lines
    assert ["0.8", *["1.0000"] * 5] in lines
    assert "highest F1: 1.0000 at threshold 0.6" in done.stdout
    assert "ARI: The adjusted Rand index of Hubert and Arabie" in done.stdout
    assert "plan: " in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("definitions.txt", "evaluation.json", "f1.svg", "measures.csv", "precision-recall.svg"),
        *("shares.csv", "shares.svg"),
    ]


HEADINGS = (
    *("found", "true", "both", "precision", "recall", "F1", "reduction"),
    *("exact sets", "ARI", "B³ prec.", "B³ recall", "B³ F1"),
)


@pytest.mark.parametrize(("width", "blocks"), [(110, 2), (80, 2), (45, 4), (30, 6)])
def test_it_fits_the_window(run: Run, corpus: Path, width: int, blocks: int) -> None:
    done = run("evaluate", corpus, "--exact", "--sweep", "0.6:0.8:0.1", "--definitions", env={"COLUMNS": str(width)})
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= min(width, 100)
    assert sum(line.startswith("threshold  ") for line in lines) == blocks
    for heading in HEADINGS:
        assert sum(line.startswith(f"{heading}: ") for line in lines) == 1, heading
        assert any(heading in line for line in lines if line.startswith("threshold  ")), heading
    if width >= 100:
        assert len(lines) < 30, "ten lines of numbers, and a line or two for each definition"


def test_what_is_not_defined_is_said_where_it_is_so(run: Run, corpus: Path) -> None:
    words = ("--exact", "--shingle", "word:60", "--threshold", "1", "--definitions")
    told = " ".join(run("evaluate", corpus, *words).stdout.split())
    assert "- where" not in told
    assert run("evaluate", corpus, "--exact", "--sweep", "0.9:1:0.1", "--no-lowercase").returncode == 0
    (corpus.parent / "one.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    nothing = " ".join(run("evaluate", "one.jsonl", "--exact", "--definitions").stdout.split())
    assert "precision: Share of the pairs found that are true. - where no pair was found." in nothing


def test_the_definitions_are_printed_only_when_asked_for(run: Run, corpus: Path) -> None:
    plain = run("evaluate", corpus, "--exact").stdout.splitlines()
    assert not [line for line in plain if line.startswith(("ARI:", "F1:"))]
    assert plain[-1] == "--definitions explains each column"


def test_a_cap_on_the_pairs_looked_at_is_said(run: Run, tmp_path: Path) -> None:
    """1,001 documents in one true cluster are 500,500 true pairs, a little more than are looked at."""
    rows = [{"id": str(number), "text": f"text {number}"} for number in range(1001)]
    (tmp_path / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "truth.csv").write_text("id,cluster\n" + "".join(f"{number},1\n" for number in range(1001)))
    done = run("evaluate", "many.jsonl", "--truth", "truth.csv", "-o", "out", "--plots", "none")
    assert done.returncode == 0, done.stderr
    assert "measured on an even sample of 500,000 of 500,500 true pairs" in " ".join(done.stdout.split())
    written = json.loads((tmp_path / "out/evaluation.json").read_text("utf-8"))
    assert written["sampled"] == {"true_pairs": 500_500, "looked_at": 500_000}
    assert sum(row["pairs"] for row in written["shares"]) == 500_000
    assert "500,000 true pairs" in written["definitions"]["share"]


def test_json_alone(run: Run, corpus: Path) -> None:
    done = run("evaluate", corpus, "--exact", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["truth"] == {"kind": "exact"}
    assert summary["sampled"] == {"true_pairs": 3, "looked_at": 3}
    assert summary["measures"][0]["recall"] == 1.0
    assert summary["definitions"]["true_pairs"].startswith("All pairs whose exact similarity")
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
        ((), "twinset: the truth is a file of pairs or clusters (--truth FILE), a file of passages (--passages FILE)"),
        (("--passages", "truth.csv", "--truth", "truth.csv"), "twinset: --truth cannot be used with --passages: "),
        (("--exact", "--gap", "10"), "twinset: --gap needs --passages: it applies to passages only"),
        (("--exact", "--sweep", "1:0:1"), "twinset: --sweep is '1:0:1'; allowed: FIRST:LAST:STEP"),
        (("--exact", "--sweep", "0.5:0.9:0.1", "--threshold", "0.7"), "twinset: threshold 0.7 and sweep"),
    ):
        done = run("evaluate", corpus, *words)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith(said)
        assert "Traceback" not in done.stderr


def test_two_sides_have_pairs_and_no_clusters(run: Run, corpus: Path, tmp_path: Path) -> None:
    lines = corpus.read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "new.jsonl").write_text("".join(lines[:2]), "utf-8")
    (tmp_path / "old.jsonl").write_text("".join(lines[2:]), "utf-8")
    (tmp_path / "truth.csv").write_text("left,right\na,c\nd,a\na,b\n")
    words = ("new.jsonl", "--against", "old.jsonl", "--truth", "truth.csv", "--definitions", "-o", "out")
    done = run("evaluate", *words)
    assert done.returncode == 0, done.stderr
    assert "truth: 1 pair within one side, skipped" in done.stdout
    others = len(lines) - 2
    reduction = f"{int((1 - 2 / (2 * others)) * 10000) / 10000:.4f}"
    assert ["0.8", "2", "2", "2", *["1.0000"] * 3, reduction] in [line.split() for line in done.stdout.splitlines()]
    assert "reduction: Share of all pairs between the two sides" in " ".join(done.stdout.split())
    assert "B³" not in done.stdout
    assert (tmp_path / "out" / "f1.svg").exists()
    written = json.loads((tmp_path / "out" / "evaluation.json").read_text("utf-8"))
    assert (written["documents"], written["against"], written["options"]["against"]) == (2, others, ["old.jsonl"])
    assert "adjusted_rand" not in written["definitions"]


def test_passages_have_measures_of_their_own(run: Run, tmp_path: Path) -> None:
    copied = " ".join(f"copied{number}" for number in range(30))
    (tmp_path / "new").mkdir()
    (tmp_path / "old").mkdir()
    (tmp_path / "new" / "a.txt").write_text(f"here is {copied} and more")
    (tmp_path / "old" / "b.txt").write_text(f"{copied} is here")
    head = "suspicious,suspicious_start,suspicious_end,source,source_start,source_end"
    (tmp_path / "truth.csv").write_text(f"{head}\na,8,{8 + len(copied)},b,0,{len(copied)}\nx,0,1,b,0,1\n")
    words = ("evaluate", "new", "--against", "old", "--passages", "truth.csv", "--least", "20")
    done = run(*words, "-o", "out")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert "truth: 1 unknown id (x); 1 row skipped" in done.stdout
    assert ["plagdet", "1.0000"] in lines
    assert ["detected", "cases", "1"] in lines
    assert lines[-1] == ["written", "to", "out"]
    assert (tmp_path / "out" / "detections.csv").exists()
    summary = json.loads(run(*words, "--json").stdout)
    assert (summary["measures"]["plagdet"], summary["truth"]["unknown"]) == (1.0, ["x"])
    quiet = run(*words, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    narrow = run(*words, "--definitions", env={"COLUMNS": "30"})
    assert max(map(len, narrow.stdout.splitlines())) <= 30
    refused = run(*words, "--threshold", "0.8")
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("twinset: --threshold cannot be used with --passages: ")
