"""Files of sparse matrices: what SciPy writes is read, and damage and hostile files are refused with a reason."""

from __future__ import annotations

import io
import pickle
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import twinset
from tests.sparse_rows import tfidf
from twinset.errors import ColumnError, OptionError, RowError, SourceError, TwinsetError


def pairs(path: Path, **options: Any) -> list[Any]:
    found = twinset.find_pairs(str(path), **{"vectors": True, "threshold": 0.4, "progress": False, **options})
    names = [[id.rpartition(":")[2] for id in found.pairs[side].to_pylist()] for side in ("left", "right")]
    return list(zip(*names, found.pairs["similarity"].to_pylist(), strict=True))


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("compressed", [True, False])
def test_what_scipy_writes(layout: str, kind: str, compressed: bool, tmp_path: Path) -> None:
    rows = tfidf(60, 40, seed=7, near=20)
    made = getattr(sparse, f"{layout}_{kind}")(rows)
    sparse.save_npz(tmp_path / "rows.npz", made, compressed=compressed)
    wanted = twinset.find_pairs(rows, threshold=0.4, progress=False).pairs.to_pylist()
    assert pairs(tmp_path / "rows.npz") == [tuple(row.values()) for row in wanted]
    out = tmp_path / "out"
    twinset.dedup(str(tmp_path / "rows.npz"), vectors=True, threshold=0.4, output=out, progress=False)
    kept = sparse.load_npz(out / "kept/rows.npz")
    assert isinstance(kept, sparse.csr_array if kind == "array" else sparse.csr_matrix)


@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", "<i4", "<u2", "?", "<f2"])
def test_types_of_numbers(dtype: str, tmp_path: Path) -> None:
    values = np.array([1, 2, 1, 2, 1], dtype)
    columns, starts = np.array([0, 3, 0, 3, 1]), np.array([0, 2, 4, 5])
    save(tmp_path / "rows.npz", data=values, indices=columns, indptr=starts, shape=(3, 4))
    assert pairs(tmp_path / "rows.npz") == [("0", "1", 1.0)]
    out = tmp_path / "out"
    twinset.dedup(str(tmp_path / "rows.npz"), vectors=True, output=out, progress=False)
    with np.load(out / "kept/rows.npz") as kept:
        assert kept["data"].dtype == np.dtype(dtype)
        assert kept["indptr"].tolist() == [0, 2, 3]


def save(path: Path, **arrays: Any) -> None:
    """Write a file as SciPy does, of any arrays."""
    np.savez(path, **{"format": np.array(b"csr"), **arrays})


GOOD: dict[str, Any] = {
    "data": np.ones(3), "indices": np.array([0, 1, 1]), "indptr": np.array([0, 1, 3]), "shape": np.array([2, 2]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"data": np.array([None, 1, 2], object)}, "'data' holds Python objects, which are never read"),
        ({"data": np.ones(3, complex)}, "holds the type complex128; allowed: whole numbers and floats"),
        ({"data": np.ones((3, 1))}, "its indices are not lists of whole numbers"),
        ({"data": np.ones(2)}, "its rows have 3 numbers, but only 2 are there"),
        ({"indices": np.array([0, 1, 2])}, "row 1, counted from 0, has a number in column 2, and there are 2 columns"),
        ({"indices": np.array([0, 1, -1])}, "row 1, counted from 0, has a number in column -1"),
        ({"indices": np.array([0.0, 1, 1])}, "its indices are not lists of whole numbers"),
        ({"indptr": np.array([0, 3])}, "the starts of its 2 rows are not in order"),
        ({"indptr": np.array([0, 4, 3])}, "the starts of its 2 rows are not in order"),
        ({"indptr": np.array([1, 2, 3])}, "the starts of its 2 rows are not in order"),
        ({"indptr": np.array([0, 1, 2**62])}, "but only 3 are there"),
        ({"shape": np.array([2, 2, 2])}, "the sparse matrix is 2 × 2 × 2; allowed: two dimensions"),
        ({"shape": np.array([-2, 2])}, "the sparse matrix is -2 × 2"),
        ({"shape": np.array([2, 2**40])}, "up to 2,147,483,648 wide"),
        ({"shape": np.array([2.0, 2.0])}, "its shape is not a list of whole numbers"),
        ({"shape": np.arange(4000)}, "its array 'shape' is too large"),
        ({"format": np.array(b"bsr")}, "the layout of the matrix is 'bsr'; allowed: csr, csc, coo: save matrix.tocsr"),
        ({"format": np.array(7)}, "the layout of the matrix is None"),
        ({"format": np.array(b"coo")}, "it has no array 'row'"),
        ({"format": None}, "no array 'format' but 'data', 'indices', 'indptr', 'shape'; save a dense array as .npy"),
    ],
)
def test_damaged_matrices(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    arrays = {**GOOD, **changed}
    path = tmp_path / "rows.npz"
    if arrays.get("format", b"") is None:
        np.savez(path, **GOOD)
    else:
        save(path, **arrays)
    with pytest.raises(SourceError, match=message):
        pairs(path)


def test_nothing_is_executed(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "executed",))

    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    save(tmp_path / "good.npz", **GOOD)
    with zipfile.ZipFile(tmp_path / "good.npz") as good, zipfile.ZipFile(tmp_path / "rows.npz", "w") as file:
        for name in good.namelist():
            content = good.read(name)
            file.writestr(name, header.getvalue() + pickle.dumps(Trap()) if name == "data.npy" else content)
    with pytest.raises(SourceError, match="Python objects, which are never read"):
        pairs(tmp_path / "rows.npz")
    assert not (tmp_path / "executed").exists()


