"""Text files, each one document: those of a folder, or files given one by one."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from twinset.documents.compressed import ByteWriter, open_reader, writing
from twinset.documents.encodings import decode, encode_file, is_utf8, replacing
from twinset.documents.formats.lines import no_columns, no_flags
from twinset.documents.pages.extract import compared_texts
from twinset.documents.parts import MAX_ROW_BYTES, Block, Chunk, DocumentFile, KeptWriter, Mask, Part, Unreadable
from twinset.errors import RowError, SourceError
from twinset.options import ReadOptions
from twinset.schema import Places
from twinset.system.digests import file_digest

SKIP = "use --on-error skip to skip such files"

_PIECE = 2**20
_MARK = b"\xef\xbb\xbf"
_PACKED = 4  # assumed growth of a compressed text, for planning chunks


@dataclass(slots=True)
class ChangedFile(DocumentFile):
    """A file that is written with another content, compressed as it was."""

    content: bytes


class TextPart(Part):
    """A folder of texts, or text files given one by one."""

    format = "text"

    def __init__(self, name: str, options: ReadOptions, files: Sequence[DocumentFile], folder: Path | None) -> None:
        super().__init__(name, files[0].source, options)
        self.path = folder
        self.kept_name = PurePosixPath(".")
        self.files = list(files)
        self.size = sum(file.size for file in files)
        self.mtime_ns = max(file.mtime_ns for file in files)
        no_columns(self, options)

    def check_column(self, name: str, option: str) -> None:
        """Text files have no columns."""
        raise self.no_column(name, option)

    def check_flag(self) -> None:
        """Text files have no columns to add to."""
        raise no_flags(self.name)

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Some files at a time."""
        first, size = 0, 0
        for row, file in enumerate(self.files):
            size += file.size * (_PACKED if file.codec else 1)
            if size >= batch_bytes or row + 1 == len(self.files):
                yield TextChunk(self, first, row + 1)
                first, size = row + 1, 0

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the list of kept files."""
        if flag:
            self.check_flag()
        return TextWriter(self, out, copy)

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """Ids and texts."""
        return self.id_and_text(block, chosen)

    def payload_with(self, block: Block, rows: Places, texts: Sequence[str]) -> list[DocumentFile]:
        """Give files another content; a byte-order mark stays."""
        files: list[DocumentFile] = list(block.payload)
        for row, text in zip(rows.tolist(), texts, strict=True):
            file = files[row]
            with replacing(file.path, self.options.encoding):
                content = encode_file(text, self.options.encoding, file_bytes(file))
            files[row] = ChangedFile(**asdict(file), content=content)
        return files

    def encode_text(self, text: str) -> bytes:
        """Encode a text in the encoding of the files."""
        return encode_file(text, self.options.encoding, b"")

    def file_bytes(self, row: int) -> bytes:
        """The bytes of a document's file."""
        return file_bytes(self.files[row])

    def check_unchanged(self) -> None:
        """Raise when a file has changed since it was opened."""
        for file in self.files:
            try:
                now = os.stat(file.path)
            except OSError as error:
                raise SourceError(f"cannot be read: {error.strerror}", where=file.path) from error
            if (now.st_size, now.st_mtime_ns) != (file.size, file.mtime_ns):
                raise SourceError("the file was changed while it was being read; run again", where=file.path)

    @property
    def lasts(self) -> bool:
        """Whether a later run can read the source again: always, for files."""
        return True

    def digest(self) -> str:
        """SHA-256 over the lines ``id size sha256`` of the files."""
        total = hashlib.sha256()
        for file in self.files:
            line = f"{orjson.dumps(file.id).decode()} {file.size} {self._digest_of(file)}\n"
            total.update(line.encode())
        return total.hexdigest()

    def _digest_of(self, file: DocumentFile) -> str:
        try:
            return file_digest(file.path, file.path)
        except SourceError:
            if self.options.on_error != "skip":
                raise
            return "unreadable"

    def describe(self) -> dict[str, Any]:
        """Describe what would be read."""
        return {**super().describe(), "documents": len(self.files)}


