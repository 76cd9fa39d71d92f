"""The counts behind a report, over clusters of every size and codes at every distance."""

from __future__ import annotations

from pathlib import Path

import twinset
from tests.report.results import made, text
from twinset.report.numbers import Numbers
from twinset.results.stored import StoredResult


def test_clusters_by_size(tmp_path: Path) -> None:
    """Clusters of 2, 6, 10, 11, 20, 21, 50 and 51 documents stand on both sides of the borders between classes."""
    sizes = (2, 2, 6, 10, 11, 20, 21, 50, 51)
    texts = {f"{number}-{copy}": text(number) for number, size in enumerate(sizes) for copy in range(size)}
    classes = Numbers(StoredResult(made(tmp_path, texts))).size_classes
    assert [(one.label, one.clusters, one.removed) for one in classes] == [
        ("2", 2, 2),
        ("6 to 10", 2, 14),
        ("11 to 20", 2, 29),
        ("21 to 50", 2, 69),
        ("51 to 100", 1, 50),
    ]


def test_identical_codes_are_no_less_than_whole(tmp_path: Path) -> None:
    """Only what is at no distance at all is as close as can be, and in no doubt."""
    lines = ["ffff0000ffff0000", "ffff0000ffff0000", "00000000000000ff", "00000000000000fe"]
    source = tmp_path / "codes.csv"
    source.write_text("id,code\n" + "".join(f"{number},{code}\n" for number, code in enumerate(lines)))
    twinset.dedup(source, codes="code", distance=3, output=tmp_path / "out")
    numbers = Numbers(StoredResult(tmp_path / "out"))
    assert sorted(numbers.scores.tolist()) == [0.0, 1.0]
    assert numbers.similarity[numbers.scores == 0].tolist() == [1.0]
    assert numbers.similarity[numbers.scores == 1].max() < 1
    assert len(numbers.doubtful(10)) == 1
