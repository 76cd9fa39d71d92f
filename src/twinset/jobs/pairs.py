"""``twinset.find_pairs``: every pair of documents at least as similar as the threshold."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import twinset
from twinset import pipeline
from twinset.documents.python_sources import with_kind
from twinset.engines.base import Job
from twinset.engines.choose import engine_for
from twinset.engines.local.write.result import HOSTS, PAIRS
from twinset.engines.progress import ProgressChoice, reporting
from twinset.errors import OptionError
from twinset.jobs.result import PairsResult
from twinset.options import PairsOptions
from twinset.options.formats import OUTPUT_ENDINGS, is_folder_name
from twinset.options.sketch import holds_sketches
from twinset.wording import either


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
        hosts = path / HOSTS if folder else path
    return PairsResult(done.summary, done.plan, file, done.tables.get("pairs"), checked.measure, hosts, done.held)


def outline_pairs(sources: tuple[object, ...], options: PairsOptions) -> dict[str, Any]:
    """Describe what `find_pairs` would read and plan; only headers and footers are read."""
    with engine_for(options).open(Job(sources, options, twinset.__version__)) as run:
        return run.outline()
