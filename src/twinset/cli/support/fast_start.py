"""Skip optional packages that other packages would load and no command uses.

Arrow looks for pandas when it makes its first array from a list, Numba for SciPy when it compiles linear algebra. If
they are installed, loading them takes a third of the start time, and 50 MB.
"""

from __future__ import annotations

import sys

UNUSED = ("pandas", "scipy")  # refusing a package also refuses its modules


class UnusedPackages:
    """A module finder that refuses the unused packages and leaves all others to the next finder."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise for a package that no command uses; Spark, once it is loaded, uses all."""
        if name in UNUSED and "pyspark" not in sys.modules:
            raise ModuleNotFoundError(f"{name} is skipped: no command uses it", name=name)


def skip_unused_packages() -> None:
    """Refuse the unused packages from now on; only for a process that runs the command alone."""
    sys.meta_path.insert(0, UnusedPackages)
