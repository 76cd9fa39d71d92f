"""Learned codes: what the papers say they are, the same every time, kept as plain arrays, better than chance."""

from __future__ import annotations

import math
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from tests.directions import differing, directions
from twinset.errors import OptionError, StateError
from twinset.schema import Codes, Vectors
from twinset.sketches.vectors import hyperplane
from twinset.sketches.vectors.learned import LearnedCodes, codes, fit, from_arrays, load, save

methods = pytest.mark.parametrize("method", ["spectral", "itq"])


def box(count: int, sides: tuple[float, ...], seed: int = 1) -> Vectors:
    """Points spread evenly in a box, turned so that its sides are along no axis."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(np.random.default_rng(99).standard_normal((len(sides), len(sides))))
    points: npt.NDArray[np.float64] = rng.uniform(-0.5, 0.5, (count, len(sides))) * sides
    return (points @ turn + 10).astype(np.float32)


def bits_of(found: Codes, count: int) -> npt.NDArray[np.uint8]:
    return np.unpackbits(found.view(np.uint8), axis=1, bitorder="little")[:, :count]


# Spectral hashing


def test_the_modes_of_a_box() -> None:
    """Sides of 8, 3 and 2: half waves 1 to 4 along the first have 1/8 … 4/8, along the second 1/3, the third 1/2."""
    learned = fit(box(20_000, (8.0, 3.0, 2.0)), 7, "spectral")
    assert list(zip(learned.places.tolist(), learned.waves.tolist(), strict=True))[:4] == [
        (0, 1),
        (0, 2),
        (1, 1),
        (0, 3),
    ]
    assert np.allclose(learned.spans, (8, 3, 2), rtol=0.02)


def test_bits_are_the_signs_of_eigenfunctions() -> None:
    """Weiss, Torralba, Fergus: sin(π/2 + kπ x / (b-a)), with x counted from a."""
    points = box(2000, (8.0, 3.0, 2.0))
    learned = fit(points, 20, "spectral")
    projected = (points - learned.mean).astype(np.float64) @ learned.directions.T.astype(np.float64)
    x = (projected - learned.lows)[:, learned.places] / learned.spans[learned.places]
    wave = np.sin(math.pi / 2 + learned.waves * math.pi * x)
    sure = np.abs(wave) > 1e-4
    assert ((bits_of(codes(points, learned), 20) == (wave >= 0)) | ~sure).all()
    assert sure.mean() > 0.99


def test_a_long_side_gets_the_bits() -> None:
    assert set(fit(box(5000, (100.0, 1.0, 1.0)), 8, "spectral").places.tolist()) == {0}


# Iterative quantisation


def quantisation_error(points: Vectors, learned: LearnedCodes) -> float:
    """How far projections are from their signs, both at length 1."""
    projected = (points - learned.mean).astype(np.float64) @ learned.directions.T
    signs = np.where(projected >= 0, 1.0, -1.0)
    scale = (projected * signs).sum() / signs.size
    return float(((projected - scale * signs) ** 2).sum() / (projected**2).sum())


def test_turning_lowers_the_error_of_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    points = box(3000, (5.0, 4.0, 3.0, 2.0, 1.0, 1.0))
    learned = fit(points, 6, "itq")
    monkeypatch.setattr("twinset.sketches.vectors.learned._TURNS", 0)
    assert quantisation_error(points, learned) < 0.9 * quantisation_error(points, fit(points, 6, "itq"))


def test_directions_stay_at_right_angles() -> None:
    learned = fit(box(500, (5.0, 4.0, 3.0, 2.0)), 4, "itq")
    assert np.allclose(learned.directions @ learned.directions.T, np.eye(4), atol=1e-5)


# Both


@cache
def fitted(bits: int, method: str) -> tuple[Vectors, LearnedCodes]:
    points = box(90, (5.0, 4.0, 3.0, 2.0, 2.0))
    return points, fit(points, bits, method)


@methods
def test_the_same_sample_gives_the_same_codes(method: str) -> None:
    points = box(700, (5.0, 4.0, 3.0))
    one, other = (fit(points, 12, method) for _ in range(2))
    for name, array in one.arrays().items():
        assert array.tolist() == other.arrays()[name].tolist(), name


@methods
@given(n=st.integers(0, 90), cut=st.integers(0, 90), bits=st.sampled_from([1, 7, 64, 65, 130]))
def test_codes_do_not_depend_on_the_rows_beside(method: str, n: int, cut: int, bits: int) -> None:
    """With more bits than dimensions, too."""
    points, learned = fitted(bits, method)
    together = codes(points[:n], learned)
    assert together.shape == (n, -(-bits // 64))
    assert codes(points[:cut][:n], learned).tolist() == together[:cut].tolist()
    assert not (bits_of(together, together.shape[1] * 64)[:, bits:]).any()


@methods
def test_near_vectors_have_near_codes(method: str) -> None:
    points = box(4000, (8.0, 6.0, 5.0, 4.0))
    found = codes(points, fit(points, 32, method))
    left, right = np.random.default_rng(2).integers(0, 4000, (2, 20_000))
    distances = np.linalg.norm(points[left] - points[right], axis=1)
    bits = differing(found[left], found[right])
    assert bits[distances < 1].mean() < 0.6 * bits[distances > 5].mean()


@methods
def test_vectors_that_are_all_alike(method: str) -> None:
    points = np.ones((5, 3), np.float32)
    assert len(np.unique(codes(points, fit(points, 4, method)))) == 1


def test_what_cannot_be_fitted() -> None:
    points = directions(10, 4, 1)
    for words, said in (
        ({"bits": 0}, "bits is 0; allowed: a whole number from 1 to 4096"),
        ({"bits": 8, "method": "pca"}, "method is 'pca'; allowed: spectral or itq"),
    ):
        with pytest.raises(OptionError, match=said):
            fit(points, **words)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="the sample has 1 vectors; allowed: 2 or more"):
        fit(points[:1], 8)


# Kept as plain arrays


@methods
def test_what_is_kept_gives_the_same_codes(method: str, tmp_path: Path) -> None:
    points = box(300, (5.0, 4.0, 3.0))
    learned = fit(points, 20, method)
    save(learned, tmp_path / "codes.npz")
    again = load(tmp_path / "codes.npz")
    assert again.method == method
    assert codes(points, again).tolist() == codes(points, learned).tolist()
    save(again, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "codes.npz").read_bytes()


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    points = box(60, (5.0, 4.0))
    good = tmp_path / "good.npz"
    save(fit(points, 9), good)
    data = good.read_bytes()
    bad = tmp_path / "bad.npz"
    for keep in range(0, len(data), 37):
        bad.write_bytes(data[:keep])
        with pytest.raises(StateError, match=r"bad\.npz"):
            load(bad)
    told = []
    for place in range(0, len(data), 11):
        bad.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        try:
            found = load(bad)
        except StateError as error:
            told.append(str(error))
        else:  # a byte that says nothing, such as a date
            assert codes(points, found).tolist() == codes(points, load(good)).tolist()
    assert told
    assert all("bad.npz" in one for one in told)
    with pytest.raises(StateError, match="there is no such file"):
        load(tmp_path / "absent.npz")


def test_compressed_files_that_are_damaged_are_refused(tmp_path: Path) -> None:
    """Of other programs: zlib and zipfile say in their own ways what is wrong."""
    path = tmp_path / "packed.npz"
    np.savez_compressed(path, **fit(box(60, (5.0, 4.0)), 9).arrays())  # type: ignore[arg-type]
    data = bytearray(path.read_bytes())
    assert load(path).bits == 9
    with zipfile.ZipFile(path) as packed:
        first = packed.infolist()[0]
        begins = first.header_offset + 30 + len(first.filename)
        directory = packed.start_dir
    data[begins : begins + 40] = b"\xff" * 40
    path.write_bytes(data)
    with pytest.raises(StateError, match="not a file of learned codes, or damaged"):
        load(path)
    data[directory + 8] |= 1  # encrypted
    path.write_bytes(data)
    with pytest.raises(StateError, match="not a file of learned codes, or damaged"):
        load(path)


def test_files_with_objects_are_never_opened(tmp_path: Path) -> None:
    path = tmp_path / "objects.npz"
    np.savez(path, about=np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(StateError, match=r"objects\.npz: not a file of learned codes"):
        load(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("about", np.array([9, 0])),
        ("about", np.array([1, 7])),
        ("mean", np.zeros(5, np.float32)),
        ("mean", np.full(2, np.nan, np.float32)),
        ("directions", np.zeros((2, 2))),
        ("places", np.array([0, 2])),
        ("waves", np.array([-1, 1])),
    ],
)
def test_arrays_that_do_not_fit(name: str, array: npt.NDArray[np.generic]) -> None:
    arrays = fit(box(60, (5.0, 4.0)), 2).arrays() | {name: array}
    with pytest.raises(StateError, match=r"here: .* fit"):
        from_arrays(arrays, "here")
    del arrays[name]
    with pytest.raises(StateError, match="here: "):
        from_arrays(arrays, "here")


# Real digits


@pytest.mark.parametrize("bits", [32, 64])
def test_learned_codes_find_more_digits_than_random_hyperplanes(bits: int) -> None:
    """Half of scikit-learn's 1,797 digits learn, the others are searched: recall where precision is still 0.5.

    Near is within the mean distance of the 50th neighbour. Hyperplanes are given the same mean to pass through.
    """
    digits = load_digits().data.astype(np.float32)
    order = np.random.default_rng(1).permutation(len(digits))
    seen, points = digits[order[:900]], digits[order[900:]]
    squares = (points.astype(np.float64) ** 2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * points.astype(np.float64) @ points.T
    upper = np.triu_indices(len(points), 1)
    near = (distances <= np.sort(distances, axis=1)[:, 50].mean())[upper]

    def recall(found: Codes) -> float:
        bits_apart = differing(found[upper[0]], found[upper[1]])
        best = 0.0
        for radius in range(bits):
            taken = bits_apart <= radius
            if taken.any() and near[taken].mean() >= 0.5:
                best = max(best, float(near[taken].sum() / near.sum()))
        return best

    centred = points - seen.mean(axis=0)
    random = max(recall(hyperplane.codes(centred, bits, seed)) for seed in range(3))
    assert recall(codes(points, fit(seen, bits, "itq"))) > random + 0.05
    if bits == 32:  # of more bits the higher modes jump back and forth too often
        plain = np.mean([recall(hyperplane.codes(points, bits, seed)) for seed in range(5)])
        assert recall(codes(points, fit(seen, bits, "spectral"))) > plain + 0.05
