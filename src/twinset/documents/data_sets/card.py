"""The card of a data set folder: which files belong to a subset and its splits.

The card is README.md. It may begin with YAML that names subsets (``configs``), each with the files of its splits
(``data_files``). A folder with such a card is read as the hub reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from twinset.errors import MissingError, OptionError, SourceError
from twinset.options.checks import shown_names, shown_value
from twinset.wording import with_article

CARD = "README.md"
PATTERN_HINT = "name its files with a pattern to read it without the card"
MOST_BYTES = 2**24
"""The bytes of a card that are looked at."""

Find = Callable[[str, str], Iterable[str]]
"""Returns the files that a pattern matches below a folder; all are relative to the folder of the card."""

_HEADER = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_CONFIGS = re.compile(r"^configs[ \t]*:", re.MULTILINE)
_FIRST, _ALL = "train", "all"  # the split of files that are in none, and of a subset that names only a folder
_DESCRIBING = ("README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json")
_SEPARATORS = ("sep", "delimiter")


@dataclass(frozen=True)
class Subset:
    """A subset of a data set: the patterns of the files of each split, below `folder`; None for all files.

    `separator` is the character between the fields of its CSV, if the card says it.
    """

    name: str
    folder: str
    patterns: tuple[tuple[str, tuple[str, ...]], ...] | None
    default: bool
    separator: str | None = None


def read_card(card: Path, where: str) -> dict[str, Subset]:
    """Read the subsets of a card by name, in its order; empty if there is no card, or none that has any.

    where: the name of the card in messages.
    """
    header = _read_header(card, where)
    if header is None or not _CONFIGS.search(header):
        return {}
    listed = _load(header, where).get("configs")
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise SourceError(f"configs in its YAML are {_shown(listed)}; allowed: a list of subsets", where=where)
    if not any("data_files" in one or "data_dir" in one for one in listed):
        return {}
    subsets = [_subset(one, where) for one in listed]
    return {one.name: one for one in subsets}


def files_by_split(
    card: Path | None, where: str, find: Find, choice: tuple[str | None, str | None], delimiter: str | None
) -> dict[str, str] | None:
    """Return the files of a subset, relative to their folder, each with its split; None if no card names any.

    card, where: the card, None if there is none, and the name of its folder. choice: the subset and the split.
    """
    subsets = {} if card is None else read_card(card, f"{where.rstrip('/')}/{CARD}")
    subset, split = choice
    if not subsets:
        refuse_choice(subset, split, f"{where} has no {CARD} that names subsets")
        return None
    chosen = choose_subset(subsets, subset, where)
    check_separator(chosen, delimiter, where)
    return files_of(chosen, where, find, split)


def choose_subset(subsets: Mapping[str, Subset], name: str | None, where: str) -> Subset:
    """Return the subset of a name; without one the default, or the only one."""
    if name is not None:
        if name not in subsets:
            raise OptionError(
                f"{where}: there is no subset {shown_value(name)}; the card has {shown_names(list(subsets))}"
            )
        return subsets[name]
    defaults = [one for one in subsets.values() if one.default or one.name == "default" or len(subsets) == 1]
    if len(defaults) != 1:
        what = "no default" if not defaults else f"{len(defaults)} defaults"
        raise OptionError(
            f"{where}: the card has the subsets {shown_names(list(subsets))}, and {what}; choose one with --subset, or "
            f"{PATTERN_HINT}"
        )
    return defaults[0]


def refuse_choice(subset: str | None, split: str | None, why: str) -> None:
    """Refuse ``--subset`` and ``--data-split`` where there is nothing to choose from."""
    if subset is not None or split is not None:
        flag, value = ("--subset", subset) if subset is not None else ("--data-split", split)
        raise OptionError(f"{flag} {value} chooses from the folder of a data set, by its card; {why}; leave it out")


def check_separator(subset: Subset, delimiter: str | None, where: str) -> None:
    """Refuse to read CSV with another separator than that of the card."""
    if subset.separator not in (None, ",", delimiter):
        shown = "tab" if subset.separator == "\t" else f"'{subset.separator}'"
        raise OptionError(
            f"{where}: the card separates the fields of its CSV by {shown_value(subset.separator)}; add "
            f"--delimiter {shown}, or {PATTERN_HINT}"
        )


def files_of(subset: Subset, where: str, find: Find, split: str | None) -> dict[str, str]:
    """Return the files of a subset, relative to the folder `where`, each with its split; `split` chooses one.

    A file that several splits name belongs to the first of them.
    """
    patterns = dict(subset.patterns or {_ALL: ("**",)})
    if split is not None and split not in patterns:
        raise OptionError(
            f"{where}: the subset {shown_value(subset.name)} has no split {shown_value(split)}; it has "
            f"{shown_names(list(patterns))}"
        )
    found: dict[str, str] = {}
    for name, globs in patterns.items():
        for pattern in globs:
            try:
                matches = sorted(find(subset.folder, pattern))
            except (ValueError, OSError) as error:
                reason = f"the card names {shown_value(pattern)}, which is no pattern: {error}"
                raise SourceError(reason, where=where) from error
            if not matches:
                raise SourceError(
                    f"the card names {shown_value(pattern)} for the split {shown_value(name)}, but there is no such "
                    f"file; complete the download, or {PATTERN_HINT}",
                    where=where,
                )
            for match in matches:
                found.setdefault(match, name)
    return {match: name for match, name in found.items() if split in (None, name)}


def _read_header(path: Path, where: str) -> str | None:
    """Return the YAML between the first two lines of dashes; None if there is none."""
    try:
        with open(path, "rb") as file:
            head = file.read(MOST_BYTES)
    except (FileNotFoundError, IsADirectoryError):
        return None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=where) from error
    found = _HEADER.match(head.decode("utf-8-sig", "replace"))
    return found[1] if found else None


def _load(header: str, where: str) -> Mapping[str, Any]:
    try:
        import yaml
    except ImportError as error:
        missing = MissingError.of("PyYAML", "cards")
        raise MissingError(f"{where}: this card says which files to read, and {missing}; or {PATTERN_HINT}") from error
    try:
        loaded = yaml.safe_load(header)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 2})" if mark is not None else ""
        what = getattr(error, "problem", None) or type(error).__name__
        raise SourceError(
            f"its YAML cannot be read{line}: {what}; correct it, or {PATTERN_HINT}", where=where
        ) from error
    return loaded if isinstance(loaded, Mapping) else {}


def _subset(given: Mapping[str, Any], where: str) -> Subset:
    name, folder, files = given.get("config_name", "default"), given.get("data_dir"), given.get("data_files")
    if not isinstance(name, str) or not name:
        raise SourceError(f"config_name is {_shown(name)}; allowed: a name", where=where)
    if folder is not None:
        _check_inside(folder, where)
    separators = [given[key] for key in _SEPARATORS if isinstance(given.get(key), str)]
    return Subset(
        name, str(folder or ""), None if files is None else tuple(_splits(files, name, where)),
        given.get("default") is True, separators[0] if separators else None,
    )  # fmt: skip


def _splits(files: Any, subset: str, where: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each split with its patterns; `files` may be a path, a list of paths, or a list of splits."""
    if isinstance(files, list) and any(isinstance(one, Mapping) for one in files):
        listed = [(one.get("split"), one.get("path")) if isinstance(one, Mapping) else (None, one) for one in files]
    else:
        listed = [(_FIRST, files)]
    names = [name for name, _ in listed]
    for name, paths in listed:
        globs: list[Any] = paths if isinstance(paths, list) else [paths]
        if not isinstance(name, str) or not globs or names.count(name) > 1:
            raise SourceError(
                f"data_files of the subset {shown_value(subset)} are {_shown(files)}; allowed: a path, a list of "
                "paths, or a list of splits, each once, with split and path",
                where=where,
            )
        for one in globs:
            _check_inside(one, where, named=True)
        yield name, tuple(globs)


