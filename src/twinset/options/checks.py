"""Descriptions of options, and checks of their values.

A check takes the name of an option and its value. It returns the value in normal form (a size in bytes, a shingle as
``word:5``) or raises `OptionError` with the value and what is allowed. `allowed` is the text of the bounds for the
error, the help page and the documentation.
"""

from __future__ import annotations

import codecs
import math
import operator
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twinset.errors import OptionError, OutputError
from twinset.system.addresses import refuse_address
from twinset.wording import either

AUTO = "auto"
"""The shingle that is chosen from the lengths of all documents."""
SHINGLE_ALLOWED = "word:K or char:K, K consecutive words or characters, K from 1 to 10000"
SIZE_ALLOWED = "bytes, or a number with kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024)"

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True)
class Check:
    """A check of a value, with its bounds as text and the type for the command line."""

    run: Callable[[Any], Any]
    allowed: str
    type: type = str
    choices: tuple[str, ...] = ()
    multiple: bool = False
    in_help: bool = True  # whether the help page shows `allowed`
    brief: str = ""  # shorter text for the help page

    def __call__(self, name: str, value: Any) -> Any:
        """Return the value in normal form, or raise `OptionError`."""
        try:
            return self.run(value)
        except OptionError:
            raise  # more specific than the message below
        except (ValueError, TypeError, OverflowError, LookupError) as error:
            raise OptionError(f"{name} is {shown_value(value)}; allowed: {self.allowed}") from error

    def parse(self, name: str, text: str) -> Any:
        """Parse and check a value of the command line."""
        try:
            return self(name, self.type(text))
        except (ValueError, OverflowError) as error:
            if isinstance(error, OptionError):
                raise
            raise OptionError(f"{name} is {shown_value(text)}; allowed: {self.allowed}") from error


@dataclass(frozen=True)
class OptionSpec:
    """The description of an option, from which its flag, help and documentation are derived."""

    help: str
    check: Check
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    default_text: str = ""
    off_help: str = ""
    bare: str | None = None  # the value of a flag that is given without one
    result: bool = True
    common: bool = False  # whether a help page with many options shows it

    @property
    def allowed(self) -> str:
        """The bounds, as text."""
        return self.check.allowed

    def spellings(self, name: str) -> tuple[str, ...]:
        """Return the flags of the command line; an option that is on by default has a flag to turn it off."""
        if self.off_help:
            return (f"--no-{name.replace('_', '-')}",)
        return self.flags or (f"--{name.replace('_', '-')}",)


_MAX_NAMES, _MAX_LISTED = 30, 300


def shown_value(value: object) -> str:
    """Show a value in a message, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def shown_names(names: Sequence[str]) -> str:
    """List names in a message, each cut to 60 characters, up to a number of names and characters.

    Examples
    --------
    >>> shown_names(["id", "te\\nxt"]), shown_names([])
    ("'id', 'te\\\\nxt'", 'none')
    """
    shown: list[str] = []
    for name in names:
        if len(shown) == _MAX_NAMES or sum(map(len, shown)) > _MAX_LISTED:
            return ", ".join([*shown, "…"])
        shown.append(shown_value(name))
    return ", ".join(shown) or "none"


def _or_none(run: Callable[[Any], Any], none: bool) -> Callable[[Any], Any]:
    return (lambda value: None if value is None else run(value)) if none else run


def optional(check: Check) -> Check:
    """Extend a check to allow None."""
    return replace(check, run=_or_none(check.run, none=True))


def whole(least: int, most: int, none: bool = False) -> Check:
    """Check a whole number between two bounds, both inclusive."""

    def run(value: Any) -> int:
        got = operator.index(value)
        if isinstance(value, bool) or not least <= got <= most:
            raise ValueError
        return got

    return Check(_or_none(run, none), f"a whole number from {least} to {most}", int)


def number(above: float, most: float | None = None, below: float | None = None) -> Check:
    """Check a number above one bound and up to (`most`) or below (`below`) another; never NaN."""

    def run(value: Any) -> float:
        if isinstance(value, (bool, str)):
            raise TypeError
        got = float(value)
        if not above < got or math.isinf(got):
            raise ValueError
        if (most is not None and got > most) or (below is not None and got >= below):
            raise ValueError
        return got

    end = f"up to {most:g}" if most is not None else f"below {below:g}"
    return Check(run, f"a number above {above:g} and {end}", float)


def length() -> Check:
    """Check a distance: a finite number of 0 or more, or None."""

    def run(value: Any) -> float:
        if isinstance(value, (bool, str)):
            raise TypeError
        got = float(value)
        if not 0.0 <= got < math.inf:
            raise ValueError
        return got

    return Check(_or_none(run, none=True), "a number, 0 or more", float)


def choice(*choices: str) -> Check:
    """Check one of several choices."""

    def run(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return Check(run, either(choices), str, choices)


def column(none: bool = False) -> Check:
    """Check the name of a column."""

    def run(value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise TypeError
        return value

    return Check(_or_none(run, none), "the name of a column", in_help=False)


def text(allowed: str) -> Check:
    """Check a text that is not empty; `allowed` says what it is, such as ``an address``."""

    def run(value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise TypeError
        return value

    return Check(_or_none(run, none=True), allowed, in_help=False)


def delimiter() -> Check:
    """Check the character between two fields of CSV."""

    def run(value: Any) -> str:
        got = {"tab": "\t", "\\t": "\t"}.get(value, value)
        if not isinstance(got, str) or len(got) != 1 or not got.isascii() or got.isalnum() or got in '"\r\n\0':
            raise ValueError
        return got

    allowed = "one ASCII character other than a letter, a digit, a quote or a line end; or the word tab"
    return Check(_or_none(run, none=True), allowed, in_help=False)


def items(kind: type) -> Check:
    """Check one value or a list of values."""

    def run(value: Any) -> tuple[Any, ...]:
        if value is None:
            return ()
        several = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        if not all(isinstance(one, kind) and one is not None for one in several):
            raise TypeError
        return several

    noun = "pattern" if kind is str else "source"
    return Check(run, f"one {noun} or a list of them", multiple=True, in_help=False)


def size(least: int, most: int, none: bool = False) -> Check:
    """Check a size in bytes."""

    def run(value: Any) -> int:
        try:
            got = parse_size(value)
        except OptionError as error:
            raise ValueError from error  # the message of `Check` names the option and its bounds
        if not least <= got <= most:
            raise ValueError
        return got

    bounds = f"at least {shown_size(least)}, at most {shown_size(most)}"
    return Check(_or_none(run, none), f"{SIZE_ALLOWED}; {bounds}", brief=bounds)


def parse_size(value: int | str) -> int:
    """Parse a size in bytes.

    Examples
    --------
    >>> parse_size("2GB"), parse_size("512MiB"), parse_size("1.5G"), parse_size(4096)
    (2000000000, 536870912, 1500000000, 4096)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = re.fullmatch(r"(?aix) \s* (\d+(?:\.\d*)?|\.\d+) \s* ([kmgt]?) (i?) b? \s*", str(value))
    if not found or isinstance(value, bool) or (found[3] and not found[2]):
        raise OptionError(f"{shown_value(value)} is not a size; allowed: {SIZE_ALLOWED}")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** _UNITS[found[2].lower()])


