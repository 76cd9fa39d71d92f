"""``twinset.dedup``: the clean collection, and a reason for every document removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import twinset
from twinset import pipeline
from twinset.documents.python_sources import with_kind
from twinset.engines.base import Engine, Job
from twinset.engines.choose import engine_for
from twinset.engines.local.run import LocalEngine
from twinset.engines.progress import Progress, ProgressChoice, reporting
from twinset.jobs.result import DedupResult
from twinset.options import DedupOptions
from twinset.wording import counted

if TYPE_CHECKING:
    from twinset.index.index import Index


def dedup(*sources: object, output: Any = None, progress: ProgressChoice = None, **options: Any) -> DedupResult:
    """Remove near-duplicates, with a reason for each.

    Parameters
    ----------
    *sources
        Paths, patterns, lists and iterators of texts or rows (dicts), mappings id → text, or tables with Arrow's
        stream interface; for other kinds of items lists and mappings of them, and NumPy arrays of vectors and codes.
    output
        A folder for the result, or a file for the kept rows in the format of its ending, such as .jsonl, .csv or
        .parquet, with a folder of the same name and ``.details`` beside it; without it the tables are kept in memory.
    progress
        Bars for True, silence for False, or an object that receives the progress of the run. By default bars appear on
        a terminal and in a notebook.
    **options
        The options of `twinset dedup`, as keyword arguments.

    Returns
    -------
    DedupResult
        With `.kept`, `.mask`, `.removed`, `.clusters`, `.pairs`, `.summary` and `.plan`.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> done = twinset.dedup({"a": rose, "b": rose + " hall", "c": "something else"}, shingle="word:3")
    >>> done.kept["id"].to_pylist(), done.removed["because_of"].to_pylist()
    (['a', 'c'], ['a'])
    """
    checked = DedupOptions.of(**with_kind(sources, options))
    engine = engine_for(checked)
    with reporting(progress) as reporter:
        if checked.index is None:
            job = _job(engine, sources, checked, output, reporter)
            with engine.open(job) as run:
                done = pipeline.dedup(run)
                settled = {"shingle": run.options.shingle, "sparse": run.options.sparse}
                return DedupResult.of(done, job.sources, replace(checked, **settled))
        from twinset.index import dedup as index_dedup  # loads a database: only where needed

        with index_dedup.open_index(checked.index) as index:
            return _dedup_with_index(index, sources, index_dedup.dedup_options(options, index), output, reporter)


def _job(
    engine: Engine, sources: tuple[object, ...], options: DedupOptions, output: Any, progress: Progress,
    own_files: Sequence[str] = (), needs_ids: str = "",
) -> Job:  # fmt: skip
    """Make the job of a run; refuse an output that must not be replaced."""
    job = Job(
        sources, options, twinset.__version__, progress=progress, own_files=own_files, whole_rows=True,
        needs_ids=needs_ids,
    )  # fmt: skip
    return job if output is None else engine.place_result(job, output)


def _dedup_with_index(
    index: Index, sources: tuple[object, ...], options: DedupOptions, output: Any, progress: Progress
) -> DedupResult:
    """Compare with the documents of an index, too, and add the kept documents to it."""
    from twinset.index.dedup import IndexedDedup

    needs = "the ids of an index must be unique"
    engine = LocalEngine()
    job = _job(engine, sources, options, output, progress, index.files, needs_ids=needs)
    with engine.open(job) as run, IndexedDedup(index, run) as indexed:
        progress.note(f"index {index.name}: {counted(len(index), 'document')}; plan: {run.sketching}")
        return DedupResult.of(pipeline.dedup(run, indexed), job.sources, options)


def outline_dedup(sources: tuple[object, ...], options: DedupOptions, given: dict[str, Any]) -> dict[str, Any]:
    """Describe what `dedup` would read and plan; only headers and footers are read.

    `given` are the options that the user gave; an index supplies all others.
    """
    engine = engine_for(options)
    if options.index is None:
        with engine.open(Job(sources, options, twinset.__version__, outlined=True)) as run:
            return run.outline()
    from twinset.index import dedup as index_dedup

    with index_dedup.open_index(options.index, read_only=True) as index:
        merged = index_dedup.dedup_options({**given, "index": options.index}, index)
        about = {"name": index.name, "documents": len(index)}
        job = Job(sources, merged, twinset.__version__, own_files=index.files, outlined=True)
        with LocalEngine().open(job) as run:
            return {"index": about, **run.outline()}
