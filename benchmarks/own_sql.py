"""The SQL functions of Twinset in DuckDB, each timed alone on one thread; and the join on bands, against find_pairs."""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import twinset

THRESHOLD = 0.8
OF_ONE = ("shingles", "bands", "sketch")
OF_TWO = ("jaccard", "containment")
JOIN = """
WITH sketched AS MATERIALIZED (SELECT id, text, twinset_sketch(text) AS sketch FROM documents),
bands AS MATERIALIZED (SELECT id, unnest(twinset_bands(text)) AS band FROM documents),
near AS (SELECT DISTINCT a.id AS "left", b.id AS "right" FROM bands a JOIN bands b ON a.band = b.band AND a.id < b.id)
SELECT "left", "right", twinset_jaccard(a.text, b.text) AS similarity
FROM near JOIN sketched a ON a.id = "left" JOIN sketched b ON b.id = "right"
WHERE twinset_candidate(a.sketch, b.sketch) AND similarity >= {threshold}
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="+", help="Parquet files with a column `text`")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    print(json.dumps({path.stem: measured(path, arguments.repeat) for path in arguments.corpora}))


def measured(path: Path, repeat: int) -> dict[str, Any]:
    connection = duckdb.connect(config={"threads": 1})
    twinset.register(connection, threshold=THRESHOLD)
    texts = "SELECT row_number() OVER () AS id, text FROM read_parquet(?)"
    connection.execute(f"CREATE TABLE documents AS {texts}", [str(path)])
    connection.execute(
        "CREATE TABLE two AS SELECT a.text AS a, b.text AS b FROM documents a JOIN documents b ON b.id = a.id + 1"
    )
    connection.execute("CREATE TABLE sketches AS SELECT twinset_sketch(a) AS a, twinset_sketch(b) AS b FROM two")
    documents, size = connection.execute("SELECT count(*), sum(strlen(text)) FROM documents").fetchall()[0]
    found: dict[str, Any] = {"documents": documents, "bytes": int(size)}
    calls = {name: (f"max(len(twinset_{name}(text)))", "documents", "strlen(text)") for name in OF_ONE}
    calls["sketch"] = ("max(octet_length(twinset_sketch(text)))", "documents", "strlen(text)")
    calls |= {name: (f"sum(twinset_{name}(a, b))", "two", "strlen(a) + strlen(b)") for name in OF_TWO}
    calls["candidate"] = ("count_if(twinset_candidate(a, b))", "sketches", "octet_length(a) + octet_length(b)")
    for name, (call, table, length) in calls.items():
        volume = connection.execute(f"SELECT sum({length}) FROM {table}").fetchall()[0][0]
        statement = f"SELECT {call} FROM {table}"
        best = timed(lambda statement=statement: connection.execute(statement).fetchall(), repeat)
        found[name] = {"best": best, "speed": int(volume) / best}
    pairs: dict[tuple[int, int], float] = {}

    def join() -> None:
        rows = connection.execute(JOIN.format(threshold=THRESHOLD)).fetchall()
        pairs.update({(left, right): similarity for left, right, similarity in rows})

    found["join"] = {"best": timed(join, repeat)}
    table = connection.execute("SELECT id, text FROM documents").to_arrow_table()
    ours: list[Any] = []

    def find() -> None:
        ours[:] = [twinset.find_pairs(table, threshold=THRESHOLD, threads=1, audit=0).pairs]

    found["find_pairs"] = {"best": timed(find, repeat)}
    listed = zip(*(ours[0][name].to_pylist() for name in ("left", "right", "similarity")), strict=True)
    right = {(int(left), int(other)): similarity for left, other, similarity in listed}
    found["join"] |= {"pairs": len(pairs), "different": len(pairs.items() ^ right.items())}
    return found


def timed(work: Callable[[], Any], repeat: int) -> float:
    best = float("inf")
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()  # one thread works: seconds of one core, whatever else runs
        work()
        best = min(best, time.process_time() - start)
    return best


if __name__ == "__main__":
    main()