class TextChunk(Chunk):
    """Some files, read on demand."""

    def __init__(self, part: TextPart, first: int, stop: int) -> None:
        self._part = part
        self._files = part.files[first:stop]
        self.rows = stop - first
        self.first_row = first

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Read the files."""
        part, utf8 = self._part, is_utf8(self._part.options.encoding)
        bad: Unreadable = []
        texts: list[bytes | str | None] = []
        replaced: list[int] = []
        for row, file in enumerate(self._files):
            data = self._bytes(row, file, bad)
            if data is None or utf8:
                marked = data is not None and not part.options.html and data.startswith(_MARK)
                texts.append(data[len(_MARK) :] if marked and data is not None else data)
                continue
            text, odd = decode(data, part.options.encoding)
            replaced += [row] if odd else []
            if odd and part.options.on_error == "stop":
                raise RowError(f"the file has bytes that are not {part.options.encoding}", where=file.path)
            texts.append(text)
        pages, undecoded = compared_texts(part, _array(texts, utf8), self.first_row, bad, decoded=not utf8)
        replaced = sorted({*replaced, *undecoded})
        block = Block(self.rows, self.first_row, pages, unreadable=bad, replaced=replaced)
        return self._described(block, whole, texts_only)

    def _described(self, block: Block, whole: bool, texts_only: bool) -> Block:
        """Add ids, sources and files to a block."""
        if not texts_only:
            block.ids = pa.array([file.id for file in self._files], pa.string())
        if any(file.source != self._part.source for file in self._files):
            block.sources = np.array([file.source for file in self._files], np.int64)
        block.payload = self._files if whole else None
        return block

    def _bytes(self, row: int, file: DocumentFile, bad: Unreadable) -> bytes | None:
        try:
            return file_bytes(file)
        except SourceError as error:
            # A file is one document, so a damaged or unreadable file is one unreadable row.
            if self._part.options.on_error != "skip":
                raise type(error)(f"{error.message}; {SKIP}", where=error.where) from error
            bad.append((row, error.message))
        return None


def file_bytes(file: DocumentFile) -> bytes:
    """Read a whole file, decompressed; refuse one longer than `MAX_ROW_BYTES`."""
    pieces: list[bytes] = []
    size = 0
    with open_reader(file.path, file.codec, file.path) as stream:
        if file.codec is None and file.size > MAX_ROW_BYTES:
            size = file.size
        else:
            while size <= MAX_ROW_BYTES and (piece := stream.read(_PIECE)):
                pieces.append(piece)
                size += len(piece)
    if size > MAX_ROW_BYTES:
        raise RowError(
            f"the document is longer than {MAX_ROW_BYTES // 2**20} MiB, the maximum",
            where=file.path,
        )
    return b"".join(pieces)


def _array(texts: list[bytes | str | None], utf8: bool) -> Any:
    size = sum(len(text) for text in texts if text is not None)
    if utf8:
        return pa.array(texts, pa.binary() if size < 2**31 else pa.large_binary())
    return pa.array(texts, pa.string() if 4 * size < 2**31 else pa.large_string())


class TextWriter(KeptWriter):
    """List the kept files in ``kept.txt`` and copy them below ``kept/``, with ``--copy`` or where they are changed."""

    def __init__(self, part: TextPart, out: Path, copy: bool) -> None:
        self._out = out
        self._copy = copy
        self._copied: list[Path] = []
        self._list = out / "kept.txt"
        with writing(self._list):
            out.mkdir(parents=True, exist_ok=True)
            self._file = open(self._list, "ab")  # noqa: SIM115 - closed by close() and abort()
            self._before = self._file.tell()

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """List, and copy, the kept files."""
        files: list[DocumentFile] = block.payload
        kept = list(itertools.compress(files, chosen.tolist()))
        with writing(self._list):
            self._file.write(b"".join(_listed(file.id) for file in kept))
        for file in kept:
            if self._copy or isinstance(file, ChangedFile):
                self._copy_file(file)

    def _copy_file(self, file: DocumentFile) -> None:
        target = self._out / "kept" / file.kept
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copied.append(target)
            if not isinstance(file, ChangedFile):
                shutil.copyfile(file.path, target)
                return
        writer = ByteWriter(target, file.codec)
        writer.write(file.content)
        writer.close()

    def close(self) -> None:
        """Finish the list."""
        with writing(self._list):
            self._file.close()

    def abort(self) -> None:
        """Undo the additions to the list, and remove the copies."""
        try:
            self._file.truncate(self._before)
            self._file.close()
        finally:
            if not self._before:
                self._list.unlink(missing_ok=True)
            for path in self._copied:
                path.unlink(missing_ok=True)


def _listed(id: str) -> bytes:
    """An id on one line; quoted as JSON where it has line breaks or looks quoted."""
    plain = id.isprintable() and not id.startswith('"')
    return (id.encode() if plain else orjson.dumps(id)) + b"\n"
