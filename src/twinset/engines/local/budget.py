"""How much memory each thing may take, out of what the run was given."""

import ctypes
import os
import resource
import sys
from dataclasses import dataclass

import pyarrow as pa

_IN_HAND = 3  # a batch as it came, decoded and shingled
_LEAST_BATCH = 1 << 16
_BYTES_A_DOCUMENT = 64  # 33 of what was found when it was read, 20 of its copies, the rest of its cluster


def resident_bytes() -> int:
    """Memory this process holds now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 200 * 2**20  # not Linux: about what Python, Arrow and the compiled kernels take


def peak_bytes() -> int:
    """The most memory this process has held."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, ValueError, StopIteration):
        # Elsewhere this must do; on Linux it would count what the process held that started this one.
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most * (1 if sys.platform == "darwin" else 1024)


def give_back() -> None:
    """Hand back memory that was let go of: allocators keep it, and what comes next reckons with it."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc; others give back by themselves, or never
    if trim is not None:
        trim(0)


def batch_within(asked: int, total: int, threads: int) -> int:
    """A batch as asked for, or the largest power of two of which an eighth of `total` holds what is in hand."""
    most = total // (8 * _IN_HAND * (threads + 2))
    return min(asked, max(_LEAST_BATCH, 1 << (most.bit_length() - 1)))


@dataclass(frozen=True)
class Budget:
    """Shares of `free`: what the run was given less what the process itself holds and a reserve for work in hand."""

    total: int
    free: int
    in_hand: int = 0
    """What is kept back for batches in hand."""

    @classmethod
    def of(cls, total: int, threads: int, batch_bytes: int) -> "Budget":
        """Divide `total`. Each thread has a batch or two in hand, decoded, beside its own scratch."""
        in_hand = (threads + 2) * _IN_HAND * batch_bytes
        return cls(total, max(total // 8, total - resident_bytes() - in_hand), in_hand)

    def beside(self, documents: int) -> "Budget":
        """What is left beside so many documents, of whom a few numbers each are held all the time."""
        least = min(self.free, self.total // 8)
        return Budget(self.total, max(least, self.free - documents * _BYTES_A_DOCUMENT), self.in_hand)

    @property
    def texts(self) -> int:
        """Texts kept from the first reading."""
        return self.free * 2 // 5

    @property
    def records(self) -> int:
        """What reading found out, kept instead of read from its files again."""
        return self.free // 32

    @property
    def sketches(self) -> int:
        """Keys and sketches that are joined at one time."""
        return self.free // 2

    @property
    def sets(self) -> int:
        """Shingle sets loaded for verification."""
        return self.free // 3

    @property
    def items(self) -> int:
        """Items that are joined in memory, and the join; no batch is in hand then."""
        return (self.free + self.in_hand) * 2 // 3

    @property
    def pairs(self) -> int:
        """Pairs held for sorting and grouping."""
        return self.free // 8

    @property
    def names(self) -> int:
        """Ids."""
        return self.free // 10
