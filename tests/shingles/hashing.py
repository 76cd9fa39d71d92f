"""Texts through the product's own steps to shingle hashes, one list a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from twinset.documents.normalize import normalize
from twinset.options import ShingleOptions
from twinset.shingles.texts import shingle


def hashes_of(texts: Sequence[str | bytes | None], seed: int = 1, **words: Any) -> list[list[int]]:
    options = ShingleOptions.of(**words)
    binary = [text.encode() if isinstance(text, str) else text for text in texts]
    found: list[list[int]] = [[] for _ in texts]
    ready = normalize(pa.array(binary, pa.large_binary()), lowercase=options.lowercase, nfc=options.nfc)
    for part in ready.texts:
        for portion in shingle(part, options, seed):
            for i, row in enumerate(portion.rows.tolist()):
                found[row] = portion.hashes[portion.offsets[i] : portion.offsets[i + 1]].tolist()
    return found
