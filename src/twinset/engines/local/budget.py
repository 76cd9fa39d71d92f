"""Divide the memory of a run among its parts."""

import ctypes
import os
import resource
import sys
from dataclasses import dataclass

import pyarrow as pa

_IN_HAND = 3  # copies of a batch: raw, decoded and shingled
_MIN_BATCH = 1 << 16
_BYTES_A_DOCUMENT = 64  # 33 from reading, 20 for its copies, the rest for its cluster


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 200 * 2**20  # not Linux: about what Python, Arrow and the compiled kernels take


def peak_bytes() -> int:
    """Return the peak resident memory of this process."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, ValueError, StopIteration):
        # On Linux ru_maxrss includes the peak of the parent process, so it is only a fallback.
        limit = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return limit * (1 if sys.platform == "darwin" else 1024)


def give_back() -> None:
    """Return freed memory to the system: allocators keep it, and later budgets count it as used."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)


def batch_within(batch_bytes: int, total: int, threads: int) -> int:
    """Limit a batch size to a power of two such that all batches in use take an eighth of `total`."""
    limit = total // (8 * _IN_HAND * (threads + 2))
    return min(batch_bytes, max(_MIN_BATCH, 1 << (limit.bit_length() - 1)))


@dataclass(frozen=True)
class Budget:
    """Shares of `free`: the memory of the run less that of the process and of the batches in use."""

    total: int
    free: int
    in_hand: int = 0
    """Bytes reserved for batches in use."""

    @classmethod
    def of(cls, total: int, threads: int, batch_bytes: int) -> "Budget":
        """Divide `total`; each thread uses one or two decoded batches."""
        in_hand = (threads + 2) * _IN_HAND * batch_bytes
        return cls(total, max(total // 8, total - resident_bytes() - in_hand), in_hand)

    def beside(self, documents: int) -> "Budget":
        """Subtract the numbers that stay in memory for each document."""
        minimum = min(self.free, self.total // 8)
        return Budget(self.total, max(minimum, self.free - documents * _BYTES_A_DOCUMENT), self.in_hand)

    @property
    def texts(self) -> int:
        """Bytes for texts kept after the first reading."""
        return self.free * 2 // 5

    @property
    def records(self) -> int:
        """Bytes for records of the documents, before they are read back from files."""
        return self.free // 32

    @property
    def sketches(self) -> int:
        """Bytes for keys and sketches joined at a time."""
        return self.free // 2

    @property
    def sets(self) -> int:
        """Bytes for shingle sets loaded for verification."""
        return self.free // 3

    @property
    def items(self) -> int:
        """Bytes for items joined in memory and for the join; no batch is in use then."""
        return (self.free + self.in_hand) * 2 // 3

    @property
    def pairs(self) -> int:
        """Bytes for pairs while they are sorted and grouped."""
        return self.free // 8

    @property
    def names(self) -> int:
        """Bytes for ids."""
        return self.free // 10
