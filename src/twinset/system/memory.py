"""Available memory and cores, and temporary folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from twinset.errors import OutputError

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

LEAST_MEMORY = 512 * 10**6


def default_memory() -> int:
    """Return half of the free memory, but at least the minimum."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass  # not Linux: only the physical memory is known
    return max(LEAST_MEMORY, min(free, _container_memory(free)) // 2)


def _container_memory(default: int) -> int:
    """Return what a container's limit leaves free; /proc/meminfo covers the machine only."""
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            maximum = int(limit.read())
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as used:
            return max(0, maximum - int(used.read()))
    except (OSError, ValueError):
        return default  # no container, or no limit ("max")


def temporary_folder(scratch: str | None) -> TemporaryDirectory[str]:
    """Make a temporary folder, in the scratch folder if given."""
    from tempfile import TemporaryDirectory  # slow to load: not for the help page

    try:
        if scratch is not None:
            os.makedirs(scratch, exist_ok=True)
        return TemporaryDirectory(prefix="twinset-", dir=scratch)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if scratch is not None:
            raise OutputError(
                f"{scratch}: no temporary folder can be made there ({reason}); choose another folder with --scratch"
            ) from error
        raise OutputError(f"no temporary folder can be made ({reason}); choose a folder with --scratch") from error


def default_threads() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
