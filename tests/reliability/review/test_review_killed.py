"""kill -9 during a review: every verdict that was acknowledged is there, once, and the file is whole."""

from __future__ import annotations

import random
import signal
import threading
import time
import urllib.error
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.reliability.command import run_seed
from tests.reliability.nursery import KILLED, Child, Nursery
from tests.report.results import made
from tests.web.review.reviewing import TOKEN, ask
from twinset.verdicts import VerdictStore

KILLS, SOAK_KILLS = 10, 200
PAIRS = {0: (1, 2), 1: (3, 4), 2: (5,)}


class Reviewer(threading.Thread):
    """Judges pair after pair until the server is gone, and notes what was acknowledged."""

    def __init__(self, root: str, name: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.root, self.who, self.dice = root, name, random.Random(seed)
        self.sent: list[str] = []
        self.acknowledged: list[str] = []
        self.problem = ""

    def run(self) -> None:
        for number in range(100_000):
            item = self.dice.choice(list(PAIRS))
            note = f"{self.who}-{number}"
            fields = {"list": "clusters", "item": item, "pair": self.dice.choice(PAIRS[item]), "seen": 10**9}
            self.sent.append(note)
            verdict = self.dice.choice(("duplicate", "different", "unsure"))
            try:
                answer = ask(self.root, "/verdicts", {**fields, "verdict": verdict, "note": note}, who=self.who)
            except (OSError, urllib.error.URLError, HTTPException):
                return  # killed
            if answer.status != 303:
                self.problem = answer.text
                return
            self.acknowledged.append(note)


def kill_loop(nursery: Nursery, folder: Path, kills: int, seed: int) -> None:
    """Start a server, judge as three people, strike, and look at the file; again and again."""
    dice = random.Random(seed)
    out, file = made(folder), folder / "kept.verdicts"
    sent: set[str] = set()
    acknowledged: list[str] = []
    for round in range(kills):
        child: Child = nursery.start("serve_review", out, file, TOKEN)
        [root] = child.until(1)
        people = [Reviewer(root, f"person {number} of round {round}", dice.randrange(10**6)) for number in range(3)]
        for one in people:
            one.start()
        wanted = dice.choice((1, 2, 5, 15))
        end = time.monotonic() + 60
        while sum(len(one.acknowledged) for one in people) < wanted and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.03))
        assert child.kill(signal.SIGKILL) == KILLED
        for one in people:
            one.join(60)
            assert not one.is_alive()
            assert not one.problem
            sent.update(one.sent)
            acknowledged += one.acknowledged
        assert sum(len(one.acknowledged) for one in people) >= wanted
        with VerdictStore(file) as store:
            stored = [event.note for event in store.events() if event.note]
        assert len(stored) == len(set(stored)), "a verdict is there twice"
        assert set(acknowledged) <= set(stored), "an acknowledged verdict is lost"
        assert set(stored) <= sent
    print(f"{kills} kills, {len(acknowledged)} verdicts acknowledged, {len(sent) - len(acknowledged)} more were sent")


def test_no_acknowledged_verdict_is_lost(nursery: Nursery, tmp_path: Path) -> None:
    kill_loop(nursery, tmp_path, KILLS, run_seed())


@pytest.mark.soak
def test_no_acknowledged_verdict_is_lost_in_many_kills(nursery: Nursery, tmp_path: Path) -> None:
    kill_loop(nursery, tmp_path, SOAK_KILLS, run_seed())
