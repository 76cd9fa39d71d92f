"""kill -9 of who writes verdicts: what was acknowledged is there, a step as a whole or not at all."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.command import run_seed
from tests.reliability.verdicts_work import step
from twinset.verdicts import VerdictStore

ROOT = Path(__file__).resolve().parents[2]
KILLS, SOAK_KILLS = 10, 200


def what_stands(store: VerdictStore) -> list[Any]:
    """All that a person sees, without times and marks, which differ."""
    events = [(one.kind, one.who, one.left, one.right, one.left_id, one.right_id, one.note) for one in store.events()]
    states = [(one.verdict, one.who, one.left, one.right, one.note, one.number) for one in store.states()]
    return [events, states, store.counts(), [one.contents for one in store.conflicts()]]


def struck(path: Path, first: int, dice: random.Random) -> list[int]:
    """Start a writer, kill it at a random moment, and return the steps that it acknowledged."""
    command = [sys.executable, "-m", "tests.reliability.verdicts_work", str(path), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        begun = [child.stdout.readline() for _ in range(dice.choice((0, 1, 1, 2, 8)))]
        time.sleep(dice.uniform(0.0, 0.05 if begun else 0.4))
        child.kill()
        rest, complaint = child.stdout.read(), child.stderr.read()
    assert complaint == b"", complaint
    said = b"".join(begun) + rest
    return [int(line) for line in said.split(b"\n")[:-1]]


def kill_loop(folder: Path, kills: int, seed: int) -> None:
    dice = random.Random(seed)
    path = folder / "OUT.verdicts"
    done = unsaid = 0
    with VerdictStore(folder / "mirror", basis="text") as mirror:
        for _ in range(kills):
            acknowledged = struck(path, done, dice)
            assert acknowledged == list(range(done, done + len(acknowledged)))
            for number in acknowledged:
                step(mirror, number)
            done += len(acknowledged)
            with VerdictStore(path, basis="text") as store:
                found = what_stands(store)
            if found != what_stands(mirror):  # one step more was done, but not yet said
                step(mirror, done)
                done, unsaid = done + 1, unsaid + 1
                assert found == what_stands(mirror)
    print(f"{kills} kills, {done} steps, {unsaid} of them done but not yet said")
    assert done > kills // 2


def test_a_killed_writer_of_verdicts(tmp_path: Path) -> None:
    kill_loop(tmp_path, KILLS, run_seed())


@pytest.mark.soak
def test_a_killed_writer_of_verdicts_many_times(tmp_path: Path) -> None:
    kill_loop(tmp_path, SOAK_KILLS, run_seed())
