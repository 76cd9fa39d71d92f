"""Very many documents that are alike: nothing is removed without a verified reason, and the counts are right."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow.parquet as pq

import twinset as library
from tests.reliability.command import WORDS, twinset, write_lines

SAME = 20_000


def test_twenty_thousand_identical_documents(tmp_path: Path) -> None:
    text = "the same words over and over, as a notice at the foot of every page has them"
    rows = [{"id": f"{number:05d}", "text": text} for number in range(SAME)]
    rows.insert(700, {"id": "other", "text": "something else entirely, which nobody else has ever said before"})
    source = write_lines(tmp_path / "in.jsonl", rows)
    done = twinset("dedup", source, "-o", tmp_path / "out", "--json", "--quiet").summary
    assert (done["documents"], done["kept"], done["removed"]) == (SAME + 1, 2, SAME - 1)
    assert (done["clusters"], done["pairs"], done["identical"]) == (1, SAME - 1, SAME - 1)
    removed = pq.read_table(tmp_path / "out/removed.parquet")
    assert set(removed["because_of"].to_pylist()) == {"00000"}
    assert set(removed["similarity"].to_pylist()) == {1.0}
    assert removed["id"].to_pylist() == [f"{number:05d}" for number in range(1, SAME)]
    kept = [json.loads(line)["id"] for line in (tmp_path / "out/kept/in.jsonl").read_text().splitlines()]
    assert kept == ["00000", "other"]


def test_a_flood_of_identical_pairs_is_refused_unless_linked(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.jsonl", [{"text": "one and the same text in all rows"}] * SAME)
    twinset("pairs", source, "-o", tmp_path / "pairs.csv").refused("199,990,000 pairs", "--identical link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]
    done = twinset("pairs", source, "-o", tmp_path / "pairs.parquet", "--identical", "link", "--json", "--quiet")
    assert done.summary["pairs"] == SAME - 1
    pairs = pq.read_table(tmp_path / "pairs.parquet")
    assert set(pairs["left"].to_pylist()) == {f"{source}:0"}


def test_every_pair_of_some_hundred_identical_documents(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.jsonl", [{"text": "one and the same text in all rows"}] * 300)
    done = twinset("pairs", source, "-o", tmp_path / "pairs.parquet", "--json", "--quiet").summary
    assert done["pairs"] == 300 * 299 // 2
    found = pq.read_table(tmp_path / "pairs.parquet")
    pairs = set(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True))
    assert len(pairs) == 300 * 299 // 2


def template_family(count: int, shared: int, own: int, seed: int) -> list[str]:
    """Texts of which `shared` words are the template's and `own` words their own."""
    dice = random.Random(seed)
    template = " ".join(dice.choice(WORDS) for _ in range(shared))
    return [template + " " + " ".join(f"{dice.getrandbits(40):x}" for _ in range(own)) for _ in range(count)]


def test_a_template_alone_is_no_reason(tmp_path: Path) -> None:
    """Half of every document is the same, and no two are alike enough."""
    texts = template_family(4000, 120, 40, seed=1)
    some = library.compare(texts[0], texts[1]).similarity
    assert 0.4 < some < 0.7
    source = write_lines(tmp_path / "in.jsonl", [{"text": text} for text in texts])
    done = twinset("dedup", source, "-o", tmp_path / "out", "--json", "--quiet").summary
    assert (done["removed"], done["pairs"]) == (0, 0)
    assert done["kept"] == len(texts)


def test_every_reason_in_a_close_family_is_true(tmp_path: Path) -> None:
    """Copies around the threshold: some pairs pass, some do not, and each removal can be checked by hand."""
    dice = random.Random(4)
    texts = {}
    for number, text in enumerate(template_family(600, 160, 0, seed=2)):
        words = text.split()
        for _ in range(dice.randrange(9)):
            words[dice.randrange(len(words))] = f"{dice.getrandbits(40):x}"
        texts[f"d{number:03d}"] = " ".join(words)
    source = write_lines(tmp_path / "in.jsonl", [{"id": id, "text": text} for id, text in texts.items()])
    assert twinset("dedup", source, "-o", tmp_path / "out", "--quiet").code == 0
    removed = pq.read_table(tmp_path / "out/removed.parquet").to_pylist()
    assert 100 < len(removed) < 600
    gone = {row["id"] for row in removed}
    for row in removed:
        exact = library.compare(texts[row["because_of"]], texts[row["id"]])
        assert row["similarity"] == exact.similarity >= 0.8
        assert (row["in_kept"], row["of_kept"]) == (exact.right_in_left, exact.left_in_right)
        assert row["because_of"] not in gone
