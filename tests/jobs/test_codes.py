"""SimHash codes as a step of their own: `twinset.sketch(…, sketch="simhash")`.

Seeds are fixed. The share of differing bits of 500 pairs is within 4 standard errors of the value for planes with
coordinates +1 and -1, which is computed exactly, and within 0.02 of angle/π besides; see tests/sketches/test_simhash.py
for finer bounds.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests import oracles
from tests.sketches.test_simhash import exactly
from twinset import textbook
from twinset.engines.local.budget import Budget
from twinset.errors import DuplicateIdError, OptionError, RowError, SourceError, StateError, UnknownIdError
from twinset.plan.codes import bit_differs
from twinset.schema import HASH_SCHEME
from twinset.sketches.simhash import DocumentFrequencies

WEIGHTS = ("count", "tf-idf", "none")
FOX = "The quick brown fox jumps over the lazy dog, and the dog sleeps on"
GOLDEN = {
    1: {
        ("count", 64): 0xAAB25F5D6635096C,
        ("count", 128): bytes.fromhex("aab25f5d6635096cb6439e4d7f0307d4"),
        ("tf-idf", 64): 0x9AA25F55623509EC,
        ("none", 64): 0x1AA25F54763909AC,
    }
}


def family(documents: int = 40, seed: int = 1) -> dict[str, str]:
    """Texts of a few families, with repeated words; one empty."""
    rng = np.random.default_rng(seed)
    texts = {}
    for number in range(documents):
        words = [f"w{number % 4}x{i % 25}" for i in range(40)]
        for place in rng.choice(40, int(rng.integers(0, 12)), replace=False):
            words[place] = f"own{number}x{place}"
        texts[f"d{number:02}"] = " ".join(words)
    texts["empty"] = " ... "
    return texts


def codes(made: twinset.SimHashes) -> dict[str, int | None]:
    """By id, as one number."""
    found = made.table["code"].to_pylist()
    numbers = (int.from_bytes(code, "big") if isinstance(code, bytes) else code for code in found)
    return dict(zip(made.ids, numbers, strict=True))


def as_number(words: list[int]) -> int:
    return int("".join(f"{word:016x}" for word in words), 16)


def rarity(rows: list[list[int]]) -> Callable[[int], int]:
    """The weight of a shingle by the documents that have it; without shingles there is no document."""
    places = len(DocumentFrequencies().counts)
    having = Counter(place for row in rows for place in {x % places for x in row})
    documents = sum(map(bool, rows))
    return lambda x: round(1024 * (math.log((1 + documents) / (1 + having[x % places])) + 1))


def expected(rows: dict[str, list[int]], bits: int, seed: int, weights: str) -> dict[str, int | None]:
    """By the oracle, from the shingles of each text."""
    weight = rarity(list(rows.values())) if weights == "tf-idf" else lambda _: 1
    made: dict[str, int | None] = {}
    for id, row in rows.items():
        once = list(dict.fromkeys(row)) if weights == "none" else row
        made[id] = as_number(oracles.simhash(once, bits // 64, seed, weight)) if row else None
    return made


# What they are


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("shingle", "bits"), [("word:1", 64), ("word:3", 128), ("char:5", 64)])
def test_codes_equal_the_oracle(shingle: str, bits: int, weights: str) -> None:
    texts = family(9)
    hashes = {id: list(oracles.shingle_hashes(text, 7, shingle)) for id, text in texts.items()}
    assert any(len(row) > len(set(row)) for row in hashes.values())
    made = twinset.sketch(texts, sketch="simhash", shingle=shingle, bits=bits, weights=weights, seed=7)
    assert codes(made) == expected(hashes, bits, 7, weights)
    assert made.table["shingles"].to_pylist() == [len(row) for row in hashes.values()]
    assert len(made) == 10


def test_codes_are_those_of_the_textbook() -> None:
    """Where no bit has a tie, of which the textbook's is 0: never, with an odd number of words."""
    texts = {id: text for id, text in family(12).items() if text.strip(" .")}
    texts = {id: f"{text} more" for id, text in texts.items()}
    salt = oracles.bit_salt(0, 1)
    made = codes(twinset.sketch(texts, sketch="simhash", shingle="word:1"))
    for id, text in texts.items():
        weights = Counter(oracles.shingle_hashes(text, 1, "word:1"))
        assert made[id] == textbook.simhash(weights, lambda x: oracles.fmix64(x ^ salt))


