"""Clean a table of Apache Spark: read it, remove near-duplicates, write a clean table and the reasons.

Run in this folder, with the extra `spark` and Java 17: python clean_a_spark_table.py
"""

import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import twinset.spark

session = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.executorEnv.PYSPARK_PYTHON", sys.executable)
    .getOrCreate()
)
with tempfile.TemporaryDirectory() as folder:
    table = str(Path(folder) / "table")
    session.read.json("news.jsonl").write.parquet(table)  # stands for any table of yours

    frame = session.read.parquet(table)
    done = twinset.spark.dedup(frame, keep="longest", output=str(Path(folder) / "clean"))

    for row in done.removed.orderBy("id").collect():
        print(f"{row['id']}: {row['similarity']:.2f} like {row['because_of']}")
    counts = done.summary
    print(f"{counts['kept']} of {counts['documents']} rows kept in {counts['clusters']} clusters")
    session.stop()