def _check_inside(path: Any, where: str, *, named: bool = False) -> None:
    """Refuse what is no path below the folder; with `named`, the folder itself too, which is no file."""
    inside = isinstance(path, str) and path and "\0" not in path and "://" not in path and not path.startswith("/")
    if not inside or ".." in PurePosixPath(path).parts or (named and not PurePosixPath(path).parts):
        raise SourceError(
            f"the card names {_shown(path)}; allowed: paths and patterns of files in the folder of the card; "
            f"download other files, or {PATTERN_HINT}",
            where=where,
        )


def _shown(value: Any) -> str:
    """Show a value of the card; lists may refer to each other, and would be endless."""
    plain = value is None or isinstance(value, (str, int, float))
    return shown_value(value) if plain else with_article(type(value).__name__)


def files_below(folder: Path, below: str, pattern: str) -> Iterator[str]:
    """Yield the files of a local folder that a pattern matches. They may be links: the hub's cache consists of them."""
    base = folder / below
    for path in base.glob(f"{pattern}/*" if PurePosixPath(pattern).name == "**" else pattern):
        if holds_data(path.relative_to(base).parts, pattern) and path.is_file():
            yield path.relative_to(folder).as_posix()


def holds_data(parts: Sequence[str], pattern: str) -> bool:
    """Whether a file holds data; those that are hidden or describe the data set do if the pattern names them.

    Examples
    --------
    >>> holds_data(["data", "a.csv"], "**"), holds_data([".git", "a.csv"], "**"), holds_data(["config.json"], "*.json")
    (True, False, False)
    """
    named = set(PurePosixPath(pattern).parts)
    return not any(part.startswith((".", "__")) or part in _DESCRIBING for part in parts if part not in named)
