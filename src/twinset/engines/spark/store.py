"""Intermediate tables: computed once, and read by all later steps.

With a folder they are Parquet files there, which outlive a lost executor. Without one they are on the disks of the
executors, and a lost executor ends the run. Either way a later step does not know how a table was made: the plan that
Spark keeps of it would otherwise double at every use.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from twinset.engines.spark.session import DataFrame, SparkSession, translated

__all__ = ["Store"]


_AT_ONCE = 8


@dataclass
class Store:
    """The intermediate tables of a run, in the folder `path` if there is one."""

    session: SparkSession
    path: str | None = None
    wrote: bool = False
    """Whether files were written, or begun."""
    _made: dict[str, DataFrame] = field(default_factory=dict)

    def keep(self, frame: DataFrame, name: str) -> DataFrame:
        """Compute a table and keep it."""
        name = name if name not in self._made else f"{name}-{len(self._made)}"
        with translated():
            if self.path is None:
                kept = frame.localCheckpoint()
            else:
                self.wrote = True
                frame.write.mode("overwrite").parquet(f"{self.path}/{name}")
                kept = self.session.read.schema(frame.schema).parquet(f"{self.path}/{name}")
        self._made[name] = kept
        return kept

    def clear(self) -> None:
        """Give the tables back.

        Those of executors are dropped, which Spark notices when it collects garbage. Files are replaced by empty ones,
        since a session has no way to remove them that works everywhere.
        """
        made, self._made = self._made, {}
        if self.path is not None:
            with ThreadPoolExecutor(_AT_ONCE) as threads:
                list(threads.map(self._empty, made.items()))

    def _empty(self, made: tuple[str, DataFrame]) -> None:
        name, kept = made
        with translated():
            empty = self.session.createDataFrame([], kept.schema)
            empty.coalesce(1).write.mode("overwrite").parquet(f"{self.path}/{name}")
