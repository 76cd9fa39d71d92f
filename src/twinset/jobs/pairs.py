"""``twinset.find_pairs``: every pair of documents at least as similar as the threshold."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import twinset
from twinset import pipeline
from twinset.documents.python_sources import with_kind
from twinset.engines.base import Job
from twinset.engines.choose import engine_for
from twinset.engines.local.write.result import HOSTS as HOSTS_FILE
from twinset.engines.local.write.result import PAIRS
from twinset.engines.progress import ProgressChoice, reporting
from twinset.errors import OptionError, StateError
from twinset.options import PairsOptions
from twinset.options.formats import OUTPUT_ENDINGS, format_by_ending, is_folder_name
from twinset.options.sketch import holds_sketches
from twinset.results.describe import describe_pairs, pairs_as_html
from twinset.schema import HOSTS, pairs_schema
from twinset.wording import either


class PairsResult:
    """Pairs of similar documents: `.pairs` (an Arrow table), `.summary` (plain numbers) and `.plan`.

    With ``hosts=…``, `.hosts` is the table of pairs of hosts.
    """

    def __init__(
        self, summary: dict[str, Any], plan: Any, path: Path | None, pairs: pa.Table | None, measure: str = "jaccard",
        hosts: pa.Table | Path | None = None, held: object = None,
    ) -> None:  # fmt: skip
        self._held = held  # the temporary folder of a result that was uploaded
        self.summary, self.plan, self.path = summary, plan, path
        self._pairs, self._schema, self._hosts = pairs, pairs_schema(measure), hosts

    @cached_property
    def pairs(self) -> pa.Table:
        """All pairs, read from the output file if there is one."""
        if self._pairs is not None:
            return self._pairs
        if self.path is None:
            return self._schema.empty_table()
        if self._hosts == self.path:
            raise StateError(f"{self.path} has the pairs of hosts (.hosts), not of pages; a folder as output gets both")
        return _read_pairs(self.path, self._schema)

    @cached_property
    def hosts(self) -> pa.Table:
        """Pairs of hosts with near-duplicate pages, those with the largest share first."""
        if self._hosts is None:
            raise OptionError("this result has no table of hosts; find the pairs with --hosts")
        return _read_pairs(self._hosts, HOSTS) if isinstance(self._hosts, Path) else self._hosts

    def card(self) -> str:
        """Describe the run for the card of a data set: the section Deduplication, as Markdown.

        Returns
        -------
        str
            The number of pairs, the recall, the options and the command that repeats the run.

        Examples
        --------
        >>> import twinset
        >>> found = twinset.find_pairs(["one text", "One text!", "another"])
        >>> print(found.card().splitlines()[2])
        Among 3 documents, the search found 1 pair of near-duplicates. Nothing was removed.
        """
        from twinset.report.card.sections import options_of, pairs_card

        if self.summary.get("estimate"):
            raise OptionError("these pairs are estimates from sketches, not results; find the pairs of the documents")
        return pairs_card(self.summary, options_of(PairsOptions, self.summary), self.plan)

    def __repr__(self) -> str:
        return f"<PairsResult: {describe_pairs(self.summary)}>"

    def _repr_html_(self) -> str:
        return pairs_as_html(self.summary, self.pairs if self._hosts is None else self.hosts)


def find_pairs(
    *sources: object, output: Any = None, progress: ProgressChoice = None, **options: Any
) -> PairsResult:
    """Find every pair of documents at least as similar as the threshold.

    Parameters
    ----------
    *sources
        Paths, patterns, lists and iterators of texts or rows (dicts), mappings id → text, or tables with Arrow's
        stream interface; for other kinds of items lists and mappings of them, and NumPy arrays of vectors and codes.
        Or sketches (`twinset.sketch`), whose pairs are estimates.
    output
        A file for the pairs, ending in .parquet, .csv or .jsonl, or a folder for pairs.parquet and summary.json;
        without it they are kept in memory.
    progress
        Bars for True, silence for False, or an object that receives the progress of the run. By default bars appear on
        a terminal and in a notebook.
    **options
        The options of `twinset pairs`, as keyword arguments.

    Returns
    -------
    PairsResult
        With `.pairs` (an Arrow table), `.summary` and `.plan`; with ``hosts=True`` also `.hosts`.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> found = twinset.find_pairs([rose, rose + " hall", "something else"], shingle="word:3")
    >>> found.pairs.select(["left", "right"]).to_pylist()
    [{'left': '0', 'right': '1'}]
    """
    path = Path(output) if output is not None else None
    folder = path is not None and is_folder_name(os.fsdecode(output))
    if any(map(holds_sketches, sources)):
        from twinset.jobs.estimate import find_estimated  # loads kernels: only where needed

        if folder:
            endings = either(OUTPUT_ENDINGS)
            raise OptionError(f"the pairs of sketches are written to a file; its name must end in {endings}")
        with reporting(progress) as reporter:
            return find_estimated(sources, options, path, twinset.__version__, reporter)
    checked = PairsOptions.of(**with_kind(sources, options))
    engine = engine_for(checked)
    job = Job(sources, checked, twinset.__version__)
    if output is not None:
        job = engine.place_pairs(job, output)
    with reporting(progress) as reporter, engine.open(replace(job, progress=reporter)) as run:
        done = pipeline.find_pairs(run)
    path = done.path or path
    file = path / PAIRS if path is not None and folder else path
    hosts = done.tables.get("hosts")
    if checked.hosts is not None and path is not None:
        hosts = path / HOSTS_FILE if folder else path
    return PairsResult(done.summary, done.plan, file, done.tables.get("pairs"), checked.measure, hosts, done.held)


def outline_pairs(sources: tuple[object, ...], options: PairsOptions) -> dict[str, Any]:
    """Describe what `find_pairs` would read and plan; only headers and footers are read."""
    with engine_for(options).open(Job(sources, options, twinset.__version__, outlined=True)) as run:
        return run.outline()


def _read_pairs(path: Path, schema: pa.Schema) -> pa.Table:
    format = format_by_ending(path.name)
    if format is not None and format.delimiter is not None:
        kinds = pa.csv.ConvertOptions(column_types=schema, strings_can_be_null=False)
        return pa.csv.read_csv(
            path, parse_options=pa.csv.ParseOptions(delimiter=format.delimiter), convert_options=kinds
        )
    return _read_json_lines(path, schema) if path.suffix in (".jsonl", ".ndjson") else pq.read_table(path)


def _read_json_lines(path: Path, schema: pa.Schema) -> pa.Table:
    from pyarrow import json

    if path.stat().st_size == 0:
        return schema.empty_table()
    options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    return json.read_json(path, parse_options=options)
