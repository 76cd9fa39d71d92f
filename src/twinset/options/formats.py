"""Table of the file formats, from which endings, messages, help and documentation are derived.

The reader of a format is named, not imported: this table must load without Arrow, since `twinset --help` reads it.
`documents/open_parts.py` imports a reader when a file of its format is opened.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from twinset.errors import OptionError
from twinset.options.checks import shown_value
from twinset.options.items import KINDS, flag_of_kind
from twinset.wording import either


@dataclass(frozen=True)
class Format:
    """A file format, recognised by the ending of the file name.

    `words`: the name of such files in a sentence. `documents`: the unit that is one document. `part`: module and class
    of the reader. `binary`: not text, so such a file is not a document of a folder of texts. `compressible`: read
    sequentially, so a compressed file (``.gz``) can be read, too. `kinds`: the kinds of items it can contain. `output`:
    result tables can be written in it. `rows`: the kept rows of a result can be written in it as one file. `named`:
    only a file that is named itself has this format by its ending; in a folder or a pattern it is a text. `delimiter`:
    the character between two fields of a separated format such as CSV, whose part is always `SeparatedPart`.
    """

    name: str
    endings: tuple[str, ...]
    words: str
    documents: str
    part: str
    binary: bool = False
    compressible: bool = False
    kinds: tuple[str, ...] = tuple(kind for kind in KINDS if kind != "images")
    output: bool = False
    named: bool = False
    rows: bool = False
    delimiter: str | None = None


_SEPARATED = "twinset.documents.formats.csv_files:SeparatedPart"

FORMATS = {
    one.name: one
    for one in (
        Format(
            "jsonl",
            (".jsonl", ".ndjson"),
            "JSON lines",
            "one per line, each a JSON object",
            "twinset.documents.formats.jsonl:JsonLinesPart",
            compressible=True,
            output=True,
            rows=True,
        ),
        Format(
            "json",
            (".json",),
            "JSON",
            "one per element of an array, each a JSON object or a string; or JSON lines",
            "twinset.documents.formats.json_arrays:JsonArrayPart",
            compressible=True,
            named=True,
        ),
        Format(
            "csv",
            (".csv",),
            "CSV",
            "one per row, below a header row",
            _SEPARATED,
            compressible=True,
            output=True,
            rows=True,
            delimiter=",",
        ),
        Format(
            "tsv",
            (".tsv",),
            "TSV",
            "one per row, below a header row; tabs between the fields",
            _SEPARATED,
            compressible=True,
            rows=True,
            delimiter="\t",
        ),
        Format(
            "parquet",
            (".parquet",),
            "Parquet",
            "one per row",
            "twinset.documents.parquet.read:ParquetPart",
            binary=True,
            output=True,
            rows=True,
        ),
        Format(
            "arrow",
            (".arrow", ".feather"),
            "Arrow",
            "one per row; file or stream format",
            "twinset.documents.formats.arrow:ArrowPart",
            binary=True,
            rows=True,
        ),
        Format(
            "warc",
            (".warc", ".wet"),
            "WARC",
            "one [web page](web-pages.md) per response, resource or conversion record",
            "twinset.documents.pages.warc:WarcPart",
            binary=True,
            compressible=True,
            kinds=("text",),
        ),
        Format(
            "npy",
            (".npy",),
            "NumPy arrays",
            "one [vector](vectors.md) per row",
            "twinset.documents.formats.npy:NpyPart",
            binary=True,
            kinds=("vectors", "sparse"),
        ),
        Format(
            "npz",
            (".npz",),
            "SciPy's sparse matrices",
            "one [sparse vector](vectors.md#sparse-vectors) per row",
            "twinset.documents.sparse.npz:NpzPart",
            binary=True,
            kinds=("vectors", "sparse"),
        ),
    )
}

OUTPUT_ENDINGS = tuple(ending for one in FORMATS.values() if one.output for ending in one.endings)
"""The endings of result files."""

ROW_ENDINGS = tuple(ending for one in FORMATS.values() if one.rows for ending in one.endings)
"""The endings of files of kept rows; those of compressible formats may be followed by one of `CODECS`."""

DELIMITERS = {one.name: one.delimiter for one in FORMATS.values() if one.delimiter is not None}
"""The separated formats, each with the character between two fields."""

TRUTH_ENDINGS = tuple(ending for name in (*DELIMITERS, "parquet", "jsonl") for ending in FORMATS[name].endings)
"""The endings of files that can contain the truth of an evaluation."""

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
"""The endings of compressed files, with their codecs."""

_DOCUMENTS = (
    *(".txt", ".md", ".rst", ".log", ".html", ".htm", ".xml", ".yaml", ".yml", ".pdf", ".doc", ".docx", ".odt", ".rtf"),
    *(".xls", ".xlsx", ".ods", ".tab", ".avro", ".orc", ".db", ".sqlite", ".h5", ".tar", ".tgz", ".7z", ".rar"),
)
"""Endings of other files, which nobody expects a folder to have."""

_BY_ENDING = {ending: one for one in FORMATS.values() for ending in one.endings}


def format_by_ending(name: str) -> Format | None:
    """Return the format of a file by its name; None for a text file.

    Examples
    --------
    >>> format_by_ending("news.NDJSON").name, format_by_ending("notes.md")
    ('jsonl', None)
    """
    return _BY_ENDING.get(os.path.splitext(name)[1].lower())


def formats_for(kind: str) -> list[Format]:
    """Return the formats that can contain items of a kind."""
    return [one for one in FORMATS.values() if kind in one.kinds]


def endings_for(kind: str) -> list[str]:
    """Return the endings of files that can contain items of a kind.

    Examples
    --------
    >>> endings_for("text")[:3]
    ['.jsonl', '.ndjson', '.json']
    """
    return [ending for one in formats_for(kind) for ending in one.endings]


def check_output_name(value: str) -> None:
    """Refuse the name of a result file with an unknown ending.

    Examples
    --------
    >>> check_output_name("pairs.txt")
    Traceback (most recent call last):
    twinset.errors.OptionError: the output is 'pairs.txt'; its name must end in .jsonl, .ndjson, .csv or .parquet
    """
    if os.path.splitext(value)[1] not in OUTPUT_ENDINGS:
        raise OptionError(f"the output is {shown_value(value)}; its name must end in {either(OUTPUT_ENDINGS)}")


def is_folder_name(name: str) -> bool:
    """Whether an output is a folder: its name does not end like that of a file, or ends with a slash.

    Examples
    --------
    >>> [is_folder_name(name) for name in ("found", "v1.2", "pairs.csv", "pairs.xlsx", "pairs.csv/")]
    [True, True, False, False, True]
    """
    ending = os.path.splitext(name)[1].lower()
    return name.endswith(os.sep) or ending not in (*_BY_ENDING, *CODECS, *_DOCUMENTS)


def refuse_file_name(name: str, endings: Sequence[str]) -> None:
    """Refuse an output whose name is that of a file in no known format: a folder of that name would surprise.

    Examples
    --------
    >>> refuse_file_name("found.txt", [".csv", ".parquet"])  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    twinset.errors.OptionError: the output is 'found.txt'; its name must end in .csv or .parquet for one file; for a
    folder of that name, end it with /
    """
    raise OptionError(
        f"the output is {shown_value(name)}; its name must end in {either(endings)} for one file; for a folder of that "
        f"name, end it with {os.sep}"
    )


def check_pairs_name(name: str) -> None:
    """Refuse the name of an output of pairs that is neither a folder nor a file in a known format."""
    if not is_folder_name(name) and os.path.splitext(name)[1] not in OUTPUT_ENDINGS:
        refuse_file_name(name, OUTPUT_ENDINGS)


def row_file_format(name: str) -> tuple[Format, str | None] | None:
    """Return the format and the codec of a file of kept rows; None if the name is that of a folder.

    Examples
    --------
    >>> row_file_format("clean.jsonl.gz")[0].name, row_file_format("clean.jsonl.gz")[1]
    ('jsonl', 'gzip')
    >>> row_file_format("clean"), row_file_format("clean.parquet/")
    (None, None)
    """
    if name.endswith(os.sep):
        return None
    stem, ending = os.path.splitext(name)
    codec = CODECS.get(ending.lower())
    found = format_by_ending(stem if codec else name)
    if found is None or not found.rows:
        return None
    if codec is not None and not found.compressible:
        raise OptionError(
            f"the output is {shown_value(name)}, and {found.words} is compressed inside the file; leave out {ending}"
        )
    return found, codec


def delimiter_help() -> str:
    """Describe the delimiter of each separated format.

    Examples
    --------
    >>> delimiter_help().startswith("a comma in CSV, a tab in TSV")
    True
    """
    words = {",": "a comma", "\t": "a tab"}
    return ", ".join(f"{words.get(one, repr(one))} in {FORMATS[name].words}" for name, one in DELIMITERS.items())


def source_help() -> str:
    """Describe a SOURCE of the command line."""
    packed, plain, special = [".txt"], list[str](), list[str]()
    for one in FORMATS.values():
        if "text" not in one.kinds:
            special.append(f"with {either(list(dict.fromkeys(map(flag_of_kind, one.kinds))))} {either(one.endings)}")
        else:
            (packed if one.compressible else plain).extend(one.endings)
    files = "; ".join([f"{', '.join(packed)}, also compressed", ", ".join(plain), *special])
    addresses = "an address (s3://, gs://, az://, hf://, https://)"
    others = f"a pattern such as 'news/*.jsonl', {addresses}, or - for stdin (--format)"
    return f"A SOURCE is a folder of text files, a file ({files}), {others}."
