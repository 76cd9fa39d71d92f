"""kill -9 at any moment, of a writer to an index of codes, while another process asks: as for an index of texts."""

from __future__ import annotations

import random
import time

import twinset
from tests.reliability.command import run_seed
from tests.reliability.index.index_work import CODES, code_of
from tests.reliability.ledger import Ledger
from tests.reliability.nursery import KILLED, Nursery

KILLS = 6


class CodeLedger(Ledger):
    """The same, of an index of codes."""

    def ask(self, index: twinset.Index) -> None:
        """Ask for codes themselves: those that are equal answer, and no others."""
        codes = {id: code_of(text) for id, text in self.holds.items()}
        asked = dict(list(codes.items())[::7])
        found = index.query(asked, distance=0)
        pairs = set(zip(found.column("query").to_pylist(), found.column("id").to_pylist(), strict=True))
        assert pairs == {(query, id) for query, code in asked.items() for id in codes if codes[id] == code}


def test_a_killed_writer_of_codes(nursery: Nursery, index_url: str) -> None:
    dice = random.Random(run_seed())
    twinset.Index.create(index_url, **CODES).close()
    ledger = CodeLedger(index_url)
    reader = nursery.start("ask_codes", index_url, 4.0)
    for _ in range(KILLS):
        child = nursery.start("ingest_codes", index_url, ledger.step)
        child.until(dice.choice((1, 3, 8, 12)))
        time.sleep(dice.uniform(0.0, 0.1))
        assert child.kill() == KILLED, child.complaint()
        ledger.note(child)
        ledger.audit()
    assert reader.ended_well()[0] > 0
    assert ledger.step >= KILLS
    assert len(ledger.holds) > 5
