"""An index against a plain dictionary, whatever is done to it and in whatever order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import twinset
from tests.index.conftest import Files, Place, Schemas
from tests.index.corpora import Model, rows, same
from twinset.errors import DuplicateIdError, UnknownIdError
from twinset.textbook.passages import maximal_runs

WORDS = [f"w{number}" for number in range(14)]
IDS = st.sampled_from(["a", "b", "c", "d", "e", "", "a\0", "\uffff", "é", "'; --"])
TEXTS = st.one_of(
    st.builds(lambda first, size: " ".join(WORDS[first : first + size]), st.integers(0, 6), st.integers(0, 9)),
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.just(""),
)
KINDS = st.fixed_dictionaries(
    {
        "store": st.sampled_from(["text", "shingles"]),
        "shingle": st.sampled_from(["word:1", "word:2", "char:3"]),
        "bag": st.booleans(),
        "threshold": st.sampled_from([0.5, 0.8]),
        "seed": st.integers(0, 3),
        "n_hashes": st.just(32),
        "n_bands": st.sampled_from([8, 16]),
        "rows_per_band": st.just(2),
        "contained": st.booleans(),
        "passages": st.sampled_from([None, 1, 3]),
    }
)


class Life(RuleBasedStateMachine):
    """Everything that can be done to an index, one after the other."""

    place: Place
    folder: Path

    @initialize(words=KINDS)
    def create(self, words: dict[str, Any]) -> None:
        self.where = self.place.new()
        if words["store"] != "text":
            words = {**words, "passages": None}
        self.index = twinset.Index.create(self.where, **words)
        self.texts: dict[str, str] = {}

    @rule(new=st.dictionaries(IDS, TEXTS, max_size=4), mapping=st.booleans())
    def add(self, new: dict[str, str], mapping: bool) -> None:
        there = [id for id in new if id in self.texts]
        if any(self.content(new[id]) != self.content(self.texts[id]) for id in there):
            with pytest.raises(DuplicateIdError):
                self.put(self.index.add, new, mapping)
            return
        done = self.put(self.index.add, new, mapping)
        assert (done.added, done.unchanged, done.replaced) == (len(new) - len(there), len(there), 0)
        self.texts |= {id: text for id, text in new.items() if id not in self.texts}

    @rule(new=st.dictionaries(IDS, TEXTS, max_size=4), mapping=st.booleans())
    def update(self, new: dict[str, str], mapping: bool) -> None:
        same_ones = {id for id, text in new.items() if self.content(self.texts.get(id)) == self.content(text)}
        replaced = {id for id in new if id in self.texts} - same_ones
        done = self.put(self.index.update, new, mapping)
        counts = (done.added, done.unchanged, done.replaced)
        assert counts == (len(new) - len(same_ones) - len(replaced), len(same_ones), len(replaced))
        kept = {id: text for id, text in self.texts.items() if id not in replaced}
        self.texts = kept | {id: text for id, text in new.items() if id not in same_ones}

    @rule(ids=st.lists(IDS, max_size=4))
    def remove(self, ids: list[str]) -> None:
        if all(id in self.texts for id in ids):
            assert self.index.remove(ids) == len(set(ids))
            self.texts = {id: text for id, text in self.texts.items() if id not in ids}
        else:
            with pytest.raises(UnknownIdError):
                self.index.remove(ids)

    @rule(text=TEXTS, k=st.one_of(st.none(), st.integers(1, 4)))
    def query(self, text: str, k: int | None) -> None:
        threshold = self.index.plan.threshold
        model = self.model()
        expected = model.nearest(text, k) if k else model.answers(text, threshold, among=model.candidates(text))
        assert same(rows(self.index.query(text, k=k)), expected)

    @precondition(lambda self: self.index.settings.options.passages)
    @rule(text=TEXTS)
    def passages(self, text: str) -> None:
        found = [(row["right"], row["words"]) for row in self.index.passages(text).to_pylist()]
        least, ours = self.index.settings.options.passages, text.split()
        runs = ((id, maximal_runs(ours, other.split(), least)) for id, other in self.texts.items())
        assert sorted(found) == sorted((id, n) for id, some in runs for _, _, n in some)

    @precondition(lambda self: self.texts)
    @rule(data=st.data())
    def similar(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(list(self.texts)))
        among = self.model().candidates(self.texts[id]) - {id}
        expected = self.model().answers(self.texts[id], self.index.plan.threshold, among=among)
        assert same(rows(self.index.similar_to(id)), expected)

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = twinset.Index.open(self.where)

    @rule()
    def compact(self) -> None:
        self.index.compact()

    @rule()
    def move(self) -> None:
        """Export, and go on with what is imported."""
        path = self.folder / "moved.parquet"
        assert self.index.export(path, force=True) == len(self.texts)
        self.index.close()
        self.where = self.place.new()
        self.index = twinset.Index.import_from(path, self.where)

    @invariant()
    def all_is_well(self) -> None:
        if hasattr(self, "index"):
            assert self.index.verify() == []
            assert len(self.index) == len(self.texts)
            assert list(self.index) == list(self.texts)
            assert [id for id in ("a", "b", "", "é", "no") if id in self.index] == [
                id for id in ("a", "b", "", "é", "no") if id in self.texts
            ]
            if self.index.settings.options.store == "text":
                assert self.index.texts(list(self.texts)) == list(self.texts.values())

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()

    def model(self) -> Model:
        return Model(self.texts, self.index.settings.options)

    def content(self, text: str | None) -> object:
        """What is compared when an id comes again: the text itself, or its shingles where no more is kept."""
        options = self.index.settings.options
        if text is None or options.store == "text":
            return text
        return Model({}, options).set(text)

    @staticmethod
    def put(change: Callable[..., Any], new: dict[str, str], mapping: bool) -> Any:
        return change(new) if mapping else change(list(new), list(new.values()))


@pytest.mark.filterwarnings("ignore::twinset.errors.PlanWarning")
@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        ("sqlite", 20),
        ("postgres", 6),
        pytest.param("sqlite", 1000, marks=pytest.mark.soak),
        pytest.param("postgres", 200, marks=pytest.mark.soak),
    ],
)
def test_any_life(kind: str, examples: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    class HereLife(Life):
        place = Files(tmp_path) if kind == "sqlite" else Schemas(request.getfixturevalue("database"))
        folder = tmp_path

    with closing(HereLife.place):
        run_state_machine_as_test(
            HereLife,
            settings=settings(
                max_examples=examples, stateful_step_count=12, suppress_health_check=[HealthCheck.too_slow]
            ),
        )
