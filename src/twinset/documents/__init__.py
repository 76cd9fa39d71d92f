"""Read sources as blocks of texts and ids; write kept rows back in the source's own format."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinset.documents.parts import MAX_ROW_BYTES, Block, Chunk, KeptWriter, Part
    from twinset.documents.sources import Sources, open_sources

__all__ = [
    "MAX_ROW_BYTES",
    "Block",
    "Chunk",
    "KeptWriter",
    "Part",
    "Sources",
    "open_sources",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: the readers of all formats would delay a comparison of two texts.
    if name in __all__:
        module = "sources" if name in ("Sources", "open_sources") else "parts"
        return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
