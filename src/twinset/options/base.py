"""Base class of the option groups: checks values, lists options and converts them to plain values."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from twinset.errors import OptionError
from twinset.options.checks import Check, OptionSpec
from twinset.system.addresses import shown_address


def option(default: Any, help: str, check: Check, metavar: str | None = None, **more: Any) -> Any:
    """Define an option: a dataclass field with its description."""
    return field(default=default, metadata={"spec": OptionSpec(help, check, metavar, **more)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """A group of options, checked on construction and immutable."""

    title: ClassVar[str] = "Options"
    _given: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        for name, spec in self.specs():
            object.__setattr__(self, name, spec.check(name, getattr(self, name)))
        self._check_together()

    def _check_together(self) -> None:
        """Refuse combinations of options that are valid one by one."""

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Make the options from keyword arguments; wrong names and values raise `OptionError`.

        Examples
        --------
        >>> from twinset.options import PlanOptions
        >>> PlanOptions.of(threshold=0.7).threshold
        0.7
        >>> PlanOptions.of(treshold=0.7)
        Traceback (most recent call last):
        twinset.errors.OptionError: unknown option 'treshold'; did you mean 'threshold'?
        """
        known = dict(cls.specs())
        for name in values:
            if name not in known:
                raise OptionError(_unknown(name, known))
        options = cls(**values)
        object.__setattr__(options, "_given", frozenset(values))
        return options

    def but(self, **values: Any) -> Self:
        """Return the options with other values, as if these had been given, too.

        Examples
        --------
        >>> from twinset.options import PlanOptions
        >>> changed = PlanOptions.of(threshold=0.8).but(recall=0.9)
        >>> changed.recall, changed.was_given("threshold")
        (0.9, True)
        """
        changed = dataclasses.replace(self, **values)
        object.__setattr__(changed, "_given", self._given | values.keys())
        return changed

    def was_given(self, name: str) -> bool:
        """Whether an option was given, even with its default value."""
        return name in self._given or getattr(self, name) != self.defaults()[name]

    @classmethod
    def specs(cls) -> Iterator[tuple[str, OptionSpec]]:
        """Yield the name and the description of each option, in the order of the help page."""
        for one in dataclasses.fields(cls):
            yield one.name, one.metadata["spec"]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of every option."""
        return {one.name: one.default for one in dataclasses.fields(cls)}

    @classmethod
    def group_of(cls, name: str) -> str:
        """Return the heading under which the help page shows an option."""
        owner = next(base for base in cls.__mro__ if name in inspect.get_annotations(base))
        return str(owner.__dict__.get("title", cls.title))

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Return the options as plain values, ready for JSON.

        `result_only` omits options that cannot change a result (threads, memory, scratch, batch, force), so that two
        runs with equal dictionaries on equal sources have equal results.
        """
        return {name: _plain(getattr(self, name)) for name, spec in self.specs() if spec.result or not result_only}


def _unknown(name: str, known: Mapping[str, OptionSpec]) -> str:
    """Return the message for an unknown option, with the closest known name."""
    names = {key: key for key in known}
    for key, spec in known.items():
        names.update((flag.strip("-").replace("-", "_"), key) for flag in spec.spellings(key))
    near = difflib.get_close_matches(name, names, n=1)
    guess = f"did you mean {names[near[0]]!r}?" if near else f"the options are {', '.join(known)}"
    return f"unknown option {name!r}; {guess}"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return shown_address(value)
    if value is None or isinstance(value, (int, float)):
        return value
    return os.fspath(value) if isinstance(value, os.PathLike) else f"<{type(value).__name__}>"
