"""Learned codes in an index of vectors: fitted on a sample, kept with the index, right whoever changes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.sqlite.test_damage import damaged
from twinset.errors import DamagedError, OptionError
from twinset.pairs.vectors import every_nearest
from twinset.system.vectors import check_vectors


def cloud(count: int, seed: int) -> Any:
    """Vectors near a few directions, as embeddings are: many are alike, none of them much."""
    rng = np.random.default_rng(seed)
    spread = np.random.default_rng(7).standard_normal((6, 40))
    return check_vectors(rng.standard_normal((count, 6)) @ spread + 0.3 * rng.standard_normal((count, 40)))


VECTORS = cloud(3000, 1)
IDS = [str(row) for row in range(3000)]
ASKED = cloud(40, 2)


def share(index: twinset.Index, asked: Any, vectors: Any, k: int = 10) -> float:
    """Which share of the true nearest is among the answers, the scores of which must be exact."""
    measure = "distance" if "distance" in index.answers.names else "cosine"
    numbers, scores, _ = every_nearest(asked, vectors, k, measure)
    found = index.query(asked, k=k)
    assert found.num_rows == k * len(asked)
    true = {(row, str(number)): score for row in range(len(asked))
            for number, score in zip(numbers[row], scores[row].tolist(), strict=True)}  # fmt: skip
    column = found.column(index.answers.names[1]).to_pylist()
    pairs = zip(map(int, found.column("query").to_pylist()), found.column("id").to_pylist(), column, strict=True)
    hits = [(true[query, id], score) for query, id, score in pairs if (query, id) in true]
    assert all(one == other for one, other in hits)
    return len(hits) / len(true)


@pytest.mark.parametrize("words", [{"threshold": 0.95}, {"distance": 0.5, "bits": 128}], ids=["cosine", "distance"])
def test_the_nearest_are_found_by_codes(tmp_path: Path, words: dict[str, Any]) -> None:
    index = twinset.Index.create(tmp_path / "v", vectors="v", learned="itq", sample=cloud(1500, 3), seed=1, **words)
    assert index.add(IDS, VECTORS).added == 3000
    told = index.stats()["recall_on_sample"]
    found = share(index, ASKED, VECTORS)
    assert 0.5 < told <= found + 0.05  # what is compared here is more than a hundredth
    table = index.query(ASKED, k=10)
    assert min(table.column("recall").to_pylist()) == pytest.approx(told)
    assert found > 0.9
    assert index.verify() == []
    limit = next(iter(words))
    assert min(index.query(VECTORS[:5]).column("recall").to_pylist()) >= 0.99, limit  # by tables, as without codes


def test_others_see_what_was_changed(place: Place, tmp_path: Path) -> None:
    where = place.new()
    sample = tmp_path / "sample.npy"
    np.save(sample, cloud(1000, 3))
    with twinset.Index.create(where, vectors=True, threshold=0.95, learned="spectral", bits=32, sample=sample) as index:
        assert index.query(ASKED[:2], k=5).num_rows == 0
        index.add(IDS[:500], VECTORS[:500])
        with twinset.Index.open(where, read_only=True) as reader:
            assert reader.query(VECTORS[3], k=1).column("id").to_pylist() == ["3"]
            index.update(["3", "9"], VECTORS[[600, 3]])
            assert reader.query(VECTORS[3], k=1).column("id").to_pylist() == ["9"]
            index.remove(["9"])
            index.add(["new"], VECTORS[[700]])  # takes the number of what was removed
            assert "9" not in reader.query(VECTORS[3], k=20).column("id").to_pylist()
            assert reader.query(VECTORS[700], k=1).column("id").to_pylist() == ["new"]
            assert reader.similar_to("new", k=3).num_rows == 3
        index.export(tmp_path / "a.parquet")
        with twinset.Index.import_from(tmp_path / "a.parquet", place.new()) as again:
            assert again.query(ASKED, k=5).equals(index.query(ASKED, k=5))
            assert again.verify() == []
    with twinset.Index.open(where) as index:
        assert index.settings.options.bits == 32
        assert index.query(VECTORS[700], k=1).column("id").to_pylist() == ["new"]
    place.run(where, "UPDATE settings SET value = '{}' WHERE name = 'learned'")
    with twinset.Index.open(where) as index, pytest.raises(DamagedError, match="no learned codes"):
        index.query(VECTORS[0], k=1)


def test_a_code_that_is_not_that_of_its_vector(new_index: NewIndex) -> None:
    index = new_index(vectors="v", threshold=0.95, learned="itq", sample=cloud(300, 3))
    index.add(IDS[:30], VECTORS[:30])
    [(slots,)] = index._backend._db.execute("SELECT slots FROM sketches WHERE document = 3").fetchall()  # type: ignore[attr-defined]
    wrong = bytes(slots[:-1]) + bytes([slots[-1] ^ 1])
    with damaged(index, "UPDATE sketches SET slots = ? WHERE document = 3", wrong):
        assert index.verify() == ["its sketch is not a vector: '2'"]


def test_what_has_no_meaning_is_refused(new_index: NewIndex) -> None:
    for words, said in (
        ({"vectors": "v", "learned": "itq"}, "fitted on a sample; name one with sample="),
        ({"vectors": "v", "sample": VECTORS}, "sample cannot be used without learned codes"),
        ({"codes": "c", "learned": "itq"}, "learned does not apply to bit codes"),
        ({"vectors": "v", "bits": 64}, "bits does not apply to vectors without learned="),
        ({"vectors": "v", "learned": "itq", "sample": VECTORS[:1]}, "the sample has 1 vectors"),
        ({"vectors": "v", "learned": "pca", "sample": VECTORS}, "allowed: itq or spectral"),
    ):
        with pytest.raises(OptionError, match=said):
            new_index(**words)
