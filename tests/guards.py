"""Guard bytes around the arrays that kernels write to.

A compiled kernel that writes beyond an array damages whatever lies there, and most often nobody notices. Here every
writable array is copied into the midst of a larger one, filled with a pattern, before a kernel is called; afterwards
the pattern must be whole. What a kernel reads beyond an array is the pattern, too, so that its answer is wrong.
The tables of all code points, a megabyte each, are copied once: kernels must not write to them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from twinset import unicode
from twinset.compiled import Kernel

PATTERN = 0xA5
GUARD = 256  # bytes on either side


class _Buffers(threading.local):
    """Buffers of a thread for reuse: fresh memory costs several times as much as the copies."""

    def __init__(self) -> None:
        self.free: dict[int, list[npt.NDArray[np.uint8]]] = {}

    def take(self, size: int) -> npt.NDArray[np.uint8]:
        """A buffer of at least `size` bytes, a power of two."""
        room = 1 << (size - 1).bit_length()
        free = self.free.setdefault(room, [])
        return free.pop() if free else np.empty(room, np.uint8)

    def give(self, buffer: npt.NDArray[np.uint8]) -> None:
        self.free[len(buffer)].append(buffer)


_buffers = _Buffers()


class Guarded:
    """A copy of an array between guard bytes."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.original = array
        self._buffers = [_buffers.take(array.nbytes + 2 * GUARD) for _ in range(2)]
        self._around, before = (buffer[: array.nbytes + 2 * GUARD] for buffer in self._buffers)
        self._around[:GUARD] = self._around[GUARD + array.nbytes :] = PATTERN
        inside = slice(GUARD, GUARD + array.nbytes)
        self.array, self.before = (one[inside].view(array.dtype).reshape(array.shape) for one in (self._around, before))
        self.before[...] = array
        self.array[...] = self.before

    def check(self) -> None:
        """Fail if something was written beyond the array."""
        end = len(self._around) - GUARD
        touched = [*np.flatnonzero(self._around[:GUARD] != PATTERN) - GUARD]
        touched += [*np.flatnonzero(self._around[end:] != PATTERN) + self.array.nbytes]
        about = f"{self.array.dtype} {self.array.shape}"
        assert not touched, f"bytes {touched} beyond an array of {self.array.nbytes} bytes were written ({about})"

    def hand_back(self) -> None:
        """Write what has changed to the original: other threads may write to other places of it meanwhile.

        Changes are those of bits, since 0.0 equals -0.0, which an array that is not filled yet may hold.
        """
        bits = f"u{self.array.itemsize}"
        np.copyto(self.original, self.array, where=self.array.view(bits) != self.before.view(bits))

    def release(self) -> None:
        """Let other calls use the buffers."""
        for buffer in self._buffers:
            _buffers.give(buffer)


class GuardedTable(Guarded):
    """A copy of a table that kernels only read: one copy for all calls."""

    def hand_back(self) -> None:
        """Fail if the table was written to."""
        assert np.array_equal(self.array, self.before), f"a table was written to ({self.array.shape})"

    def release(self) -> None:
        """Keep the buffers."""


copies: dict[int, GuardedTable] = {}


def tables() -> dict[int, GuardedTable]:
    """The copies of the tables, by table; of those that are in use, since two threads may make the tables at once."""
    both = {id(table): table for table in (unicode.classes(), unicode.combining())}
    if copies.keys() != both.keys():
        copies.clear()
        copies.update({key: GuardedTable(table) for key, table in both.items()})
    return copies


def is_guardable(value: object) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iufb":
        return False
    return value.flags.writeable and value.flags.c_contiguous


def call_guarded(call: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call a kernel with guards around its writable arrays; arrays that share memory are left as they are."""
    arrays = [one for one in (*arguments, *named.values()) if isinstance(one, np.ndarray)]
    shared = {id(one) for pair in combinations(arrays, 2) if np.may_share_memory(*pair) for one in pair}
    chosen = [one for one in arrays if is_guardable(one) and id(one) not in shared]
    guarded = {id(one): tables().get(id(one)) or Guarded(one) for one in chosen}

    def given(value: Any) -> Any:
        return guarded[id(value)].array if id(value) in guarded else value

    result = call(*map(given, arguments), **{name: given(value) for name, value in named.items()})
    for one in guarded.values():
        one.check()
        one.hand_back()
        one.release()
    return result


@contextmanager
def guarding() -> Iterator[None]:
    """Guard the arrays of every kernel that is called from Python."""
    really = Kernel.__call__

    def call(self: Kernel, *arguments: Any, **named: Any) -> Any:
        return call_guarded(lambda *some, **more: really(self, *some, **more), arguments, named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", call)
        yield
