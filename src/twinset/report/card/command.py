"""The command, or the call in Python, that repeats a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twinset.options.base import Options
from twinset.options.checks import OptionSpec

_FUNCTIONS = {"pairs": "find_pairs", "passages": "find_passages"}
OUTPUT = "OUT"


def repeat(command: str, options: Options, given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the language and the text of the command: a shell's, or Python's if sources were objects or streams.

    `given` names the sources and those compared against; None stands for an object.
    """
    sources, against = list(given.get("sources", ())), list(given.get("against", ()))
    changed = [one for one in _changed(options) if one[0] != "against"]
    if sources and None not in (*sources, *against):
        words = ["twinset", command, *map(shell_word, sources)]
        for name in against:
            words += ["--against", shell_word(name)]
        for name, spec, value in changed:
            words += _flags(name, spec, value)
        return "sh", " ".join([*words, "-o", OUTPUT])
    whole = not sources or (given.get("splits") and not any(sources))  # the splits of one object
    arguments = _objects([None] if whole else sources, "data")
    if against:
        arguments.append(f"against=[{', '.join(_objects(against, 'other'))}]")
    arguments += [f"{name}={value!r}" for name, _, value in changed]
    return "python", f"twinset.{_FUNCTIONS.get(command, command)}({', '.join(arguments)})"


def _objects(sources: Sequence[str | None], name: str) -> list[str]:
    """Write paths as strings, and name objects; several have numbers."""
    several = sources.count(None) > 1
    names = iter(f"{name}_{number}" if several else name for number in range(1, len(sources) + 1))
    return [next(names) if one is None else repr(one) for one in sources]


def _changed(options: Options) -> Iterator[tuple[str, OptionSpec, Any]]:
    """Yield the options that can change a result and do not have their defaults."""
    defaults, values = options.defaults(), options.to_dict()
    for name, spec in options.specs():
        value = getattr(options, name)
        follows = name == "threshold" and getattr(options, "contained", None) is not None
        if name in values and value != defaults[name] and not follows:
            yield name, spec, value


def _flags(name: str, spec: OptionSpec, value: Any) -> list[str]:
    flag = spec.spellings(name)[0]
    if isinstance(value, bool):
        return [flag]
    if spec.check.multiple and not isinstance(value, str):
        return [word for one in value for word in (flag, shell_word(str(one)))]
    if spec.bare is not None and value == spec.bare:
        return [flag]
    return [flag, shell_word(str(value))]


def shell_word(word: str) -> str:
    """Quote a word for a shell; bash reads the escapes of characters that cannot be printed.

    Examples
    --------
    >>> print(shell_word("my news.jsonl"), shell_word("two\\nlines"))
    'my news.jsonl' $'two\\x0alines'
    """
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escape, word))}'"


def _escape(one: str) -> str:
    if one.isprintable():
        return f"\\{one}" if one in "\\'" else one
    return "".join(f"\\x{byte:02x}" for byte in one.encode("utf-8", "surrogateescape"))


def changed_options(options: Options, given: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return the flags of a run that do not have their defaults, each with its value."""
    found = []
    for name, spec, value in _changed(options):
        listed = value if isinstance(value, tuple) else (value,)
        shown = "" if isinstance(value, bool) else ", ".join(map(str, listed))
        if name == "against" and None in given.get("against", ()):
            shown = "data in memory"
        found.append((spec.spellings(name)[0], shown))
    return found
