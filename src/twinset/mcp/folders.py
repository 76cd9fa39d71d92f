"""The folders that a server may read: names of requests become paths, and all others are refused.

A name begins with the name of a folder, as in ``data/news.twinset``. Symbolic links are followed as long as they stay
within the folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from twinset.documents.own_files import is_index, is_result
from twinset.errors import OptionError
from twinset.mcp.answers import readable
from twinset.options.checks import shown_value
from twinset.options.place import result_folder
from twinset.wording import either

_LONGEST = 4096
_MOST_VISITED = 20_000
_BESIDE_INDEX = ("-wal", "-shm", "-lock", "-journal")


class Folders:
    """The folders of a server, by name."""

    def __init__(self, given: Sequence[str]) -> None:
        self.by_name: dict[str, Path] = {}
        self._prefixes: dict[str, str] = {}
        for one in given:
            path = Path(os.path.realpath(one))
            if not path.is_dir():
                raise OptionError(f"{one} is not a folder; name folders that have indexes and results")
            if not path.name:
                raise OptionError(f"{one} is the whole file system; name a folder within it")
            if self.by_name.setdefault(path.name, path) != path:
                raise OptionError(f"two folders have the name {path.name!r}; name a folder above both")
            self._prefixes |= {f"{spelled}/": f"{path.name}/" for spelled in (path, os.path.abspath(one))}
        self._prefixes = dict(sorted(self._prefixes.items(), key=lambda prefix: -len(prefix[0])))

    def __str__(self) -> str:
        return either([f"{name}/" for name in self.by_name])

    def resolve(self, what: str, name: object) -> Path:
        """Return the real path of a name; raise `OptionError` if it is not one within the folders."""
        parts = self._parts(what, name)
        path = Path(os.path.realpath(self.by_name[parts[0]].joinpath(*parts[1:])))
        if not self.contain(path):
            raise OptionError(
                f"{what} is {shown_value(name)}, a symbolic link that leads out of the folders of this server"
            )
        if not os.path.lexists(path):
            raise OptionError(f"{what} is {shown_value(name)}, but there is no such file; {_HINT}")
        return path

    def _parts(self, what: str, name: object) -> list[str]:
        """Return the parts of a name, or refuse it."""
        if not isinstance(name, str) or not name.strip():
            raise OptionError(f"{what} is {shown_value(name)}; allowed: a name within {self}; {_HINT}")
        reason = ""
        if "://" in name:
            reason = "a URL"
        elif "\0" in name:
            reason = "a name with a NUL character"
        elif os.path.isabs(name):
            reason = "an absolute path"
        elif os.pardir in name.split("/"):
            reason = "a path with .."
        elif len(name) > _LONGEST:
            reason = "too long"
        elif name.encode("utf-8", "ignore").decode() != name:
            reason = "no valid text"
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if not reason and (not parts or parts[0] not in self.by_name):
            reason = "not in the folders of this server"
        if reason:
            raise OptionError(f"{what} is {shown_value(name)}, {reason}; allowed: a name within {self}; {_HINT}")
        return parts

    def contain(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path, after following links, is one of the folders or within one."""
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(root) for root in self.by_name.values())

    def shown(self, path: Path) -> str:
        """Return the name of a path within the folders."""
        for name, root in self.by_name.items():
            if path.is_relative_to(root):
                return readable(Path(name, path.relative_to(root)).as_posix())
        return readable(path.name)

    def named(self, message: str) -> str:
        """Replace the paths of the folders in a message by their names."""
        for prefix, name in self._prefixes.items():
            message = message.replace(prefix, name)
        return message

    def named_id(self, id: str) -> str:
        """Return an id as it is shown: one that begins with the path of a folder begins with its name instead."""
        prefix = next((one for one in self._prefixes if id.startswith(one)), "")
        return self._prefixes.get(prefix, "") + id.removeprefix(prefix)

    def stored_ids(self, id: str) -> list[str]:
        """Return the ids that are shown like this: itself, and those that begin with the path of a folder."""
        names = self._prefixes.items()
        return [id, *(f"{prefix}{id.removeprefix(name)}" for prefix, name in names if id.startswith(name))]

    def named_path(self, path: str) -> str:
        """Return a path of a summary as it is shown: of an absolute one elsewhere, only the last part."""
        named = self.named_id(path)
        return f"…/{Path(named).name}" if os.path.isabs(named) else named

    def index(self, name: object) -> Path:
        """Return the path of an index."""
        path = self.resolve("index", name)
        if not path.is_file() or not is_index(str(path)):
            raise OptionError(f"index is {shown_value(name)}, which is not an index; {_HINT}")
        self.check_index(path)
        return path

    def check_index(self, path: Path) -> None:
        """Refuse an index with a link beside it, which the database would follow."""
        if linked := next((one for one in beside_index(path) if one.is_symlink()), None):
            name = shown_value(self.shown(path))
            raise OptionError(f"index is {name}, but {linked.name} beside it is a symbolic link")

    def result(self, name: object) -> Path:
        """Return the folder of a result; the file of kept rows stands for the folder beside it."""
        path = result_folder(self.resolve("result", name))
        if not path.is_dir() or not is_result(str(path)):
            raise OptionError(f"result is {shown_value(name)}, which is not a result; {_HINT}")
        self.check_result(path)
        return path

    def check_result(self, path: Path) -> None:
        """Refuse a result with a link that leads out of the folders."""
        for entry in (*os.scandir(path), *_scanned(path / "sources")):
            if not self.contain(entry.path):
                raise OptionError(
                    f"result is {shown_value(self.shown(path))}, and {entry.name} in it is a symbolic link that leads "
                    "out of the folders of this server"
                )

    def found(self, below: Path | None = None) -> Iterator[tuple[str, Path]]:
        """Yield ``index`` or ``result``, and the path of each, in order; links and hidden files are left out."""
        visited = 0
        waiting = [below] if below is not None else [*reversed(self.by_name.values())]
        seen: set[Path] = set()
        while waiting:
            folder = waiting.pop()
            if folder in seen:
                continue
            seen.add(folder)
            if is_result(str(folder)):
                yield "result", folder
                continue
            entries = sorted(_scanned(folder), key=lambda entry: entry.name)
            visited += len(entries)
            if visited > _MOST_VISITED:
                raise OptionError(
                    f"there are more than {_MOST_VISITED:,} files in {self.shown(below) if below else self}; list one "
                    "of the folders in it"
                )
            entries = [entry for entry in entries if not entry.is_symlink() and not entry.name.startswith(".")]
            waiting += [Path(entry.path) for entry in reversed(entries) if entry.is_dir()]
            yield from (("index", Path(entry.path)) for entry in entries if entry.is_file() and is_index(entry.path))


_HINT = "list_indexes_and_results has the names"


def beside_index(path: Path) -> list[Path]:
    """The files beside an index that a database may open."""
    return [Path(f"{path}{ending}") for ending in _BESIDE_INDEX]


def _scanned(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder; none where it cannot be read."""
    try:
        return list(os.scandir(folder))
    except OSError:
        return []