def test_without_weights_it_does_not_matter_how_often() -> None:
    texts = {"once": "one two three four five", "often": "one two three four five five five four one"}
    made = {
        weights: codes(twinset.sketch(texts, sketch="simhash", shingle="word:1", weights=weights))
        for weights in ("count", "none")
    }
    assert made["none"]["once"] == made["none"]["often"] == made["count"]["once"] != made["count"]["often"]


@pytest.mark.parametrize(("weights", "bits"), list(GOLDEN[HASH_SCHEME]))
def test_codes_stay_what_they_are(weights: str, bits: int) -> None:
    """Another value is another scheme of hashes."""
    texts = {"fox": FOX, "other": "a quick brown dog", "third": "the lazy dog"}
    made = twinset.sketch(texts, sketch="simhash", shingle="word:1", weights=weights, bits=bits)
    assert made.table["code"][0].as_py() == GOLDEN[HASH_SCHEME][weights, bits]


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("shared", [40, 70, 90])
def test_bits_differ_as_the_angle_says(tmp_path: Path, shared: int, bits: int) -> None:
    pairs, words = 500, 100
    texts = {}
    for pair in range(pairs):
        every = [f"p{pair}w{i}" for i in range(2 * words - shared)]
        texts[f"{pair}-a"], texts[f"{pair}-b"] = " ".join(every[:words]), " ".join(every[words - shared :])
    made = codes(twinset.sketch(texts, sketch="simhash", shingle="word:1", bits=bits, output=tmp_path / "c.parquet"))
    found = [(made[f"{pair}-a"] ^ made[f"{pair}-b"]).bit_count() for pair in range(pairs)]  # type: ignore[operator]
    share = exactly(words, shared)
    assert abs(share - bit_differs(shared / words)) <= 0.02
    assert abs(np.mean(found) / bits - share) <= 4 * math.sqrt(share * (1 - share) / bits / pairs)


def test_by_rarity_what_all_have_counts_less() -> None:
    """A letterhead that all letters have: by count it makes strangers alike, by tf-idf much less so."""
    head = " ".join(f"head{i}" for i in range(40))
    texts = {str(n): f"{head} " + " ".join(f"own{n}x{i}" for i in range(20)) for n in range(200)}

    def apart(weights: str) -> float:
        made = list(codes(twinset.sketch(texts, sketch="simhash", shingle="word:1", weights=weights)).values())
        return float(np.mean([(a ^ b).bit_count() for a, b in pairwise(made)]))  # type: ignore[operator]

    assert apart("count") + 8 < apart("tf-idf")


def test_estimates_of_the_cosine() -> None:
    words = [f"w{i}" for i in range(200)]
    texts = {"a": " ".join(words), "b": " ".join([*words[:160], *(f"x{i}" for i in range(40))]), "none": ""}
    made = twinset.sketch(texts, sketch="simhash", shingle="word:1", bits=128)
    found = made.estimate("a", "b")
    assert abs(found.similarity - 0.8) < 2 * found.standard_error
    assert 0.05 < found.standard_error < 0.15
    same = made.estimate("a", "a")
    assert same.similarity == 1.0
    assert 0 < same.standard_error < 0.01
    assert made.estimate("a", "none") == twinset.jobs.sketch.Estimate(0.0, 0.0, True)
    with pytest.raises(UnknownIdError, match="no sketch with the id 'x'"):
        made.estimate("a", "x")


