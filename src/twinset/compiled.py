"""How kernels are compiled, where the result is kept, and who is told when that takes a while.

Numba's own cache looks at one source file at a time and so misses a change in a kernel that another file calls.
The cache folder is therefore named after a digest of every kernel source of the package.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
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


def _sources_digest() -> str:
    package = Path(__file__).parent
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted([Path(__file__), *package.rglob("*kernels*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder() -> Path:
    """The first of the usual places that can be written to."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    name = f"twinset/kernels-{_sources_digest()}"
    for base in (Path(home).expanduser(), Path(tempfile.gettempdir()) / f"twinset-{os.getuid()}"):
        folder = base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="twinset-kernels-"))


_folder = _cache_folder()
setattr(_numba_config, "CACHE_DIR", str(_folder))  # noqa: B010 - Numba's types do not know it
_cached = {path.name.rsplit("-", 1)[0] for path in _folder.rglob("*.nbi")}


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
        if f"{function.__module__.rsplit('.', 1)[-1]}.{function.__qualname__}" not in _cached:
            _announce()
        compiled: Any = numba.njit(signature, nogil=True, cache=True, error_model="numpy")(function)
        return cast(_F, compiled)

    return compile_now


def inlined(function: _F) -> _F:
    """A piece of a kernel: compiled into whichever kernel calls it."""
    piece: Any = numba.njit(inline="always", error_model="numpy")(function)
    return cast(_F, piece)
