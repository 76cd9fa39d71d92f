"""The functions that Spark sends to its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import twinset
from twinset.engines.spark.session import MARK, DataFrame, without_pandas_warnings
from twinset.engines.spark.tasks.settings import Settings

__all__ = ["in_tasks"]


def in_tasks(
    frame: DataFrame, function: Callable[[Any, Settings], Iterator[Any]], settings: Settings, columns: str
) -> DataFrame:
    """Return what a function of a module of `tasks` makes of the batches of a data frame."""
    with without_pandas_warnings():
        return frame.mapInArrow(_task(function.__module__, function.__name__, settings), columns)


def _task(module: str, name: str, settings: Settings) -> Callable[[Any], Iterator[Any]]:
    """Return the function `name` of a module of `tasks`, for Spark to run over Arrow batches.

    Spark sends the inner function as code, not by name, so that a worker without this package can say so.
    """
    version, mark = twinset.__version__, MARK

    def run(batches: Any) -> Iterator[Any]:
        import importlib
        import socket
        import sys

        worker = f"{socket.gethostname()} ({sys.executable})"
        try:
            package = importlib.import_module("twinset")
        except ImportError as error:
            raise RuntimeError(
                f"{mark} the worker {worker} has no twinset: {error}; install twinset {version} there, or name "
                "another interpreter with PYSPARK_PYTHON"
            ) from None
        if package.__version__ != version:
            raise RuntimeError(
                f"{mark} the worker {worker} has twinset {package.__version__}, but the driver has {version}; install "
                "the same version"
            )
        try:
            yield from getattr(importlib.import_module(module), name)(batches, settings)
        except importlib.import_module("twinset.errors").TwinsetError as error:
            raise RuntimeError(f"{mark} {error}") from None

    return run
