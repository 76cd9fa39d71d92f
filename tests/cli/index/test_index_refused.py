"""``twinset index``: what is refused, how, and with which exit code; and what stays when a command is stopped."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.cli.conftest import Call, Run, text
from tests.reliability.command import struck

SECRET = "s3cr3t@/x"


@pytest.fixture
def news(call: Call, corpus: Path) -> str:
    call("index", "create", "news.twinset", "--seed", 1)
    assert call("index", "add", "news.twinset", corpus.name).code == 0
    return "news.twinset"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("xyzzy", "unknown command 'xyzzy'; the commands are create, add, update, query"),
        ("quary", "unknown command 'quary'; did you mean 'query'?"),
        ("create", "Missing argument 'INDEX'"),
        ("create x --threshold 2", "--threshold is 2.0; allowed: a number above 0 and up to 1"),
        ("create x --store everything", "--store is 'everything'; allowed: text, shingles or none"),
        ("create x --seed -1", "--seed is -1; allowed:"),
        ("create x --bands 20 --rows 10 --hashes 128", "20 × 10 = 200, more than --hashes, 128"),
        ("create x --memory 1GB", "--memory"),
        ("create no/such/folder/x", "no/such/folder/x"),
        ("create http://somewhere/x", "http://…: an index is in a file or at postgresql://…"),
        ("add", "Missing argument 'INDEX'"),
        ("add news.twinset", "Missing argument 'SOURCE...'"),
        ("add nowhere corpus.jsonl", "nowhere: there is no such index; create one with twinset index create"),
        ("add corpus.jsonl corpus.jsonl", "corpus.jsonl is damaged, or not an index"),
        ("add . corpus.jsonl", "not a file"),
        ("add news.twinset gone.jsonl", "gone.jsonl: there is no such file or folder"),
        ("add news.twinset corpus.jsonl --text body", "there is no column 'body'"),
        ("add news.twinset corpus.jsonl --by id", "--by"),
        ("add news.twinset corpus.jsonl --timeout soon", "--timeout is 'soon'; allowed: a whole number"),
        ("add news.twinset - -", "stdin (-) can be read only once"),
        ("query news.twinset", "sources, one --string TEXT or one --similar-to ID; given: none"),
        ("query news.twinset x --string y", "given: 1 source and --string"),
        ("query news.twinset --string x --string y", "given: --string, more than once"),
        ("query news.twinset --string x --similar-to a", "given: --string and --similar-to"),
        ("query news.twinset --string x --text body", "--text says how to read a source"),
        ("query news.twinset --similar-to a --batch 1MB", "--batch says how to read a source"),
        ("query news.twinset x -k 0", "-k is 0; allowed: a whole number from 1"),
        ("query news.twinset x --threshold 0", "--threshold is 0.0; allowed:"),
        ("query news.twinset x -o answers.txt", "its name must end in .jsonl, .ndjson, .csv or .parquet"),
        ("query nowhere --string x", "nowhere: there is no such index"),
        ("query news.twinset gone", "gone: there is no such file or folder"),
        ("remove news.twinset", "by ids, or by a file of ids with --ids FILE; neither is given"),
        ("remove news.twinset a --ids x", "by ids, or by a file of ids with --ids FILE; both are given"),
        ("remove news.twinset a -7", "write an id that begins with - after --, as in: -- -7"),
        ("stats nowhere", "nowhere: there is no such index"),
        ("stats", "Missing argument 'INDEX'"),
        ("compact nowhere", "nowhere: there is no such index"),
        ("migrate nowhere", "nowhere: there is no such index"),
        ("export news.twinset", "Missing argument 'FILE.parquet'"),
        ("export news.twinset no/where.parquet", "cannot write no/where.parquet"),
        ("import corpus.jsonl y", "corpus.jsonl is damaged, or not an exported index"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call: Call, news: str, words: str, message: str) -> None:
    done = call("index", *words.split(), stdin=b"")
    assert done.out == ""
    assert message in done.refusal


def test_hostile_words(call: Call, news: str) -> None:
    half = "half \udcff of a pair"
    assert "an unpaired surrogate" in call("index", "remove", news, half).refusal
    assert "an unpaired surrogate" in call("index", "query", news, "--similar-to", half).refusal
    assert "an unpaired surrogate" in call("index", "query", news, "--string", half).refusal
    assert "has 2000 bytes; the maximum is 1024" in call("index", "remove", news, "x" * 2000).refusal
    assert "no document with the id \"'; DROP TABLE documents; --\"" in call(
        "index", "remove", news, "'; DROP TABLE documents; --"
    ).refusal
    assert call("index", "verify", news).code == 0


ADDRESSES = [
    f"postgresql://someone:{SECRET}@127.0.0.1:1/news",
    f"postgresql://127.0.0.1:1/news?user=someone&password={SECRET.replace('@/', '')}",
    f"mysql://someone:{SECRET}@127.0.0.1/news",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_password_is_never_said(call: Call, news: str, corpus: Path, address: str) -> None:
    for words in (
        ["create", address], ["stats", address, "--debug"], ["add", address, corpus.name, "--debug"],
        ["query", address, "--string", "x"], ["stats", news, address], ["add", news, address, "--debug"],
        ["query", news, address], ["export", address, "x.parquet"], ["migrate", address], ["verify", address],
    ):  # fmt: skip
        done = call("index", *words)
        assert done.code == 2, words
        assert "s3cr3t" not in done.out + done.err
        assert done.err.splitlines()[-1].startswith("twinset: ")


def test_a_life_in_a_server(call: Call, corpus: Path, postgres_url: str) -> None:
    made = call("index", "create", postgres_url, "--seed", 1)
    assert made.code == 0, made.err
    assert call("index", "add", postgres_url, corpus.name, "--json").json["added"] == 6
    assert call("index", "add", postgres_url, corpus.name, "--json").json["unchanged"] == 6
    call("index", "create", "file.twinset", "--seed", 1)
    call("index", "add", "file.twinset", corpus.name)
    ours, theirs = (call("index", "query", where, corpus.name, "--quiet") for where in (postgres_url, "file.twinset"))
    assert ours == theirs
    assert call("index", "export", postgres_url, "x.parquet").code == 0
    assert call("index", "import", "x.parquet", "y").out == "y holds 6 documents\n"
    assert call("index", "remove", postgres_url, "a", "--json").json["documents"] == 5
    assert call("index", "verify", postgres_url).code == 0
    assert call("index", "compact", postgres_url).code == 0
    assert "already" in call("index", "create", postgres_url).refusal
    assert call("index", "stats", postgres_url, "--json").json["backend"] == "PostgreSQL"


def powerless() -> None:
    """Let the rights of files count for the superuser too."""
    if os.geteuid() == 0:
        drop, override, search = 24, 1, 2  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        for capability in (override, search):
            ctypes.CDLL(None, use_errno=True).prctl(drop, capability, 0, 0, 0)


def test_a_file_that_may_only_be_read(process: Run, news: str, corpus: Path, tmp_path: Path) -> None:
    more: dict[str, Any] = {"preexec_fn": powerless}
    (tmp_path / "new.jsonl").write_text(json.dumps({"id": "new", "text": text(9)}) + "\n")
    for path in tmp_path.glob(f"{news}*"):
        path.chmod(0o444)
    for words in (["add", news, "new.jsonl"], ["remove", news, "a"], ["compact", news]):
        done = process("index", *words, **more)
        assert done.returncode == 2, (words, done.stdout)
        (line,) = (line for line in done.stderr.splitlines() if line.startswith("twinset: "))
        assert "news.twinset" in line
    tmp_path.chmod(0o555)
    try:
        for words in (["query", news, "--string", text(2)], ["stats", news], ["verify", news]):
            done = process("index", *words, **more)
            assert done.returncode == 0, (words, done.stderr)
        assert process("index", "add", news, "new.jsonl", **more).returncode == 2
        assert "cannot write" in process("index", "query", news, "new.jsonl", "-o", "out.csv", **more).stderr
        assert process("index", "create", "another", **more).returncode == 2
    finally:
        tmp_path.chmod(0o755)
    assert call_ids(tmp_path / news) == ["a", "b", "c", "d", "e", "f"]


def call_ids(path: Path) -> list[str]:
    with twinset.Index.open(path, read_only=True) as index:
        return list(index)


def waiting(news: str, tmp_path: Path) -> subprocess.Popen[str]:
    """A command that holds the index, and waits for lines on stdin."""
    command = [sys.executable, "-m", "twinset", "index", "add", news, "-"]
    child = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    until = time.monotonic() + 120
    lock = tmp_path / f"{news}-lock"
    while not lock.exists() or f"process {child.pid} " not in lock.read_text():
        assert time.monotonic() < until
        assert child.poll() is None
        time.sleep(0.05)
    return child


def test_a_second_writer_is_told_who_is_the_first(call: Call, news: str, corpus: Path, tmp_path: Path) -> None:
    child = waiting(news, tmp_path)
    for words in (["add", news, corpus.name], ["update", news, corpus.name], ["remove", news, "a"], ["compact", news]):
        refusal = call("index", *words, "--timeout", 0).refusal
        assert f"another writer holds the index (process {child.pid} on " in refusal
        assert "--timeout" in refusal
    assert call("index", "query", news, corpus.name, "--json").json["found"] == 11
    out, _ = child.communicate(json.dumps({"id": "late", "text": text(5)}) + "\n")
    assert (child.returncode, out.splitlines()[-1]) == (0, "news.twinset holds 7 documents")


def test_ctrl_c(news: str, tmp_path: Path) -> None:
    child = waiting(news, tmp_path)
    assert child.stdin is not None
    child.stdin.write(json.dumps({"id": "late", "text": text(5)}) + "\n")
    child.stdin.flush()
    until = time.monotonic() + 120
    while any(fcntl.ioctl(child.stdin, termios.FIONREAD, bytes(4))):  # until it has been read
        assert time.monotonic() < until
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    assert (child.returncode, out) == (130, "")
    assert err.splitlines()[-1] == (
        "twinset: stopped; none of these documents was committed; run the same command again"
    )
    assert "Traceback" not in err
    assert call_ids(tmp_path / news) == ["a", "b", "c", "d", "e", "f"]


def test_a_command_that_was_stopped_goes_on(call: Call, tmp_path: Path) -> None:
    """More documents than are committed together: those before the blow stay."""
    every = 60_000
    with open(tmp_path / "1.jsonl", "w") as first, open(tmp_path / "2.jsonl", "w") as second:
        for number in range(every):
            line = json.dumps({"id": str(number), "text": f"number {number} and {number * 7} of them"}) + "\n"
            (first if number < every - 1000 else second).write(line)
    call("index", "create", "x", "--store", "none")
    index, sources = tmp_path / "x", [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    done = struck("INT", 4, "2.jsonl", "index", "add", index, *sources, "--batch", "64KiB", "--threads", 1)
    assert (done.code, done.out) == (130, "")
    kept = call("index", "stats", "x", "--json").json["documents"]
    assert 50_000 <= kept < every
    stay = f"{kept:,} documents are committed; run the same command again to resume"
    assert done.lines == [f"twinset: stopped; {stay}"]
    again = call("index", "add", "x", *sources, "--json").json
    assert (again["added"], again["unchanged"], again["documents"]) == (every - kept, kept, every)
    assert call("index", "verify", "x").code == 0
