"""Exact runs find what comparing every two documents finds, whatever the options, and within whatever memory."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twinset
from tests import oracles
from tests.engines.local.corpora import PLENTY, Stages, texts
from tests.reliability.command import documents, write_lines
from tests.reliability.command import started as command
from twinset import textbook
from twinset.documents.sources import open_sources
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import Copies
from twinset.engines.local.state import RunState
from twinset.engines.local.steps import candidates as joining
from twinset.engines.local.steps import candidates_exact
from twinset.engines.local.steps.read import DocumentReader
from twinset.engines.local.steps.verify import SetVerifier
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Silent
from twinset.errors import OptionError
from twinset.options import PairsOptions
from twinset.pairs.sets import Sets, overlaps
from twinset.plan import exact_plan
from twinset.schema import Shingles
from twinset.system.scratch import Spool

WORDS = ["a", "b", "c", "d", "e", "rose", "is", "ß", "京", "都", "E", "é"]
LINES = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)


@st.composite
def collections(draw: st.DrawFn) -> list[str]:
    """Short texts of few words, with near and exact copies among them."""
    found = draw(st.lists(LINES, min_size=1, max_size=9))
    for _ in range(draw(st.integers(0, 9))):
        copy = draw(st.sampled_from(found)).split()
        if copy and draw(st.booleans()):
            copy[draw(st.integers(0, len(copy) - 1))] = draw(st.sampled_from(WORDS))
        found.append(" ".join(copy))
    return found


def scored(result: twinset.PairsResult) -> dict[tuple[str, str], oracles.Scores]:
    rows = result.pairs.to_pylist()
    found = {(row["left"], row["right"]): oracles.scores_in(row) for row in rows}
    assert len(found) == len(rows)
    return found


@given(
    collections(),
    st.sampled_from(["word:1", "word:2", "word:3", "char:2", "char:4"]),
    st.booleans(),
    st.sampled_from([0.1, 0.3, 0.5, 2 / 3, 0.8, 1.0]) | st.floats(0.01, 1.0),
)
@settings(max_examples=60)
def test_equal_to_comparing_every_two(given_texts: list[str], shingle: str, bag: bool, threshold: float) -> None:
    named = {str(number): text for number, text in enumerate(given_texts)}
    found = twinset.find_pairs(given_texts, exact=True, shingle=shingle, bag=bag, threshold=threshold)
    assert scored(found) == oracles.pairs(named, threshold, shingle=shingle, bag=bag)


@given(collections(), st.lists(st.sampled_from(["x", "y", None]), min_size=18, max_size=18))
@settings(max_examples=40)
def test_by_a_column(given_texts: list[str], groups: list[str | None]) -> None:
    rows = [{"id": str(i), "text": text, "group": groups[i]} for i, text in enumerate(given_texts)]
    words = {"shingle": "word:2", "threshold": 0.5}
    found = scored(twinset.find_pairs(rows_table(rows), exact=True, by="group", **words))
    every = oracles.pairs({str(i): text for i, text in enumerate(given_texts)}, **words)  # type: ignore[arg-type]
    expected = {pair: scores for pair, scores in every.items() if groups[int(pair[0])] == groups[int(pair[1])]}
    assert found == expected


def rows_table(rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    kinds = pa.schema([("id", pa.string()), ("text", pa.string()), ("group", pa.string())])
    return pa.Table.from_pylist(rows, kinds)


@given(collections(), collections(), st.sampled_from([None, "group"]))
@settings(max_examples=40)
def test_against_another_source(mine: list[str], theirs: list[str], by: str | None) -> None:
    def rows(given_texts: list[str], mark: str) -> list[dict[str, Any]]:
        return [{"id": f"{mark}{i}", "text": text, "group": "xy"[i % 2]} for i, text in enumerate(given_texts)]

    words: dict[str, Any] = {"shingle": "word:2", "threshold": 0.5}
    own, other = rows(mine, "m"), rows(theirs, "t")
    found = scored(twinset.find_pairs(rows_table(own), against=rows_table(other), by=by, exact=True, **words))
    expected = {}
    for one, two in product(own, other):
        pair = oracles.pairs({one["id"]: one["text"], two["id"]: two["text"]}, **words)
        expected.update(pair if by is None or one["group"] == two["group"] else {})
    assert found == expected


def test_each_copy_with_its_first_appearance() -> None:
    one, other = "a b c d e f g h", "a b c d e f g i"
    found = twinset.find_pairs([one, one, other, one], exact=True, shingle="word:1", threshold=0.7, identical="link")
    assert set(scored(found)) == {("0", "1"), ("0", "3"), ("0", "2")}
    every = twinset.find_pairs([one, one, other, one], exact=True, shingle="word:1", threshold=0.7)
    assert set(scored(every)) == {*combinations("013", 2), ("0", "2"), ("1", "2"), ("2", "3")}


def test_it_finds_what_bands_may_miss() -> None:
    given_texts = texts(400)
    words: dict[str, Any] = {"threshold": 0.5, "shingle": "word:3"}
    found = scored(twinset.find_pairs(given_texts, exact=True, **words))
    assert found == oracles.pairs({str(i): text for i, text in enumerate(given_texts)}, **words)
    with pytest.warns(twinset.PlanWarning):
        few = scored(twinset.find_pairs(given_texts, n_bands=1, rows_per_band=8, **words))
    assert set(few) < set(found)


def test_the_plan_has_no_bands() -> None:
    found = twinset.find_pairs(["a b c", "a b c d"], exact=True, shingle="word:1", threshold=0.6)
    assert str(found.plan) == "exact: every pair at 0.6 and above is found"
    assert found.summary["plan"] == {"exact": True, "threshold": 0.6, "recall": 1.0, "reached": 1.0}
    assert found.summary["options"]["exact"] is True
    assert found.plan.exact
    assert (found.plan.p_found(0.6), found.plan.p_found(1.0), found.plan.step) == (1.0, 1.0, 0.6)
    assert not twinset.plan().exact


@pytest.mark.parametrize(
    "words", [{"recall": 0.9}, {"n_hashes": 64}, {"n_bands": 4}, {"rows_per_band": 2}, {"sketch": "kperm"}]
)
def test_what_belongs_to_sketches_is_refused(words: dict[str, Any]) -> None:
    [name] = words
    with pytest.raises(OptionError, match=f"^{name} is .*, which cannot be used with exact"):
        twinset.find_pairs(["a", "b"], exact=True, **words)


# Memory, threads, batches


def stages(
    folder: Path, sources: list[Any], budget: Budget = PLENTY, *, against: list[Any] | None = None, threads: int = 2,
    batch_bytes: int = 4096, **words: Any,
) -> Stages:  # fmt: skip
    """Read, join and verify."""
    options = PairsOptions.of(exact=True, **words)
    folder.mkdir(parents=True, exist_ok=True)
    own = open_sources(sources, options, scratch=folder).parts
    other = open_sources(against, options, scratch=folder, against=True).parts if against else []
    state, pool = RunState(folder / "state", "mark"), Threads(threads)
    reading = DocumentReader(
        [*own, *other], len(own), options, exact_plan(options.threshold), budget, state, pool, Silent(),
        batch_bytes=batch_bytes, whole=False, by_length=False,
    )  # fmt: skip
    corpus = reading.corpus()
    copies = Copies.of(joining.first_appearances(corpus), corpus.status)
    candidates = candidates_exact.candidates(corpus, copies.first, options, budget, state, pool, Silent())
    verifying = SetVerifier(corpus, options, budget, state.scratch, pool, Silent())
    pairs = Spool(folder / "verified", "<u4", 3)
    verifying.verify(candidates, options.threshold, pairs)
    pool.close()
    assert not [path for path in state.scratch.iterdir() if path.name in ("prefixes", "bitmaps")]
    return Stages(corpus, copies, candidates, pairs, verifying.sizes)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("exact") / "in.jsonl"
    rows = [{"id": f"d{number}", "text": text, "group": number % 3} for number, text in enumerate(texts(400))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


WAYS: list[tuple[int, dict[str, Any]]] = [
    (60_000, {}),
    (1_500_000, {"threshold": 0.4, "shingle": "char:3"}),
    (100_000, {"by": "group", "threshold": 0.5}),
]
"""Options, and memory of which they need far more."""


@pytest.fixture(scope="module", params=WAYS, ids=["default", "crowded", "by"])
def whole(request: pytest.FixtureRequest, source: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    little, words = request.param
    return stages(tmp_path_factory.mktemp("whole"), [source], **words), little, words


def same(one: Stages, other: Stages) -> None:
    assert one.rows(one.candidates) == other.rows(other.candidates)
    assert one.rows(one.pairs) == other.rows(other.pairs)
    np.testing.assert_array_equal(one.sizes, other.sizes)


@pytest.mark.parametrize("times", [1, 4, 20])
def test_any_budget_finds_the_same(tmp_path: Path, source: str, whole: Any, times: int) -> None:
    right, little, words = whole
    assert len(right.rows(right.pairs)) > 50
    assert right.corpus.cached_blocks
    same(stages(tmp_path, [source], Budget(0, times * little), **words), right)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("batch_bytes", [300, 2**20])
def test_any_batch_and_threads_find_the_same(
    tmp_path: Path, source: str, whole: Any, batch_bytes: int, threads: int
) -> None:
    right, little, words = whole
    budget = Budget(0, 4 * little)
    same(stages(tmp_path, [source], budget, batch_bytes=batch_bytes, threads=threads, **words), right)


def test_little_memory_means_many_blocks(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[candidates_exact._Blocks] = []
    joined = candidates_exact._Blocks.joined
    monkeypatch.setattr(candidates_exact._Blocks, "joined", lambda blocks: seen.append(blocks) or joined(blocks))
    found = stages(tmp_path / "little", [source], Budget(0, 100_000))
    assert not found.corpus.cached_blocks
    assert len(seen[-1].own) > 5
    stages(tmp_path / "many", [source], Budget(0, 9_000))
    assert 2 * len(seen[-1].own) > candidates_exact._OPEN_FILES
    crowd = stages(tmp_path / "crowd", [source], threshold=0.4, shingle="char:3")
    assert seen[-1].crowded.any()
    assert len(seen[-1].own) == 1
    assert len(crowd.rows(crowd.candidates)) < 400 * 399 / 2 / 10


@pytest.mark.parametrize("free", [30_000, 300_000, 10**9])
def test_against_within_any_budget(tmp_path: Path, free: int) -> None:
    mine, theirs = texts(200, seed=3), texts(300, seed=3)[::-1]
    right = stages(tmp_path / "whole", [mine], PLENTY, against=[theirs])
    found = stages(tmp_path / "little", [mine], Budget(free, free), against=[theirs], batch_bytes=600)
    same(found, right)
    rows = found.rows(found.pairs)
    assert len(rows) > 100
    assert all(left < len(mine) <= right for left, right, _ in rows)


def test_one_document_larger_than_the_whole_budget(tmp_path: Path) -> None:
    giant = " ".join(f"word{number}" for number in range(3000))
    given_texts = [*texts(60), giant, giant + " end", *texts(60, seed=2)]
    right = stages(tmp_path / "whole", [given_texts])
    assert [60, 61] in [row[:2] for row in right.rows(right.pairs)]
    same(stages(tmp_path / "little", [given_texts], Budget(0, 2000)), right)


@pytest.mark.parametrize("given_texts", [[], [""], ["one text"], ["", " ", "..."], ["a b", "c d"]])
def test_nothing_to_join(given_texts: list[str]) -> None:
    found = twinset.find_pairs(given_texts or [""], exact=True)
    assert (found.summary["pairs"], found.summary["candidates"]) == (0, 0)


# The command


def test_the_command_gives_the_same_bytes_every_way(tmp_path: Path) -> None:
    rows = write_lines(tmp_path / "in.jsonl", documents(800))
    written = set()
    for number, way in enumerate([["--threads", "1"], ["--threads", "3", "--batch", "1KiB"], ["--memory", "512MB"]]):
        place = tmp_path / f"{number}.parquet"
        done = command("pairs", rows, "--exact", "--threshold", "0.6", "-o", place, "--json", *way)
        assert done.code == 0, done.err
        assert "plan: exact: every pair at 0.6 and above is found" in done.err
        written.add((place.read_bytes(), done.summary["candidates"]))
    assert len(written) == 1
    assert done.summary["pairs"] > 100


def test_the_command_refuses_bands(tmp_path: Path) -> None:
    rows = write_lines(tmp_path / "in.jsonl", documents(5))
    done = command("pairs", rows, "--exact", "--bands", "4")
    assert "--bands is 4, which cannot be used with exact" in done.refused()


@given(st.lists(st.sets(st.integers(1, 30)), min_size=1, max_size=12), st.sampled_from([0.2, 0.5, 0.75, 1.0]))
def test_overlaps_of_all_pairs_are_those_of_the_textbook(given_sets: list[set[int]], threshold: float) -> None:
    hashes = np.array([item for one in given_sets for item in sorted(one)], np.uint64)
    offsets = np.cumsum([0, *(len(one) for one in given_sets)])
    sets = Sets.with_room(np.diff(offsets))
    rows = np.arange(len(given_sets))
    sets.fill(Shingles(rows, offsets, hashes), rows, rows)
    expected = list(textbook.all_pairs(dict(enumerate(given_sets)), threshold))
    lefts, rights = (one.astype(np.uint32) for one in np.triu_indices(len(given_sets), 1))
    shared = overlaps(sets, lefts, rights, threshold)
    rows = [(int(a), int(b), int(n)) for a, b, n in zip(lefts, rights, shared, strict=True) if n]
    assert rows == [(a, b, len(given_sets[a] & given_sets[b])) for a, b, _ in expected]


def test_a_stopped_run_goes_on(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read and joined before the stop is not read and joined again."""

    def stop(*_: object) -> None:
        raise OSError(28, "no space left")

    words: dict[str, Any] = {"exact": True, "threshold": 0.5}
    whole = twinset.find_pairs(source, output=tmp_path / "whole.parquet", **words)
    with monkeypatch.context() as patch:
        patch.setattr(SetVerifier, "verify", stop)
        with pytest.raises(OSError, match="no space left"):
            twinset.find_pairs(source, output=tmp_path / "out.parquet", **words)
    with monkeypatch.context() as patch:
        patch.setattr(candidates_exact.PrefixJoin, "candidates", stop)
        found = twinset.find_pairs(source, output=tmp_path / "out.parquet", **words)
    assert found.summary["timings"]["resumed"] == ["candidates", "sketches"]
    assert found.summary["candidates"] == whole.summary["candidates"]
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
