"""Choose the engine of a run. Nothing outside `engines/` asks which one it is."""

from __future__ import annotations

from typing import Any

from twinset.engines.base import Engine

__all__ = ["engine_for"]


def engine_for(options: Any) -> Engine:
    """Return the engine that the options name."""
    if options.engine == "spark":
        from twinset.engines.spark.run import SparkEngine  # an optional package: only where needed

        return SparkEngine.of(options)
    from twinset.engines.local.run import LocalEngine  # loads kernels: only where needed

    return LocalEngine()
