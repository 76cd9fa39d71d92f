"""Results of sketching: rows by id, in a file or in memory; and SimHash codes."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.local.sketch_files.code_files import CodeScheme, CodeSource
from twinset.errors import UnknownIdError


@dataclass(frozen=True)
class Estimate:
    """A similarity estimated from two sketches, its standard error, and whether it is exact."""

    similarity: float
    standard_error: float
    exact: bool


class RowsById(ABC):
    """Sketches or codes by id, in a file or in memory."""

    def __init__(self, scheme: Any, summary: dict[str, Any], path: Path | None, table: pa.Table | None) -> None:
        self.scheme, self.summary, self.path, self._table = scheme, summary, path, table

    @cached_property
    def table(self) -> pa.Table:
        """All rows."""
        return self._table if self._table is not None else self._read()

    @abstractmethod
    def _read(self) -> pa.Table:
        """Read all rows of the file."""

    @property
    def ids(self) -> list[str]:
        """The ids, in order."""
        ids: list[str] = self.table["id"].to_pylist()
        return ids

    def __len__(self) -> int:
        return int(self.table.num_rows if self._table is not None else self.summary["sketches"])

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    @property
    def schema(self) -> pa.Schema:
        """The columns, with the scheme in their metadata."""
        return self.scheme.schema

    def _take_rows(self, *ids: str) -> pa.Table:
        """Return the rows of some ids."""
        rows = [pc.index(self.table["id"], pa.scalar(id, pa.string())).as_py() for id in ids]
        if -1 in rows:
            raise UnknownIdError(f"there is no sketch with the id {ids[rows.index(-1)]!r}")
        return self.table.take(pa.array(rows)).combine_chunks()


class SimHashes(RowsById):
    """SimHash codes by id: `.table` (Arrow: id, code, shingles), `.summary`, `.path`; made by `twinset.sketch`.

    Examples
    --------
    >>> import twinset
    >>> notice = "the ferry will not sail on sunday because of strong winds the harbour office said this morning"
    >>> texts = {"a": notice, "b": notice.replace("sunday", "monday"), "c": "a recipe for bread with rye", "d": ""}
    >>> made = twinset.sketch(texts, sketch="simhash", shingle="word:1")
    >>> made
    <SimHashes: 4 of 64 bits, by count>
    >>> twinset.find_pairs(made, codes="code", distance=12).pairs.select(["left", "right"]).to_pylist()
    [{'left': 'a', 'right': 'b'}]
    """

    scheme: CodeScheme

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> SimHashes:
        """Open a file written by `twinset.sketch` or ``twinset sketch`` with ``--sketch simhash``.

        Examples
        --------
        >>> import twinset
        >>> made = twinset.sketch(["one text", "another"], sketch="simhash", output="few-codes.parquet")
        >>> twinset.SimHashes.open("few-codes.parquet")
        <SimHashes: 2 of 64 bits, by count>
        """
        source = CodeSource(path)
        return cls(source.scheme, {"sketches": source.rows}, Path(path), None)

    def _read(self) -> pa.Table:
        if self.path is None:
            raise LookupError("codes without a file are in memory")
        return CodeSource(self.path).table()

    def estimate(self, left: str, right: str) -> Estimate:
        """Estimate the cosine of the angle between two items from the bits in which their codes differ.

        Parameters
        ----------
        left, right
            Their ids.

        Returns
        -------
        Estimate
            The cosine and its standard error; 0, which is exact, if one item is empty.

        Examples
        --------
        >>> import twinset
        >>> made = twinset.sketch({"a": "one two three", "b": "three two one"}, sketch="simhash", shingle="word:1")
        >>> made.estimate("a", "b").similarity
        1.0
        """
        codes = [_number(code) for code in self._take_rows(left, right)["code"].to_pylist()]
        if None in codes:
            return Estimate(0.0, 0.0, True)
        bits = self.scheme.bits
        n_differing = (codes[0] ^ codes[1]).bit_count()
        share = (n_differing + 0.5) / (bits + 1.0)  # gives equal codes an error, too
        error = math.pi * math.sin(math.pi * share) * math.sqrt(share * (1.0 - share) / bits)
        return Estimate(math.cos(math.pi * n_differing / bits), error, False)

    def __repr__(self) -> str:
        weights = "unweighted" if self.scheme.weights == "none" else f"by {self.scheme.weights}"
        return f"<SimHashes: {len(self):,} of {self.scheme.bits} bits, {weights}>"


def _number(code: Any) -> Any:
    return int.from_bytes(code, "big") if isinstance(code, bytes) else code
