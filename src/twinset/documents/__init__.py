"""Read sources as blocks of texts and ids; write kept rows back in the source's own format."""

from twinset.documents.parts import FLAG_NAMES, FLAG_SCHEMA, MAX_ROW_BYTES, Block, Chunk, KeptWriter, Part
from twinset.documents.sources import Sources, open_sources

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
