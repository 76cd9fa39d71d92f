"""What an index was made with is written in it and holds for its life."""

from __future__ import annotations

import json
from typing import Any

import pytest

import twinset
from tests.index.conftest import Place
from twinset.errors import DamagedError, OptionError, OutputError, StateError
from twinset.index.settings import FORMAT

OPTIONS: dict[str, Any] = {
    "threshold": 0.7, "recall": 0.95, "shingle": "char:7", "bag": True, "lowercase": False, "nfc": False,
    "squeeze": True, "spaces": False, "split": False, "sketch": "kperm", "store": "text", "seed": 2**63 - 1,
    "n_hashes": 200, "n_bands": 20, "rows_per_band": 7, "contained": True, "passages": 9,
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "threshold": 0.8, "recall": 0.96, "shingle": "word:7", "bag": False, "lowercase": True, "nfc": True,
    "squeeze": False, "spaces": True, "split": True, "sketch": "fss", "store": "shingles", "seed": 1,
    "n_hashes": 201, "n_bands": 19, "rows_per_band": 6, "contained": False, "passages": 8,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::twinset.errors.PlanWarning")
def test_options_are_recorded_and_recalled(where: str) -> None:
    with twinset.Index.create(where, **OPTIONS) as index:
        made = index.settings
    with twinset.Index.open(where) as index:
        assert index.settings == made
        for name, value in OPTIONS.items():
            assert getattr(index.settings.options, name) == value
        assert index.stats()["options"] == {name: value for name, value in OPTIONS.items() if name != "seed"}
        assert (index.plan.n_hashes, index.plan.n_bands, index.plan.rows_per_band) == (200, 20, 7)
        assert index.stats()["format"] == FORMAT
    with twinset.Index.open(where, **OPTIONS) as index:
        assert len(index) == 0


@pytest.mark.filterwarnings("ignore::twinset.errors.PlanWarning")
def test_opening_with_other_options_is_refused(where: str) -> None:
    twinset.Index.create(where, **OPTIONS).close()
    for name, other in OTHERS.items():
        with pytest.raises(OptionError, match="and it cannot be changed") as raised:
            twinset.Index.open(where, **{name: other})
        assert f"{name} is {other!r}, but the index was made with" in str(raised.value)
        assert str(OPTIONS["seed"]) not in str(raised.value)
    with pytest.raises(OptionError, match="unknown option 'treshold'; did you mean 'threshold'"):
        twinset.Index.open(where, treshold=0.7)
    with pytest.raises(OptionError, match="threshold is 7; allowed:"):
        twinset.Index.open(where, threshold=7)
    twinset.Index.open(where).close()


def test_a_plan_that_was_chosen_is_recorded_too(place: Place) -> None:
    for threshold in (0.3, 0.5, 0.8, 1.0):
        where = place.new()
        with twinset.Index.create(where, threshold=threshold) as index:
            made = index.plan
            assert made == twinset.plan(threshold)
        with twinset.Index.open(where, n_hashes=made.n_hashes, n_bands=made.n_bands) as index:
            assert index.plan == made


def test_seeds_are_drawn_and_kept_to_themselves(place: Place) -> None:
    seeds, keys = set(), set()
    for _ in range(3):
        with twinset.Index.create(place.new()) as index:
            seeds.add(index.settings.seed)
            keys.add(tuple(index.band_keys(["one text for all of them"])[0].tolist()))
            assert str(index.settings.seed) not in json.dumps(index.stats())
    assert len(seeds) == len(keys) == 3
    assert min(seeds) > 2**32  # 63 bits of chance


def test_nonsense_makes_no_index(where: str) -> None:
    for words in ({"threshold": 0}, {"store": "some"}, {"seed": -1}, {"seed": 2**63}, {"stor": "text"}):
        with pytest.raises(OptionError):
            twinset.Index.create(where, **words)
    with pytest.raises(StateError, match="there is no"):
        twinset.Index.open(where)


def test_what_is_there_is_left_alone(where: str) -> None:
    with twinset.Index.create(where) as index:
        index.add(["a"], ["text"])
    with pytest.raises(OutputError, match="already"):
        twinset.Index.create(where)
    with twinset.Index.open(where) as index:
        assert list(index) == ["a"]


def test_what_is_not_there_is_not_opened(where: str) -> None:
    for words in ({}, {"read_only": True}):
        with pytest.raises(StateError, match="create one with twinset index create"):
            twinset.Index.open(where, **words)
    with pytest.raises(StateError, match="create one with twinset index create"):
        twinset.Index.migrate(where)


@pytest.mark.parametrize("where", ["", "a\0b", "mysql://root:geheim@localhost/db", "https://example.org/index"])
def test_what_is_no_address(where: str) -> None:
    for act in (twinset.Index.open, twinset.Index.create):
        with pytest.raises(OptionError) as raised:
            act(where)
        assert "geheim" not in str(raised.value)


CHANGES: dict[str, tuple[type[StateError], str]] = {
    "UPDATE settings SET value = '7' WHERE name = 'format'": (StateError, "has format 7, and this version .* up to 6"),
    "UPDATE settings SET value = '99' WHERE name = 'hash_scheme'": (StateError, "made with hash scheme 99"),
    "DELETE FROM settings WHERE name = 'format'": (DamagedError, "settings of the index are damaged"),
    "DELETE FROM settings WHERE name = 'options'": (DamagedError, "settings of the index are damaged"),
    "UPDATE settings SET value = 'x' WHERE name = 'hash_scheme'": (DamagedError, "settings of the index are damaged"),
    "UPDATE settings SET value = '{}' WHERE name = 'options'": (DamagedError, "settings of the index are damaged"),
    "UPDATE settings SET value = '[]' WHERE name = 'options'": (DamagedError, "settings of the index are damaged"),
    "UPDATE settings SET value = 'null' WHERE name = 'format'": (DamagedError, "settings of the index are damaged"),
    "UPDATE settings SET value = replace(value, '\"n_bands\":16', '\"n_bands\":17000')": (DamagedError, "settings of"),
    "UPDATE settings SET value = replace(value, '\"seed\":1', '\"seed\":null')": (DamagedError, "settings of"),
    "UPDATE settings SET value = replace(value, '\"bag\"', '\"sack\"')": (DamagedError, "unknown option 'sack'"),
}


def test_settings_that_cannot_be_used_are_refused(place: Place) -> None:
    for change, (kind, message) in CHANGES.items():
        where = place.new()
        twinset.Index.create(where, seed=1).close()
        place.run(where, change)
        for words in ({}, {"read_only": True}):
            with pytest.raises(kind, match=message) as raised:
                twinset.Index.open(where, **words)
            assert type(raised.value) is kind
