"""The cache folder of compiled kernels.

Numba checks one source file only, and so misses changes to kernels in other files. Each module of kernels therefore has
its own folder, named by a digest of everything that determines its machine code: its source, the sources of the kernels
it uses, the versions, the processor and Numba's settings.

Numba unpickles files of its cache: anyone who can write there can run code. The folder is used only if it
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
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

from twinset.errors import CacheWarning
from twinset.system.locks import held

_NAME = "twinset-kernels"
_PACKAGE = Path(__file__).parents[1]
_USED = re.compile(rb"^from twinset\.([\w.]*kernels) import", re.MULTILINE)
_MARK = ".cached"
_LOCK = ".lock"


class KernelCache:
    """The cache folder of one module of kernels.

    Only Numba knows its files; an empty marker file for each kernel says that Numba has cached it. A lost marker, or a
    marker whose cache file is lost, costs one compilation. Processes can share a folder: Numba moves whole files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = self._cached()
        """The kernels that are cached."""
        self._depth = 0

    def _cached(self) -> set[str]:
        return {name.removesuffix(_MARK) for name in os.listdir(self.folder) if name.endswith(_MARK)}

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Let one process at a time compile kernels of this module; those that waited find them cached.

        Reentrant, since kernels call kernels; the caller holds the lock of the process.
        """
        with nullcontext() if self._depth else held(self.folder / _LOCK):
            self._depth += 1
            try:
                with suppress(OSError):
                    self.names |= self._cached()
                yield
            finally:
                self._depth -= 1

    def add(self, name: str) -> None:
        """Note that a kernel is cached."""
        if name not in self.names:
            self.names.add(name)
            with suppress(OSError):  # on a full disk; the next process compiles it again
                (self.folder / f"{name}{_MARK}").touch(mode=0o600)


@cache
def open_cache(path: Path) -> KernelCache | None:
    """Open the cache of a module of kernels; None if no folder is usable."""
    root = cache_folder()
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
    """Return a digest of everything that determines the machine code of a module of kernels."""
    found = hashlib.sha256((_PACKAGE / "compiled" / "__init__.py").read_bytes())
    for _, source in sorted(sources(path, {}).items()):
        found.update(source)
    found.update(repr((os.fspath(path), _machine())).encode())
    return found.hexdigest()[:16]


def sources(path: Path, found: dict[Path, bytes]) -> dict[Path, bytes]:
    """Read the source of a module of kernels and of the modules that it uses."""
    if path not in found:
        found[path] = path.read_bytes()
        for name in _USED.findall(found[path]):
            sources(_PACKAGE.joinpath(*name.decode().split(".")).with_suffix(".py"), found)
    return found


@cache
def _machine() -> tuple[object, ...]:
    """Return versions, processor and Numba's settings, which affect the machine code."""
    settings: Any = numba.config  # Numba's type hints lack its attributes
    variables = sorted(
        (name, value) for name, value in os.environ.items() if name.startswith("NUMBA_") and name != "NUMBA_CACHE_DIR"
    )
    # A processor that is named, as in a container image, makes the cache valid on every machine that has its features.
    name, features = settings.CPU_NAME, settings.CPU_FEATURES
    if name is None:
        name = llvm.get_host_cpu_name()
    if features is None:
        features = sorted(llvm.get_host_cpu_features().items())
    processor = name, features
    return numba.__version__, sys.version, sys.implementation.cache_tag, processor, variables, settings.BOUNDSCHECK


@cache
def cache_folder() -> Path | None:
    """Return the user's cache folder, made if needed; None, with a warning, if unusable."""
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
    """Make a folder and its missing parents for the user only; raise `OSError` if others have access."""
    for missing in reversed([one for one in (folder, *folder.parents) if not os.path.lexists(one)]):
        with suppress(FileExistsError):  # made by another process; it is checked below
            os.mkdir(missing, 0o700)
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode):
        raise OSError("it is a link or a file, not a folder")
    if info.st_uid != os.geteuid():
        raise OSError("it belongs to another user")
    if info.st_mode & 0o077:
        raise OSError(f"other users have permissions on it (mode {stat.S_IMODE(info.st_mode):04o}, not 0700)")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise OSError("it cannot be written to")
    for parent in folder.parents:
        mode = os.lstat(parent).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise OSError(f"any user can replace it, because {parent} is writable by all")


_warned = False


def _warn(folder: Path, reason: str) -> None:
    """Warn once per process: the reason is the same for all modules."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled kernels are not cached, so every start waits for the compiler: {folder}: {reason}; "
            "fix that, or set NUMBA_CACHE_DIR to a folder of your own",
            CacheWarning,
            stacklevel=2,
        )
