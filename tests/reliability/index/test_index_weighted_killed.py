"""kill -9 at any moment, of a writer to an index of weighted sets, while another process asks: as for texts."""

from __future__ import annotations

import random
import time

import twinset
from tests.reliability.command import run_seed
from tests.reliability.index.index_work import WEIGHTED, weights_of
from tests.reliability.ledger import Ledger
from tests.reliability.nursery import KILLED, Nursery

KILLS = 4


class WeightedLedger(Ledger):
    """The same, of an index of weighted sets."""

    def ask(self, index: twinset.Index) -> None:
        """Ask for sets themselves: those that are equal are the nearest, with a similarity of 1."""
        sets = {id: weights_of(text) for id, text in self.holds.items()}
        asked = dict(list(sets.items())[::7])
        found = index.query(asked, threshold=1.0)
        pairs = set(zip(found.column("query").to_pylist(), found.column("id").to_pylist(), strict=True))
        assert pairs == {(query, id) for query, one in asked.items() for id in sets if one and sets[id] == one}
        nearest = index.query(asked, k=1)
        assert nearest.num_rows == sum(map(bool, asked.values()))
        assert set(nearest["similarity"].to_pylist()) <= {1.0}


def test_a_killed_writer_of_weighted_sets(nursery: Nursery, index_url: str) -> None:
    dice = random.Random(run_seed())
    twinset.Index.create(index_url, **WEIGHTED).close()
    ledger = WeightedLedger(index_url)
    reader = nursery.start("ask_weighted", index_url, 3.0)
    for _ in range(KILLS):
        child = nursery.start("ingest_weighted", index_url, ledger.step)
        child.until(dice.choice((1, 3, 8, 12)))
        time.sleep(dice.uniform(0.0, 0.1))
        assert child.kill() == KILLED, child.complaint()
        ledger.note(child)
        ledger.audit()
    assert reader.ended_well()[0] > 0
    assert ledger.step >= KILLS
    assert len(ledger.holds) > 5
