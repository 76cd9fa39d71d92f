"""``twinset review`` as a command: it prints its address, answers, and stops with exit code 0."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.results import made
from tests.web.review.reviewing import ask


def test_the_command_prints_its_address_and_stops_when_asked(tmp_path: Path) -> None:
    out = made(tmp_path)
    command = [sys.executable, "-m", "twinset", "review", str(out), "--no-browser", "--who", "Ann", "--blind"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.fullmatch(r"review: (http://127\.0\.0\.1:\d+)/\?token=([\w-]{43})\n", process.stdout.readline())
        assert found
        root, token = found.groups()
        page = ask(root, "/clusters", token=token)
        assert page.status == 200
        assert "Ann" in page.text
        assert "scores are hidden" in page.text
        assert ask(root, "/clusters", token="").status == 401
        fields = {"list": "clusters", "item": 0, "pair": 1, "seen": 0, "verdict": "duplicate"}
        assert ask(root, "/verdicts", fields, token=token).status == 303
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert (tmp_path / "OUT.verdicts").is_file()
    assert [name for name in os.listdir(tmp_path) if name.startswith("OUT.verdicts-")] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "name a folder or a file of rows that dedup, recut, pairs or passages wrote"),
        (["OUT", "--host", "0.0.0.0"], "give a token too"),
        (["OUT", "--port", "99999"], "port is 99999"),
        (["OUT", "--token", "short"], "the token must be 16 to 256"),
    ],
)
def test_what_cannot_be_served_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    from twinset.cli import main

    made(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["review", *words, "--no-browser"]) == 2
    assert said in capsys.readouterr().err
