"""Checks and notes for sources as they are opened."""

import os
from collections.abc import Sequence
from pathlib import Path

from twinset.documents.compressed import split_codec
from twinset.documents.files import format_of
from twinset.documents.parts import Part
from twinset.engines.progress import Progress
from twinset.errors import OutputError
from twinset.options import ReadOptions
from twinset.wording import counted

_MAX_NOTES = 5


def tell_unexpected(skipped: Sequence[tuple[str, str]], parts: Sequence[Part], progress: Progress) -> None:
    """Note what users may not expect: skipped files, and tables read as texts."""
    for name, reason in skipped[:_MAX_NOTES]:
        progress.note(f"skipped {name}: {reason}")
    if len(skipped) > _MAX_NOTES:
        progress.note(f"skipped {counted(len(skipped) - _MAX_NOTES, 'more file')}, named in the summary")
    for part in parts:
        files = [file.path for file in part.files]
        if files and not part.options.images and all(split_codec(path)[0].lower().endswith(".json") for path in files):
            progress.note(f"{part.name}: .json files are read as one text each; rows are read from JSON lines, .jsonl")
        tables = [file.id for file in part.files if format_of(file.path)[0] != "text"]
        if tables and not part.options.images:
            more = ", …" if len(tables) > 1 else ""
            progress.note(
                f"{part.name}: {counted(len(tables), 'table')} among texts ({tables[0]!r}{more}), read as one text "
                "each: to read rows, give tables by name or choose them with --include"
            )


def sketch_pictures(parts: Sequence[Part], options: ReadOptions) -> None:
    """Choose how pictures are read: as colour layouts for distances, else as perceptual hashes."""
    if not options.images:
        return
    from twinset.sketches.images import colour_layouts, perceptual_hashes

    for part in parts:
        part.picture_sketch = colour_layouts if options.measure == "distance" else perceptual_hashes


def refuse_to_replace(output: Path | None, parts: list[Part]) -> None:
    """Refuse an output that is or contains a source, since the output replaces it."""
    if output is None or not output.exists():
        return
    target = os.path.realpath(output)
    for inner in (one for part in parts for one in part.inner):
        paths: list[str | Path | None] = [file.path for file in inner.files]
        paths = paths or [inner.path]
        for path in paths:
            if path is not None and os.path.commonpath([target, os.path.realpath(path)]) == target:
                raise OutputError(f"{output} would be replaced, and {path} is read from there; choose another output")


def total_rows(parts: list[Part]) -> int | None:
    """Return the number of documents, if every part knows it without being read."""
    known = [part.describe().get("documents") for part in parts]
    return None if None in known else sum(int(count) for count in known if count is not None)
