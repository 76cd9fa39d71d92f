"""Candidates verified with all texts in memory: the same pairs whatever is compared at once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.engines.local.corpora import stages, texts
from twinset.system import batch_sizes

SIZES = [
    ("COMPARED_SHINGLES", 0),
    ("COMPARED_SHINGLES", 100),
    ("VERIFIED_SHINGLES", 500),
    ("VERIFIED_SHINGLES", 1),
]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize(("name", "value"), SIZES)
def test_the_same_whatever_is_compared_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: pa.DataType, name: str, value: int
) -> None:
    given = texts(300, family=12)
    given[7] += " häßlich"  # texts that are not ASCII come by another way
    given[8] += " häßlich"
    sources = [pa.table({"text": pa.array(given, kind)}), pa.table({"text": pa.array([*given[:40], None], kind)})]
    plain = stages(tmp_path / "plain", sources, threads=1)
    monkeypatch.setattr(batch_sizes, name, value)
    patched = stages(tmp_path / "patched", sources, threads=2)
    assert len(plain.rows(plain.pairs)) > 150
    assert patched.rows(patched.pairs) == plain.rows(plain.pairs)
    assert patched.sizes.tolist() == plain.sizes.tolist()
