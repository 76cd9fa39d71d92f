"""``twinset warm``, and the time of compilation in what a run reports."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import twinset
from tests.cli.conftest import Call
from twinset.cli.support.progress import Lines, Terminal
from twinset.engines.progress import Silent
from twinset.system.compile_time import recorded


def test_it_says_when_there_is_nothing_to_do(call: Call) -> None:
    assert call("warm", "--quiet").code == 0
    assert call("warm").out.startswith("nothing to do: all kernels are compiled, in ")
    assert call("warm", "--json").json["compiled"] == 0


def test_compilation_has_its_own_line(capfd: pytest.CaptureFixture[str]) -> None:
    shown = Lines()
    shown.stage("finding candidates", 16, "bands")
    with recorded():
        time.sleep(0.2)
    shown.advance(16)
    shown.stage("verifying", None, "candidates")
    shown.close()
    assert capfd.readouterr().err.splitlines() == [
        "compiling: 0.2 s",
        "finding candidates: 16 bands, 0.0 s",
        "verifying: 0.0 s",
    ]


def test_compilation_has_its_own_bar() -> None:
    shown = Terminal()
    shown.stage("finding candidates", 16, "bands")
    with recorded():
        time.sleep(0.3)
    shown.advance(16)
    shown.close()
    took = {one.description: one.finished_time or 0.0 for one in shown._bars.tasks}
    assert took["compiling"] >= 0.3
    assert took["finding candidates"] < 0.3


class Compiling(Silent):
    """Compiles for a while when the candidates are verified, as a first run does."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        if name == "verifying":
            with recorded():
                time.sleep(0.5)


def test_compilation_has_its_own_entry_in_the_timings(corpus: Path) -> None:
    twinset.dedup(corpus)  # whatever was compiled before is reported here
    seconds = twinset.dedup(corpus, progress=Compiling()).summary["timings"]["seconds"]
    assert 0.5 <= seconds["compile"] < 1
    assert seconds["verify"] < 0.5
    assert seconds["total"] >= seconds["compile"]
    assert "compile" not in twinset.dedup(corpus).summary["timings"]["seconds"]
