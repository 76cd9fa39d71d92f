"""An index behind a service, in both back ends: versions, many changes in one transaction, and keys of requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import twinset
from tests.index.conftest import Place
from twinset.index.served import Change, Series, ServedIndex

ROSE = "a rose is a rose is a rose in any garden of the town"
SEA = "and now for something completely different from the sea"


@pytest.fixture
def index(where: str) -> Iterator[ServedIndex]:
    with ServedIndex.create(where, shingle="word:3", seed=1) as made:
        assert isinstance(made, ServedIndex)
        yield made


def test_the_version_counts_changes(index: ServedIndex, where: str) -> None:
    versions = [index.version()]
    index.add(["a"], [ROSE])
    versions.append(index.version())
    index.add(["a"], [ROSE])  # unchanged
    versions.append(index.version())
    index.update(["a"], [SEA])
    versions.append(index.version())
    index.remove(["a"])
    versions.append(index.version())
    assert versions[:2] == [0, 1]
    assert versions[2] - versions[1] <= 1
    assert versions[3:] == [versions[2] + 1, versions[2] + 2]
    with pytest.raises(twinset.UnknownIdError):
        index.remove(["none"])
    assert index.version() == versions[-1]
    with ServedIndex.open(where, read_only=True) as reader:
        assert reader.version() == versions[-1]


def test_answers_name_the_version(index: ServedIndex) -> None:
    index.change([index.prepare(["a", "b"], [ROSE, SEA])])
    version, [first, second, none] = index.answer([ROSE, SEA, "nothing like it"], {})
    assert version == 1
    assert [one["id"] for one in first] == ["a"]
    assert [one["id"] for one in second] == ["b"]
    assert none == []
    assert index.answer_similar("a", {"k": 1})[0] == 1
    assert index.document("b") == (1, {"id": "b", "text": SEA})
    assert index.texts_of(["b", "none"]) == {"b": SEA}


def test_changes_of_one_transaction(index: ServedIndex) -> None:
    """Each gets its own answer; one that is refused does not hold up the others."""
    index.add(["known"], [ROSE])
    version = index.version()
    answers = index.change(
        [
            index.prepare(["a"], [ROSE]),
            index.prepare(["known", "never"], [SEA, SEA]),
            index.prepare(["known"], [SEA], replace=True),
            Change(removed=("none",)),
            Change(removed=("a",)),
            index.prepare(["a"], [SEA]),
        ]
    )
    assert answers[0] == {"added": 1, "replaced": 0, "unchanged": 0, "version": version + 1}
    assert isinstance(answers[1], twinset.DuplicateIdError)
    assert isinstance(answers[2], dict)
    assert answers[2]["replaced"] == 1
    assert isinstance(answers[3], twinset.UnknownIdError)
    assert answers[4] == {"removed": 1, "version": version + 1}
    assert set(index) == {"known", "a"}
    assert index.texts(["known", "a"]) == [SEA, SEA]
    assert index.version() == version + 1
    assert index.verify() == []


def test_nothing_changed(index: ServedIndex) -> None:
    [first] = index.change([index.prepare(["a"], [ROSE])])
    [again] = index.change([index.prepare(["a"], [ROSE])])
    assert isinstance(first, dict)
    assert again == {**first, "added": 0, "unchanged": 1}


def test_a_key_is_carried_out_once(index: ServedIndex) -> None:
    change = index.prepare(["a"], [ROSE], key="k", digest="1")
    [first] = index.change([change])
    assert isinstance(first, dict)
    again = {**first, "repeated": True}
    assert index.change([change, change]) == [again, again]
    [other] = index.change([replace(change, digest="2")])
    assert isinstance(other, twinset.OptionError)
    index.remove(["a"])
    assert index.change([change]) == [again]
    assert len(index) == 0
    assert index.verify() == []


def test_a_series_ends_with_its_first_failure(index: ServedIndex) -> None:
    index.add(["known"], [ROSE])
    series = Series()
    good, bad, later = (
        index.prepare([id], [text], series=series) for id, text in (("a", SEA), ("known", SEA), ("b", SEA))
    )
    first, second, third = index.change([good, bad, later])
    assert isinstance(first, dict)
    assert isinstance(second, twinset.DuplicateIdError)
    assert isinstance(third, twinset.StateError)
    assert isinstance(index.change([later])[0], twinset.StateError)
    assert list(index) == ["known", "a"]


def test_a_failed_transaction_changes_nothing(index: ServedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    series = Series()
    changes = [index.prepare(["a"], [ROSE], key="k", digest="1"), index.prepare(["b"], [SEA], series=series)]
    with monkeypatch.context() as broken:
        broken.setattr(index._backend, "insert_postings", lambda *_: (_ for _ in ()).throw(twinset.OutputError("full")))
        with pytest.raises(twinset.OutputError):
            index.change(changes)
    assert len(index) == 0
    assert series.failed
    [first] = index.change(changes[:1])
    assert isinstance(first, dict)
    assert "repeated" not in first


def test_requests_are_no_settings(index: ServedIndex, place: Place, where: str) -> None:
    """Neither an index that is opened nor an export sees them; older versions ignore rows that they do not know."""
    index.change([index.prepare(["a"], [ROSE], key="k", digest="1")])
    index.close()
    rows = dict(place.run(where, "SELECT name, value FROM settings"))
    assert sum(name.startswith("request:") for name in rows) == 1
    assert rows["changes"] == "1"
    with twinset.Index.open(where) as opened:
        assert not [name for name in opened._backend.settings() if name.startswith(("request:", "changes"))]
