"""Folders, patterns and files of pictures: what is found, under which ids, and what of it is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.documents.reading import opened, packed, read_all, write_all
from tests.pictures import encoded, scene
from twinset.documents.items.image_decode import SIDE, read_picture
from twinset.documents.items.image_files import ImagePart
from twinset.engines.local.steps.open import tell_unexpected
from twinset.engines.progress import Silent
from twinset.errors import OptionError, RowError, SourceError
from twinset.sketches.images import colour_layouts, perceptual_hashes


def fill(folder: Path, *names: str) -> None:
    for seed, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        format = {".jpg": "JPEG", ".JPEG": "JPEG", ".gif": "GIF"}.get(path.suffix, "PNG")
        path.write_bytes(encoded(scene(seed), format))


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    fill(tmp_path, "b.png", "a/z.jpg", "a/b/c.JPEG", "a-1.gif", ".hidden.png", ".thumbs/x.png", "B.png")
    os.symlink(tmp_path / "b.png", tmp_path / "link.png")
    os.symlink(tmp_path / "a", tmp_path / "linked")
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / "table.parquet").write_bytes(b"no picture")
    sources = opened(tmp_path, images=True)
    (part,) = sources.parts
    assert isinstance(part, ImagePart)
    assert (part.format, part.path, part.name) == ("images", tmp_path, tmp_path.as_posix())
    assert part.describe()["documents"] == 5
    assert [(Path(name).name, why) for name, why in sources.skipped] == [
        ("notes.txt", "not a picture, judging by its extension"),
        ("table.parquet", "not a picture, judging by its extension"),
        (".hidden.png", "hidden"),
        (".thumbs", "hidden"),
        ("link.png", "a symbolic link"),
        ("linked", "a symbolic link"),
    ]
    rows = read_all(sources)
    assert rows.ids == ["B.png", "a-1.gif", "a/b/c.JPEG", "a/z.jpg", "b.png"]
    grid = read_picture((tmp_path / "b.png").read_bytes(), "b").grid
    assert rows.texts[4] == grid.tobytes()
    write_all(sources, tmp_path / ".out", lambda part, row: row != 0, batch_bytes=20, copy=True)
    assert (tmp_path / ".out/kept.txt").read_text() == "a-1.gif\na/b/c.JPEG\na/z.jpg\nb.png\n"
    assert (tmp_path / ".out/kept/a/z.jpg").read_bytes() == (tmp_path / "a/z.jpg").read_bytes()
    assert not (tmp_path / ".out/kept/B.png").exists()


def test_include_and_exclude_patterns_and_single_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, "in/a.png", "in/b.jpg", "in/old/c.png")
    assert read_all(opened("in", images=True, include=("*.png",))).ids == ["a.png", "old/c.png"]
    assert read_all(opened("in", images=True, exclude=("old",))).ids == ["a.png", "b.jpg"]
    (tmp_path / "in/d.txt").write_text("no picture")
    found = opened("in/*", images=True)
    assert read_all(found).ids == ["in/a.png", "in/b.jpg"]
    assert found.skipped == [("in/d.txt", "not a picture, judging by its extension")]
    (tmp_path / "named").write_bytes((tmp_path / "in/a.png").read_bytes())
    several = opened("in/b.jpg", "named", "in/old", images=True)
    assert [part.name for part in several.parts] == ["in/b.jpg … named", "in/old"]
    assert read_all(several).ids == ["in/b.jpg", "named", "c.png"]
    (tmp_path / "in/a.ppm.gz").write_bytes(packed(encoded(scene(0), "PPM"), ".gz"))
    assert read_all(opened("in/a.ppm.gz", images=True)).texts == read_all(opened("in/a.png", images=True)).texts


def test_what_is_no_source_of_pictures(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no picture")
    with pytest.raises(SourceError, match=r"no pictures in this folder: looked for \.png, "):
        opened(tmp_path, images=True)
    with pytest.raises(SourceError, match="no pictures in this pattern"):
        opened(str(tmp_path / "*.txt"), images=True)
    for given in ("-", ["a.png"], {"a": b""}, pa.table({"text": ["a"]})):
        with pytest.raises(SourceError, match="pictures are read from files"):
            opened(given, images=True)
    fill(tmp_path, "a.png")
    with pytest.raises(OptionError, match='by="name" names a column'):
        opened(tmp_path / "a.png", images=True, by="name")
    (part,) = opened(tmp_path / "a.png", images=True).parts
    with pytest.raises(OptionError, match="flag adds columns, but pictures have none"):
        part.open_writer(tmp_path / "out", flag=True)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    fill(tmp_path, "a.png", "c.png")
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:300])
    (tmp_path / "d.jpg").write_text("no picture")
    with pytest.raises(RowError, match=r'truncated; use on_error="skip" to skip such files') as caught:
        read_all(opened(tmp_path, images=True, on_error="stop"))
    assert caught.value.where == str(tmp_path / "b.png")
    for on_error in ("replace", "skip"):
        rows = read_all(opened(tmp_path, images=True, on_error=on_error))
        assert rows.ids == ["a.png", "b.png", "c.png", "d.jpg"]
        assert [row for row, _ in rows.unreadable] == [1, 3]
        assert "truncated" in rows.unreadable[0][1]
        assert "unknown format" in rows.unreadable[1][1]
        assert [text is None for text in rows.texts] == [False, True, False, True]


def test_sketches_do_not_depend_on_chunks_and_lengths_are_pixels(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{number:02d}.png" for number in range(70)))
    (part,) = opened(tmp_path, images=True).parts
    assert isinstance(part, ImagePart)
    assert [chunk.rows for chunk in part.chunks(2**30)] == [64, 6]
    assert [chunk.rows for chunk in part.chunks(1)] == [1] * 70
    grids = np.frombuffer(b"".join(read_all([part]).texts), np.float32).reshape(70, SIDE, SIDE, 3)
    for sketch in (perceptual_hashes, colour_layouts):
        part.picture_sketch = sketch
        wanted = [row.tobytes() for row in sketch(grids)]
        assert read_all([part], batch_bytes=1).texts == read_all([part], batch_bytes=2**30).texts == wanted
    block = next(part.chunks(2**20)).read(whole=True)
    assert block.lengths is not None
    assert set(block.lengths.tolist()) == {160 * 120}
    table = part.take_rows(block, np.arange(block.rows) == 3)
    assert table.to_pylist() == [{"id": "03.png", "path": str(tmp_path / "03.png")}]


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    fill(tmp_path, "a.png", "b.png")
    (part,) = opened(tmp_path, images=True).parts
    before = part.digest()
    part.check_unchanged()
    fill(tmp_path, "b.png")
    with pytest.raises(SourceError, match="changed while it was being read"):
        part.check_unchanged()
    assert opened(tmp_path, images=True).parts[0].digest() != before


def test_without_pillow_it_says_how_to_install_it(tmp_path: Path) -> None:
    fill(tmp_path, "a.png")
    program = (
        "import sys; sys.modules['PIL'] = None; import twinset\n"
        "try: twinset.find_pairs(sys.argv[1], images=True)\n"
        "except twinset.errors.MissingError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    told = 'the package Pillow is required: pip install "Pillow", or reinstall Twinset with the extra [images]'
    assert done.stdout == f"{told}\n", done.stderr


def test_a_picture_that_is_named_as_a_table_is_not_taken_for_a_text(tmp_path: Path) -> None:
    class Told(Silent):
        def note(self, text: str) -> None:
            raise AssertionError(text)

    (tmp_path / "rows.jsonl").write_bytes(encoded(scene(1)))
    (tmp_path / "rows.json").write_bytes(encoded(scene(2)))
    for name in ("rows.jsonl", "rows.json"):
        tell_unexpected([], opened(tmp_path / name, images=True).parts, Told())
