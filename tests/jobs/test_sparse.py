"""Sparse vectors, end to end, against comparing everything with everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import normalize

import twinset
from tests.sparse_rows import ROWS, Row, matrix, similar_pairs, tfidf
from twinset.engines.local.write.tables import ResultTables
from twinset.errors import OptionError, SourceError

Pairs = dict[tuple[int, int], float]


def listed(result: Any) -> Pairs:
    rows = [result.pairs[name].to_pylist() for name in ("left", "right", "similarity")]
    return {(number(left), number(right)): score for left, right, score in zip(*rows, strict=True)}


def number(id: str) -> int:
    """Rows of the other side are named ``against-matrix:row``."""
    return int(id.rpartition(":")[2])


def brute(left: Any, right: Any, threshold: float) -> set[tuple[int, int]]:
    """All pairs of two matrices by SciPy's product in 64-bit floats."""
    product = (normalize(left.astype(np.float64)) @ normalize(right.astype(np.float64)).T).tocoo()
    near = product.data >= threshold
    return set(zip(product.row[near].tolist(), product.col[near].tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from([0.1, 0.5, 0.8, 1.0]))
def test_pairs(rows: list[Row], threshold: float) -> None:
    found = listed(twinset.find_pairs(matrix(rows), threshold=threshold, progress=False))
    wanted = similar_pairs(rows, threshold - 1e-12)
    sure = similar_pairs(rows, threshold + 1e-12)
    assert sure.keys() <= found.keys() <= wanted.keys()
    assert all(abs(score - wanted[pair]) < 1e-12 for pair, score in found.items())


@settings(max_examples=40, deadline=None)
@given(ROWS, st.integers(1, 4), st.booleans(), st.data())
def test_the_same_as_dense_vectors(rows: list[Row], top: int, limited: bool, data: st.DataObject) -> None:
    made = matrix(rows)
    border = data.draw(st.none() | st.integers(1, max(1, len(rows) - 1)))
    options: dict[str, Any] = {"vectors": True, "top": top, "progress": False}
    options |= {"threshold": 0.45} if limited else {}
    if border is None or len(rows) < 2:
        found, wanted = twinset.find_pairs(made, **options), twinset.find_pairs(made.toarray(), **options)
    else:
        found = twinset.find_pairs(made[:border], against=[made[border:]], **options)
        wanted = twinset.find_pairs(made[:border].toarray(), against=[made[border:].toarray()], **options)
    ours, theirs = listed(found), listed(wanted)
    assert [left for left, _ in ours] == [left for left, _ in theirs]
    # Where two neighbours are as near but for the last bits, either may come first.
    assert list(ours.values()) == pytest.approx(list(theirs.values()), abs=1e-12)


@pytest.fixture(scope="module")
def many() -> Any:
    return tfidf(3000, 3000, seed=1, near=400)


@pytest.mark.parametrize("threshold", [0.3, 0.8])
def test_all_pairs_of_many(many: Any, threshold: float) -> None:
    found = twinset.find_pairs(many, threshold=threshold, progress=False)
    wanted = {(left, right) for left, right in brute(many, many, threshold) if left < right}
    assert len(wanted) > 300
    assert set(listed(found)) == wanted
    assert found.summary["options"]["sparse"]


def test_the_same_whatever_the_work_is_cut_into(many: Any) -> None:
    wanted = listed(twinset.find_pairs(many, threshold=0.5, progress=False, threads=1))
    for options in ({"threads": 3}, {"batch_bytes": 1 << 16}, {"audit": 50}):
        assert listed(twinset.find_pairs(many, threshold=0.5, progress=False, **options)) == wanted
    order = np.random.default_rng(2).permutation(many.shape[0])
    shuffled = listed(twinset.find_pairs(many[order], threshold=0.5, progress=False))
    assert {tuple(sorted((int(order[a]), int(order[b])))): score for (a, b), score in shuffled.items()} == wanted


def test_two_sides_and_an_audit(many: Any) -> None:
    left, right = many[:1000], many[1000:]
    result = twinset.find_pairs(left, against=[right], vectors=True, threshold=0.5, audit=200, progress=False)
    assert set(listed(result)) == brute(left, right, 0.5)
    assert result.summary["audit"]["recall"] == 1


def test_nearest_of_many(many: Any) -> None:
    found = listed(twinset.find_pairs(many, top=5, progress=False))
    unit = normalize(many.astype(np.float64))
    for row in range(0, 3000, 60):
        cosines = (unit[row] @ unit.T).toarray()[0]
        cosines[row] = -1
        wanted = np.sort(cosines)[::-1][:5]
        assert [score for (left, _), score in found.items() if left == row] == pytest.approx(wanted.tolist(), abs=1e-6)


def test_every_form_of_a_matrix() -> None:
    rows = tfidf(60, 40, seed=7, near=20)
    wanted = listed(twinset.find_pairs(rows, threshold=0.4, progress=False))
    assert wanted
    unsorted = rows.copy()
    for row in range(60):
        part = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
        unsorted.indices[part] = unsorted.indices[part][::-1].copy()
        unsorted.data[part] = unsorted.data[part][::-1].copy()
    twice = sparse.coo_matrix(rows)
    twice = sparse.csr_matrix(
        (np.repeat(twice.data / 2, 2), np.repeat(twice.col, 2), 2 * rows.indptr), rows.shape
    )  # each number in two halves
    wide = rows.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    layouts = [rows.astype(np.float64), rows.tocsc(), rows.tocoo(), rows.tolil(), sparse.csr_array(rows)]
    for form in (*layouts, unsorted, twice, wide):
        assert listed(twinset.find_pairs(form, threshold=0.4, progress=False)) == wanted, type(form)


def test_stored_zeros_make_no_difference() -> None:
    columns, values = np.array([0, 1, 0, 2, 1]), np.array([1.0, 0.0, 1.0, -0.0, 0.0])
    rows = sparse.csr_matrix((values, columns, np.array([0, 2, 4, 5])), (3, 3))
    assert rows.nnz == 5
    found = twinset.find_pairs(rows, progress=False).summary
    assert (found["empty"], found["identical"], found["pairs"]) == (1, 1, 1)


def test_dense_vectors_compared_as_sparse_ones(tmp_path: Path) -> None:
    rows = tfidf(60, 40, seed=7, near=20)
    wanted = listed(twinset.find_pairs(rows, threshold=0.4, progress=False))
    np.save(tmp_path / "rows.npy", rows.toarray())
    sparse.save_npz(tmp_path / "rows.npz", rows)
    for source in (rows.toarray(), str(tmp_path / "rows.npy"), [row.tolist() for row in rows.toarray()]):
        options: dict[str, Any] = {"vectors": True, "threshold": 0.4, "progress": False}
        assert listed(twinset.find_pairs(source, sparse=True, **options)) == wanted
    with pytest.raises(SourceError, match=r"its vectors are not sparse, but those of .*rows.npz are; add sparse"):
        twinset.find_pairs(str(tmp_path / "rows.npz"), str(tmp_path / "rows.npy"), vectors=True, progress=False)


def test_what_is_refused(tmp_path: Path) -> None:
    rows = tfidf(20, 30, seed=1)
    with pytest.raises(OptionError, match="recall does not apply to sparse vectors"):
        twinset.find_pairs(rows, recall=0.9, progress=False)
    with pytest.raises(OptionError, match="distance does not apply to sparse vectors"):
        twinset.find_pairs(rows, vectors=True, distance=1.0, progress=False)
    with pytest.raises(OptionError, match="exact does not apply to sparse vectors"):
        twinset.find_pairs(rows, vectors=True, exact=True, progress=False)
    with pytest.raises(OptionError, match="sparse needs vectors"):
        twinset.find_pairs(["a"], sparse=True, progress=False)
    with pytest.raises(OptionError, match="its items have no length"):
        twinset.dedup(rows, keep="longest", progress=False)
    with pytest.raises(OptionError, match=r"cannot be used with top and sparse vectors|cannot be used with top="):
        twinset.find_pairs(rows, vectors=True, sparse=True, top=3, audit=5, progress=False)
    with pytest.raises(SourceError, match="a sparse matrix holds vectors, not bit codes"):
        twinset.find_pairs(rows, codes="code", progress=False)
    with pytest.raises(SourceError, match="31 columns, and those of matrix have 30"):
        twinset.find_pairs(rows, tfidf(20, 31, seed=1), progress=False)
    with pytest.raises(SourceError, match=r"the sparse matrix is 3; allowed: two dimensions"):
        twinset.find_pairs(sparse.coo_array(np.array([1.0, 0.0, 2.0])), vectors=True, progress=False)


def test_empty_rows_and_numbers_that_are_none() -> None:
    rows = sparse.csr_matrix(np.array([[1.0, 0], [0, 0], [1.0, 0], [np.nan, 1]]))
    with pytest.raises(twinset.TwinsetError, match=r"row 3.*holds nan in column 0"):
        twinset.find_pairs(rows, progress=False)
    result = twinset.find_pairs(rows, on_error="skip", progress=False)
    assert listed(result) == {(0, 2): 1.0}
    assert (result.summary["empty"], result.summary["unreadable"]) == (1, 1)
    assert result.summary["named"]["empty"] == ["1"]
    huge = sparse.csr_matrix(np.array([[1e300, 1.0]]))
    with pytest.raises(twinset.TwinsetError, match="finite numbers that 32-bit floats can hold"):
        twinset.find_pairs(huge, progress=False)


def test_kept_rows_are_a_file_of_the_same_form(tmp_path: Path) -> None:
    rows = tfidf(200, 300, seed=9, near=60).astype(np.float64)
    sparse.save_npz(tmp_path / "rows.npz", rows)
    options: dict[str, Any] = {"vectors": True, "threshold": 0.4, "progress": False}
    result = twinset.dedup(str(tmp_path / "rows.npz"), output=tmp_path / "out", **options)
    kept = sparse.load_npz(tmp_path / "out/kept/rows.npz")
    gone = {number(id) for id in result.removed["id"].to_pylist()}
    assert 20 < len(gone) <= 80
    assert kept.dtype == np.float64
    left = [row for row in range(200) if row not in gone]
    assert (kept != rows[left]).nnz == 0
    again = twinset.find_pairs(str(tmp_path / "out/kept/rows.npz"), **options)
    assert listed(again) == {}


def test_a_result_is_explained_reported_and_recut(tmp_path: Path) -> None:
    rows = tfidf(200, 300, seed=9, near=60)
    for source, out in ((rows, "memory"), (tmp_path / "rows.npz", "file")):
        sparse.save_npz(tmp_path / "rows.npz", rows)
        result = twinset.dedup(source, vectors=True, threshold=0.4, output=tmp_path / out, progress=False)
        opened = twinset.open_result(tmp_path / out)
        gone = opened.removed.to_pylist()[0]
        account = opened.explain(gone["id"])
        assert account.apart is not None
        assert account.apart.cosine == pytest.approx(gone["similarity"], abs=1e-9)
        opened.report(tmp_path / f"{out}.html")
        fewer = twinset.recut(tmp_path / out, threshold=0.7, output=tmp_path / f"{out}-recut")
        fresh = twinset.dedup(source, vectors=True, threshold=0.7, progress=False)
        assert fewer.removed["id"].to_pylist() == fresh.removed["id"].to_pylist()
        assert result.plan.reached == 1


def test_a_folder_of_matrices_is_read_in_order(tmp_path: Path) -> None:
    rows = tfidf(60, 40, seed=7, near=20)
    for name, part in (("a", rows[:30]), ("b", rows[30:])):
        sparse.save_npz(tmp_path / f"{name}.npz", part)
    found = twinset.find_pairs(str(tmp_path / "*.npz"), vectors=True, threshold=0.4, progress=False)
    wanted = twinset.find_pairs(rows, threshold=0.4, progress=False)
    assert found.pairs["similarity"].to_pylist() == wanted.pairs["similarity"].to_pylist()


def test_of_too_many_columns_nothing_is_laid_out() -> None:
    columns = np.array([5, 2**31 - 1, 5, 2**31 - 1, 9])
    rows = sparse.csr_matrix((np.array([1.0, 2, 1, 2.5, 1]), columns, np.array([0, 2, 4, 5])), (3, 2**31))
    assert list(listed(twinset.find_pairs(rows, threshold=0.9, progress=False))) == [(0, 1)]


def test_memory_is_stated_where_it_is_missing() -> None:
    rows = tfidf(300_000, 3000, seed=1)
    with pytest.raises(OptionError, match=r"joining [\d,]+ distinct sparse vectors takes .* of memory"):
        twinset.find_pairs(rows, threshold=0.8, memory="512MB", progress=False)


def test_an_interrupted_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sparse.save_npz(tmp_path / "rows.npz", tfidf(200, 300, seed=9, near=60))
    options: dict[str, Any] = {"vectors": True, "threshold": 0.4, "progress": False}
    clean = twinset.dedup(str(tmp_path / "rows.npz"), output=tmp_path / "clean", **options)

    def stop(*_: object) -> None:
        raise MemoryError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(ResultTables, "write_removed", stop)
        with pytest.raises(MemoryError):
            twinset.dedup(str(tmp_path / "rows.npz"), output=tmp_path / "out", **options)
    done = twinset.dedup(str(tmp_path / "rows.npz"), output=tmp_path / "out", **options)
    assert done.summary["timings"]["resumed"] == ["pairs", "sketches"]
    assert done.removed.equals(clean.removed)
    kept = [(tmp_path / name / "kept/rows.npz").read_bytes() for name in ("clean", "out")]
    assert kept[0] == kept[1]


def test_an_evaluation_and_its_exact_truth(many: Any) -> None:
    truth = [(str(row), str(2600 + row)) for row in range(400)]
    found = twinset.evaluate(many, vectors=True, threshold=0.5, truth=truth)
    assert found.best is not None
    assert found.best["true_pairs_found"] > 300
    exact = twinset.evaluate(many, vectors=True, threshold=0.5, exact=True)
    assert exact.best is not None
    assert exact.best["recall"] == 1


def test_an_index_takes_dense_vectors_only(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "rows.npz", tfidf(20, 30, seed=9))
    with (
        twinset.Index.create(tmp_path / "index.twinset", vectors=True) as index,
        pytest.raises(SourceError, match="sparse vectors cannot be used here: give dense ones"),
    ):
        index.add(str(tmp_path / "rows.npz"))


def test_groups_are_kept_apart() -> None:
    rows = tfidf(120, 40, seed=7, near=40).toarray()
    table = pa.table({"row": rows.tolist(), "side": [str(number % 3) for number in range(120)]})
    for options in ({"threshold": 0.3}, {"top": 3}):
        every: dict[str, Any] = {"vectors": "row", "by": "side", "progress": False, **options}
        ours, theirs = (twinset.find_pairs(table, sparse=kind, **every).pairs for kind in (True, False))
        assert ours.num_rows > 10
        assert ours["left"].to_pylist() == theirs["left"].to_pylist()
        assert ours["similarity"].to_pylist() == pytest.approx(theirs["similarity"].to_pylist(), abs=1e-12)
