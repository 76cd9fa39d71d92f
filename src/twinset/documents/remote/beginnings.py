"""The beginnings of remote objects, from which they are described without being fetched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from twinset.documents.compressed import open_reader
from twinset.documents.remote.copies import LocalCopy
from twinset.documents.remote.fetch import Fetcher
from twinset.errors import SourceError
from twinset.options.formats import DELIMITERS

_HEADER, _FIRST_ROWS = 2**16, 2**20
"""Bytes that are looked at to find the header of a table or the encoding of a text, and the keys of JSON lines."""
_PACKED = 2**20
"""Further bytes of a compressed object: those of a block, and what is read ahead."""


@dataclass(frozen=True)
class Beginning:
    """The beginning of an object: `looked_at` bytes of it, once decompressed, are in its first `size` bytes."""

    copy: LocalCopy
    codec: str | None
    looked_at: int
    is_text: bool

    @classmethod
    def of(cls, copy: LocalCopy, format: str, codec: str | None) -> Beginning | None:
        """Choose the beginning of an object; None if all of it is needed."""
        if not copy.one.ranges or codec == "zip" or format not in ("text", "jsonl", *DELIMITERS):
            return None
        return cls(copy, codec, _FIRST_ROWS if format == "jsonl" else _HEADER, format == "text")

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        return min(self.copy.size, self.looked_at + (_PACKED if self.codec else 0))

    def cut(self) -> bool:
        """Cut the copy after its beginning, so that readers find an end there; return whether it suffices."""
        if self.copy.is_complete:
            return True
        os.truncate(self.copy.path, self.size)
        head = b""
        try:
            with open_reader(self.copy.path, self.codec, self.copy.one.address.name) as stream:
                # Readers look at a piece more than they need.
                while len(head) < 2 * self.looked_at and (piece := stream.read(self.looked_at)):
                    head += piece
        except SourceError:
            return False
        return self.is_text or b"\n" in head


def fetch_beginnings(beginnings: Sequence[Beginning], fetcher: Fetcher) -> list[LocalCopy]:
    """Fetch the beginnings of some objects; return those of which more is needed."""
    fetcher.fetch([(one.copy, [(0, one.size)]) for one in beginnings])
    return [one.copy for one in beginnings if not one.cut()]
