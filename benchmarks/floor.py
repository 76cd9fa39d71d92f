"""What no deduplication of a Parquet file can be faster than here: Arrow reads the file and writes the kept rows.

Two threads, nothing in between but one sketch of each text: the rows to keep are read from an earlier result. Run it as

    python -m benchmarks.floor CORPUS.parquet OUT/ COPY.parquet

where OUT/ is what `twinset dedup CORPUS.parquet -o OUT/` left. It prints the seconds of reading, of sketching and of
writing; the start of the process, and everything that compares two texts, would come on top.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.own_sketch import sketch_texts
from twinset.documents.row_groups import RowGroups


def main(corpus: Path, result: Path, copy: Path) -> None:
    kept = np.asarray(pq.read_table(result / "clusters.parquet", columns=["kept"])["kept"])
    begun = time.perf_counter()
    metadata = pq.read_metadata(corpus)
    firsts = np.cumsum([0, *(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))])
    words = {"use_dictionary": False, "write_statistics": False, "compression": "snappy"}
    with ThreadPoolExecutor(2) as pool:
        tables = list(pool.map(lambda group: _read(corpus, group), range(metadata.num_row_groups)))
        read = time.perf_counter() - begun
        list(pool.map(lambda table: sketch_texts(table["text"].combine_chunks()), tables))
        sketched = time.perf_counter() - begun - read
        writer = RowGroups(copy, tables[0].schema, 2, words)
        for table, first in zip(tables, firsts, strict=False):
            writer.write(_chosen(table, kept[first : first + table.num_rows]))
        writer.close()
    written = time.perf_counter() - begun - read - sketched
    print(json.dumps({"read": read, "sketch": sketched, "write": written, "seconds": read + written}))


def _read(corpus: Path, group: int) -> pa.Table:
    with pq.ParquetFile(corpus) as file:
        return file.read_row_group(group, use_threads=False)


def _chosen(table: pa.Table, keep: npt.NDArray[np.bool_]) -> pa.Table:
    return table.filter(pa.array(keep)).combine_chunks()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
