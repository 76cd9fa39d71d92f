"""The exceptions and warnings of Twinset.

::

    Exception
    └── TwinsetError             everything raised on purpose
        ├── OptionError          a wrong option, or options that cannot be combined (also a ValueError)
        ├── SourceError          a source that cannot be read
        │   ├── ColumnError      a column is missing, or has a type that cannot be used
        │   ├── FetchError       a remote source that could not be fetched, or was changed meanwhile
        │   ├── RowError         one malformed row
        │   └── DuplicateIdError an id that appears twice
        ├── OutputError          the output exists, cannot be written, or there is no space left
        ├── StateError           a damaged or foreign state or spill file, or one locked by another run
        │   ├── DamagedError     a damaged index, or a file that is not an index
        │   └── BusyError        an index locked by another writer
        ├── UnknownIdError       an id that is not in the index
        ├── VerdictChangedError  a pair that somebody else has judged since
        └── MissingError         an optional package is not installed

    UserWarning
    ├── CacheWarning             compiled kernels cannot be cached
    ├── NormalizationWarning     an index whose texts were normalised differently
    ├── PlanWarning              explicit hashes, bands or rows that cannot reach the requested recall
    └── SourceWarning            sources that are not read as one may expect

The library raises these; only the command line catches them.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BusyError",
    "CacheWarning",
    "ColumnError",
    "DamagedError",
    "DuplicateIdError",
    "FetchError",
    "MissingError",
    "NormalizationWarning",
    "OptionError",
    "OutputError",
    "PlanWarning",
    "RowError",
    "SourceError",
    "SourceWarning",
    "StateError",
    "TwinsetError",
    "UnknownIdError",
    "VerdictChangedError",
]


def _spoken(message: str) -> str:
    from twinset.options.spoken import spoken  # which imports this module

    return spoken(message)


class TwinsetError(Exception):
    """Base class of all errors of Twinset; the message is one line, and names options as the caller does.

    Examples
    --------
    >>> import twinset
    >>> try:
    ...     twinset.dedup("nothing.jsonl")
    ... except twinset.TwinsetError as error:
    ...     print(type(error).__name__)
    SourceError
    """

    def __str__(self) -> str:
        return _spoken(super().__str__())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class OptionError(TwinsetError, ValueError):
    """A wrong option, or options that cannot be combined.

    Examples
    --------
    >>> import twinset
    >>> twinset.plan(threshold=1.5)
    Traceback (most recent call last):
    twinset.errors.OptionError: threshold is 1.5; allowed: a number above 0 and up to 1
    """


class SourceError(TwinsetError):
    """A source that cannot be read.

    Parameters
    ----------
    message
        What is wrong, what is allowed and what to do.
    where
        The location: ``"file"``, ``"file, line 4"`` or ``"file, row 3, counted from 0"``; empty if unknown.

    Examples
    --------
    >>> str(SourceError("not a Parquet file", where="news.parquet"))
    'news.parquet: not a Parquet file'
    """

    def __init__(self, message: str, where: str = "") -> None:
        self.where = where
        self.message = message
        super().__init__(f"{where}: {message}" if where else message)

    @classmethod
    def unpaired_surrogate(cls, what: str, error: UnicodeEncodeError) -> SourceError:
        """Make the error for a string with an unpaired surrogate, which cannot be encoded."""
        return cls(
            f"{what} contains an unpaired surrogate ({error.object[error.start]!r} at {error.start}), which UTF-8 "
            "cannot encode; remove it, or decode the text another way"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would use the joined text and lose `where`.
        return type(self), (self.message, self.where)


class ColumnError(SourceError):
    """A column is missing, or has a type that cannot be used.

    Examples
    --------
    >>> import twinset
    >>> twinset.dedup([{"id": "a", "body": "one"}])
    Traceback (most recent call last):
    twinset.errors.ColumnError: list: there is no column 'text'; the columns are 'id', 'body': name one with text="NAME"
    """


class FetchError(SourceError):
    """A remote source that could not be fetched, or that was changed meanwhile; what was fetched stays for a resume.

    Examples
    --------
    >>> import twinset
    >>> twinset.find_pairs("http://127.0.0.1:9/news.jsonl")
    Traceback (most recent call last):
    twinset.errors.FetchError: http://127.0.0.1:9/news.jsonl: cannot be fetched: Connection refused
    """


class RowError(SourceError):
    """One malformed row.

    Examples
    --------
    >>> import twinset
    >>> from pathlib import Path
    >>> written = Path("bad.jsonl").write_text('{"text": "one"')
    >>> twinset.dedup("bad.jsonl")
    Traceback (most recent call last):
    twinset.errors.RowError: bad.jsonl, line 1: not JSON: ...; use on_error="skip" to skip such rows
    """


class DuplicateIdError(SourceError):
    """An id that appears twice.

    Examples
    --------
    >>> str(DuplicateIdError.of("a7", ("old.jsonl", 3), ("new.jsonl", 0))).partition(";")[0]
    "the id 'a7' appears twice: old.jsonl, row 3, and new.jsonl, row 0 (counted from 0)"
    """

    @classmethod
    def of(cls, id: str, first: tuple[str, int], second: tuple[str, int], need: str = "") -> DuplicateIdError:
        """Make the error from the id and its two places, each a name and a row counted from 0.

        `need` says why ids must be unique.
        """
        if first == second:
            return cls(f"the source {first[0]!r} is named twice, so its id {id!r} appears twice; name it once")
        one, other = (f"{name}, row {row}" for name, row in (first, second))
        return cls(
            f"the id {id!r} appears twice: {one}, and {other} (counted from 0){need and f'; {need}'}; name a column "
            "of unique ids with --id, or name rows file:row with --no-id"
        )


class OutputError(TwinsetError):
    """The output exists, cannot be written, or there is no space left.

    Examples
    --------
    >>> import twinset
    >>> from pathlib import Path
    >>> Path("clean").mkdir()
    >>> twinset.dedup(["one"], output="clean")
    Traceback (most recent call last):
    twinset.errors.OutputError: clean exists; choose another output, or replace it with force=True
    """


class StateError(TwinsetError):
    """A damaged or foreign state or spill file, or one locked by another run.

    Examples
    --------
    >>> import twinset
    >>> twinset.Index.open("gone.twinset")
    Traceback (most recent call last):
    twinset.errors.StateError: gone.twinset: there is no such index; create one with twinset index create
    """


class DamagedError(StateError):
    """A damaged index, or a file that is not an index.

    Examples
    --------
    >>> import twinset
    >>> from pathlib import Path
    >>> written = Path("torn.twinset").write_text("not a database at all")
    >>> twinset.Index.open("torn.twinset")
    Traceback (most recent call last):
    twinset.errors.DamagedError: torn.twinset is damaged, or not an index: file is not a database; restore a backup
    """


class BusyError(StateError):
    """An index locked by another writer."""


class UnknownIdError(TwinsetError):
    """An id that is not in the index.

    Examples
    --------
    >>> import twinset
    >>> with twinset.Index.create("small.twinset") as index:
    ...     index.remove(["a"])
    Traceback (most recent call last):
    twinset.errors.UnknownIdError: small.twinset: the index holds no document with the id 'a'; nothing was removed
    """


class VerdictChangedError(TwinsetError):
    """A verdict that would silently replace a later one; `state` is what stands, None if it is undecided."""

    def __init__(self, message: str, state: Any = None) -> None:
        self.state = state
        super().__init__(message)


class MissingError(TwinsetError):
    """An optional package is not installed.

    Examples
    --------
    >>> str(MissingError.of("matplotlib", extra="plots"))
    'the package matplotlib is required: pip install "matplotlib", or reinstall Twinset with the extra [plots]'
    """

    @classmethod
    def of(cls, package: str, extra: str) -> MissingError:
        """Make the error with the command to install the package."""
        name = package.partition("[")[0]
        return cls(
            f'the package {name} is required: pip install "{package}", or reinstall Twinset with the extra [{extra}]'
        )


class TwinsetWarning(UserWarning):
    """Base class of the warnings below."""

    def __str__(self) -> str:
        return _spoken(super().__str__())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class CacheWarning(TwinsetWarning):
    """Compiled kernels cannot be cached: their folder is owned by another user, or not writable."""


class NormalizationWarning(TwinsetWarning):
    """An index whose texts were normalised differently by another version of Arrow."""


class PlanWarning(TwinsetWarning):
    """Explicit hashes, bands or rows that cannot reach the requested recall.

    Examples
    --------
    >>> import warnings
    >>> import twinset
    >>> with warnings.catch_warnings(record=True) as said:
    ...     plan = twinset.plan(0.8, n_bands=2, rows_per_band=10)
    >>> str(said[0].message).partition(";")[2]
    ' more bands or fewer rows find more'
    """


class SourceWarning(TwinsetWarning):
    """Sources that are not read as one may expect, such as tables in a folder of texts.

    Examples
    --------
    >>> import warnings
    >>> from pathlib import Path
    >>> import twinset
    >>> Path("texts").mkdir()
    >>> written = [Path("texts", name).write_text("one two") for name in ("a.txt", "b.jsonl")]
    >>> with warnings.catch_warnings(record=True) as said:
    ...     found = twinset.find_pairs("texts")
    >>> str(said[0].message).partition(":")[0]
    '1 table in a folder of texts (texts/b.jsonl)'
    """
