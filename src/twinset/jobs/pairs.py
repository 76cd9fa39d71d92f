"""``twinset.find_pairs``: every pair of documents at least as similar as the threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import twinset
from twinset import pipeline
from twinset.engines.base import Job
from twinset.engines.local.run import LocalEngine
from twinset.engines.progress import Progress, Silent
from twinset.jobs.result import PairsResult
from twinset.options import PairsOptions
from twinset.options.checks import new_file
from twinset.options.formats import check_output_name
from twinset.options.sketch import holds_sketches


def find_pairs(*sources: object, output: Any = None, progress: Progress | None = None, **options: Any) -> PairsResult:
    """Find every pair of documents at least as similar as the threshold.

    Parameters
    ----------
    *sources
        Paths, patterns, lists and iterators of texts or rows (dicts), mappings id → text, or tables with Arrow's
        stream interface; for other kinds of items lists and mappings of them, and NumPy arrays of vectors and codes.
        Or sketches (`twinset.sketch`), whose pairs are estimates.
    output
        A file for the pairs, ending in .parquet, .csv or .jsonl; without it they are kept in memory.
    progress
        Receives the progress of the run.
    **options
        The options of `twinset pairs`, as keyword arguments.

    Returns
    -------
    PairsResult
        With `.pairs` (an Arrow table), `.summary` and `.plan`.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> found = twinset.find_pairs([rose, rose + " hall", "something else"], shingle="word:3")
    >>> found.pairs.select(["left", "right"]).to_pylist()
    [{'left': '0', 'right': '1'}]
    """
    path = Path(output) if output is not None else None
    if any(map(holds_sketches, sources)):
        from twinset.jobs.estimate import find_estimated  # loads kernels: only where needed

        return find_estimated(sources, options, path, twinset.__version__, progress or Silent())
    checked = PairsOptions.of(**options)
    if path is not None:
        check_output_name(str(path))
        new_file(path, checked.force)
    job = Job(sources, checked, twinset.__version__, path, progress or Silent())
    with LocalEngine().open(job) as run:
        done = pipeline.find_pairs(run)
    return PairsResult(done.summary, done.plan, path, done.tables.get("pairs"), checked.measure)


def outline_pairs(sources: tuple[object, ...], options: PairsOptions) -> dict[str, Any]:
    """Describe what `find_pairs` would read and plan; only headers and footers are read."""
    with LocalEngine().open(Job(sources, options, twinset.__version__)) as run:
        return run.outline()