def test_sizes_that_are_not_there_take_no_memory(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**50,)})
    save(tmp_path / "good.npz", **GOOD)
    with zipfile.ZipFile(tmp_path / "good.npz") as good, zipfile.ZipFile(tmp_path / "rows.npz", "w") as file:
        for name in good.namelist():
            file.writestr(name, header.getvalue() if name == "data.npy" else good.read(name))
    with pytest.raises(SourceError, match="its array 'data' has another size"):
        pairs(tmp_path / "rows.npz")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_changed_bytes_are_read_or_refused(data: st.DataObject) -> None:
    file = io.BytesIO()
    np.savez(file, format=np.array(b"csr"), **GOOD)
    content = bytearray(file.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content
    message = ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npz")
        path.write_bytes(content)
        try:
            pairs(path)
        except TwinsetError as error:
            message = str(error)
    assert "\n" not in message


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    save(path, **GOOD)
    with pytest.raises(SourceError, match=r"a \.npz file holds sparse vectors; read them with vectors=True"):
        twinset.find_pairs(str(path), progress=False)
    with pytest.raises(ColumnError, match="a sparse matrix has none"):
        pairs(path, vectors="embedding")
    with pytest.raises(OptionError, match="adds columns, but a sparse matrix has none"):
        twinset.dedup(str(path), vectors=True, flag=True, output=tmp_path / "out", progress=False)
    (tmp_path / "b.npz").write_bytes(b"")
    with pytest.raises(SourceError, match=r"cannot be read as a \.npz file"):
        pairs(tmp_path / "b.npz")


def test_numbers_that_are_none_name_their_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    save(path, **{**GOOD, "data": np.array([1.0, np.inf, 1.0])})
    with pytest.raises(RowError, match=r"row 1.*the vector holds inf in column 1; allowed: finite numbers"):
        pairs(path)


def test_a_matrix_without_rows(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_matrix((0, 5)))
    assert pairs(tmp_path / "rows.npz") == []
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_matrix((3, 5)))
    assert pairs(tmp_path / "rows.npz") == []
    assert pairs(tmp_path / "rows.npz", threshold=0.8, top=2) == []


def test_one_file_of_rows(tmp_path: Path) -> None:
    rows = tfidf(60, 40, seed=7, near=20)
    sparse.save_npz(tmp_path / "rows.npz", rows)
    done = twinset.dedup(str(tmp_path / "rows.npz"), vectors=True, threshold=0.4, progress=False)
    kept = done.kept.to_pylist()
    number = int(kept[5]["id"].rpartition(":")[2])
    assert kept[5]["columns"] == rows[number].indices.tolist()
    assert kept[5]["values"] == rows[number].data.tolist()
