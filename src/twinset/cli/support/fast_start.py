"""Skip optional packages that other packages would load and no command uses.

Arrow looks for pandas when it makes its first array of a list, Numba for SciPy when it compiles linear algebra. Where
they are installed, that is a third of the time until a command begins, and 50 MB.
"""

from __future__ import annotations

import sys

UNUSED = ("pandas", "scipy")  # whole packages: one is loaded before what is within it is looked for


class UnusedPackages:
    """A finder of modules that refuses the unused packages and leaves everything else to the other finders."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise for a package that no command uses."""
        if name in UNUSED:
            raise ModuleNotFoundError(f"{name} is skipped: no command uses it", name=name)


def skip_unused_packages() -> None:
    """Refuse the unused packages from now on: only in a process that is the command's own."""
    sys.meta_path.insert(0, UnusedPackages)
