"""Query an index with the documents of sources, and write the answers to a table."""

import glob
import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from twinset.documents.own_files import exclude_files
from twinset.engines.local.write.table_file import TableFile
from twinset.engines.progress import Progress
from twinset.errors import OptionError, OutputError
from twinset.index.index import Index
from twinset.index.kinds.base import kind_for
from twinset.index.query import QueryCounts, with_query_column
from twinset.options.checks import new_file
from twinset.options.formats import check_output_name
from twinset.options.index import QueryCommandOptions, QueryOptions, SourceOptions
from twinset.system.atomic_files import replace_atomically


def query_to_file(
    index: Index,
    sources: Sequence[str],
    output: str | os.PathLike[str],
    options: QueryCommandOptions,
    progress: Progress,
) -> QueryCounts:
    """Query with every document of the sources, and write the answers to a file."""
    target = _check_output(output, options.force)
    for source in sources:
        for path in glob.glob(source, recursive=True) if glob.has_magic(source) else [source]:
            if target.exists() and os.path.isfile(path) and os.path.samefile(path, target):
                raise OutputError(f"{target} is both a source and the output; choose another output")
    reading = {name: getattr(options, name) for name, _ in SourceOptions.specs()}
    reading["exclude"] = exclude_files(SourceOptions.of(**reading), sources, [str(target)]).exclude
    counts = QueryCounts()
    portions = index.each_query(tuple(sources), progress=progress, counts=counts, **_query_options(options), **reading)
    with closing(portions):
        _write(target, portions, with_query_column(index.answers))
    return counts


def query_one_to_file(
    index: Index,
    output: str | os.PathLike[str],
    options: QueryCommandOptions,
    *,
    text: str | None = None,
    id: str | None = None,
) -> QueryCounts:
    """Query with one text, or with a document of the index, and write the answers to a file."""
    target = _check_output(output, options.force)
    if index.settings.options.images and id is None:
        raise OptionError("--string does not apply to pictures; give the file as a source")
    query = _query_options(options)
    answers = index.similar_to(id, **query) if id is not None else index.query(text or "", **query)
    _write(target, [answers], index.answers)
    counts = QueryCounts(queries=1, answered=min(1, answers.num_rows))
    counts.count_answers(answers)
    if id is None and index.settings.options.item_kind == "text":
        kind = kind_for(index.settings)
        asked = kind.queries(kind.from_values([text or ""]))
        counts.empty, counts.short = int(asked.shingles[0] == 0), asked.short
    return counts


def _query_options(options: QueryCommandOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name, _ in QueryOptions.specs()}


def _check_output(output: str | os.PathLike[str], force: bool) -> Path:
    target = Path(output)
    check_output_name(str(target))
    new_file(target, force)
    return target


def _write(target: Path, portions: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Write a table in portions, atomically."""
    with replace_atomically(target) as draft, TableFile(draft, schema) as file:
        for portion in portions:
            file.write(portion)
