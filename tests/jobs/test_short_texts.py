"""Short texts: a run says that its shingles are too long, and `auto` chooses shingles that fit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import twinset
from twinset.errors import OptionError

WORDS = [
    f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ne", "su", "ta", "ri") for b in ("ran", "vel", "ton") for c in "aeio"
]


def titles(words: int = 9, pairs: int = 100) -> dict[str, str]:
    """Pairs of titles that differ in their middle word."""
    rng = random.Random(3)
    made: dict[str, str] = {}
    for number in range(pairs):
        title = rng.sample(WORDS, words)
        made[f"{number}a"] = " ".join(title)
        made[f"{number}b"] = " ".join([*title[: words // 2], f"changed{number}", *title[words // 2 + 1 :]])
    return made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "titles.jsonl"
    lines = [json.dumps({"id": id, "text": text}) for id, text in titles().items()]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_auto_finds_titles_that_differ_in_one_word() -> None:
    found = twinset.find_pairs(titles(), shingle="auto", exact=True)
    assert found.summary["options"]["shingle"] == "word:1"
    assert found.summary["shingle_auto"]["similarity"] == 0.8
    assert {(row["left"], row["right"]) for row in found.pairs.to_pylist()} == {
        (f"{at}a", f"{at}b") for at in range(100)
    }


def test_auto_is_recorded_and_used_by_a_recut(source: Path, tmp_path: Path) -> None:
    done = twinset.dedup(source, output=tmp_path / "out", shingle="auto")
    assert done.summary["removed"] >= 97  # a pair exactly at the threshold is found with a probability of 0.99
    assert done.summary["shingle_auto"] == {
        "shingle": "word:1", "documents": 200, "median_words": 9, "median_characters": 62, "similarity": 0.8,
    }  # fmt: skip
    opened = twinset.open_result(tmp_path / "out")
    again = opened.rethreshold(0.85)
    assert again.summary["options"]["shingle"] == "word:1"
    assert again.summary["removed"] == 0


def test_auto_in_memory_is_explained_with_the_chosen_shingle() -> None:
    done = twinset.dedup(titles(), shingle="auto", threshold=0.6)
    assert done.summary["options"]["shingle"] == "word:2"
    removed = done.removed["id"][0].as_py()
    explanation = done.explain(removed).explanation
    assert explanation is not None
    assert explanation.shingle == "word:2"


def test_the_choice_depends_on_no_order_and_no_batch(source: Path, tmp_path: Path) -> None:
    mixed = [*titles().values(), *(f"{text} {text} and more" for text in titles(7).values()), "", "one"]
    random.Random(1).shuffle(mixed)
    choices = [
        twinset.find_pairs(texts, shingle="auto", batch_bytes=batch, threads=threads).summary["shingle_auto"]
        for texts, batch, threads in ((mixed, 1024, 2), (mixed[::-1], 2**20, 1), (sorted(mixed), 4096, 1))
    ]
    assert choices[0] == choices[1] == choices[2]
    assert choices[0]["documents"] == 401


def test_where_no_shingle_fits_the_note_names_a_threshold() -> None:
    notes = Notes()
    short = titles(5)
    twinset.find_pairs(short, shingle="auto", progress=notes)
    assert any('below the threshold; try shingle="auto", threshold=0.66' in note for note in notes.said)
    assert twinset.find_pairs(short, shingle="auto", threshold=0.66, exact=True).summary["pairs"] == 100


class Notes:
    """Collects the notes of a run."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, name: str, total: int | None, unit: str) -> None: ...

    def advance(self, n: int) -> None: ...

    def note(self, text: str) -> None:
        self.said.append(text)

    def close(self) -> None: ...


def test_a_run_says_that_its_shingles_are_too_long() -> None:
    notes = Notes()
    done = twinset.dedup(titles(), progress=notes)
    assert done.summary["removed"] == 0
    assert done.summary["short_texts"]["try"] == "--shingle auto"
    [note] = [note for note in notes.said if "short" in note]
    assert note.startswith("200 of 200 documents are short for shingles of word:5")
    assert note.endswith('try shingle="auto"')
    one = Notes()
    twinset.find_pairs(list(titles().values())[:1], progress=one)
    assert [note[:28] for note in one.said if "short" in note] == ["1 of 1 document is short for"]


@pytest.mark.parametrize("options", [{"shingle": "word:1"}, {"shingle": "auto"}, {"shingle": "char:2"}])
def test_shingles_that_fit_are_not_mentioned(options: dict[str, Any]) -> None:
    assert "short_texts" not in twinset.find_pairs(titles(), **options).summary


def test_a_few_short_texts_are_not_mentioned() -> None:
    long = {f"{at}": " ".join(random.Random(at).sample(WORDS, 40)) for at in range(100)}
    assert "short_texts" not in twinset.find_pairs(long | titles(pairs=10)).summary
    assert "short_texts" in twinset.find_pairs(long | titles(pairs=20)).summary


def test_a_resumed_run_uses_its_choice(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from twinset.engines.local.run import LocalRun

    def full(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(LocalRun, "collapse", full)
        with pytest.raises(OSError, match="no space left"):
            twinset.dedup(source, output=tmp_path / "out", shingle="auto")
    done = twinset.dedup(source, output=tmp_path / "out", shingle="auto")
    assert done.summary["timings"]["resumed"] == ["lengths", "sketches"]
    assert done.summary["options"]["shingle"] == "word:1"


def test_an_index_measures_a_sample(source: Path, tmp_path: Path) -> None:
    with twinset.Index.create(tmp_path / "t.twinset", shingle="auto", sample=source) as index:
        assert index.settings.options.shingle == "word:1"
    done = twinset.dedup(source, output=tmp_path / "out", index=tmp_path / "t.twinset", shingle="auto")
    assert done.summary["options"]["shingle"] == "word:1"
    assert done.summary["removed"] >= 97
    with pytest.raises(OptionError, match="no documents to measure; name some with sample="):
        twinset.Index.create(tmp_path / "u.twinset", shingle="auto")


def test_where_nothing_is_measured_auto_is_refused() -> None:
    with pytest.raises(OptionError, match="shingle is 'auto'; allowed here: word:K"):
        twinset.compare("a", "b", shingle="auto")
    with pytest.raises(OptionError, match="one text column"):
        twinset.find_pairs([], text=("title", "body"), shingle="auto")
