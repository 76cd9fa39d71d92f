"""Sketches as a step of their own: made, merged, put together, and compared without the documents."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import twinset
from tests import oracles
from twinset.engines.local.sketch_files import estimate
from twinset.errors import DuplicateIdError, OptionError, OutputError, StateError, UnknownIdError

KINDS = ("fss", "kperm", "bottom-k")
kinds = pytest.mark.parametrize("sketch", KINDS)


def family(documents: int = 60, seed: int = 1) -> dict[str, str]:
    """Texts of a few families, at all similarities; some identical, one empty."""
    rng = np.random.default_rng(seed)
    texts = {}
    for number in range(documents):
        base = number % 4
        words = [f"w{base}x{i}" for i in range(40)]
        for place in rng.choice(40, int(rng.integers(0, 20)), replace=False):
            words[place] = f"own{number}x{place}"
        texts[f"d{number:02}"] = " ".join(words)
    texts["copy"] = texts["d03"]
    texts["again"] = texts["d03"]
    texts["empty"] = " ... "
    return texts


def slots(made: twinset.Sketches) -> dict[str, list[int]]:
    return dict(zip(made.ids, made.table["sketch"].to_pylist(), strict=True))


def estimate_of(sketch: str, left: list[int], right: list[int], k: int) -> float:
    if sketch == "bottom-k":
        return oracles.bottom_k_estimate(left, right, k)
    return sum(a == b != oracles.EMPTY_SLOT for a, b in zip(left, right, strict=True)) / k


def by_hand(sketch: str, made: twinset.Sketches, threshold: float, k: int) -> dict[tuple[str, str], float]:
    """Every pair of sketches, compared."""
    every = slots(made)
    found = {}
    for left, right in combinations(every, 2):
        score = estimate_of(sketch, every[left], every[right], k)
        if score >= threshold:
            found[left, right] = score
    return found


def as_dict(pairs: pa.Table) -> dict[tuple[str, str], float]:
    return {(row["left"], row["right"]): row["similarity"] for row in pairs.to_pylist()}


# Making


@pytest.mark.parametrize("shingle", ["word:1", "word:3", "char:5"])
def test_sketches_equal_the_oracle(shingle: str) -> None:
    texts = family(10)
    hashes = {id: oracles.shingle_hashes(text, 7, shingle) for id, text in texts.items()}
    words: dict[str, Any] = {"shingle": shingle, "seed": 7, "n_hashes": 24}
    assert slots(twinset.sketch(texts, **words)) == {id: oracles.fss(one, 24) for id, one in hashes.items()}
    assert slots(twinset.sketch(texts, sketch="kperm", **words)) == {
        id: oracles.kperm(one, 24, 7) for id, one in hashes.items()
    }
    made = twinset.sketch(texts, sketch="bottom-k", **words)
    assert slots(made) == {id: oracles.bottom_k(one, 24) for id, one in hashes.items()}
    assert made.table["shingles"].to_pylist() == [len(one) for one in hashes.values()]


@kinds
def test_a_file_is_the_same_for_any_threads_batches_and_memory(tmp_path: Path, sketch: str) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in family(300).items()))
    found = set()
    for number, words in enumerate(
        ({}, {"threads": 1}, {"threads": 3, "batch_bytes": 1024}, {"memory": "512MB", "batch_bytes": 4096})
    ):
        output = tmp_path / f"{number}.parquet"
        made = twinset.sketch(source, output=output, sketch=sketch, **words)
        assert made.summary["documents"] == made.summary["sketches"] == 303
        assert made.summary["empty"] == 1
        found.add(output.read_bytes())
    assert len(found) == 1
    held = twinset.sketch(family(300), sketch=sketch)
    assert held.table.equals(twinset.Sketches.open(tmp_path / "0.parquet").table)


@pytest.mark.parametrize("sketch", ["fss", "bottom-k"])
def test_sets_groups_and_records(tmp_path: Path, sketch: str) -> None:
    baskets = {"ann": ["tea", "bread", "jam"], "ben": ["tea", "bread", "jam", "milk"], "eve": ["soap"]}
    lists = tmp_path / "baskets.jsonl"
    lists.write_text("".join(json.dumps({"id": id, "items": items}) + "\n" for id, items in baskets.items()))
    long = tmp_path / "bought.csv"
    long.write_text("user,item\n" + "".join(f"{id},{one}\n" for id, items in baskets.items() for one in items))
    made = twinset.sketch(lists, items="items", sketch=sketch)
    other = twinset.sketch(long, group="user", item="item", sketch=sketch)
    assert slots(made) == slots(other)
    if sketch == "bottom-k":
        assert made.estimate("ann", "ben") == twinset.jobs.sketch.Estimate(0.75, 0.0, True)
    assert as_dict(twinset.find_pairs(made, threshold=0.5).pairs).keys() == {("ann", "ben")}
    people = pa.table({"id": ["a", "b"], "name": ["ann smith", "ann smyth"], "town": ["york", "york"]})
    records = twinset.sketch(people, text=["name,char:2", "town,char:2,3"], sketch=sketch)
    assert len(records) == 2
    swapped = twinset.sketch(people, text=["town,char:2", "name,char:2,3"], sketch=sketch)
    with pytest.raises(OptionError, match="columns of a record are name, town in one and town, name in the other"):
        twinset.find_pairs(records, swapped)
    others = pa.table({"id": ["c"], "who": ["ann smith"], "town": ["york"]})
    renamed = twinset.sketch(others, text=["who,char:2", "town,char:2,3"], sketch=sketch)
    assert ("a", "c") in as_dict(twinset.find_pairs(records, renamed).pairs)
    with pytest.raises(OptionError, match="the kind of item is text in one and sets in the other"):
        twinset.find_pairs(twinset.sketch(["a text"], sketch=sketch), made)


def test_kinds_that_are_no_sets_are_refused() -> None:
    with pytest.raises(OptionError, match="unknown option 'vectors'"):
        twinset.sketch([[1.0]], vectors=True)


def test_rows_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text('{"id": "a", "text": "one two"}\nnonsense\n{"id": "b", "text": "three"}\n')
    made = twinset.sketch(source, on_error="skip", shingle="word:1")
    assert made.ids == ["a", "b"]
    assert made.summary["unreadable"] == 1
    assert made.summary["named"]["unreadable"][0][0].endswith("texts.jsonl:1")


def test_outputs(tmp_path: Path) -> None:
    output = tmp_path / "few.parquet"
    twinset.sketch(["one"], output=output)
    with pytest.raises(OutputError, match="exists; choose another output, or replace it with force=True"):
        twinset.sketch(["two"], output=output)
    twinset.sketch(["two"], output=output, force=True)
    with pytest.raises(OutputError, match="is both a source and the output"):
        twinset.sketch(output, output=output, force=True)
    with pytest.raises(OutputError, match="is both a source and the output"):
        twinset.find_pairs(output, output=output, force=True)
    with pytest.raises(OptionError, match=r"allowed: a name that ends in \.parquet"):
        twinset.sketch(["one"], output=tmp_path / "few.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["few.parquet"]


def test_an_output_in_the_folder_that_is_read(tmp_path: Path) -> None:
    """It is no source of the next run."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": name, "text": f"the text of {name}"}) + "\n")
    output = tmp_path / "made.parquet"
    before = twinset.sketch(tmp_path, output=output).table
    assert twinset.sketch(tmp_path, output=output, force=True).table.equals(before)


