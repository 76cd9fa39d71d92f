"""Fold near-duplicates in search results: a ranked list in, the same ranking out, each result with its count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.candidates import prefix
from twinset.clusters.collapse import RankedSets, fold
from twinset.documents.fields import without_views
from twinset.documents.formats.typed_columns import text_array
from twinset.documents.normalize import normalize
from twinset.documents.parts import MAX_ROW_BYTES
from twinset.errors import ColumnError, OptionError, RowError, SourceError
from twinset.options.jobs import CollapseFileOptions, CollapseOptions
from twinset.pairs.sets import Sets, scores
from twinset.schema import Numbers
from twinset.shingles.texts import shingle
from twinset.system.arrays import offsets_of
from twinset.wording import with_article

_FOLDED = pa.list_(pa.struct([pa.field("place", pa.int64()), pa.field("similarity", pa.float64())]))
ADDED = pa.schema(
    [pa.field("count", pa.int64(), nullable=False), pa.field("folded", _FOLDED, nullable=False)]
)
"""The columns added to a table of results."""

_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


@dataclass(frozen=True)
class Folded:
    """A result folded under another: its place in the ranking, from 0, and the exact similarity of the two."""

    item: Any
    place: int
    similarity: float


@dataclass(frozen=True)
class Group:
    """A shown result, its place in the ranking, from 0, and the results folded under it, in order."""

    first: Any
    place: int
    folded: tuple[Folded, ...]

    @property
    def count(self) -> int:
        """The number of results in the group, itself included."""
        return 1 + len(self.folded)


class Collapsed:
    """A ranking with near-duplicates folded. Iteration and `len` are over its groups.

    Attributes
    ----------
    results
        The shown results: the same objects in the same order. For a table, an Arrow table with the additional columns
        `count` and `folded`, a list of `place` and `similarity`.
    counts
        The size of the group of each, itself included; they sum up to the number of all results.
    groups
        A `Group` for each: `.first`, `.folded` and `.count`. Items of a table are dictionaries.
    """

    def __init__(self, items: list[Any] | pa.Table, leader: Numbers, similarity: npt.NDArray[np.float64]) -> None:
        self._items, self._leader, self._similarity = items, leader, similarity
        places = np.arange(len(leader), dtype=np.uint32)
        self._heads = np.flatnonzero(leader == places)
        self._folded = np.flatnonzero(leader != places)

    @cached_property
    def results(self) -> Any:
        """The shown results."""
        if not isinstance(self._items, pa.Table):
            return [self._items[place] for place in self._heads.tolist()]
        order = self._folded[np.argsort(self._leader[self._folded], kind="stable")]
        ends = np.cumsum(np.array(self.counts, np.int32) - 1, dtype=np.int32)
        pairs = pa.StructArray.from_arrays(
            [pa.array(order.astype(np.int64)), pa.array(self._similarity[order])], fields=list(ADDED[1].type.value_type)
        )
        folded = pa.ListArray.from_arrays(pa.array(np.append(np.int32(0), ends)), pairs).cast(ADDED[1].type)
        table = without_views(self._items).take(pa.array(self._heads))
        return table.append_column(ADDED[0], pa.array(self.counts, pa.int64())).append_column(ADDED[1], folded)

    @cached_property
    def counts(self) -> list[int]:
        """The group size of each shown result."""
        counts: list[int] = np.bincount(self._leader, minlength=len(self._leader))[self._heads].tolist()
        return counts

    @cached_property
    def groups(self) -> list[Group]:
        """Each shown result, with those folded under it."""
        items = self._items.to_pylist() if isinstance(self._items, pa.Table) else self._items
        groups: dict[int, list[Folded]] = {place: [] for place in self._heads.tolist()}
        for place in self._folded.tolist():
            folded = Folded(items[place], place, float(self._similarity[place]))
            groups[int(self._leader[place])].append(folded)
        return [Group(items[place], place, tuple(folded)) for place, folded in groups.items()]

    def __len__(self) -> int:
        return len(self._heads)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __repr__(self) -> str:
        return f"<Collapsed: {len(self._heads):,} of {len(self._leader):,} results shown, {len(self._folded):,} folded>"


def collapse(results: Any, **options: Any) -> Collapsed:
    """Fold near-duplicates of a ranked list under their first appearance, and count them.

    A result is folded under the first result that is not folded itself and whose exact similarity reaches the
    threshold. Empty texts are never folded.

    Parameters
    ----------
    results
        The ranking, best first: strings, mappings, objects of any kind (with a function as `text`), or a table with
        Arrow's PyCapsule interface, such as a pandas or Polars frame.
    **options
        `text`: the key or column of the text, or a function that returns the text of a result; ignored for strings.
        `threshold`: minimum similarity of folded results, 0.8. `seed`. And the options of shingling, as in other
        functions: `shingle`, `bag`, `lowercase`, `nfc`, `squeeze`, `spaces`, `split`.

    Returns
    -------
    Collapsed
        With `.results`, `.counts` and `.groups`.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> found = [{"body": rose}, {"body": "something else"}, {"body": rose + " hall"}]
    >>> shown = twinset.collapse(found, text="body", shingle="word:3")
    >>> [(group.first["body"][:6], group.count) for group in shown]
    [('a rose', 2), ('someth', 1)]
    >>> shown.groups[0].folded[0].place, round(shown.groups[0].folded[0].similarity, 2)
    (2, 0.9)
    """
    checked = CollapseOptions.of(**options)
    table = _read_table(results, checked)
    items = _read_items(results) if table is None else table
    texts = _read_texts(items, checked) if table is None else _read_column(table, checked)
    return Collapsed(items, *fold_texts(texts, checked))


def fold_texts(
    texts: pa.Array, options: CollapseOptions | CollapseFileOptions
) -> tuple[Numbers, npt.NDArray[np.float64]]:
    """Return for each text the one that it is folded under, or itself, and the similarity of the two.

    Examples
    --------
    >>> leader, similarity = fold_texts(pa.array(["a b c", "d", "A B C"], pa.large_string()), CollapseOptions.of())
    >>> leader.tolist(), similarity.tolist()
    ([0, 1, 0], [1.0, 1.0, 1.0])
    """
    sets = _shingle_texts(_refuse_long(texts), options)
    leader, shared = fold(_prefix_sets(sets, options.threshold), options.threshold)
    folded = np.flatnonzero(shared)
    similarity = np.ones(len(leader))
    similarity[folded] = scores(shared[folded], sets.sizes[folded], sets.sizes[leader[folded]])["similarity"]
    return leader, similarity


def _read_items(results: Any) -> list[Any]:
    if isinstance(results, (str, bytes, Mapping)) or not isinstance(results, Iterable):
        raise SourceError(
            f"{with_article(type(results).__name__)} is not a ranking: give a list of strings, mappings or other "
            "results, or a table with Arrow's stream (pandas, Polars, DuckDB, pyarrow)"
        )
    return list(results)


def _read_table(results: Any, options: CollapseOptions) -> pa.Table | None:
    """Convert results to a table, if they are one; a series is a table of one column."""
    if not (hasattr(results, "__arrow_c_stream__") or hasattr(results, "__arrow_c_array__")):
        return None
    if not isinstance(options.text, str):
        raise OptionError("text is a function, but these results are a table; allowed: the name of a column")
    if isinstance(results, (pa.Array, pa.ChunkedArray)):
        return pa.table({options.text: results})
    try:
        return pa.table(results)
    except (pa.ArrowException, TypeError, ValueError) as error:
        try:
            return pa.table({options.text: pa.chunked_array(results)})
        except (pa.ArrowException, TypeError, ValueError):
            raise SourceError(f"the table cannot be read: {error}", where="results") from error


def _read_column(table: pa.Table, options: CollapseOptions) -> pa.Array:
    """Return the texts of a table."""
    names = table.column_names
    if names.count(options.text) != 1:
        known = ", ".join(repr(name) for name in names[:30]) + (", …" if len(names) > 30 else "")
        how_many = "no" if options.text not in names else "more than one"
        raise ColumnError(
            f"there is {how_many} column {options.text!r}; the columns are {known or 'none'}: name one with text=",
            where="results",
        )
    for name in ADDED.names:
        if name in names:
            raise ColumnError(f"collapse adds a column {name!r}, which already exists; rename it", where="results")
    texts = text_array(table.column(options.text))
    if texts.type not in _TEXTS:
        raise ColumnError(
            f"the column {options.text!r} must hold text, not {table.schema.field(options.text).type}; name "
            "another with text=",
            where="results",
        )
    return _refuse_long(texts)


def _read_texts(items: list[Any], options: CollapseOptions) -> pa.Array:
    """Return the texts of Python objects."""
    text = options.text
    if callable(text):
        values = [text(item) for item in items]
    else:
        values = [item if isinstance(item, str) else _value(item, place, text) for place, item in enumerate(items)]
    try:
        return _refuse_long(pa.array(values, pa.large_string()))
    except (pa.ArrowException, UnicodeEncodeError):
        encoded = [_encode(value, place) for place, value in enumerate(values)]
        return _refuse_long(pa.array(encoded, pa.large_binary()))


def _value(item: Any, place: int, key: str) -> Any:
    if item is None or isinstance(item, bytes):
        return item
    if not isinstance(item, Mapping):
        raise SourceError(
            f"{with_article(type(item).__name__)} is neither a string nor a mapping; give a function that returns its "
            "text, such as text=lambda result: result.body",
            where=f"results[{place}]",
        )
    if key not in item:
        known = ", ".join(repr(name) for name in list(item)[:30]) + (", …" if len(item) > 30 else "")
        raise ColumnError(
            f"there is no key {key!r}; the keys are {known or 'none'}: name one with text=",
            where=f"results[{place}]",
        )
    return item[key]


def _encode(value: Any, place: int) -> bytes | None:
    """Encode a text, or raise an error that names its place."""
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise ColumnError(
            f"the text must be a string, not {type(value).__name__}; name another key with text=, or give a function",
            where=f"results[{place}]",
        )
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise SourceError(
            f"the text contains an unpaired surrogate ({value[error.start]!r} at {error.start}), which UTF-8 cannot "
            "encode; remove it, or decode the text another way",
            where=f"results[{place}]",
        ) from error


def _refuse_long(texts: pa.Array) -> pa.Array:
    if texts.nbytes > MAX_ROW_BYTES:
        lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
        if lengths.max(initial=0) > MAX_ROW_BYTES:
            raise RowError(
                f"the text is longer than {MAX_ROW_BYTES // 2**20} MiB, the maximum",
                where=f"results[{int(np.argmax(lengths))}]",
            )
    return texts


def _shingle_texts(texts: pa.Array, options: CollapseOptions | CollapseFileOptions) -> Sets:
    """Return the shingle sets of the texts, in order."""
    starts, sizes = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.uint32)
    hashes = [np.empty(0, np.uint64)]
    total = 0
    for ready in normalize(texts, lowercase=options.lowercase, nfc=options.nfc).texts:
        for portion in shingle(ready, options, options.seed):
            sets = Sets.with_room(np.diff(portion.offsets))
            rows = np.arange(len(portion.rows))
            sets.fill(portion, rows, rows)
            starts[portion.rows] = sets.starts[:-1] + total
            sizes[portion.rows] = sets.sizes
            hashes.append(sets.hashes)
            total += len(sets.hashes)
    return Sets(np.concatenate(hashes), starts, sizes)


def _prefix_sets(sets: Sets, threshold: float) -> RankedSets:
    """Compute the prefixes and bitmaps of sets."""
    hashes, starts, sizes = sets.hashes, sets.starts, sets.sizes
    salts = np.zeros(len(sizes), np.uint64)
    frequencies = prefix.Frequencies.for_tokens(len(hashes))
    frequencies.add(hashes, starts, sizes, salts)
    alone, counts, _, keys = prefix.prefixes(frequencies, hashes, starts, sizes, salts, threshold)
    return RankedSets(
        hashes=hashes,
        starts=starts,
        sizes=sizes,
        alone=alone,
        offsets=offsets_of(counts),
        keys=keys,
        bit_offsets=offsets_of(prefix.bitmap_words(sizes, threshold)),
        bits=prefix.bitmaps(hashes, starts, sizes, threshold),
    )