# Every kind of set


def test_lists_groups_and_weights(tmp_path: Path) -> None:
    baskets = {"ann": ["tea", "bread", "jam", "tea"], "ben": ["tea", "milk", "milk", "milk"], "eve": ["soap"], "jo": []}
    lists = tmp_path / "baskets.jsonl"
    lists.write_text("".join(json.dumps({"id": id, "items": items}) + "\n" for id, items in baskets.items()))
    long = tmp_path / "bought.csv"
    long.write_text("user,item\n" + "".join(f"{id},{one}\n" for id, items in baskets.items() for one in items))
    summed = tmp_path / "summed.csv"
    rows = [(id, one, 0.25 * n) for id, items in baskets.items() for one, n in Counter(items).items()]
    summed.write_text("user,item,n\n" + "".join(f"{id},{one},{n}\n" for id, one, n in rows))
    for weights in WEIGHTS:
        by_list = codes(twinset.sketch(lists, items="items", sketch="simhash", weights=weights))
        assert by_list.pop("jo") is None
        assert by_list == codes(twinset.sketch(long, group="user", item="item", sketch="simhash", weights=weights))
        words: dict[str, Any] = {"group": "user", "item": "item", "weight": "n"}
        # Whatever the weights are multiplied by; of twice the weight as if it came twice.
        assert by_list == codes(twinset.sketch(summed, sketch="simhash", weights=weights, **words))
    named = pa.table({"id": ["a", "b"], "items": [["x", "y"], ["y", "x"]], "w": [[1.0, 3.0], [3.0, 1.0]]})
    a, b = codes(twinset.sketch(named, items="items", weight="w", sketch="simhash")).values()
    assert a == b == codes(twinset.sketch({"y": ["y"]}, items="items", sketch="simhash"))["y"]


def test_records() -> None:
    people = pa.table({"id": ["a", "b", "c"], "name": ["ann", "ann", ""], "town": ["york", "hull", ""]})
    made = codes(twinset.sketch(people, text=["name,char:2,9", "town,char:2"], sketch="simhash", bits=128))
    assert made["c"] is None
    near = (made["a"] ^ made["b"]).bit_count()  # type: ignore[operator]
    plain = codes(twinset.sketch(people, text=["name,char:2", "town,char:2,9"], sketch="simhash", bits=128))
    assert near < 30 < (plain["a"] ^ plain["b"]).bit_count()  # type: ignore[operator]


# How they are made


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_file_is_the_same_for_any_threads_batches_and_memory(
    tmp_path: Path, weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in family(300).items()))
    monkeypatch.setattr("twinset.engines.local.sketch_files.code_files._ROWS_TOGETHER", 64)
    ways: tuple[dict[str, Any], ...] = (
        {},
        {"threads": 1},
        {"threads": 3, "batch_bytes": 1024},
        {"memory": "512MB", "batch_bytes": 4096},
    )
    found = set()
    for number, words in enumerate(ways):
        output = tmp_path / f"{number}.parquet"
        made = twinset.sketch(source, output=output, sketch="simhash", weights=weights, bits=128, **words)
        assert (made.summary["documents"], made.summary["empty"]) == (301, 1)
        found.add(output.read_bytes())
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, *_: cls(1, 1)))  # one table, by turns
    output = tmp_path / "least.parquet"
    twinset.sketch(source, output=output, sketch="simhash", weights=weights, bits=128, threads=3, batch_bytes=1024)
    found.add(output.read_bytes())
    assert len(found) == 1
    held = twinset.sketch(family(300), sketch="simhash", weights=weights, bits=128)
    assert held.table.equals(pq.read_table(output))
    said = json.loads(pq.read_schema(output).metadata[b"twinset.codes"])
    assert (said["sketch"], said["bits"], said["weights"], said["version"]) == ("simhash", 128, weights, 1)