def test_a_failed_run_leaves_the_old_file(tmp_path: Path) -> None:
    output = tmp_path / "few.parquet"
    twinset.sketch(["one"], output=output)
    before = output.read_bytes()
    rows = pa.table({"id": ["a", "b", "a"], "text": ["x", "y", "z"]})
    with pytest.raises(DuplicateIdError, match=r"the id 'a' appears twice: .*, row 0, and .*, row 2"):
        twinset.sketch(rows, output=output, force=True)
    assert output.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["few.parquet"]


# Merging


@kinds
def test_rows_of_one_id_become_the_sketch_of_the_union(sketch: str) -> None:
    words: dict[str, Any] = {"sketch": sketch, "shingle": "word:1", "n_hashes": 32}
    rng = np.random.default_rng(3)
    rows = [(f"u{rng.integers(5)}", " ".join(f"w{x}" for x in rng.integers(0, 80, 30))) for _ in range(40)]
    table = pa.table({"id": [id for id, _ in rows], "text": [text for _, text in rows]})
    unions: dict[str, str] = {}
    for id, text in rows:
        unions[id] = f"{unions.get(id, '')} {text}"
    merged = twinset.sketch(table, merge=True, **words)
    assert slots(merged) == slots(twinset.sketch(unions, **words))
    assert list(unions) == merged.ids
    assert merged.summary["documents"] == 40
    assert merged.table["shingles"].null_count == len(unions)


