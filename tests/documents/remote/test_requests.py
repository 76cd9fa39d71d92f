"""Requests that are stopped: a Ctrl-C says for what it waits, and nothing is asked for again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.documents.remote.odd_web import OddWeb
from twinset.documents.remote.requests import Requests
from twinset.documents.remote.stores import TransientError
from twinset.errors import FetchError
from twinset.system import batch_sizes
from twinset.system.addresses import Address

LINES = b'{"text":"one line"}\n' * 100
PLACE = Address.of("s3://news/a.jsonl")


def test_ctrl_c_says_for_what_it_waits(web: OddWeb, tmp_path: Path) -> None:
    web.files, web.faults = {"a.jsonl": LINES, "b.jsonl": LINES}, ["held", "held"]
    command = [sys.executable, "-m", "twinset", "pairs", f"{web.url}/a.jsonl", f"{web.url}/b.jsonl"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        assert run.stderr is not None
        for _ in web.files:
            assert web.holding.acquire(timeout=60)
        run.send_signal(signal.SIGINT)
        said: list[str] = []
        for line in run.stderr:
            said.append(line.rstrip())
            if line.startswith("stopping"):
                break
        assert said[-1:] == ["stopping: waiting for 2 pieces that are being fetched"], said
        web.release.set()
        assert "stopped" in run.stderr.read()
        assert run.wait(60) == 130


def test_one_error_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_sizes, "FETCH_PAUSE", 1000.0)
    requests, asked = Requests(None), list[str]()

    def busy() -> None:
        asked.append("busy")
        raise TransientError("the server is busy")

    def broken() -> None:
        while not asked:  # the other one is waiting for its next attempt
            time.sleep(0.01)
        raise FetchError("broken", where="s3://news/b.jsonl")

    with pytest.raises(FetchError, match="broken"):
        requests.make([lambda: requests.repeat(PLACE, busy), broken], 2, "piece", "fetched")
    assert asked == ["busy"]
    assert requests.repeat(PLACE, lambda: 5) == 5


def test_no_request_is_no_work() -> None:
    Requests(None).make([], 2, "piece", "fetched")
