"""Change bytes of a file one at a time and read each version.

    python damage.py FILE few|all START STOP …

`few` tries one of four values of every third byte, from a place that follows from the seed of the run; `all` tries each
value of each byte.

It runs as a process of its own, since what is looked for is the end of the whole process. Prints one line for each
version that was not read correctly and did not raise an error that names the file, and `done` at the end.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.documents.reading import opened, read_all, write_all
from twinset.errors import TwinsetError

_MEMORY = 2**34  # a length from a damaged file must not be believed


def main(path: Path, few: bool, *ends: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    expected = contents(path)
    data = path.read_bytes()
    bad = path.with_name(f"bad{path.suffix}")
    outcomes: dict[str, int] = {}
    spans = zip(ends[::2], ends[1::2], strict=True)
    first, step = (int(os.environ.get("TWINSET_TEST_SEED", "0")) % 3, 3) if few else (0, 1)
    for at in [at for start, stop in spans for at in range(start, stop)][first::step]:
        values = sorted({data[at] ^ 1, 22, data[at] ^ 128, 0} - {data[at]})
        turn = (at + at // 4) % len(values)  # fields are of four bytes: not the same value for the first of each
        for value in [values[turn]] if few else values:
            print(f"{at}={value}", end=" ", flush=True)  # the last words, should the process end here
            bad.write_bytes(data[:at] + bytes([value]) + data[at + 1 :])
            said = outcome(bad, expected)
            outcomes[said] = outcomes.get(said, 0) + 1
            print("\r" if said in ("correct", "refused", "as Arrow") else said, flush=True)
    print(f"done {outcomes}")


def contents(path: Path) -> list[Any]:
    """The texts, read whole and in pieces, and as they are written back."""
    whole, pieces = (read_all(opened(path), batch).texts for batch in (2**20, 2**9))
    write_all(opened(path), path.parent / "out")
    [back] = (path.parent / "out" / "kept").iterdir()
    again = read_all(opened(back)).texts
    back.unlink()
    return [whole, pieces, again]


def as_arrow_reads(path: Path) -> list[Any]:
    """The texts as Arrow alone reads them: nothing tells that a type was changed, say, since no checksum covers it."""
    with pa.OSFile(str(path)) as file:
        if path.suffix == ".parquet":
            table = pq.read_table(file)
        elif file.read(6) == b"ARROW1":
            table = pa.ipc.open_file(file).read_all()
        else:
            file.seek(0)
            table = pa.ipc.open_stream(file).read_all()
    return read_all(opened(table)).texts


def outcome(path: Path, expected: list[Any]) -> str:
    """What reading a file ends in."""
    try:
        found = contents(path)
        if found == expected:
            return "correct"
        return "as Arrow" if found == [as_arrow_reads(path)] * len(found) else "other rows"
    except TwinsetError as error:
        return "refused" if path.name in str(error) else f"no name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        for left in (path.parent / "out").glob("kept/*"):
            left.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "few", *map(int, sys.argv[3:]))
