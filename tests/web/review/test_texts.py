"""The scratch file of texts: every text comes back, whatever it holds, and the file goes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twinset.web.review.texts import BEGINNING, TextFile, beginning_of


@given(st.lists(st.one_of(st.none(), st.text(max_size=300)), max_size=12), st.integers(1, 5), st.randoms())
def test_texts_come_back(texts: list[str | None], portion: int, dice: object) -> None:
    places = list(range(len(texts)))
    dice.shuffle(places)  # type: ignore[attr-defined]
    file = TextFile(len(texts))
    for start in range(0, len(places), portion):
        some = places[start : start + portion]
        file.add(np.array(some), [None if texts[one] is None else texts[one].encode() for one in some])
    assert [file.text(place) for place in range(len(texts))] == texts
    for place, text in enumerate(texts):
        assert beginning_of(file.bytes_of(place, 8 * BEGINNING) or b"") == " ".join((text or "").split())[:BEGINNING]
    file.close()


def test_bytes_that_are_no_text_are_replaced_and_cut_letters_do_not_matter() -> None:
    assert beginning_of(b"\xff\xfe a") == "\ufffd\ufffd a"
    long = ("ж" * 10_000).encode()
    assert beginning_of(long) == "ж" * BEGINNING


def test_nothing_of_the_file_is_left_even_by_a_killed_process(tmp_path: Path) -> None:
    file = TextFile(1, str(tmp_path))
    file.add(np.array([0]), [b"kept while it is open"])
    assert list(tmp_path.iterdir()) == []
    assert file.text(0) == "kept while it is open"
    file.close()
    file.close()
