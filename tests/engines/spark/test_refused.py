"""Options that a run on Spark cannot honour are refused with the reason, before a session is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import twinset
from twinset.engines.spark.session import without_secrets
from twinset.errors import OptionError

ROWS = [{"id": "a", "text": "one two three"}]
READING = "Spark reads the rows"
RESOURCES = "Spark decides where work is done"

BOTH: list[tuple[dict[str, Any], str]] = [
    ({"contained": 0.9}, "pairs are found by similarity only"),
    ({"against": ["other.jsonl"]}, "one data frame is compared with itself only"),
    ({"no_id": True}, "no numbers that could be their names"),
    ({"format": "jsonl"}, READING),
    ({"delimiter": ";"}, READING),
    ({"header": False, "text": "2"}, READING),
    ({"lines": True}, READING),
    ({"include": ["*.txt"]}, READING),
    ({"exclude": ["*.txt"]}, READING),
    ({"encoding": "latin-1"}, READING),
    ({"threads": 2}, RESOURCES),
    ({"memory": "1GB"}, RESOURCES),
    ({"batch_bytes": 4096}, RESOURCES),
    ({"codes": "text"}, "codes are compared in the memory of one machine"),
    ({"vectors": "text"}, "vectors are compared in the memory of one machine"),
    ({"images": True}, "compared in the memory of one machine"),
    ({"items": "text", "weight": "w"}, "compared in the memory of one machine"),
    ({"shingle": "auto"}, "measures all texts first"),
]
PAIRS: list[tuple[dict[str, Any], str]] = [
    ({"exact": True}, "candidates come from sketches only"),
    ({"top": 3}, "by threshold= only"),
]
DEDUP: list[tuple[dict[str, Any], str]] = [
    ({"copy": True}, "rows have no files of their own"),
    ({"details_format": "csv"}, "tables are written as Parquet"),
]
CASES = [
    *((twinset.find_pairs, *case) for case in (*BOTH, *PAIRS)),
    *((twinset.dedup, *case) for case in (*BOTH, *DEDUP)),
]


@pytest.mark.parametrize(
    ("job", "options", "reason"), CASES, ids=[f"{job.__name__}-{next(iter(options))}" for job, options, _ in CASES]
)
def test_an_option_is_refused_with_its_reason(job: Any, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(OptionError) as refused:
        job(ROWS, engine="spark", **options)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="an index is used by one machine"):
        twinset.dedup(ROWS, engine="spark", index=str(tmp_path / "known.twinset"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["master", "connect", "order_by"])
def test_options_of_spark_need_its_engine(name: str) -> None:
    with pytest.raises(OptionError, match='needs engine="spark"'):
        twinset.dedup(ROWS, **{name: "local"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no host s3a://ann:hunter2@bucket/place", "no host s3a://bucket/place"),
        ("jdbc:postgresql://ann:hunter2@db/x?user=ann&password=hunter2&x=1", "password=***&x=1"),
        ("sc://host:15002/;token=abc.def;user_id=1", "sc://host:15002/;token=***;user_id=1"),
        ("fs.s3a.secret.key=abcd rest", "fs.s3a.secret.key=*** rest"),
        ("fs.azure.account.key.place: abcd", "fs.azure.account.key.place: ***"),
        ("nothing to hide at s3a://bucket/place", "nothing to hide at s3a://bucket/place"),
    ],
)
def test_credentials_are_left_out_of_messages(text: str, told: str) -> None:
    assert told in without_secrets(text)
    assert "hunter2" not in without_secrets(text)
