"""Open the sources of a run: one data frame, or files that Spark reads."""

from __future__ import annotations

import os
from collections.abc import Sequence

from twinset.engines.spark.session import DataFrame, SparkSession, translated
from twinset.errors import SourceError
from twinset.options import DedupOptions, PairsOptions
from twinset.options.formats import DELIMITERS, FORMATS, format_by_ending
from twinset.wording import either

__all__ = ["open_frame"]

_READ = ("parquet", "jsonl", *DELIMITERS)


def open_frame(session: SparkSession, sources: Sequence[object], options: PairsOptions | DedupOptions) -> DataFrame:
    """Return the rows of the sources as one data frame."""
    frames = [source for source in sources if isinstance(source, DataFrame)]
    if len(frames) == len(sources) == 1:
        return frames[0]
    paths = [os.fspath(source) for source in sources if isinstance(source, (str, os.PathLike))]
    if len(paths) != len(sources):
        raise SourceError("a run on Spark reads one data frame, or files and folders by their names")
    kinds = {_format_of(os.fsdecode(path), options) for path in paths}
    if len(kinds) > 1:
        raise SourceError(
            f"sources of one run on Spark have one format, not {either(sorted(kinds))}; convert some of them"
        )
    return _read(session, [os.fsdecode(path) for path in paths], kinds.pop())


def _format_of(path: str, options: PairsOptions | DedupOptions) -> str:
    """Return the format that an option names, or the ending of the path; folders without one hold Parquet files."""
    found = format_by_ending(path.rstrip("/"))
    name = options.format or (found.name if found else "parquet")
    if name not in _READ:
        raise SourceError(
            f"{name} files cannot be read by Spark here; allowed: {either(list(_READ))}; read others into a data frame "
            "and use twinset.spark",
            where=path,
        )
    return name


def _read(session: SparkSession, paths: list[str], kind: str) -> DataFrame:
    with translated():
        if kind == "parquet":
            return session.read.parquet(*paths)
        if kind == "jsonl":
            return session.read.json(paths)
        return session.read.csv(paths, header=True, sep=FORMATS[kind].delimiter, escape='"', multiLine=True)
