"""Texts as they are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.conftest import NewIndex
from twinset.errors import DamagedError, SourceError
from twinset.index import read_batches
from twinset.index.kinds.pack_text import pack, unpack, unpack_text

REPEATED = st.builds(bytes.__mul__, st.binary(max_size=9), st.integers(0, 999))


@given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode), REPEATED))
def test_what_is_packed_comes_back(text: bytes) -> None:
    kept = pack(text)
    assert unpack(kept) == text
    assert len(kept) <= len(text) + 1


def test_texts_are_packed_where_that_is_worth_it() -> None:
    assert len(pack(b"the rose is in the garden of the town " * 40)) < 120
    assert pack(b"short") == b"\0short"


@given(st.binary(max_size=60), st.binary(max_size=20))
def test_what_was_never_packed_is_refused_or_read(kept: bytes, more: bytes) -> None:
    """Whatever stands there: a text or a typed error, and never a crash."""
    for one in (kept, b"\1" + kept, pack(kept * 9)[:-1], pack(kept * 9) + more):
        try:
            unpack_text(one)
        except DamagedError:
            continue


def test_what_is_no_packed_text_is_refused() -> None:
    good = pack(b"the rose is in the garden of the town " * 40)
    for wrong in (b"", b"\2", b"\1", good[:-1], good[:30], b"\1" + b"\xff" * 30, b"\1\0\0\0\0" + good[5:]):
        with pytest.raises(DamagedError, match="the text of a document is damaged"):
            unpack(wrong)
    with pytest.raises(DamagedError, match="the text of a document is damaged"):
        unpack_text(None)


def test_a_text_too_long_for_a_file_is_refused(new_index: NewIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    index = new_index(shingle="word:1")
    monkeypatch.setattr(read_batches, "MAX_ROW_BYTES", 1000)
    assert index.add(["a", "b"], ["x" * 1000, "é" * 500]).added == 2
    for act in (lambda: index.add(["c", "d"], ["short", "é" * 501]), lambda: index.query("x" * 1001)):
        with pytest.raises(SourceError, match=r"a text has 1,00\d bytes; the maximum is 1,000"):
            act()
    assert len(index) == 2


def test_the_limit_is_that_of_files() -> None:
    from twinset.documents.parts import MAX_ROW_BYTES

    assert read_batches.MAX_ROW_BYTES == MAX_ROW_BYTES < 2**30
