"""All pairs of a small collection: exact, with the slots that agree, and the same sample whatever the order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from tests import oracles
from twinset import textbook
from twinset.errors import SourceError
from twinset.evaluation import real_pairs
from twinset.evaluation.real_pairs import SLOTS, compare_all
from twinset.options.survey import TextbookOptions

texts = st.dictionaries(st.sampled_from("abcdefgh"), st.text("ab ", max_size=12), min_size=2, max_size=6)


@given(texts, st.sampled_from(["char:2", "char:3", "word:1", "word:2"]), st.booleans())
def test_pairs_are_those_of_the_naive_search(named: dict[str, str], shingle: str, bag: bool) -> None:
    sets = {name: frozenset(oracles.shingle_set(text, shingle, bag=bag)) for name, text in named.items()}
    full = {name: one for name, one in sets.items() if one}
    options = TextbookOptions.of(shingle=shingle, bag=bag)
    if len(full) < 2:
        with pytest.raises(SourceError, match=f"the sources hold {len(full)} documents? with words"):
            compare_all([named], options)
        return
    found = compare_all([named], options)
    expected = {(left, right): s for left, right, s in textbook.all_pairs(full, 0.0)}
    told = {
        (found.ids[left], found.ids[right]): similarity
        for left, right, similarity in zip(found.lefts, found.rights, found.similarities.tolist(), strict=True)
    }
    assert told == expected
    assert found.similarities.tolist() == sorted(told.values(), reverse=True)
    assert (found.documents, found.empty) == (len(named), len(named) - len(full))
    assert found.every == len(full) * (len(full) - 1) // 2
    assert dict(zip(found.ids, found.sizes, strict=True)) == {name: len(one) for name, one in full.items()}


def test_agreeing_slots_are_those_of_the_sketches() -> None:
    words = [f"w{number}" for number in range(40)]
    named = {str(start): " ".join(words[start : start + 12]) for start in range(0, 24, 3)}
    found = compare_all([named], TextbookOptions.of(shingle="word:2", seed=5))
    made = twinset.sketch(named, shingle="word:2", sketch="kperm", n_hashes=SLOTS, seed=5).table
    signatures = {
        row["id"]: np.frombuffer(row["sketch"], "<u4") if isinstance(row["sketch"], bytes) else np.array(row["sketch"])
        for row in made.to_pylist()
    }
    bits = np.unpackbits(found.agreeing, axis=1, bitorder="little")
    for left, right, row in zip(found.lefts, found.rights, bits, strict=True):
        equal = signatures[found.ids[left]] == signatures[found.ids[right]]
        assert row.tolist() == equal.tolist()
    assert len(bits) > 10


def test_pairs_beyond_the_first_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{number}" for number in range(60)]
    named = {str(start): " ".join(words[start : start + 20]) for start in range(20)}
    whole = compare_all([named], TextbookOptions.of(shingle="word:1"))
    monkeypatch.setattr(real_pairs, "MOST_PAIRS", 25)
    monkeypatch.setattr(real_pairs, "_AT_ONCE", 7)
    found = compare_all([named], TextbookOptions.of(shingle="word:1"))
    assert found.similarities.tolist() == whole.similarities.tolist()[:25]
    assert sum(count for _, count in found.rest) == len(whole.lefts) - 25
    total = sum(similarity * count for similarity, count in found.rest)
    assert total == pytest.approx(whole.similarities[25:].sum())
    assert len(found.agreeing) == 25
    assert whole.rest == []


def rows(count: int) -> list[str]:
    texts = (f"text number {number} of {number % 7}" for number in range(count))
    return [json.dumps({"id": f"d{number}", "text": text}) for number, text in enumerate(texts)]


def test_a_sample_does_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    file, turned = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    lines = [*rows(90), json.dumps({"id": "copy", "text": "text number 3 of 3"})]
    file.write_text("\n".join(lines))
    turned.write_text("\n".join(reversed(lines)))
    options = TextbookOptions.of(documents=30)
    one, other = (compare_all([str(path)], options) for path in (file, turned))
    assert len(one.ids) == 30
    assert set(one.ids) == set(other.ids)
    assert (one.documents, one.empty) == (91, 0)
    assert set(compare_all([str(file)], TextbookOptions.of(documents=30, seed=2)).ids) != set(one.ids)
    assert len(compare_all([str(file)], TextbookOptions.of(documents=91)).ids) == 91


def test_excerpts_are_the_beginnings_of_texts() -> None:
    named = {"a": "one\n\n  two " + "x" * 500, "b": "one two"}
    found = compare_all([named], TextbookOptions.of())
    assert found.excerpts is not None
    assert found.excerpts[1] == "one two"
    assert found.excerpts[0].startswith("one two xxx")
    assert found.excerpts[0].endswith("x…")
    assert len(found.excerpts[0]) == real_pairs.EXCERPT
    assert compare_all([named], TextbookOptions.of(texts=False)).excerpts is None
