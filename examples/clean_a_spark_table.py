"""Clean a table of Apache Spark: read it, remove near-duplicates, write a clean table and the reasons.

Run in this folder, with the extra `spark` and Java 17: python clean_a_spark_table.py
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import twinset.spark

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers of this session run the same Python
settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"}
session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
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