@kinds
def test_files_merge_by_id(tmp_path: Path, sketch: str) -> None:
    words: dict[str, Any] = {"sketch": sketch, "shingle": "word:1"}
    january = {"ann": "tea bread jam", "ben": "soap"}
    february = {"cat": "milk", "ann": "jam eggs"}
    one = twinset.sketch(january, output=tmp_path / "january.parquet", **words)
    two = twinset.sketch(february, **words)
    every = twinset.sketch({"ann": "tea bread jam jam eggs", "ben": "soap", "cat": "milk"}, **words)
    merged = one.merge(two)
    assert slots(merged) == slots(every)
    assert merged.table["shingles"].to_pylist() == [None, 1, 1]
    with pytest.raises(DuplicateIdError, match="the id 'ann' appears twice"):
        twinset.sketch(tmp_path / "january.parquet", two)
    again = twinset.sketch(tmp_path / "january.parquet", two, merge=True, output=tmp_path / "both.parquet")
    assert slots(twinset.Sketches.open(tmp_path / "both.parquet")) == slots(again) == slots(every)


@kinds
def test_merging_in_several_passes(tmp_path: Path, sketch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    rows = [(f"u{rng.integers(300)}", f"w{rng.integers(50)} w{rng.integers(50)}") for _ in range(900)]
    table = pa.table({"id": [id for id, _ in rows], "text": [text for _, text in rows]})
    words: dict[str, Any] = {"sketch": sketch, "shingle": "word:1", "n_hashes": 16, "merge": True}
    at_once = twinset.sketch(table, **words)
    monkeypatch.setattr("twinset.engines.local.budget.Budget.sketches", 1000)
    assert twinset.sketch(table, batch_bytes=1024, **words).table.equals(at_once.table)


def test_files_are_put_together_in_order(tmp_path: Path) -> None:
    for name in "ab":
        twinset.sketch({f"{name}{i}": f"text {name} {i}" for i in range(5)}, output=tmp_path / f"{name}.parquet")
    both = twinset.sketch(tmp_path / "a.parquet", tmp_path / "b.parquet", output=tmp_path / "all.parquet")
    assert both.ids == [f"{name}{i}" for name in "ab" for i in range(5)]
    assert both.summary["sketches"] == 10
    with pytest.raises(OptionError, match="shingle cannot change existing sketches"):
        twinset.sketch(tmp_path / "a.parquet", shingle="char:3")
    with pytest.raises(OptionError, match="SOURCE 1 is a file of sketches and SOURCE 2 is not"):
        twinset.sketch(tmp_path / "a.parquet", ["a text"])


# Comparing


@kinds
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_pairs_are_those_whose_estimate_reaches_the_threshold(sketch: str, threshold: float) -> None:
    made = twinset.sketch(family(), sketch=sketch, shingle="word:2", n_hashes=64)
    expected = by_hand(sketch, made, threshold, 64)
    # One slot a band misses nobody; the estimates are then the same as by hand.
    words = {} if sketch == "bottom-k" else {"rows_per_band": 1, "n_bands": 64}
    found = twinset.find_pairs(made, threshold=threshold, **words)
    assert as_dict(found.pairs) == expected
    assert len(expected) > 7
    assert found.summary["pairs"] == len(expected)
    assert found.summary["estimate"]
    assert found.summary["identical"] == 2
    planned = as_dict(twinset.find_pairs(made, threshold=threshold).pairs)
    assert planned.items() <= expected.items()
    assert len(planned) >= 0.97 * len(expected)


@kinds
def test_estimates_are_near_the_truth(sketch: str) -> None:
    texts = family(seed=9)
    made = twinset.sketch(texts, sketch=sketch, shingle="word:1", n_hashes=256)
    exact = twinset.find_pairs(texts, threshold=0.4, shingle="word:1", exact=True).pairs.to_pylist()
    inside = 0
    for row in exact:
        found = made.estimate(row["left"], row["right"])
        inside += abs(found.similarity - row["similarity"]) <= 2 * found.standard_error + 1e-12
        if sketch == "bottom-k":
            assert found.exact
    assert inside >= 0.9 * len(exact)


@pytest.mark.parametrize("sketch", ["fss", "bottom-k"])
def test_small_memory_changes_nothing(sketch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = twinset.sketch(family(400), sketch=sketch, shingle="word:2", n_hashes=32)
    whole = twinset.find_pairs(made, threshold=0.5).pairs
    monkeypatch.setattr("twinset.engines.local.sketch_files.files._GROUP_BYTES", 1)
    for share in ("sets", "sketches", "names", "pairs"):
        monkeypatch.setattr(f"twinset.engines.local.budget.Budget.{share}", 6000)
    blocks: list[int] = []
    cut = estimate.EstimateRun._blocks

    def counted(run: Any) -> list[range]:
        found = cut(run)
        blocks.append(len(found))
        return found

    monkeypatch.setattr(estimate.EstimateRun, "_blocks", counted)
    found = twinset.find_pairs(made, threshold=0.5, threads=3)
    assert found.pairs.equals(whole)
    assert blocks[0] > 3


@pytest.mark.parametrize("sketch", ["fss", "bottom-k"])
def test_identical_sketches_and_the_most_similar(sketch: str) -> None:
    made = twinset.sketch(family(30), sketch=sketch, shingle="word:2", n_hashes=64)
    every = as_dict(twinset.find_pairs(made, threshold=0.5).pairs)
    same = {("d03", "copy"), ("d03", "again"), ("copy", "again")}
    assert {pair for pair in every if every[pair] == 1.0} >= same
    links = as_dict(twinset.find_pairs(made, threshold=0.5, identical="link").pairs)
    assert links.items() <= every.items()
    assert ("copy", "again") not in links
    top = twinset.find_pairs(made, threshold=0.5, top=2).pairs.to_pylist()
    for left in {row["left"] for row in top}:
        found = [row["similarity"] for row in top if row["left"] == left]
        scores = sorted((score for pair, score in every.items() if left in pair), reverse=True)
        assert found == scores[:2]


@kinds
@pytest.mark.parametrize("small", [False, True])
def test_one_file_against_another(sketch: str, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of both sides only; the same ids on both sides, and copies on each and across."""
    words: dict[str, Any] = {"sketch": sketch, "shingle": "word:2", "n_hashes": 64}
    texts, others = family(60), family(40, seed=5)
    others["d03"] = others["twin"] = texts["d03"]
    one, other = twinset.sketch(texts, **words), twinset.sketch(others, **words)
    left, right = slots(one), slots(other)
    expected = {
        (a, b): score for a in left for b in right if (score := estimate_of(sketch, left[a], right[b], 64)) >= 0.5
    }
    bands: dict[str, Any] = {} if sketch == "bottom-k" else {"rows_per_band": 1, "n_bands": 64}
    if small:
        monkeypatch.setattr("twinset.engines.local.sketch_files.files._GROUP_BYTES", 1)
        for share in ("sets", "sketches", "names", "pairs"):
            monkeypatch.setattr(f"twinset.engines.local.budget.Budget.{share}", 6000)
    found = twinset.find_pairs(one, against=other, threshold=0.5, **bands)
    assert as_dict(found.pairs) == expected
    assert {("d03", "d03"), ("copy", "d03"), ("again", "twin")} <= expected.keys()
    assert (found.summary["documents"], found.summary["against"]) == (63, 44)
    links = as_dict(twinset.find_pairs(one, against=other, threshold=0.5, identical="link", **bands).pairs)
    assert links.items() <= expected.items()
    assert ("copy", "d03") in links
    assert ("copy", "twin") not in links
    top = twinset.find_pairs(one, against=other, threshold=0.5, top=1, **bands).pairs.to_pylist()
    assert {row["left"]: row["similarity"] for row in top} == {
        a: max(score for pair, score in expected.items() if pair[0] == a) for a, _ in expected
    }


def test_what_a_file_is_not_compared_against(tmp_path: Path) -> None:
    made = twinset.sketch(["one text", "another"])
    with pytest.raises(OptionError, match="the sources are files of sketches, but against is not"):
        twinset.find_pairs(made, against=[["a text"]])
    with pytest.raises(OptionError, match="n_hashes is 128 in one and 64 in the other"):
        twinset.find_pairs(made, against=twinset.sketch(["a text"], n_hashes=64))


def test_small_sets_of_bottom_k_are_exact() -> None:
    made = twinset.sketch({"a": "one two three", "b": "two three four"}, sketch="bottom-k", shingle="word:1")
    assert twinset.find_pairs(made, threshold=0.4).pairs.to_pylist() == [
        {"left": "a", "right": "b", "similarity": 0.5, "standard_error": 0.0, "estimate": False}
    ]


@pytest.mark.parametrize(
    "words",
    [{"exact": True}, {"shingle": "word:3"}, {"by": "y"}, {"audit": 5}, {"sketch": "kperm"}],
)
def test_options_that_have_no_meaning_are_refused(words: dict[str, Any]) -> None:
    made = twinset.sketch(["one text", "another"])
    with pytest.raises(OptionError, match="does not apply to a file of sketches"):
        twinset.find_pairs(made, **words)


def test_other_refusals(tmp_path: Path) -> None:
    made = twinset.sketch(["one text", "another"], output=tmp_path / "few.parquet")
    with pytest.raises(OptionError, match="n_hashes is 64, but the sketches have 128"):
        twinset.find_pairs(made, n_hashes=64)
    with pytest.raises(DuplicateIdError, match=r"merge sketches of the same id with twinset\.sketch\(merge=True\)"):
        twinset.find_pairs(made, tmp_path / "few.parquet")
    with pytest.raises(UnknownIdError, match="there is no sketch with the id 'x'"):
        made.estimate("0", "x")
    bottom = twinset.sketch(["one text"], sketch="bottom-k")
    with pytest.raises(OptionError, match="they have no bands"):
        twinset.find_pairs(bottom, n_bands=4)
    with pytest.raises(OptionError, match="sketch is fss in one and bottom-k in the other"):
        made.merge(bottom)
    whole = (tmp_path / "few.parquet").read_bytes()
    (tmp_path / "few.parquet").write_bytes(whole[:300] + bytes([whole[300] ^ 4]) + whole[301:])
    with pytest.raises(StateError, match=r"few\.parquet"):
        twinset.find_pairs(tmp_path / "few.parquet")
