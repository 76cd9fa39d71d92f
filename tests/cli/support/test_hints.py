"""Refusals that name what stood on the command line, and say what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Call
from tests.pictures import encoded, scene


def test_a_flag_that_took_a_source_for_its_value(call: Call, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(3, dtype=np.float32))
    assert call("pairs", "--vectors", "v.npy").refusal == (
        "twinset: missing source: --vectors took 'v.npy' as its value; write sources first, as in twinset "
        "pairs v.npy --vectors (see twinset pairs --help)"
    )
    assert "Missing argument 'SOURCE...'" in call("pairs", "--threshold", "0.5").refusal


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pairs corpus.jsonl --codes --distance 3", "--codes needs a value, COLUMN; it is followed by --distance"),
        ("dedup corpus.jsonl -o --force", "-o needs a value, PATH; it is followed by --force, which is another"),
        ("dedup corpus.jsonl --by --quiet -o out", "--by needs a value, COLUMN; it is followed by --quiet"),
    ],
)
def test_a_flag_without_its_value(call: Call, corpus: Path, words: str, said: str) -> None:
    before = set(corpus.parent.iterdir())
    assert said in call(*words.split()).refusal
    assert set(corpus.parent.iterdir()) == before


def test_a_text_may_look_like_a_flag(call: Call) -> None:
    assert call("compare", "--string", "--json", "--string", "--json", "--json").json["similarity"] == 1


def test_a_folder_of_pictures(call: Call, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "A.PNG").write_bytes(encoded(scene(1)))
    for source in ("photos", "photos/*"):
        assert "A.PNG looks like a picture: --images compares pictures" in call("pairs", source, "--quiet").refusal


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--shingle wrd:3", "twinset: --shingle is 'wrd:3'; allowed: word:K or char:K"),
        ("--keep nope", "twinset: --keep is 'nope': 'nope' is not a rule"),
        ("--bands 20 --rows 10 --hashes 100", "twinset: --bands × --rows is 20 × 10 = 200, more than --hashes"),
        ("--threshold 0.7 --floor 0.9", "twinset: --floor is 0.9, above the threshold, 0.7"),
        ("--scratch /proc/nope", "twinset: /proc/nope: no temporary folder can be made there (no such file or direc"),
    ],
)
def test_options_are_named_by_their_flags(call: Call, corpus: Path, words: str, said: str) -> None:
    assert call("dedup", corpus.name, "-o", "out", *words.split()).refusal.startswith(said)


def test_a_scratch_folder_is_made_and_named(call: Call, corpus: Path) -> None:
    refused = "twinset: /proc/nope: no temporary folder can be made there"
    assert call("pairs", corpus.name, "--scratch", "/proc/nope").refusal.startswith(refused)
    done = call("pairs", corpus.name, "--scratch", "new/place", "--quiet")
    assert done.code == 0
    assert list((corpus.parent / "new" / "place").iterdir()) == []


def test_an_index_where_no_file_can_be_made(call: Call) -> None:
    said = "twinset: /proc/x.twinset cannot be made: the folder /proc cannot be written to"
    assert call("index", "create", "/proc/x.twinset").refusal == said
