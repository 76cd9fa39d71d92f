"""What a killed writer to an index had acknowledged, and what the index must therefore hold."""

from __future__ import annotations

from dataclasses import dataclass, field

import twinset
from tests.reliability.index.index_work import operation
from tests.reliability.nursery import Child


@dataclass
class Ledger:
    """The list of what was acknowledged, kept outside of the index; of an index of texts."""

    url: str
    step: int = 0
    holds: dict[str, str] = field(default_factory=dict)
    kills: int = 0
    acknowledged: int = 0
    whole: int = 0

    def note(self, child: Child) -> None:
        """Take down what a killed child had acknowledged; the kill cut short what came next, if anything."""
        done = [step for step in child.said() if isinstance(step, int)]
        assert done == list(range(self.step, self.step + len(done))), child.complaint()
        for step in done:
            planned = operation(step)
            self.holds = planned.after(self.holds) if planned else self.holds
            self.acknowledged += bool(planned)
        self.step += len(done)
        self.kills += 1

    def audit(self) -> None:
        """Hold the index against the list."""
        with twinset.Index.open(self.url) as index:
            index.add([], [], timeout=300)  # whoever still works for a killed client is waited for
            there = list(index)
            planned = operation(self.step)
            if planned and there != list(self.holds):
                self.holds = planned.after(self.holds)
                self.whole += 1
                self.step += 1
            assert there == list(self.holds)
            assert len(index) == len(there)
            assert index.verify() == []
            self.ask(index)

    def ask(self, index: twinset.Index) -> None:
        """Hold what the index has of its documents, and what it answers, against the list."""
        assert index.texts(list(self.holds)) == list(self.holds.values())
        for id, text in list(self.holds.items())[:1]:
            first = index.query(text)
            assert first.column("similarity")[0].as_py() == 1.0
            assert id in first.column("id").to_pylist()
            if index.settings.options.contained:
                assert id in index.query(text, contained=1.0).column("id").to_pylist()
            if index.settings.options.passages:
                assert id in index.passages(text, crowd=1_000_000).column("right").to_pylist()
