"""Words of the command line: what is refused, how, and with which exit code."""

from __future__ import annotations

import re

import pytest

import twinset
from tests.cli.conftest import Run


def test_version(process: Run) -> None:
    done = process("--version")
    assert (done.returncode, done.stdout) == (0, f"twinset {twinset.__version__}\n")


def test_help_lists_every_command_with_a_whole_sentence(process: Run) -> None:
    done = process("--help")
    assert done.returncode == 0
    for name in ("demo", "pairs", "dedup", "compare", "plan"):
        assert re.search(rf"^  {name} +[A-Z].*\.$", done.stdout, re.MULTILINE)
    assert "..." not in done.stdout.split("Commands:")[1]


@pytest.mark.parametrize("name", ["demo", "pairs", "dedup", "compare", "plan"])
def test_every_command_has_a_help_page(process: Run, name: str) -> None:
    done = process(name, "--help")
    assert done.returncode == 0
    assert f"Usage: twinset {name}" in done.stdout
    assert "--json" in done.stdout


def test_no_words_at_all_show_the_help(process: Run) -> None:
    done = process()
    assert done.returncode == 2
    assert "Usage: twinset" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plan --threshold nan", "--threshold is nan; allowed: a number above 0 and up to 1"),
        ("plan --threshold 0", "--threshold is 0.0; allowed:"),
        ("plan --threshold 1.5", "--threshold is 1.5; allowed:"),
        ("plan --threshold high", "--threshold is 'high'; allowed:"),
        ("plan --recall 1", "--recall is 1.0; allowed: a number above 0 and below 1"),
        ("plan --hashes 1000000000", "--hashes is 1000000000; allowed: a whole number from 1 to 65536"),
        ("plan --hashes 1.5", "--hashes is '1.5'; allowed:"),
        ("plan --bands 20 --rows 10 --hashes 128", "20 × 10 = 200, more than --hashes, 128"),
        ("plan --treshold 0.5", "'--threshold'?"),
        ("plan 0.8", "0.8: there is no such file or folder"),
        ("plan --text body", "--text cannot be used without a SOURCE"),
        ("plan --sample 5", "--sample cannot be used without a SOURCE"),
        ("plan --compare 20", "--compare is '20'; allowed: bands x rows, such as 20x5"),
        ("plan --family 5", "--family is '5'; allowed: BITS,TABLES"),
        ("plan --plot curve.pdf", "the figure is 'curve.pdf'; allowed: a name that ends in .svg or .png"),
        ("pairs x --memory lots", "--memory is 'lots'; allowed: bytes, or a number with"),
        ("pairs x --memory 1MB", "at least 512 MB"),
        ("pairs x --shingle word", "shingle is 'word'; allowed: word:K or char:K"),
        ("pairs x --sketch best", "--sketch is 'best'; allowed: fss or kperm"),
        ("pairs x --encoding klingon", "--encoding is 'klingon'; allowed:"),
        ("pairs x -o pairs.txt", "'pairs.txt'; its name must end in .jsonl, .ndjson, .csv or .parquet"),
        ("pairs", "Missing argument 'SOURCE...'"),
        ("pairs nowhere.jsonl", "nowhere.jsonl"),
        ("dedup x", "name a folder or a file for the result with -o OUT"),
        ("dedup x -o OUT --keep newest", "newest needs a column"),
        ("dedup x -o OUT --cluster big", "--cluster is 'big'; allowed: leader, components or complete"),
        ("dedup nowhere -o OUT", "nowhere"),
        ("compare", "0 files and 0 strings to compare; allowed: two files, or --string twice"),
        ("compare a", "1 file and 0 strings"),
        ("compare a b --hashes 0", "--hashes is 0; allowed:"),
        ("compare nothing.txt nowhere.txt", "nothing.txt"),
        ("pair x", "unknown command 'pair'; did you mean 'pairs'?"),
        ("frobnicate", "unknown command 'frobnicate'; the commands are demo, pairs"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(process: Run, words: str, message: str) -> None:
    done = process(*words.split())
    lines = [line for line in done.stderr.splitlines() if not line.startswith("plan:")]
    assert (done.returncode, done.stdout) == (2, "")
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("twinset: ")
    assert message in lines[0]


def test_debug_shows_the_traceback(process: Run) -> None:
    done = process("pairs", "nowhere.jsonl", "--debug")
    assert done.returncode == 2
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("twinset: ")


def test_a_recall_out_of_reach_is_one_line_of_warning(process: Run) -> None:
    done = process("plan", "--hashes", 128, "--bands", 9, "--rows", 13)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: ")
    assert "probability 0.39" in line


def test_both_spellings_of_hashes_bands_and_rows(process: Run) -> None:
    short = process("plan", "--hashes", 100, "--bands", 20, "--rows", 5)
    long = process("plan", "--n-hashes", 100, "--n-bands", 20, "--rows-per-band", 5)
    assert short.returncode == 0
    assert short.stdout == long.stdout


def test_output_to_a_terminal_that_is_not_unicode(process: Run) -> None:
    done = process("plan", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "128 hashes" in done.stdout
