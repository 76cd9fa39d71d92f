"""Write the report of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twinset.jobs.result import open_result


def report(result: Any, path: Any, **options: Any) -> Path:
    """Write one self-contained, searchable HTML page of a result.

    Parameters
    ----------
    result
        A `DedupResult` or `PassagesResult`, or the folder of one.
    path
        A file that ends in .html.
    **options
        The options of `twinset report`, as keyword arguments.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> done = twinset.dedup({"a": rose, "b": rose + " hall"}, shingle="word:3")
    >>> twinset.report(done, "roses.html").name
    'roses.html'
    """
    done = result if hasattr(result, "report") else open_result(result)
    return done.report(path, **options)
