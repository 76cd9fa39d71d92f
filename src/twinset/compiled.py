"""How kernels are compiled, where the result is kept, and who is told when that takes a while.

Numba's own cache looks at one source file at a time and so misses a change in a kernel that another file calls.
The cache folder of a module is therefore named after a digest of its source and of all kernel sources that it uses:
whoever changes one module compiles that one again, and those that use it.
"""

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config as _numba_config

_F = TypeVar("_F", bound=Callable[..., Any])

_listeners: list[Callable[[], None]] = []
_announced = False


def on_compile(listener: Callable[[], None]) -> None:
    """Call `listener` once, before the first kernel that is not in the cache is compiled."""
    _listeners.append(listener)


_PACKAGE = Path(__file__).parent
_USED = re.compile(rb"^from twinset\.([\w.]*kernels) import", re.MULTILINE)


def _sources(path: Path, found: dict[Path, bytes]) -> dict[Path, bytes]:
    """The source of a module of kernels, and of those that it uses."""
    if path not in found:
        found[path] = path.read_bytes()
        for name in _USED.findall(found[path]):
            _sources(_PACKAGE.joinpath(*name.decode().split(".")).with_suffix(".py"), found)
    return found


def _digest(path: Path) -> str:
    digest = hashlib.sha256(numba.__version__.encode() + Path(__file__).read_bytes())
    for _, source in sorted(_sources(path, {}).items()):
        digest.update(source)
    return digest.hexdigest()[:16]


@cache
def _cache_folder(path: Path) -> Path:
    """For a module of kernels, the first of the usual places that can be written to."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    name = f"twinset/kernels-{_digest(path)}"
    for base in (Path(home).expanduser(), Path(tempfile.gettempdir()) / f"twinset-{os.getuid()}"):
        folder = base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="twinset-kernels-"))


_THIS_PYTHON = f".py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}.nbi"


_cached: dict[Path, set[str]] = {}


def _is_cached(path: Path, function: Callable[..., Any]) -> bool:
    """Whether a kernel of a module is kept, made of this file and for this Python."""
    if path not in _cached:
        # Numba keeps what was made of another copy of the same source apart: only its own word says where ours is.
        uncompiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
        own = Path(uncompiled.stats.cache_path)
        _cached[path] = {file.name.rsplit("-", 1)[0] for file in own.glob(f"*{_THIS_PYTHON}")}
    return f"{function.__module__.rsplit('.', 1)[-1]}.{function.__qualname__}" in _cached[path]


def _announce() -> None:
    global _announced
    if not _announced:
        _announced = True
        for listener in _listeners:
            listener()


def kernel(signature: str) -> Callable[[_F], _F]:
    """Compile for one signature, at once, without the interpreter lock, and keep the result on disk.

    In the signature `read(T)` is a contiguous array of T that may be read-only, as Arrow's buffers are.
    """
    signature = re.sub(r"read\((\w+)\)", r"Array(\1, 1, 'C', readonly=True)", signature)

    def compile_now(function: _F) -> _F:
        path = Path(function.__code__.co_filename)
        setattr(_numba_config, "CACHE_DIR", str(_cache_folder(path)))  # noqa: B010 - Numba's types do not know it
        if not _is_cached(path, function):
            _announce()
        compiled: Any = numba.njit(signature, nogil=True, cache=True, error_model="numpy")(function)
        return cast(_F, compiled)

    return compile_now


def inlined(function: _F) -> _F:
    """A piece of a kernel: compiled into whichever kernel calls it."""
    piece: Any = numba.njit(inline="always", error_model="numpy")(function)
    return cast(_F, piece)
