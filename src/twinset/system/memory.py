"""What the machine has to offer: memory, cores, and a place for a while."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from twinset.errors import OutputError

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

LEAST_MEMORY = 512 * 10**6


def default_memory() -> int:
    """Give half of the memory that is free now, and never less than the least that can be asked for."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass  # no Linux: the physical memory is the best that is known
    return max(LEAST_MEMORY, min(free, _container_memory(free)) // 2)


def _container_memory(otherwise: int) -> int:
    """Give what a container's limit leaves free; /proc/meminfo knows only the machine."""
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            most = int(limit.read())
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as used:
            return max(0, most - int(used.read()))
    except (OSError, ValueError):
        return otherwise  # no container, or "max": no limit


def temporary_folder(scratch: str | None) -> TemporaryDirectory[str]:
    """Make a folder that goes when its run is over, in the scratch folder if there is one."""
    from tempfile import TemporaryDirectory  # it takes longer to load than the rest of the help page

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
    """Give the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
