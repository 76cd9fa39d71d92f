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
from twinset.options.base import Options
from twinset.options.checks import new_file
from twinset.options.formats import check_output_name
from twinset.options.index import PassageQueryOptions, QueryCommandOptions, QueryOptions, SourceOptions
from twinset.schema import PASSAGES
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
    reading = {name: getattr(options, name) for name, _ in SourceOptions.specs() if options.was_given(name)}
    reading["exclude"] = exclude_files(SourceOptions.of(**reading), sources, [str(target)]).exclude
    counts = QueryCounts()
    work = {"progress": progress, "counts": counts, **reading}
    if options.passages:
        portions = index.each_passages(tuple(sources), **_given(options, PassageQueryOptions), **work)
    else:
        portions = index.each_query(tuple(sources), **_given(options, QueryOptions), **work)
    with closing(portions):
        _write(target, portions, PASSAGES if options.passages else with_query_column(_answers(index, options)))
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
    if options.passages:
        return _passages_to_file(index, target, options, text, id)
    query = _given(options, QueryOptions)
    if id is None:
        answers = index.query(text or "", **query)
    else:
        if query.pop("any_orientation"):
            raise OptionError(
                "--any-orientation cannot be used with --similar-to: the index has one orientation of a picture; give "
                "its file as a source"
            )
        answers = index.similar_to(id, **query)
    _write(target, [answers], _answers(index, options))
    counts = QueryCounts(queries=1, answered=min(1, answers.num_rows))
    counts.count_answers(answers)
    if id is None and index.settings.options.item_kind in ("text", "records", "weighted"):
        kind = kind_for(index.settings)
        asked = kind.queries(kind.from_values([text or ""]))
        counts.empty, counts.short = int(asked.shingles[0] == 0), asked.short
    return counts


def _passages_to_file(
    index: Index, target: Path, options: QueryCommandOptions, text: str | None, id: str | None
) -> QueryCounts:
    """Find the passages of one text, or of a document of the index."""
    counts, limits = QueryCounts(queries=1), _given(options, PassageQueryOptions)
    if id is None:
        counts = QueryCounts()
        tables = list(index.each_passages({"query": text or ""}, counts=counts, **limits))
    else:
        tables = [index.passages_of(id, **limits)]
        counts.found, counts.answered = tables[0].num_rows, min(1, tables[0].num_rows)
    _write(target, tables, PASSAGES)
    return counts


def _given(options: QueryCommandOptions, part: type[Options]) -> dict[str, Any]:
    """Return the options of one of the groups that the command has."""
    return {name: getattr(options, name) for name, _ in part.specs()}


def _answers(index: Index, options: QueryCommandOptions) -> pa.Schema:
    return index.answers_to(**_given(options, QueryOptions))


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
