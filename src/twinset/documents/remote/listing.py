"""What an address names: an object, a folder of objects, or a pattern; found by listing, before anything is fetched."""

from __future__ import annotations

import fnmatch
import glob
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from twinset.documents.files import NOT_FOLLOWED, chosen, is_pattern
from twinset.documents.own_files import why_our_result
from twinset.documents.remote.copies import LocalCopy
from twinset.documents.remote.fetch import Fetcher
from twinset.documents.remote.stores import RemoteObject
from twinset.errors import SourceError
from twinset.options import ReadOptions
from twinset.system.addresses import Address, shown_address

_SUMMARY = "summary.json"

Skipped = list[tuple[str, str]]


@dataclass
class RemoteSource:
    """The objects that an address names, by the part of their key below `address`; their copies once fetched.

    `is_folder`: all objects below a prefix; otherwise one object, or those that match a pattern.
    """

    given: str
    address: Address
    objects: dict[str, RemoteObject]
    is_folder: bool = False
    is_pattern: bool = False
    copies: dict[str, LocalCopy] = field(default_factory=dict)
    parquet: set[str] = field(default_factory=set)
    """The names of objects of which only the footer is fetched at first."""
    skipped: Skipped = field(default_factory=list)
    left_out: dict[str, RemoteObject] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names, in the order in which they are read."""
        return sorted(self.objects)

    def leave_out(self, why: Callable[[str], str | None]) -> None:
        """Skip objects for a reason that their names give."""
        reasons = {name: reason for name in self.names if (reason := why(name))}
        self.skipped += [(self.shown(name), reason) for name, reason in reasons.items()]
        self.left_out = {name: self.objects[name] for name in reasons}

    def shown(self, name: str) -> str:
        """The address of an object as it is shown."""
        return str(self.objects[name].address)


def find_source(given: str, fetcher: Fetcher, options: ReadOptions) -> RemoteSource:
    """Find what an address names; refuse one that names nothing."""
    address = Address.of(given)
    if address.key and not address.key.endswith("/"):
        one = fetcher.find(address)
        if one is not None:
            return RemoteSource(shown_address(given), address, {address.name: one})
    if is_pattern(address.key) and address.store != "http":
        return _matching(address, fetcher, options)
    prefix = address.at(f"{address.key.rstrip('/')}/" if address.key.strip("/") else "")
    objects = {one.address.key[len(prefix.key) :]: one for one in fetcher.list(prefix)}
    if not objects:
        raise SourceError("there is no such object, and no folder of objects with this name", where=str(address))
    source = RemoteSource(shown_address(given), prefix, {}, is_folder=True)
    ours = _our_folders(objects, prefix, fetcher)
    if "" in ours:
        raise SourceError(f"this is {ours['']}", where=str(address))
    folders = {str(folder) for name in objects for folder in PurePosixPath(name).parents}
    for name, one in sorted(objects.items()):
        above = {str(folder) for folder in PurePosixPath(name).parents} & ours.keys()
        is_mark = not one.size and name in folders  # it stands for the folder
        if not above and not is_mark and _is_file(name, one, options, source.skipped):
            source.objects[name] = one
    source.skipped += [(str(prefix.below(folder)), reason) for folder, reason in ours.items()]
    return source


def fetch_sources(sources: Sequence[RemoteSource], fetcher: Fetcher) -> None:
    """Fetch the objects of all sources at once: whole, or of Parquet files the footers."""
    whole: list[tuple[LocalCopy, None]] = []
    footers: list[LocalCopy] = []
    for source in sources:
        for name in source.names:
            if name not in source.left_out:
                copy = source.copies[name] = fetcher.copy(source.objects[name])
                if name in source.parquet:
                    footers.append(copy)
                else:
                    whole.append((copy, None))
    fetcher.fetch(whole, "all of ")
    fetcher.fetch_footers(footers)


def _matching(pattern: Address, fetcher: Fetcher, options: ReadOptions) -> RemoteSource:
    """Find the objects that match a pattern, as a pattern of local paths matches."""
    folders = pattern.key.split("/")
    fixed = next(at for at, one in enumerate(folders) if glob.has_magic(one))
    prefix = pattern.at("".join(f"{one}/" for one in folders[:fixed]))
    start = len(prefix.key)
    matched = {one.address.key[start:]: one for one in fetcher.list(prefix)}
    matched = {name: one for name, one in matched.items() if matches(name.split("/"), folders[fixed:])}
    if not matched:
        raise SourceError("no object matches this pattern", where=str(pattern))
    source = RemoteSource(str(pattern), prefix, {}, is_pattern=True)
    ours = _our_folders(matched, prefix, fetcher)
    for name, one in sorted(matched.items()):
        above = {str(folder) for folder in PurePosixPath(name).parents} & ours.keys() - {""}
        if not above and not name.endswith("/") and chosen(str(one.address), options):
            source.objects[name] = one
    source.skipped += [(str(prefix.below(folder)), reason) for folder, reason in ours.items() if folder]
    return source


def matches(names: list[str], patterns: list[str]) -> bool:
    """Whether the components of a key match those of a pattern; a hidden name is matched by a hidden pattern only.

    Examples
    --------
    >>> matches(["a", "b", "c.csv"], ["**", "*.csv"]), matches(["a", "c.csv"], ["*.csv"]), matches([".a"], ["*"])
    (True, False, False)
    """
    if not patterns:
        return not names
    if patterns[0] == "**":
        visible = bool(names) and not names[0].startswith(".")
        if len(patterns) == 1:
            return all(not name.startswith(".") for name in names)
        return matches(names, patterns[1:]) or (visible and matches(names[1:], patterns))
    if not names or (names[0].startswith(".") and not patterns[0].startswith(".")):
        return False
    return fnmatch.fnmatchcase(names[0], patterns[0]) and matches(names[1:], patterns[1:])


def _is_file(name: str, one: RemoteObject, options: ReadOptions, skipped: Skipped) -> bool:
    """Whether an object of a folder is read; hidden ones are listed as skipped."""
    if name.endswith("/") or not name:  # a mark that stands for an empty folder
        return False
    if any(part.startswith(".") for part in name.split("/")):
        if chosen(name, options):
            skipped.append((str(one.address), NOT_FOLLOWED[0]))
        return False
    return chosen(name, options)


def _our_folders(objects: dict[str, RemoteObject], prefix: Address, fetcher: Fetcher) -> dict[str, str]:
    """Return the folders that Twinset wrote, each with the reason for which it is skipped."""
    ours: dict[str, str] = {}
    for folder in _with_summary(objects):
        below = f"{folder}/" if folder else ""
        inside = {name[len(below) :].partition("/")[0] for name in objects if name.startswith(below)}
        summary = fetcher.copy(objects[f"{below}{_SUMMARY}"])
        fetcher.fetch([(summary, None)])
        reason = why_our_result(str(summary.path), list(inside))
        if reason:
            ours[folder] = reason
    return ours


def _with_summary(objects: dict[str, RemoteObject]) -> Iterator[str]:
    for name in objects:
        folder, _, last = name.rpartition("/")
        if last == _SUMMARY:
            yield folder
