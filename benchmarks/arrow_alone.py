"""What Arrow alone takes to read a Parquet file and to write the kept rows, on two threads, with nothing in between.

The rows to keep are read from an earlier result. Run it as

    python -m benchmarks.arrow_alone CORPUS.parquet OUT/ COPY.parquet

where OUT/ is what `twinset dedup CORPUS.parquet -o OUT/` left. It prints the seconds of reading and of writing.
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

from twinset.documents.parquet.row_groups import RowGroups


def main(corpus: Path, result: Path, copy: Path) -> None:
    kept = np.asarray(pq.read_table(result / "clusters.parquet", columns=["kept"])["kept"])
    begun = time.perf_counter()
    metadata = pq.read_metadata(corpus)
    firsts = np.cumsum([0, *(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))])
    words = {"use_dictionary": False, "write_statistics": False, "compression": "snappy"}
    with ThreadPoolExecutor(2) as pool:
        tables = list(pool.map(lambda group: _read(corpus, group), range(metadata.num_row_groups)))
        read = time.perf_counter() - begun
        writer = RowGroups(copy, tables[0].schema, 2, words)
        for table, first in zip(tables, firsts, strict=False):
            writer.write(_chosen(table, kept[first : first + table.num_rows]))
        writer.close()
    written = time.perf_counter() - begun - read
    print(json.dumps({"read": read, "write": written, "seconds": read + written}))


def _read(corpus: Path, group: int) -> pa.Table:
    with pq.ParquetFile(corpus) as file:
        return file.read_row_group(group, use_threads=False)


def _chosen(table: pa.Table, keep: npt.NDArray[np.bool_]) -> pa.Table:
    return table.filter(pa.array(keep)).combine_chunks()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
