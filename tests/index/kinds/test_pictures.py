"""Pictures in an index: the nearest by colour layout, near-duplicates by hash, in one orientation and in all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import twinset
from tests.index.conftest import Place
from tests.index.sqlite.test_damage import damaged
from tests.pictures import EDITS, encoded, scene
from twinset.documents.items.image_decode import read_picture
from twinset.errors import DamagedError, OptionError, StateError
from twinset.index.backend import create_backend
from twinset.index.kinds import pictures
from twinset.index.kinds.base import initial_settings
from twinset.index.settings import FORMAT, LAYOUTS, NEWEST
from twinset.options.index import IndexOptions
from twinset.sketches.images import colour_layouts, perceptual_hashes

TURNS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "itself": lambda picture: picture,
    **{one.name: lambda picture, one=one: picture.transpose(one) for one in Image.Transpose},  # type: ignore[misc]
}
"""The eight orientations, turned by Pillow."""
ASKED = (3, 40, 41)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty scenes of one shape and another, an equal file and a flat picture."""
    place = tmp_path_factory.mktemp("album")
    for seed in range(40):
        (place / f"{seed:02d}.png").write_bytes(encoded(scene(seed, *((160, 120), (90, 131))[seed % 2])))
    (place / "twin of 03.png").write_bytes(encoded(scene(3, 90, 131)))
    (place / "grey.png").write_bytes(encoded(Image.new("RGB", (40, 30), (120, 120, 120))))
    return place


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a scene, a rotated and a mirrored one, and two scenes that are nowhere else."""
    place = tmp_path_factory.mktemp("asked")
    (place / "copy.jpg").write_bytes(EDITS["JPEG, quality 75"](scene(3, 90, 131)))
    (place / "rotated.png").write_bytes(encoded(scene(4).transpose(Image.Transpose.ROTATE_90)))
    (place / "turned.jpg").write_bytes(EDITS["JPEG, quality 75"](scene(5).transpose(Image.Transpose.TRANSVERSE)))
    for seed in ASKED[1:]:
        (place / f"{seed}.png").write_bytes(encoded(scene(seed)))
    return place


def grids(files: list[Any]) -> Any:
    return np.stack([read_picture(one, "it").grid for one in files])


def turned_files(path: Path) -> list[bytes]:
    """The picture of a file in all orientations, each as a file without loss."""
    with Image.open(path) as opened:
        return [encoded(turn(opened.convert("RGB"))) for turn in TURNS.values()]


def brute(folder: Path, queries: list[Path], by: str, ways: bool) -> list[list[tuple[str, float]]]:
    """Every picture of a folder by its distance to each query, the first added first where two are equally far."""
    names = sorted(path.name for path in folder.iterdir())
    theirs = grids([(folder / name).read_bytes() for name in names])
    found = []
    for path in queries:
        mine = grids(turned_files(path) if ways else [path.read_bytes()])
        if by == "layout":
            left, right = (colour_layouts(some).astype(np.float64) for some in (mine, theirs))
            apart = np.sqrt(((left[:, None] - right[None]) ** 2).sum(axis=2))
        else:
            apart = np.bitwise_count(perceptual_hashes(mine)[:, None] ^ perceptual_hashes(theirs)[None])
        least = apart.min(axis=0).tolist()
        order = sorted(range(len(names)), key=lambda row: (least[row], row))
        found.append([(names[row], least[row]) for row in order])
    return found


def answers(table: Any, queries: list[Path]) -> list[list[tuple[str, float]]]:
    rows = table.to_pylist()
    assert all(row["recall"] == 1.0 and row["estimate"] is False for row in rows)
    return [[(row["id"], row["distance"]) for row in rows if row["query"] == path.name] for path in queries]


def assert_equal(found: list[list[tuple[str, float]]], wanted: list[list[tuple[str, float]]]) -> None:
    assert [[id for id, _ in one] for one in found] == [[id for id, _ in one] for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert [far for _, far in one] == pytest.approx([far for _, far in other], abs=1e-6)


@pytest.mark.parametrize("ways", [False, True])
def test_the_nearest_are_those_of_brute_force(place: Place, folder: Path, asked: Path, ways: bool) -> None:
    queries = [*sorted(asked.iterdir()), folder / "03.png"]
    source = tuple(map(str, queries))
    with twinset.Index.create(place.new(), images=True, seed=1) as index:
        assert index.add(folder).added == 42
        by_layout, by_hash = (brute(folder, queries, by, ways) for by in ("layout", "hash"))
        for k in (1, 10, 100):
            table = index.query(source, k=k, any_orientation=ways)
            named = [Path(name).name for name in table["query"].to_pylist()]
            rows = [{**row, "query": name} for row, name in zip(table.to_pylist(), named, strict=True)]
            found = [[(row["id"], row["distance"]) for row in rows if row["query"] == path.name] for path in queries]
            assert_equal(found, [one[:k] for one in by_layout])
            assert set(table["recall"].to_pylist()) == {1.0}
        table = index.query(asked, k=7, any_orientation=ways, threads=1, batch_bytes=1024)
        assert_equal(answers(table, queries[:-1]), [one[:7] for one in by_layout[:-1]])
        for distance in (6, 20):
            table = index.query(asked, distance=distance, any_orientation=ways)
            near = [[pair for pair in one if pair[1] <= distance] for one in by_hash[:-1]]
            assert answers(table, queries[:-1]) == near
            table = index.query(asked, distance=distance, k=2, any_orientation=ways)
            assert answers(table, queries[:-1]) == [one[:2] for one in near]
        assert index.query(asked / "rotated.png", any_orientation=ways)["id"].to_pylist() == ["04.png"] * ways
        assert index.query(asked, any_orientation=ways).schema == index.query(asked, distance=0).schema


def test_a_document_of_the_index_is_not_among_its_own_nearest(place: Place, folder: Path) -> None:
    with twinset.Index.create(place.new(), images=True) as index:
        index.add(folder)
        [wanted] = brute(folder, [folder / "03.png"], "layout", ways=False)
        found = index.similar_to("03.png", k=5).to_pylist()
        assert_equal([[(row["id"], row["distance"]) for row in found]], [wanted[1:6]])
        assert found[0] == {"id": "twin of 03.png", "distance": 0.0, "estimate": False, "recall": 1.0}
        assert index.similar_to("03.png", k=1, distance=64)["distance"].to_pylist() == [0]


def test_the_nearest_of_more_pictures_than_stay_in_memory(
    place: Place, folder: Path, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with twinset.Index.create(place.new(), images=True) as index:
        index.add(folder)
        whole = index.query(asked, k=9).to_pydict()
        for most, page, portion in ((41, 5, 7), (3, 1000, 1000), (42, 4, 1)):
            monkeypatch.setattr(pictures, "MOST_SCANNED", most)
            monkeypatch.setattr(pictures, "_PAGE", page)
            monkeypatch.setattr(pictures, "_PORTION", portion)
            monkeypatch.setattr(pictures, "_QUERIES", 2)
            monkeypatch.setattr(pictures, "_FEW", 2)
            pictures._LAYOUTS.clear()
            assert index.query(asked, k=9).to_pydict() == whole
            assert (len(pictures._LAYOUTS) == 1) == (most == 42)


def test_a_change_is_seen_by_whoever_has_asked_before(place: Place, folder: Path, tmp_path: Path) -> None:
    where, query = place.new(), tmp_path / "q.png"
    query.write_bytes((folder / "07.png").read_bytes())

    def nearest(index: twinset.Index) -> list[str]:
        return list(index.query(query, k=2)["id"].to_pylist())

    with twinset.Index.create(where, images=True) as writer, twinset.Index.open(where, read_only=True) as reader:
        assert nearest(reader) == nearest(writer) == []
        writer.add(tuple(str(folder / f"{seed:02d}.png") for seed in range(5)))
        before = nearest(reader)
        assert len(before) == 2
        writer.add(folder)
        assert nearest(reader)[0] == nearest(writer)[0] == "07.png"
        assert writer.add(folder).unchanged == 42
        assert writer.remove(["07.png"]) == 1
        assert "07.png" not in nearest(reader) + nearest(writer)
        (tmp_path / "03.png").write_bytes(query.read_bytes())
        assert writer.update(tmp_path / "03.png").added == 1
        writer.remove([id for id in writer if id.endswith("03.png")][:1])
        writer.compact()
        assert nearest(reader) == nearest(writer)
        assert nearest(reader)[0].endswith("03.png")
        assert writer.verify() == []


def test_there_and_back(place: Place, folder: Path, asked: Path, tmp_path: Path) -> None:
    with twinset.Index.create(place.new(), images=True, distance=4, seed=5) as index:
        index.add(folder)
        index.remove(["08.png"])
        index.export(tmp_path / "a.parquet")
        wanted = [index.query(asked, k=5).to_pydict(), index.query(asked).to_pydict(), list(index)]
    assert pq.read_schema(tmp_path / "a.parquet").names == ["id", "shingles", "slots"]
    with twinset.Index.import_from(tmp_path / "a.parquet", place.new()) as again:
        assert [again.query(asked, k=5).to_pydict(), again.query(asked).to_pydict(), list(again)] == wanted
        assert again.stats()["format"] == LAYOUTS
        assert again.verify() == []
        again.export(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_damage_is_found(place: Place, folder: Path, asked: Path) -> None:
    with twinset.Index.create(where := place.new(), images=True) as index:
        index.add(folder)
        right = index.query(asked, k=3).to_pydict()
        [(whole,)] = place.run(where, "SELECT slots FROM sketches WHERE document = 3")
        wrong = {
            whole[:8] + np.full(33, np.nan, np.float32).tobytes(): "not a picture: '02.png'",
            whole[:8] + np.full(33, 1e30, np.float32).tobytes(): "not a picture: '02.png'",
            bytes(8) + whole[8:]: "missing: '02.png'",
            whole[:8]: "stored sketches are not valid",
            whole[:136]: "stored sketches are not valid",
        }
        for slots, expected in wrong.items():
            place.run(where, "UPDATE sketches SET slots = ? WHERE document = 3", slots)
            assert any(expected in line for line in index.verify()), expected
            pictures._LAYOUTS.clear()
            if "valid" in expected:
                with pytest.raises(DamagedError):
                    index.query(asked, k=3)
        place.run(where, "UPDATE sketches SET slots = ? WHERE document = 3", bytes(whole))
        pictures._LAYOUTS.clear()
        assert index.query(asked, k=3).to_pydict() == right
        assert index.verify() == []
        if place.kind == "sqlite":
            with damaged(index, "UPDATE sketches SET slots = substr(slots, 1, 8)"):
                assert any("sketches do not have the" in line for line in index.verify())
                pictures._LAYOUTS.clear()
                with pytest.raises(DamagedError):
                    index.query(asked, k=3)


def older(where: str, format: int = FORMAT) -> None:
    """Make an empty index of pictures as it was made before layouts were stored."""
    settings = initial_settings(IndexOptions.of(images=True, seed=1))
    create_backend(where, dataclasses.replace(settings, format=format).to_rows()).close()


def test_an_older_index_has_hashes_and_answers_as_before(
    place: Place, folder: Path, asked: Path, tmp_path: Path
) -> None:
    older(where := place.new())
    queries = sorted(asked.iterdir())
    with twinset.Index.open(where, images=True) as index:
        assert index.add(folder).added == 42
        hashes = perceptual_hashes(grids([path.read_bytes() for path in sorted(folder.iterdir())]))
        stored = [bytes(slots) for (slots,) in place.run(where, "SELECT slots FROM sketches ORDER BY document")]
        assert stored == [one.tobytes() for one in hashes]
        assert (index.stats()["format"], index.stats()["colour_layouts"]) == (FORMAT, False)
        for ways in (False, True):
            wanted = brute(folder, queries, "hash", ways)
            assert answers(index.query(asked, k=4, any_orientation=ways), queries) == [one[:4] for one in wanted]
            near = [[pair for pair in one if pair[1] <= 6] for one in wanted]
            assert answers(index.query(asked, any_orientation=ways), queries) == near
        assert index.query(asked, k=1).schema.field("distance").type == "int32"
        assert index.verify() == []
        index.export(tmp_path / "old.parquet")
        expected = index.query(asked, k=4).to_pydict()
    assert twinset.Index.migrate(where) == FORMAT
    with twinset.Index.import_from(tmp_path / "old.parquet", place.new()) as again:
        assert again.stats()["format"] == FORMAT
        assert again.query(asked, k=4).to_pydict() == expected
        assert again.remove(["07.png"]) == 1
        assert again.verify() == []


def test_formats_that_cannot_be_are_refused(place: Place) -> None:
    for words, format in (({"codes": "c"}, LAYOUTS), ({}, LAYOUTS), ({"images": True}, 2)):
        twinset.Index.create(where := place.new(), **words).close()
        place.run(where, "UPDATE settings SET value = ? WHERE name = 'format'", str(format))
        with pytest.raises(DamagedError, match="the settings of the index are damaged"):
            twinset.Index.open(where)
    twinset.Index.create(where := place.new(), images=True).close()
    place.run(where, "UPDATE settings SET value = ? WHERE name = 'format'", str(NEWEST + 1))
    with pytest.raises(StateError, match=f"has format {NEWEST + 1}, and .* knows formats up to {NEWEST}"):
        twinset.Index.open(where)


def test_orientations_are_for_pictures_that_are_at_hand(tmp_path: Path, folder: Path) -> None:
    with twinset.Index.create(tmp_path / "codes.twinset", codes="c") as index:
        index.add(["a"], [7])
        with pytest.raises(OptionError, match="any_orientation needs an index of pictures, and this index holds codes"):
            index.query(7, any_orientation=True)
    pictures_only = "any_orientation needs an index of pictures, and this index holds texts"
    with twinset.Index.create(tmp_path / "t.twinset") as index, pytest.raises(OptionError, match=pictures_only):
        index.query("a", any_orientation=True)
    with twinset.Index.create(tmp_path / "p.twinset", images=True) as index:
        with pytest.raises(OptionError, match=r"distance is 2\.5; codes differ in a whole number"):
            index.query(folder, k=2, distance=2.5)
        assert index.query(folder, k=2, any_orientation=True).num_rows == 0
        assert index.query(folder, any_orientation=True).num_rows == 0


def test_unreadable_pictures_are_named_and_left_out(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked/bad.png").write_bytes(b"no picture")
    (tmp_path / "asked/good.png").write_bytes((folder / "09.png").read_bytes())
    with twinset.Index.create(tmp_path / "p.twinset", images=True) as index:
        index.add(folder)
        assert index.add(tmp_path / "asked").unreadable == 1
        for ways in (False, True):
            table = index.query(tmp_path / "asked", k=1, any_orientation=ways)
            assert table.select(["query", "id"]).to_pylist() == [{"query": "good.png", "id": "09.png"}]
            (tmp_path / f"only {ways}").mkdir()
            (tmp_path / f"only {ways}/bad.png").write_bytes(b"no picture")
            assert index.query(tmp_path / f"only {ways}", k=1, any_orientation=ways).num_rows == 0
