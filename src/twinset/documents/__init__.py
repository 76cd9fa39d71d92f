"""Raw sources in, blocks of texts and ids out; clean data written back in the source's own format."""

from .parts import FLAG_NAMES, FLAG_SCHEMA, MAX_ROW_BYTES, Block, Chunk, KeptWriter, Part
from .sources import Sources, open_sources

__all__ = [
    "FLAG_NAMES",
    "FLAG_SCHEMA",
    "MAX_ROW_BYTES",
    "Block",
    "Chunk",
    "KeptWriter",
    "Part",
    "Sources",
    "open_sources",
]
