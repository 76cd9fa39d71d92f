"""JSON lines are parsed as JSON, and kept as bytes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.reading import opened, read_all, write_all

PLAIN = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
ROWS = st.fixed_dictionaries(
    {"text": PLAIN | st.none(), "id": st.integers(-(2**63), 2**63 - 1) | PLAIN},
    optional={"more": st.recursive(PLAIN | st.booleans() | st.floats(allow_nan=False, allow_infinity=False), st.lists)},
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(ROWS, st.booleans(), st.sampled_from(["\n", "\r\n", " \n", "\n\n \t\n"])), max_size=20),
    st.booleans(),
    st.sampled_from([64, 100, 2**20]),
)
def test_any_rows(rows: list[tuple[dict[str, object], bool, str]], cut_last: bool, batch: int) -> None:
    lines = [json.dumps(row, ensure_ascii=escaped) + end for row, escaped, end in rows]
    data = "".join(lines).encode()
    data = data.rstrip() if cut_last else data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.jsonl"
        path.write_bytes(data)
        sources = opened(path, id="id")
        found = read_all(sources, batch)
        write_all(sources, Path(folder) / "out", lambda part, row: row % 2 == 0, batch)
        kept = (Path(folder) / "out/kept/in.jsonl").read_bytes()
    texts = [row["text"] for row, _, _ in rows]
    assert found.texts == [text.encode() if isinstance(text, str) else None for text in texts]
    assert found.ids == [str(row["id"]) for row, _, _ in rows]
    wanted = [json.dumps(row, ensure_ascii=escaped) for row, escaped, _ in rows[::2]]
    assert [line.strip() for line in kept.decode().split("\n") if line.strip()] == wanted


def test_groups(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(b'{"text":"a","g":%s}\n' % value for value in (b'"x"', b"7", b"1.5", b"true", b"null")))
    assert read_all(opened(path, by="g")).by == ["x", "7", "1.5", "true", None]
