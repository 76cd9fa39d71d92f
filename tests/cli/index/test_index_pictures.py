"""The commands of an index of pictures: the sketch that was compared is said, and what an older index lacks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import Call
from tests.pictures import encoded, scene
from twinset.index.backend import create_backend
from twinset.index.kinds.base import initial_settings
from twinset.index.settings import FORMAT, LAYOUTS
from twinset.options.index import IndexOptions

LACKS = "made without colour layouts; for the nearest by them, make a new index and add the pictures again"


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Five scenes."""
    (tmp_path / "album").mkdir()
    for seed in range(5):
        (tmp_path / f"album/{seed}.png").write_bytes(encoded(scene(seed)))
    return tmp_path / "album"


def test_which_sketch_was_compared(call: Call, album: Path) -> None:
    assert call("index", "create", "p.twinset", "--images").code == 0
    assert call("index", "add", "p.twinset", album).code == 0
    for words, sketch in ((("-k", "2"), "colour layout"), ((), "perceptual hash"),
                          (("-k", "2", "--distance", "9"), "perceptual hash")):  # fmt: skip
        done = call("index", "query", "p.twinset", album / "3.png", *words, "--json")
        found = json.loads(done.out)
        assert found["compared_by"] == sketch
        assert found["answers"][0]["distance"] == 0
        assert "made without" not in done.err
    done = call("index", "query", "p.twinset", album / "3.png", "-k", "2")
    assert done.err.splitlines()[-1] == "2 answers"
    done = call("index", "stats", "p.twinset")
    assert "pictures, by their perceptual hashes and colour layouts" in done.out
    assert call("index", "migrate", "p.twinset").out == f"p.twinset already has the newest format, {LAYOUTS}\n"


def test_an_index_without_layouts_says_what_to_do(call: Call, album: Path, tmp_path: Path) -> None:
    settings = initial_settings(IndexOptions.of(images=True))
    create_backend(tmp_path / "old.twinset", dataclasses.replace(settings, format=FORMAT).to_rows()).close()
    assert call("index", "add", "old.twinset", album).code == 0
    done = call("index", "query", "old.twinset", album / "3.png", "-k", "2")
    assert LACKS in " ".join(done.err.split())
    assert "compared by perceptual hash" in done.err
    done = call("index", "query", "old.twinset", album / "3.png")
    assert "made without" not in done.err
    assert LACKS in " ".join(call("index", "stats", "old.twinset").out.split())
    assert LACKS in " ".join(call("index", "migrate", "old.twinset").out.split())
    done = call("index", "query", "old.twinset", album / "3.png", "-k", "2", "--json")
    assert json.loads(done.out)["compared_by"] == "perceptual hash"


def test_any_orientation(call: Call, album: Path, tmp_path: Path) -> None:
    assert call("index", "create", "p.twinset", "--images").code == 0
    assert call("index", "add", "p.twinset", album).code == 0
    (tmp_path / "turned.png").write_bytes(encoded(scene(2).transpose(Image.Transpose.ROTATE_270)))
    assert call("index", "query", "p.twinset", "turned.png", "--quiet").out.count("\n") == 1
    done = call("index", "query", "p.twinset", "turned.png", "--any-orientation", "--quiet")
    assert done.out.splitlines()[1:] == ['"turned.png","2.png",0,false,1']
    done = call("index", "query", "p.twinset", "turned.png", "--any-orientation", "-k", "1", "-o", "a.parquet")
    assert (done.code, done.out) == (0, "1 answer in a.parquet\n")
    done = call("index", "query", "p.twinset", "--similar-to", "2.png", "--any-orientation")
    assert done.code == 2
    assert "--any-orientation cannot be used with --similar-to" in done.err
    done = call("index", "query", "p.twinset", "turned.png", "--passages", "--any-orientation")
    assert "--any-orientation cannot be used with --passages" in done.err
    done = call("pairs", album, "--images", "--any-orientation", "--top", "3")
    assert (done.code, "--any-orientation compares hashes, and --top colour layouts" in done.err) == (2, True)
    for words in (("--vectors",), ("--codes", "c"), ()):
        done = call("dedup", album, *words, "--any-orientation", "-o", "out")
        assert done.code == 2
        assert "--any-orientation does not apply to" in done.err
