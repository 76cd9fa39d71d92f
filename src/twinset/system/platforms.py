"""Say where Twinset does not run."""

from __future__ import annotations

import sys


def why_unsupported() -> str | None:
    """Return why this system is not supported, and what to use instead; None if it is.

    Locks, atomic replacement of files and the permissions of the kernel cache are those of POSIX.
    """
    if sys.platform in ("win32", "cygwin"):
        return "Windows is not supported: install twinset within WSL 2 (wsl --install), where it runs as on Linux"
    return None
