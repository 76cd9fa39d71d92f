"""Open the parts of files: one for a file of rows, one for text files or pictures that belong together."""

from __future__ import annotations

import dataclasses
import importlib
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from twinset.documents.compressed import member_of, split_codec
from twinset.documents.formats.lines import LinesPart
from twinset.documents.formats.text_files import TextPart
from twinset.documents.output_names import Components, partition_of
from twinset.documents.parts import DocumentFile, Part
from twinset.errors import OptionError, SourceError
from twinset.options import ReadOptions
from twinset.options.formats import DELIMITERS, FORMATS, Format, format_by_ending

if TYPE_CHECKING:
    from twinset.documents.remote.copies import LocalCopy


@dataclass(slots=True)
class SourceFile:
    """A file to read: its path, the name shown in messages, the components its output name must have, and its format.

    `format` is a name of `FORMATS`, or ``text``; `copy` is the local copy of a remote object. `split` is that of a file
    of a data set, whose texts are read line by line.
    """

    path: Path
    shown: str
    source: int
    components: Components
    least: int
    format: str
    codec: str | None
    copy: LocalCopy | None = None
    folder: Path | None = None
    folder_name: str = ""
    split: str = ""

    def goes_with(self, other: SourceFile) -> bool:
        """Whether two texts belong to one part: of the same folder, or both given by name."""
        same = self.folder == other.folder
        return same and (self.folder is None or self.source == other.source)


def part_class(format: Format) -> Any:
    """Import the part class of a format, without what other formats need."""
    module, _, name = format.part.partition(":")
    return getattr(importlib.import_module(module), name)


def file_part(file: SourceFile, kept: PurePosixPath, options: ReadOptions) -> Part:
    """Open a file of rows; `kept` is the path of its kept rows."""
    kind, codec = file.format, file.codec
    columns = kind not in ("text", "npy", "npz") and options.group is None
    partition = partition_of(file.shown) if columns else {}
    by = options.by if options.by in partition else None
    # A column from the folders is not looked for in the file.
    options = options if by is None else dataclasses.replace(options, by=None)
    where = (file.shown, file.source, options, file.path)
    part: Part
    if file.folder is not None or kind == "text":
        part = LinesPart(*where, codec)
    elif kind in DELIMITERS:
        part = part_class(FORMATS[kind])(*where, codec, kind)
    elif FORMATS[kind].compressible:
        part = part_class(FORMATS[kind])(*where, codec)
    elif codec is not None:
        raise SourceError(
            f"{kind} files need random access, which {codec} does not allow; decompress it first", where=file.shown
        )
    elif file.copy is not None and kind == "parquet":
        part = part_class(FORMATS[kind])(*where, file.copy)
    else:
        part = part_class(FORMATS[kind])(*where)
    part.kept_name, part.partition, part.partition_by, part.data_split = kept, partition, by, file.split
    part.size = part.size if file.copy is None else file.copy.size  # the copy may be cut after its beginning
    return part


def text_part(texts: list[tuple[SourceFile, DocumentFile]], options: ReadOptions) -> Part:
    """Open text files, or pictures, of one folder or given one by one."""
    first = texts[0][0]
    files = [file for _, file in texts]
    name = first.folder_name or files[0].id
    if first.folder is None and len(files) > 1:
        name = f"{files[0].id} … {files[-1].id}"
    if options.images:
        from twinset.documents.items.image_files import ImagePart  # imports Pillow, which other parts do not need

        return ImagePart(name, options, files, first.folder)
    return TextPart(name, options, files, first.folder)


def document_file(file: SourceFile, kept: PurePosixPath) -> DocumentFile:
    """Describe a file that is one document: its id, size, time, and the path of its copy."""
    try:
        about = os.stat(file.path)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=file.shown) from error
    # Without the number that distinguishes copies of a file named twice: its id appears twice on purpose.
    below = PurePosixPath(*file.components[-len(kept.parts) :])
    shown = str(below) if file.folder is not None else file.shown
    # A name that is not UTF-8 cannot be an id; it is escaped as Python does.
    id = shown.encode("utf-8", "backslashreplace").decode()
    size = about.st_size if file.copy is None else file.copy.size
    return DocumentFile(str(file.path), id, kept, file.source, file.codec, size, about.st_mtime_ns)


def look_inside(file: SourceFile) -> None:
    """Take the format of the only file in a ZIP file; the kept rows get its ending."""
    member = member_of(file.path, file.shown).filename
    known, ending = format_by_ending(member), os.path.splitext(member)[1].lower()
    if known is not None:
        name = f"{split_codec(file.components[-1])[0]}{ending}.zip"
        file.format, file.components = known.name, (*file.components[:-1], name)


def check_separated(parts: list[Part], options: ReadOptions) -> None:
    """Refuse options of CSV where no source is CSV; the sources of ``--against`` may be."""
    unused = "--delimiter" if options.delimiter else "" if options.header else "--no-header"
    if unused and not options.against and all(part.format not in DELIMITERS for part in parts):
        raise OptionError(
            f"{unused} is for CSV, but {parts[0].name} is read as {parts[0].format}; --format csv reads it as CSV"
        )
