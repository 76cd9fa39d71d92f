"""Compile kernels with Numba, cache them on disk and load them when they are first called.

A kernel that is not in the cache is compiled when its module is imported, so that the wait comes at the start and is
announced. A cached kernel is loaded at its first call: a command loads only the kernels that it calls.

Only documented names of Numba are used: `njit` with a signature, `nogil`, `cache`, `inline` and `error_model`; `typeof`
and `extending.typeof_impl`; the settings `config.CACHE_DIR` and `config.DISABLE_JIT`, which are the environment
variables of the same names. `cache.py` says where compiled kernels are stored.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.extending import typeof_impl

from twinset.compiled.cache import KernelCache, open_cache
from twinset.system import compile_time

__all__ = ["inlined", "kernel", "on_compile"]

_F = TypeVar("_F", bound=Callable[..., Any])
_lock = threading.RLock()  # `config.CACHE_DIR` is global to the process; reentrant, since kernels call kernels
_listeners: list[Callable[[], None]] = []
_announced = False


def on_compile(listener: Callable[[], None]) -> None:
    """Call `listener` once, before the first kernel that is not in the cache is compiled."""
    _listeners.append(listener)


def kernel(signature: str) -> Callable[[_F], _F]:
    """Compile a function for one signature, without the interpreter lock, and cache the result on disk.

    In the signature `read(T)` is a contiguous array of T that may be read-only, as Arrow's buffers are.
    """
    signature = re.sub(r"read\((\w+)\)", r"Array(\1, 1, 'C', readonly=True)", signature)

    def decorate(function: _F) -> _F:
        if _settings().DISABLE_JIT:
            return function
        compiled = Kernel(function, signature)
        if not compiled.is_cached:
            compiled.load()
        return cast(_F, compiled)

    return decorate


def inlined(function: _F) -> _F:
    """Mark a part of a kernel: it is compiled into each kernel that calls it."""
    return cast(_F, numba.njit(inline="always", error_model="numpy")(function))


class Kernel:
    """A kernel that is loaded when it is first called, or when a kernel that calls it is compiled."""

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._signature = signature
        self._cache = open_cache(Path(function.__code__.co_filename))
        self._loaded: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return (self._loaded or self.load())(*arguments, **named)

    def __reduce__(self) -> str:
        """Serialize the kernel by name, like any function of a module."""
        return self.py_func.__qualname__

    @property
    def is_cached(self) -> bool:
        """Whether the kernel is cached, so that its first call does not wait for the compiler."""
        return self._cache is not None and self.py_func.__qualname__ in self._cache.names

    def load(self) -> Any:
        """Load the kernel from the cache; compile it if it is not cached."""
        with _lock:
            if self._loaded is None:
                self._loaded = self._compiled() if self.is_cached else self._compile_once()
        return self._loaded

    def _compile_once(self) -> Any:
        """Compile the kernel, unless another process has compiled it by the time that it is our turn."""
        _announce()
        if self._cache is None:
            return self._compile()
        with self._cache.compiling():
            if self.is_cached:
                return self._compiled()
            compiled = self._compile()
            self._cache.add(self.py_func.__qualname__)
            return compiled

    def _compile(self) -> Any:
        with compile_time.recorded():
            return self._compiled()

    def _compiled(self) -> Any:
        """Return the machine code; Numba takes it from its cache if it is there."""
        with _caching_in(self._cache):
            compiler = numba.njit(self._signature, nogil=True, cache=self._cache is not None, error_model="numpy")
            return compiler(self.py_func)


@typeof_impl.register(Kernel)
def _type_of(value: Kernel, context: object) -> Any:
    """Return the Numba type of a kernel, for kernels that call it."""
    type_of: Any = numba.typeof  # Numba's type hints lack it
    return type_of(value.load())


@contextmanager
def _caching_in(cache: KernelCache | None) -> Iterator[None]:
    """Set Numba's cache folder while a kernel is decorated: Numba reads the setting then, and only then."""
    settings = _settings()
    before = settings.CACHE_DIR
    if cache is not None:
        settings.CACHE_DIR = str(cache.folder)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def _settings() -> Any:
    return numba.config  # Numba's type hints lack its attributes


def _announce() -> None:
    global _announced
    if not _announced:
        _announced = True
        for listener in _listeners:
            listener()
