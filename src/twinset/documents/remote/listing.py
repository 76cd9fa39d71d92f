"""What an address names: an object, a folder of objects, or a pattern; found by listing, before anything is fetched."""

from __future__ import annotations

import fnmatch
import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath

from twinset.documents.data_sets.card import CARD, MOST_BYTES, files_by_split, holds_data
from twinset.documents.files import (
    NOT_FOLLOWED,
    NOT_PAGE,
    chosen,
    format_of,
    is_page,
    is_pattern,
    is_plain,
    reads_tables,
    why_no_picture,
    why_no_table,
    why_not_text_by_name,
)
from twinset.documents.own_files import MOST_OF_SUMMARY, may_be_result, why_our_result
from twinset.documents.remote.beginnings import Beginning, fetch_beginnings
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
    splits: dict[str, str] | None = None
    """The split of each object, in the order of the card of the data set, if it has one."""
    skipped: Skipped = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names, in the order in which they are read."""
        return sorted(self.objects) if self.splits is None else list(self.splits)

    def why_not_fetched(self, name: str, options: ReadOptions) -> str | None:
        """Why an object is skipped because of its name; None if it must be fetched."""
        if self.is_folder and self.has_tables(options):
            return why_no_table(name, options)
        if not self.is_folder and not (self.is_pattern and (options.images or is_plain(name))):
            return None
        if options.html and not options.include and not is_page(name):
            return NOT_PAGE
        return why_no_picture(name) if options.images else why_not_text_by_name(name, options)

    def has_tables(self, options: ReadOptions) -> bool:
        """Whether its objects are read as tables."""
        return not self.is_folder or reads_tables(self.names, options)

    def shown(self, name: str) -> str:
        """The address of an object as it is shown."""
        return str(self.objects[name].address)


def find_source(
    given: str, fetcher: Fetcher, options: ReadOptions, choice: tuple[str | None, str | None]
) -> RemoteSource:
    """Find what an address names; refuse one that names nothing. `choice`: a subset and a split of a data set."""
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
    ours = _our_folders(objects, prefix, fetcher)
    if "" in ours:
        raise SourceError(f"this is {ours['']}", where=str(address))
    source = RemoteSource(shown_address(given), prefix, {}, is_folder=True)
    source.splits = _files_of_card(prefix, objects, fetcher, choice, options.delimiter)
    folders = {folder for name in objects for folder in _above(name)}
    for name, one in sorted(objects.items()):
        is_mark = not one.size and name in folders  # it stands for the folder
        if is_mark or _above(name) & ours.keys():
            continue
        if source.splits is None:
            wanted = _is_file(name, one, options, source.skipped)
        else:
            wanted = name in source.splits and chosen(name, options)
        if wanted:
            source.objects[name] = one
    if source.splits is not None:
        ours = {folder: why for folder, why in ours.items() if any(folder in _above(name) for name in source.splits)}
        source.splits = {name: split for name, split in source.splits.items() if name in source.objects}
    source.skipped += [(f"{prefix.below(folder)}/", reason) for folder, reason in ours.items()]
    return source


def _above(name: str) -> set[str]:
    """Return the folders above an object."""
    return {str(folder) for folder in PurePosixPath(name).parents}


def _files_of_card(
    prefix: Address, objects: dict[str, RemoteObject], fetcher: Fetcher, choice: tuple[str | None, str | None],
    delimiter: str | None,
) -> dict[str, str] | None:  # fmt: skip
    """Return the objects that the card of a data set names, each with its split; None for other folders."""
    card = None if CARD not in objects else fetcher.copy(objects[CARD])
    if card is not None:
        fetcher.fetch([(card, [(0, min(MOST_BYTES, card.size))])])
    find = partial(_below, list(objects))
    return files_by_split(None if card is None else card.path, str(prefix), find, choice, delimiter)


def _below(names: Sequence[str], below: str, pattern: str) -> Iterator[str]:
    """Yield the objects of a folder that a pattern of a card matches, as it matches local files."""
    base, parts = PurePosixPath(below).parts, PurePosixPath(pattern).parts
    if any("**" in part and part != "**" for part in parts):
        raise ValueError("'**' can only be an entire path component")
    parts = (*parts, "*") if parts[-1:] == ("**",) else parts
    for name in names:
        above, inside = name.split("/")[: len(base)], name.split("/")[len(base) :]
        if above == list(base) and matches(inside, list(parts)) and holds_data(inside, pattern):
            yield name


def fetch_sources(
    sources: Sequence[RemoteSource], fetcher: Fetcher, options: ReadOptions, *, outlined: bool = False
) -> None:
    """Fetch the objects of all sources at once: whole, or of Parquet files the footers.

    outlined: of other objects, too, no more than what their description needs.
    """
    whole: list[LocalCopy] = []
    footers: list[LocalCopy] = []
    begun: list[Beginning] = []
    for source in sources:
        tables = source.has_tables(options)
        for name in source.names:
            if reason := source.why_not_fetched(name, options):
                source.skipped.append((source.shown(name), reason))
                continue
            copy = source.copies[name] = fetcher.copy(source.objects[name])
            if outlined and options.images:  # of pictures nothing is needed
                continue
            format, codec = format_of(name)
            format = options.format or format
            if not tables or (source.is_pattern and options.format is None and is_plain(name)):
                format = "text"
            beginning = Beginning.of(copy, format, codec) if outlined else None
            if (format, codec) == ("parquet", None):
                footers.append(copy)
            elif beginning is not None:
                begun.append(beginning)
            else:
                whole.append(copy)
    whole += fetch_beginnings(begun, fetcher)
    fetcher.fetch([(copy, None) for copy in whole], "all of ")
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
        if not _above(name) & (ours.keys() - {""}) and not name.endswith("/") and chosen(str(one.address), options):
            source.objects[name] = one
    source.skipped += [(f"{prefix.below(folder)}/", reason) for folder, reason in ours.items() if folder]
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
    inside: dict[str, set[str]] = {}
    for name in objects:
        parts = name.split("/")
        for depth, part in enumerate(parts):
            inside.setdefault("/".join(parts[:depth]), set()).add(part)
    summaries: dict[str, LocalCopy] = {}
    for folder, names in inside.items():
        one = objects.get(f"{folder}/{_SUMMARY}".removeprefix("/")) if may_be_result(names) else None
        if one is not None and (one.size or 0) <= MOST_OF_SUMMARY:
            summaries[folder] = fetcher.copy(one)
    fetcher.fetch([(one, None) for one in summaries.values()])
    reasons = {folder: why_our_result(str(one.path), inside[folder]) for folder, one in summaries.items()}
    return {folder: reason for folder, reason in reasons.items() if reason}
