"""What does not fit in memory goes through files, and comes out the same as if it had fitted."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import numpy as np
import pytest

from tests.engines.local.corpora import PLENTY, Stages, stages, texts
from twinset.engines.local.budget import Budget
from twinset.engines.local.steps.cluster import grouped, ranks
from twinset.engines.progress import Silent
from twinset.options import DedupOptions

FREE = [1000, 5000, 60_000, 400_000]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("spilling") / "in.jsonl"
    rows = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts(600))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def whole(source: str, tmp_path_factory: pytest.TempPathFactory) -> Stages:
    return stages(tmp_path_factory.mktemp("whole"), [source])


def same(one: Stages, other: Stages) -> None:
    for name in ("status", "counts", "digests", "lengths", "sources"):
        np.testing.assert_array_equal(getattr(one.corpus, name), getattr(other.corpus, name), name)
    np.testing.assert_array_equal(one.copies.first, other.copies.first)
    assert one.rows(one.candidates) == other.rows(other.candidates)
    assert one.rows(one.pairs) == other.rows(other.pairs)
    np.testing.assert_array_equal(one.sizes, other.sizes)
    for numbers in (np.arange(one.corpus.documents)[::-3], np.zeros(0, np.uint32), np.array([5, 5, 99, 5])):
        assert one.corpus.take_ids(numbers).to_pylist() == other.corpus.take_ids(numbers).to_pylist()
    assert one.corpus.names.all().to_pylist() == other.corpus.names.all().to_pylist()


def test_there_is_something_to_find(whole: Stages) -> None:
    assert len(whole.rows(whole.pairs)) > 300
    assert whole.copies.extra > 20
    assert whole.corpus.cached_blocks


@pytest.mark.parametrize("free", FREE)
def test_any_budget_finds_the_same(tmp_path: Path, source: str, whole: Stages, free: int) -> None:
    same(stages(tmp_path, [source], Budget(free, free)), whole)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("batch_bytes", [64, 700, 2**20])
def test_any_batch_and_threads_find_the_same(
    tmp_path: Path, source: str, whole: Stages, batch_bytes: int, threads: int
) -> None:
    same(stages(tmp_path, [source], Budget(0, 50_000), batch_bytes=batch_bytes, threads=threads), whole)


def test_the_ways_are_taken(tmp_path: Path, source: str, whole: Stages) -> None:
    """With little memory there are several blocks to join, several portions to verify, and no texts held."""
    little = Budget(0, 60_000)
    found = stages(tmp_path, [source], little)
    assert not found.corpus.cached_blocks
    assert len(found.corpus.sketch_blocks(little.sketches // 2)) > 2
    needed = np.unique(np.concatenate(list(found.candidates.chunks())))
    assert int(found.corpus.counts[needed].sum()) * 8 > 2 * little.sets
    assert found.corpus.names.spool.nbytes > little.names


@pytest.mark.parametrize("free", [30_000, 60_000, 10**9])
def test_against_another_source(tmp_path: Path, free: int) -> None:
    mine, theirs = texts(200, seed=3), texts(300, seed=3)[::-1]
    right = stages(tmp_path / "whole", [mine], PLENTY, against=[theirs])
    found = stages(tmp_path / "little", [mine], Budget(free, free), against=[theirs], batch_bytes=600)
    same(found, right)
    rows = found.rows(found.pairs)
    assert rows
    assert all(left < len(mine) <= right for left, right, _ in rows)


@pytest.mark.parametrize("method", ["leader", "components", "complete"])
@pytest.mark.parametrize("free", [0, 500, 20_000])
def test_clusters(tmp_path: Path, whole: Stages, free: int, method: str) -> None:
    rank = ranks(whole.corpus, DedupOptions(keep="longest"), True, Silent())
    right = grouped(whole.corpus, whole.copies, whole.pairs, rank, method, PLENTY)
    found = grouped(whole.corpus, whole.copies, whole.pairs, rank, method, Budget(free, free))
    for name in ("kept_by", "shared", "kept", "removed"):
        np.testing.assert_array_equal(getattr(found, name), getattr(right, name))
    assert 0 < int(right.removed.sum()) < whole.corpus.documents


def test_one_document_larger_than_the_whole_budget(tmp_path: Path) -> None:
    giant = " ".join(f"word{number}" for number in range(3000))
    given = [*texts(60), giant, giant + " end", *texts(60, seed=2)]
    same(stages(tmp_path / "little", [given], Budget(0, 2000)), stages(tmp_path / "whole", [given]))


def test_more_portions_than_files_may_be_open(tmp_path: Path, source: str, whole: Stages) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 60, before[1]))
    try:
        found = stages(tmp_path, [source], Budget(0, 1000))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    same(found, whole)