def shown_size(size: int) -> str:
    """Format a size for a reader.

    Examples
    --------
    >>> shown_size(1024), shown_size(16 * 2**20), shown_size(256_000_000), shown_size(1_234_567)
    ('1 KiB', '16 MiB', '256 MB', '1.2 MB')
    """
    for base, units in ((1024, "KiB MiB GiB TiB PiB EiB"), (1000, "kB MB GB TB PB")):
        for power, unit in reversed(list(enumerate(units.split(), start=1))):
            if base**power <= size < 1000 * base**power and size % base**power == 0:
                return f"{size // base**power} {unit}"
    shown, unit = float(size), "bytes"
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if shown < 1000 or unit == "PB":
            break
        shown /= 1000
    return f"{shown:.0f} bytes" if unit == "bytes" else f"{shown:.1f} {unit}"


def parse_shingle(spec: str) -> tuple[str, int]:
    """Parse a shingle specification into its kind and its number of tokens.

    Examples
    --------
    >>> parse_shingle("word:5"), parse_shingle("char:9")
    (('word', 5), ('char', 9))
    """
    found = re.fullmatch(r"(word|char):(\d{1,5})", spec, re.ASCII) if isinstance(spec, str) else None
    if not found or not 1 <= int(found[2]) <= 10000:
        raise OptionError(f"shingle is {shown_value(spec)}; allowed: {SHINGLE_ALLOWED}")
    return found[1], int(found[2])


def refuse_detour(path: str | os.PathLike[str]) -> None:
    """Refuse an address, and a path with `..` after a missing folder, which names nothing until that is made."""
    refuse_address(os.fspath(path))
    parts = os.fspath(path).split(os.sep)
    for at, part in enumerate(parts):
        before = os.sep.join(parts[:at])
        if part == os.pardir and before and not os.path.isdir(before):
            raise OutputError(
                f"the output is {os.fspath(path)}, but there is no folder {before}; leave out {before}{os.sep}{part}"
            )


def new_file(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse a path that is a folder, or that exists, unless `force` allows replacing it."""
    refuse_detour(path)
    if os.path.isdir(path):
        raise OutputError(f"{os.fspath(path)} is a folder, but the output must be a file; choose another output")
    if os.path.lexists(path) and not force:
        raise OutputError(f"{os.fspath(path)} exists; choose another output, or replace it with --force")


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _path(value: Any) -> str | None:
    return None if value is None else os.fsdecode(value)


def _index(value: Any) -> Any:
    """Convert a path or URL to text; return an open index unchanged."""
    if value is None or not isinstance(value, (str, bytes, os.PathLike)):
        return value
    path_or_url = os.fsdecode(value)
    if not path_or_url:
        raise ValueError
    return path_or_url


def _encoding(value: Any) -> str:
    # Encoding a letter fails with codecs that do not convert text to bytes, such as hex and rot13.
    name = codecs.lookup(value).name
    "a".encode(name)
    return name


def _shingle(value: Any) -> str:
    if value == AUTO:
        return AUTO
    kind, count = parse_shingle(value)
    return f"{kind}:{count}"


switch = Check(_switch, "True or False", bool, in_help=False)
path = Check(_path, "the path of a folder", in_help=False)
index_place = Check(_index, "the path of an index, its URL (postgresql://…), or an open twinset.Index", in_help=False)
verdicts_file = Check(_path, "the path of a file of verdicts", in_help=False)
encoding_name = Check(_encoding, "a text encoding known to Python, such as utf-8, latin-1 or gb18030")
shingle_spec = Check(_shingle, SHINGLE_ALLOWED)
