"""The folder in which compiled kernels are cached.

Numba checks one source file only and so misses a change in a kernel that another file calls. Each module of kernels
therefore has a folder of its own, named by a digest of everything that decides its machine code: its source, the
sources of the kernels it uses, the versions, the processor and Numba's settings.

Numba unpickles what it finds in its cache: whoever can write there can run code. The folder is used only if it
belongs to the user and nobody else has any permission on it. Otherwise kernels are compiled in every process, and a
`CacheWarning` says why.
"""

import hashlib
import os
import pwd
import re
import stat
import sys
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

from twinset.errors import CacheWarning

_NAME = "twinset-kernels"
_PACKAGE = Path(__file__).parents[1]
_USED = re.compile(rb"^from twinset\.([\w.]*kernels) import", re.MULTILINE)
_MARK = ".cached"


class KernelCache:
    """The cache folder of one module of kernels.

    Numba alone knows its files; an empty file for each kernel says that Numba has cached it. One that is lost, or left
    without Numba's file, costs a compilation and nothing else. Processes may work in one folder at the same time:
    Numba moves whole files into place.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = {name.removesuffix(_MARK) for name in os.listdir(folder) if name.endswith(_MARK)}
        """The kernels that are cached."""

    def add(self, name: str) -> None:
        """Note that a kernel is cached."""
        if name not in self.names:
            self.names.add(name)
            with suppress(OSError):  # on a full disk; the next process compiles it again
                (self.folder / f"{name}{_MARK}").touch(mode=0o600)


@cache
def open_cache(path: Path) -> KernelCache | None:
    """Open the cache of a module of kernels; None where there is no folder that may be used."""
    root = _root()
    if root is None:
        return None
    folder = root / digest(path)
    try:
        _make_private(folder)
        return KernelCache(folder)
    except OSError as error:
        _warn(folder, error.strerror or str(error))
        return None


def digest(path: Path) -> str:
    """Name everything that decides the machine code of a module of kernels."""
    found = hashlib.sha256((_PACKAGE / "compiled" / "__init__.py").read_bytes())
    for _, source in sorted(sources(path, {}).items()):
        found.update(source)
    found.update(repr((os.fspath(path), _machine())).encode())
    return found.hexdigest()[:16]


def sources(path: Path, found: dict[Path, bytes]) -> dict[Path, bytes]:
    """Read the source of a module of kernels and of those that it uses."""
    if path not in found:
        found[path] = path.read_bytes()
        for name in _USED.findall(found[path]):
            sources(_PACKAGE.joinpath(*name.decode().split(".")).with_suffix(".py"), found)
    return found


@cache
def _machine() -> tuple[object, ...]:
    """Give versions, processor and Numba's settings: bounds checks, for one, are compiled into a kernel."""
    settings: Any = numba.config  # Numba's types do not know its attributes
    given = sorted(
        (name, value) for name, value in os.environ.items() if name.startswith("NUMBA_") and name != "NUMBA_CACHE_DIR"
    )
    processor = llvm.get_host_cpu_name(), sorted(llvm.get_host_cpu_features().items())
    return numba.__version__, sys.version, sys.implementation.cache_tag, processor, given, settings.BOUNDSCHECK


@cache
def _root() -> Path | None:
    """Give the user's folder for the kernels of all modules, made if need be; None, with a warning, if unusable."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or _home_cache()
    if base is None:
        _warn(Path("~/.cache"), "there is no home folder")
        return None
    folder = Path(os.path.realpath(base)) / _NAME
    try:
        _make_private(folder)
    except OSError as error:
        _warn(folder, error.strerror or str(error))
        return None
    return folder


def _home_cache() -> str | None:
    home = os.environ.get("HOME")
    if not home:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            return None
    return os.path.join(home, ".cache")


def _make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for the user alone; raise `OSError` if others may enter."""
    for missing in reversed([one for one in (folder, *folder.parents) if not os.path.lexists(one)]):
        with suppress(FileExistsError):  # made by another process just now; it is checked below
            os.mkdir(missing, 0o700)
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode):
        raise OSError("it is a link or a file, not a folder")
    if about.st_uid != os.geteuid():
        raise OSError("it belongs to another user")
    if about.st_mode & 0o077:
        raise OSError(f"other users have permissions on it (mode {stat.S_IMODE(about.st_mode):04o}, not 0700)")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise OSError("it cannot be written to")
    for above in folder.parents:
        mode = os.lstat(above).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise OSError(f"every user may replace it, since {above} is open to all")


_warned = False


def _warn(folder: Path, reason: str) -> None:
    """Warn once in a process: what one module meets, all do."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled kernels are not cached, and every start waits for the compiler: {folder}: {reason}; "
            "correct that, or name a folder of your own with NUMBA_CACHE_DIR",
            CacheWarning,
            stacklevel=2,
        )