def test_a_file_is_opened_again_and_damage_is_told(tmp_path: Path) -> None:
    place = tmp_path / "codes.parquet"
    for weights in WEIGHTS:
        made = twinset.sketch(family(20), sketch="simhash", bits=128, weights=weights, output=place, force=True)
        again = twinset.SimHashes.open(place)
        assert len(again) == len(made) == 21
        assert again.scheme == made.scheme
        assert again.table.equals(made.table)
        assert again.estimate("d00", "d04") == made.estimate("d00", "d04")
    whole = place.read_bytes()
    for spoilt in (whole[:300] + bytes([whole[300] ^ 4]) + whole[301:], whole[:-9], b"", b"nonsense"):
        place.write_bytes(spoilt)
        with pytest.raises(StateError, match=r"codes\.parquet is damaged"):
            print(twinset.SimHashes.open(place).table)
    said = json.loads(pq.read_schema(pa.BufferReader(whole)).metadata[b"twinset.codes"])
    for change in ({"version": 2}, {"bits": 64}, {"more": 1}):
        table = pq.read_table(pa.BufferReader(whole))
        packed = json.dumps({**said, **change}, sort_keys=True).encode()
        pq.write_table(table.replace_schema_metadata({b"twinset.codes": packed}), place)
        with pytest.raises(StateError, match="is damaged, or of another version"):
            twinset.SimHashes.open(place)
    twinset.sketch(["a text"], output=place, force=True)
    with pytest.raises(SourceError, match="not a file of SimHash codes"):
        twinset.SimHashes.open(place)
    with pytest.raises(SourceError, match="there is no such file"):
        twinset.SimHashes.open(tmp_path / "nothing.parquet")


def test_what_can_be_read_once_is_counted_too() -> None:
    texts = family(30)
    table = pa.table({"id": list(texts), "text": list(texts.values())})
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7))
    words: dict[str, Any] = {"sketch": "simhash", "weights": "tf-idf", "shingle": "word:1"}
    assert codes(twinset.sketch(stream, **words)) == codes(twinset.sketch(texts, **words))


def test_rows_without_a_code_are_named(tmp_path: Path) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text(
        '{"id": "a", "text": "one two"}\nnonsense\n{"id": "b", "text": null}\n{"id": "c", "text": "..."}\n'
    )
    with pytest.raises(RowError):
        twinset.sketch(source, sketch="simhash")
    for weights in WEIGHTS:
        made = twinset.sketch(source, on_error="skip", sketch="simhash", weights=weights)
        assert [id for id, code in codes(made).items() if code is None] == made.summary["named"]["empty"] == ["b", "c"]
        assert made.ids == ["a", "b", "c"]
        assert (made.summary["empty"], made.summary["unreadable"]) == (2, 1)
        assert made.summary["named"]["unreadable"][0][0].endswith("texts.jsonl:1")
    source.write_text('{"id": "a", "text": "one"}\n{"id": "a", "text": "two"}\n')
    with pytest.raises(DuplicateIdError, match="the id 'a' appears twice"):
        twinset.sketch(source, sketch="simhash")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"bits": 64}, 'bits cannot be used with sketch="fss"'),
        ({"sketch": "kperm", "weights": "count"}, 'weights cannot be used with sketch="kperm"'),
        ({"items": "x", "weight": "w"}, 'weight cannot be used with sketch="fss"'),
        ({"sketch": "simhash", "n_hashes": 64}, 'n_hashes cannot be used with sketch="simhash"'),
        ({"sketch": "simhash", "bag": True}, 'bag cannot be used with sketch="simhash"'),
        ({"sketch": "simhash", "merge": True}, 'merge cannot be used with sketch="simhash"'),
        ({"sketch": "simhash", "bits": 96}, "bits is 96; allowed: 64 or 128"),
        ({"sketch": "simhash", "weights": "best"}, "weights is 'best'; allowed: count, tf-idf or none"),
        ({"sketch": "simhash", "items": "x", "shingle": "word:2"}, "shingle does not apply to sets"),
        ({"sketch": "simhash", "group": "x", "item": "y", "weight": "w", "shingle": "word:2"}, "to weighted sets"),
    ],
)
def test_options_that_have_no_meaning_are_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        twinset.sketch(["a text"], **words)


