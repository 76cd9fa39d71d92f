"""Checks and notes for sources as they are opened."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from twinset.documents.compressed import split_codec
from twinset.documents.files import AMONG_TEXTS, NOT_FOLLOWED, is_plain
from twinset.documents.parts import Part
from twinset.documents.sparse.matrices import SparsePart
from twinset.engines.local.corpus import Corpus
from twinset.engines.progress import Progress
from twinset.errors import OutputError, SourceError, SourceWarning
from twinset.options import ReadOptions
from twinset.wording import counted, counted_files

_MAX_NOTES = 5
_Options = TypeVar("_Options", bound=ReadOptions)


def tell_unexpected(skipped: Sequence[tuple[str, str]], parts: Sequence[Part], progress: Progress) -> None:
    """Note what users may not expect: skipped files, and tables read as texts."""
    others = [one for one in skipped if one[1] not in NOT_FOLLOWED]
    for name, reason in others[:_MAX_NOTES]:
        progress.note(f"skipped {name}: {reason}")
    if len(others) > _MAX_NOTES:
        names = [name for name, _ in others[_MAX_NOTES:]]
        progress.note(f"skipped {counted_files(names, 'more ')}, named in the summary")
    _tell_not_followed([one for one in skipped if one[1] in NOT_FOLLOWED], progress)
    for part in parts:
        files = [file.path for file in part.files]
        if files and not part.options.images and all(split_codec(path)[0].lower().endswith(".json") for path in files):
            progress.note(f"{part.name}: .json files are read as one text each; --format json reads their rows")
    warn_of_mixed(skipped, parts)


def _tell_not_followed(skipped: Sequence[tuple[str, str]], progress: Progress) -> None:
    """Note hidden files and links in one line, since most folders have some."""
    if len(skipped) == 1:
        progress.note(f"skipped {skipped[0][0]}: {skipped[0][1]}")
    elif skipped:
        name, reason = skipped[0]
        progress.note(f"skipped {len(skipped):,} hidden files and links, such as {name} ({reason})")


def warn_of_mixed(skipped: Sequence[tuple[str, str]], parts: Sequence[Part]) -> None:
    """Warn of tables in a folder of texts, whose rows are not read."""
    files = [file for part in parts if not part.options.images and part.options.format is None for file in part.files]
    tables = [name for name, reason in skipped if AMONG_TEXTS in reason]
    tables += [file.path for file in files if not is_plain(file.path)]
    if not tables:
        return
    shown = f"{tables[0]}{', …' if len(tables) > 1 else ''}"
    warnings.warn(
        SourceWarning(
            f"{counted(len(tables), 'table')} in a folder of texts ({shown}): rows are not read; to read them, choose "
            f"the tables with --include '*{os.path.splitext(tables[0])[1]}'"
        ),
        stacklevel=2,
    )


def warn_of_unreadable(corpus: Corpus) -> None:
    """Warn of a run that can read none of its documents."""
    own = [(number, reason) for number, reason in corpus.report.unreadable if number < corpus.own]
    if not own or len(own) < corpus.own:
        return
    number, reason = own[0]
    first = corpus.take_ids(np.array([number], np.uint32))[0].as_py()
    none = f"none of {corpus.own:,} documents can be read, such as {first!r}"
    one = f"the only document, {first!r}, cannot be read"
    warnings.warn(SourceWarning(f"{one if corpus.own == 1 else none}: {reason}"), stacklevel=2)


def compared_sparsely(parts: Sequence[Part], options: _Options) -> _Options:
    """Return the options of a run, by which sparse vectors are compared as such; refuse what cannot be compared."""
    found = [part for part in parts if isinstance(part, SparsePart)]
    if not found:
        return options
    first = found[0]
    other = next((part for part in found if part.shape[1] != first.shape[1]), None)
    if other is not None:
        raise SourceError(
            f"its vectors have {other.shape[1]:,} columns, and those of {first.name} have {first.shape[1]:,}; only "
            "vectors with the same columns can be compared",
            where=other.name,
        )
    if options.item_kind == "sparse":
        return options
    dense = next((part for part in parts if not isinstance(part, SparsePart)), None)
    if dense is not None:
        raise SourceError(
            f"its vectors are not sparse, but those of {first.name} are; add --sparse to compare all of them as sparse "
            "ones",
            where=dense.name,
        )
    for part in found:
        part.options = part.options.but(sparse=True)
    return options.but(sparse=True)


def sketch_pictures(parts: Sequence[Part], options: ReadOptions) -> None:
    """Choose how pictures are read: as colour layouts for distances, else as perceptual hashes."""
    if not options.images:
        return
    from twinset.sketches.images import colour_layouts, oriented_hashes, perceptual_hashes

    for part in parts:
        hashes = oriented_hashes if getattr(options, "any_orientation", False) else perceptual_hashes
        part.picture_sketch = colour_layouts if options.measure == "distance" else hashes


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
