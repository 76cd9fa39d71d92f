"""Intermediate tables: computed once, and read by all later steps.

With a folder they are Parquet files there, which outlive a lost executor. Without one they are on the disks of the
executors, and a lost executor ends the run. Either way a later step does not know how a table was made: the plan that
Spark keeps of it would otherwise double at every use.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from twinset.engines.spark.session import DataFrame, SparkSession, translated

__all__ = ["Store"]


@dataclass
class Store:
    """The intermediate tables of a run, in the folder `path` if there is one."""

    session: SparkSession
    path: str | None = None
    wrote: bool = False
    """Whether files were written, or begun."""
    _names: set[str] = field(default_factory=set)

    def keep(self, frame: DataFrame, name: str) -> DataFrame:
        """Compute a table and keep it."""
        name = name if name not in self._names else f"{name}-{len(self._names)}"
        self._names.add(name)
        with translated():
            if self.path is None:
                return frame.localCheckpoint()
            self.wrote = True
            frame.write.mode("overwrite").parquet(f"{self.path}/{name}")
            return self.session.read.schema(frame.schema).parquet(f"{self.path}/{name}")

    def clear(self) -> None:
        """Give the tables back.

        Those of executors are dropped, which Spark notices when it collects garbage. A folder of files is replaced by
        one that has an empty file, since a session has no way to remove it that works everywhere.
        """
        if self.wrote and self.path is not None:
            with translated():
                nothing = self.session.range(0).selectExpr("cast(id as string) as value")
                nothing.coalesce(1).write.mode("overwrite").text(self.path)
        self.wrote = False
