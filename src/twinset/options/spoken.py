"""Turn the flags in messages into keyword arguments for callers in Python; the command line shows flags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from twinset.options.checks import AUTO
from twinset.options.keep_rules import KEEP_RULES

if TYPE_CHECKING:
    from twinset.options.base import Options
    from twinset.options.checks import OptionSpec

_MODULES = ("jobs", "index", "results", "sketch", "evaluate", "survey", "passages")
# A flag, and the word after it, which may be its value; a flag in quotes is a value itself.
_FLAG = re.compile(
    r"(?P<command>twinset (?P<job>[a-z]+) )?(?<![\w'\"-])--(?P<flag>[a-z][a-z-]*[a-z])\b"
    r"(?: (?!--)(?P<value>\[[^]]*\]|'[^']*'|(?:[\w*.:-]|,(?=\w))*\w)(?=(?P<end>[:,;)]? --|:| names | is for |)))?"
)
_JOINING = ("and", "or", "needs", "with")
_VERBS = ("is", "has", "does", "can", "cannot", "needs", "adds", "takes", "makes", "reads")
_in_flags = False


@contextmanager
def speaking_flags(flags: bool = True) -> Iterator[None]:
    """Leave the flags in messages, for the command line; or, within it, turn them into arguments again."""
    global _in_flags
    before, _in_flags = _in_flags, flags
    try:
        yield
    finally:
        _in_flags = before


def speaks_flags() -> bool:
    """Whether the command line runs, so that messages name flags."""
    return _in_flags


def spoken(message: str) -> str:
    """Return a message with flags as keyword arguments, unless the command line runs.

    Examples
    --------
    >>> spoken("use --on-error skip, name a column with --id NAME, or replace it with --force")
    'use on_error="skip", name a column with id="NAME", or replace it with force=True'
    >>> spoken("give more with --memory, at least 2 GB; --no-lowercase; --floor 0.5 for less")
    'give more with memory=, at least 2 GB; lowercase=False; floor=0.5 for less'
    >>> spoken("try --shingle char:3 --threshold 0.66, or --text name --text 'the street'")
    'try shingle="char:3", threshold=0.66, or text=["name", \\'the street\\']'
    """
    if _in_flags or "--" not in message:
        return message
    written, at = "", 0
    for run in _runs(message):
        written += message[at : run[0].start] + _call(run) + run[-1].rest
        at = run[-1].end
    return written + message[at:]


@dataclass(frozen=True)
class _Argument:
    """A flag of a message as a keyword argument; `value` begins with the equals sign.

    job: the command before the flag; rest: a word after the flag that is not its value; start, end: the matched span.
    """

    name: str
    value: str
    job: str | None
    rest: str
    start: int
    end: int


def _runs(message: str) -> list[list[_Argument]]:
    """Return the flags of a message; those with only a space between them are together."""
    runs: list[list[_Argument]] = []
    for found in _FLAG.finditer(message):
        one = _argument(found)
        if runs and not runs[-1][-1].rest and not one.job and message[runs[-1][-1].end : one.start] == " ":
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _call(run: list[_Argument]) -> str:
    """Write arguments with commas; a flag that is repeated has a list."""
    values: dict[str, list[str]] = {}
    for one in run:
        values.setdefault(one.name, []).append(one.value)
    written = ", ".join(
        f"{name}{given[0]}" if len(given) == 1 else f"{name}=[{', '.join(value[1:] for value in given)}]"
        for name, given in values.items()
    )
    return f"twinset.{run[0].job}({written})" if run[0].job else written


def _argument(found: re.Match[str]) -> _Argument:
    flag, value = f"--{found['flag']}", found["value"]
    name, spec = _options().get(flag, (found["flag"].replace("-", "_"), None))
    rest = "" if value is None else f" {value}"
    if (spec is not None and spec.off_help) or (spec is None and name.startswith("no_")):
        name, written = name.removeprefix("no_"), "=False"
    elif value is not None and _is_value(value, spec, followed=bool(found["end"])):
        written, rest = f"={_literal(value)}", ""
    elif value in _VERBS:
        written = ""
    else:
        is_switch = spec is not None and (spec.check.type is bool or spec.bare is not None)
        written = "=True" if is_switch else "="
    return _Argument(name, written, found["job"], rest, *found.span())


def _is_value(word: str, spec: OptionSpec | None, followed: bool) -> bool:
    """Whether the word after a flag is its value: a choice, a number, a placeholder, or what only a value can be."""
    if spec is not None and spec.check.type is bool:
        return False
    if word in _choices():
        return True
    return word.isupper() or not word.isalpha() or (followed and word not in _JOINING)


def _literal(value: str) -> str:
    plain = value[0] in "['" or re.fullmatch(r"-?\d+(\.\d+)?", value)
    return value if plain else f'"{value}"'


@cache
def _choices() -> frozenset[str]:
    specs = (spec for options in _every(_base()) for _, spec in options.specs())
    return frozenset((AUTO, *KEEP_RULES, *(word for spec in specs for word in spec.check.choices)))


@cache
def _options() -> dict[str, tuple[str, OptionSpec]]:
    """Return the name and description of the option of each flag.

    The first class that has a flag defines it, but one that takes a value comes before one that is a switch.
    """
    found: dict[str, tuple[str, OptionSpec]] = {}
    for options in _every(_base()):
        for name, spec in options.specs():
            for flag in spec.spellings(name):
                known = found.setdefault(flag, (name, spec))[1]
                if known.check.type is bool and spec.check.type is not bool:
                    found[flag] = name, spec
    return found


def _base() -> type[Options]:
    """Return the base of all options, after loading all of them."""
    for module in _MODULES:
        import_module(f"twinset.options.{module}")
    options: type[Options] = import_module("twinset.options.base").Options
    return options


def _every(options: type[Options]) -> Iterator[type[Options]]:
    yield options
    for one in options.__subclasses__():
        yield from _every(one)
