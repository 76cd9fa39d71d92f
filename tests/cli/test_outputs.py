"""Where results go, and what is said of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Call, text
from twinset.cli.command_line import _message_and_code
from twinset.cli.screen.show import audit
from twinset.engines.local.state import RunState
from twinset.engines.local.write.place import state_folder
from twinset.options import DedupOptions
from twinset.options.formats import ROW_ENDINGS
from twinset.options.place import Place
from twinset.wording import either


def test_one_file_of_kept_rows(call: Call, corpus: Path) -> None:
    done = call("dedup", corpus.name, "-o", "clean.csv", "--quiet")
    assert (done.code, done.out) == (0, "")
    done = call("dedup", corpus.name, "-o", "clean.csv", "--force")
    assert "\nclean data: clean.csv\na reason for every removal: clean.csv.details/removed.parquet\n" in done.out
    assert Path("clean.csv").read_text().splitlines()[0] == '"id","text"'
    done = call("recut", "clean.csv", "--threshold", 1, "-o", "all.jsonl.gz")
    assert "\nclean data: all.jsonl.gz\na reason for every removal: all.jsonl.gz.details/removed.parquet\n" in done.out
    assert "c was removed" in call("explain", "clean.csv", "c").out
    assert call("report", "clean.csv", "-o", "page.html").code == 0
    done = call("dedup", corpus.name, "-o", "flagged.parquet", "--flag")
    assert "\nall rows, flagged: flagged.parquet\na reason for every flag: flagged.parquet.details/" in done.out


def test_missing_and_impossible_outputs(call: Call, corpus: Path) -> None:
    assert "name a folder or a file for the result with -o OUT" in call("dedup", corpus.name).refusal
    assert "leave out .gz" in call("dedup", corpus.name, "-o", "x.parquet.gz").refusal
    assert "--copy cannot be used with the file x.csv" in call("dedup", corpus.name, "-o", "x.csv", "--copy").refusal
    told = call("dedup", corpus.name, "-o", "x", "--details-format", "xls").refusal
    assert "--details-format is 'xls'; allowed: parquet or csv" in told


def test_the_largest_clusters(call: Call, corpus: Path, tmp_path: Path) -> None:
    call("dedup", corpus.name, "-o", "OUT", "--quiet")
    done = call("explain", "OUT")
    assert done.out.splitlines() == [
        "2 removed because of a, such as c (1.0000 similar)",
        "twinset explain OUT ID shows one of them, with its differences",
    ]
    assert call("explain", "OUT", "--json").json == {
        "clusters": 1, "removed": 2, "largest": [{"kept": "a", "removed": 2, "example": "c", "similarity": 1.0}],
    }  # fmt: skip
    rows = [{"id": f"{number}-{copy}", "text": text(number)} for number in range(15) for copy in range(2 + number % 3)]
    (tmp_path / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call("dedup", "many.jsonl", "-o", "many.csv", "--flag", "--quiet")
    lines = call("explain", "many.csv").out.splitlines()
    assert lines[0] == "3 flagged because of 2-0, such as 2-1 (1.0000 similar)"
    assert lines[-2] == "… and 3 more clusters; --json lists all"
    sizes = [one["removed"] for one in call("explain", "many.csv", "--json").json["largest"]]
    assert sizes == [3] * 5 + [2] * 5 + [1] * 5
    call("dedup", corpus.name, "-o", "none", "--text", "id", "--threshold", "1", "--quiet")
    assert call("explain", "none").out == "no document was removed\n"


def test_pairs_as_json(call: Call, corpus: Path) -> None:
    said = call("pairs", corpus.name, "--json").json
    assert said["pairs"] == 3
    assert [(one["left"], one["right"]) for one in said["found"]] == [("a", "c"), ("a", "d"), ("c", "d")]
    assert said["found"][0]["similarity"] == 1.0
    assert call("pairs", corpus.name, "--text", "id", "--json").json["found"] == []
    for output in ("pairs.csv", "found"):
        said = call("pairs", corpus.name, "-o", output, "--json").json
        assert (said["pairs"], said["output"]) == (3, output)
        assert "found" not in said


@pytest.mark.parametrize("output", ["found", "found/", "v1.2/"])
def test_a_folder_of_pairs(call: Call, corpus: Path, output: str) -> None:
    assert "3 pairs of 6 documents in " + output in call("pairs", corpus.name, "-o", output).out
    names = sorted(path.name for path in Path(output).iterdir())
    assert names == ["documents.parquet", "pairs.parquet", "sources.parquet", "summary.json"]
    assert "exists; choose another output, or replace it with --force" in call(
        "pairs", corpus.name, "-o", output
    ).refusal  # fmt: skip
    assert call("pairs", corpus.name, "-o", output, "--force", "--quiet").code == 0
    assert "is a result of pairs, without clusters" in call("explain", output, "a").refusal
    assert "its name must end in" in call("pairs", corpus.name, "-o", "pairs.txt").refusal


@pytest.mark.parametrize("name", ["clean.json", "clean.txt", "clean.XLSX", "clean.json.gz", "clean.zip", "clean.npy"])
def test_a_folder_is_not_made_where_a_file_was_meant(call: Call, corpus: Path, name: str) -> None:
    for command, endings in (
        ("dedup", either(ROW_ENDINGS)),
        ("pairs", ".jsonl, .ndjson, .csv or .parquet"),
    ):
        for more in ((), ("--dry-run",)):
            said = call(command, corpus.name, "-o", name, *more).refusal
            assert said.endswith(
                f"the output is '{name}'; its name must end in {endings} for one file; for a folder of that name, "
                "end it with /"
            )
        assert not Path(name).exists()
        assert call(command, corpus.name, "-o", f"{name}/", "--quiet").code == 0
        assert (Path(name) / "pairs.parquet").is_file()
        shutil.rmtree(name)


def test_other_names_are_folders(call: Call, corpus: Path) -> None:
    for command in ("dedup", "pairs"):
        for name in ("v1.2", "2024.11.16", "news.clean"):
            assert call(command, corpus.name, "-o", f"{command}-{name}", "--quiet").code == 0
            assert (Path(f"{command}-{name}") / "pairs.parquet").is_file()
    said = call("recut", "dedup-v1.2", "--threshold", "0.9", "-o", "new.txt").refusal
    assert "'new.txt'; its name must end in" in said


def test_a_state_of_other_options_is_not_discarded_in_silence(call: Call, corpus: Path) -> None:
    def interrupted() -> None:
        state = RunState(state_folder(Place.named("OUT")), "another fingerprint")
        state.finish("read", {}, {})
        state.close(keep=True)

    interrupted()
    said = "an interrupted run with other options, sources or version is discarded; this run starts from the beginning"
    assert said in call("dedup", corpus.name, "-o", "OUT").err
    assert said not in call("dedup", corpus.name, "-o", "OUT", "--force").err


def test_a_missed_pair_below_the_threshold_says_so() -> None:
    missed = {"left": "a", "right": "b", "similarity": 0.5203}
    seen = {"documents": 9, "pairs": 2, "found": 1, "recall": 0.5, "low": 0.1, "high": 0.9, "missed": [missed]}
    first, second = audit(seen, options=DedupOptions.of(threshold=0.6, floor=0.5))
    assert "1 of their 2 pairs down to 0.5 found" in first
    assert second.endswith("such as 'a', 'b' at 0.5203, below the threshold of 0.6")
    first, second = audit(seen, options=DedupOptions.of(threshold=0.5))
    assert "1 of their 2 pairs found" in first
    assert second.endswith("at 0.5203")
    far = {**seen, "missed": [{"left": "a", "right": "b", "distance": 7}]}
    first, second = audit(far, options=DedupOptions.of(codes="c", distance=3, floor=8))
    assert "1 of their 2 pairs up to a distance of 8 found" in first
    assert second.endswith("'b' at distance 7, beyond the limit of 3")


def test_a_second_stop_does_not_hide_what_the_first_left() -> None:
    first, second = KeyboardInterrupt(), KeyboardInterrupt()
    first.add_note("run the same command again to resume")
    second.__context__ = first
    for error in (first, second):
        assert _message_and_code(error) == ("twinset: stopped; run the same command again to resume", 130)
    alone = KeyboardInterrupt()
    alone.__context__ = ValueError("something else that was handled")
    assert _message_and_code(alone) == ("twinset: stopped; no partial output is left", 130)
