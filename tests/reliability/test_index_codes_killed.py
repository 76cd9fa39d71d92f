"""kill -9 at any moment, of a writer to an index of codes, while another process asks: as for an index of texts."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

import twinset
from tests.reliability.index_work import CODES, code_of, operation
from tests.reliability.nursery import KILLED, Child, Nursery

KILLS = 6


@dataclass
class Ledger:
    """What was acknowledged, and what the index must therefore hold."""

    step: int = 0
    holds: dict[str, str] = field(default_factory=dict)

    def note(self, child: Child) -> None:
        done = [step for step in child.said() if isinstance(step, int)]
        assert done == list(range(self.step, self.step + len(done))), child.complaint()
        for step in done:
            planned = operation(step)
            self.holds = planned.after(self.holds) if planned else self.holds
        self.step += len(done)

    def audit(self, url: str) -> None:
        with twinset.Index.open(url) as index:
            index.add([], [], timeout=60)  # whoever still works for a killed client is waited for
            there, planned = list(index), operation(self.step)
            if planned and there != list(self.holds):
                self.holds, self.step = planned.after(self.holds), self.step + 1
            assert there == list(self.holds)
            assert index.verify() == []
            asked = dict(list(self.holds.items())[::7])
            found = index.query({id: code_of(text) for id, text in asked.items()}, distance=0)
            pairs = set(zip(found.column("query").to_pylist(), found.column("id").to_pylist(), strict=True))
            assert {(id, id) for id in asked} <= pairs
            codes = {id: code_of(text) for id, text in self.holds.items()}
            assert all(codes[query] == codes[id] for query, id in pairs)


def test_a_killed_writer_of_codes(nursery: Nursery, home_url: str) -> None:
    dice = random.Random(3)
    twinset.Index.create(home_url, **CODES).close()
    ledger = Ledger()
    reader = nursery.start("ask_codes", home_url, 4.0)
    for _ in range(KILLS):
        child = nursery.start("ingest_codes", home_url, ledger.step)
        child.until(dice.choice((1, 3, 8, 12)))
        time.sleep(dice.uniform(0.0, 0.1))
        assert child.kill() == KILLED, child.complaint()
        ledger.note(child)
        ledger.audit(home_url)
    assert reader.ended_well()[0] > 0
    assert ledger.step >= KILLS
    assert len(ledger.holds) > 5