# What is done with them


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({}, {"bits": 128}, "bits is 64 in one and 128 in the other"),
        ({}, {"seed": 2}, "seed is 1 in one and 2 in the other"),
        ({}, {"shingle": "word:2"}, "shingle is word:5 in one and word:2 in the other"),
        ({"weights": "none"}, {"weights": "tf-idf"}, "weights is none in one and tf-idf in the other"),
        ({"weights": "tf-idf"}, {"weights": "tf-idf"}, "the digest of the tf-idf weights is"),
    ],
)
def test_codes_that_were_made_in_other_ways_are_not_compared(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], said: str
) -> None:
    places = [tmp_path / "one.parquet", tmp_path / "other.parquet"]
    twinset.sketch(family(3), sketch="simhash", output=places[0], **one)
    made = twinset.sketch({"x": "one more text"}, sketch="simhash", output=places[1], **other)
    for call in (
        lambda: twinset.find_pairs(*places, codes="code"),
        lambda: twinset.find_pairs(places[0], against=made, codes="code"),
        lambda: twinset.dedup(*places, codes="code"),
    ):
        with pytest.raises(OptionError, match=said):
            call()


def test_codes_that_were_made_alike_are_compared(tmp_path: Path) -> None:
    texts = family(20)
    half = dict(list(texts.items())[:10])
    rest = {id: text for id, text in texts.items() if id not in half}
    parts = [twinset.sketch(some, sketch="simhash", output=tmp_path / f"{len(some)}.parquet") for some in (half, rest)]
    both = twinset.find_pairs(*(part.path for part in parts), codes="code", distance=20).pairs
    assert both.equals(twinset.find_pairs(twinset.sketch(texts, sketch="simhash"), codes="code", distance=20).pairs)
    table = pq.read_table(parts[0].path)
    pq.write_table(table.replace_schema_metadata({b"twinset.codes": b"["}), tmp_path / "odd.parquet")
    with pytest.raises(StateError, match="how its codes were made cannot be read"):
        twinset.find_pairs(tmp_path / "odd.parquet", codes="code")


@pytest.mark.parametrize("bits", [64, 128])
def test_codes_are_joined_and_cleaned(tmp_path: Path, bits: int) -> None:
    texts = family(60)
    place = tmp_path / "codes.parquet"
    made = twinset.sketch(texts, sketch="simhash", shingle="word:2", bits=bits, output=place)
    known = {id: code for id, code in codes(made).items() if code is not None}
    reach = bits // 6
    near = {(left, right, bits) for left, right, bits in textbook.pairs_within(known, reach)}
    assert len(near) > 20
    for source in (place, made, twinset.sketch(texts, sketch="simhash", shingle="word:2", bits=bits)):
        found = twinset.find_pairs(source, codes="code", distance=reach)
        assert {tuple(row.values()) for row in found.pairs.to_pylist()} == near
        assert found.summary["empty"] == 1
    top = twinset.find_pairs(place, codes="code", distance=reach, top=1).pairs.to_pylist()
    least = {row["left"]: row["distance"] for row in top}
    assert least == {
        id: min(d for *pair, d in near if id in pair) for id in known if any(id in pair for *pair, _ in near)
    }
    kept = twinset.dedup(place, codes="code", distance=reach, output=tmp_path / "out")
    assert kept.summary["removed"] > 10
    rest = pq.read_table(tmp_path / "out" / "kept" / "codes.parquet")
    assert rest.column_names == ["id", "code", "shingles"]
    assert "empty" in rest["id"].to_pylist()
