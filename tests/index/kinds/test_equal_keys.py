"""Keys have 32 bits, so that two bands of one document may have the same: rare, and no harm."""

from __future__ import annotations

import numpy as np

from tests.index.conftest import NewIndex

TEXTS = {
    str(number): f"the text number {number} is about {number * 7} and {number * number}" for number in range(1280, 1310)
}
BANDS = 4096  # many, so that it happens at once and not once in a million documents


def test_a_document_two_of_whose_bands_have_one_key(new_index: NewIndex) -> None:
    index = new_index(n_hashes=BANDS, n_bands=BANDS, rows_per_band=1, seed=1)
    keys = dict(zip(TEXTS, index.band_keys(list(TEXTS.values())), strict=True))
    [twice] = [id for id, own in keys.items() if len(np.unique(own)) < BANDS]

    assert index.add(TEXTS).added == len(TEXTS)
    # More rows than are read at a time when they are checked.
    assert len(TEXTS) * BANDS > 100_000
    assert index.verify() == []
    assert index.query(TEXTS[twice])["id"].to_pylist()[0] == twice

    index.remove(twice)
    assert index.verify() == []
    assert twice not in index.query(TEXTS[twice], k=len(TEXTS))["id"].to_pylist()
