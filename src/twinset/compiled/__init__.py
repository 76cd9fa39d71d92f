"""How kernels are compiled, where the result is kept, when it is loaded, and who is told when that takes a while.

Numba's own cache looks at one source file at a time and so misses a change in a kernel that another file calls.
The cache folder of a module is therefore named after a digest of its source and of all kernel sources that it uses:
whoever changes one module compiles that one again, and those that use it. What is not kept is compiled at once, when
its module is imported; what is kept is loaded when it is called for the first time, by whichever thread that is.
"""

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numba
from llvmlite.binding import add_symbol, parse_bitcode
from numba.core import caching as _caching
from numba.core import codegen as _codegen
from numba.core import config as _numba_config
from numba.core.compiler_lock import global_compiler_lock as _one_at_a_time
from numba.core.registry import cpu_target as _cpu

_F = TypeVar("_F", bound=Callable[..., Any])

_own_cache: Any = _caching.FunctionCache  # Numba's types say nothing of these
_Library: Any = _codegen.JITCodeLibrary

_listeners: list[Callable[[], None]] = []
_announced = False


def on_compile(listener: Callable[[], None]) -> None:
    """Call `listener` once, before the first kernel that is not in the cache is compiled."""
    _listeners.append(listener)


_PACKAGE = Path(__file__).parents[1]
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


def _is_cached(function: Callable[..., Any]) -> bool:
    """Whether a kernel of a module is kept, made of this file and for this Python."""
    path = Path(function.__code__.co_filename)
    if path not in _cached:
        with _kept_beside(function):
            # Numba keeps what was made of another copy of the same source apart: only its own word says where ours is.
            own = Path(_own_cache(function).cache_path)
        _cached[path] = {file.name.rsplit("-", 1)[0] for file in own.glob(f"*{_THIS_PYTHON}")}
    return f"{function.__module__.rsplit('.', 1)[-1]}.{function.__qualname__}" in _cached[path]


@contextmanager
def _kept_beside(function: Callable[..., Any]) -> Iterator[None]:
    """Let Numba look for this kernel, and keep it, with the others of its module; what others compile is theirs."""
    settings: Any = _numba_config  # Numba's types do not know it
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(_cache_folder(Path(function.__code__.co_filename)))
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def _announce() -> None:
    global _announced
    if not _announced:
        _announced = True
        for listener in _listeners:
            listener()


_LIGHT = numba.version_info.short <= (0, 68)  # of later ones it is not known that kernels run without the rest


@cache
def _add_symbols() -> None:
    from numba.core.runtime._nrt_python import c_helpers as runtime

    for name, address in runtime.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _MachineCode(_Library):  # type: ignore[misc]
    """A kept kernel as it runs. What it was made of is looked at when it is compiled into another."""

    @classmethod
    def loaded(cls, kept: tuple[str, str, tuple[bytes, bytes]]) -> Any:
        name, _, (code, source) = kept
        self: Any = cls(_cpu.target_context.codegen(), name)
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()
        self._source = source
        return self

    def get_pointer_to_function(self, name: str) -> int:
        address: int = self._codegen._engine.get_function_address(name)
        return address

    def _get_module_for_linking(self) -> Any:
        self._module = getattr(self, "_module", None) or parse_bitcode(self._source)
        return self._module


@contextmanager
def _lightly() -> Iterator[None]:
    """Let a kept kernel be loaded without all that Numba could compile: a fifth of the time until a command begins."""
    context = _cpu.target_context

    def for_running() -> None:
        del vars(context)["refresh"]  # where a kernel has to be compiled after all, it is asked again, and loads all
        _add_symbols()

    with _one_at_a_time:
        try:
            if _LIGHT:
                vars(context)["refresh"] = for_running
                vars(context.codegen())["unserialize_library"] = _MachineCode.loaded
            yield
        finally:
            vars(context).pop("refresh", None)
            vars(context.codegen()).pop("unserialize_library", None)


class _Kept:
    """A kernel that is in the cache, and is loaded when it is first called or compiled into another."""

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._signature = signature
        self._loaded: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return (self._loaded or self._load())(*arguments, **named)

    def __reduce__(self) -> str:
        """Of a kernel in a file there is its name, as of any function."""
        return self.py_func.__qualname__

    @property
    def _numba_type_(self) -> Any:
        """What it is to Numba when another kernel calls it."""
        return (self._loaded or self._load())._numba_type_

    def _load(self) -> Any:
        with _lightly():
            self._loaded = self._loaded or _compiled(self.py_func, self._signature)
        return self._loaded


def _compiled(function: Callable[..., Any], signature: str) -> Any:
    """Take a kernel from the cache, or compile it and put it there."""
    with _kept_beside(function):
        return numba.njit(signature, nogil=True, cache=True, error_model="numpy")(function)


def kernel(signature: str) -> Callable[[_F], _F]:
    """Compile for one signature, without the interpreter lock, and keep the result on disk.

    In the signature `read(T)` is a contiguous array of T that may be read-only, as Arrow's buffers are.
    """
    signature = re.sub(r"read\((\w+)\)", r"Array(\1, 1, 'C', readonly=True)", signature)

    def compile_now(function: _F) -> _F:
        with _one_at_a_time:
            if _is_cached(function):
                return cast(_F, _Kept(function, signature))
            _announce()
            return cast(_F, _compiled(function, signature))

    return compile_now


class _Piece:
    """A piece of a kernel, which Numba is told of when a kernel is compiled."""

    targetoptions: ClassVar[Any] = {"inline": "always", "error_model": "numpy"}

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function

    @cached_property
    def _made(self) -> Any:
        return numba.njit(**self.targetoptions)(self.py_func)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._made(*arguments, **named)

    @property
    def _numba_type_(self) -> Any:
        return self._made._numba_type_


def inlined(function: _F) -> _F:
    """A piece of a kernel: compiled into whichever kernel calls it."""
    return cast(_F, _Piece(function))
